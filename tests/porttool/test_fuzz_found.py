"""What the long fuzz found, each as small as it got."""

from __future__ import annotations

import os

import pytest

from porttool.errors import LayoutError, ManifestError
from porttool.layout import Fragment, Layout, Symbol, fragment_end, paths_renaming
from porttool.manifest import load_layout
from porttool.manifest_nodes import Reader, compose
from porttool.manifest_schema import Free
from porttool.names import Pair, Renaming
from porttool.port_patch import read_patch
from porttool.repo import Entry
from porttool.repo_objects import parse_commit, serialize_commit
from porttool.rewrite import rewrite
from porttool.translate import Translator
from tests.laws.trees import carry
from tests.support.cases import MemoryBlobs


def module(old: str, new: str, **told) -> Layout:
    """A layout of one pair of modules."""
    return Layout(extra_modules=(Pair(tuple(old.split(".")), tuple(new.split("."))),), **told)


def key(old: str, new: str) -> Renaming:
    return Renaming("key", (Pair(tuple(old.split(".")), tuple(new.split("."))),))


def rewritten(layout: Layout, path: str, blob: bytes) -> bytes:
    """T of one file, which comes back."""
    done = rewrite(blob, layout.for_file(path))
    assert rewrite(done.blob, layout.inverse().for_file(path)).blob == blob
    return done.blob


def test_parameters_without_a_function_bind_in_the_file():
    """In a broken file the parser finds parameters that belong to nothing."""
    layout = module("pkg.alpha", "pkg.nova")
    blob = b"import pkg.alpha\n) lambda pkg, *: (pkg, def (pkg, x=1:\n"
    assert rewrite(blob, layout.for_file("x.py")).blob.startswith(b"import pkg.nova\n")


@pytest.mark.parametrize("step", [b" ", b"\t", b"\t ", b"\f "])
def test_python_that_nests_deeper_than_python_can_is_read_as_text(step):
    """The parser can overrun a buffer on it, and end the process."""
    ladder = b"".join(step * n + b'"a:\n' for n in range(500))
    layout = module("pkg.alpha", "pkg.nova", fragments=(FUNCTION,))
    done = rewrite(b"-\n" + ladder + b"# pkg.alpha\n", layout.for_file("x.py"))
    assert done.blob == b"-\n" + ladder + b"# pkg.nova\n"
    assert [note.kind for note in done.notes] == ["unparsable"]
    assert carry(layout, {"a.py": b"-\n" + ladder}).files == {"a.py": b"-\n" + ladder}


FUNCTION = Fragment(fragment_end("a.py::f"), fragment_end("b.py::f"))


def test_a_line_that_is_far_to_the_right_is_no_deep_nest():
    """Such as what a call is aligned to."""
    blob = b"import pkg.alpha\nx = f(\n" + b" " * 200 + b"pkg.alpha.y)\n"
    done = rewritten(module("pkg.alpha", "pkg.nova"), "x.py", blob)
    assert done == blob.replace(b"alpha", b"nova")


def test_a_fragment_is_not_looked_for_in_yaml_that_nests_too_deep():
    """The same for the other parser; the file is left as it is."""
    blob = b"- " * 400 + b"x\n"
    layout = Layout(fragments=(Fragment(fragment_end("c.yaml#a"), fragment_end("d.yaml#")),))
    assert carry(layout, {"c.yaml": blob}).files == {"c.yaml": blob}


def test_a_manifest_that_nests_too_deep_is_refused():
    """Not with a RecursionError."""
    with pytest.raises(ManifestError, match="nests too deep"):
        load_layout(b"paths: " + b"[" * 500)


@pytest.mark.parametrize("deep", [58, 70, 150])
def test_a_manifest_nests_as_deep_as_that(deep):
    """Well-formed nests that the YAML parser takes are refused at a depth of ours, not at the end of the stack."""
    text = b"layout: {}\nparity: {step: " + b"[" * deep + b"]" * deep + b"}\n"
    reader = Reader("m.yaml")
    if deep < 60:
        assert reader.read(compose(text, "m.yaml"), Free())["layout"] == {}
    else:
        with pytest.raises(ManifestError, match="nests too deeply"):
            reader.read(compose(text, "m.yaml"), Free())


def test_a_one_way_pair_of_a_name_and_itself_does_not_come_back():
    """It holds a file back from a wider pair; the way back has no such pair, and refuses the name."""
    stays = Pair(("pkg", "core.py"), ("pkg", "core.py"), True)
    layout = Layout(paths=Renaming("path", (stays, Pair(("pkg",), ("nova",))), "/"))
    blobs = MemoryBlobs()
    empty = Entry(0o100644, blobs.write(b""))
    there = Translator(layout, blobs).tree({"pkg/core.py": empty, "pkg/x.py": empty})
    assert set(there.entries) == {"pkg/core.py", "nova/x.py"}
    told = [(one.path, one.text) for one in there.one_way]
    assert told == [("pkg/core.py", "'pkg/core.py' is refused on the way back")]


def test_an_escape_of_no_byte_is_none(tmp_path):
    """git quotes bytes, up to \\377; what looks like more is left as it is."""
    file = tmp_path / "x.patch"
    file.write_bytes(b'From: A <a@x>\nDate: 1 Jan 0 0:0 +0000\nSubject: x\n\ndiff --git "a/\\377" "b/\\400"\n')
    assert set(read_patch(file).paths) == {os.fsdecode(b"\xff"), "\\400"}


def test_a_name_behind_an_escape_is_not_overlooked():
    """`\\n` before a name is no letter of it, even where the file holds no other mention."""
    done = rewritten(Layout(symbols=(Symbol("Old", "New"),)), "x.py", b'print("one\\nOld")\n')
    assert done == b'print("one\\nNew")\n'


def test_blanks_between_the_dots_of_an_import_stay():
    """T only renames: an import that says the same is not spelled anew."""
    layout = module("pkg.alpha", "pkg.nova")
    assert rewrite(b"from . . import alpha\n", layout.for_file("lib/x/y.py")).blob == b"from . . import alpha\n"
    layout = module("core.beta", "prime.beta")
    blob = b"from.\t.import alpha, beta"
    assert rewrite(blob, layout.for_file("pkg/core/x.py")).blob == blob


def test_a_module_that_is_called_like_a_config_is_a_module():
    """`conf.alpha` behind `import conf.alpha` is what was imported, though `alpha` is a key of a config."""
    layout = module("conf.alpha", "conf.nova", keys=key("alpha", "zeta"))
    blob = b"import conf.alpha\nuse(conf.alpha.x, cfg.alpha)\n"
    assert rewritten(layout, "x.py", blob) == b"import conf.nova\nuse(conf.nova.x, cfg.zeta)\n"


def test_an_import_that_does_not_parse_is_not_spelled_anew():
    """What the parser takes for its module may hold other names."""
    layout = Layout(symbols=(Symbol("Alpha", "Nova"),))
    done = rewrite(b"from.o Alpha\ng import A", layout.for_file("pkg/core/__init__.py"))
    assert done.blob == b"from.o Nova\ng import A"


def test_a_commit_that_ends_behind_its_headers_has_no_message():
    """And no header without a name, which would be written as a piece of the one before."""
    raw = b"tree " + b"a" * 40 + b"\nauthor A <a> 1 +0000\ncommitter C <c> 1 +0000\n"
    commit = parse_commit("", raw)
    assert (commit.message, commit.extra) == (b"", ())
    assert serialize_commit(commit) == raw + b"\n"


@pytest.mark.parametrize("turn", [False, True])
def test_a_whole_file_and_a_part_of_it_are_no_two_fragments(turn):
    """On either side; where such a file hangs in the config could not be told."""
    ends = [(fragment_end("c.yaml#a"), fragment_end("d.yaml#")), (fragment_end("c.yaml#"), fragment_end("e.yaml#x"))]
    with pytest.raises(LayoutError, match=r"c\.yaml#a is a part of c\.yaml#"):
        Layout(fragments=tuple(Fragment(*(end[::-1] if turn else end)) for end in ends))


def test_a_foretold_loss_that_does_not_happen_is_no_culprit():
    """A fragment without the sibling it should stand behind is put last, and comes back from there."""
    ends = fragment_end("a.yaml#", "Other"), fragment_end("c.yaml#x", "Other")
    ran = carry(Layout(paths=paths_renaming({}), fragments=(Fragment(*ends),)), {"a.yaml": b"k: 1\n"})
    assert (ran.one_way, ran.back_files) == ([], {"a.yaml": b"k: 1\n"})
