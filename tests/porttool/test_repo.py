"""Objects, trees, merges and refs."""

from __future__ import annotations

import os
import random

import pytest

from porttool.errors import EnvironmentFault, RepositoryError, UsageError
from porttool.repo import (
    EMPTY_TREE,
    MODE_FILE,
    MODE_LINK,
    Commit,
    Entry,
    RefMove,
    Repository,
    branch_ref,
    is_url,
    open_location,
)
from porttool.repo_git import Git, Ran, fault_of
from porttool.repo_objects import parse_commit, serialize_commit
from tests.support.repos import Link, Script, Submodule, new_repo


def opened(repo) -> Repository:
    return Repository.open(repo.path)


def test_a_commit_object_comes_back_byte_for_byte(repo):
    """Parsing and writing a raw commit gives the same bytes, whatever headers and bytes it holds."""
    headers = [(b"encoding", b"latin1"), (b"gpgsig", b"-----BEGIN\n \n x\r\n -----END"), (b"odd", b"")]
    for message in (b"", b"x", b"x\n", b"\n\nx", b"# not a comment\n\xe9"):
        oid = repo.commit({"a": message}, message=message, headers=headers, author_line=b"J\xe9 <j> 1 +051800")
        commit = opened(repo).commit(oid)
        assert serialize_commit(commit) == repo.raw(oid)
        assert (commit.author, commit.encoding, commit.message) == (b"J\xe9 <j> 1 +051800", b"latin1", message)
        assert opened(repo).write_commit(commit) == oid


def test_a_commit_without_an_author_is_refused_with_its_id():
    """A header porttool has to carry is missing: the object id is in the error."""
    with pytest.raises(RepositoryError) as caught:
        parse_commit("abc", b"tree 1\ncommitter c <c> 1 +0000\n\nm")
    assert (caught.value.where, caught.value.message) == ("abc", "commit has no author line")


def test_changes_are_found_by_id_in_every_shape(repo):
    """Added, deleted, mode, link, gitlink and a file that became a directory, each once."""
    one = repo.commit({"a": "1", "d/e/f": "2", "m": Submodule("1" * 40), "x": "x", "same/deep": "s"})
    two = repo.commit({"a": None, "d/e/f": None, "d/e": "now a file", "m": Submodule("2" * 40), "x": Script("x"),
                       "n/l": Link("x")})  # fmt: skip
    here = opened(repo)
    found = {change.path: change for change in here.changes(here.commit(one).tree, here.commit(two).tree)}
    assert sorted(found) == ["a", "d/e", "d/e/f", "m", "n/l", "x"]
    assert found["a"].new is None and found["d/e/f"].new is None and found["d/e"].old is None
    assert found["x"].new.mode == 0o100755 and found["x"].old.oid == found["x"].new.oid
    assert found["n/l"].new.mode == MODE_LINK and found["m"].new.oid == "2" * 40


def test_changes_open_only_subtrees_that_differ(repo, monkeypatch):
    """A subtree with one id on both sides is never read, so the size of the tree does not matter."""
    one = repo.commit({f"d{n}/f": str(n) for n in range(50)})
    two = repo.commit({"d7/f": "changed"})
    here = opened(repo)
    trees = here.commit(one).tree, here.commit(two).tree
    read: list[str] = []
    real = here._store.read
    monkeypatch.setattr(here._store, "read", lambda oid, kind: (read.append(oid), real(oid, kind))[1])
    assert [change.path for change in here.changes(*trees)] == ["d7/f"]
    assert len(read) == 4


def test_edit_tree_agrees_with_git(repo):
    """Random edits of a tree give the tree id that git's own index gives."""
    rng = random.Random(3)
    paths = [f"{a}{b}" for a in ("", "d/", "d.x/", "d-/e/", "z/y/") for b in ("f", "f.a", "g-", "g0")]
    have: dict[str, str] = {}
    here = opened(repo)
    tree = EMPTY_TREE
    for step in range(40):
        edits = {path: None if rng.random() < 0.4 else f"{step}{path}" for path in rng.sample(paths, 4)}
        have.update({path: text for path, text in edits.items() if text is not None})
        for path, text in edits.items():
            if text is None:
                have.pop(path, None)
        told = {path: text and Entry(MODE_FILE, here.write(text.encode())) for path, text in edits.items()}
        tree = here.edit_tree(tree, told)
        assert tree == repo.tree(have)
    assert set(here.entries(tree)) == set(have)


def test_a_file_gives_way_to_a_directory_and_back(repo):
    """`a` becoming `a/b` in one edit, and the reverse, leave no trace of what was."""
    here = opened(repo)
    blob = Entry(MODE_FILE, here.write(b"x"))
    tree = here.edit_tree(EMPTY_TREE, {"a": blob, "k": blob})
    below = here.edit_tree(tree, {"a": None, "a/b": blob})
    assert set(here.entries(below)) == {"a/b", "k"}
    assert here.edit_tree(below, {"a/b": None, "a": blob}) == tree
    assert here.edit_tree(tree, {"a/none": None}) == tree


def test_an_untouched_directory_keeps_its_id(repo):
    """Editing one path rewrites only the directories above it."""
    here = opened(repo)
    tree = here.commit(repo.commit({"p/a": "1", "q/b": "2"})).tree
    edited = here.edit_tree(tree, {"p/a": None})
    assert here.entry(edited, "q") == here.entry(tree, "q")
    assert here.entry(edited, "p") is None and here.entry(edited, "q/b/c") is None


def test_paths_that_are_not_utf8_survive(repo):
    """A path is text with surrogates inside porttool and its own bytes in the tree."""
    here = opened(repo)
    path = os.fsdecode(b"d\xff/\xe9")
    tree = here.edit_tree(EMPTY_TREE, {path: Entry(MODE_FILE, here.write(b"x"))})
    assert list(here.entries(tree)) == [path]


def test_nothing_is_written_before_the_flush(repo):
    """Blobs, trees and commits made here leave the repository's files as they were until `move_refs`."""
    oid = repo.commit({"a": "1"})
    here = opened(repo)
    before = _files(repo.path)
    tree = here.edit_tree(here.commit(oid).tree, {"b": Entry(MODE_FILE, here.write(b"new"))})
    made = here.write_commit(here.commit(oid).with_tree(tree, oid))
    assert here.commit(made).parents == (oid,)
    assert _files(repo.path) == before
    here.move_refs([RefMove("refs/heads/out", None, made)])
    assert repo.files("out") == {"a": b"1", "b": b"new"}
    repo.git("fsck", "--strict")


def _files(path) -> set[str]:
    return {str(found) for found in path.rglob("*")}


def test_refs_move_together_or_not_at_all(repo):
    """A ref that is no longer where we found it stops every move of the transaction."""
    one, two = repo.commit({"a": "1"}), repo.commit({"a": "2"})
    repo.branch("b", one)
    here = opened(repo)
    before = repo.refs()
    for stale in (two, None):
        with pytest.raises(RepositoryError, match="a ref moved while"):
            here.move_refs([RefMove("refs/heads/fresh", None, two), RefMove("refs/heads/b", stale, two)])
        assert repo.refs() == before
    with pytest.raises(RepositoryError, match="a ref moved while"):
        here.move_refs([RefMove("refs/heads/gone", one, two)])
    here.move_refs([RefMove("refs/heads/b", one, two), RefMove("refs/porttool/x", None, one)])
    assert (here.refs.read("refs/heads/b"), here.refs.read("refs/porttool/x")) == (two, one)
    here.move_refs([RefMove("refs/porttool/x", one, None)])
    assert here.refs.read("refs/porttool/x") is None


def test_a_lock_is_named(repo):
    """A lock left on the branch is reported before any work and at the move itself."""
    one = repo.commit({"a": "1"})
    here = opened(repo)
    lock = repo.path / ".git/refs/heads/out.lock"
    lock.write_text("")
    with pytest.raises(RepositoryError, match="locked") as caught:
        here.refs.check_free("refs/heads/out")
    assert caught.value.where == str(lock)
    with pytest.raises(RepositoryError, match="locked"):
        here.move_refs([RefMove("refs/heads/out", None, one)])


def test_resolve_names_the_nearest_ref(repo):
    """Branches, tags, short ids and expressions resolve; a missing name gets the nearest as a hint."""
    one, two = repo.commit({"a": "1"}), repo.commit({"a": "2"}, branch="main")
    repo.git("tag", "-a", "v1", "-m", "v1", one)
    here = opened(repo)
    assert [here.resolve(rev) for rev in ("main", "main~1", "v1", two[:9])] == [two, one, one, two]
    with pytest.raises(RepositoryError) as caught:
        here.resolve("mian")
    assert caught.value.hint == "did you mean 'main'?"


@pytest.mark.parametrize("rev", ["-main", "--upload-pack=x", "", "a\nb"])
def test_a_rev_that_could_be_an_option_is_refused(repo, rev):
    """No ref that begins with `-` reaches git or the lookup."""
    with pytest.raises(UsageError):
        opened(repo).resolve(rev)


@pytest.mark.parametrize("branch", ["-x", "a..b", "a b", "x.lock", "a//b"])
def test_a_branch_git_would_not_allow_is_refused(branch):
    """The name is checked before any work is done."""
    with pytest.raises(UsageError):
        branch_ref(branch)


def test_unusable_repositories_are_refused(repo, tmp_path):
    """Bare, shallow, sha256, missing, and a plain folder inside another repository: one error each."""
    repo.commit({"a": "1"})
    repo.commit({"a": "2"})
    repo.git("init", "-q", "--bare", str(tmp_path / "bare"))
    repo.git("clone", "-q", "--depth=1", f"file://{repo.path}", str(tmp_path / "shallow"))
    repo.git("init", "-q", "--object-format=sha256", str(tmp_path / "sha256"))
    (repo.path / "inside").mkdir()
    refused = {"bare": "bare", "shallow": "shallow", "sha256": "sha256", "missing": "no repo", "repo/inside": "not a"}
    for name, told in refused.items():
        with pytest.raises(RepositoryError, match=told):
            Repository.open(tmp_path / name)


def test_a_branch_in_any_worktree_is_not_free(repo, tmp_path):
    """The main worktree, a linked one and a rebase in progress all hold their branch."""
    one = repo.commit({"a": "1"})
    for name in ("linked", "rebased", "free"):
        repo.branch(name, one)
    repo.git("worktree", "add", "-q", str(tmp_path / "w"), "linked")
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "w2"), one)
    state = repo.path / ".git/worktrees/w2/rebase-merge"
    state.mkdir()
    (state / "head-name").write_text("refs/heads/rebased\n")
    here = opened(repo)
    for name, folder in (("main", repo.path), ("linked", tmp_path / "w"), ("rebased", tmp_path / "w2")):
        with pytest.raises(RepositoryError, match=f"'{name}' is checked out") as caught:
            here.refs.check_free(f"refs/heads/{name}")
        assert caught.value.where == str(folder)
    here.refs.check_free("refs/heads/free")
    Repository.open(tmp_path / "w").refs.check_free("refs/heads/free")
    with pytest.raises(RepositoryError, match="checked out"):
        Repository.open(tmp_path / "w").refs.check_free("refs/heads/main")


def test_another_repository_is_brought_under_our_own_refs(repo, tmp_path):
    """Objects of a source repository arrive, no ref of the user moves, and its names resolve first."""
    mine = repo.commit({"a": "1"})
    other = new_repo(tmp_path / "other")
    theirs = other.commit({"b": "2"})
    here = opened(repo)
    before = repo.refs()
    remote = here.bring(str(other.path))
    assert here.resolve("main", remote) == theirs and here.resolve("main") == mine
    assert {name for name in repo.refs() if name not in before} == {f"{remote}heads/main"}
    assert {name: repo.refs()[name] for name in before} == before
    assert here.bring(str(repo.path)) is None
    assert here.bring(f"file://{other.path}") != remote


def test_a_url_is_opened_from_the_cache(repo, tmp_path):
    """A URL gives a copy whose branches resolve by their plain names and of which none is checked out."""
    tip = repo.commit({"a": "1"})
    url = f"file://{repo.path}"
    for _ in range(2):
        here = open_location(url, tmp_path / "cache")
        assert here.resolve("main") == tip
        here.refs.check_free("refs/heads/main")
    newer = repo.commit({"a": "2"})
    assert open_location(url, tmp_path / "cache").resolve("main") == newer
    with pytest.raises(EnvironmentFault, match=r"cannot fetch: .*does not appear to be"):
        open_location(f"file://{tmp_path}/none", tmp_path / "cache")


def test_urls_and_paths_are_told_apart(tmp_path):
    """`host:path` is a URL; a path that exists, or has a slash before its colon, is a path."""
    assert all(is_url(text) for text in ("https://h/o/r", "git@h:o/r", "file:///x"))
    assert not any(is_url(text) for text in ("build/verl", "./a:b", str(tmp_path)))


def test_git_runs_in_a_clean_environment(repo, monkeypatch):
    """An inherited GIT_DIR or GIT_OBJECT_DIRECTORY does not send our writes elsewhere; credentials settings stay."""
    repo.commit({"a": "1"})
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", "/nowhere")
    monkeypatch.setenv("GIT_ASKPASS", "/bin/my-askpass")
    here = opened(repo)
    assert here.git.text("rev-parse", "--git-dir") == ".git"
    alias = here.git.run("-c", "alias.e=!env", "e").out
    assert b"GIT_ASKPASS=/bin/my-askpass" in alias and b"/nowhere" not in alias


def test_t24_no_identity_is_needed(repo, monkeypatch):
    """With no name and no mail configured anywhere, objects are written and refs move."""
    tip = repo.commit({"a": "1"})
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.delenv(f"GIT_{name}_NAME")
        monkeypatch.delenv(f"GIT_{name}_EMAIL")
    here = opened(repo)
    made = here.write_commit(Commit(EMPTY_TREE, (tip,), b"A <a@x> 1 +0000", b"C <c@x> 1 +0000", b"m"))
    here.move_refs([RefMove("refs/heads/out", None, made)])
    assert repo.git("log", "-1", "--format=%cn", "out") == "C"


def test_faults_tell_whose_they_are():
    """A full disk and a killed git are the machine's; anything else is the repository's."""
    assert isinstance(fault_of("git x", 128, "fatal: write error: No space left on device"), EnvironmentFault)
    assert isinstance(fault_of("git x", -9, ""), EnvironmentFault)
    told = fault_of("git x", 128, "hint: noise\nfatal: bad thing")
    assert isinstance(told, RepositoryError) and told.message == "git x failed: bad thing"


def test_a_missing_object_is_named(repo):
    """An object that is not there is a fault of the repository that names it."""
    here = opened(repo)
    for read in (here.read, here.commit, here.entries):
        with pytest.raises(RepositoryError) as caught:
            read("1" * 40)
        assert caught.value.where == "1" * 40
    with pytest.raises(RepositoryError, match="expected a commit, found a blob"):
        here.commit(here.write(b"x"))


def test_t36_the_scratch_worktree_applies_no_filter(repo):
    """A worktree is added without checking anything out, and without running hooks."""
    tip = repo.commit({".gitattributes": "* text eol=crlf\n", "a": "1\n"})
    hook = repo.path / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch /nowhere/hook-ran\nexit 1\n")
    hook.chmod(0o755)
    here = opened(repo)
    folder = here.common / "porttool/scratch"
    here.refs.add_worktree(folder, tip)
    assert [found.name for found in folder.iterdir()] == [".git"]
    (repo.path / ".git/worktrees/away").mkdir()
    (repo.path / ".git/worktrees/away/gitdir").write_text("/mnt/not/mounted/.git\n")
    here.refs.remove_worktree(folder)
    here.refs.remove_worktree(folder)
    assert [admin.name for admin in (repo.path / ".git/worktrees").iterdir()] == ["away"]
    (repo.path / ".git/worktrees/away/gitdir").unlink()
    (repo.path / ".git/worktrees/away").rmdir()
    assert repo.git("worktree", "list").count("\n") == 0
    assert Git(str(repo.path)).run("status", "--porcelain").code == 0


def test_history_and_ancestors(repo):
    """Parents come before children, excluded commits are left out, first-parent stays on its line."""
    base = repo.commit({"a": "1"})
    side = repo.commit({"b": "1"}, branch="side", parents=[base])
    left = repo.commit({"a": "2"})
    merge = repo.commit({"b": "1"}, parents=[left, side])
    here = opened(repo)
    assert here.history([merge], [base])[-1] == merge and set(here.history([merge], [base])) == {side, left, merge}
    assert here.history([merge], [base], first_parent=True) == [left, merge]
    assert here.is_ancestor(base, merge) and not here.is_ancestor(side, left) and here.is_ancestor(left, left)


def test_notes_are_known(repo):
    """Commits that carry a note are found under every notes ref."""
    one = repo.commit({"a": "1"})
    two = repo.commit({"a": "2"})
    repo.git("notes", "add", "-m", "n", one)
    assert opened(repo).noted == {one} and two not in opened(repo).noted


def test_a_full_disk_is_not_called_a_lock(repo, monkeypatch):
    """git names the lock file it could not write: that is the disk's fault, and no other process is to blame."""
    tip = repo.commit({"a": "1"})
    told = "fatal: prepare: cannot update ref 'refs/heads/out': couldn't write '.git/refs/heads/out.lock'"
    monkeypatch.setattr(Git, "run", lambda self, *words, **more: Ran(128, b"", told))
    with pytest.raises(EnvironmentFault, match="could not be written") as caught:
        Repository.open(repo.path).move_refs([RefMove("refs/heads/out", None, tip)])
    assert "disk" in caught.value.hint
