"""How far the runs are: a live bar for each on a terminal, a line for each finished step elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from parity.record import Key, Leaf
from parity.smoke.launch import Watch
from parity.smoke.runs import Run
from parity.smoke.series import Series
from porttool.report import counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID


def told(run: Run, number: int, values: Mapping[Key, Leaf], seconds: float) -> str:
    """One finished step in words."""
    score = values["score"].number() if "score" in values else None
    shown = "" if score is None else f"  score {score:.4g}"
    return f"{run}  step {number}/{run.steps}{shown}  {seconds:.0f} s"


def ending(run: Run, series: Series, seconds: float) -> str:
    """How a run ended, in words."""
    if series.crashed:
        last = series.crashed.strip().splitlines()[-1]
        return f"{run}  crashed after {counted(len(series.steps), 'step')} and {seconds:.0f} s: {last}"
    return f"{run}  done in {seconds:.0f} s"


class Lines:
    """A line for everything: for logs, and for whoever reads them."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say

    def waiting(self, runs: Sequence[Run], cached: Sequence[Run], jobs: int) -> None:
        self.say(planned(runs, cached, jobs))

    def started(self, run: Run) -> None:
        self.say(f"{run}  started")

    def step(self, run: Run, number: int, values: Mapping[Key, Leaf], seconds: float) -> None:
        self.say(told(run, number, values, seconds))

    def ended(self, run: Run, series: Series, seconds: float) -> None:
        self.say(ending(run, series, seconds))


class Bars:
    """A bar for each run that is under way; what is over stands above as a line."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bars: dict[str, TaskID] = {}
        self._first: dict[str, float] = {}

    def say(self, line: str) -> None:
        self._progress.console.print(line, soft_wrap=True)

    def waiting(self, runs: Sequence[Run], cached: Sequence[Run], jobs: int) -> None:
        self.say(planned(runs, cached, jobs))

    def started(self, run: Run) -> None:
        self._bars[str(run)] = self._progress.add_task(str(run), total=run.steps, score="", left="starting")

    def step(self, run: Run, number: int, values: Mapping[Key, Leaf], seconds: float) -> None:
        first = self._first.setdefault(str(run), seconds)
        score = values["score"].number() if "score" in values else None
        # The first step holds the start; before the second nobody knows.
        each = (seconds - first) / (number - 1) if number > 1 else None
        left = "" if each is None else f"about {each * (run.steps - number):.0f} s left"
        shown = "" if score is None else f"score {score:.4g}"
        self._progress.update(self._bars[str(run)], completed=number, score=shown, left=left)

    def ended(self, run: Run, series: Series, seconds: float) -> None:
        self._progress.remove_task(self._bars.pop(str(run)))
        self._first.pop(str(run), None)
        self.say(ending(run, series, seconds))


def planned(runs: Sequence[Run], cached: Sequence[Run], jobs: int) -> str:
    """What there is to do, in one line."""
    count = len(runs) - len(cached)
    known = f", {len(cached)} known already" if cached else ""
    pace = f", {min(jobs, count)} at a time" if count > 1 else ""
    return f"{counted(count, 'training run')} to make{known}{pace}"


@contextmanager
def watching(console: Console | None, say: Callable[[str], None]) -> Iterator[Watch]:
    """A watch on a console that is a terminal, or by lines."""
    if console is None:
        yield Lines(say)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[score]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield Bars(progress)
