"""A parser that would take for ever is stopped, alike on every machine; a sound file never is."""

from __future__ import annotations

import pytest
import tree_sitter_bash
import tree_sitter_python
import tree_sitter_yaml
from tree_sitter import Language, Parser

from porttool.layout import Layout
from porttool.names import Pair, Renaming
from porttool.rewrite import parsing, rewrite
from porttool.rewrite.fragments_blocks import body_of
from porttool.rewrite.fragments_python import reindented
from porttool.rewrite.parsing import GivenUp, parsed
from porttool.rewrite.yaml_tree import documents

PYTHON = Parser(Language(tree_sitter_python.language()))
YAML = Parser(Language(tree_sitter_yaml.language()))
BASH = Parser(Language(tree_sitter_bash.language()))
BROKEN = b"from -----------------------------------------\n\n" * 400


@pytest.mark.parametrize(
    ("parser", "source"),
    [
        (PYTHON, b"a\n" * 20_000),
        (PYTHON, b"*a,\n" * 20_000),
        (PYTHON, b"(" * 9000 + b"a" + b")" * 9000),
        (PYTHON, b"[a]*a\n" * 9000),
        (YAML, b"a:\n" * 20_000),
        (YAML, b"- - - a\n" * 9000),
        (BASH, b"a;" * 20_000),
        (BASH, b"a|" * 9000 + b"a"),
    ],
)
def test_dense_sound_sources_are_far_from_the_limit(parser, source, monkeypatch):
    """A third of the steps is enough for them."""
    monkeypatch.setattr(parsing, "_FREE", 0)
    monkeypatch.setattr(parsing, "_BYTES", 10)
    tree = parsed(parser, source)
    assert not tree.root_node.has_error and tree.root_node.end_byte == len(source)


def test_what_costs_the_square_is_given_up():
    """The parser is as new afterwards."""
    with pytest.raises(GivenUp):
        parsed(PYTHON, BROKEN)
    assert f"{parsed(PYTHON, b'a').root_node}" == "(module (expression_statement (identifier)))"


def test_a_source_in_parts_is_the_same_tree(monkeypatch):
    """Wherever one ends."""
    source = "x = 'é€' # é\ndef f(a):\n    return a.b\n".encode() * 9
    whole = f"{PYTHON.parse(source).root_node}"
    for size in (1, 2, 3, 7):
        monkeypatch.setattr(parsing, "_PART", size)
        assert f"{parsed(PYTHON, source).root_node}" == whole


LAYOUT = Layout(
    extra_modules=(Pair(("pkg", "alpha"), ("pkg", "nova")),), keys=Renaming("key", (Pair(("a", "old"), ("b", "new")),))
)


@pytest.fixture
def impatient(monkeypatch):
    """A parser that gives everything up."""
    monkeypatch.setattr(parsing, "_FREE", -1)
    monkeypatch.setattr(parsing, "_BYTES", 1 << 40)


def test_python_that_is_given_up_is_read_as_text(impatient):
    """And says so; it comes back all the same."""
    blob = b"import pkg.alpha\n# pkg.alpha\n" + b"x = 1\n" * 100
    done = rewrite(blob, LAYOUT.for_file("x.py"))
    assert done.blob == blob.replace(b"alpha", b"nova")
    assert [note.message for note in done.notes if note.kind == "unparsable"] == [
        "this is too far from Python for the parser"
    ]
    assert rewrite(done.blob, LAYOUT.inverse().for_file("x.py")).blob == blob


def test_yaml_and_shell_that_are_given_up_are_no_crash(impatient):
    """YAML keeps its keys and says so; a script's words are what they are in text."""
    blob = b"a:\n  old: 1\n" + b"x: 1\n" * 100
    assert documents(blob) is None
    done = rewrite(blob, LAYOUT.for_file("x.yaml"))
    assert done.blob == blob
    script = b"python train.py a.old=1\n" + b"x\n" * 100
    broken = rewrite(b"if (\n" + script, LAYOUT.for_file("x.sh"))
    assert rewrite(script, LAYOUT.for_file("x.sh")).blob == broken.blob[5:]


def test_fragments_of_what_is_given_up_are_nowhere(impatient):
    """There is no body to put one into, and no string that is known as one."""
    source = b"def f():\n    return 1\n" * 30
    assert body_of(source, "python", ()) is None and body_of(b"a: 1\n" * 200, "yaml", ()) is None
    assert reindented(b"    x\n" * 200, 4, 0) == b"x\n" * 200
