"""The learning rates of a run in closed form: by hand, against DeepSpeed's own schedulers, and what a wrong one is."""

from __future__ import annotations

import importlib.util
import json
import math
import subprocess
import sys

import pytest

from parity.smoke import schedule
from parity.smoke.schedule import Schedule, blind, check, collapsed, expected, horizon, of_config, updates_per_step
from tests.smoke.runs import run, target

ACTOR = "actor_rollout_ref.actor"
CONFIG = {
    f"{ACTOR}.optim.lr": "2e-6",
    f"{ACTOR}.optim.lr_warmup_steps_ratio": "0.05",
    f"{ACTOR}.ppo_epochs": "2",
    f"{ACTOR}.ppo_mini_batch_size": "8",
    "data.train_batch_size": "32",
    "trainer.total_training_steps": "10",
}


def with_rates(rates, side="source", updates=None):
    """A run that reports these learning rates."""
    changes = [(step, "lr", rate) for step, rate in enumerate(rates, 1)]
    changes += [(step, "updates", count) for step, count in enumerate(updates or [], 1)]
    return run(*changes, side=side, steps=len(rates))


@pytest.mark.parametrize(
    ("kind", "peak", "warmup", "length", "least", "series"),
    [
        ("constant", 2e-6, 0.05, 40, 0.0, [0.0, 1e-6, 2e-6, 2e-6]),
        ("constant", 2e-6, 0.05, 1, 0.0, [0.0, 1e-6, 2e-6, 2e-6]),
        ("constant", 2e-6, 0.0, 40, 0.0, [2e-6] * 4),
        ("constant", 1.0, 0.1, 40, 0.0, [0.0, 0.25, 0.5, 0.75, 1.0, 1.0]),
        ("constant", 1.0, 0.25, 10, 0.0, [0.0, 1 / 2.5, 2 / 2.5, 1.0, 1.0]),
        ("cosine", 1.0, 0.25, 8, 0.0, [0.0, 0.5, (1 + math.cos(math.pi / 6)) / 2, (1 + math.cos(math.pi / 3)) / 2]),
        ("cosine", 2.0, 0.0, 4, 0.5, [0.0, 1.0, 1.5, 1.0]),
        ("cosine", 1.0, 0.5, 0, 0.0, [1.0, 1.0]),
    ],
)
def test_series_by_hand(kind, peak, warmup, length, least, series):
    """Warm-up from 0, held or decayed after it; two updates at least, and a fractional warm-up is not rounded."""
    told = expected(kind, peak, warmup, length, least, range(1, len(series) + 1))
    assert told == pytest.approx(series, abs=1e-15)
    if kind == "constant":
        assert told == series


def test_a_cosine_that_is_all_warm_up_has_no_rate_after_it():
    """Where DeepSpeed divides by zero nothing is expected, so that no report can be right."""
    told = expected("cosine", 1.0, 1.0, 4, 0.0, range(1, 6))
    assert told[:4] == [0.0, 0.25, 0.5, 0.75]
    assert math.isnan(told[4])
    assert check(with_rates([0.0, 0.25, 0.5, 0.75, 1.0]), Schedule("cosine", 1.0, 1.0, 4)) == [5]


DEEPSPEED = """
import itertools, json, logging, sys
import torch
from deepspeed.runtime.lr_schedules import WarmupCosineLR, WarmupLR
logging.disable(logging.CRITICAL)

def real(kind, peak, ratio, horizon, least, steps):
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=peak)
    warmup, scheduler = ratio * horizon, None
    if kind == "cosine":
        scheduler = WarmupCosineLR(optimizer, horizon, 0.0, warmup, least, "linear")
    elif warmup > 0:
        scheduler = WarmupLR(optimizer, 0.0, peak, warmup, "linear")
    for _ in range(steps):
        try:
            scheduler and scheduler.step()
            yield float(optimizer.param_groups[0]["lr"]).hex()
        except ZeroDivisionError:
            yield "nan"

print("RESULT" + json.dumps([list(real(*case)) for case in json.loads(sys.argv[1])]))
"""


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("deepspeed") is None, reason="the trainer stack is not installed")
def test_series_are_those_of_deepspeed():
    """Equal bits with DeepSpeed's own schedulers: kinds, ratios, and horizons from 1 to 1000."""
    cases = [
        (kind, peak, ratio, length, least, 12)
        for kind in ("constant", "cosine")
        for peak in (2e-6, 1e-3, 3.3e-5)
        for ratio in (0.0, 0.05, 0.25, 1 / 3, 1.0)
        for length in (1, 2, 3, 6, 10, 40, 97, 1000)
        for least in (0.0, 0.1, 1 / 3)
    ]
    told = subprocess.run([sys.executable, "-c", DEEPSPEED, json.dumps(cases)], capture_output=True, text=True)
    assert "RESULT" in told.stdout, told.stderr
    found = json.loads(told.stdout.partition("RESULT")[2])
    for case, rates in zip(cases, found, strict=True):
        own = [rate.hex() for rate in expected(*case[:5], range(1, case[5] + 1))]
        assert own == rates, case


def test_horizon_counts_optimizer_steps():
    """10 trainer steps, 2 epochs over 32 / 8 mini-batches are 80 optimizer steps, 8 in each training step."""
    assert horizon(CONFIG) == 80
    assert updates_per_step(CONFIG) == 8
    assert horizon({**CONFIG, f"{ACTOR}.optim.total_training_steps": 3}) == 24
    assert horizon({**CONFIG, f"{ACTOR}.optim.total_training_steps": -1}) == 80


def test_schedule_of_a_config():
    """Numbers may be text or numbers; what is not set has verl's default."""
    assert of_config(CONFIG) == Schedule("constant", 2e-6, 0.05, 80, 0.0, 1, 10)
    cosine = {f"{ACTOR}.optim.lr_scheduler_type": "cosine", f"{ACTOR}.optim.min_lr_ratio": 0.1}
    assert of_config({**CONFIG, **cosine}) == Schedule("cosine", 2e-6, 0.05, 80, 0.1, 1, 10)
    assert of_config({**CONFIG, f"{ACTOR}.optim.min_lr_ratio": None}).min_ratio == 0.0


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"trainer.total_training_steps": None}, "depends on the length of the data"),
        ({f"{ACTOR}.optim.lr_scheduler_type": "linear"}, "not constant or cosine"),
        ({f"{ACTOR}.optim.lr": "fast"}, "is 'fast', not a number"),
        ({f"{ACTOR}.optim.lr": True}, "is True, not a number"),
    ],
)
def test_a_config_without_a_schedule_is_refused(changed, told):
    """A horizon that nobody knows, a scheduler that the server does not build and words for numbers are refused."""
    with pytest.raises(ValueError, match=told):
        of_config({**CONFIG, **changed})


def test_overrides_as_settings():
    """Overrides of a command line become a flat config: a later one wins, one taken away is gone."""
    words = ["a.b=1", "+c=2", "a.b=3", "++d='x'", "e=1", "~e", "f.g=k=v"]
    assert schedule.settings(words) == {"a.b": "3", "c": "2", "d": "x", "f.g": "k=v"}


def test_a_run_is_held_to_the_optimizer_steps_it_took():
    """A training step with two updates moves the schedule by two; without a count it is one a step."""
    told = Schedule("constant", 1.0, 0.1, 40)
    assert check(with_rates([0.25, 0.75, 1.0], updates=[2, 2, 2]), told) == []
    assert check(with_rates([0.0, 0.25, 0.5]), told) == []
    assert check(with_rates([0.0, 0.25, 0.5], updates=[2, 2, 2]), told) == [1, 2, 3]
    assert check(with_rates([0.0, 0.25, 0.5], updates=[None] * 3), told) == []


def test_warm_up_is_exact_and_a_cosine_has_its_ulps():
    """One bit off is wrong in a warm-up, as is a missing rate; a cosine may be two ULPs of the peak off, not more."""
    told = Schedule("constant", 2e-6, 0.05, 40)
    assert check(with_rates([0.0, math.nextafter(1e-6, 1), 2e-6]), told) == [2]
    assert check(with_rates([0.0, None, 2e-6]), told) == [2]
    assert check(with_rates([0.0, math.nan, 2e-6]), told) == [2]
    cosine = Schedule("cosine", 1e-3, 0.25, 8)
    values = cosine.series(range(1, 5))
    ulp = math.ulp(1e-3)
    assert check(with_rates([*values[:3], values[3] + 2 * ulp]), cosine) == []
    assert check(with_rates([*values[:3], values[3] + 3 * ulp]), cosine) == [4]


def test_rows_show_both_sides():
    """Each step has the rate expected, what both sides reported, and which of them is right."""
    told = Schedule("constant", 2e-6, 0.05, 40)
    found = schedule.rows(with_rates([0.0, 1e-6]), with_rates([2e-6, 1e-6], side="target"), told)
    assert [(row.step, row.updates, row.expected, row.left, row.right) for row in found] == [
        (1, 1, 0.0, 0.0, 2e-6),
        (2, 2, 1e-6, 1e-6, 1e-6),
    ]
    assert [(row.left_ok, row.right_ok) for row in found] == [(True, False), (True, True)]


WARM = Schedule("constant", 1e-3, 0.05, 80, 0.0, 1, 10)


@pytest.mark.parametrize(
    ("mistake", "told"),
    [
        (Schedule("constant", 1e-3, 0.05, 1), "the horizon is 1: trainer.total_epochs was taken"),
        (Schedule("constant", 1e-3, 0.0, 80), "the warm-up is missing"),
        (WARM, ""),
        (Schedule("constant", 2e-3, 0.05, 80), ""),
    ],
)
def test_a_collapsed_horizon_is_named(mistake, told):
    """A series that fits a mistake names it; one that is right, or fits none, names nothing."""
    assert collapsed(with_rates(mistake.series(range(1, 7))), WARM).startswith(told)
    assert bool(collapsed(with_rates(mistake.series(range(1, 7))), WARM)) == bool(told)


def test_a_right_series_names_no_mistake():
    """Where a mistake would report the same rates, a series that fits is right."""
    told = Schedule("constant", 1e-3, 0.05, 40, 0.0, 1, 40)
    assert collapsed(with_rates(told.series(range(1, 7))), told) == ""


def test_other_mistakes_are_named():
    """Mini-batches that are not counted, a cosine that never decays, a lowest rate that is not forwarded."""
    warm = Schedule("constant", 1e-3, 0.5, 80, 0.0, 1, 10)
    uncounted = with_rates(Schedule("constant", 1e-3, 0.5, 10).series(range(1, 7)))
    assert collapsed(uncounted, warm).startswith("the horizon is 10: ppo_epochs and mini-batches are not counted")
    cosine = Schedule("cosine", 1e-3, 0.05, 40, 0.1, 1, 40)
    held = with_rates(Schedule("constant", 1e-3, 0.05, 40).series(range(1, 7)))
    assert collapsed(held, cosine).startswith("the decay is missing")
    lowest = with_rates(Schedule("cosine", 1e-3, 0.05, 40, 0.0).series(range(1, 7)))
    assert collapsed(lowest, cosine).startswith("the lowest rate")
    peak = with_rates([1e-3] * 6)
    assert collapsed(peak, cosine).startswith("there is no scheduler")


def test_a_run_that_cannot_see_a_collapse_says_so():
    """With two steps of warm-up either way a horizon of 1 reports the same rates; with four it does not."""
    assert "a horizon of 1 " in blind(run(steps=6), Schedule("constant", 1e-3, 0.05, 40, 0.0, 1, 40))
    assert blind(run(steps=6), WARM) == ""
    assert blind(run(steps=6), Schedule("constant", 1e-3, 0.0, 80, 0.0, 1, 10)) == ""
    assert blind(target(steps=1), WARM) != ""
