"""Runs porttool in this process, as a user would."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from porttool.cli import main
from tests.support.projects import new_project


class Ran(NamedTuple):
    """What one run gave."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys, monkeypatch):
    """Run porttool with words; `cwd` is where."""

    def run_here(*words: object, cwd=None) -> Ran:
        if cwd is not None:
            monkeypatch.chdir(cwd)
        capsys.readouterr()
        try:
            code = main([str(word) for word in words])
        except SystemExit as stop:  # --help
            code = stop.code
        return Ran(code, *capsys.readouterr())

    return run_here


@pytest.fixture
def project(tmp_path, monkeypatch):
    made = new_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    return made


@pytest.fixture
def stopped(project):
    """A project whose first commit cannot be ported without a decision."""
    client = project.repo.files("main")["app/remote/client.py"]
    project.repo.commit({"app/remote/client.py": client.replace(b"return 1", b"return 9")}, message="other\n")
    return project
