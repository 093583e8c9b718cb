"""One real training of the source, three steps, from the command that runs it to what it leaves behind: slow."""

from __future__ import annotations

import importlib.util
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from parity.capture import checkout
from parity.scenario import job, read
from parity.smoke.order import FitOrder
from parity.smoke.series import from_json, steps_so_far
from parity.smoke.setting import convergence
from porttool.manifest import load

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = ROOT / "manifests/rl_correctness.yaml"
STEPS = 3
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("verl") is None, reason="the trainer stack is not installed"),
    pytest.mark.skipif(
        not (ROOT / "build/verl/.git").exists(), reason="the rehearsal is not built: porttool vendor sync verl"
    ),
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of a finished run; its path holds the name of this test, and so does all that belongs to the run."""
    folder = tmp_path_factory.mktemp("trained")
    manifest = load(MANIFEST)
    how, base = convergence(manifest.parity["convergence"])
    plain = next(scenario for scenario in how.scenarios if scenario.name == "plain")
    told = job(replace(read(manifest.parity), base=base), plain, "source", manifest.layout)
    there = checkout(manifest.repo(manifest.source), manifest.source.ref, "source", folder)
    order = FitOrder(str(there.folder), str(folder / "scratch"), str(folder), told.to_json(), STEPS)
    (folder / "order.json").write_text(order.to_json())
    command = [sys.executable, str(ROOT / "parity/smoke/child.py"), str(folder / "order.json")]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    assert not done.returncode, done.stderr[-4000:]
    return folder


@pytest.fixture(scope="module")
def series(trained):
    return from_json((trained / "series.json").read_text())


def test_each_step_is_told_as_it_ends_and_once(trained, series):
    """Who watches reads the same steps as who comes later."""
    assert len(series.steps) == STEPS
    assert steps_so_far(trained) == list(series.steps)
    assert series.column("training/global_step") == [1, 2, 3]


def test_something_can_be_learnt(series):
    """Rewards of one step differ, so that there is an advantage and a gradient."""
    assert min(series.variance) > 0
    assert min(series.column("grad_norm")) > 0


def test_the_first_ratio_is_one(series):
    """Old and new log-probs are of the same weights; what is left is what bfloat16 loses between two formulas."""
    assert all(math.isclose(ratio, 1.0, abs_tol=0.02) for ratio in series.column("first_ratio"))


def test_the_learning_rate_follows_its_schedule(series):
    """Half of the steps is 1.5, and DeepSpeed warms up over at least two; the rate is told after the update."""
    assert series.column("lr") == [0.0, 5e-4, 1e-3]
    assert series.column("updates") == [1] * STEPS


def test_the_sampler_has_the_weights_that_were_trained(series):
    """Two updates are made at rate 0, the first and the one after it; the third changes what is sampled with."""
    first, second, third = (step["digest/weights"] for step in series.steps)
    assert first == second != third


def test_validation_is_verls_own(series):
    """It comes after the last step, with the task's accuracy as its core."""
    assert [name for name in series.validation if name.startswith("val-core/") and name.endswith("/acc/mean@1")]


def test_the_checkpoint_was_written(trained):
    """By the server, below the folder that the trainer names."""
    assert list((trained / "scratch/checkpoints").glob("arctic_rl_job_*/global_step3/*"))


def test_nothing_is_left(trained):
    """No process that was started with a path of the run, and no folder of Ray."""
    mark = os.fsencode(trained)
    left = []
    for folder in Path("/proc").iterdir():
        try:
            told = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
        except OSError:
            continue
        if mark in told and folder.name != str(os.getpid()):
            left.append((folder.name, told[:200]))
    assert left == []
