"""Training runs compared with the envelope of equal code."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from parity.record import leaf
from parity.smoke.compare import Told, compared
from parity.smoke.envelope import measured
from parity.verdict import Verdict
from tests.smoke.runs import noisy, noisy_runs, run, target

EXACT = Told()
EVIDENCE = measured(noisy_runs(6), 0.01)
WITHIN = Told(EVIDENCE)


def test_noise_of_equal_code_matches():
    """Runs that differ as A/A runs do are a MATCH, which tells its false-alarm rate and what it could have seen."""
    rng = random.Random(99)
    told = compared([noisy(rng)], [noisy(rng, side="target")], WITHIN)
    assert told.verdict is Verdict.MATCH
    assert told.rate == 0.01
    assert "false alarms of such a comparison: at most 0.01" in told.reason
    entropy = next(one for one in told.detectable if one.metric == "entropy")
    assert 0.01 < entropy.shift < 1
    curve = next(one for one in told.curves if one.metric == "entropy")
    assert all(low < value < high for low, value, high in zip(curve.low, curve.right, curve.high, strict=True))
    assert (curve.outside, len(curve.different)) == ((), 4)
    tokens = next(one for one in told.curves if one.metric == "tokens")
    assert tokens.low == tokens.high == (None,) * 4


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ((3, "entropy", 5.0), "is outside"),
        ((3, "entropy", -5.0), "is outside"),
        ((1, "grad_norm", 9.0), "is outside"),
        ((4, "loss", math.nan), "is outside"),
        ((4, "loss", None), "it is missing"),
        ((4, "loss", 0), "is no float"),
        ((4, "tokens", 97), "where all 6 A/A runs hold 96 (int)"),
        ((4, "extra", 1.0), "the evidence does not have it"),
        ((0, "reward", 0.6), "where all 6 A/A runs hold 0.5 (float)"),
    ],
)
def test_what_leaves_the_envelope_differs(change, told):
    """Above and below, at any step, in any metric; what repeats is exact; what is missing or extra is found."""
    rng = random.Random(99)
    left, right = noisy(rng), noisy(rng, side="target")
    steps, validation = list(right.steps), dict(right.validation)
    place, name, value = change
    where = dict(steps[place - 1]) if place else validation
    where[name] = leaf(value)
    if value is None:
        del where[name]
    if place:
        steps[place - 1] = where
    other = replace(right, steps=tuple(steps), validation=validation)
    result = compared([left], [other], WITHIN)
    assert result.verdict is Verdict.DIFFER
    first = result.findings[0]
    assert (first.rule, first.side) == ("envelope", "right")
    assert told in first.told
    assert compared([other], [left], WITHIN).verdict is Verdict.DIFFER
    if place and name != "extra" and value is not None:
        assert next(one for one in result.curves if one.metric == name).outside == (place,)


def test_the_source_outside_its_own_envelope_is_told():
    """Where the side of the evidence leaves it, the evidence may be old."""
    rng = random.Random(99)
    told = compared([noisy(rng, shift=3.0)], [noisy(rng, side="target")], WITHIN)
    assert all(one.side == "left" and "is the evidence still of this source" in one.cause for one in told.findings)
    both = compared([noisy(rng, shift=3.0)], [noisy(rng, side="target", shift=3.0)], WITHIN)
    assert {one.side for one in both.findings} == {""}


@pytest.mark.parametrize(
    ("evidence", "reason"),
    [
        (noisy_runs(5, steps=3), "the evidence is of 3 steps, the runs of 4"),
        (noisy_runs(5, seed=2), "the evidence is of seed 2, a run of seed 1"),
        ([replace(one, scenario="zorro") for one in noisy_runs(5)], "the evidence is of scenario 'zorro'"),
        (
            [replace(one, provenance={"env.torch": "2"}) for one in noisy_runs(5)],
            "the evidence is of another environment: env.torch is '2' and '1'",
        ),
    ],
)
def test_evidence_of_other_runs_is_refused(evidence, reason):
    """Another number of steps, seed, scenario or environment: INCOMPARABLE, and no envelope is drawn."""
    told = compared([run()], [target()], Told(measured(evidence)))
    assert told.verdict is Verdict.INCOMPARABLE
    assert told.reason.startswith(reason)
    assert (told.rate, told.detectable, {one.low for one in told.curves}) == (None, (), {()})


def test_evidence_over_seeds_speaks_for_any_seed():
    """A/A runs of a seed each hold a run of another seed."""
    rng = random.Random(4)
    evidence = measured([noisy(rng, seed=seed) for seed in range(8)])
    assert (
        compared([noisy(rng, seed=77)], [noisy(rng, seed=77, side="target")], Told(evidence)).verdict is Verdict.MATCH
    )


def worded(words, side=run):
    return side(*((step, "digest/responses", word) for step, word in enumerate(words, 1)), steps=2)


def test_words_that_differ_among_equal_runs_are_not_compared():
    """A digest that differs among A/A runs at any step says nothing at any, which is told; it has to be there."""
    evidence = Told(measured([worded(("a", word)) for word in "bcdef"]))
    told = compared([worded("ax")], [worded("ay", target)], evidence)
    assert told.verdict is Verdict.MATCH
    assert told.notes == ("differs among runs of equal code and is not compared: digest/responses",)
    assert compared([worded("ax")], [worded("zy", target)], evidence).verdict is Verdict.MATCH
    assert compared([worded("ax")], [target(steps=2)], evidence).verdict is Verdict.DIFFER


def test_words_that_all_runs_repeat_are_held_to_their_bits():
    """A digest that is alike at every step of all A/A runs has no noise: any other word differs."""
    evidence = Told(measured([worded("ab") for _ in range(5)]))
    assert compared([worded("ab")], [worded("ab", target)], evidence).verdict is Verdict.MATCH
    assert compared([worded("ab")], [worded("az", target)], evidence).first.key == "step[2].digest/responses"


def test_runs_without_any_noise_are_told():
    """Evidence in which nothing differs holds both sides to its bits, which a reader is told."""
    told = compared([run()], [target()], Told(measured([run() for _ in range(5)])))
    assert told.verdict is Verdict.MATCH
    assert "all 5 A/A runs are alike" in told.notes[0]
    assert not any("are alike" in note for note in compared([run()], [target()], WITHIN).notes)


def test_noise_at_a_limit_is_no_fault_of_one_side():
    """Where the envelope holds two ratios for equal, one beyond the law's limit is shared, not a difference."""
    ratios = [1.0011, 1.0009, 1.0010, 1.0008, 1.0012]
    evidence = measured([run((1, "first_ratio", ratio)) for ratio in ratios])
    left, right = run((1, "first_ratio", 1.0009)), target((1, "first_ratio", 1.0011))
    told = compared([left], [right], Told(evidence))
    assert (told.verdict, len(told.shared)) == (Verdict.MATCH, 1)
    assert compared([left], [right], EXACT).verdict is Verdict.DIFFER


def test_one_of_a_kind_is_counted_as_one():
    """One step and one validation value are no plural."""
    less = (0, "answered", None)
    told = compared([run(less, steps=1)], [target(less, steps=1)], EXACT)
    assert told.reason == "1 step of 11 metrics and 1 validation value are equal bit for bit"
