"""A project with a ported branch, whose captures are given: no trainer stack is needed."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from parity.capture import Stack
from parity.record import Capture, flatten
from porttool.cli import main
from porttool.manifest import load
from porttool.port import apply
from tests.gate.pulls import Pull
from tests.parity.consumers_support import ENVIRONMENT, read, scanned
from tests.support.projects import LAYOUT, new_project

PARITY = """\
parity:
  subject: {trainer: t.T, worker: w.W, rollout: r.R, adapter: a.A}
  base: [old_rl.lr=1]
  scenarios:
    plain: []
    bold: [old_rl.lr=3]
"""
FRAGMENT = LAYOUT + '  fragments: {"conf.yaml#old_rl": "conf.yaml#remote"}\n'
SCAN = scanned(read("batch.ids", "index", ""), read("meta.lr"))


class Ran(NamedTuple):
    """What one run gave."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys):
    """Run porttool with words, as a user would."""

    def run_here(*words: object) -> Ran:
        capsys.readouterr()
        return Ran(main([str(word) for word in words]), *capsys.readouterr())

    return run_here


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project whose commits are ported, with a parity section."""
    made = new_project(tmp_path)
    made.write("".join(f"  - {{pick: [{pick}]}}\n" for pick in made.picks))
    apply(load(made.manifest))
    made.manifest.write_text(made.manifest.read_text() + PARITY)
    monkeypatch.chdir(tmp_path)
    return made


class Sent:
    """What each side sends: `lr[side]` is added to the scenario's rate; `by_commit` to that of one commit."""

    def __init__(self) -> None:
        self.lr = {"source": 0, "target": 0}
        self.by_commit: dict[str, int] = {}
        self.crash: set[str] = set()
        self.made: list[str] = []

    def capture(self, wanted, stack, cache, *, layout="", fresh=False, report=None):
        self.made += [f"{side.ref} {job.scenario}" for side, jobs in wanted for job in jobs]
        return [[self._one(side, job) for job in jobs] for side, jobs in wanted]

    def _one(self, side, job):
        provenance = {**ENVIRONMENT, "ref": side.ref, "commit": side.commit}
        if job.side in self.crash:
            return Capture(job.scenario, job.side, provenance, {}, "Traceback\nValueError: no such thing")
        lr = int(job.overrides[-1][1].rpartition("=")[2]) + self.lr[job.side] + self.by_commit.get(side.commit, 0)
        wire = {"order": "old.fwd_no_grad", "old": {"fwd_no_grad": {"meta": {"lr": lr}, "batch": {"ids": 1}}}}
        probes = {
            "wire": dict(flatten(wire)),
            "config": dict(flatten({"client": {"backend": "local", "ds_config": {"lr": lr}}})),
            "contract": dict(flatten({"bind": {"old.fwd_no_grad": True}})),
        }
        return Capture(job.scenario, job.side, provenance, probes)


@pytest.fixture
def sent(monkeypatch, tmp_path_factory):
    """Stands where workers are started."""
    told = Sent()
    for module in ("parity.gate.static", "parity.knobs"):
        monkeypatch.setattr(f"{module}.capture", told.capture)
    monkeypatch.setattr("parity.probes.run.stack", lambda: Stack("python", {}))
    monkeypatch.setattr("parity.probes.run.installed", lambda cache: SCAN)
    monkeypatch.setenv("PORTTOOL_CACHE", str(tmp_path_factory.mktemp("cache")))
    return told


@pytest.fixture
def pull(tmp_path):
    """A pull request: `pull(change, files, message)` is what the guard says of it."""
    return Pull(tmp_path)
