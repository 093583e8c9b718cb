"""The long fuzz: every law, until the time is over, whatever is found on the way.

    python -m tests.soak [--minutes 60] [--seed N] [--only LAW] [--workers N] [--folder FOLDER] [--corpus PLACE]
    python -m tests.soak --example FILE

Each problem is written to FOLDER as soon as it is found, as small as it gets, and printed at the end. `--example`
tries a written one again. `--corpus` adds a folder, a wheel or an sdist to the files that are broken on purpose.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from tests.soak import child
from tests.soak.batches import Found, run
from tests.soak.corpus import MORE
from tests.soak.laws import BY_NAME, LAWS


def main() -> int:
    """Run, print, and say by the exit code whether anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description="fuzz the laws")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=sorted(BY_NAME), default=[])
    parser.add_argument("--workers", type=int, default=max((os.cpu_count() or 2) - 1, 1))
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--corpus", action="append", default=[])
    parser.add_argument("--example", type=Path, default=None)
    told = parser.parse_args()
    if told.example is not None:
        sys.argv = ["child", told.example.name.partition("-")[0], "--example", str(told.example)]
        return child.main()
    os.environ[MORE] = os.pathsep.join([*told.corpus, *filter(None, [os.environ.get(MORE)])])
    folder = told.folder or Path(tempfile.mkdtemp(prefix="porttool-fuzz-"))
    laws = [BY_NAME[name] for name in told.only] or list(LAWS)
    started = time.monotonic()
    print(f"problems go to {folder}", flush=True)
    found = run(laws, told.seed, told.minutes, told.workers, folder, lambda line: print(line, flush=True))
    report(found, time.monotonic() - started)
    return 1 if found.problems or found.crashes else 0


def report(found: Found, seconds: float) -> None:
    """The table, and each problem once."""
    print("\n".join(["", *found.table, ""]))
    seen: set[tuple[str, str]] = set()
    for problem in (*found.crashes, *found.problems):
        if (problem.law, problem.origin) not in seen:
            seen.add((problem.law, problem.origin))
            print(f"PROBLEM {problem.law}: {problem.origin}\n  {found.write(problem)}")
            print("  " + problem.text.strip().splitlines()[-1][:400] if problem.text.strip() else "")
    counts = sum(problem.count for problem in found.problems), len(found.crashes)
    print(f"{seconds / 60:.1f} minutes: {counts[0]} violations, {counts[1]} crashes")


if __name__ == "__main__":
    sys.exit(main())
