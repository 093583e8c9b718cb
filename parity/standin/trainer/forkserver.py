"""Python processes that start in a fraction of a second: forked from one that has imported the trainer stack.

A trainer on Ray has half a dozen of them, and each would import the same packages for ten seconds. `Server.python`
stands where the path of Python does: whatever is run with it and starts Python by `sys.executable`, as Ray does, stays
with the fork server. `PORTTOOL_FORKSERVER=0` leaves it out; then everything is as before, only slower.
"""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from parity.standin.trainer import forkserver_shim, forkserver_zygote

SWITCH, PYTHON, ORDER = "PORTTOOL_FORKSERVER", "PORTTOOL_PYTHON", "order.json"
ROOT = Path(__file__).resolve().parents[3]
# A fork copies no thread, so none may run: BLAS starts its own at import, and so does the allocator of pyarrow.
SINGLE = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}
BACKLOG, STOPPING = 128, 20  # seconds
_WRAPPER = '#!/bin/sh\nexec {python} -I -S {shim} {home} {python} "$@"\n'


@dataclass(frozen=True)
class Server:
    """A fork server, or none: `python` runs scripts (`file.py`, `-u file.py`, `-m module`) either way."""

    python: Path
    log: Path | None = None

    def environment(self) -> dict[str, str]:
        """Lets `serving` of another process, for the same tree and preload, use this one."""
        return {PYTHON: str(self.python)}


@contextmanager
def serving(
    tree: Path, scratch: Path, preload: Sequence[str], environment: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """A fork server for processes of one tree, while the block runs; whatever it forked is gone after it.

    `preload` names modules to import, with `tree` first on the path, and functions to call (`module:function`), in
    order. `environment` (default: this process's) is what libraries read at their import. Returns at once: who asks
    before all is imported waits.
    """
    told = dict(os.environ if environment is None else environment)
    order = {"path": [str(tree.resolve()), str(ROOT)], "preload": list(preload)}
    if told.get(SWITCH) == "0" or sys.platform != "linux":
        yield Server(Path(sys.executable))
        return
    if (shared := Path(told.get(PYTHON, os.devnull))).with_name(ORDER).is_file() and _order(shared) == order:
        yield Server(shared, shared.with_name("log"))
        return
    scratch.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix="forkserver-", dir=scratch.resolve()))
    (home / ORDER).write_text(json.dumps(order), encoding="utf-8")
    process = _start(home, {**told, **SINGLE})
    try:
        yield Server(home / "python", home / "log")
    finally:
        assert process.stdin
        process.stdin.close()
        try:
            process.wait(STOPPING)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        (home / forkserver_shim.SOCKET).unlink()


def _order(python: Path) -> object:
    return json.loads(python.with_name(ORDER).read_text(encoding="utf-8"))


def _start(home: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    wrapper = home / "python"
    names = {"python": sys.executable, "shim": forkserver_shim.__file__, "home": str(home)}
    wrapper.write_text(_WRAPPER.format(**{key: shlex.quote(value) for key, value in names.items()}), encoding="utf-8")
    wrapper.chmod(0o755)
    with _listening(home) as listener, open(home / "log", "wb") as log:
        return subprocess.Popen(
            [sys.executable, forkserver_zygote.__file__, str(listener.fileno()), str(home / ORDER)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=environment,
            cwd=home,
            pass_fds=[listener.fileno()],
            start_new_session=True,
        )


def _listening(home: Path) -> socket.socket:
    """Bound before the fork server runs: who asks early waits, and is refused only once nobody will listen."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with forkserver_shim.short_path(str(home)) as path:
        listener.bind(path)
    listener.listen(BACKLOG)
    return listener
