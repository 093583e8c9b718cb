"""The example that is no RL trainer, and the driver of the documentation: both run as they stand."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from porttool.manifest import load
from porttool.verbs.init import EXAMPLE as INIT
from tests.support.repos import new_repo

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "examples" / "torch_mlp"
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")


def make(folder, **environment):
    """The example's repository, by its own script."""
    command = [sys.executable, str(EXAMPLE / "make.py"), str(folder)]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **environment})
    return folder


def git(folder, *words):
    told = subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True)
    return told.stdout.strip()


@pytest.fixture
def example(tmp_path, monkeypatch):
    """The example's repository with a manifest by init, and its driver."""
    folder = make(tmp_path / "mlp")
    monkeypatch.chdir(folder)
    return folder


def with_driver(folder, run):
    assert run(*INIT.split()[1:]).code == 0
    (folder / "manifests/driver.py").write_bytes((EXAMPLE / "driver.py").read_bytes())
    with open(folder / "manifests/fixes.yaml", "a", encoding="utf-8") as file:
        file.write((EXAMPLE / "parity.yaml").read_text(encoding="utf-8"))


def test_it_is_the_same_everywhere(tmp_path):
    """The same commit ids, whatever git, zone, clock and identity are on the machine."""
    one = make(tmp_path / "one")
    other = make(
        tmp_path / "two",
        TZ="Asia/Tokyo",
        LC_ALL="C",
        GIT_AUTHOR_NAME="Somebody",
        GIT_AUTHOR_DATE="2001-01-01T00:00:00Z",
        GIT_CONFIG_COUNT="1",
        GIT_CONFIG_KEY_0="core.autocrlf",
        GIT_CONFIG_VALUE_0="true",
    )
    shown = ("for-each-ref", "--format=%(refname) %(objectname)")
    assert git(one, *shown) == git(other, *shown)
    assert git(one, "status", "--short") == ""


def test_it_makes_no_mess(tmp_path):
    """A folder that is there already is left alone."""
    (tmp_path / "mlp").mkdir()
    command = [sys.executable, str(EXAMPLE / "make.py"), str(tmp_path / "mlp")]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ended.returncode == 1 and "usage:" in ended.stderr
    assert list((tmp_path / "mlp").iterdir()) == []


def test_its_fixes_are_ported_and_proven(run, example):
    """Three fixes by three people arrive in the other layout and change nothing else."""
    assert run(*INIT.split()[1:]).code == 0
    assert run("apply").code == 0
    told = json.loads(run("verify", "--json").out)
    assert told["verdict"] == "layout-only"
    authors = {commit["author"].partition(" <")[0] for commit in told["commits"]}
    assert authors == {"Ada Quist", "Ben Okafor", "Cleo Marsh"}
    layout = load("manifests/fixes.yaml").layout
    assert ".".join(layout.keys.map(("optim", "warmup"))) == "optimizer.schedule.warmup"


def test_it_shares_no_name_with_verl():
    """Nothing in it is tied to the trainer that porttool knows."""
    words = re.compile(r"verl|arctic|hydra|omegaconf|deepspeed|\bray\b|numpy", re.IGNORECASE)
    files = [file for file in EXAMPLE.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    assert len(files) > 10
    assert [file for file in files if words.search(file.read_text(encoding="utf-8"))] == []


@needs_torch
@pytest.mark.slow
def test_the_port_matches_and_the_target_before_does_not(run, example):
    """Before the port each fix shows as a key; after it config, batches, steps and weights are equal bit for bit."""
    with_driver(example, run)
    before = json.loads(run("diff-meta", "--scenario", "plain", "--json").out)
    assert before["verdict"] == "DIFFER"
    keys = {found["key"] for found in before["probes"]["steps"]["findings"]}
    assert {"plain/step[0].grad_norm", "plain/step[0].lr"} <= keys
    assert before["probes"]["batches"]["verdict"] == "MATCH"
    lost = json.loads(run("diff-config", "--scenario", "plain", "--json").out)
    assert [found["key"] for found in lost["probes"]["config"]["findings"]] == ["plain/optim.weight_decay"]
    assert run("apply").code == 0
    for verb in ("diff-meta", "diff-config"):
        after = json.loads(run(verb, "--json").out)
        assert after["verdict"] == "MATCH", after
    assert set(after["provenance"]["scenarios"]) == {"plain", "narrow", "no_warmup"}


@needs_torch
@pytest.mark.slow
def test_it_needs_no_numpy(tmp_path, example):
    """A torch without numpy runs the driver too: tensors are read without it."""
    git(example, "checkout", "-q", "fixes")
    code = f"""
import sys, warnings
sys.modules["numpy"] = None
warnings.simplefilter("ignore")
sys.path[:0] = [{str(example)!r}, {str(ROOT)!r}]
from parity.driver import load, observed
from parity.scenario import Job, Rows
subject = {{"config": "config.yaml", "read": "mlp.settings.read", "trainer": "mlp.trainer.Trainer",
           "batches": "mlp.data.batches"}}
job = Job("source", "plain", "none", subject, ("", ""), (), (), (), Rows(), tree={str(example)!r})
told = observed(load({f"{EXAMPLE / 'driver.py'}:step"!r})(job, None))
print({{probe: len(keys) for probe, keys in told.items()}})
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip() == "{'config': 12, 'batches': 6, 'steps': 12, 'weights': 6}"


TRAINER = """
class Trainer:
    def __init__(self, config):
        self.rate, self.weight = config["optim"]["lr"], 1.0

    def step(self, number):
        self.weight -= self.rate * number
        return self.weight

    def weights(self):
        return {"weight": self.weight}
"""


@pytest.fixture
def documented(tmp_path, monkeypatch):
    """A trainer of a few lines in two layouts, with the driver and the section that docs/probe.md shows."""
    repo = new_repo(tmp_path / "repo")
    start = repo.commit({"mlp/trainer.py": TRAINER, "config.yaml": "optim: {lr: 0.5}\n"}, branch="old")
    moved = TRAINER.replace("Trainer", "Learner").replace('"optim"', '"optimizer"')
    gone = {"mlp/trainer.py": None, "config.yaml": None}
    repo.commit({**gone, "net/loop.py": moved, "conf/a.yaml": "optimizer: {lr: 0.5}\n"}, branch="new", parents=[start])
    (tmp_path / "manifests").mkdir()
    (tmp_path / "pyproject.toml").write_text("")
    blocks = re.findall(r"(?ms)^```python\n(.*?)^```$", (ROOT / "docs/probe.md").read_text(encoding="utf-8"))
    (tmp_path / "manifests/driver.py").write_text("\n\n".join(blocks))
    (tmp_path / "manifests/m.yaml").write_text(
        "version: 1\nsource: {repo: repo, ref: old}\ntarget: {repo: repo, ref: new}\nlayout:\n"
        "  paths: {mlp/trainer.py: net/loop.py, config.yaml: conf/a.yaml}\n"
        "  symbols: {Trainer: Learner}\n  keys: {optim: optimizer}\ncommits: []\n"
        "parity:\n  drivers: {step: driver.py:step}\n  packages: [pyyaml]\n"
        "  subject: {config: ./config.yaml, trainer: mlp.trainer.Trainer}\n"
        "  scenarios: {plain: [], fast: [optim.lr=2.0]}\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_documented_step(run, documented):
    """The driver that docs/probe.md shows matches two layouts, and sees a fault in one of them."""
    code, out, err = run("diff-meta")
    assert (code, out) == (0, "MATCH  plain: 4 keys are equal\nMATCH  fast: 4 keys are equal\n"), out + err
    assert run("diff-config").code == 0
    manifest = documented / "manifests/m.yaml"
    repo = new_repo(documented / "faulty")
    moved = TRAINER.replace("Trainer", "Learner").replace('"optim"', '"optimizer"')
    repo.commit({"mlp/trainer.py": TRAINER, "config.yaml": "optim: {lr: 0.5}\n"}, branch="old")
    repo.commit({"net/loop.py": moved, "conf/a.yaml": "optimizer: {lr: 0.25}\n"}, branch="new")
    manifest.write_text(manifest.read_text().replace("repo: repo", "repo: faulty"))
    code, out, _ = run("diff-meta", "--scenario", "plain")
    assert code == 1 and "first: steps.loss[1]" in out


def test_the_documented_fit(documented):
    """So is the training: it tells its steps to the writer and returns a validation."""
    from parity.driver import load
    from parity.scenario import Job, Rows
    from parity.smoke.order import FitOrder
    from parity.smoke.series import Series, Writer

    (documented / "trainer_of_test.py").write_text(TRAINER)
    sys.path.insert(0, str(documented))
    try:
        job = Job("source", "plain", "none", {"trainer": "trainer_of_test.Trainer"}, ("", ""), (), (), (), Rows())
        order = FitOrder(str(documented), str(documented), str(documented), job.to_json(), steps=3)
        writer = Writer(documented)
        validation = load(f"{documented / 'manifests/driver.py'}:fit")(order, writer)
        told = writer.done(Series("plain", "source", 1, {}, (), {}), validation)
    finally:
        sys.path.remove(str(documented))
        sys.modules.pop("trainer_of_test", None)
    assert len(told.steps) == 3 and set(told.validation) == {"final"}
    assert told.names() == ("score", "loss")
