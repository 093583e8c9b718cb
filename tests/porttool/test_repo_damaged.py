"""Objects that are damaged, and trees deeper than anybody writes: a fault that names them, never a hang."""

from __future__ import annotations

import os
import sys

import pytest

from porttool.errors import RepositoryError
from porttool.repo import MODE_FILE, Entry, Repository
from tests.support.repos import Repo, new_repo

CUTS = (0, 2, 10, 17, 20)


def cut(repo: Repo, oid: str, size: int) -> str:
    """Cut the file of a loose object short; the end of its path."""
    path = repo.path / ".git" / "objects" / oid[:2] / oid[2:]
    whole = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(whole[: min(size, len(whole) - 1)])
    return f"{oid[:2]}/{oid[2:]}"


def named(caught: pytest.ExceptionInfo[RepositoryError], oid: str, end: str) -> bool:
    error = caught.value
    return error.message == f"object {oid} is damaged" and error.where.endswith(end) and "git fsck" in error.hint


@pytest.mark.parametrize("size", CUTS)
def test_a_truncated_blob_or_tree_is_named(repo, size):
    """Wherever the file is cut, reading the object ends, with its id, its path and what to run."""
    commit = Repository.open(repo.path).commit(repo.commit({"a": "one\n"}))
    blob = Repository.open(repo.path).entry(commit.tree, "a").oid
    for oid, read in ((blob, lambda here: here.read(blob)), (commit.tree, lambda here: here.entries(commit.tree))):
        end = cut(repo, oid, size)
        with pytest.raises(RepositoryError) as caught:
            read(Repository.open(repo.path))
        assert named(caught, oid, end)


@pytest.mark.parametrize("size", CUTS)
def test_a_truncated_tip_is_named(repo, size):
    """Resolving a branch whose commit is cut short says which object is damaged."""
    tip = repo.commit({"a": "1"})
    end = cut(repo, tip, size)
    for rev in ("main", tip):
        with pytest.raises(RepositoryError) as caught:
            Repository.open(repo.path).resolve(rev)
        assert named(caught, tip, end)


@pytest.mark.parametrize("size", CUTS)
def test_history_over_a_truncated_parent_ends(repo, size):
    """A walk, a merge base and `main~1` that meet a damaged commit are refused; what lies above it still works."""
    below, parent = repo.commit({"a": "1"}), repo.commit({"a": "2"})
    middle, tip = repo.commit({"a": "3"}), repo.commit({"a": "4"})
    cut(repo, parent, size)
    here = Repository.open(repo.path)
    assert here.resolve("main") == tip and here.resolve("main~1") == middle
    for refused in (lambda: here.history([tip]), lambda: here.merge_base(tip, below), lambda: here.resolve("main~2"),
                    lambda: here.commit(parent)):  # fmt: skip
        with pytest.raises(RepositoryError):
            refused()


def test_an_object_with_other_content_than_its_id_says_is_damaged(repo):
    """A loose file that inflates well but holds another object is not taken for it."""
    commit = Repository.open(repo.path).commit(repo.commit({"a": "one", "b": "two"}))
    one, two = (Repository.open(repo.path).entry(commit.tree, name).oid for name in "ab")
    folder = repo.path / ".git" / "objects"
    file = folder / one[:2] / one[2:]
    file.chmod(0o644)
    file.write_bytes((folder / two[:2] / two[2:]).read_bytes())
    with pytest.raises(RepositoryError, match="is damaged"):
        Repository.open(repo.path).read(one)


def test_a_damaged_object_of_an_alternate_is_named(repo, tmp_path):
    """Objects borrowed through `info/alternates` are checked as well."""
    tip = repo.commit({"a": "1"})
    other = new_repo(tmp_path / "other")
    lent = os.fsencode(repo.path / ".git" / "objects")
    (other.path / ".git" / "objects" / "info" / "alternates").write_bytes(b"# lent\n" + lent + b"\n")
    assert Repository.open(other.path).resolve(tip) == tip
    cut(repo, tip, 10)
    with pytest.raises(RepositoryError, match="is damaged"):
        Repository.open(other.path).commit(tip)


def test_packed_objects_are_read_as_ever(repo):
    """Without loose files everything comes from the pack; a missing object says it is missing."""
    base, tip = repo.commit({"a": "1"}), repo.commit({"a": "2"})
    repo.git("repack", "-adq")
    here = Repository.open(repo.path)
    assert here.history([here.resolve("main")]) == [base, tip] and here.merge_base(base, tip) == base
    with pytest.raises(RepositoryError, match="blob is missing"):
        here.read("1" * 40)


def test_a_tree_deeper_than_the_stack_is_read_and_not_written(repo):
    """Every directory level may hold one more: reading never recurses, and writing names the path."""
    here = Repository.open(repo.path)
    deep = sys.getrecursionlimit() + 100
    flat = here.commit(repo.commit({"a": "1"})).tree
    blob = here.entry(flat, "a")
    tree = flat
    for _ in range(deep):
        tree = here._store.write("tree", b"40000 d\0" + bytes.fromhex(tree))
    path = "d/" * deep + "a"
    assert here.entries(tree) == {path: blob}
    assert [(c.path, c.old, c.new) for c in here.changes(flat, tree)] == [("a", blob, None), (path, None, blob)]
    with pytest.raises(RepositoryError) as caught:
        here.edit_tree(flat, {path: Entry(MODE_FILE, blob.oid)})
    assert caught.value.where == path and f"{deep} directories deep" in caught.value.message
    assert here.entries(here.edit_tree(flat, {"d/" * 200 + "a": blob})).keys() == {"a", "d/" * 200 + "a"}
