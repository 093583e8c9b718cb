"""The builder builds what it says."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.support.repos import Link, Script, Submodule, new_repo


def test_commit_lays_files_over_the_branch(repo):
    """A commit changes the named paths, keeps the rest, and moves its branch."""
    first = repo.commit({"a": "1\n", "d/b": b"\xff\x00"})
    second = repo.commit({"a": None, "d/c": "3"}, message="second")
    assert repo.files(second) == {"d/b": b"\xff\x00", "d/c": b"3"}
    assert repo.git("rev-parse", "main~1") == first
    assert repo.git("log", "-1", "--format=%an <%ae>|%B") == "Ann Author <ann@example.invalid>|second"


def test_every_kind_of_entry(repo):
    """Symlinks, executables and gitlinks get their modes; git finds nothing wrong."""
    oid = repo.commit({"x": "x"})
    repo.commit({"l": Link("x"), "s": Script("#!/bin/sh\n"), "m": Submodule(oid)})
    modes = repo.git("ls-tree", "--format=%(objectmode) %(path)", "main").split("\n")
    assert modes == ["120000 l", "160000 m", "100755 s", "100644 x"]
    repo.git("fsck", "--strict")


def test_same_input_same_ids(tmp_path):
    """The clock ticks per commit from a fixed second: two builds give the same ids."""
    ids = []
    for name in ("one", "two"):
        built = new_repo(tmp_path / name)
        ids.append([built.commit({"a": "1"}), built.commit({"a": "2"})])
    assert ids[0] == ids[1]
    assert ids[0][0] != ids[0][1]


def test_raw_bytes_are_kept(repo):
    """Author line, extra headers and message reach the object byte for byte."""
    repo.commit({"a": "1"}, author_line=b"Jos\xe9 <j> 1 +051800", headers=[(b"encoding", b"latin1")], message=b"\xe9")
    raw = repo.raw("main")
    assert b"author Jos\xe9 <j> 1 +051800\n" in raw
    assert raw.endswith(b"\nencoding latin1\n\n\xe9")


def test_network_is_refused():
    """A connection to another machine fails the test that makes it."""
    with socket.socket() as made, pytest.raises(AssertionError, match="connect to"):
        made.connect(("192.0.2.1", 80))


def test_home_is_refused():
    """No test can write to a home folder: HOME leads nowhere."""
    with pytest.raises(OSError, match="a-test-uses-the-home-folder"):
        Path("~/x").expanduser().write_text("x")
