"""Renamings: the longest prefix wins, and a name is in the domain exactly when it round-trips."""

from __future__ import annotations

import pytest

from porttool.errors import LayoutError
from porttool.names import Pair, Renaming, renaming, split


def paths(*pairs):
    return renaming("path", pairs, "/")


@pytest.mark.parametrize(
    ("name", "new"),
    [
        ("a.b.c", "z.c"),
        ("a.b", "z"),
        ("a", "a"),
        ("a.x", "q.x"),
        ("a.bc", "q.bc"),
        ("b.a.b", "b.a.b"),
    ],
)
def test_t44_the_longest_prefix_of_whole_segments_wins(name, new):
    """A pair never matches inside a segment, nor in the middle of a name."""
    names = renaming("module", [("a.b", "z"), ("a.bc", "q.bc"), ("a.x", "q.x")])
    assert names.text(names.apply(split(name))) == new


def test_t44_fs_never_hits_fsdp_utils():
    """`verl.utils.fs` is not a prefix of `verl.utils.fsdp_utils`."""
    names = renaming("module", [("verl.utils.fs", "verl.utils.files")])
    assert names.match(split("verl.utils.fsdp_utils")) is None


def test_t50_the_depth_may_change():
    """A name may become shorter or longer."""
    names = renaming("module", [("some.long.path", "short"), ("a", "b.c.d")])
    assert names.map(split("some.long.path.f")) == ("short", "f")
    assert names.map(split("a.x")) == ("b", "c", "d", "x")
    assert names.inverse().map(("short", "f")) == split("some.long.path.f")


def test_a_swap_is_a_renaming():
    """Two names may change places, since each keeps a name of its own."""
    names = paths(("a", "b"), ("b", "a"))
    assert [names.apply((n,)) for n in "ab"] == [("b",), ("a",)]
    assert ("a",) in names


def test_a_name_in_use_is_outside_and_both_culprits_are_named():
    """`b` is free to move away; if it stays, `a` cannot have its name."""
    names = paths(("a", "b"))
    assert ("a",) in names
    assert ("b",) not in names
    with pytest.raises(LayoutError, match=r"path 'b' and 'a' both become 'b'") as fault:
        names.apply(("b",))
    assert "in use on the old side already" in fault.value.hint


def test_two_names_to_one_and_one_name_to_two_are_refused_when_declared():
    """The fault names both ends and the place of the pair."""
    with pytest.raises(LayoutError, match=r"path 'c' is the target of both 'a' and 'b'"):
        paths(("a", "c"), ("b", "c"))
    with pytest.raises(LayoutError, match=r"path 'a' is mapped to both 'b' and 'c'") as fault:
        Renaming("path", (Pair(("a",), ("b",)), Pair(("a",), ("c",), where="m.yaml:7")), "/")
    assert fault.value.where == "m.yaml:7"


def test_a_one_way_pair_may_share_its_target_and_is_not_in_the_inverse():
    """It works forward only."""
    names = Renaming("module", (Pair(("a",), ("c",)), Pair(("b",), ("c",), one_way=True)))
    assert names.apply(("b", "x")) == ("c", "x")
    assert names.inverse().map(("c",)) == ("a",)
    assert (names.is_one_way(("b",)), names.is_one_way(("a",))) == (True, False)


@pytest.mark.parametrize(
    ("path", "new"),
    [
        ("tests/test_a.py", "checks/a_test.py"),
        ("tests/test_.py", "checks/_test.py"),
        ("tests/testa.py", "tests/testa.py"),
        ("tests/test_a.py/x", "checks/a_test.py/x"),
        ("tests/test_b.py", "kept/b.py"),
        ("tests", "tests"),
    ],
)
def test_a_star_stands_for_part_of_one_segment(path, new):
    """A plain pair of the same depth is preferred to a starred one."""
    names = paths(("tests/test_*.py", "checks/*_test.py"), ("tests/test_b.py", "kept/b.py"))
    assert "/".join(names.map(tuple(path.split("/")))) == new


def test_touches_asks_above_and_below():
    """A package is touched when something in it moves."""
    names = renaming("module", [("a.b.c", "x")])
    assert [names.touches(split(name)) for name in ("a", "a.b", "a.b.c", "a.b.c.d", "a.x", "b")] == [True] * 4 + [
        False
    ] * 2


def test_split_drops_empty_segments():
    """A trailing slash marks a folder for the reader, not for the renaming."""
    assert split("a/b/", "/") == ("a", "b")
