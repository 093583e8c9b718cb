"""Tests see no trace of the machine that they run on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from parity.gate.guard_git import BASES, base_of
from parity.store import refuse_in_ci
from tests.support.environment import hear_ctrl_c, of_the_machine


@pytest.mark.parametrize("name", [*BASES, "CI", "GIT_DIR", "XDG_CACHE_HOME", "PORTTOOL_PYTHON", "FORCE_COLOR"])
def test_what_ci_sets_is_taken_away(name):
    """Every variable by which porttool knows CI, a pull request's base or the user's settings is dropped."""
    assert of_the_machine(["PATH", name, "CITY", "GITA"]) == [name]


def test_here_is_no_ci():
    """Where the suite itself runs in CI, a test is not told so."""
    refuse_in_ci(os.environ)
    assert base_of("", os.environ) == ""


def test_who_is_started_hears_ctrl_c():
    """Also where the suite is a job in the background, which a shell has ignore it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        hear_ctrl_c()
        child = subprocess.Popen([sys.executable, "-c", "print(flush=True); input()"], stdout=-1, stdin=-1, stderr=-1)
        assert child.stdout is not None and child.stdout.readline() == b"\n"
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)
    finally:
        signal.signal(signal.SIGINT, before)
    assert child.returncode == -signal.SIGINT
