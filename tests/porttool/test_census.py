"""The census counts each unusual thing where it is, once."""

from __future__ import annotations

import pytest

from porttool.plan import make_plan
from porttool.plan_census import KINDS, census
from tests.porttool.rig import Rig
from tests.support.repos import Link, Script, Submodule


@pytest.fixture
def rig(repo) -> Rig:
    return Rig(repo, {"old/a.txt": "a\n", "crlf": b"a\r\n", "bin": b"\0", "s.sh": "x\n"})


def tallies(rig, *commits, **told):
    return {tally.kind: tally for tally in census(make_plan(rig.manifest(*commits, **told)))}


def test_a_plain_commit_has_nothing_unusual(rig):
    """Every kind is told, with a count of zero and its policy."""
    found = tallies(rig, rig.change({"old/a.txt": "b\n"}))
    assert list(found) == list(KINDS)
    assert {tally.count for tally in found.values()} == {0} and all(tally.policy for tally in found.values())


@pytest.mark.parametrize(
    ("kind", "files"),
    [
        ("submodules", {"m": Submodule("1" * 40)}),
        ("symlinks", {"l": Link("s.sh")}),
        ("modes", {"s.sh": Script("x\n")}),
        ("binaries", {"bin": b"\0\1"}),
        ("CRLF", {"crlf": b"b\r\n"}),
    ],
)
def test_each_kind_of_file(rig, kind, files):
    """The commit and the path are named under that kind and under no other."""
    one = rig.change(files)
    found = tallies(rig, one)
    (path,) = files
    assert {name: tally.places for name, tally in found.items() if tally.count} == {kind: (f"{one[:12]}:{path}",)}


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("encodings", {"message": b"\xe9"}),
        ("encodings", {"headers": [(b"encoding", b"latin1")]}),
        ("signatures", {"headers": [(b"gpgsig", b"x")]}),
    ],
)
def test_each_kind_of_commit(rig, kind, told):
    """Raw messages, encoding headers and signatures are counted by commit."""
    one = rig.change({"old/a.txt": "b\n"}, **told)
    found = tallies(rig, one)
    assert {name: tally.places for name, tally in found.items() if tally.count} == {kind: (one[:12],)}


def test_a_header_that_is_not_carried_is_named(rig):
    """A commit may hold headers of other tools; the port drops them, and the census says which."""
    one = rig.change({"old/a.txt": "b\n"}, headers=[(b"HG:extra", b"x"), (b"mergetag", b"object 1\n y")])
    found = tallies(rig, one)
    assert found["headers"].places == (f"{one[:12]} HG:extra", f"{one[:12]} mergetag")
    assert found["headers"].policy.startswith("dropped")
    assert b"HG:extra" not in rig.repo.raw(rig.apply(one).head)


def test_merges_empties_and_notes(rig):
    """A merge, an empty commit and a note, with the policy the manifest gives them; skipped commits count too."""
    side = rig.repo.commit({"x": "x"}, branch="side", parents=[rig.base])
    left = rig.change({"y": "y"})
    merge = rig.change({"x": "x"}, parents=[left, side])
    empty = rig.change({})
    rig.repo.git("notes", "add", "-m", "n", left)
    policy = {"merges": "first-parent", "empty": "keep"}
    found = tallies(rig, left, merge, empty, policy=policy, skip={left: "no"})
    assert found["merges"].places == (merge[:12],) and found["merges"].policy == "first-parent"
    assert found["empties"].places == (empty[:12],) and found["empties"].policy == "keep"
    assert found["notes"].places == (left[:12],)
