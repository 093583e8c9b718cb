"""Runs porttool in this process, as a user would."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from porttool.cli import main


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
