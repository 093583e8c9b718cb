"""`porttool vendor` reports what was built and what is not as pinned."""

from __future__ import annotations

import json

import pytest

from porttool import vendor, vendor_verify
from porttool.vendor import Synced
from porttool.vendor_verify import Problem


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project whose vendor functions note what they are asked."""
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "below").mkdir()
    asked = []
    problems = []

    def sync(names, *, root, progress):
        asked.append(("sync", names, root))
        progress("fetching")
        refs = {"refs/heads/upstream/v1": "a" * 40}
        return [Synced("verl", root / "build" / "verl", refs, built=True)]

    def verify(names, *, root):
        asked.append(("verify", names, root))
        return problems

    monkeypatch.setattr(vendor, "sync", sync)
    monkeypatch.setattr(vendor_verify, "verify", verify)
    monkeypatch.chdir(tmp_path / "below")
    return tmp_path, asked, problems


def test_sync(run, project):
    """The answer first, then each repository with its refs; progress goes to stderr."""
    root, asked, _ = project
    code, out, err = run("vendor", "sync", "verl")
    assert asked == [("sync", ("verl",), root)]
    assert (code, err) == (0, "fetching\n")
    assert out.splitlines() == [
        "1 repository as pinned: 1 built, 0 were right already",
        "",
        f"verl  {root / 'build' / 'verl'}",
        "  aaaaaaaaaaaa  upstream/v1",
    ]


def test_sync_json(run, project):
    """JSON alone on stdout."""
    told = json.loads(run("vendor", "sync", "--json").out)
    assert told["synced"][0]["refs"] == {"refs/heads/upstream/v1": "a" * 40}


def test_verify_yes(run, project):
    """All as pinned: exit 0."""
    assert run("vendor", "verify")[:2] == (0, "everything is as pinned\n")
    assert json.loads(run("vendor", "verify", "--json").out) == {"verdict": "as pinned", "problems": []}


def test_verify_no(run, project):
    """Each problem with its file and pin; exit 1."""
    project[2].append(Problem("verl==0.7.1", "wrong hash", "file.whl", "sync again"))
    code, out, err = run("vendor", "verify")
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        "not as pinned: 1 problem",
        "",
        "error: verl==0.7.1: wrong hash",
        "  at: file.whl",
        "hint: sync again",
    ]
    assert json.loads(run("vendor", "verify", "--json").out)["problems"][0]["where"] == "file.whl"


def test_no_pins(run, tmp_path, monkeypatch):
    """Where nothing is pinned, one error names the file that is missing."""
    (tmp_path / "pyproject.toml").write_text("")
    code, out, err = run("vendor", "sync", cwd=tmp_path)
    assert code in (2, 3)
    assert out == ""
    assert "pins.yaml" in err
    assert len(err.splitlines()) <= 3
