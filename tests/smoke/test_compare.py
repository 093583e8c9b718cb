"""Training runs compared: exactly, by laws and bands, and never on an intersection."""

from __future__ import annotations

import math
import struct
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parity.record import Leaf, leaf
from parity.smoke.cells import ulps
from parity.smoke.compare import Told, compared
from parity.smoke.envelope import measured
from parity.smoke.schedule import Schedule
from parity.smoke.series import SHOWN
from parity.smoke.windows import Band
from parity.verdict import Verdict
from tests.smoke.runs import PLAIN, noisy_runs, run, target

EXACT = Told()
WITHIN = Told(measured(noisy_runs(6), 0.01))


def found(left, right, told=EXACT):
    return [(one.key, one.rule, one.side) for one in compared([left], [right], told).findings]


def test_equal_runs_match():
    """Equal bits in every step are a MATCH, with how much was compared; nothing else is told."""
    told = compared([run()], [target()], EXACT)
    assert told.verdict is Verdict.MATCH
    assert told.reason == "4 steps of 11 metrics and 2 validation values are equal bit for bit"
    assert (told.findings, told.shared, told.notes, told.first) == ((), (), (), None)
    assert (told.equal_steps, told.of_steps, told.steps, told.seeds) == (4, 4, 4, (1,))
    assert all(one.equal == one.of == 4 and one.largest is None for one in told.metrics)


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        ([(3, "entropy", 0.5)], ["step[3].entropy"]),
        ([(3, "entropy", None)], ["step[3].entropy"]),
        ([(3, "kl_coef", 0.5)], ["step[3].kl_coef"]),
        ([(3, "tokens", 96.0)], ["step[3].tokens"]),
        ([(3, "tokens", "96")], ["step[3].tokens"]),
        ([(3, "ppo_kl", math.nextafter(0.001, 1))], ["step[3].ppo_kl"]),
        ([(0, "reward", 0.25)], ["validation.reward"]),
        ([(0, "reward", None)], ["validation.reward"]),
        ([(0, "more", 1)], ["validation.more"]),
        ([(2, "loss", -0.0)], ["step[2].loss"]),
        ([(4, "a", 1), (4, "lr", 0.0), (2, "tokens", 1), (2, "score", 1.0), (0, "reward", 0.0)],
         ["step[2].score", "step[2].tokens", "step[4].lr", "step[4].a", "validation.reward"]),
    ],
)  # fmt: skip
def test_each_difference_is_a_finding_in_order(changes, keys):
    """Missing, extra, another type, one bit: each is found, by step, in the order in which metrics are shown."""
    told = compared([run()], [target(*changes)], EXACT)
    assert told.verdict is Verdict.DIFFER
    assert [one.key for one in told.findings] == keys
    assert told.first.key == keys[0]
    assert told.reason.startswith(f"{keys[0]}: ")
    backwards = compared([run(*changes)], [target()], EXACT)
    assert [one.key for one in backwards.findings] == keys


def test_true_is_not_one():
    """A type is part of a value, also where the values are equal to Python."""
    assert found(run((1, "flag", True)), target((1, "flag", 1))) == [("step[1].flag", "exact", "")]


def test_zeros_of_two_signs_differ():
    """Bits are compared, not numbers."""
    assert found(run((1, "loss", 0.0)), target((1, "loss", -0.0))) == [("step[1].loss", "exact", "")]


def test_another_number_of_steps_is_a_finding():
    """A run that is shorter without a crash differs: the number is told first, then what its steps lack."""
    told = compared([run(steps=4)], [target(steps=3)], EXACT)
    assert told.first.key == "steps"
    assert "the source side has 4 steps, the target side 3" in told.first.told
    assert len(told.findings) == 1 + len(PLAIN)
    assert told.first.cause.startswith("one side trains for another number of steps")
    assert {one.cause for one in told.findings[1:]} == {"follows steps"}


def test_what_a_sentence_says():
    """A value is told with its distance in ULPs; what is missing with the side that lacks it."""
    told = compared([run()], [target((1, "loss", math.nextafter(0.125, 1)), (2, "lr", None), (3, "loss", 0.5))], EXACT)
    assert told.findings[0].told == "source: 0.125, target: 0.12500000000000003, difference +2.78e-17, 1 ULP"
    assert told.findings[1].told == "the target side does not have it"
    assert told.findings[2].told == "source: 0.125, target: 0.5, difference +0.375"


def test_curves_have_what_is_drawn():
    """Columns of both sides, the steps that differ, how many are equal, the largest difference and where."""
    told = compared([run()], [target((2, "loss", 0.25), (3, "loss", 0.5), (4, "loss", None))], EXACT)
    curve = next(one for one in told.curves if one.metric == "loss")
    assert curve.left == (0.125,) * 4
    assert curve.right == (0.125, 0.25, 0.5, None)
    assert (curve.different, curve.equal, curve.of, curve.numeric) == ((2, 3, 4), 1, 4, True)
    assert (curve.largest.step, curve.largest.absolute, curve.largest.ulps) == (3, 0.375, 2 << 52)
    assert (curve.low, curve.high, curve.outside) == ((), (), ())
    assert [one.metric for one in told.curves] == list(SHOWN)
    assert (told.equal_steps, told.of_steps) == (1, 4)


def test_ulps_count_floats():
    """Neighbours are one apart, also across zero; whole numbers and NaN have no such distance."""
    assert ulps(leaf(1.0), leaf(math.nextafter(1.0, 2))) == 1
    assert ulps(leaf(-5e-324), leaf(5e-324)) == 2
    assert ulps(leaf(0.0), leaf(-0.0)) == 0
    assert ulps(leaf(1), leaf(2)) is None
    assert ulps(leaf(1.0), leaf(math.nan)) is None


@pytest.mark.parametrize(
    ("left", "right", "reason"),
    [
        ([], [target()], "the left side has no run"),
        ([run()], [], "the right side has no run"),
        ([run(seed=1), run(seed=2)], [target(seed=1)], "seed 2 was run on one side only"),
        ([run()], [target(seed=2)], "seed 1, 2 was run on one side only"),
        ([run(), run()], [target()], "the left side has two runs of one seed"),
        ([run()], [target(scenario="zorro")], "these are runs of several scenarios: plain, zorro"),
        ([run()], [target(steps=2, crashed="x\nKilled")], "the target side crashed after 2 steps: Killed"),
        ([run(steps=0)], [target(steps=0)], "the source side has no steps"),
        ([run()], [target(env="2")], "the environments differ: env.torch is '1' and '2'"),
        ([run()], [target(variance=0.0)], "the target side: the rewards of a step are always equal: nothing can be"),
        (
            [run(*((k, "score", 0.0) for k in range(1, 5)), variance=0.0)],
            [target()],
            "the source side: reward always 0",
        ),
        (
            [run(*((k, "grad_norm", 0.0) for k in range(1, 5)))],
            [target()],
            "the source side: the gradient is 0 in every",
        ),
    ],
)
def test_what_cannot_be_compared_is_no_match(left, right, reason):
    """Each of these is INCOMPARABLE, says why, and lists no findings; from either side."""
    for told in (compared(left, right, EXACT), compared(right, left, EXACT)):
        assert told.verdict is Verdict.INCOMPARABLE
        assert told.findings == ()
    assert compared(left, right, EXACT).reason.startswith(reason)


def test_all_differences_of_the_environments_are_told():
    """Every name that differs, and one that only one side has."""
    left, right = (
        replace(run(), provenance={"env.a": a, "env.b": "1", **more}) for a, more in (("1", {}), ("2", {"env.c": "3"}))
    )
    assert compared([left], [right], EXACT).reason == (
        "the environments differ: env.a is '1' and '2'; env.c is None and '3'"
    )


def test_a_step_without_variance_is_told():
    """One step whose rewards are all equal teaches nothing: said, and no fault."""
    told = compared([run(variance=(0.1, 0.0, 0.1, 0.1))], [target()], EXACT)
    assert told.verdict is Verdict.MATCH
    assert told.notes == ("the source side, seed 1: all rewards of step 2 are equal; it learns nothing",)


def test_a_run_at_rate_0_says_that_it_shows_no_update():
    """Where every update is made at the rate 0 of a warm-up, equal runs say little: that is told."""
    for steps, told in ((2, 2), (3, 0)):
        rates = [(k, "lr", rate) for k, rate in enumerate((0.0, 5e-4, 1e-3)[:steps], 1)]
        notes = compared([run(*rates, steps=steps)], [target(*rates, steps=steps)], EXACT).notes
        assert len([note for note in notes if "every update is made at rate 0" in note]) == told


def test_a_trainer_without_rewards_can_be_compared():
    """Where no variance was recorded there is none to ask for."""
    assert compared([run(variance=())], [target(variance=())], EXACT).verdict is Verdict.MATCH


def test_seeds_are_paired():
    """Runs pair by seed in any order; keys name the seed where there are several."""
    left, right = [run(seed=2), run(seed=1)], [target(seed=1), target((2, "loss", 9.0), seed=2)]
    told = compared(left, right, EXACT)
    assert [(one.key, one.seed) for one in told.findings] == [("seed[2].step[2].loss", 2)]
    assert told.seeds == (1, 2)
    assert (told.equal_steps, told.of_steps) == (7, 8)
    loss = next(one for one in told.metrics if one.metric == "loss")
    assert (loss.equal, loss.of, loss.largest.seed) == (7, 8, 2)


def test_nan_is_equal_to_nan_but_told():
    """A NaN in the norm on both sides is no difference, and is not passed over in silence."""
    left, right = (one((2, "grad_norm", math.nan)) for one in (run, target))
    told = compared([left], [right], EXACT)
    assert told.verdict is Verdict.MATCH
    assert [(one.key, one.side) for one in told.shared] == [("step[2].grad_norm", "both")]
    assert compared([left], [right], replace(EXACT, shared_fails=True)).verdict is Verdict.DIFFER


def test_nan_of_one_side_is_its_fault():
    """A NaN on one side is a difference and a broken law of that side."""
    assert found(run(), target((2, "loss", math.nan))) == [
        ("step[2].loss", "exact", ""),
        ("step[2].loss", "law", "right"),
    ]


@pytest.mark.parametrize(
    ("metric", "value", "told"),
    [
        ("first_ratio", 1.0011, EXACT),
        ("first_ratio", 0.5, EXACT),
        ("first_ratio", math.nan, EXACT),
        ("updates", 4, Told(updates=1)),
        ("grad_norm", math.inf, EXACT),
    ],
)
def test_a_law_holds_for_each_side_alone(metric, value, told):
    """Broken on one side it fails as that side's; broken on both alike it is shared and fails only where told."""
    change = (2, metric, value)
    assert (f"step[2].{metric}", "law", "right") in found(run(), target(change), told)
    assert (f"step[2].{metric}", "law", "left") in found(run(change), target(), told)
    both = compared([run(change)], [target(change)], told)
    assert both.verdict is Verdict.MATCH
    assert [(one.key, one.side) for one in both.shared] == [(f"step[2].{metric}", "both")]
    assert compared([run(change)], [target(change)], replace(told, shared_fails=True)).verdict is Verdict.DIFFER


def test_a_gross_break_is_not_shared_with_rounding():
    """A ratio far off is a fault of its side, also where the other side's is a little off by rounding."""
    result = compared([run((2, "first_ratio", 0.997))], [target((2, "first_ratio", 0.6))], EXACT)
    assert [(one.key, one.rule, one.side) for one in result.findings] == [
        ("step[2].first_ratio", "exact", ""),
        ("step[2].first_ratio", "law", "right"),
    ]
    assert "the target side: the ratio before the first update is 0.6" in result.findings[1].told
    assert result.shared == ()


def test_laws_leave_what_is_right_alone():
    """A ratio within its tolerance, the updates asked for, and metrics that are not there break no law."""
    told = Told(updates=1)
    assert compared([run((1, "first_ratio", 1.0009))], [target((1, "first_ratio", 1.0009))], told).shared == ()
    bare = [(k, name, None) for k in range(1, 5) for name in ("first_ratio", "updates", "grad_norm")]
    assert compared([run(*bare)], [target(*bare)], told).shared == ()


def weights(*values, side=run, rates=(0.0, 1e-3, 1e-3, 1e-3)):
    changes = [(step, "digest/weights", value) for step, value in enumerate(values, 1)]
    return side(*changes, *((step, "lr", rate) for step, rate in enumerate(rates, 1)))


def test_weights_have_to_move():
    """Weights that stand still after an update at a rate above 0 were not synced; at rate 0 they may."""
    good = weights("a", "a", "b", "c")
    equal = compared([good], [weights("a", "a", "b", "c", side=target)], EXACT)
    assert (equal.findings, equal.shared) == ((), ())
    told = compared([good], [weights("a", "a", "a", "a", side=target)], EXACT)
    laws = [one for one in told.findings if one.rule == "law"]
    assert [(one.key, one.side) for one in laws] == [(f"step[{k}].digest/weights", "right") for k in (3, 4)]
    assert all("not synced" in one.cause for one in told.findings if one.step == 3)


@pytest.mark.parametrize(
    "why",
    [
        [(3, "grad_norm", 0.0), (1, "lr", 1e-3), (2, "lr", 1e-3)],
        [(1, "lr", 1e-3), (2, "lr", 0.0), (3, "lr", 1e-3)],
    ],
)
def test_weights_may_stand_still_without_a_pull(why):
    """A step whose gradient is 0 moves nothing, nor does one that began at rate 0, whatever rate it ends with."""
    some = [*why, *((k, "digest/weights", word) for k, word in ((1, "a"), (2, "b"), (3, "b"), (4, "c")))]
    assert compared([run(*some)], [target(*some)], EXACT).shared == ()


def test_the_schedule_is_a_law():
    """A rate that is not the schedule's is a finding of its side, which names a collapsed horizon."""
    told = Told(schedule=Schedule("constant", 1e-3, 0.05, 80, 0.0, 1, 80))
    rates = [(k, "lr", rate) for k, rate in enumerate((0.0, 0.25e-3, 0.5e-3, 0.75e-3), 1)]
    collapsed = [(k, "lr", rate) for k, rate in enumerate((0.0, 0.5e-3, 1e-3, 1e-3), 1)]
    assert found(run(*rates), target(*rates), told) == []
    result = compared([run(*rates)], [target(*collapsed)], told)
    wrong = [one for one in result.findings if one.rule == "schedule"]
    assert [(one.key, one.side) for one in wrong] == [(f"step[{k}].lr", "right") for k in (2, 3, 4)]
    assert wrong[0].cause.startswith("the horizon is 1: trainer.total_epochs was taken")
    assert [(row.left_ok, row.right_ok) for row in result.schedule] == [(True, True), *[(True, False)] * 3]
    assert compared([run(*collapsed)], [target(*collapsed)], told).verdict is Verdict.MATCH
    assert len(compared([run(*collapsed)], [target(*collapsed)], told).shared) == 3


def test_a_schedule_that_shows_nothing_says_so():
    """Where a collapsed horizon would report the same rates the comparison says that it cannot see it."""
    told = Told(schedule=Schedule("constant", 1e-3, 0.5, 4, 0.0, 1, 4))
    assert any("cannot show its collapse" in note for note in compared([run()], [target()], told).notes)


def test_bands_hold_on_both_sides():
    """Each step of each side that leaves a band is a finding, above and below, even where both sides are equal."""
    told = Told(bands={"entropy": Band(0.17, 0.21, "as measured")})
    changes = (1, "entropy", 0.16), (2, "entropy", 0.2), (3, "entropy", 0.22), (4, "entropy", 0.21)
    result = compared([run(*changes)], [target(*changes)], told)
    assert result.verdict is Verdict.DIFFER
    assert [(one.key, one.rule, one.side) for one in result.findings] == [
        (f"step[{k}].entropy", "band", side) for k in (1, 3) for side in ("left", "right")
    ]
    assert "is not within 0.17 to 0.21 (as measured)" in result.findings[0].told
    assert [(row.side, row.outside) for row in result.bands] == [("left", (1, 3)), ("right", (1, 3))]


def test_bands_of_several_seeds():
    """Each violation is told once, with its seed."""
    left, right = [run(seed=1), run(seed=2)], [target(seed=1), target((3, "entropy", 0.9), seed=2)]
    told = compared(left, right, Told(bands={"entropy": Band(0.1, 0.3)}))
    assert [one.key for one in told.findings if one.rule == "band"] == ["seed[2].step[3].entropy"]


def test_a_band_on_nothing_fails():
    """A band of a metric that no run has is not kept by keeping silent."""
    assert compared([run()], [target()], Told(bands={"entropie": Band(0, 1)})).verdict is Verdict.DIFFER


def test_windows_of_what_is_shown():
    """Rolling windows come for each shown metric, none for words, none where none were asked for."""
    result = compared([run()], [target()], Told(windows=3))
    assert {(row.metric, row.first, row.last) for row in result.windows} == {
        (name, k, k + 2) for name in SHOWN for k in (1, 2)
    }
    assert all(row.mean_difference == row.range_difference == 0 for row in result.windows)
    assert compared([run()], [target()], EXACT).windows == ()
    assert compared([run()], [target()], Told(windows=9)).windows == ()


def test_validation_rows():
    """Every value of the validation of either side is shown, with whether it is equal."""
    told = compared([run()], [target((0, "reward", 0.25), (0, "more", 1))], EXACT)
    assert [(row.key, row.equal) for row in told.validation] == [
        ("answered", True),
        ("more", False),
        ("reward", False),
    ]


# Properties.
cell = st.tuples(st.integers(1, 4), st.sampled_from([name for name in SHOWN if isinstance(PLAIN[name], float)]))
numbers = st.floats(allow_nan=True, allow_infinity=True)
changes = st.lists(st.tuples(st.integers(0, 4), st.sampled_from([*SHOWN, "other"]), numbers), max_size=4)
modes = st.sampled_from([EXACT, WITHIN, Told(bands={"entropy": Band(0.1, 0.3)}, windows=2, updates=1)])


@settings(deadline=None, max_examples=60)
@given(changes, changes, modes)
def test_the_verdict_is_symmetric(one, other, told):
    """It does not matter which side is called left."""
    left, right = run(*one), target(*other)
    assert compared([left], [right], told).verdict is compared([right], [left], told).verdict


@settings(deadline=None, max_examples=60)
@given(changes)
def test_a_run_matches_itself(some):
    """Whatever a run holds, NaN and infinities too, it is equal to itself."""
    told = compared([run(*some)], [run(*some)], EXACT)
    broke = "the training broke down" in told.reason
    assert told.verdict is (Verdict.INCOMPARABLE if broke else Verdict.MATCH)
    assert told.equal_steps == told.of_steps


@settings(deadline=None, max_examples=100)
@given(cell, st.integers(0, 63))
def test_any_flipped_bit_differs(place, bit):
    """One bit of one cell is seen, and found where it is."""
    step, name = place
    left = run()
    number = left.steps[step - 1][name].number()
    flipped = _flip(number, bit)
    told = compared([left], [target((step, name, flipped))], EXACT)
    assert told.verdict is Verdict.DIFFER
    assert told.first.key == f"step[{step}].{name}"
    assert told.equal_steps == 3


def _flip(number, bit):
    whole = struct.unpack("<Q", struct.pack("<d", number))[0] ^ (1 << bit)
    return struct.unpack("<d", struct.pack("<Q", whole))[0]


def test_leaves_of_a_finding_are_those_of_the_runs():
    """A finding holds both values, typed; None where a side has none."""
    told = compared([run()], [target((1, "tokens", None), (2, "tokens", 97))], EXACT)
    assert [(one.left, one.right) for one in told.findings] == [
        (Leaf("int", 96), None),
        (Leaf("int", 96), Leaf("int", 97)),
    ]
