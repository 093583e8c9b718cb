"""Nothing of a run outlives it: it has a session of its own, and dies with the process that started it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from parity.standin.trainer import inject

# Seconds in which a run that is asked to end may do so, and in which Ray's workers follow their raylet.
ASKED, FOLLOW, KILLED = 2.0, 1.0, 5.0


def start(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], log: IO[bytes]
) -> subprocess.Popen[bytes]:
    """The first process of a run, in a session of its own; it is killed when this thread ends, however it ends."""
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=inject.die_with_parent,
    )


def end(run: subprocess.Popen[bytes]) -> None:
    """End a run and all that it started: asked first, then killed. Raises RuntimeError where that does not help."""
    if run.poll() is None:
        run.terminate()
        with suppress(subprocess.TimeoutExpired):
            run.wait(ASKED)
    if run.poll() is None:
        run.kill()
        run.wait()
    # Ray kills its daemons with the process that started them; workers end when they miss their raylet.
    begun = time.monotonic()
    while left := of_session(run.pid):
        waited = time.monotonic() - begun
        if waited > FOLLOW:
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        if waited > FOLLOW + KILLED:
            raise RuntimeError(f"processes {left} of the run do not end")
        time.sleep(0.05)


def of_session(session: int) -> list[int]:
    """The living processes of a session; Ray's workers leave the group of their parent, but not its session."""
    return [pid for pid in _pids() if _session(pid) == session]


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _session(pid: int) -> int:
    """The session of a process; 0 for one that has ended, or that waits to be reaped."""
    try:
        state, *numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if state in "ZX" else int(numbers[2])
