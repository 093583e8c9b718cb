"""Symbols and modules from aligned token differences: consistent, never contradicted, never a mere edit."""

from __future__ import annotations

from porttool.infer_symbols import Version, draft_modules, draft_symbols

CLASS = "class {0}(Base):\n    def run(self, x):\n        total = self.scale * x\n        return total + self.offset\n"


def version(path, old, new, new_path=None):
    return Version(path, new_path or path, old.encode(), new.encode())


def pairs(*versions, taken=()):
    drafted, _ = draft_symbols(versions, taken)
    return {(pair.old, pair.new, pair.scope) for pair in drafted}


def test_renamed_class_is_a_symbol():
    """Its definition took the new name and the old one is gone everywhere."""
    assert pairs(version("a.py", CLASS.format("Old"), CLASS.format("New"))) == {("Old", "New", ())}


def test_name_that_changed_inside_one_file_is_an_edit():
    """A local name is not a layout."""
    old = "def f(x):\n    total = x + 1\n    return total\n"
    assert pairs(version("a.py", old, old.replace("total", "amount"))) == set()


def test_replaced_function_is_no_rename():
    """Another function in the same place, with another body, is a different function."""
    new = "def other(path, mode):\n    with open(path, mode) as file:\n        return file.read().splitlines()\n"
    old = "def first(a):\n    if a > 3:\n        raise ValueError(a)\n    print(a * 7)\n"
    assert pairs(version("a.py", old, new)) == set()


def test_uses_in_several_files_are_enough():
    """A name from elsewhere that every file calls by another name now."""
    old, new = "x = lib.Thing(1)\ny = 2\n", "x = lib.Other(1)\ny = 2\n"
    assert pairs(version("a.py", old, new), version("b.py", old, new)) == {("Thing", "Other", ())}


def test_old_name_that_lives_on_limits_the_scope():
    """Where other files keep the name, the pair holds only in the files whose definition moved."""
    kept = "import m\nm.Old()\n"
    found = pairs(version("a.py", CLASS.format("Old"), CLASS.format("New")), version("b.py", kept, kept))
    assert found == {("Old", "New", ("a.py",))}


def test_contradicting_places_are_shown_and_not_kept():
    """One name that became two in one file: conflicting, no pair."""
    old = CLASS.format("Old") + "x = Old(1)\ny = Old(2)\nz = Old(3)\n"
    new = CLASS.format("New") + "x = New(1)\ny = Odd(2)\nz = Odd(3)\n"
    drafted, undecided = draft_symbols([version("a.py", old, new)])
    assert drafted == []
    assert [(u.old, u.new, u.reason) for u in undecided] == [(("Old",), ("New", "Odd"), "conflicting places")]


def test_new_name_in_use_on_the_old_side_is_no_pair():
    """A rename onto a name that is taken could not be undone."""
    old = CLASS.format("Old") + "from m import New\nx = Old()\n"
    drafted, undecided = draft_symbols([version("a.py", old, old.replace("Old", "New"))])
    assert drafted == []
    assert "in use on the old side" in undecided[0].reason


def test_new_name_in_use_in_a_file_that_is_gone():
    """Also where the file with the taken name has no counterpart."""
    assert pairs(version("a.py", CLASS.format("Old"), CLASS.format("New")), taken=[b"New = 1\n"]) == set()


def test_two_names_that_became_one_are_undecided():
    """Nothing could tell them apart on the way back."""
    old = CLASS.format("One") + "\n\n" + CLASS.format("Two").replace("total", "sum_")
    new = old.replace("One", "Both").replace("Two", "Both")
    drafted, undecided = draft_symbols([version("a.py", old, new)])
    assert drafted == []
    assert undecided[0].reason == "two names became one"


def test_yaml_keys_and_overrides_are_no_symbols():
    """What stands where a config key stands is left to the keys."""
    assert pairs(version("c.yaml", "old_key: 1\nb: 2\n", "new_key: 1\nb: 2\n")) == set()
    old = "run a.old=1\nrun a.old=2\n"
    assert pairs(*(version(f"{n}.sh", old, old.replace("old", "new")) for n in "ab")) == set()


def test_evidence_against_lowers_confidence():
    """A file in which the old name vanished without the new one is told."""
    gone = version("b.py", "Old()\nx = 1\n", "x = 1\n")
    [pair] = draft_symbols([version("a.py", CLASS.format("Old"), CLASS.format("New")), gone])[0]
    assert pair.confidence == 0.5
    assert pair.against == ("b.py: Old is gone, New is not in its place",)


def test_module_from_elsewhere():
    """Every import of a package names it differently: an explicit module pair, generalised."""
    old = "import ext.rl.a\nfrom ext.rl.b import c\n"
    [pair] = draft_modules([version("a.py", old, old.replace("ext.rl", "platform.rl"))])
    assert (pair.old, pair.new, pair.count) == ("ext", "platform", 2)


def test_module_in_use_on_both_sides_is_no_pair():
    """An import line that was edited is no rename."""
    kept = version("b.py", "import zlib\n", "import zlib\n")
    assert draft_modules([version("a.py", "import zlib\n", "import binascii\n"), kept]) == []


def test_one_module_that_became_two_is_no_pair():
    """Conflicting imports are not guessed at."""
    ways = [version("a.py", "import m\n", "import n\n"), version("b.py", "import m\n", "import o\n")]
    assert draft_modules(ways) == []
