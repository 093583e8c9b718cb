"""A pair stays only where translation with it comes nearer."""

from __future__ import annotations

from porttool.infer import infer
from porttool.infer_draft import Drafted
from porttool.infer_paths import Files
from porttool.infer_prove import Prover, carried
from porttool.infer_roots import import_roots
from porttool.layout import Layout, Symbol


def symbol(old, new):
    return Drafted("symbol", old, new, 2, 0.75)


def prove(old, new, *candidates):
    files = Files((), tuple(old), (), (), ())
    kept, failed = Prover(old, new, files, (".",)).prove([], candidates)
    return [str(pair) for pair in kept], [str(pair) for pair in failed]


OLD = {"a.py": b"x = First(1)\ny = Second(2)\nz = Third(3)\n"}
NEW = {"a.py": b"x = One(1)\ny = Second(2)\nz = Third(3) + 1\n"}


def test_a_pair_that_pays_is_kept_with_its_gain():
    """One line becomes equal on both sides: two differing lines less."""
    kept, _ = Prover(OLD, NEW, Files((), ("a.py",), (), (), ()), (".",)).prove([], [symbol("First", "One")])
    assert [pair.gain for pair in kept] == [2]


def test_a_pair_that_makes_it_worse_or_no_better_is_dropped():
    """A name the new side still has, a name on a line that differs anyway, and a name that is nowhere."""
    candidates = [symbol("Second", "Two"), symbol("Third", "Three"), symbol("Nowhere", "Else")]
    kept, failed = prove(OLD, NEW, *candidates)
    assert kept == []
    assert len(failed) == 3


def test_pairs_are_measured_together():
    """Two names on one line: only both make it equal, and both are kept."""
    old, new = {"a.py": b"First(Second)\n"}, {"a.py": b"One(Two)\n"}
    assert prove(old, new, symbol("First", "One"), symbol("Second", "Two"))[1] == []


def test_clashing_candidates_make_no_layout():
    """Two old names to one new name: the one with less evidence is dropped, not an exception."""
    strong = Drafted("symbol", "First", "One", 9, 0.9)
    kept, failed = prove(OLD, NEW, symbol("Second", "One"), strong)
    assert kept == ["symbol First -> One"]
    assert failed == ["symbol Second -> One"]


def test_many_symbols_are_measured_in_one_translation():
    """Hundreds of renamed names, and one candidate that is wrong: only that one goes."""
    names = [f"thing_{n}" for n in range(60)]
    old = {"a.py": "".join(f"def {name}(x):\n    return x * {at}\n" for at, name in enumerate(names)).encode()}
    new = {"a.py": old["a.py"].replace(b"def thing_", b"def part_").replace(b"def part_59(", b"def thing_59(")}
    candidates = [symbol(name, name.replace("thing", "part")) for name in names]
    kept, failed = prove(old, new, *candidates)
    assert failed == ["symbol thing_59 -> part_59"]
    assert len(kept) == 59
    assert len(infer(old, new).of("symbol")) == 59


def test_carried_is_the_engines_translation():
    """T of a file under a layout."""
    layout = Layout(symbols=(Symbol("First", "One"),))
    assert carried(layout, OLD, OLD)["a.py"].startswith(b"x = One(1)")


def test_roots_are_directories_that_are_imported_from():
    """src/ with a package the code imports is a root; a package, and a directory nobody imports from, are none."""
    tree = {
        "src/p/__init__.py": b"",
        "src/p/q/__init__.py": b"",
        "src/p/a.py": b"import p.q\n",
        "tests/t.py": b"from p import a\n",
        "docs/x/__init__.py": b"",
    }
    assert import_roots(tree) == (".", "src")
    assert import_roots({"p/__init__.py": b"", "p/a.py": b"import p\n", "b.py": b"import p\n"}) == (".",)
