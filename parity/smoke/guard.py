"""Stands between a launcher and one training run: whatever happens to either, nothing of the run is left.

The launcher holds the writing end of a pipe. When it closes, because the run is to end or because the launcher is
gone, and when SIGTERM comes, the run is asked to end, then killed with everything that it started. What the run's
processes orphan becomes the guard's, so that none gets out of sight.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import FrameType

from parity.smoke import leftover
from parity.smoke.leftover import MARK, Left, Ours

LIFELINE = "PORTTOOL_LIFELINE"  # number of the pipe's reading end; without it a run was started by hand
GRACE = 4.0  # seconds that a run has for its own cleaning-up
LEFT = "left.json"
_TICK = 0.1


def guarded(folder: Path, work: Callable[[], int]) -> int:
    """Call `work` in a process of its own and session, and return its status; `folder` is the run's own."""
    asked = _Asked()
    leftover.die_with_parent(signal.SIGTERM, asked.parent)
    leftover.adopt_orphans()
    guard = os.getpid()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        asked.forget()
        leftover.die_with_parent(signal.SIGKILL, guard)
        return work()
    status = _watch(pid, asked)
    ours = Ours(os.environ.get(MARK, ""), folder, above=guard)
    found, _ = leftover.end(ours, settle=0 if asked else leftover.SETTLE)
    if asked.alone:
        leftover.remove(folder)  # nobody else will
    elif not asked:
        _tell(folder, found)
    return status


def _watch(pid: int, asked: _Asked) -> int:
    """Wait for the run's end, or end it; its status as a shell would give it."""
    deadline = 0.0
    while True:
        done, code = _status(pid)
        if done:
            return code
        if asked and not deadline:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGTERM)
            deadline = time.monotonic() + GRACE
        if deadline and time.monotonic() > deadline:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        asked.listen(_TICK)


def _status(pid: int) -> tuple[bool, int]:
    """Whether the run has ended, and its status. Orphans that end are taken leave of on the way."""
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == pid:
                code = os.waitstatus_to_exitcode(ended[1])
                return True, code if code >= 0 else 128 - code
    return False, 0


def _tell(folder: Path, found: list[Left]) -> None:
    partial = folder / f".{LEFT}"
    partial.write_text(json.dumps([asdict(one) for one in found]), encoding="utf-8")
    partial.replace(folder / LEFT)


class _Asked:
    """Whether the run is to end: by SIGTERM, or by the lifeline's other end being closed."""

    def __init__(self) -> None:
        self._asked = False
        # By its mark, not by asking the kernel: the launcher may be gone already.
        launcher = os.environ.get(MARK, "").partition(".")[0]
        self.parent = int(launcher) if launcher else os.getppid()
        number = os.environ.get(LIFELINE)
        self._lifeline = int(number) if number else None
        self._before = signal.signal(signal.SIGTERM, self._ask)
        # A terminal's Ctrl-C is the launcher's to answer.
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def __bool__(self) -> bool:
        return self._asked

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self._asked = True

    @property
    def alone(self) -> bool:
        """Whether the launcher is gone: it does not read what is told."""
        return self._lifeline is not None and os.getppid() != self.parent

    def listen(self, seconds: float) -> None:
        """Wait a moment, or until the lifeline tells."""
        if self._lifeline is None or self._asked:
            time.sleep(seconds)
            return
        ready, _, _ = select.select([self._lifeline], [], [], seconds)
        if ready and not os.read(self._lifeline, 1):
            self._asked = True

    def forget(self) -> None:
        """In the run's own process: it has no lifeline, and the usual signals."""
        signal.signal(signal.SIGTERM, self._before)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if self._lifeline is not None:
            os.close(self._lifeline)
        os.environ.pop(LIFELINE, None)
