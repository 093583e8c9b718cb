"""A runner on this machine: the checkout of a pull request, and stand-ins for pip and porttool."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adoption.actions import Job

ROOT = Path(__file__).resolve().parent.parent.parent

# `python`, but for `-m venv`, which puts porttool beside itself, and `-m pip`, which is written down.
PYTHON = """\
#!/bin/sh
case "$1 $2" in
"-m venv")
    mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && cat >"$3/bin/porttool" <<'END' && chmod +x "$3/bin/porttool"
{porttool}
END
    ;;
"-m pip") shift 2 && echo "$@" >>{log} ;;
*) exec {python} "$@" ;;
esac
"""
# Writes the reports that it is asked for; what it says comes from the environment.
PORTTOOL = """\
#!{python}
import json, os, sys
words = sys.argv[1:]
with open({log!r}, "a") as log:
    print(*words, file=log)
if words[0] == "verify":
    print(os.environ.get("LANDING", "{{}}"))
    sys.exit(int(os.environ.get("LANDED_CODE", "0")))
if words[0] == "gate" and not os.environ.get("SILENT"):
    verdict = os.environ.get("VERDICT", "MATCH")
    sides = os.environ.get("SIDES", "recipe port/x").split()
    print(json.dumps({{"verdict": verdict, "provenance": {{"sides": sides}}}}))
    place = {{"physicalLocation": {{"artifactLocation": {{"uri": "a.py"}}, "region": {{"startLine": 3}}}}}}
    text = os.environ.get("FINDING", "differs")
    result = {{"ruleId": "wire", "level": "error", "message": {{"text": text}}, "locations": [place]}}
    reports = {{
        "--markdown": os.environ.get("MARKDOWN", f"## {{verdict}}\\n"),
        "--html": "<html>", "--junit": "<testsuites/>",
        "--sarif": json.dumps({{"runs": [{{"results": [] if verdict == "MATCH" else [result]}}]}}),
    }}
    for option, report in reports.items():
        open(words[words.index(option) + 1], "w").write(report)
    print({{name: value for name, value in os.environ.items() if name.startswith("GITHUB_")}}, file=sys.stderr)
    sys.exit({{"MATCH": 0, "DIFFER": 1}}.get(verdict, 3))
sys.exit(int(os.environ.get("CODE", "0")))
"""


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A checkout of a pull request as GitHub leaves it, and a runner; pip and the gate are stand-ins."""
    if not shutil.which("git"):
        pytest.skip("git is not here")
    workspace = tmp_path / "workspace"
    for name in ("action.yml", "pyproject.toml", "constraints.txt", "constraints-parity.txt"):
        target = workspace / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
    shutil.copytree(ROOT / ".ci", workspace / ".ci")
    git(workspace, "init", "-q", "-b", "main")
    git(workspace, "add", ".")
    git(workspace, "commit", "-qm", "base")
    git(workspace, "checkout", "-qb", "port/x")
    git(workspace, "commit", "-q", "--allow-empty", "-m", "port")
    # What `actions/checkout` leaves for a pull request: the merge, detached, and the branches of origin.
    git(workspace, "checkout", "-q", "--detach", "main")
    git(workspace, "merge", "-q", "--no-ff", "-m", "merge", "port/x")
    for branch in ("main", "port/x"):
        git(workspace, "update-ref", f"refs/remotes/origin/{branch}", branch)
        git(workspace, "branch", "-qD", branch)
    temp = tmp_path / "temp"
    temp.mkdir()
    tools = tmp_path / "tools"
    tools.mkdir()
    log = tmp_path / "log"
    porttool = PORTTOOL.format(python=sys.executable, log=str(log))
    (tools / "python").write_text(PYTHON.format(python=sys.executable, porttool=porttool, log=str(log)))
    (tools / "python").chmod(0o755)
    environment = {
        **os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "RUNNER_TEMP": str(temp), "CI": "true",
        "GITHUB_BASE_REF": "main", "GITHUB_HEAD_REF": "port/x", "GITHUB_TOKEN": "a-token",
    }  # fmt: skip
    event = {"event_name": "pull_request", "ref": "refs/pull/1/merge", "event": {"pull_request": {"draft": False}}}
    job = Job(workspace, temp, event, environment)
    job.log = lambda: log.read_text().splitlines()
    return job


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()
