"""The action's own steps around the real gate: a pull request that ports, with and without something wrong in it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adoption.actions import Job
from tests.adoption.machine import PYTHON, git

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent.parent
PORTTOOL = f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m porttool "$@"\n'
# A trainer of one line in two layouts. No torch: the driver reports what the code of its side computes.
DRIVER = """\
def step(job, scratch):
    try:
        from lib.client import OldClient as Client
    except ImportError:
        from app.remote.client import NewClient as Client
    return {"client": {"rate": Client.rate, "limit": Client.limit}}
"""
CLIENT = "class OldClient:\n    rate = 0.5\n    limit = 10\n"
MOVED = CLIENT.replace("OldClient", "NewClient")
MANIFEST = """\
version: 1
source: {repo: ., ref: recipe}
target: {repo: ., ref: main, branch: port/x}
layout:
  paths: {lib/client.py: app/remote/client.py}
  symbols: {OldClient: NewClient}
commits:
  - pick: [recipe]
parity:
  drivers: {step: driver.py:step}
  packages: []
  scenarios: {plain: []}
"""


def write(folder: Path, files: dict[str, str | None]) -> None:
    for name, text in files.items():
        file = folder / name
        if text is None:
            file.unlink()
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)


def commit(folder: Path, message: str, files: dict[str, str | None]) -> None:
    write(folder, files)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)


@pytest.fixture
def pull(tmp_path):
    """A repository whose pull request is the port, and a function that runs the action on it as it then is."""
    here = tmp_path / "workspace"
    here.mkdir()
    git(here, "init", "-q", "-b", "main")
    commit(here, "start", {"lib/client.py": CLIENT, "manifests/x.yaml": MANIFEST, "manifests/driver.py": DRIVER,
                           "pyproject.toml": ""})  # fmt: skip
    git(here, "checkout", "-qb", "recipe")
    commit(here, "Raise the limit", {"lib/client.py": CLIENT.replace("10", "20")})
    git(here, "checkout", "-q", "main")
    commit(here, "move", {"lib/client.py": None, "app/remote/client.py": MOVED})
    log = str(tmp_path / "log")
    tools = tmp_path / "tools"
    write(tools, {"python": PYTHON.format(python=sys.executable, porttool=PORTTOOL, log=log), "porttool": PORTTOOL})
    for tool in tools.iterdir():
        tool.chmod(0o755)
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    subprocess.run([tools / "porttool", "apply"], cwd=here, capture_output=True, check=True)

    def run(number: int = 1) -> Job:
        """What GitHub does: the merge of the pull request, detached; branches only below origin."""
        git(here, "checkout", "-q", "--detach", "main")
        git(here, "merge", "-q", "--no-ff", "-m", "merge", "port/x")
        for branch in ("main", "port/x", "recipe"):
            git(here, "update-ref", f"refs/remotes/origin/{branch}", branch)
            git(here, "branch", "-qD", branch)
        temp = tmp_path / f"temp{number}"
        temp.mkdir()
        environment = {
            **os.environ, "PATH": path, "RUNNER_TEMP": str(temp), "CI": "true",
            "GITHUB_BASE_REF": "main", "GITHUB_HEAD_REF": "port/x",
        }  # fmt: skip
        job = Job(here, temp, {"event_name": "pull_request", "ref": "refs/pull/1/merge"}, environment)
        job.action(ROOT, {"extras": ""})
        return job

    run.here, run.path = here, path
    return run


def on_the_port(pull, message: str, files: dict[str, str | None], *amend: str) -> None:
    git(pull.here, "checkout", "-q", "port/x")
    write(pull.here, files)
    git(pull.here, "add", "-A")
    git(pull.here, "commit", "-q", *(amend or ("-m", message)))


def told(job: Job) -> dict:
    return json.loads((Path(job.outputs["reports"]) / "gate.json").read_text())


def test_a_port_is_green(pull):
    """Proof and captures match: MATCH in the output, in the summary and in all five reports; no annotation."""
    job = pull()
    assert not job.failed, [step for step in job.ran if step.code]
    assert job.outputs["verdict"] == "MATCH"
    assert "MATCH" in job.summary and job.annotations == []
    assert told(job)["probes"].keys() >= {"guard", "proof", "client"}
    assert len(os.listdir(job.outputs["reports"])) == 5


def test_a_changed_value_is_red_at_its_line(pull):
    """A value that the port lost: DIFFER, the commit is undeclared at path:line, and the probe shows both values."""
    wrong = MOVED.replace("10", "20").replace("0.5", "0.25")
    on_the_port(pull, "x", {"app/remote/client.py": wrong}, "--amend", "--no-edit")
    job = pull()
    assert job.failed and job.outputs["verdict"] == "DIFFER"
    probes = told(job)["probes"]
    assert probes["proof"]["verdict"] == probes["client"]["verdict"] == "DIFFER"
    assert {(one["left"], one["right"]) for one in probes["client"]["findings"]} == {("0.5 (float)", "0.25 (float)")}
    places = {(one.fields["file"], one.fields["line"]) for one in job.annotations if one.level == "error"}
    assert ("app/remote/client.py", "2") in places
    assert "DIFFER" in job.summary


@pytest.mark.parametrize(("message", "verdict"), [
    ("keep", "DIFFER"), ("keep\n\nGate-Reason: policy.empty: an empty commit marks a release", "MATCH"),
])  # fmt: skip
def test_a_changed_measure_needs_a_reason(pull, message, verdict):
    """A policy that the pull request changes is a finding of the guard, until a commit message gives the reason."""
    rule = MANIFEST + "policy: {empty: keep}\n"
    git(pull.here, "checkout", "-q", "main")
    on_the_port(pull, message, {"manifests/x.yaml": rule})
    probes = told(pull())["probes"]
    assert probes["guard"]["verdict"] == verdict


def test_what_the_branch_prints_is_no_command(pull):
    """A driver of the pull request that prints workflow commands gets none of them taken."""
    noisy = DRIVER.replace("    try:", "    print('::error file=a.py::pwned'); print('::add-mask::x')\n    try:", 1)
    on_the_port(pull, "noise", {"manifests/driver.py": noisy + "    raise RuntimeError('::error::pwned')\n"})
    job = pull()
    assert not [one for one in job.annotations if re.match("pwned", one.text)] and job.commands == []


def landed(here: Path, path: str, ref: str) -> tuple[int, str]:
    """The exit code and the words of `.ci/landed`."""
    words = [str(ROOT / ".ci" / "landed"), ref, "manifests/x.yaml"]
    done = subprocess.run(words, cwd=here, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    return done.returncode, done.stdout


def test_landing_for_real(pull):
    """Nothing there yet: green and told. Merged or squashed by its author: green. Squashed by another: red."""
    here = pull.here
    git(here, "checkout", "-q", "-b", "other", "main")
    commit(here, "unrelated", {"x": "1\n"})
    assert landed(here, pull.path, "other") == (0, "no commit of the port is on other yet\n")
    git(here, "merge", "-q", "--no-ff", "-m", "merge", "port/x")
    assert landed(here, pull.path, "other") == (0, "every commit of the port is on other, by its author\n")
    git(here, "checkout", "-q", "-b", "squashed", "main")
    git(here, "merge", "-q", "--squash", "port/x")
    git(here, "commit", "-qm", "all of it", "--author", "Somebody Else <else@example.invalid>")
    code, out = landed(here, pull.path, "squashed")
    assert code == 1 and json.loads(out)["landed"]["lost_authors"]
    assert landed(here, pull.path, "nowhere")[0] == 3


HOSTILE = "<script>alert(1)</script> | `x` ](javascript:x) \\u202e\\x1b[31m\\n::error::pwned"


def test_hostile_values_stay_text(pull):
    """Keys and values of the branch cannot become HTML of the page, a table cell, a terminal code or a command."""
    hostile = DRIVER.replace('"limit": Client.limit', f'"limit {HOSTILE}": "{HOSTILE}" + job.side')
    git(pull.here, "checkout", "-q", "main")
    on_the_port(pull, "hostile", {"manifests/driver.py": hostile})
    job = pull()
    assert job.outputs["verdict"] == "DIFFER"
    reports = Path(job.outputs["reports"])
    page, summary = (reports / "gate.html").read_text(), job.summary
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page
    assert not re.search(r"https?://(?!json)", page.replace("http://www.w3.org", ""))
    assert "\x1b" not in page + summary and "\u202e" not in page + summary
    for line in summary.splitlines():
        # Outside code spans nothing of it is left.
        assert "<script>" not in re.sub(r"(`+)(?:(?!\1).)*?\1", "", line), line
        assert not line.lstrip().startswith("::error")
    assert not [one for one in job.annotations if one.text == "pwned"]
