"""What a forked process does to be the one that was asked for: as if Python had started it."""

from __future__ import annotations

import atexit
import builtins
import ctypes
import fcntl
import importlib
import io
import os
import runpy
import signal
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType

from parity.standin.trainer import forkserver_ray

_DEATH_SIGNAL, _SUBREAPER = 1, 36
HIGH = 256  # above the numbers of files that a process is born with


@dataclass(frozen=True)
class Birth:
    """A Python command line, and what a process of it would have inherited.

    `files` are the numbers under which the child is to have the `passed` descriptors. `module` is that of `-m`, else
    empty; `argv` begins with it, or with the script.
    """

    unbuffered: bool
    module: str
    argv: list[str]
    cwd: str
    umask: int
    files: list[int]
    environment: dict[str, str]
    passed: tuple[int, ...]


def adopt_orphans() -> None:
    """What this process's descendants leave behind becomes its own child."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def detach(mother: int, birth: Birth, not_mine: Iterable[int]) -> None:
    """A session and files of its own; killed with its mother."""
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != mother:
        os._exit(1)
    os.setsid()
    for descriptor in not_mine:
        os.close(descriptor)
    # First out of the way: a passed descriptor may have the number that another is to have.
    moved = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 2 * HIGH) for descriptor in birth.passed]
    for descriptor in birth.passed:
        os.close(descriptor)
    for descriptor, wanted in zip(moved, birth.files, strict=True):
        os.dup2(descriptor, wanted)
        os.close(descriptor)
    for standard in {0, 1, 2}.difference(birth.files):
        os.close(standard)
    os.umask(birth.umask)
    os.chdir(birth.cwd)


def become(birth: Birth, python: str, defaults: Mapping[str, str], base: Sequence[str]) -> None:
    """Run the command line; what it raises is for `end`."""
    os.environ.clear()
    os.environ.update({**defaults, **birth.environment})
    _standard_files(unbuffered=birth.unbuffered or bool(os.environ.get("PYTHONUNBUFFERED")))
    _as_new()
    first = birth.cwd if birth.module else os.path.dirname(os.path.realpath(birth.argv[0]))
    sys.path[:] = [first, *_told_path(), *base]
    importlib.invalidate_caches()
    sys.executable, sys.argv, sys.orig_argv = python, list(birth.argv), [python, *birth.argv]
    main = sys.modules["__main__"] = ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    if birth.module:
        if not hasattr(sys.modules.get(birth.module), "__path__"):
            sys.modules.pop(birth.module, None)  # it runs as main; nothing has imported it yet
        runpy.run_module(birth.module, run_name="__main__", alter_sys=True)
        return
    main.__file__ = birth.argv[0]
    with io.open_code(birth.argv[0]) as file:
        code = compile(file.read(), birth.argv[0], "exec")
    exec(code, main.__dict__)


def end(error: BaseException | None) -> None:
    """End as an interpreter does after its main script, but for freeing memory: that would copy what is shared."""
    code: object = 0
    if isinstance(error, SystemExit):
        code = 0 if error.code is None else error.code
    elif error is not None:
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    if not isinstance(code, int):
        os.write(2, f"{code}\n".encode(errors="backslashreplace"))
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # closed, or nobody reads it any more
            stream.flush()
    if isinstance(error, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(code & 0xFF)


def base_path() -> list[str]:
    """What is on this interpreter's path but for its script's folder and PYTHONPATH."""
    told = set(_told_path())
    return [entry for entry in sys.path[1:] if os.path.abspath(entry) not in told]


def _told_path() -> list[str]:
    return [os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]


def _standard_files(*, unbuffered: bool) -> None:
    """The streams were made over the same numbers; only how they are flushed depends on what stands there now."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            line_buffering = stream is sys.stderr or os.isatty(stream.fileno())
            stream.reconfigure(line_buffering=line_buffering, write_through=unbuffered)


def _as_new() -> None:
    """What libraries keep of their import, as a new process would have it; `random` sees to itself at a fork."""
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed()
    if (torch := sys.modules.get("torch")) is not None:
        torch.default_generator.seed()
    forkserver_ray.in_child()
