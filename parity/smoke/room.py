"""How many training runs a machine has room for."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

# Memory of one run of the rehearsal at its peak, over all of its processes, what they share counted once.
NEEDED = 4 << 30
_GROUP = Path("/sys/fs/cgroup")


def room() -> int:
    """How many runs may go on at a time: one a core, memory allowing, and never none."""
    return max(1, min(cores(), available() // NEEDED))


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available() -> int:
    """Bytes that can be used without swapping, by the machine's account and by the container's."""
    told = [_value(Path("/proc/meminfo"), "MemAvailable:", NEEDED >> 10) << 10]
    for folder, limit, used, cached in (
        (_GROUP, "memory.max", "memory.current", "inactive_file"),
        (_GROUP / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        with suppress(OSError, ValueError):  # "max" is no number: there is no limit
            free = int((folder / limit).read_text()) - int((folder / used).read_text())
            told.append(free + _value(folder / "memory.stat", cached, 0))
    return min(told)


def _value(file: Path, name: str, otherwise: int) -> int:
    with suppress(OSError):
        for line in file.read_text(encoding="ascii").splitlines():
            if line.startswith(f"{name} "):
                return int(line.split()[1])
    return otherwise
