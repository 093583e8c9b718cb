"""What a run has started and not ended: its processes, the ports they listen on, its folder. Found, ended, told.

A process belongs to a run when its environment carries the run's mark, when it has no terminal and works below the
run's folder or has a file there open to write, or when a process of the run started it. One sign is not enough: Ray's
workers write their title over their environment, and a daemon is nobody's child. To read there is none: launchers do.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

MARK = "PORTTOOL_RUN"  # the variable in the environment of all that a run starts
# Where runs have their folders, whatever TMPDIR says: of the 107 bytes of a socket's path Ray's own part takes 85.
BASE, PREFIX = Path("/tmp"), "smoke-"
# Seconds: for what ends by itself when it is let, and for the kernel to end what it is told to.
SETTLE, KILL = 5.0, 5.0
_TICK = 0.05
_OWNER = "owner"  # the file of a run's folder that holds its mark
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_LISTENING = "0A"


@dataclass(frozen=True)
class Left:
    """A process that was still there when its run was over."""

    pid: int
    command: str
    ports: tuple[int, ...] = ()

    def __str__(self) -> str:
        listening = f", listening on port {', '.join(map(str, self.ports))}" if self.ports else ""
        return f"process {self.pid}: {self.command}{listening}"


@dataclass(frozen=True)
class Ours:
    """How a run's own are told: the value of its mark, its folder, and a process that adopted its orphans."""

    token: str
    folder: Path
    above: int = 0

    def pids(self) -> list[int]:
        """Every living process of the run, but the one that asks."""
        mark = f"{MARK}={self.token}".encode()
        living = {one.pid: one for one in _living()}
        known = {pid for pid in living if self.token and _carries(pid, mark)}
        known |= {pid for pid, one in living.items() if one.alone and _is_below(pid, self.folder)}
        # Who asks, and the launcher, are no signs of their own, unless they have adopted the run's orphans.
        known = (known - {os.getpid(), _launcher(self.token)}) | ({self.above} - {0})
        while more := {pid for pid, one in living.items() if one.parent in known} - known:
            known |= more
        return sorted(known - {os.getpid(), self.above})

    def left(self) -> list[Left]:
        """The same, with what a reader wants to know of each."""
        pids = self.pids()
        listening = dict(_listening()) if pids else {}
        return [Left(pid, _command(pid), _ports(pid, listening)) for pid in pids]


def end(ours: Ours, *, settle: float = SETTLE) -> tuple[list[Left], list[Left]]:
    """Let a run's processes end, then kill what has not: what was there to kill, and what is still there after it."""
    _wait(ours, settle)
    found = ours.left()
    deadline = time.monotonic() + KILL
    while (pids := ours.pids()) and time.monotonic() < deadline:
        for pid in pids:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_TICK)
    if ours.above:
        _reap()
    return found, ours.left()


def _reap() -> None:
    """Take leave of adopted orphans that ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue


def _wait(ours: Ours, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while ours.pids() and time.monotonic() < deadline:
        time.sleep(_TICK)


def new() -> Ours:
    """A mark and a folder for one run; the mark says which launcher they belong to.

    The folder gets its name when the mark is in it, so that a launcher killed at any point leaves none without.
    """
    rest = os.urandom(3).hex()
    ours = Ours(f"{os.getpid()}.{_space()}.{rest}", BASE / f"{PREFIX}{rest}")
    partial = _partial(ours.token)
    partial.mkdir(mode=0o700)
    (partial / _OWNER).write_text(ours.token, encoding="ascii")
    partial.rename(ours.folder)
    return ours


def _space() -> int:
    """The namespace in which a process id means this process."""
    return os.stat("/proc/self/ns/pid").st_ino


def _partial(token: str) -> Path:
    """Where a folder stands that is not whole: its name is its mark."""
    return BASE / f".{PREFIX}{token}"


def remove(folder: Path) -> bool:
    """Take a run's folder away, its mark last; whether it is gone."""
    token = ""
    with suppress(OSError):
        token = _token(folder)
    for _ in range(3):  # a process that is just being killed may still be writing
        if token and _emptied(folder):
            with suppress(OSError):
                folder = folder.rename(_partial(token))
        if not token or folder == _partial(token):
            shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return True
        time.sleep(_TICK)
    return False


def _emptied(folder: Path) -> bool:
    """Take away what a folder holds, but for its mark; whether that is all there is now."""
    with suppress(OSError):
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            elif entry.name != _OWNER:
                os.unlink(entry.path)
        return os.listdir(folder) == [_OWNER]
    return False


def sweep() -> list[Left]:
    """End what launchers that are gone have left behind, and take their folders away."""
    found: list[Left] = []
    for folder in [*BASE.glob(f"{PREFIX}*"), *BASE.glob(f".{PREFIX}*")]:
        with suppress(OSError):
            token = _token(folder)
            if _is_orphan(token):
                found += end(Ours(token, folder), settle=0)[0]
                remove(folder)
    return found


def _token(folder: Path) -> str:
    """The mark of a folder of this user's; nothing for a folder that is none of a run."""
    if folder.stat().st_uid != os.getuid():
        return ""
    if folder.name.startswith("."):
        return folder.name.removeprefix(f".{PREFIX}")
    return (folder / _OWNER).read_text(encoding="ascii")


def _is_orphan(token: str) -> bool:
    """Whether the launcher that a mark names is gone."""
    pid, rest = _launcher(token), token.partition(".")[2]
    return pid > 0 and rest.startswith(f"{_space()}.") and _process(pid) is None


def _launcher(token: str) -> int:
    """The process that a mark names; 0 for what is no mark."""
    pid = token.partition(".")[0]
    return int(pid) if pid.isdecimal() else 0


def die_with_parent(number: int, parent: int) -> None:
    """Have the kernel send this process a signal when its parent ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
        if os.getppid() != parent:  # it ended before it was asked for
            os.kill(os.getpid(), number)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, daemons too."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class _Living(NamedTuple):
    pid: int
    parent: int
    alone: bool  # it has no terminal: nobody's shell, editor or pager


def _living() -> Iterator[_Living]:
    """Every process that is not a zombie."""
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() and (one := _process(int(entry.name))):
            yield one


def _process(pid: int) -> _Living | None:
    """A process by its id; None where it has ended, though nobody may have asked how."""
    with suppress(OSError):
        # The name is in brackets and may hold anything, brackets too.
        told = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return None if told[0] in "ZX" else _Living(pid, int(told[1]), told[4] == "0")
    return None


def _carries(pid: int, mark: bytes) -> bool:
    with suppress(OSError):
        return mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return False


def _is_below(pid: int, folder: Path) -> bool:
    inside = f"{folder}/"
    with suppress(OSError):
        if os.readlink(f"/proc/{pid}/cwd").startswith(inside):
            return True
        return any(target.startswith(inside) and _writes(pid, name) for name, target in _open_files(pid))
    return False


def _open_files(pid: int) -> Iterator[tuple[str, str]]:
    """Each descriptor of a process, and what it is of."""
    for name in os.listdir(f"/proc/{pid}/fd"):
        with suppress(OSError):
            yield name, os.readlink(f"/proc/{pid}/fd/{name}")


def _writes(pid: int, descriptor: str) -> bool:
    with suppress(OSError):
        told = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/fdinfo/{descriptor}").read_text().splitlines())
        return bool(int(told["flags"], 8) & os.O_ACCMODE)
    return False


def _command(pid: int) -> str:
    with suppress(OSError):
        told = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        return told[:100] or Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    return "(ended)"


def _listening() -> Iterator[tuple[str, int]]:
    """Each listening TCP socket, by inode, with its port."""
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENING:
                    yield f"socket:[{fields[9]}]", int(fields[1].rpartition(":")[2], 16)


def _ports(pid: int, listening: dict[str, int]) -> tuple[int, ...]:
    with suppress(OSError):
        return tuple(sorted({listening[target] for _, target in _open_files(pid) if target in listening}))
    return ()
