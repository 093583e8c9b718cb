"""Precision and recall of `infer` on public histories with a big move.

    python -m tests.soak.infer_histories CLONES [--only WORD]

CLONES is a folder of clones, `owner+name` or `owner+name/repo` each. Truth is what git records for the move commit
(`git diff -M -l0 --diff-filter=R commit^ commit`). A record between blobs that several of the moved files share
(empty `__init__.py`) is git's arbitrary choice among equals and is not judged, nor is a drafted place that does not
exist after the commit. Everything else that the draft moves and git does not is counted as wrong.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from porttool.infer import infer
from porttool.layout import Layout, module_of

HISTORIES = (
    ("borg: package to src/", "borgbackup/borg", "d1ea925a5bac55354848bab9a8c4ae7ed8cc9a74"),
    ("borg: package renamed", "borgbackup/borg", "78bfc58b472703da5e21efcfb013dd6b0f1918be"),
    ("borg: test files renamed", "borgbackup/borg", "40dc9dadb41039ad751d0c374bd18be5ff01fd55"),
    ("incus: all lxd paths", "lxc/incus", "7673a78986e409c4f6990370017ee636d92d49e6"),
    ("incus: incus to incusd", "lxc/incus", "78cea072e60451a0b717f0fc7666a094bf93ebf3"),
    ("incus: to internal/server", "lxc/incus", "d33cb2388a78814289cf5247b4b3ff81c505c802"),
    ("nova: tests to tests/unit", "openstack/nova", "89cd6a0c493e26b5a9e017c99d731464292abbaf"),
    ("nova: to functional", "openstack/nova", "16f73c8a43bf06a9972c52e0a317d610372873b8"),
    ("nova: volume api split off", "openstack/nova", "60ff2e3b72b5a3c9200f8fc47aac01cdb610bdcf"),
    ("pip: to src/pip/_internal", "pypa/pip", "95bcf8c5f6394298035a7332c441868f3b0169f4"),
    ("pip: tests broken up", "pypa/pip", "2e2ce0f4e90aadf8025c1c0a4822023961eba76d"),
    ("pip: vendor renamed", "pypa/pip", "814514e1bd7b7585af45ab28864484a04e45d1dd"),
    ("py: implementation to _py", "pytest-dev/pytest", "5791c06bf2d46adfd31cbc1048864ce4d38ecb21"),
    ("py: tests out of the package", "pytest-dev/pytest", "c8119d89b62c07bcd3abf013e42631c34aee3923"),
    ("flask: package to src/", "pallets/flask", "ca278a8694f42e569a6d9f7d71c669465019bf06"),
    ("flask: test suite split", "pallets/flask", "4cb6eea8f1e1edc707874f72cbca43a0f698ec7d"),
    ("flask: module to package", "pallets/flask", "904fe68d51888e173c8c1e33b9ff300daeb79b29"),
    ("valkey: redis.c split, to src/", "valkey-io/valkey", "e2641e09cc0daf44f63f654230f72d22acf3a9af"),
    ("black: test data", "psf/black", "f71db23824a25300618dd0625085ade8d2b3a7a8"),
)


@dataclass(frozen=True)
class Score:
    """Names of one kind: found and true, found and false, true and not found."""

    right: int
    wrong: int
    missed: int

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 1.0

    @property
    def recall(self) -> float:
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0

    def __add__(self, other: Score) -> Score:
        return Score(self.right + other.right, self.wrong + other.wrong, self.missed + other.missed)

    def __str__(self) -> str:
        return f"{self.right} | {self.wrong} | {self.missed} | {self.precision:.3f} | {self.recall:.3f}"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("clones", type=Path)
    options.add_argument("--only", default="")
    told = options.parse_args()
    print("| history | files | pairs | undecided | s | right | wrong | missed | precision | recall | modules P | R |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    total, modules = Score(0, 0, 0), Score(0, 0, 0)
    for name, owner, commit in HISTORIES:
        clone = next((c for c in _homes(told.clones, owner) if c.exists()), None)
        if told.only not in name or clone is None:
            continue
        paths, dotted, row = measure(clone, commit)
        print(f"| {name} | {row} | {paths} | {dotted.precision:.3f} | {dotted.recall:.3f} |", flush=True)
        total, modules = total + paths, modules + dotted
    print(f"| all | | | | | {total} | {modules.precision:.3f} | {modules.recall:.3f} |")
    return 0 if min(total.precision, modules.precision) >= 0.98 and min(total.recall, modules.recall) >= 0.9 else 1


def _homes(clones: Path, owner: str) -> list[Path]:
    name = owner.replace("/", "+")
    return [clones / name / "repo", clones / name, clones / owner.partition("/")[2]]


def measure(clone: Path, commit: str) -> tuple[Score, Score, str]:
    """Scores of path and module pairs of one history, and the cells that describe it."""
    old, new = tree(clone, f"{commit}^"), tree(clone, commit)
    start = time.perf_counter()
    draft = infer(old, new)
    seconds = time.perf_counter() - start
    truth = renames(clone, commit)
    shared = _shared(old, new)
    moved = {path: place for path in old if (place := draft.layout.path(path)) != path}
    judged = {p: n for p, n in moved.items() if n in new and not (old[p] in shared and old[p] == new[n])}
    told = {p: n for p, n in truth.items() if not (old[p] in shared and old[p] == new[n])}
    row = f"{len(old)} | {len(draft.pairs)} | {len(draft.undecided)} | {seconds:.1f}"
    return _score(judged, told), _score(_modules(judged, draft.layout), _modules(told, draft.layout)), row


def _shared(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> frozenset[bytes]:
    """Blobs that several of the files that came or went hold: git pairs those as they come."""
    sides = ((old, new), (new, old))
    counts = [Counter(here[path] for path in here if there.get(path) != here[path]) for here, there in sides]
    return frozenset(blob for count in counts for blob, n in count.items() if n > 1 or not blob.strip())


def _modules(moves: Mapping[str, str], layout: Layout) -> dict[str, str]:
    """The module names a set of moves changes, under the import roots of the draft."""
    found = {}
    for old, new in moves.items():
        before, after = module_of(old, layout.roots), module_of(new, layout.roots)
        if before and after and before[0] != after[0] and old.endswith(".py") and new.endswith(".py"):
            found[".".join(before[0])] = ".".join(after[0])
    return found


def _score(found: Mapping[str, str], truth: Mapping[str, str]) -> Score:
    right = sum(1 for old, new in found.items() if truth.get(old) == new)
    return Score(right, len(found) - right, sum(1 for old, new in truth.items() if found.get(old) != new))


def renames(clone: Path, commit: str) -> dict[str, str]:
    """What git itself says the commit moved."""
    raw = git(clone, "diff", "-M", "-l0", "--name-status", "-z", "--diff-filter=R", f"{commit}^", commit)
    cells = [cell.decode("utf-8", "surrogateescape") for cell in raw.split(b"\0")[:-1]]
    return {cells[at + 1]: cells[at + 2] for at in range(0, len(cells), 3)}


def tree(clone: Path, rev: str) -> dict[str, bytes]:
    """Every regular file of a rev with its content."""
    homes: dict[str, bytes] = {}
    for line in git(clone, "ls-tree", "-r", "-z", rev).split(b"\0")[:-1]:
        meta, _, path = line.partition(b"\t")
        mode, kind, oid = meta.split()
        if kind == b"blob" and mode != b"120000":
            homes[path.decode("utf-8", "surrogateescape")] = oid
    oids = sorted(set(homes.values()))
    raw = git(clone, "cat-file", "--batch", stdin=b"\n".join(oids) + b"\n")
    blobs: dict[bytes, bytes] = {}
    at = 0
    for oid in oids:
        end = raw.index(b"\n", at)
        # A snapshot may lack its largest files; they have no content to compare.
        size = int(raw[at:end].split()[2]) if not raw[at:end].endswith(b"missing") else -1
        blobs[oid] = raw[end + 1 : end + 1 + max(size, 0)]
        at = end + 2 + size if size >= 0 else end + 1
    return {path: blobs[oid] for path, oid in homes.items()}


def git(clone: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    return subprocess.run(["git", "-C", str(clone), *arguments], input=stdin, capture_output=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
