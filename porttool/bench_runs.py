"""What the benchmark times: git cherry-pick and apply of the same commits, and T over a whole tree."""

from __future__ import annotations

import gc
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple, TypeVar

from porttool.bench_trees import LAYOUT, NEW, OLD, build, expected
from porttool.errors import RepositoryError
from porttool.manifest import load, load_layout
from porttool.repo import Repository
from porttool.translate import Translator
from porttool.vendor_git import Git

Made = TypeVar("Made")
Progress = Callable[[str], None]
BRANCH = "port/bench"
CHERRY_PICK, PLAIN, REWRITING, COMMAND = "git cherry-pick", "apply", "apply, rewriting", "apply as a command"

VERL_LAYOUT = b"""\
paths: {verl/workers/: verl/engine/workers/, verl/utils/: verl/common/, verl/trainer/ppo/: verl/trainer/policy/}
symbols: {DataProto: TensorBatch, RolloutWorker: SamplingWorker}
keys: {actor_rollout_ref.rollout: actor_rollout_ref.sampler, algorithm.kl_ctrl: algorithm.penalty}
"""


class Took(NamedTuple):
    """Seconds on the clock, and of processor time with that of children: the second hardly minds a busy machine."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Row:
    """The median time of one thing over all turns, and the tree and the commits it was done on."""

    what: str
    files: int
    commits: int
    wall: float
    cpu: float
    turns: tuple[Took, ...]

    @property
    def each(self) -> float:
        """Milliseconds per commit."""
        return 1000 * self.wall / self.commits


@dataclass(frozen=True)
class WholeTree:
    """T over a whole tree, against reading and writing the same blobs."""

    files: int
    size: int
    read_write: float
    forward: float
    both: float
    one_way: int


def ports(folder: Path, sizes: tuple[int, ...], counts: tuple[int, ...], turns: int, progress: Progress) -> list[Row]:
    """Time cherry-pick and apply on synthetic trees; everything takes turns, so that all see the same machine."""
    trees: dict[int, Git] = {}
    for files in sizes:
        progress(f"building a tree of {files:,} files")
        trees[files] = build(folder / str(files), files, max(counts))
    rows = []
    for count in counts:
        told: dict[tuple[int, str], list[Took]] = {}
        for turn in range(turns):
            progress(f"{count} commits: turn {turn + 1} of {turns}")
            for files, git in trees.items():
                for what, took in _turn(git, files, count, git.text("rev-parse", f"source~{max(counts) - count}")):
                    told.setdefault((files, what), []).append(took)
        for (files, what), each in told.items():
            wall, cpu = median(took.wall for took in each), median(took.cpu for took in each)
            rows.append(Row(what, files, count, wall, cpu, tuple(each)))
    return sorted(rows, key=lambda row: (row.files, row.commits))


def _turn(git: Git, files: int, count: int, last: str) -> Iterator[tuple[str, Took]]:
    same, moved = (_check(git, files, count, BRANCH, moved=moved) for moved in (False, True))
    plain, rewriting = (_manifest(git.folder, last, name) for name in (PLAIN, REWRITING))
    yield CHERRY_PICK, _cherry_pick(git, last, files, count)
    yield PLAIN, _apply(git, plain, same)
    yield REWRITING, _apply(git, rewriting, moved)
    yield COMMAND, _command(git, rewriting, moved)


def _manifest(folder: Path, last: str, name: str) -> Path:
    target, layout = ("same", "  {}\n") if name == PLAIN else ("moved", LAYOUT)
    path = folder / ".git" / f"bench-{target}.yaml"
    path.write_text(
        f"version: 1\nsource: {{repo: {json.dumps(str(folder))}, ref: source}}\n"
        f"target: {{repo: {json.dumps(str(folder))}, ref: {target}, branch: {BRANCH}}}\n"
        f"layout:\n{layout}commits:\n  - {{range: base..{last}}}\n",
        encoding="utf-8",
    )
    return path


def _cherry_pick(git: Git, last: str, files: int, count: int) -> Took:
    git.run("checkout", "--quiet", "--detach", "--force", "same", "--")
    with _forgetting(git):
        _, took = _clocked(lambda: git.run("cherry-pick", f"base..{last}"))
        _check(git, files, count, "HEAD", moved=False)()
        git.run("checkout", "--quiet", "--detach", "--force", "same", "--")
    return took


def _apply(git: Git, manifest: Path, check: Callable[[], None]) -> Took:
    """All that the command does once Python has started: from reading the manifest to moving the ref."""
    from porttool.port import apply

    with _forgetting(git):
        _, took = _clocked(lambda: apply(load(manifest)))
        check()
    return took


def _command(git: Git, manifest: Path, check: Callable[[], None]) -> Took:
    words = [sys.executable, "-m", "porttool", "apply", str(manifest), "--json"]
    with _forgetting(git):
        ran, took = _clocked(lambda: subprocess.run(words, capture_output=True, check=False))
        if ran.returncode:
            raise RepositoryError("apply failed", str(manifest), ran.stderr.decode(errors="replace").strip())
        check()
    return took


def _check(git: Git, files: int, count: int, rev: str, *, moved: bool) -> Callable[[], None]:
    """What must hold after a run: the commits are there, and every file they touched is as it must be."""

    def check() -> None:
        target = "moved" if moved else "same"
        told = git.text("rev-list", "--count", f"{target}..{rev}")
        want = expected(files, count, NEW if moved else OLD)
        have = _contents(git, rev, list(want))
        if told != str(count) or have != want:
            wrong = [path for path in want if have[path] != want[path]]
            raise RepositoryError(f"{told} of {count} commits, {len(wrong)} files are wrong", *wrong[:1])

    return check


def _contents(git: Git, rev: str, paths: list[str]) -> dict[str, bytes]:
    asked = "".join(f"{rev}:{path}\n" for path in paths).encode()
    out = git.run("cat-file", "--batch", stdin=asked)
    found = {}
    for path in paths:
        head, _, out = out.partition(b"\n")
        size = int(head.split()[2])
        found[path], out = out[:size], out[size + 1 :]
    return found


@contextmanager
def _forgetting(git: Git) -> Iterator[None]:
    """Remove what a run leaves, so that the next one has everything to write anew."""
    objects = git.folder / ".git" / "objects"
    before = {path for path in objects.rglob("*") if path.is_file()}
    try:
        yield
    finally:
        git.run("update-ref", "-d", f"refs/heads/{BRANCH}")
        for path in objects.rglob("*"):
            if path.is_file() and path not in before:
                path.unlink()


def whole_tree(folder: Path, rev: str, repeats: int, progress: Progress) -> WholeTree:
    """Time T over the whole tree of a repository; each turn starts without any cache of ours."""
    told = []
    for turn in range(repeats):
        progress(f"whole tree: turn {turn + 1} of {repeats}")
        told.append(_whole_tree_once(folder, rev))
    first = told[0]
    middle = [
        median(column) for column in ((t.read_write for t in told), (t.forward for t in told), (t.both for t in told))
    ]
    return WholeTree(first.files, first.size, middle[0], middle[1], middle[2], first.one_way)


def _whole_tree_once(folder: Path, rev: str) -> WholeTree:
    plain, fresh = Repository.open(folder), Repository.open(folder)
    entries = plain.entries(plain.commit(plain.resolve(rev)).tree)
    blobs, read = _clocked(lambda: [plain.read(entry.oid) for entry in entries.values()])
    _, write = _clocked(lambda: [plain.write(b"\n" + blob) for blob in blobs])
    translator = Translator(load_layout(VERL_LAYOUT), fresh)
    there, forward = _clocked(lambda: translator.tree(entries))
    back, backward = _clocked(lambda: translator.inverse().tree(there.entries))
    if not there.one_way and back.entries != entries:
        raise RepositoryError("T and back is not the same tree", str(folder), "this is a bug of porttool")
    size = sum(len(blob) for blob in blobs)
    return WholeTree(
        len(entries), size, read.wall + write.wall, forward.wall, forward.wall + backward.wall, len(there.one_way)
    )


def _clocked(run: Callable[[], Made]) -> tuple[Made, Took]:
    gc.collect()
    start, used = time.perf_counter(), _processor_time()
    made = run()
    return made, Took(time.perf_counter() - start, _processor_time() - used)


def _processor_time() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
