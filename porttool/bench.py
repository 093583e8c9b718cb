"""`make bench`: apply against git cherry-pick, and T against reading and writing, in one run on one machine."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from porttool.bench_runs import CHERRY_PICK, COMMAND, PLAIN, REWRITING, Row, WholeTree, ports, whole_tree
from porttool.errors import EXIT_ANSWER_NO, EXIT_OK, PortError
from porttool.vendor import sync

VERL_REV = "upstream/v0.7.1"
FASTER, SAME_COST, WHOLE_TREE = 3.0, 1.2, 3.0


@dataclass(frozen=True)
class Goal:
    """One promise about speed, what was measured, and whether it held."""

    promise: str
    measured: str
    met: bool


def main(words: list[str] | None = None) -> int:
    """Run the benchmark; exit code 1 where a goal is not met."""
    parser = argparse.ArgumentParser(prog="python -m porttool.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer files, commits and turns: a smoke test")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    told = parser.parse_args(words)
    sizes, counts, turns = ((200, 2_000), (20,), 1) if told.quick else ((1_000, 50_000), (60, 600), 3)
    try:
        rows, tree = _measure(sizes, counts, turns)
    except PortError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    goals = judge(rows, tree)
    if told.json:
        print(json.dumps(as_json(rows, tree, goals), indent=1))
    else:
        print("\n".join(as_table(rows, tree, goals)))
    return EXIT_OK if told.quick or all(goal.met for goal in goals) else EXIT_ANSWER_NO


def _measure(sizes: tuple[int, ...], counts: tuple[int, ...], turns: int) -> tuple[list[Row], WholeTree]:
    [verl] = sync(("verl",), root=Path("."), progress=_progress)
    tree = whole_tree(verl.folder, VERL_REV, turns, _progress)
    with tempfile.TemporaryDirectory(prefix="porttool-bench-", ignore_cleanup_errors=True) as scratch:
        rows = ports(Path(scratch), sizes, counts, turns, _progress)
    return rows, tree


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    git = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": str(os.cpu_count()),
        "python": platform.python_version(),
        "git": git.split()[2],
    }


def judge(rows: Iterable[Row], tree: WholeTree) -> list[Goal]:
    """The goals, each with its worst case."""
    seconds = {(row.what, row.files, row.commits): row.wall for row in rows}
    shapes = sorted({(files, commits) for _, files, commits in seconds})
    goals = []
    for what, least in ((PLAIN, FASTER), (REWRITING, 1.0)):
        worst, shape = min((seconds[(CHERRY_PICK, *at)] / seconds[(what, *at)], at) for at in shapes)
        measured = f"{worst:.2f}x at worst ({shape[0]:,} files, {shape[1]} commits)"
        goals.append(Goal(f"{what}: at least {least:g}x as fast as {CHERRY_PICK}", measured, worst >= least))
    small, large = min(at[0] for at in shapes), max(at[0] for at in shapes)
    counts = sorted({at[1] for at in shapes})
    for what in (PLAIN, REWRITING):
        worst, count = max((seconds[what, large, count] / seconds[what, small, count], count) for count in counts)
        promise = f"{what}: {large:,} files cost at most {SAME_COST:g}x of {small:,} files"
        goals.append(Goal(promise, f"{worst:.2f}x at worst ({count} commits)", worst <= SAME_COST))
    promise = f"T over all {tree.files:,} files of verl takes under {WHOLE_TREE:g} s"
    goals.append(Goal(promise, f"{tree.forward:.2f} s", tree.forward < WHOLE_TREE))
    return goals


def as_json(rows: list[Row], tree: WholeTree, goals: list[Goal]) -> dict[str, object]:
    """All figures, in seconds."""
    return {
        "machine": machine(),
        "apply": [{**asdict(row), "ms_per_commit": row.each} for row in rows],
        "whole_tree": asdict(tree),
        "goals": [asdict(goal) for goal in goals],
    }


def as_table(rows: list[Row], tree: WholeTree, goals: list[Goal]) -> list[str]:
    """The figures for a terminal."""
    lines = [", ".join(f"{name} {value}" for name, value in machine().items()), ""]
    head = ("files", "commits", "", "seconds", "cpu", "ms/commit", "against git")
    lines.append("{:>7} {:>8}  {:<20} {:>8} {:>8} {:>10} {:>12}".format(*head))
    git = {(row.files, row.commits): row.wall for row in rows if row.what == CHERRY_PICK}
    for row in rows:
        ratio = git[row.files, row.commits] / row.wall
        shape = f"{row.files:>7,} {row.commits:>8}  {row.what:<20}"
        lines.append(f"{shape} {row.wall:>8.3f} {row.cpu:>8.3f} {row.each:>10.2f} {ratio:>11.2f}x")
    size = tree.size / 1e6
    lines += ["", f"T over verl: {tree.files:,} files, {size:.1f} MB, {tree.one_way} places that do not come back"]
    for what, seconds in (("read and write", tree.read_write), ("T", tree.forward), ("T and back", tree.both)):
        lines.append(f"  {what:<20} {seconds:>8.3f} s {seconds / tree.read_write:>8.1f}x of reading and writing")
    lines.append("")
    lines += [f"{'met' if goal.met else 'NOT MET':<8} {goal.promise}: {goal.measured}" for goal in goals]
    note = f"`{COMMAND}` includes starting Python, and rewrites; the other rows of apply do not include the start."
    return [*lines, "", note]


if __name__ == "__main__":
    sys.exit(main())
