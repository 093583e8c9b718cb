"""What the benchmark times is what it says, and wrong work is never timed."""

from __future__ import annotations

from pathlib import Path

import pytest

from porttool import bench_runs, port
from porttool.bench_runs import CHERRY_PICK, COMMAND, PLAIN, REWRITING, ports, whole_tree
from porttool.bench_trees import build
from porttool.errors import RepositoryError


def test_ports_times_everything(tmp_path: Path) -> None:
    """Each way of porting is timed once a turn on each size of tree, and nothing of it stays."""
    rows = ports(tmp_path, (200, 250), (2,), 1, lambda line: None)
    ways = [CHERRY_PICK, PLAIN, REWRITING, COMMAND]
    assert [(row.files, row.what) for row in rows] == [(files, way) for files in (200, 250) for way in ways]
    assert all(row.wall > 0 and len(row.turns) == 1 and row.commits == 2 for row in rows)
    refs = (tmp_path / "200" / ".git" / "refs" / "heads").rglob("*")
    assert "bench" not in {path.name for path in refs if path.is_file()}


def test_port_that_does_nothing_is_not_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An apply that returns at once without its commits is an error, not a record."""
    monkeypatch.setattr(port, "apply", lambda manifest: None)
    with pytest.raises(RepositoryError):
        ports(tmp_path, (200,), (2,), 1, lambda line: None)


def test_wrong_content_is_not_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits with other contents than must come out are an error."""
    real = bench_runs.expected
    monkeypatch.setattr(bench_runs, "expected", lambda *told: {**real(*told), "pkg/d00/e00/m01.py": b"other\\n"})
    with pytest.raises(RepositoryError, match="2 of 2 commits, 1 files are wrong"):
        ports(tmp_path, (200,), (2,), 1, lambda line: None)


def test_forgetting_makes_every_turn_the_first(tmp_path: Path) -> None:
    """Objects and refs that a run wrote are gone afterwards, so that the next one must write them again."""
    git = build(tmp_path / "tree", 200, 2)
    before = sorted((git.folder / ".git" / "objects").rglob("*"))
    with bench_runs._forgetting(git):
        git.run("hash-object", "-w", "--stdin", stdin=b"new")
        git.run("branch", bench_runs.BRANCH, "source")
    files = [path for path in sorted((git.folder / ".git" / "objects").rglob("*")) if path.is_file()]
    assert files == [path for path in before if path.is_file()]
    assert git.text("branch", "--list", bench_runs.BRANCH) == ""


def test_whole_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """T over a tree is timed with the files and bytes it had."""
    git = build(tmp_path / "tree", 200, 1)
    told = whole_tree(git.folder, "source", 2, lambda line: None)
    sizes = git.text("ls-tree", "-r", "--format=%(objectsize)", "source").split()
    assert (told.files, told.size, told.one_way) == (200, sum(map(int, sizes)), 0)
    assert 0 < told.forward < told.both
