"""Runs of the fake trainer for the tests, here and in a launcher of its own that can be killed.

As a program: `python launching.py FOLDER OVERRIDE...` launches two runs of it and prints the digest of each.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from parity.capture import Checkout, Stack
from parity.scenario import Job, Rows
from parity.smoke import leftover
from parity.smoke.launch import Launched, launch
from parity.smoke.runs import Run
from parity.smoke.watch import Lines

DRIVER = f"{Path(__file__).with_name('fake_driver.py')}:fit"
STACK = Stack(sys.executable, {"torch": "1"})


def a_job(*overrides: str, **changes: object) -> Job:
    told = {
        "side": "source",
        "scenario": "one",
        "drive": "engine",
        "subject": {},
        "config": ("c", "m"),
        "select": (),
        "overrides": tuple((text, text) for text in overrides),
        "gpus": (),
        "rows": Rows(),
    }
    return Job(**{**told, **changes})


def a_side(folder: Path, tree: str = "t" * 40) -> Checkout:
    """A tree that trains at rate 0.5."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rate.txt").write_text("0.5")
    return Checkout("source", "main", "c" * 40, tree, folder)


def a_run(folder: Path, *overrides: str, seed: int = 1, **changes: object) -> Run:
    told = {"side": a_side(folder / "tree"), "job": a_job(*overrides), "steps": 3, "seed": seed, "driver": DRIVER}
    return Run(**{**told, **changes})


def launched(folder: Path, runs: Sequence[Run], lines: list[str] | None = None, **options: object) -> Launched:
    """Launch runs with a cache below `folder`; what happens is put into `lines`."""
    return launch(runs, STACK, folder / "cache", Lines((lines if lines is not None else []).append), **options)


def eventually(holds, seconds: float = 60.0) -> bool:
    """Whether something comes to hold within some seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.05)
    return False


if __name__ == "__main__":
    place = Path(sys.argv[1])
    leftover.BASE = place
    tell = Lines(lambda line: print(line, flush=True))
    runs = [a_run(place, *sys.argv[2:], seed=seed) for seed in (1, 2)]
    for series in launch(runs, STACK, place / "cache", tell).series:
        print(series.digest())
