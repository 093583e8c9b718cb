"""A pull request with one planted fault of each kind is red with the right cause; the same one without it is green."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from parity.capture import Stack, checkout, keep, stack
from parity.scenario import job, read
from porttool import port
from porttool.cli import main
from porttool.errors import EnvironmentFault
from porttool.manifest import load
from tests.faults import run as faults
from tests.faults import suite
from tests.faults.captures import Wanted, captured
from tests.support.repos import Repo

pytestmark = pytest.mark.slow
BRANCH = "port/rl_correctness"
# Of each kind: the patch, the scenario, the probe that has to be red, and what it has to say.
SCENARIOS, FAULTS = suite.load()
CHOSEN = {
    "contract": "04-routing-key",
    "config": "02-horizon",
    "wire": "83-step-twice",
    "consumers": "13-near-name",
    "oracle": "80-apart",
}
BY_NAME = {fault.name: fault for fault in FAULTS}
# It changes a ported commit and nothing that is sent: the proof alone sees it.
HARMLESS = "02-horizon.control.patch"


@dataclass(frozen=True)
class Pulls:
    """A project whose rehearsal is ported, its clean head, and the head with each patch in the last commit."""

    project: Path
    repo: Repo
    clean: str
    heads: dict[str, str]
    cache: Path

    def checked_out(self, patch: str = "") -> None:
        """The pull request with that patch."""
        self.repo.git("update-ref", f"refs/heads/{BRANCH}", self.heads[patch] if patch else self.clean)


@pytest.fixture(scope="module")
def pulls(tmp_path_factory):
    """Everything is captured first, by one process that imports the trainer and forks a worker for each tree."""
    try:
        there = stack()
    except EnvironmentFault as error:
        pytest.skip(f"{error.message}: captures need the packages of the trainer")
    manifest = load(faults.MANIFEST)
    if not Path(manifest.repo(manifest.target)).is_dir():
        pytest.skip("the rehearsal has not been made: porttool vendor sync verl")
    root = tmp_path_factory.mktemp("pulls")
    project = _project(root / "project", manifest)
    repo = Repo(project / "build" / "verl")
    clean = repo.git("rev-parse", BRANCH)
    patches = [BY_NAME[name].variant.patch for name in CHOSEN.values()]
    made = Pulls(project, repo, clean, {p: _planted(repo, clean, p) for p in (*patches, HARMLESS)}, root / "cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(root))  # packages of the trainer stack write there
        _capture(made, there)
    return made


def _project(folder, manifest):
    """The rehearsal with a manifest for each drive, under git: the guard reads its history."""
    folder.mkdir()
    (folder / "pyproject.toml").write_text("")
    shutil.copytree(manifest.path.parent / "patches", folder / "manifests" / "patches")
    told = yaml.safe_load(manifest.path.read_text())
    for name, scenario in (("plain", "plain"), ("engine", "engine_zorro")):
        told["parity"] = {**told["parity"], "scenarios": {scenario: SCENARIOS[scenario]}}
        (folder / "manifests" / f"{name}.yaml").write_text(yaml.safe_dump(told, sort_keys=False))
    shutil.copytree(manifest.repo(manifest.target), folder / "build" / "verl", symlinks=True)
    # A port that somebody made there is of no concern; the same commits are made again.
    Repo(folder / "build" / "verl").git("update-ref", "-d", f"refs/heads/{BRANCH}")
    port.apply(load(folder / "manifests" / "plain.yaml"))
    for words in (("init", "-q", "-b", "main"), ("add", "manifests"), ("commit", "-qm", "base"), ("branch", "base")):
        subprocess.run(["git", "-C", str(folder), *words], check=True)
    return folder


def _planted(repo, head, patch):
    """The head's commit with a patch in it, and not another byte: what a hand would have changed in a port."""
    environment = {**os.environ, "GIT_INDEX_FILE": str(repo.path / ".git" / "planted")}

    def git(*words):
        command = ["git", "-C", str(repo.path), *words]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.strip()

    git("read-tree", head)
    git("apply", "--cached", str(suite.HERE / patch))
    raw = f"tree {git('write-tree')}\n".encode() + repo.raw(head).split(b"\n", 1)[1]
    return repo.git("hash-object", "-t", "commit", "-w", "--stdin", input=raw)


def _capture(pulls: Pulls, there: Stack) -> None:
    """Put every capture where the gate looks for it."""
    cache = pulls.cache / "parity"
    wanted = []
    for name, patches in _asked().items():
        manifest = load(pulls.project / "manifests" / f"{name}.yaml")
        harness = read(manifest.parity)
        sides = [("source", manifest.source.ref), *(("target", pulls.heads.get(p, pulls.clean)) for p in patches)]
        for side, ref in sides:
            tree = checkout(str(pulls.repo.path), ref, side, cache)
            wanted += [Wanted(tree, job(harness, one, side, manifest.layout)) for one in harness.scenarios]
    told = captured(wanted, there, pulls.cache, jobs=os.cpu_count() or 1, report=lambda _: None)
    for key, one in told.items():
        assert not one.capture.crashed, one.capture.crashed
        keep(cache, key, one.capture)


def _asked():
    """By manifest, which heads are captured; "" is the clean one."""
    patches = {name: BY_NAME[name].variant for name in CHOSEN.values()}
    plain = [one.patch for one in patches.values() if one.scenario == "plain"]
    engine = [one.patch for one in patches.values() if one.scenario != "plain"]
    return {"plain": ["", HARMLESS, *plain], "engine": ["", *engine]}


@pytest.fixture
def gate(pulls, monkeypatch, capsys):
    """Run the gate on the pull request as it is checked out: its exit code and its JSON."""
    monkeypatch.chdir(pulls.project)
    monkeypatch.setenv("PORTTOOL_CACHE", str(pulls.cache))
    monkeypatch.setenv("HOME", str(pulls.cache))

    def run(name):
        capsys.readouterr()
        code = main(["gate", f"manifests/{name}.yaml", "--base", "base", "--json"])
        return code, json.loads(capsys.readouterr().out)

    yield run
    pulls.checked_out()
    subprocess.run(["git", "-C", str(pulls.project), "reset", "-q", "--hard", "base"], check=True)


def words(told, probe):
    """What a probe says counts, as the faults' list expects it: `key: cause`."""
    found = told["probes"][probe]["findings"]
    return [
        f"{one['key'].partition('/')[2]}: {one['left']}; {one['right']}; {one['cause']}"
        for one in found
        if one["rule"] not in ("shared", "expected", "declared")
    ]


@pytest.mark.parametrize("name", ["plain", "engine"])
def test_without_a_fault_it_is_green(pulls, gate, name):
    """The pull request as it was ported matches, with its guard."""
    code, told = gate(name)
    assert (code, told["verdict"]) == (0, "MATCH"), told["provenance"]["answer"]
    assert told["probes"]["guard"]["verdict"] == "MATCH"


@pytest.mark.parametrize("probe", CHOSEN)
def test_a_planted_fault_is_red_with_its_cause(pulls, gate, probe):
    """The probe that is meant for it says what is wrong, in the words of the list of faults."""
    fault = BY_NAME[CHOSEN[probe]]
    pulls.checked_out(fault.variant.patch)
    code, told = gate("plain" if fault.variant.scenario == "plain" else "engine")
    assert (code, told["probes"][probe]["verdict"]) == (1, "DIFFER")
    assert any(re.search(fault.cause, one) for one in words(told, probe)), words(told, probe)


def test_a_change_in_a_ported_commit_is_red(pulls, gate):
    """What no probe can see, the proof does: at the file and line, in the commit."""
    pulls.checked_out(HARMLESS)
    code, told = gate("plain")
    wrong = [name for name, one in told["probes"].items() if one["verdict"] != "MATCH"]
    assert (code, wrong) == (1, ["proof"])
    file = suite.touched(HARMLESS)[0]
    assert any(one["rule"] == "residual" and f"/{file}:" in one["key"] for one in told["probes"]["proof"]["findings"])


def test_a_rule_that_hides_a_fault_is_red(pulls, gate):
    """A fault with the rule that excuses it, and no reason of its own for a taken-away scenario: the guard is red."""
    manifest = pulls.project / "manifests" / "plain.yaml"
    told = yaml.safe_load(manifest.read_text())
    told["parity"]["rules"] = {"config.client.training_config.*": {"within": 1e9, "evidence": "none"}}
    told["protected"] = told["protected"][1:]
    manifest.write_text(yaml.safe_dump(told, sort_keys=False))
    code, told = gate("plain")
    assert (code, told["probes"]["guard"]["verdict"]) == (1, "DIFFER")
    assert [one["key"] for one in told["probes"]["guard"]["findings"] if one["rule"] == "guard"] == [
        "guard/protected.verl/remote_backend/base.py"
    ]
    assert {name for name, one in told["probes"].items() if one["verdict"] != "MATCH"} == {"guard"}
    reason = "Gate-Reason: protected: the base class moved to another package"
    subprocess.run(["git", "-C", str(pulls.project), "commit", "-qam", f"x\n\n{reason}\n"], check=True)
    assert gate("plain")[0] == 0


def test_all_of_it_is_quick(pulls, gate):
    """Where both sides are known the whole static gate answers at once."""
    gate("plain")
    began = time.process_time()
    gate("plain")
    assert time.process_time() - began < 5
