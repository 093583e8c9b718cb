"""The Layout: what follows from its pairs, its inverse and its digest."""

from __future__ import annotations

import pytest

from porttool.errors import LayoutError
from porttool.layout import Fragment, Layout, Symbol, fragment_end, module_of, paths_renaming
from porttool.names import Pair, renaming


@pytest.mark.parametrize(
    ("path", "roots", "module"),
    [
        ("a/b.py", ["."], (("a", "b"), False)),
        ("a/__init__.py", ["."], (("a",), True)),
        ("a/b.pyi", ["."], (("a", "b"), False)),
        ("a/b", ["."], (("a", "b"), False)),
        ("src/a/b.py", [".", "src"], (("a", "b"), False)),
        ("src/a/b.py", ["src/"], (("a", "b"), False)),
        ("lib/a.py", ["src"], None),
        ("a/b.txt", ["."], None),
        ("a-b/c.py", ["."], None),
        ("__init__.py", ["."], None),
    ],
)
def test_module_names_follow_from_paths_and_roots(path, roots, module):
    """The longest root wins; what cannot be imported has no module name."""
    assert module_of(path, roots) == module


def test_modules_are_derived_from_paths_scoped_symbols_and_fragments():
    """A moved file, a class renamed in one file and a function that moves all change a dotted name."""
    layout = Layout(
        paths=paths_renaming({"p/a.py": "q/b.py"}),
        symbols=(Symbol("C", "D", scope=("p/a.py",)),),
        fragments=(Fragment(fragment_end("p/x.py::f"), fragment_end("p/y.py::g")),),
        extra_modules=(Pair(("v", "old"), ("v", "new")),),
    )
    assert {p.old: p.new for p in layout.modules} == {
        ("p", "a"): ("q", "b"),
        ("p", "a", "C"): ("q", "b", "D"),
        ("p", "x", "f"): ("p", "y", "g"),
        ("v", "old"): ("v", "new"),
    }


def test_the_inverse_of_the_inverse_is_the_layout():
    """Digests tell layouts apart by what they do, so they must agree here."""
    layout = Layout(
        paths=paths_renaming({"a.py": "b.py"}),
        symbols=(Symbol("C", "D", scope=("a.py",)),),
        keys=renaming("key", [("k.l", "m")]),
        fragments=(Fragment(fragment_end("p.yaml#a"), fragment_end("a.yaml#")),),
        mounts=(("c/*.yaml", ("x",)),),
    )
    assert layout.inverse().inverse() == layout
    assert layout.inverse().inverse().digest == layout.digest
    assert layout.inverse().digest != layout.digest


def test_the_digest_does_not_depend_on_the_order_of_pairs():
    """The same pairs in another order are the same layout."""
    one = Layout(paths=paths_renaming({"a": "b", "c": "d"}))
    assert one.digest == Layout(paths=paths_renaming({"c": "d", "a": "b"})).digest
    assert one.digest != Layout(paths=paths_renaming({"a": "b", "c": "e"})).digest


@pytest.mark.parametrize(
    ("text", "shown", "kind", "name", "whole"),
    [
        ("p.yaml#a.b", "p.yaml#a.b", "yaml", ("a", "b"), False),
        ("p.yaml#", "p.yaml#", "yaml", (), True),
        ("a.py::C.m", "a.py::C.m", "python", ("C", "m"), False),
    ],
)
def test_fragment_ends_are_read_and_shown(text, shown, kind, name, whole):
    """`path#key.path`, `path#` and `path::Definition`."""
    end = fragment_end(text)
    assert (str(end), end.kind, end.name, end.whole_file) == (shown, kind, name, whole)


@pytest.mark.parametrize("text", ["p.yaml", "a.py::", "#a", ""])
def test_what_is_no_fragment_is_refused(text):
    """The hint shows the three forms."""
    with pytest.raises(LayoutError, match="is not a fragment"):
        fragment_end(text)


def test_a_fragment_with_two_homes_is_refused():
    """On either side."""
    ends = [fragment_end(text) for text in ("a.yaml#x", "b.yaml#", "c.yaml#")]
    with pytest.raises(LayoutError, match=r"fragment a.yaml#x is declared twice"):
        Layout(fragments=(Fragment(ends[0], ends[1]), Fragment(ends[0], ends[2])))
    with pytest.raises(LayoutError, match=r"fragment a.yaml#x is declared twice"):
        Layout(fragments=(Fragment(ends[1], ends[0]), Fragment(ends[2], ends[0])))


def test_key_mounts_of_both_sides():
    """A file that is a fragment is mounted where the fragment hangs, under the names of its own side."""
    layout = Layout(
        keys=renaming("key", [("arctic", "remote")]),
        fragments=(Fragment(fragment_end("p.yaml#arctic"), fragment_end("rb/a.yaml#")),),
        mounts=(("actor/*.yaml", ("policy", "actor")),),
    )
    assert layout.inverse().key_mount("rb/a.yaml") == ("remote",)
    assert layout.key_mount("actor/x.yaml") == ("policy", "actor")
    assert layout.key_mount("other.yaml") == ()


def test_kept_files_are_named_by_their_old_paths():
    """A folder, a file or a glob; on the way back too, where a pair moved it."""
    layout = Layout(paths=paths_renaming({"a": "b"}), symbols=(Symbol("C", "D"),), keep=("a/m", "*.csv"))
    kept = [path for path in ("a/m", "a/m/x.py", "x/y.csv", "a/my", "b/m/x.py") if layout.for_file(path).kept]
    assert kept == ["a/m", "a/m/x.py", "x/y.csv"]
    back = layout.inverse()
    assert [path for path in ("b/m/x.py", "b/my", "y.csv") if back.for_file(path).kept] == ["b/m/x.py", "y.csv"]
    assert layout.digest != Layout(paths=layout.paths, symbols=layout.symbols).digest


def test_no_fragment_in_a_kept_file():
    """Nothing can be taken out of it, or put into it."""
    fragment = Fragment(fragment_end("a.yaml#x"), fragment_end("b/c.yaml#"))
    for keep in ("a.yaml", "b/"):
        with pytest.raises(LayoutError, match="stands in a kept file"):
            Layout(fragments=(fragment,), keep=(keep,))


def test_scoped_symbols_count_in_their_files_only():
    """The scope is written in old names, also for the way back."""
    layout = Layout(paths=paths_renaming({"a.py": "b.py"}), symbols=(Symbol("C", "D", scope=("a.py", "t/")),))
    assert layout.for_file("a.py").symbol("C") == "D"
    assert layout.for_file("x.py").symbol("C") is None
    assert layout.for_file("t/x.py").symbol("C") == "D"
    assert layout.inverse().for_file("b.py").symbol("D") == "C"


@pytest.mark.parametrize(
    ("token", "new"),
    [
        ("zorroTrain", "fastTrain"),
        ("use_zorro", "use_fast"),
        ("ZORRO_MAX", "FAST_MAX"),
        ("Zorro", "Fast"),
        ("zorros", None),
    ],
)
def test_word_symbols_change_words_inside_tokens(token, new):
    """Case follows the word that is replaced; part of a word stays."""
    layout = Layout(symbols=(Symbol("zorro", "fast", words=True),))
    assert layout.for_file("a.py").symbol(token) == new


def test_every_pair_has_a_word_that_tells_it():
    """A blob without any of the words cannot mention a pair; a bare star tells nothing, so its folder does."""
    layout = Layout(
        paths=paths_renaming({"a/b.py": "c/d.py", "e/fgh*.c": "g/hij*.c", "deep/*": "flat/*"}),
        symbols=(Symbol("S", "T"),),
        keys=renaming("key", [("k.l", "m")]),
    )
    assert {"b", "fgh", "S", "l", "deep"} <= set(layout.words)


def test_a_part_symbol_changes_inside_identifiers_in_exactly_its_case():
    """`part` reaches into any identifier; another case of the word is another name; longer parts win."""
    layout = Layout(symbols=(Symbol("lxd", "incus", part=True), Symbol("lxdc", "cli", part=True)))
    names = layout.for_file("x.go")
    assert [names.symbol(token) for token in ("devlxdx", "LXD", "lxdcx", "plain")] == ["devincusx", None, "clix", None]
    assert layout.inverse().for_file("x.go").symbol("devincusx") == "devlxdx"
    assert layout.digest != Layout(symbols=(Symbol("lxd", "incus"), Symbol("lxdc", "cli"))).digest


def test_a_globbed_path_pair_gives_a_globbed_module_pair():
    """`a/x_*.py -> b/y_*.py` moves the modules too."""
    layout = Layout(paths=paths_renaming({"a/x_*.py": "b/y_*.py"}))
    assert layout.modules.map(("a", "x_f", "g")) == ("b", "y_f", "g")
    assert layout.inverse().modules.map(("b", "y_f", "g")) == ("a", "x_f", "g")
