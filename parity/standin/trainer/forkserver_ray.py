"""What Ray reads when its library is loaded, before a forked process knows it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from types import SimpleNamespace

JOB, RAYLET = "RAY_JOB_ID", "RAY_RAYLET_PID"
# The first job of a cluster, and a run has a cluster of its own.
FIRST_JOB = "01000000"
# Why no worker can be forked; found out once all is imported.
_spoilt = ""


def before_import() -> None:
    """Tell the library, before it is loaded, what all workers have in common.

    A worker ends when its raylet does. The raylet is not known yet: this process stands for it, and the shim of each
    worker watches the real one.
    """
    os.environ |= {JOB: FIRST_JOB, RAYLET: str(os.getpid())}


def no_draws() -> None:
    """Let a class that is made an actor at its import have an id that is not drawn by the library.

    What the library has drawn once before a fork, it draws the same after it in every child: the ids of tasks, and so
    of objects, of which two workers' would be one.
    """
    import ray.actor

    size = ray.ActorClassID.size()
    drawn = SimpleNamespace(from_random=lambda: ray.ActorClassID(os.urandom(size)))
    ray.actor.ActorClassID = drawn


def after_import() -> None:
    """Nothing that a child starts is to take these for its own; and no two children may draw the same."""
    global _spoilt
    for name in (JOB, RAYLET):
        os.environ.pop(name, None)
    if "ray._raylet" in sys.modules and _in_a_child(_draw) == _in_a_child(_draw):
        _spoilt = "what was imported has drawn ids from Ray: workers would have the same ones"


def _draw() -> bytes:
    import ray

    return bytes(ray.TaskID.for_fake_task(ray.JobID.from_int(1)).binary())


def _in_a_child(say: Callable[[], bytes]) -> bytes:
    out, inn = os.pipe()
    pid = os.fork()
    if not pid:
        os.write(inn, say())
        os._exit(0)
    os.close(inn)
    with open(out, "rb") as told:
        found = told.read()
    os.waitpid(pid, 0)
    return found


def differs(environment: Mapping[str, str]) -> str:
    """Why a process with this environment cannot be forked: empty where it can."""
    if _spoilt:
        return _spoilt
    if "ray._raylet" not in sys.modules or environment.get(JOB, FIRST_JOB) == FIRST_JOB:
        return ""
    return f"a worker of job {environment[JOB]}, not of the first"


def in_child() -> None:
    """Ray's other settings are read again, from the environment that the child has."""
    if (raylet := sys.modules.get("ray._raylet")) is not None:
        raylet.Config.initialize("")
    if (actor := sys.modules.get("ray.actor")) is not None:
        actor.ActorClassID = sys.modules["ray"].ActorClassID  # type: ignore[attr-defined]
