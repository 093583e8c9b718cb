"""One training run as it is asked for, what its numbers depend on, and the cache of finished ones."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from parity import driver as drivers
from parity.capture import HERE as PARITY
from parity.capture import Checkout, Stack
from parity.scenario import Job
from parity.smoke import series
from parity.smoke.order import Noise
from parity.smoke.series import Series

# Under this name the provenance of a kept run says which run it is of.
_KEY = "key"
# What decides a run's numbers beside the stand-in and the driver; who compares or shows them does not.
_RUNNING = ("driver.py", "record.py", "scenario.py", "smoke/child.py", "smoke/order.py", "smoke/series.py")


@dataclass(frozen=True)
class Run:
    """One training run of one side.

    `sample` tells runs apart that are asked for the same: from 1 for A/A, from -1 down for evidence.
    """

    side: Checkout
    job: Job
    steps: int
    seed: int
    driver: str
    noise: Noise = "none"
    sample: int = 0

    def key(self, stack: Stack) -> str:
        """What the numbers of a run depend on."""
        told = [self.side.tree, self.job.digest(), self.steps, self.seed, self.noise, self.sample]
        told += [sorted(stack.packages.items()), cpu(), running_digest(self.driver)]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()

    def provenance(self, stack: Stack, layout: str) -> dict[str, str]:
        """Where the numbers come from; what begins with `env.` must agree where numbers are compared."""
        told = {"ref": self.side.ref, "commit": self.side.commit, "tree": self.side.tree, "layout": layout}
        told |= {"steps": str(self.steps), "seed": str(self.seed), "noise": self.noise, "sample": str(self.sample)}
        told |= {"driver": drivers.shown(self.driver), "harness": running_digest(self.driver)[:16]}
        return {**stack.provenance(), "env.cpu": cpu(), **told}

    def __str__(self) -> str:
        sample = f" run {self.sample + 1}" if self.sample > 0 else f" measured {-self.sample}" if self.sample else ""
        return f"{self.side.ref} {self.job.scenario} seed {self.seed}{sample}"


@lru_cache
def running_digest(driver: str) -> str:
    """Of the code that runs a side: its own, the stand-in's, and a driver's file."""
    files = [*(PARITY / "standin").rglob("*.py"), *(PARITY / name for name in _RUNNING)]
    digest = hashlib.sha256(drivers.digest(driver).encode())
    for file in sorted(files):
        digest.update(f"{file.relative_to(PARITY)}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()


@lru_cache
def cpu() -> str:
    """The machine's kind and its widest vectors: where these differ, the same code gives other last bits."""
    flags: set[str] = set()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        flags.update(*(line.partition(":")[2].split() for line in lines if line.startswith(("flags", "Features"))))
    widest = next((name for name in ("avx512f", "avx2", "avx", "sve", "asimd") if name in flags), "scalar")
    return f"{os.uname().machine} {widest}"


class Cache:
    """Finished runs, `<cache>/series/<key>.json`. A run that crashed is not kept: the next one tries again."""

    def __init__(self, folder: Path, stack: Stack) -> None:
        self.folder, self._stack = folder / "series", stack

    def get(self, run: Run) -> Series | None:
        """The series of a run that was made before, by whatever ref its tree was known then."""
        key = run.key(self._stack)
        with suppress(FileNotFoundError, ValueError):  # half a file of a machine that went down: run it again
            told = series.from_json((self.folder / f"{key}.json").read_text(encoding="utf-8"))
            # A file that was copied to another's name is no run of this key.
            return told if told.provenance.get(_KEY) == key else None
        return None

    def has(self, run: Run) -> bool:
        """Whether a run was made before; told without reading it."""
        return (self.folder / f"{run.key(self._stack)}.json").is_file()

    def put(self, run: Run, told: Series) -> None:
        """Keep a finished run: whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for stale in self.folder.glob(".*.part"):  # a launcher that was killed in between
            if not Path(f"/proc/{stale.name.split('.')[-2]}").exists():
                stale.unlink(missing_ok=True)
        key = run.key(self._stack)
        series.write(replace(told, provenance={**told.provenance, _KEY: key}), self.folder / f"{key}.json")
