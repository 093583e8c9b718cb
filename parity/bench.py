"""How long `diff-meta` takes against importing one side's trainer, and whether captures repeat.

    python -m parity.bench [MANIFEST] [--scenario NAME] [--turns N] [--repeats N]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from parity.capture import capture, import_seconds
from parity.probes.run import Setting, setting
from porttool.manifest import load

COLD_GOAL = 1.4  # times the import of one side's own trainer module
CACHED_GOAL = 1.0  # seconds


def diff_meta(manifest: Path, scenario: str, cache: Path) -> float:
    """Seconds of one `porttool diff-meta` as a user runs it, with a cache folder of its own."""
    command = [sys.executable, "-m", "porttool", "diff-meta", str(manifest), "--scenario", scenario]
    began = time.perf_counter()
    ended = subprocess.run(command, capture_output=True, check=False, env={**os.environ, "PORTTOOL_CACHE": str(cache)})
    if ended.returncode not in (0, 1):
        raise SystemExit(ended.stderr.decode())
    return time.perf_counter() - began


def times(manifest: Path, scenario: str, turns: int) -> bool:
    """Cold, cached and import seconds, medians of interleaved turns; whether both goals are met."""
    rows: list[tuple[float, float, float]] = []
    for _ in range(turns):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["PORTTOOL_CACHE"] = folder
            of = setting(load(manifest))
            imported = import_seconds(of.left, of.jobs(of.chosen([scenario]), "source")[0], of.stack)
            cold = diff_meta(manifest, scenario, Path(folder, "cold"))
            rows.append((imported, cold, diff_meta(manifest, scenario, Path(folder, "cold"))))
    imported, cold, cached = (statistics.median(column) for column in zip(*rows, strict=True))
    met = bool(cold <= COLD_GOAL * imported and cached <= CACHED_GOAL)
    print(f"import of one side's trainer   {imported:6.2f} s   median of {turns}")
    print(f"diff-meta, cold, both sides    {cold:6.2f} s   {cold / imported:.2f}x the import (goal {COLD_GOAL}x)")
    print(f"diff-meta, cached              {cached:6.2f} s   (goal {CACHED_GOAL} s)")
    print("goals met" if met else "goals NOT MET")
    return met


def repeats(of: Setting, scenario: str, number: int) -> bool:
    """Capture the source side again and again; whether all captures are one."""
    jobs = of.jobs(of.chosen([scenario]), "source")
    digests = set()
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(number):
            (row,) = capture([(of.left, jobs)], of.stack, Path(folder), layout=of.manifest.layout.digest, fresh=True)
            digests.add(row[0].digest())
    print(f"{number} captures of {scenario}: {len(digests)} different")
    return len(digests) == 1


def main() -> int:
    """Print the table; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m parity.bench", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("manifest", nargs="?", type=Path, default=Path("manifests/rl_correctness.yaml"))
    parser.add_argument("--scenario", default="zorro")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=0, help="also capture one side this many times")
    args = parser.parse_args()
    met = times(args.manifest, args.scenario, args.turns)
    if args.repeats:
        met &= repeats(setting(load(args.manifest)), args.scenario, args.repeats)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
