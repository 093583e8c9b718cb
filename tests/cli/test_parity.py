"""diff-meta, diff-config, contract and knobs as a user sees them; captures are given: no trainer stack is needed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from parity.capture import Stack
from parity.record import Capture, flatten
from tests.parity.consumers_support import ENVIRONMENT, read, scanned
from tests.support.projects import LAYOUT, new_project

ROOT = Path(__file__).resolve().parent.parent.parent
VERBS = ("diff-meta", "diff-config", "contract", "knobs")
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


def request(job, lr):
    """A capture of one request."""
    wire = {"order": "old.fwd_no_grad", "old": {"fwd_no_grad": {"meta": {"lr": lr, "loose": 1}, "batch": {"ids": 1}}}}
    probes = {
        "wire": dict(flatten(wire)),
        "config": dict(flatten({"client": {"backend": "local", "lr": lr}})),
        "contract": dict(flatten({"bind": {"old.fwd_no_grad": True}})),
    }
    return Capture(job.scenario, job.side, ENVIRONMENT, probes)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with a parity section, in which each side sends what its scenario says."""
    made = new_project(tmp_path)
    manifest = made.write(f"  - {{pick: [{made.picks[0]}]}}\n", layout=FRAGMENT, extra="")
    manifest.write_text(manifest.read_text() + PARITY)
    monkeypatch.chdir(tmp_path)
    made.repo.git("branch", "port/x", "main")
    return made


@pytest.fixture
def captures(monkeypatch):
    """Stands where workers are started; `sent[side]` is added to what that side sends."""
    sent = {"source": 0, "target": 0}
    asked: list[str] = []

    def lr_of(job):
        return int(job.overrides[-1][1].rpartition("=")[2]) + sent[job.side]

    def capture(wanted, stack, cache, *, layout="", fresh=False, report):
        asked.extend(f"{side.ref} {job.scenario}" for side, jobs in wanted for job in jobs)
        report(f"{len(wanted)} sides done")
        return [[request(job, lr_of(job)) for job in jobs] for _, jobs in wanted]

    for module in ("parity.probes.run", "parity.knobs"):
        monkeypatch.setattr(f"{module}.capture", capture)
    monkeypatch.setattr("parity.probes.run.stack", lambda: Stack("python", {}))
    monkeypatch.setattr("parity.probes.run.installed", lambda cache: SCAN)
    sent["asked"] = asked
    return sent


def test_clean(run, project, captures):
    """Without an argument: the project's manifest, all scenarios, a line each, exit 0; what is shared is counted."""
    code, out, _ = run("diff-meta")
    assert code == 0
    shared = "shared: 1 key without a reader or a sender"
    assert out.splitlines() == [f"MATCH  {name}: 5 keys are equal; {shared}" for name in ("plain", "bold")]
    assert captures["asked"] == ["recipe plain", "recipe bold", "port/x plain", "port/x bold"]


@pytest.mark.parametrize(
    ("verb", "lines"),
    [
        ("diff-meta", ["capturing 2 scenarios of both sides", "2 sides done", "comparing 2 scenarios"]),
        ("contract", ["capturing 2 scenarios of both sides", "2 sides done", "comparing 2 scenarios"]),
        ("knobs", ["turning 1 knob on both sides in plain", "2 sides done"]),
    ],
)
def test_what_is_being_done_is_told(run, project, captures, monkeypatch, verb, lines):
    """Not on a terminal: a line on stderr for each stage, and those of the captures, which take the time."""
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert run(verb).err.splitlines() == lines


def test_differ(run, project, captures):
    """A difference is exit 1, and the first line is the answer."""
    captures["target"] = 1
    code, out, _ = run("diff-meta", "--scenario", "plain")
    assert code == 1
    assert out.splitlines()[:4] == [
        "DIFFER  plain: wire.old.fwd_no_grad.meta.lr has another value",
        "first: wire.old.fwd_no_grad.meta.lr",
        "  recipe: 1 (int)",
        "  port/x: 2 (int)",
    ]


def test_each_verb_has_its_probes(run, project, captures):
    """The same captures, other questions."""
    captures["target"] = 1
    told = {verb: json.loads(run(verb, "--json").out) for verb in VERBS[:3]}
    assert {verb: set(one["probes"]) for verb, one in told.items()} == {
        "diff-meta": {"wire", "consumers"},
        "diff-config": {"config", "consumers"},
        "contract": {"contract"},
    }
    assert {verb: one["verdict"] for verb, one in told.items()} == {
        "diff-meta": "DIFFER",
        "diff-config": "DIFFER",
        "contract": "MATCH",
    }


def test_other_refs(run, project, captures):
    """--left and --right name the sides; before a port the target itself is compared."""
    run("contract", "--left", "recipe~1", "--right", "main", "--scenario", "plain")
    assert captures["asked"] == ["recipe~1 plain", "main plain"]
    project.repo.git("branch", "-D", "port/x")
    captures["asked"].clear()
    run("contract", "--scenario", "plain")
    assert captures["asked"] == ["recipe plain", "main plain"]


def test_shared_is_listed_on_demand(run, project, captures):
    """--shared lists what both sides have alike, with the cause."""
    out = run("diff-meta", "--scenario", "plain", "--shared").out
    assert "  shared  meta.loose.unread: sent in meta; nobody reads it  [old.fwd_no_grad]" in out.splitlines()


def test_update_and_hold(run, project, captures, monkeypatch):
    """--update stores both sides; a side that changes afterwards differs from its file; CI may not write."""
    assert run("diff-meta", "--scenario", "plain", "--update").code == 0
    folder = project.manifest.with_name(f"{project.manifest.stem}.captures")
    assert sorted(file.name for file in folder.iterdir()) == ["plain.source.json", "plain.target.json"]
    assert run("diff-meta", "--scenario", "plain").code == 0
    captures["source"] = captures["target"] = 1
    code, out, _ = run("diff-meta", "--scenario", "plain")
    assert code == 1
    assert out.splitlines()[0] == "DIFFER  both sides agree, but 2 are not as stored"
    monkeypatch.setenv("CI", "true")
    code, out, err = run("diff-meta", "--update")
    assert (code, out) == (2, "") and "--update is refused in CI" in err


def test_knobs(run, project, captures):
    """Every leaf of the block is turned on both sides."""
    code, out, err = run("knobs", "--scenario", "plain")
    assert code == 0, err
    assert out.splitlines()[0] == "MATCH  plain: 1 knob moves the same on both sides"
    assert "recipe plain+old_rl.lr=2" in captures["asked"] and "port/x plain+old_rl.lr=2" in captures["asked"]
    assert json.loads(run("knobs", "--json").out)["provenance"]["knobs"][0]["left"]["state"] == "alive"


@pytest.mark.parametrize("verb", VERBS)
def test_without_the_stack(run, project, monkeypatch, verb):
    """Where the trainer packages are not installed: three lines, what is missing, where, and how to get it."""
    monkeypatch.setattr("parity.capture._own_versions", lambda: {"python": "3.11", "numpy": "1"})
    code, out, err = run(verb)
    assert (code, out) == (3, "")
    assert len(err.splitlines()) == 3
    assert "torch" in err and "porttool[parity]" in err.splitlines()[2]


@pytest.mark.parametrize("verb", VERBS)
def test_without_a_section(run, tmp_path, monkeypatch, captures, verb):
    """A manifest without scenarios has nothing to compare: its place is named."""
    new_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    code, out, err = run(verb)
    assert (code, out) == (2, "")
    assert "no `parity` section" in err


def test_unknown_scenario(run, project, captures):
    """A scenario that is none: those there are."""
    code, _, err = run("diff-meta", "--scenario", "blod")
    assert code == 2
    assert "there is no scenario 'blod'" in err and "did you mean 'bold'?" in err


def test_a_ref_that_is_none(run, project, captures):
    """A ref nobody knows is a fault of the repository; a word that cannot be one is a usage error."""
    assert run("diff-meta", "--right", "nowhere").code == 3
    assert run("diff-meta", "--left=-x").code == 2


def test_the_parent_imports_no_trainer():
    """What a cached run needs is light: no torch, no ray, no transformers, no hydra compose."""
    modules = "parity.probes.run, parity.report, parity.report_json, parity.knobs, parity.report_knobs"
    heavy = "{'torch', 'ray', 'transformers', 'deepspeed', 'verl', 'numpy', 'omegaconf'}"
    code = f"import sys, {modules}\nprint(sorted({heavy} & set(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
