"""Says at each stage what is done and, from what it took before, how long is left."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from porttool.errors import EnvironmentFault
from porttool.resolutions import write_atomic

Report = Callable[[str], None]


class Watch:
    """The stages of one run in order. `seconds` of earlier runs are kept in a file, for each unit of work."""

    def __init__(self, stages: Sequence[str], report: Report, file: Path | None = None) -> None:
        self._stages, self._report, self._file = list(stages), report, file
        self._rates = _read(file)
        self._units: dict[str, int] = {}
        self.seconds: dict[str, float] = {}

    def expect(self, stage: str, units: int) -> None:
        """How much work a stage has; one unit unless told otherwise."""
        self._units[stage] = units

    def left(self, stage: str) -> float | None:
        """Seconds for a stage and those behind it; None where one of them was never timed."""
        told = [self._of(name) for name in self._stages[self._stages.index(stage) :]]
        return None if None in told else sum(one for one in told if one is not None)

    def _of(self, stage: str) -> float | None:
        units = self._units.get(stage, 1)
        rate = self._rates.get(stage)
        return 0.0 if units == 0 else None if rate is None else rate * units

    @contextmanager
    def stage(self, name: str, told: str) -> Iterator[Report]:
        """A stage: told when it begins, timed when it is over; what it reports in between is told under its name."""
        head = f"{self._stages.index(name) + 1}/{len(self._stages)} {name}: "
        self._report(f"{head}{told}{_about(self.left(name))}")
        began = time.monotonic()
        try:
            yield lambda line: self._report(f"{head}{line}")
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - began
        units = self._units.get(name, 1)
        if units:
            self._rates[name] = self.seconds[name] / units

    def keep(self) -> None:
        """Remember what each stage took, for the next run."""
        if self._file is not None:
            with suppress(EnvironmentFault):  # a full disk takes no verdict away
                write_atomic(self._file, json.dumps(self._rates).encode())


def _about(seconds: float | None) -> str:
    return "" if seconds is None else f" ({lasting(seconds)} left)"


def lasting(seconds: float) -> str:
    """A length of time for people: `a moment`, `about 40 s`, `about 3 min`."""
    if seconds < 2:
        return "a moment"
    if seconds < 90:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min"


def _read(file: Path | None) -> dict[str, float]:
    """Seconds for a unit of each stage; a file that cannot be read is as good as none: it only tells times."""
    if file is None or not file.is_file():
        return {}
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        return {}
    held: Mapping[str, object] = told if isinstance(told, dict) else {}
    return {name: float(value) for name, value in held.items() if isinstance(value, (int, float))}
