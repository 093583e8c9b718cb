"""The synthetic repositories of the benchmark: deterministic, and truly the same code in two layouts."""

from __future__ import annotations

from pathlib import Path

import pytest

from porttool.bench_trees import HOT, LAYOUT, NEW, OLD, Code, build, expected
from porttool.manifest import load_layout
from porttool.repo import Repository
from porttool.translate import Translator
from porttool.vendor_git import Git

FILES, COMMITS = 230, 6


@pytest.fixture(scope="module")
def git(tmp_path_factory: pytest.TempPathFactory) -> Git:
    return build(tmp_path_factory.mktemp("bench") / "tree", FILES, COMMITS)


def test_same_every_time(git: Git, tmp_path: Path) -> None:
    """Two builds give the same commits."""
    again = build(tmp_path / "again", FILES, COMMITS)
    refs = "for-each-ref", "--format=%(objectname) %(refname)"
    assert again.text(*refs) == git.text(*refs)


def test_shape(git: Git) -> None:
    """The tree has the files asked for, the source its commits, and the target one of its own."""
    assert len(git.text("ls-tree", "-r", "--name-only", "base").splitlines()) == FILES
    assert git.text("rev-list", "--count", "base..source") == str(COMMITS)
    assert git.text("rev-list", "--count", "base..same") == "1"


def test_every_commit_changes_something(git: Git) -> None:
    """No commit is empty: each one changes files."""
    for oid in git.text("rev-list", "base..source").split():
        assert git.text("diff-tree", "--no-commit-id", "--name-only", "-r", oid)


def test_layout_takes_same_to_moved(git: Git) -> None:
    """T of the target in the old layout is the target in the new one, exactly, and nothing is one-way."""
    repository = Repository.open(git.folder)
    entries = {
        name: repository.entries(repository.commit(repository.resolve(name)).tree) for name in ("same", "moved")
    }
    translated = Translator(load_layout(LAYOUT.encode()), repository).tree(entries["same"])
    assert translated.one_way == ()
    assert translated.entries == entries["moved"]


def test_some_hot_files_move() -> None:
    """A part of the files that commits touch changes its path, and a half changes its content."""
    code = Code(FILES)
    moved = [number for number in range(HOT) if code.path(number, OLD) != code.path(number, NEW)]
    assert len(moved) == HOT // 5
    changed = [number for number in range(HOT) if code.text(number, OLD) != code.text(number, NEW)]
    assert len(changed) == HOT // 2


def test_cherry_pick_gives_what_is_expected(git: Git) -> None:
    """git itself, picking the commits onto the target, comes to the expected contents."""
    git.run("checkout", "--quiet", "--detach", "same")
    git.run("cherry-pick", "base..source")
    for path, content in expected(FILES, COMMITS, OLD).items():
        assert git.run("show", f"HEAD:{path}") == content
