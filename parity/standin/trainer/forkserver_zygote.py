"""The fork server's process: imports once, then forks a child for each script that is asked for, and buries it.

`python forkserver_zygote.py LISTENER ORDER`: an inherited socket, and a JSON file with `path` and `preload`. It ends,
and all that descends from it with it, when its standard input does.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import selectors
import signal
import socket
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    # The folder of this script would hide packages that are named as its modules are.
    sys.path[0] = str(Path(__file__).resolve().parents[3])

from parity.standin.trainer import forkserver_child, forkserver_ray
from parity.standin.trainer.forkserver_child import HIGH, Birth
from parity.standin.trainer.forkserver_shim import ENDED, HEAD, MAX_FILES, SIGNALLED, STARTED

PATIENCE = 10.0  # seconds, for what a client says at once
ROUND = 1.0  # seconds between looks for processes that were left to this one
# What an interpreter reads at its start and cannot be told later; the others it can.
AT_START, LATER = "PYTHON", {"PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}


class Refused(Exception):
    """This one cannot be forked; it starts as plain Python."""


@dataclass
class Child:
    """One forked process; `client` stands for it until one of the two ends."""

    pid: int
    ended: int  # a descriptor that is readable once the process has ended
    client: socket.socket | None


class Zygote:
    """Waits for clients, children and the end, in one thread: a fork copies no other."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._environment = dict(os.environ)
        self._libraries = _open_files() - {0, 1, 2, listener.fileno()}
        self._children: dict[int, Child] = {}
        self._selector = selectors.DefaultSelector()

    def serve(self) -> Birth | None:
        """None at the end of the fork server; in each forked child, what that one is to become."""
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(0, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select(ROUND):
                if key.fd == 0:
                    return None
                if key.fileobj is self._listener:
                    if (birth := self._accept()) is not None:
                        return birth
                elif key.data.client is key.fileobj:
                    self._hear(key.data)
            self._bury()

    def end(self) -> None:
        """Kill all that descends from this process."""
        while left := list(_children(os.getpid())):
            for pid in left:
                _kill(pid)
            self._bury()
            time.sleep(0.01)

    def _accept(self) -> Birth | None:
        client = self._listener.accept()[0]
        client.settimeout(PATIENCE)
        files: list[int] = []
        mother = os.getpid()
        try:
            birth = self._asked(client, files)
            self._check(birth)
            pid = os.fork()
        except (OSError, ValueError, Refused) as error:
            _log(f"not forked: {error}")
            client.close()
            _close(files)
            return None
        if not pid:
            forkserver_child.detach(mother, birth, self._own_files(client))
            return birth
        _close(files)
        self._raise(Child(pid, os.pidfd_open(pid), client))
        return None

    def _asked(self, client: socket.socket, files: list[int]) -> Birth:
        head, passed, _, _ = client.recvmsg(HEAD.size, socket.CMSG_SPACE(MAX_FILES * 4))
        for _, _, content in passed:
            files.extend(struct.unpack(f"{len(content) // 4}i", content[: len(content) // 4 * 4]))
        if len(head) < HEAD.size:
            raise Refused("the client went away")
        (length,) = HEAD.unpack(head)
        text = b""
        while len(text) < length:
            if not (part := client.recv(length - len(text))):
                raise Refused("the client went away")
            text += part
        return Birth(passed=tuple(files), **json.loads(text))

    def _check(self, birth: Birth) -> None:
        threads = [Path("/proc/self/task", task, "comm").read_text().strip() for task in os.listdir("/proc/self/task")]
        if len(threads) > 1:
            raise Refused(f"a fork would lose threads: {', '.join(threads)}")
        for name in {*self._environment, *birth.environment}:
            here, there = self._environment.get(name), birth.environment.get(name)
            if name.startswith(AT_START) and name not in LATER and here != there:
                raise Refused(f"{name} is {there!r} there and {here!r} here")
        if other := forkserver_ray.differs(birth.environment):
            raise Refused(other)
        if taken := self._libraries.intersection(birth.files):
            names = [os.readlink(f"/proc/self/fd/{descriptor}") for descriptor in sorted(taken)]
            raise Refused(f"files {sorted(taken)} are held by an imported library: {names}")
        if len(birth.files) != len(birth.passed):
            raise Refused(f"{len(birth.passed)} of {len(birth.files)} files came")

    def _raise(self, child: Child) -> None:
        assert child.client
        self._children[child.pid] = child
        self._selector.register(child.ended, selectors.EVENT_READ, child)
        self._selector.register(child.client, selectors.EVENT_READ, child)
        _tell(child, STARTED)

    def _own_files(self, client: socket.socket) -> list[int]:
        """What a child must not keep; a client held open by another child would never see its own end."""
        self._selector.close()
        clients = [child.client.detach() for child in self._children.values() if child.client]
        return [self._listener.detach(), client.detach(), *clients, *(c.ended for c in self._children.values())]

    def _hear(self, child: Child) -> None:
        """Signals for a child; the end of its client is its own, for nobody would stop it later."""
        assert child.client
        try:
            said = child.client.recv(len(SIGNALLED) + 1)
        except OSError:
            said = b""
        if said:
            os.kill(child.pid, said[-1])  # not buried yet, so it is no other process
            return
        self._selector.unregister(child.client)
        child.client.close()
        child.client = None
        # All of them are found before the first is killed: orphans are nobody's descendants.
        for pid in [child.pid, *_descendants(child.pid)]:
            _kill(pid)

    def _bury(self) -> None:
        """Take the status of each process that has ended: a child's is told, another's was left to this process."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            if (child := self._children.pop(pid, None)) is None:
                continue
            self._selector.unregister(child.ended)
            os.close(child.ended)
            if child.client:
                self._selector.unregister(child.client)
                _tell(child, ENDED + str(status).encode())
                child.client.close()


def _tell(child: Child, text: bytes) -> None:
    assert child.client
    # One that is gone is heard as such later, and its child is killed then.
    with suppress(OSError):
        child.client.sendall(text)


def _kill(pid: int) -> None:
    """Kill a process and, where it leads one, its group."""
    for kill in (os.kill, os.killpg):
        with suppress(ProcessLookupError):
            kill(pid, signal.SIGKILL)


def _children(pid: int) -> Iterator[int]:
    with suppress(OSError):  # it has ended
        for task in os.listdir(f"/proc/{pid}/task"):
            yield from map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())


def _descendants(pid: int) -> Iterator[int]:
    for child in list(_children(pid)):
        yield child
        yield from _descendants(child)


def _open_files() -> set[int]:
    with os.scandir("/proc/self/fd") as entries:
        found = {int(entry.name) for entry in entries}
    return {descriptor for descriptor in found if os.path.exists(f"/proc/self/fd/{descriptor}")}


def _close(files: Sequence[int]) -> None:
    for descriptor in files:
        os.close(descriptor)


def _log(text: str) -> None:
    os.write(2, f"forkserver: {text}\n".encode())


def preload(names: Sequence[str]) -> None:
    """Import modules and call functions (`module:function`), in order."""
    for name in names:
        where, _, what = name.partition(":")
        module = importlib.import_module(where)
        if what:
            getattr(module, what)()


@contextmanager
def _low_numbers_kept() -> Iterator[None]:
    """What a library opens and keeps is out of the way of the numbers that a child inherits."""
    low = [os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)]
    while low[-1] < HIGH:
        low.append(os.dup(low[0]))
    try:
        yield
    finally:
        _close(low)


def main(listener: int, file: Path) -> None:
    """Serve until the end of standard input; in a child, become what was asked for."""
    order = json.loads(file.read_text(encoding="utf-8"))
    forkserver_child.adopt_orphans()
    before, started = dict(os.environ), time.monotonic()
    base = forkserver_child.base_path()
    sys.path[:0] = order["path"]
    with _low_numbers_kept():
        forkserver_ray.before_import()
        preload(order["preload"])
        forkserver_ray.after_import()
    # What the preload set holds for children too, where their own environment does not say otherwise.
    defaults = {name: value for name, value in os.environ.items() if before.get(name) != value}
    gc.collect()
    gc.freeze()  # a collection in a child would copy the pages of what all share
    _log(f"ready after {time.monotonic() - started:.1f} s")
    zygote = Zygote(socket.socket(fileno=listener))
    birth = zygote.serve()
    if birth is None:
        zygote.end()
        os._exit(0)
    try:
        forkserver_child.become(birth, str(file.with_name("python")), defaults, base)
    finally:
        forkserver_child.end(sys.exc_info()[1])


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
