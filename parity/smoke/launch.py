"""Training runs as processes: as many at a time as the machine has room for, kept by content, none left behind."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Protocol

from parity.capture import Stack
from parity.record import Key, Leaf
from parity.smoke import leftover
from parity.smoke.leftover import Left, Ours
from parity.smoke.room import NEEDED, available, room
from parity.smoke.running import Running
from parity.smoke.runs import Cache, Run
from parity.smoke.series import Series
from parity.trees import Trees
from porttool.errors import EnvironmentFault
from porttool.report import counted

_TICK = 0.2


class Watch(Protocol):
    """Is told what happens to runs, as it happens."""

    def waiting(self, runs: Sequence[Run], cached: Sequence[Run], jobs: int) -> None: ...
    def started(self, run: Run) -> None: ...
    def step(self, run: Run, number: int, values: Mapping[Key, Leaf], seconds: float) -> None: ...
    def ended(self, run: Run, told: Series, seconds: float) -> None: ...
    def say(self, line: str) -> None: ...


@dataclass(frozen=True)
class Launched:
    """The series of the runs, in order, and the processes that runs had left and that were ended for them."""

    series: tuple[Series, ...]
    left: tuple[tuple[Run, Left], ...]


def launch(
    runs: Sequence[Run],
    stack: Stack,
    cache: Path,
    watch: Watch,
    *,
    layout: str = "",
    jobs: int = 0,
    fresh: bool = False,
    made: set[str] | None = None,
) -> Launched:
    """The series of each run: from the cache, or run now, at most `jobs` at a time (0: as many as there is room for).

    `fresh` runs what is kept too, but for what `made` names; the keys of what was run are added there.

    A run that crashes or takes too long is a series that says so. However this ends, by an exception too, every
    process and folder of its runs is gone. Raises EnvironmentFault where that could not be done.
    """
    kept = Cache(cache, stack)
    keys = [run.key(stack) for run in runs]
    by_key = dict(zip(keys, runs, strict=True))
    made = set() if made is None else made
    known = {key: run for key, run in by_key.items() if not fresh or key in made}
    done = {key: told for key, run in known.items() if (told := kept.get(run)) is not None}
    todo = {key: run for key, run in by_key.items() if key not in done}
    cached = [run for key, run in by_key.items() if key in done]
    launcher = _Launcher(stack, layout, watch, jobs or room(), cache / "tasks")
    watch.waiting(list(by_key.values()), cached, launcher.jobs)
    if todo:
        if sys.platform != "linux":
            raise EnvironmentFault("training runs need Linux: what they leave is found in /proc", sys.platform)
        for left in leftover.sweep():
            watch.say(f"ended what a smoke that was killed had left: {left}")
        guarded = Trees(run.side.folder for run in todo.values())
        with interruptible() as interrupt, ExitStack() as at_the_end:
            at_the_end.callback(launcher.end)
            for one, told in launcher.all(todo, interrupt):
                if why := one.told(told.crashed) or guarded.altered():
                    told = replace(told, crashed=why)
                done[one.key] = told
                if not told.crashed:
                    kept.put(one.run, told)
                    made.add(one.key)
                watch.ended(one.run, told, time.monotonic() - one.began)
            launcher.look_again()
    found = (replace(done[key], provenance=run.provenance(stack, layout)) for key, run in zip(keys, runs, strict=True))
    return Launched(tuple(found), tuple(launcher.left))


class Interrupt:
    """Whether somebody asked this process to end. Asked at places where that leaves nothing half done."""

    def __init__(self) -> None:
        self.asked = False

    def check(self) -> None:
        """Raise KeyboardInterrupt where it was asked."""
        if self.asked:
            raise KeyboardInterrupt


@contextmanager
def interruptible() -> Iterator[Interrupt]:
    """Ctrl-C, SIGTERM and SIGHUP are answered by `check`, and at the end."""
    interrupt = Interrupt()

    def ask(number: int, frame: FrameType | None) -> None:
        interrupt.asked = True

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    interrupt.check()


@dataclass
class _Launcher:
    stack: Stack
    layout: str
    watch: Watch
    jobs: int
    shared: Path
    running: list[Running] = field(default_factory=list)
    left: list[tuple[Run, Left]] = field(default_factory=list)
    survived: list[Left] = field(default_factory=list)
    over: list[Ours] = field(default_factory=list)

    def all(self, runs: Mapping[str, Run], interrupt: Interrupt) -> Iterator[tuple[Running, Series]]:
        """Start runs while there is room; give each back as it ends."""
        waiting = list(runs.items())
        while waiting or self.running:
            while waiting and self._has_room():
                key, run = waiting.pop(0)
                self.running.append(Running.start(key, run, self.stack, self.layout, self.shared))
                self.watch.started(run)
                interrupt.check()
            time.sleep(_TICK)
            interrupt.check()
            for one in list(self.running):
                self.tell(one)
                if one.is_over():
                    yield one, self.close(one)

    def tell(self, one: Running) -> None:
        """Tell the steps that a run has finished since the last time."""
        for number, values in one.fresh():
            self.watch.step(one.run, number, values, time.monotonic() - one.began)

    def _has_room(self) -> bool:
        # Others use memory too: what was there at the start need not be there now.
        return not self.running or (len(self.running) < self.jobs and available() > NEEDED)

    def close(self, one: Running) -> Series:
        """The series of a run that is over; nothing of it is left."""
        one.end()
        self.tell(one)
        told = one.series()
        if one.hung_up and one.finished:
            self.left.append((one.run, Left(one.process.pid, "the run itself: it had finished and did not end")))
        if told.crashed:
            self.watch.say(f"{one.run}  its log: {one.keep_log(self.shared.with_name('logs'))}")
        self.running.remove(one)
        self._clear(one)
        return told

    def end(self) -> None:
        """End every run that is under way. Raises EnvironmentFault where something outlives it."""
        for one in self.running:
            one.hang_up()
        while self.running:
            one = self.running[-1]
            one.end()
            self._clear(one)
            self.running.pop()
        if self.survived:
            told = "; ".join(map(str, self.survived))
            raise EnvironmentFault(f"a smoke run left what could not be ended: {told}", hint="end it by hand")

    def look_again(self) -> None:
        """When all is over: whether anything of any run is there."""
        self.survived += [left for ours in self.over for left in ours.left()]
        if not self.survived:
            none = "no process, no listening port, no Ray session, no folder"
            self.watch.say(f"nothing is left of {counted(len(self.over), 'run')}: {none}")

    def _clear(self, one: Running) -> None:
        killed = one.told_left()
        found, still = leftover.end(one.ours, settle=0)
        # Of a run that was ended by us, what had to be killed is no fault of its own.
        self.left += [(one.run, left) for left in (*killed, *found) if not one.hung_up]
        self.survived += [left for left in still if left not in self.survived]
        self.over.append(one.ours)
        if not leftover.remove(one.ours.folder):
            raise EnvironmentFault("cannot remove a run's folder", str(one.ours.folder), "remove it by hand")
