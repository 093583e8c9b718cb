"""Stands where Python is called: a fork server runs the script, with this process's arguments, environment and files.

It imports little, for it is started as often as a worker is. Wherever the fork server cannot be asked, or the call is
not one that it serves, this process becomes plain Python.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import sys
from collections.abc import Iterable, Sequence

SOCKET = "socket"
RAYLET = "RAY_RAYLET_PID"  # in the environment of whatever a raylet starts
HEAD = struct.Struct("!Q")
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
MAX_FILES = 253  # what the kernel passes in one message
STARTED, SIGNALLED, ENDED = b"p", b"s", b"e"


def served(arguments: Sequence[str]) -> dict[str, object] | None:
    """What a Python command line runs: a script or a module, perhaps unbuffered. None where it is another call."""
    rest = list(arguments)
    unbuffered = bool(rest) and rest[0] == "-u"
    if unbuffered:
        rest.pop(0)
    if len(rest) > 1 and rest[0] == "-m":
        return {"unbuffered": unbuffered, "module": rest[1], "argv": rest[1:]}
    if rest and rest[0].endswith(".py"):
        return {"unbuffered": unbuffered, "module": "", "argv": rest}
    return None


def main(home: str, python: str, arguments: Sequence[str]) -> None:
    """Run a Python command line through the fork server of folder `home`; does not return."""
    told = served(arguments)
    # A child is there before anybody can hand signals on to it: until then they wait.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    if told is not None and (asked := _ask(home, told)) is not None:
        _follow(asked, before)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    os.execv(python, [python, *arguments])


def _ask(home: str, told: dict[str, object]) -> socket.socket | None:
    """The connection over which a started child is followed; None where there is none."""
    umask = os.umask(0)
    os.umask(umask)
    descriptors = _open_files()
    if len(descriptors) > MAX_FILES:
        return None
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        told |= {"cwd": os.getcwd(), "umask": umask, "files": descriptors, "environment": dict(os.environ)}
        text = json.dumps(told).encode()
        passed = (socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack(f"{len(descriptors)}i", *descriptors))
        with short_path(home) as path:
            server.connect(path)
        server.sendmsg([HEAD.pack(len(text))], [passed])
        server.sendall(text)
        answer = server.recv(1)
    except OSError:
        answer = b""
    if answer == STARTED:
        return server
    server.close()
    return None


class short_path:  # noqa: N801 - contextlib would be one more import
    """The socket of a folder under a name that is short enough for one."""

    def __init__(self, home: str) -> None:
        self._folder = os.open(home, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> str:
        return f"/proc/self/fd/{self._folder}/{SOCKET}"

    def __exit__(self, *_: object) -> None:
        os.close(self._folder)


def _open_files() -> list[int]:
    """Descriptors that plain Python would have inherited too."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            os.fstat(int(name))
        except OSError:
            continue  # the descriptor that listed the folder
        found.append(int(name))
    return sorted(found)


def _follow(server: socket.socket, unblocked: Iterable[int]) -> None:
    """Hand signals on to the child and end as it ends; a Ray worker's ends with its raylet."""
    for number in FORWARDED:
        signal.signal(number, lambda got, _: server.sendall(SIGNALLED + bytes([got])))
    signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
    told = b""
    watched = select.poll()
    watched.register(server, select.POLLIN)
    if raylet := os.environ.get(RAYLET):
        try:
            watched.register(os.pidfd_open(int(raylet)), select.POLLIN)
        except OSError:
            os._exit(1)  # it has gone already
    while True:
        ready = [descriptor for descriptor, _ in watched.poll()]
        if server.fileno() not in ready:
            os._exit(1)
        if not (part := server.recv(64)):
            break
        told += part
    if told[:1] != ENDED:
        os.kill(os.getpid(), signal.SIGKILL)  # the fork server is gone, and its children with it
    code = os.waitstatus_to_exitcode(int(told[1:]))
    if code >= 0:
        os._exit(code)
    if -code != signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
