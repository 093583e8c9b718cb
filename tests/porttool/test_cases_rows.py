"""Shapes from the list of public reports that no other file here holds."""

from __future__ import annotations

import pytest

from porttool.errors import LayoutError
from porttool.port import apply
from porttool.repo import Repository
from tests.porttool.rig import Rig, lines


@pytest.fixture
def rig(repo) -> Rig:
    return Rig(repo, {"old/a.txt": lines(), "keep/x": "x\n"})


def test_two_paths_of_a_commit_that_become_one_name_the_commit(rig):
    """A clash inside one commit is told with the commit and the line that picks it, and nothing moves."""
    one = rig.change({"old/a.txt": lines((3, "fixed")), "new/place/a.txt": "in the way\n"})
    manifest = rig.manifest(one)
    before = rig.repo.refs()
    with pytest.raises(LayoutError, match="both become") as caught:
        apply(manifest)
    assert one[:12] in caught.value.where and manifest.where("commits", 0) in caught.value.where
    assert rig.repo.refs() == before


@pytest.mark.parametrize("message", [b"s", b"s\n\nbody", b"s\n\nbody\n\n\n", b"\n\ns\n  \n", b"# s\r\n\r\n#x"])
def test_t28_no_newline_of_a_message_is_added_or_lost(rig, message):
    """The commit's message begins with every byte of the source's; only trailers and what parts them off follow."""
    one = rig.change({"old/a.txt": lines((3, "fixed"))}, message=message)
    rig.apply(one)
    made = rig.repo.raw("out").partition(b"\n\n")[2]
    assert made.startswith(message)
    assert made.removeprefix(message).lstrip(b"\n").startswith(b"Ported-From: ")


def test_t24_who_runs_it_is_neither_needed_nor_told(rig, monkeypatch):
    """With and without an identity, and with another one, a port gives the same ids: our committer is no person."""
    one = rig.change({"old/a.txt": lines((3, "fixed"))})
    heads = set()
    for identity in (None, "Some One <some@example.invalid>"):
        monkeypatch.setattr(Repository, "identity", lambda self, found=identity: found)
        heads.add(rig.apply(one).head)
    assert len(heads) == 1
    assert b"\ncommitter porttool <" in rig.repo.raw("out")
