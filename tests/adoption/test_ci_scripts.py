"""The scripts for any CI: `.ci/gate`, `.ci/landed` and `.ci/annotate` without GitHub."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.adoption.actions import Job
from tests.adoption.machine import machine

__all__ = ["machine"]

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_script_alone(machine, tmp_path):
    """`.ci/gate` needs nothing of GitHub: reports in a folder, the Markdown on stdout, the gate's exit code."""
    machine.action(machine.workspace, {})
    environment = {"PATH": f"{machine.temp / 'porttool' / 'bin'}:/usr/bin:/bin", "REPORTS": str(tmp_path / "here")}
    words = [str(machine.workspace / ".ci" / "gate"), "--tier", "static"]
    for verdict, code in (("MATCH", 0), ("DIFFER", 1), ("INCOMPARABLE", 3)):
        done = subprocess.run(words, env=environment | {"VERDICT": verdict}, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (code, f"## {verdict}\n")
    assert len(os.listdir(tmp_path / "here")) == 5


def test_the_script_keeps_no_older_answer(machine, tmp_path):
    """Reports of an earlier run are gone where the gate ends without writing any."""
    machine.action(machine.workspace, {})
    environment = {"PATH": f"{machine.temp / 'porttool' / 'bin'}:/usr/bin:/bin", "REPORTS": str(tmp_path / "here")}
    script = str(machine.workspace / ".ci" / "gate")
    subprocess.run([script], env=environment, capture_output=True, check=True)
    done = subprocess.run([script], env=environment | {"SILENT": "1", "CODE": "2"}, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert os.listdir(tmp_path / "here") == ["gate.json"] and not (tmp_path / "here" / "gate.json").read_text()


def test_the_script_installs_nothing(tmp_path):
    """Without porttool it says so, with the exit code of a fault of the machine."""
    done = subprocess.run(
        [str(ROOT / ".ci" / "gate")], env={"PATH": "/usr/bin:/bin"}, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 3
    assert done.stderr.splitlines()[0] == "error: porttool is not on PATH"
    assert os.listdir(tmp_path) == []


def test_annotations_are_capped(tmp_path):
    """Ten of a level are shown, the rest counted; notes of other levels follow."""
    result = {"ruleId": "r", "message": {"text": "m"}, "level": "error"}
    runs = [{"results": [result] * 12 + [{**result, "level": "note"}]}]
    (tmp_path / "x.sarif").write_text(json.dumps({"runs": runs}))
    done = subprocess.run([str(ROOT / ".ci" / "annotate"), tmp_path / "x.sarif"], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert lines[:10] == ["::error title=r::m"] * 10
    assert lines[10:] == ["2 more of level error: see the report", "::notice title=r::m"]


@pytest.mark.parametrize("text", ["a\n::error::pwned", "a\r::error::pwned", "a%0A::error::pwned"])
def test_an_annotation_is_one_line(tmp_path, text):
    """A finding cannot start a second command, neither in its text nor in its place."""
    place = {"physicalLocation": {"artifactLocation": {"uri": quote(f"x,title=y::{text}")}}}
    results = [{"message": {"text": text}, "level": "error", "locations": [place]}]
    (tmp_path / "x.sarif").write_text(json.dumps({"runs": [{"results": results}]}))
    done = subprocess.run([str(ROOT / ".ci" / "annotate"), tmp_path / "x.sarif"], capture_output=True, text=True)
    [line] = done.stdout.splitlines()
    told = Job(tmp_path, tmp_path, {}, {})
    told._commands(line)
    assert told.annotations == [("error", {"file": f"x,title=y::{text}"}, text)]


def test_an_annotation_in_any_locale(tmp_path):
    """Where the machine's locale has no letters for a name, the finding is told all the same."""
    results = [{"message": {"text": "k\u4e2d has another value"}, "level": "error"}]
    (tmp_path / "x.sarif").write_text(json.dumps({"runs": [{"results": results}]}))
    command = [str(ROOT / ".ci" / "annotate"), tmp_path / "x.sarif"]
    told = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, text=True, env=told)
    assert (done.returncode, done.stdout) == (0, "::error ::k\\u4e2d has another value\n")


@pytest.mark.parametrize(
    ("bases", "file"),
    [
        ({"TARGETROOT": {"uri": "build/x/", "uriBaseId": "%SRCROOT%"}}, "build/x/a b.py"),
        ({"TARGETROOT": {}}, None),
        ({}, "a b.py"),
    ],
)
def test_the_place_of_an_annotation(tmp_path, bases, file):
    """A finding in a repository inside the checkout is shown there; one outside is told without a file."""
    place = {"physicalLocation": {"artifactLocation": {"uri": "a%20b.py", "uriBaseId": "TARGETROOT"}}}
    results = [{"message": {"text": "m"}, "level": "error", "locations": [place]}]
    (tmp_path / "x.sarif").write_text(json.dumps({"runs": [{"results": results, "originalUriBaseIds": bases}]}))
    done = subprocess.run([str(ROOT / ".ci" / "annotate"), tmp_path / "x.sarif"], capture_output=True, text=True)
    told = Job(tmp_path, tmp_path, {}, {})
    told._commands(done.stdout)
    assert [one.fields.get("file") for one in told.annotations] == [file]
