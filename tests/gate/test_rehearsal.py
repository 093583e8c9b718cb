"""The whole static tier on the rehearsal, as a user runs it: MATCH, reports, and nothing to do the second time."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from parity.capture import stack
from porttool import port
from porttool.errors import EnvironmentFault
from porttool.manifest import load
from tests.gate.test_junit import problems as junit_problems
from tests.gate.test_sarif import problems as sarif_problems
from tests.support.repos import Repo

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent.parent
CACHED_SECONDS = 5


@pytest.fixture
def ported(tmp_path):
    """The rehearsal, ported in a project of its own. Skips where there is no trainer stack, or no rehearsal."""
    manifest = load(ROOT / "manifests" / "rl_correctness.yaml")
    try:
        stack()
    except EnvironmentFault as error:
        pytest.skip(error.message)
    made = Path(manifest.repo(manifest.target))
    if not made.is_dir():
        pytest.skip("the rehearsal has not been made: porttool vendor sync verl")
    project = tmp_path / "project"
    shutil.copytree(manifest.path.parent, project / "manifests")
    (project / "pyproject.toml").write_text("")
    shutil.copytree(made, project / "build" / "verl", symlinks=True)
    Repo(project / "build" / "verl").git("update-ref", "-d", f"refs/heads/{manifest.target.branch}")
    there = load(project / "manifests" / "rl_correctness.yaml")
    port.apply(there)
    return there


def test_the_static_tier(ported, tmp_path):
    """Every scenario of the manifest matches in every probe; from the cache the same answer takes seconds."""
    own = {"PORTTOOL_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    environment = {**os.environ, **own}
    command = [sys.executable, "-m", "porttool", "gate", str(ported.path), "--json"]
    command += ["--junit", str(tmp_path / "j.xml"), "--sarif", str(tmp_path / "s.json"), "--html", str(tmp_path / "h")]

    def run():
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        done = subprocess.run(command, cwd=ported.root, env=environment, capture_output=True, text=True, check=False)
        return done, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    first, _ = run()
    told = json.loads(first.stdout)
    assert (first.returncode, told["verdict"]) == (0, "MATCH"), told["provenance"]["answer"]
    assert {"proof", "wire", "config", "contract", "oracle", "consumers"} <= set(told["probes"])
    names = set(ported.parity["scenarios"])
    assert set(told["provenance"]["cases"]["wire"]) == names
    assert junit_problems((tmp_path / "j.xml").read_text()) == []
    assert sarif_problems(json.loads((tmp_path / "s.json").read_text())) == []
    again, used = run()
    assert re.search(rf"0 of {2 * len(names)} captures to make", again.stderr)
    assert json.loads(again.stdout)["probes"] == told["probes"]
    assert used < CACHED_SECONDS
