"""What a node of a Ray cluster is given and gives back; no cluster is started."""

from __future__ import annotations

from pathlib import Path

import parity.capture
from parity.capture import Stack
from parity.probes.on_ray import _packed, captured_there
from parity.record import Capture, from_json
from parity.scenario import Job, Rows

JOB = Job("source", "plain", "none", {"adapter": "a.A"}, ("m", "n"), (), (("k=1", "k=1"),), (), Rows())


def test_a_node_runs_the_same_job(tmp_path, monkeypatch):
    """The tree arrives whole and once, the job as it was written, and the capture comes back as JSON."""
    tree = tmp_path / "tree"
    (tree / "pkg" / "__pycache__").mkdir(parents=True)
    (tree / "pkg" / "m.py").write_text("x = 1\n")
    (tree / "pkg" / "__pycache__" / "m.pyc").write_text("no")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "node"))
    (tmp_path / "node").mkdir()
    seen = []

    def capture(wanted, stack, cache, *, layout=""):
        ((side, jobs),) = wanted
        seen.append(
            (sorted(p.relative_to(side.folder).as_posix() for p in Path(side.folder).rglob("*")), jobs, layout)
        )
        return [[Capture(job.scenario, job.side, {}, {"wire": {}}) for job in jobs]]

    monkeypatch.setattr(parity.capture, "capture", capture)
    monkeypatch.setattr(parity.capture, "stack", lambda: Stack("python", {}))
    packed = _packed(tree)
    for _ in range(2):
        told = captured_there(packed, "source", "ref", "c0ffee", "tree1", [JOB.to_json()], "layout")
    assert seen == [(["pkg", "pkg/m.py"], [JOB], "layout")] * 2
    assert [from_json(text).scenario for text in told] == ["plain"]
    assert [folder.name for folder in (tmp_path / "node" / "porttool-parity" / "trees").iterdir()] == ["tree1"]
