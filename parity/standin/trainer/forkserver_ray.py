"""What Ray reads when its library is loaded, before a forked process knows it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

JOB, RAYLET = "RAY_JOB_ID", "RAY_RAYLET_PID"
# The first job of a cluster, and a run has a cluster of its own.
FIRST_JOB = "01000000"


def before_import() -> None:
    """Tell the library, before it is loaded, what all workers have in common.

    A worker ends when its raylet does. The raylet is not known yet: this process stands for it, and the shim of each
    worker watches the real one.
    """
    os.environ |= {JOB: FIRST_JOB, RAYLET: str(os.getpid())}


def after_import() -> None:
    """Nothing that a child starts is to take these for its own."""
    for name in (JOB, RAYLET):
        os.environ.pop(name, None)


def differs(environment: Mapping[str, str]) -> str:
    """Why a process with this environment cannot be forked: empty where it can."""
    if "ray._raylet" not in sys.modules or environment.get(JOB, FIRST_JOB) == FIRST_JOB:
        return ""
    return f"a worker of job {environment[JOB]}, not of the first"


def in_child() -> None:
    """Ray's other settings are read again, from the environment that the child has."""
    if (raylet := sys.modules.get("ray._raylet")) is not None:
        raylet.Config.initialize("")
