"""The envelope of equal code: its numbers, its false alarms, what it can see, and its evidence as a file."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from statistics import mean, stdev

import pytest

from parity.record import leaf
from parity.smoke.compare import Told, compared
from parity.smoke.envelope import FEWEST, Envelope, Refused, detectable, from_json, measured, to_json
from parity.smoke.student import quantile
from parity.verdict import Verdict
from tests.smoke.runs import noisy, noisy_runs, run, target


def test_bounds_are_the_prediction_interval():
    """Mean and spread of the runs, Student's t for the cells that are compared, and sqrt(1 + 1/n)."""
    runs = noisy_runs(5)
    told = measured(runs, 0.01)
    values = [one.column("entropy")[1] for one in runs]
    m = told.compared(2)
    assert m == 2 * 3 * 4
    half = quantile(0.01 / (2 * m), 4) * stdev(values) * math.sqrt(1.2)
    bounds = told.bounds((2, "entropy"), m)
    assert (bounds.low, bounds.high) == pytest.approx((mean(values) - half, mean(values) + half), rel=1e-12)


def test_cells_without_a_spread_have_no_bounds():
    """Where all runs are equal, and for what is no number, equal bits are asked."""
    told = measured(noisy_runs(5))
    assert told.bounds((1, "tokens"), 24) is None
    assert told.bounds((0, "reward"), 24) is None


@pytest.mark.parametrize(
    ("runs", "told"),
    [
        (noisy_runs(FEWEST - 1), "4 A/A runs: at least 5"),
        ([*noisy_runs(4), run(env="2")], "run 5: its environment differs: env.torch is '2', in the first '1'"),
        ([*noisy_runs(4), run(steps=3)], "run 5: it has 3 steps, the first 4"),
        ([*noisy_runs(4), run(crashed="a\nb")], "run 5: it crashed: b"),
        ([*noisy_runs(4), run(variance=0.0)], "run 5: its rewards never vary"),
        ([*noisy_runs(4), run(scenario="zorro")], "run 5: it is of 'zorro'"),
        ([*noisy_runs(4), target()], "run 5: it is of 'plain' and the target side"),
        ([*noisy_runs(4), run((2, "loss", None))], "do not have the same metrics: loss at step 2"),
        ([*noisy_runs(4), run((2, "loss", math.nan))], "loss at step 2 is no finite number"),
        ([*noisy_runs(4), run((2, "tokens", 96.0))], "tokens at step 2 is no finite number of one type"),
        ([*noisy_runs(4), run((2, "tokens", "96"))], "tokens at step 2 is no finite number of one type"),
        ([*noisy_runs(4), run((0, "reward", None))], "do not have the same metrics: reward at step 0"),
        ([*noisy_runs(3), *noisy_runs(2, seed=2)], "one seed, or a seed each"),
        ([run(steps=0) for _ in range(5)], "run 1: it has no steps"),
    ],
)
def test_what_is_no_evidence_is_refused(runs, told):
    """Too few runs, and runs that are not runs of equal code in one environment, make no envelope."""
    with pytest.raises(Refused, match=told):
        measured(runs)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, math.nan])
def test_alpha_is_a_chance(alpha):
    """A false-alarm rate lies between 0 and 1."""
    with pytest.raises(Refused, match="between 0 and 1"):
        measured(noisy_runs(5), alpha)


def test_equal_nan_in_all_runs_is_no_spread():
    """A NaN in every run is one value by its bits, and no envelope is laid around it."""
    told = measured([run((2, "loss", math.nan)) for _ in range(5)])
    assert told.bounds((2, "loss"), 1) is None


def alarms(count, alpha, runs, seed):
    """How many comparisons of equal code, each with evidence of its own, are no MATCH."""
    rng = random.Random(seed)
    found = 0
    for _ in range(count):
        evidence = measured([noisy(rng, steps=3) for _ in range(runs)], alpha)
        told = compared([noisy(rng, steps=3)], [noisy(rng, side="target", steps=3)], Told(evidence))
        found += told.verdict is not Verdict.MATCH
    return found


def at_most(rate, count):
    """A count that is passed with a chance of about one in a thousand at this rate."""
    return rate * count + 3.1 * math.sqrt(rate * (1 - rate) * count)


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "runs", "count"), [(0.01, 5, 2000), (0.05, 5, 2000), (0.2, 12, 500)])
def test_false_alarms_stay_within_the_stated_rate(alpha, runs, count):
    """Of comparisons of equal code with normal noise no more alarm than the rate allows."""
    assert alarms(count, alpha, runs, 7) <= at_most(alpha, count)


def test_false_alarms_do_come_at_a_high_rate():
    """The bound is not empty: a rate of one half gives alarms, and not far less than it says."""
    assert 30 <= alarms(200, 0.5, 5, 3) <= at_most(0.5, 200)


def test_the_range_of_the_runs_would_alarm_all_the_time():
    """Lowest and highest of five runs are left by the next run in a third of all cells: why they are not used."""
    rng = random.Random(1)
    left = 0
    for _ in range(2000):
        five = [rng.gauss(0, 1) for _ in range(5)]
        left += not min(five) <= rng.gauss(0, 1) <= max(five)
    assert left / 2000 == pytest.approx(1 / 3, abs=0.04)


def test_a_detectable_shift_is_detected_with_its_probability():
    """Where the measured spread is near the true one, nine of ten shifts of that size are seen, or more."""
    rng = random.Random(5)
    evidence = measured(noisy_runs(60, start=2, metrics=("entropy",)))
    shift = next(one for one in detectable(evidence) if one.metric == "entropy").shift
    caught = sum(
        compared([noisy(rng, metrics=("entropy",))], [_shifted(rng, shift)], Told(evidence)).verdict is Verdict.DIFFER
        for _ in range(300)
    )
    assert caught / 300 >= 0.87
    smaller = sum(
        compared([noisy(rng, metrics=("entropy",))], [_shifted(rng, shift / 3)], Told(evidence)).verdict
        is Verdict.DIFFER
        for _ in range(100)
    )
    assert smaller / 100 < 0.3


def _shifted(rng, shift):
    return noisy(rng, side="target", metrics=("entropy",), shift=shift)


def test_detectable_names_the_step_and_the_metrics():
    """The least shift is at the step with the least spread; what repeats shows any change; words are left out."""
    runs = [run_of_two(values) for values in ((1.0, 5.0), (1.1, 5.0), (0.9, 5.3), (1.0, 5.1), (1.2, 4.2))]
    evidence = measured([replace(one, steps=tuple({**s, "weights": leaf("a")} for s in one.steps)) for one in runs])
    found = {one.metric: one for one in detectable(evidence)}
    assert found["loss"].step == 1
    assert 0 < found["loss"].shift < found["loss"].everywhere
    assert (found["tokens"].shift, found["tokens"].everywhere, found["tokens"].exact_steps) == (0.0, 0.0, 2)
    assert "weights" not in found


def _changes(values):
    return [(step, "loss", value) for step, value in enumerate(values, 1)]


def run_of_two(values):
    return run(*_changes(values), steps=2)


def test_more_sides_and_seeds_widen_the_envelope():
    """The rate is that of the whole comparison: the more is compared, the wider each cell."""
    told = measured(noisy_runs(5))
    one, many = told.bounds((1, "loss"), told.compared(2)), told.bounds((1, "loss"), told.compared(20))
    assert many.high - many.low > one.high - one.low


def test_evidence_survives_being_written():
    """What is read is what was written, bit for bit, and writing is stable."""
    told = measured(noisy_runs(5), 0.02)
    text = to_json(told)
    read = from_json(text)
    assert read == told
    assert to_json(read) == text
    assert json.loads(text)["digests"] == [one.digest() for one in told.runs]


def test_nan_survives_being_written():
    """A NaN is kept by its bits."""
    told = measured([run((1, "loss", math.nan)) for _ in range(5)])
    assert from_json(to_json(told)).spreads[(1, "loss")].only == leaf(math.nan)


def _without(name):
    return lambda told: told.pop(name)


def _changed_value(told):
    told["series"][2]["steps"][0]["loss"] = ["float", (0.5).hex()]


def _extra(told):
    told["tolerance"] = 1.0


def _fewer(told):
    told["series"].pop()


def _more(told):
    told["runs"] = 7


def _other(told):
    told["scenario"] = "zorro"


def _alpha(told):
    told["alpha"] = "0.01"


def _environment(told):
    for one in told["series"]:
        one["provenance"]["env.torch"] = "2"


def _unknown(told):
    told["series"][0]["unknown"] = 1


def _no_run(told):
    told["series"][1] = [1]


def _no_steps(told):
    told["series"][1]["steps"] = [1]


@pytest.mark.parametrize(
    "change",
    [
        *(_without(name) for name in ("alpha", "runs", "scenario", "digests", "seal", "series")),
        _changed_value,
        _extra,
        _fewer,
        _more,
        _other,
        _alpha,
        lambda told: told.update(alpha=0.001),
        _environment,
        _unknown,
        _no_run,
        _no_steps,
    ],
)
def test_evidence_that_was_changed_is_refused(change):
    """A key that is missing or unknown, a value edited by hand, a run taken out: each is refused."""
    told = json.loads(to_json(measured(noisy_runs(6))))
    change(told)
    with pytest.raises(Refused):
        from_json(json.dumps(told))


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '"a"'])
def test_what_is_no_evidence_is_not_read(text):
    """Anything else is refused, not a fault of its own."""
    with pytest.raises(Refused):
        from_json(text)


def test_seeds_of_the_evidence():
    """Runs of one seed speak for that seed; runs of a seed each speak for any."""
    rng = random.Random(0)
    assert measured(noisy_runs(5)).seeds == (1,)
    each = measured([noisy(rng, seed=seed) for seed in range(5)])
    assert each.seeds == (0, 1, 2, 3, 4)
    assert isinstance(each, Envelope)
