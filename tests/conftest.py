"""Every test runs with a git, a home and a network of its own: none."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
from pathlib import Path

import pygit2
import pytest

from tests.support.environment import hear_ctrl_c, of_the_machine
from tests.support.repos import IDENTITY, Repo, new_repo

_HOME = Path.home().resolve()
_ROOT = Path(__file__).resolve().parent.parent
_ALLOWED = tuple(
    str(Path(folder).resolve()) for folder in (_ROOT, tempfile.gettempdir(), sys.prefix, sys.base_prefix, "/dev")
)
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class WritesToTheRealHome(AssertionError):
    """A test wrote below the real home folder; use tmp_path, or an XDG folder."""


class UsesTheNetwork(AssertionError):
    """A test opened a connection to another machine."""


def _refuse_writes_to_home(event: str, arguments: tuple[object, ...]) -> None:
    if event != "open":
        return
    path, mode, flags = arguments
    writes = any(letter in mode for letter in "wax+") if isinstance(mode, str) else int(flags or 0) & _WRITES
    if not writes or not isinstance(path, str | bytes):
        return
    shown = os.path.abspath(os.fsdecode(path))
    if shown.startswith(f"{_HOME}{os.sep}") and not shown.startswith(_ALLOWED):
        raise WritesToTheRealHome(shown)


sys.addaudithook(_refuse_writes_to_home)
hear_ctrl_c()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-cases", action="store_true", help="rewrite the `new` blocks of tests/cases in place")


@pytest.fixture(autouse=True)
def hermetic(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No user or system git configuration, no home, no network, no CI, one identity, one zone, one language."""
    for name in of_the_machine(os.environ):
        monkeypatch.delenv(name)
    xdg = tmp_path_factory.mktemp("xdg")
    settings = {
        "HOME": "/dev/null/a-test-uses-the-home-folder",
        "XDG_CACHE_HOME": str(xdg / "cache"),
        "XDG_CONFIG_HOME": str(xdg / "config"),
        "XDG_STATE_HOME": str(xdg / "state"),
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "file",
        "GIT_AUTHOR_NAME": IDENTITY[0],
        "GIT_AUTHOR_EMAIL": IDENTITY[1],
        "GIT_COMMITTER_NAME": IDENTITY[0],
        "GIT_COMMITTER_EMAIL": IDENTITY[1],
        "PIP_NO_INDEX": "1",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "NO_COLOR": "1",
        "COLUMNS": "100",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(autouse=True, scope="session")
def no_user_git_config() -> None:
    """libgit2 reads no configuration but a repository's own."""
    level = pygit2.enums.ConfigLevel
    for where in (level.GLOBAL, level.XDG, level.SYSTEM, level.PROGRAMDATA):
        pygit2.settings.search_path[where] = ""


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections leave this process only for the same machine."""
    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, _guarded(getattr(socket.socket, name)))


def _guarded(connect):
    def guarded(self, address):
        here = self.family == socket.AF_UNIX or address[0] in ("127.0.0.1", "::1", "localhost")
        if not here:
            raise UsesTheNetwork(f"connect to {address}")
        return connect(self, address)

    return guarded


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """An empty repository whose commits are made by `repo.commit({"path": "text"})`."""
    return new_repo(tmp_path / "repo")
