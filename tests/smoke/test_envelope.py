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
from parity.smoke.envelope import FEWEST, Envelope, Refused, cells, detectable, from_json, measured, to_json
from parity.smoke.series import leaves
from parity.smoke.student import quantile
from parity.verdict import Verdict
from tests.smoke.runs import noisy, noisy_runs, run, target


def test_bounds_are_the_prediction_interval():
    """Mean and spread of the runs (the metric's at least), Student's t for what is compared, and sqrt(1 + 1/n)."""
    runs = noisy_runs(5)
    told = measured(runs, 0.01)
    values, columns = (
        [one.column("entropy")[1] for one in runs],
        zip(*(one.column("entropy") for one in runs), strict=True),
    )
    spread = max(stdev(values), math.sqrt(mean(stdev(column) ** 2 for column in columns)))
    m = told.compared(2)
    assert m == 2 * 3 * 4
    half = quantile(0.01 / (2 * m), 4) * spread * math.sqrt(1.2)
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


def entropies(*columns):
    """Five A/A runs and more with these entropies by step, all else equal."""
    return [run(*((step, "entropy", value) for step, value in enumerate(told, 1)), steps=3) for told in columns]


ONE_APART = entropies((1.0, 1.0, 2.0), *[(1.0, 1.0, 1.0)] * 4)


def test_a_cell_alike_has_the_spread_of_its_metric():
    """Where a metric is alike at one step and not at another, its pooled spread stands for it at both."""
    told = measured(ONE_APART)
    pooled = math.sqrt(0.2 / 3)
    assert [told.spreads[step, "entropy"].deviation for step in (1, 2)] == pytest.approx([pooled] * 2)
    assert told.spreads[3, "entropy"].deviation == pytest.approx(math.sqrt(0.2))
    assert [told.spreads[step, "entropy"].only for step in (1, 2, 3)] == [None] * 3
    assert told.compared(2) == 6
    assert list(told.spreads) == [cell for cell, _ in cells(ONE_APART[0])]


def test_a_small_spread_is_widened():
    """A last bit that moved at one step does not say that no more moves there, if another step was alike."""
    told = measured(entropies((1.0, 1.0, 2.0), (1.0, 1.0 + 1e-15, 1.0), *[(1.0, 1.0, 1.0)] * 3))
    assert told.spreads[2, "entropy"].deviation == told.spreads[1, "entropy"].deviation > 0.2


def test_no_step_is_narrower_than_its_metric():
    """Nor where no step is alike: more runs of evidence, which leave none alike, must not take the floor away."""
    told = measured(entropies(*((1 + k * 1e-9, 1 + k * 1e-3, 1.0 + k) for k in range(5))))
    last = stdev(range(5))
    assert told.spreads[1, "entropy"].deviation == pytest.approx(last / math.sqrt(3), rel=1e-5)
    assert told.spreads[3, "entropy"].deviation == pytest.approx(last)


def test_a_metric_alike_at_every_step_is_exact():
    """What no run moves anywhere (rates, updates) is held to its bits, whatever other metrics do."""
    told = measured(ONE_APART)
    assert all(told.spreads[step, "lr"].only == leaf(1e-3) for step in (1, 2, 3))
    assert compared([ONE_APART[1]], [target((2, "lr", 2e-3), steps=3)], Told(told)).verdict is Verdict.DIFFER


def test_a_step_is_no_validation():
    """A metric of the validation is pooled with no metric of the steps, though both have one name."""
    runs = [run((0, "entropy", 0.5), (2, "entropy", value)) for value in (1.0, 1.0, 1.0, 1.0, 2.0)]
    assert measured(runs).spreads[0, "entropy"].only == leaf(0.5)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_gets_no_interval(value):
    """A NaN that all runs have stays exact where the metric has noise at other steps."""
    told = measured(entropies((value, 1.0, 2.0), *[(value, 1.0, 1.0)] * 4))
    assert told.spreads[1, "entropy"].only == leaf(value)
    assert told.spreads[2, "entropy"].deviation > 0


def discrete(rng, side="source", steps=6, share=0.2, whole=False):
    """Noise as of an order of requests that changes now and then: a cell moves with a chance, by any of its sizes.

    `whole`: the run goes another way at a step, and all that follows is moved.
    """
    plain = run(side=side, steps=steps)
    rows, moved = [], False
    for row in plain.steps:
        moved = rng.random() < share if not whole else moved or rng.random() < share
        names = [name for name in ("loss", "entropy", "grad_norm") if (moved if whole else rng.random() < share)]
        rows.append({**row, **leaves({name: row[name].number() + rng.choice((-1, 1, 2)) * 1e-7 for name in names})})
    return replace(plain, steps=tuple(rows))


def discrete_alarms(count, seed, **told):
    rng = random.Random(seed)
    found = 0
    for _ in range(count):
        evidence = measured([discrete(rng, **told) for _ in range(5)])
        both = [discrete(rng, **told)], [discrete(rng, "target", **told)]
        found += compared(*both, Told(evidence)).verdict is Verdict.DIFFER
    return found


def test_discrete_noise_stays_within_the_rate():
    """Cells that move with a chance of a fifth: within the rate of normal noise, by five runs of evidence."""
    assert discrete_alarms(100, 11) <= at_most(0.01, 100)


@pytest.mark.slow
def test_what_five_runs_did_not_show_is_an_alarm():
    """The limit that is told: a run that goes another way one time in twenty is unseen by five runs too often."""
    assert discrete_alarms(300, 12, whole=True, share=0.01) > at_most(0.01, 300)


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
    """The bound is not empty: a rate of one half gives alarms, though fewer than it says, as spreads are pooled."""
    assert 8 <= alarms(200, 0.5, 5, 3) <= at_most(0.5, 200)


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
        *(_without(name) for name in ("alpha", "assumption", "runs", "scenario", "digests", "seal", "series")),
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
