"""Streams that are closed or full: no traceback, and never the exit code of another answer."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from porttool.verbs.output import progress

ROOT = Path(__file__).resolve().parent.parent.parent
COMMAND = f'"{sys.executable}" -m porttool completion bash'


def ended(redirected, command=COMMAND):
    told = subprocess.run(
        ["bash", "-c", f"{command} {redirected}"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return told.returncode, told.stderr


@pytest.mark.parametrize("redirected", [">&-", "2>&-", ">&- 2>&-"])
def test_a_stream_that_was_closed(redirected):
    """Who closed it wants nothing of it."""
    assert ended(redirected) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_disk_that_is_full():
    """It is told where it can be, and is never taken for an answer."""
    code, err = ended(">/dev/full")
    assert code == 3 and err.startswith("error: No space left on device") and "Traceback" not in err
    assert ended(">/dev/full 2>/dev/full") == (3, "")


class Terminal(io.StringIO):
    """A stream that says it is one."""

    def isatty(self):
        return True


def test_a_live_line_is_text(monkeypatch):
    """A subject in it is no markup, and does not end a run."""
    monkeypatch.setattr("sys.stderr", Terminal())
    with progress() as report:
        report("2/3 ledger: [/] fix [bold]x[/i]")


def test_a_fault_with_nowhere_to_be_told():
    """A mistake in the words stays exit 2."""
    assert ended("2>&-", f'"{sys.executable}" -m porttool nosuchverb')[0] == 2
