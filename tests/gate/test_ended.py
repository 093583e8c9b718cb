"""A gate that is ended while a worker runs: the worker is gone, and what waits for reports gets them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.smoke.launching import eventually
from tests.support.projects import new_project

ROOT = Path(__file__).resolve().parent.parent.parent
DRIVER = """
import os, time
from pathlib import Path

def step(job, scratch):
    Path(os.environ["HOME"], f"{job.side}.pid").write_text(str(os.getpid()))
    time.sleep(1000)
"""


def gone(place):
    return all(not Path("/proc", file.read_text()).exists() for file in place.glob("*.pid"))


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_no_worker_outlives_it(tmp_path, number, status):
    """SIGTERM is what CI cancels with: exit 130 and a report; after SIGKILL nothing is left either."""
    made = new_project(tmp_path)
    made.repo.git("branch", "port/x", "main")
    (made.manifest.parent / "d.py").write_text(DRIVER)
    made.manifest.write_text(
        made.manifest.read_text() + "parity:\n  packages: []\n  drivers: {step: d.py:step}\n"
        "  subject: {trainer: lib.client.OldWorker}\n  scenarios: {plain: [], other: []}\n"
    )
    home = tmp_path / "home"
    home.mkdir()
    told = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(home), "PORTTOOL_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "porttool", "gate", "--junit", "gate.xml"]
    gate = subprocess.Popen(command, cwd=tmp_path, env=told, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert eventually(lambda: [bool(file.read_text()) for file in home.glob("*.pid")] == [True, True])
        gate.send_signal(number)
        assert gate.wait(120) == status
        assert eventually(lambda: gone(home))
    finally:
        gate.kill()
        gate.wait()
    assert (tmp_path / "gate.xml").exists() == (number == signal.SIGTERM)
