"""The whole static tier on the rehearsal, as a user runs it: MATCH, reports, and nothing to do the second time."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from parity.capture import stack
from porttool.errors import EnvironmentFault, RepositoryError
from porttool.manifest import load
from porttool.repo import Repository
from tests.gate.test_junit import problems as junit_problems
from tests.gate.test_sarif import problems as sarif_problems

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent.parent
CACHED_SECONDS = 5


@pytest.fixture
def ported():
    """Skips where there is no trainer stack, or where the rehearsal was not ported."""
    manifest = load(ROOT / "manifests" / "rl_correctness.yaml")
    try:
        stack()
        Repository.open(manifest.repo(manifest.target)).resolve(manifest.target.branch)
    except (EnvironmentFault, RepositoryError) as error:
        pytest.skip(error.message)
    return manifest


def test_the_static_tier(ported, tmp_path):
    """Every scenario of the manifest matches in every probe; from the cache the same answer takes seconds."""
    environment = {**os.environ, "PORTTOOL_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "porttool", "gate", str(ported.path), "--json"]
    command += ["--junit", str(tmp_path / "j.xml"), "--sarif", str(tmp_path / "s.json"), "--html", str(tmp_path / "h")]

    def run():
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
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
