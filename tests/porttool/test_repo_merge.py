"""Three-way merges of contents, and the markers of those that fail."""

from __future__ import annotations

import random
import subprocess

import pytest

from porttool.repo import Labels, Repository, has_markers
from porttool.repo_merge import IN_MEMORY, Merger

LABELS = Labels("target abc", "base", "source def")


def opened(repo) -> Repository:
    return Repository.open(repo.path)


@pytest.mark.parametrize("in_memory", [False, True])
def test_merge_is_that_of_git_merge_file(repo, tmp_path, in_memory):
    """In process or not, a clean merge has the bytes of `git merge-file`, and a conflict is one there too."""
    if in_memory and not IN_MEMORY:
        pytest.skip("this pygit2 cannot merge in memory")
    rng = random.Random(11)
    here = Merger(opened(repo).git, in_memory)
    clean = 0
    for _ in range(60):
        base = [b"%d \xe9\r\n" % rng.randrange(9) for _ in range(30)]
        sides = [base, *(_mutated(base, rng) for _ in range(2))]
        for name, lines in zip("boc", sides, strict=True):
            (tmp_path / name).write_bytes(b"".join(lines))
        command = ["git", "merge-file", "-p", "--diff3", *(word for label in LABELS for word in ("-L", label))]
        told = subprocess.run([*command, "o", "b", "c"], cwd=tmp_path, capture_output=True, check=False)
        merged = here.merge3(*(b"".join(side) for side in sides), LABELS)
        assert merged.content == told.stdout
        assert merged.clean == (told.returncode == 0)
        clean += merged.clean
    assert 10 < clean < 60


def _mutated(lines: list[bytes], rng: random.Random) -> list[bytes]:
    changed = list(lines)
    for _ in range(2):
        at = rng.randrange(len(changed))
        changed[at : at + rng.randrange(3)] = [b"new %d\r\n" % rng.randrange(3)] * rng.randrange(3)
    return changed


def test_merge_takes_the_side_that_changed(repo):
    """Trivial merges, deletions included, never look at lines; a deletion against a change is a conflict."""
    here = opened(repo)
    assert here.merge3(b"a\0", b"a\0", b"b\0", LABELS) == (True, b"b\0")
    assert here.merge3(b"a", None, b"a", LABELS) == (True, None)
    assert here.merge3(b"a", b"a", None, LABELS) == (True, None)
    assert here.merge3(None, b"n", b"n", LABELS) == (True, b"n")
    assert here.merge3(b"a", None, b"b", LABELS) == (False, b"b")
    assert here.merge3(b"a\0", b"b\0", b"c\0", LABELS) == (False, b"b\0")


def test_markers_carry_the_names_given(repo):
    """A conflict has diff3 markers with the commits' names, and is recognised as unresolved."""
    merged = opened(repo).merge3(b"a\n", b"b\n", b"c\n", LABELS)
    assert merged.content == b"<<<<<<< target abc\nb\n||||||| base\na\n=======\nc\n>>>>>>> source def\n"
    assert has_markers(merged.content)
    assert not has_markers(b"Title\n=======\n  <<<<<<< x\n<<<<<<<< y\n")
    assert not has_markers(merged.content, [b"x\n" + merged.content])
    assert has_markers(merged.content, [b"<<<<<<< target abc\n||||||| base\n"])
