"""A training run that is under way: its guard's process, its folder, and what it has told so far."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from parity.capture import HERE as PARITY
from parity.capture import TAIL_LINES, Stack, clean_environment
from parity.record import Key, Leaf
from parity.smoke import leftover, series
from parity.smoke.guard import GRACE, LEFT, LIFELINE
from parity.smoke.leftover import MARK, Left, Ours
from parity.smoke.order import FitOrder
from parity.smoke.runs import Run
from parity.smoke.series import Series
from parity.trees import without_folders

# Seconds before a run is ended: for its start, and for each step, on a machine that is busy with other things.
LIMIT, EACH = 600.0, 120.0
# Seconds for a run that has written its series to end by itself.
ENDING = 60.0
# Switches of the drivers that a user may set.
PASSED = ("PORTTOOL_FORKSERVER",)
LOG_BYTES = 4 << 20
TMP = "t"  # short, for the sake of socket names below it


def allowed(run: Run) -> float:
    """Seconds that a run may take."""
    return LIMIT + EACH * run.steps


@dataclass
class Running:
    """A guard's process, with the run below it."""

    key: str
    run: Run
    ours: Ours
    process: subprocess.Popen[bytes]
    lifeline: int
    provenance: Mapping[str, str]
    began: float
    steps: int = 0
    finished: float = 0.0
    hung_up: bool = False
    late: bool = False

    @classmethod
    def start(cls, key: str, run: Run, stack: Stack, layout: str, shared: Path) -> Running:
        ours = leftover.new()
        provenance = run.provenance(stack, layout)
        ear, lifeline = os.pipe()
        try:
            process = _process(run, ours, ear, stack.python, provenance, shared)
        except OSError:
            os.close(lifeline)
            leftover.remove(ours.folder)
            raise
        finally:
            os.close(ear)
        return cls(key, run, ours, process, lifeline, provenance, time.monotonic())

    @property
    def out(self) -> Path:
        return self.ours.folder / "out"

    def fresh(self) -> list[tuple[int, Mapping[Key, Leaf]]]:
        """The steps that were finished since the last time, each with its number."""
        found = series.steps_so_far(self.out)
        new = list(enumerate(found[self.steps :], self.steps + 1))
        self.steps = len(found)
        return new

    def is_over(self) -> bool:
        """Whether the process has ended, or has had its time."""
        if self.process.poll() is not None:
            return True
        now = time.monotonic()
        if not self.finished and (self.out / "series.json").is_file():
            self.finished = now
        self.late = now - self.began > allowed(self.run)
        return self.late or bool(self.finished and now - self.finished > ENDING)

    def hang_up(self) -> None:
        """Have the guard end the run."""
        if not self.hung_up and self.process.poll() is None:
            self.hung_up = True
        if self.lifeline >= 0:
            os.close(self.lifeline)
            self.lifeline = -1

    def end(self) -> None:
        """Wait for the guard, ending the run if it has not ended; harmless where both are gone."""
        self.hang_up()
        try:
            self.process.wait(GRACE + 2 * leftover.KILL)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def series(self) -> Series:
        """What the run wrote; for a run that wrote nothing, its last lines and how it ended."""
        with suppress(FileNotFoundError, ValueError):
            told = series.from_json((self.out / "series.json").read_text(encoding="utf-8"))
            return replace(told, crashed=f"{told.crashed}\n{self.how()}") if told.crashed and self.late else told
        log = (self.ours.folder / "log").read_text(encoding="utf-8", errors="replace")
        tail = "\n".join(log.strip().splitlines()[-TAIL_LINES:]) or "it wrote nothing"
        crashed = f"{tail}\nthe run gave no answer; {self.how()}"
        about = Series(self.run.job.scenario, self.run.job.side, self.run.seed, self.provenance, (), {})
        return replace(about, steps=tuple(series.steps_so_far(self.out)), crashed=crashed)

    def told(self, crashed: str) -> str:
        """The last lines of a run without the folders it ran in."""
        own = {str(self.run.side.folder): "<tree>", str(self.ours.folder): "<run>"}
        return without_folders(crashed, {**own, str(PARITY.parent): "<porttool>"})

    def how(self) -> str:
        """How a run ended that did not come to its end."""
        code = self.process.returncode
        if self.late:
            return f"it was ended: it took longer than {allowed(self.run):.0f} seconds"
        if code < 0:
            return f"signal {-code} ended its guard"
        return f"signal {code - 128} ended it" if code > 128 else f"its status: {code}"

    def keep_log(self, folder: Path) -> Path:
        """What the run and its driver wrote, beyond the last lines, in a file that outlives the run's folder."""
        folder.mkdir(parents=True, exist_ok=True)
        kept = folder / f"{self.key[:16]}.log"
        with open(kept, "wb") as into:
            for file in (self.ours.folder / "log", *sorted((self.ours.folder / "scratch").glob("log*"))):
                with suppress(OSError):
                    into.write(file.read_bytes()[-LOG_BYTES:])
        return kept

    def told_left(self) -> list[Left]:
        """What the guard had to kill when the run had ended."""
        with suppress(FileNotFoundError):
            rows = json.loads((self.ours.folder / LEFT).read_text(encoding="utf-8"))
            return [Left(row["pid"], row["command"], tuple(row["ports"])) for row in rows]
        return []


def _process(
    run: Run, ours: Ours, ear: int, python: str, provenance: Mapping[str, str], shared: Path
) -> subprocess.Popen[bytes]:
    """Start a run's guard below its folder; `ear` is the reading end of its lifeline."""
    folder = ours.folder
    for name in ("out", "scratch", TMP):
        (folder / name).mkdir()
    # What a task is made of is the same for all runs: beside the scratch folder stands what they share.
    shared.mkdir(parents=True, exist_ok=True)
    (folder / "task").symlink_to(shared)
    order = FitOrder(
        tree=str(run.side.folder),
        scratch=str(folder / "scratch"),
        out=str(folder / "out"),
        job=run.job.to_json(),
        steps=run.steps,
        seed=run.seed,
        noise=run.noise,
        driver=run.driver,
        provenance=provenance,
    )
    (folder / "order.json").write_text(order.to_json(), encoding="utf-8")
    passed = {name: os.environ[name] for name in PASSED if name in os.environ}
    own = {MARK: ours.token, LIFELINE: str(ear), "TMPDIR": str(folder / TMP)}
    with open(folder / "log", "wb") as log:
        return subprocess.Popen(
            [python, str(PARITY / "smoke" / "child.py"), str(folder / "order.json")],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            cwd=folder / TMP,
            env={**clean_environment(), **passed, **own},
            pass_fds=(ear,),
            start_new_session=True,
        )
