"""What a comparison of training runs says, to the word and to the number."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from parity.record import Leaf, leaf
from parity.smoke.compare import Told, compared
from parity.smoke.envelope import detectable, measured
from parity.smoke.outcome import Compared, Finding, Row
from parity.smoke.schedule import Schedule
from parity.smoke.windows import Band
from parity.verdict import Verdict
from tests.smoke.runs import noisy, noisy_runs, run, target

EXACT = Told()
EVIDENCE = measured(noisy_runs(6), 0.01)
WITHIN = Told(EVIDENCE)
NAMES = ("source", "target")


def test_nothing_to_compare_in_full():
    """No runs at all, runs of one side, and runs with an envelope: what is known is told."""
    reason = "the left side has no run"
    assert compared([], [], EXACT) == Compared("", "exact", (), 0, Verdict.INCOMPARABLE, reason)
    told = compared([], [target(seed=8), target(seed=1, steps=5)], WITHIN)
    assert told == Compared("plain", "envelope", (1, 8), 5, Verdict.INCOMPARABLE, reason)
    two = compared([run(), run(scenario="a")], [target(scenario="b")], EXACT)
    assert (two.scenario, two.reason) == ("plain", "these are runs of several scenarios: a, b, plain")
    doubled = compared([run()], [target(), target()], EXACT)
    assert doubled.reason == "the right side has two runs of one seed"
    told = compared([run(seed=8), run(seed=1), run(seed=2)], [target(seed=2)], EXACT)
    assert told.reason == "seed 1, 8 was run on one side only"
    here, there = ({f"env.{name}": side for name in "hgfedcba"} for side in "12")
    apart = compared([replace(run(), provenance=here)], [replace(target(), provenance=there)], EXACT)
    said = "; ".join(f"env.{name} is '1' and '2'" for name in "abcdefgh")
    assert apart.reason == f"the environments differ: {said}"


def test_what_was_run_is_shown_though_it_cannot_be_compared():
    """Curves, windows and validation stand beside the reason; nothing is judged."""
    told = compared([run()], [target((2, "loss", 9.0), crashed="a\nb\nc\nKilled\n \n")], Told(windows=2))
    assert told.reason == "the target side crashed after 4 steps: Killed"
    assert (told.equal_steps, told.of_steps, len(told.curves), len(told.metrics)) == (3, 4, 11, 11)
    assert told.windows and len(told.validation) == 2 and told.findings == ()


def test_every_run_is_asked_for_its_environment_steps_and_rewards():
    """The last run of four as well as the first."""
    left, right = [run(seed=1), run(seed=2)], [target(seed=1)]
    cases = {
        "the environments differ: env.torch is '1' and '2'": target(seed=2, env="2"),
        "the target side has no steps": target(seed=2, steps=0),
        "the target side crashed after 4 steps: x": target(seed=2, crashed="x"),
        "the target side: the rewards of a step are always equal: nothing can be learnt": target(seed=2, variance=0.0),
    }
    for reason, last in cases.items():
        assert compared(left, [*right, last], EXACT).reason == reason
    assert compared(left, [*right, target(seed=2)], EXACT).verdict is Verdict.MATCH


@pytest.mark.parametrize(
    ("changes", "variance", "what"),
    [
        ([(k, "score", 0.5) for k in range(1, 5)], 0.0, "reward always 0.5"),
        ([(k, "score", "word") for k in range(1, 5)], 0.0, "the rewards of a step are always equal"),
        ([(k, "score", None) for k in range(1, 5)], 0.0, "the rewards of a step are always equal"),
        ([(k, "score", 0.5) for k in range(1, 4)] + [(4, "score", None)], 0.0, "reward always 0.5"),
        ([(k, "grad_norm", 0.0) for k in range(1, 5)], 0.25, "the gradient is 0 in every step"),
        ([(k, "grad_norm", 0.0) for k in range(1, 5)], (), "the gradient is 0 in every step"),
    ],
)
def test_nothing_that_is_learnt(changes, variance, what):
    """Rewards without variance, and gradients that are 0, in a sentence."""
    told = compared([run(*changes, variance=variance)], [target()], EXACT)
    assert told.reason == f"the source side: {what}: nothing can be learnt"


def test_one_reward_or_gradient_is_enough():
    """A variance of one step, and a gradient of one step or one that was not told, are something."""
    flat = [(k, "grad_norm", 0.0) for k in range(1, 4)]
    for last in (1.5, None):
        changes = (*flat, (4, "grad_norm", last))
        assert compared([run(*changes)], [target(*changes)], EXACT).verdict is Verdict.MATCH
    some = (0.0, 0.0, 0.0, 0.1)
    assert compared([run(variance=some)], [target(variance=some)], EXACT).verdict is Verdict.MATCH


def test_evidence_is_asked_of_every_run():
    """One run of the right length is enough to see the other's; a seed is asked of all, also of the right side."""
    rng = random.Random(5)
    short = compared([noisy(rng)], [noisy(rng, side="target", steps=3)], WITHIN)
    assert (short.verdict, short.first.key) == (Verdict.DIFFER, "steps")
    rows = [[noisy(rng, seed=seed, side=side) for seed in (1, 2, 3)] for side in NAMES]
    assert compared(*rows, WITHIN).reason == "the evidence is of seed 1, a run of seed 2"
    two = compared([run(steps=3)], [target(steps=5)], WITHIN)
    assert two.reason == "the evidence is of 4 steps, the runs of 3"
    other = compared([run(scenario="zorro")], [target(scenario="zorro")], WITHIN)
    assert other.reason == "the evidence is of scenario 'plain', the runs of 'zorro'"
    far = compared([run(env="2")], [target(env="2")], WITHIN)
    assert far.reason == "the evidence is of another environment: env.torch is '1' and '2'"
    assert (far.mode, {one.low for one in far.curves}) == ("envelope", {()})


def test_several_seeds_are_held_to_one_envelope():
    """The more is compared the wider it is: bounds and what can be seen count every run."""
    rng = random.Random(8)
    evidence = measured([noisy(rng, seed=seed) for seed in range(8)])
    left, right = ([noisy(rng, seed=seed, side=side) for seed in (12, 11)] for side in NAMES)
    told = compared(left, right, Told(evidence))
    assert told.verdict is Verdict.MATCH
    assert told.detectable == detectable(evidence, series=4) != detectable(evidence, series=2)
    low = evidence.bounds((1, "loss"), evidence.compared(4)).low
    assert [one.low[0] for one in told.curves if one.metric == "loss"] == [low, low]
    assert [(one.metric, one.seed) for one in told.curves[:3]] == [("score", 11), ("score", 12), ("loss", 11)]
    assert [one.seed for one in told.validation] == [11, 11, 12, 12]
    what = "8 steps of 11 metrics and 4 validation values lie in the envelope of equal code"
    assert told.reason == f"{what} (false alarms of such a comparison: at most 0.01)"
    assert (told.rate, told.mode, told.seeds, told.of_steps) == (0.01, "envelope", (11, 12), 8)
    assert told.notes == ()
    beyond = evidence.bounds((1, "loss"), evidence.compared(2)).high
    between = (beyond + evidence.bounds((1, "loss"), evidence.compared(4)).high) / 2
    row = {**right[0].steps[0], "loss": leaf(between)}
    right[0] = replace(right[0], steps=(row, *right[0].steps[1:]))
    assert compared(left, right, Told(evidence)).verdict is Verdict.MATCH


def test_a_finding_in_full():
    """Key, values, rule, words, seed, step and metric; of several seeds the key names it, of one it does not."""
    told = compared([run(seed=5)], [target((2, "tokens", 97), (0, "reward", 0.25), seed=5)], EXACT)
    first, last = told.findings
    assert replace(first, cause="") == Finding(
        "step[2].tokens", leaf(96), leaf(97), "exact", "source: 96.0, target: 97.0, difference +1", "", 5, 2, "tokens"
    )
    assert replace(last, cause="", told="") == Finding(
        "validation.reward", leaf(0.5), leaf(0.25), "exact", "", "", 5, 0, "reward"
    )
    assert told.reason == f"step[2].tokens: {first.told}; and 1 more"
    only = compared([run()], [target((2, "tokens", 97))], EXACT)
    assert only.reason == f"step[2].tokens: {first.told}"
    seeds = compared([run(), run(seed=2)], [target(), target((0, "reward", 0.25), (1, "lr", 1.0), seed=2)], EXACT)
    assert [one.key for one in seeds.findings] == ["seed[2].step[1].lr", "seed[2].validation.reward"]


def test_another_number_of_steps_in_full():
    """Both numbers, and the first step that one side alone has."""
    told = compared([run(steps=2)], [target(steps=4)], EXACT).first
    assert replace(told, cause="") == Finding(
        "steps", Leaf("int", 2), Leaf("int", 4), "steps", "the source side has 2 steps, the target side 4", "",
        1, 3, "steps",
    )  # fmt: skip
    shown = compared([run(steps=2)], [target(steps=4)], EXACT)
    assert (shown.of_steps, shown.equal_steps, shown.steps) == (4, 2, 4)
    many = compared([run(seed=1), run(seed=2, steps=3)], [target(seed=1), target(seed=2)], EXACT)
    assert many.first.key == "seed[2].steps"


def test_which_side_leaves_the_evidence():
    """The source's own side may have outgrown its evidence, whichever side it stands on; the other's may not."""
    rng = random.Random(99)
    near, far = noisy(rng), noisy(rng, side="target", shift=3.0)
    for sides, wrong in (((near, far), "right"), ((far, near), "left")):
        told = compared([sides[0]], [sides[1]], WITHIN)
        assert {(one.side, one.rule, one.metric) for one in told.findings} == {(wrong, "envelope", "entropy")}
        assert told.first.cause.startswith("the entropy alone: ")
        assert [one.step for one in told.findings] == [1, 2, 3, 4]
    near, far = noisy(rng, side="target"), noisy(rng, shift=3.0)
    for sides, wrong in (((near, far), "right"), ((far, near), "left")):
        told = compared([sides[0]], [sides[1]], WITHIN)
        assert {one.side for one in told.findings} == {wrong}
        why = "code of which the evidence was made leaves it: is the evidence still of this source?"
        assert {one.cause for one in told.findings} == {why}
    lost = [replace(one, steps=({k: v for k, v in one.steps[0].items() if k != "lr"}, *one.steps[1:]))
            for one in (noisy(rng), noisy(rng, side="target"))]  # fmt: skip
    (gone,) = compared([lost[0]], [lost[1]], WITHIN).findings
    assert (gone.key, gone.told) == ("step[1].lr", "source: it is missing; target: it is missing")
    assert "evidence" not in gone.cause


def test_a_law_of_one_side_beside_an_equal_number():
    """A number that is equal and breaks a law of one side alone is shared; a word or an absent one is that side's."""
    ratios = [1.0011, 1.0009, 1.0010, 1.0008, 1.0012]
    evidence = measured([run((1, "first_ratio", ratio)) for ratio in ratios])
    left, right = run((1, "first_ratio", 1.0011)), target((1, "first_ratio", 1.0009))
    told = compared([left], [right], Told(evidence))
    assert [(one.key, one.side, one.rule) for one in told.shared] == [("step[1].first_ratio", "left", "law")]
    fails = compared([left], [right], Told(evidence, shared_fails=True))
    assert (fails.verdict, fails.findings) == (Verdict.DIFFER, ())
    assert fails.reason == f"step[1].first_ratio: {told.shared[0].told}"
    lacks = compared([run((2, "first_ratio", 0.5))], [target((2, "first_ratio", None))], EXACT)
    assert [(one.rule, one.side) for one in lacks.findings] == [("exact", ""), ("law", "left")]


def test_weights_that_stand_still_on_one_side_are_its_fault():
    """Also where no word of them is compared, since none of them is repeated by equal code."""

    def weighed(number, *words, side="source"):
        changes = [(step, "digest/weights", f"{word}{number}") for step, word in enumerate(words, 1)]
        return run(*changes, side=side)

    evidence = measured([weighed(number, *"abcd") for number in range(5)])
    told = compared([weighed(8, *"abbc")], [weighed(9, *"abcd", side="target")], Told(evidence))
    assert [(one.key, one.rule, one.side) for one in told.findings] == [("step[3].digest/weights", "law", "left")]
    assert (told.verdict, told.shared) == (Verdict.DIFFER, ())


def test_findings_and_what_is_shared_come_by_step():
    """Whatever law they break."""
    changes = (4, "first_ratio", 2.0), (2, "grad_norm", math.inf), (3, "grad_norm", math.nan), (3, "first_ratio", 2.0)
    told = compared([run(*changes)], [target(*changes)], EXACT)
    keys = ["step[2].grad_norm", "step[3].grad_norm", "step[3].first_ratio", "step[4].first_ratio"]
    assert [one.key for one in told.shared] == keys
    assert [one.key for one in compared([run()], [target(*changes)], EXACT).findings if one.rule == "law"] == keys
    both = compared([run(*changes)], [target((1, "lr", 0.5), *changes)], replace(EXACT, shared_fails=True))
    assert both.reason.startswith("step[1].lr: ") and both.reason.endswith("; and 4 more")


def test_a_band_in_words():
    """The value or that there is none, the ends, and why; of a run that is shorter nothing is there."""
    told = Told(bands={"entropy": Band(0.1, 0.3, "as measured"), "ppo_kl": Band(0.0, 1.0)})
    result = compared([run((2, "entropy", 0.5))], [target((2, "entropy", None), steps=3)], told)
    found = [one for one in result.findings if one.rule == "band"]
    assert [(one.key, one.side, one.told) for one in found] == [
        ("step[2].entropy", "left", "the source side: 0.5 (float) is not within 0.1 to 0.3 (as measured)"),
        ("step[2].entropy", "right", "the target side: nothing is not within 0.1 to 0.3 (as measured)"),
    ]
    assert {(one.left, one.right) for one in found} == {(leaf(0.5), None)}
    assert {(one.seed, one.step, one.metric) for one in found} == {(1, 2, "entropy")}
    assert [(row.metric, row.side) for row in result.bands] == [
        ("ppo_kl", "left"), ("ppo_kl", "right"), ("entropy", "left"), ("entropy", "right")
    ]  # fmt: skip
    plain = compared([run((2, "ppo_kl", 5.0))], [target()], told)
    assert [one.told for one in plain.findings if one.rule == "band"] == [
        "the source side: 5.0 (float) is not within 0 to 1"
    ]
    gone = compared([run(steps=2)], [target((4, "entropy", 0.5))], told)
    last = [one for one in gone.findings if one.rule == "band" and one.step == 4]
    assert [(one.left, one.right) for one in last] == [(None, leaf(0.5))]


def test_bands_of_seeds_that_differ_in_length():
    """Each seed is held to its own steps."""
    told = Told(bands={"entropy": Band(0.1, 0.3)})
    left = [run(seed=1, steps=2), run((4, "entropy", 0.9), seed=2)]
    right = [target(seed=1, steps=2), target((4, "entropy", 0.9), seed=2)]
    found = [one for one in compared(left, right, told).findings if one.rule == "band"]
    assert [(one.key, one.seed, one.side) for one in found] == [
        ("seed[2].step[4].entropy", 2, "left"), ("seed[2].step[4].entropy", 2, "right")
    ]  # fmt: skip


def test_windows_of_numbers_only():
    """In the order in which metrics are shown, seed by seed; a metric that is a word anywhere has none."""
    left, right = [run(seed=2), run(seed=1)], [target((1, "loss", "x"), seed=1), target(seed=2)]
    found = compared(left, right, Told(windows=4)).windows
    assert [(row.metric, row.seed) for row in found][:4] == [("score", 1), ("score", 2), ("loss", 2), ("pg_loss", 1)]
    assert len(found) == 2 * 11 - 1
    assert len(compared([run()], [target()], Told(windows=1)).windows) == 44


def test_validation_in_full():
    """Every value of either side by name, with whether it is equal."""
    names = "hgfedcba"
    told = compared([run(*((0, name, 1) for name in names))], [target((0, "answered", None))], EXACT)
    assert told.validation[-2:] == (
        Row(1, "h", leaf(1), None, False),
        Row(1, "reward", leaf(0.5), leaf(0.5), True),
    )
    assert [row.key for row in told.validation] == sorted([*names, "answered", "reward"])


def test_notes_in_full():
    """Steps without variance, rates that stay 0, words that are not compared, a schedule that shows nothing."""
    flat = [run(variance=(0.0, 0.1, 0.0, 0.1))], [target(variance=(0.1, 0.1, 0.1, 0.0))]
    assert compared(*flat, EXACT).notes == (
        "the source side, seed 1: all rewards of step 1, 3 are equal; it learns nothing",
        "the target side, seed 1: all rewards of step 4 are equal; it learns nothing",
    )
    zero = [(1, "lr", 0.0), (2, "lr", 0.0), (3, "lr", 1e-3)]
    told = compared([run(*zero, steps=3)], [target((1, "lr", 0.0), steps=3)], EXACT)
    assert told.notes == ("the source side, seed 1: every update is made at rate 0; take more steps to see one",)
    assert compared([run((2, "lr", 0.0))], [target((2, "lr", 0.0))], EXACT).notes == ()
    none = [(k, "lr", None) for k in (1, 2, 3, 4)]
    assert compared([run(*none)], [target(*none)], EXACT).notes == ()
    assert compared([run(steps=1)], [target(steps=1)], EXACT).notes == ()
    words = [run(*((k, f"digest/{name}", f"{name}{n}") for name in "ab" for k in (1, 2)), steps=2) for n in range(5)]
    told = compared([words[0]], [replace(words[1], side="target")], Told(measured(words)))
    assert told.notes == ("differs among runs of equal code and is not compared: digest/a, digest/b",)
    shows = Told(schedule=Schedule("constant", 1e-3, 0.05, 80, 0.0, 1, 80))
    assert compared([run()], [target()], shows).notes == ()
    # What the first run on the left cannot show is told, whatever the others could.
    left, right = [run(seed=1, steps=1), run(seed=2)], [target(seed=1), target(seed=2)]
    (told,) = compared(left, right, shows).notes
    assert told.endswith("they cannot show its collapse")


def test_the_schedule_of_every_seed_is_shown():
    """Row by row, pair by pair; without a schedule there are none."""
    told = Told(schedule=Schedule("constant", 1e-3, 0.05, 80, 0.0, 1, 80))
    found = compared([run(seed=2), run(seed=1)], [target(seed=1), target(seed=2)], told).schedule
    assert [(row.seed, row.step) for row in found] == [(seed, step) for seed in (1, 2) for step in (1, 2, 3, 4)]
    assert compared([run()], [target()], EXACT).schedule == ()


@pytest.mark.parametrize("name", ["score", "loss"])
@pytest.mark.parametrize("value", ["high", True, []])
def test_what_is_a_number_in_no_step(name, value):
    """Text, or nothing at all, under the name of the score or the loss shows nothing of a training."""
    never = [(step, name, value) for step in range(1, 5)]
    told = compared([run(*never)], [target(*never)], EXACT)
    assert told.verdict is Verdict.INCOMPARABLE and told.reason.startswith(f"{name} is a number in no step")
    assert compared([run(*never[1:])], [target(*never[1:])], EXACT).verdict is Verdict.MATCH
    without = [(step, name, None) for step in range(1, 5)]
    assert compared([run(*without)], [target(*without)], EXACT).verdict is Verdict.MATCH
    assert compared([run()], [target(*never)], EXACT).verdict is Verdict.DIFFER
