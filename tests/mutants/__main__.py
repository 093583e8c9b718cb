"""Changes the judges of this project, one small change at a time, and asks whether a test notices.

    python -m tests.mutants [--module MODULE]... [--jobs N] [--list]

Each mutant is killed, survives, or is explained in `equivalent.yaml`. The exit code is 1 where one survives that is
not explained, or an explanation is out of date, and 2 where the tests fail without a mutant.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.mutants.judge import ROOT, Target, Unfit, judge
from tests.mutants.known import FILE, Explained
from tests.mutants.mutate import Mutant, Mutated
from tests.mutants.targets import TARGETS


def main(words: Sequence[str] | None = None, targets: Sequence[Target] = TARGETS, explained: Path = FILE) -> int:
    """Judge, print, and say by the exit code whether every mutant is accounted for."""
    known = [name for target in targets for name in target.modules]
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description="which changes no test notices")
    parser.add_argument("--module", action="append", choices=known, metavar="MODULE", help=", ".join(known))
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="how many mutants at a time")
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    told = parser.parse_args(words)
    chosen = told.module or known
    reasons = Explained(explained)
    problems = list(reasons.wrong)
    rows = []
    start = time.monotonic()
    for target in targets:
        mutated = {name: Mutated(name, file_of(name)) for name in target.modules if name in chosen}
        mutants = [mutant for one in mutated.values() for mutant in one.mutants]
        if told.list:
            print(*mutants, sep="\n")
            continue
        try:
            survived = _survivors(target, mutated, mutants, reasons, told.jobs)
        except Unfit as error:
            print(error, file=sys.stderr)
            return 2
        rows += [_row(name, mutants, survived, reasons) for name in mutated]
        problems += reasons.stale(tuple(mutated), mutants, survived)
    print(_table(rows) + f"\n{time.monotonic() - start:.0f} s" if rows else "", *problems, sep="\n")
    return 1 if problems or any(row[4] for row in rows) else 0


def _survivors(
    target: Target, mutated: dict[str, Mutated], mutants: Sequence[Mutant], reasons: Explained, jobs: int
) -> list[Mutant]:
    survived = []
    for place in judge(target, mutated, mutants, jobs) if mutants else ():
        survived.append(mutants[place])
        if not reasons.why(mutants[place]):
            print(mutants[place], flush=True)
    return survived


Row = tuple[str, int, int, int, int]


def _row(name: str, mutants: Sequence[Mutant], survived: Sequence[Mutant], reasons: Explained) -> Row:
    own = [mutant for mutant in survived if mutant.module == name]
    explained = sum(bool(reasons.why(mutant)) for mutant in own)
    every = Counter(mutant.module for mutant in mutants)[name]
    return name, every, every - len(own), explained, len(own) - explained


def _table(rows: Sequence[Row]) -> str:
    head = f"{'module':<28}{'mutants':>9}{'killed':>9}{'explained':>11}{'survived':>10}"
    told = [f"{name:<28}{every:>9}{killed:>9}{why:>11}{left:>10}" for name, every, killed, why, left in rows]
    return "\n".join([head, *told])


def file_of(module: str) -> Path:
    """Where a module lies."""
    return ROOT / f"{module.replace('.', '/')}.py"


if __name__ == "__main__":
    sys.exit(main())
