"""One value, one metric and one finding of a comparison of training runs, to the word and to the number."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from types import SimpleNamespace

import pytest

from parity.record import leaf
from parity.smoke.cells import difference, strays, ulps
from parity.smoke.compare import Told, compared
from parity.smoke.curves import curves, metrics
from parity.smoke.envelope import Bounds, Spread, measured
from parity.smoke.outcome import Compared, Curve, Finding, Largest, Metric, names, rank
from parity.smoke.series import SHOWN
from parity.verdict import Verdict
from tests.smoke.runs import noisy, noisy_runs, run, target

EVIDENCE = measured(noisy_runs(6), 0.01)
WITHIN = Told(EVIDENCE)
NAMES = ("source", "target")
ONE = leaf(1.0)


def apart(count):
    """The float so many places behind 1."""
    return leaf(1.0 + count * 2.0**-52)


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        (ONE, ONE, ""),
        (None, None, ""),
        (None, ONE, "the source side does not have it"),
        (ONE, None, "the target side does not have it"),
        (leaf(1), ONE, "the types differ: source: 1 (int), target: 1.0 (float)"),
        (leaf("a"), leaf("b"), "source: 'a' (str), target: 'b' (str)"),
        (leaf(1), leaf(3), "source: 1.0, target: 3.0, difference +2"),
        (ONE, leaf(0.5), "source: 1.0, target: 0.5, difference -0.5"),
        (ONE, apart(3), "source: 1.0, target: 1.0000000000000007, difference +6.66e-16, 3 ULPs"),
        (leaf(math.nan), ONE, "source: nan, target: 1.0, difference +nan"),
    ],
)
def test_a_difference_in_words(one, other, told):
    """Each kind of difference has its sentence; floats that are near tell how many lie between."""
    assert difference((one, other), NAMES) == told


def test_ulps_are_told_up_to_a_million():
    """Beyond that the number says nothing."""
    assert difference((ONE, apart(1_000_000)), NAMES).endswith(", 1000000 ULPs")
    assert not difference((ONE, apart(1_000_001)), NAMES).endswith("ULPs")


def test_ulps_of_every_kind():
    """Either no float, or a NaN on either side, is no distance; the order of floats goes through both zeros."""
    assert [ulps(*both) for both in ((leaf(1), ONE), (ONE, leaf(1)), (leaf("a"), leaf("b")))] == [None] * 3
    assert [ulps(*both) for both in ((leaf(math.nan), ONE), (ONE, leaf(math.nan)))] == [None] * 2
    assert ulps(leaf(-1.0), ONE) == ulps(ONE, leaf(-1.0)) == 2 * 0x3FF0_0000_0000_0000
    assert ulps(leaf(-1.0), leaf(math.nextafter(-1.0, 0))) == 1
    assert ulps(leaf(-0.0), leaf(5e-324)) == ulps(leaf(0.0), leaf(-5e-324)) == 1


CELL = (1, "loss")


@pytest.mark.parametrize(
    ("spread", "one", "told"),
    [
        (None, None, ""),
        (None, ONE, "the evidence does not have it"),
        (Spread("float", ONE), None, "it is missing"),
        (Spread("float", ONE), ONE, ""),
        (Spread("float", ONE), leaf(2.0), "2.0 (float) where all 3 A/A runs hold 1.0 (float)"),
        (Spread("float", None), leaf(1), "1 (int) is no float"),
        (Spread("str", None), leaf("any word"), ""),
        (Spread("float", None), ONE, ""),
        (Spread("float", None), leaf(0.9999), "0.9999 is outside 1 to 2.12346"),
        (Spread("float", None), leaf(2.1234567), ""),
        (Spread("float", None), leaf(2.2), "2.2 is outside 1 to 2.12346"),
        (Spread("float", None), leaf(math.nan), "nan is outside 1 to 2.12346"),
    ],
)
def test_where_the_evidence_puts_a_value(spread, one, told):
    """Ends are inside; what repeats is held to its bits; words are held to be there. From either side, and both."""
    asked = []

    def bounds(cell, m):
        asked.append((cell, m))
        return Bounds(1.0, 2.1234567) if spread.numeric else None

    evidence = SimpleNamespace(spreads={CELL: spread} if spread else {}, runs=[1, 2, 3], bounds=bounds)
    good = spread.only or (leaf("w") if spread.type == "str" else ONE) if spread else None
    assert strays((one, good), NAMES, evidence, CELL, 7) == (
        ("left", f"the source side: {told}") if told else ("", "")
    )
    assert strays((good, one), NAMES, evidence, CELL, 7) == (
        ("right", f"the target side: {told}") if told else ("", "")
    )
    assert strays((one, one), NAMES, evidence, CELL, 7) == ("", f"source: {told}; target: {told}" if told else "")
    assert set(asked) <= {(CELL, 7)}


def test_where_findings_stand():
    """By step, with those of no step last; then as metrics are shown; then by seed, rule and side."""
    bare = Finding("k", None, None, "exact", "t")
    assert bare == Finding("k", None, None, "exact", "t", "", 0, 0, "", "")
    assert bare.place == (1 << 62, len(SHOWN), "", 0, 1, "")
    told = replace(bare, step=3, metric="lr", seed=7, rule="band", side="right")
    assert told.place == (3, SHOWN.index("lr"), "lr", 7, 5, "right")
    rules = ("steps", "exact", "envelope", "schedule", "law", "band")
    assert [replace(bare, rule=rule).place[4] for rule in rules] == [0, 1, 2, 3, 4, 5]
    assert [rank(name) for name in ("steps", "score", "updates", "zeta")] == [
        (-1, "steps"),
        (0, "score"),
        (len(SHOWN) - 1, "updates"),
        (len(SHOWN), "zeta"),
    ]


def test_what_sides_are_called():
    """By their own names, unless they have one name."""
    assert names(run(), target()) == ("source", "target")
    assert names(run(), run()) == ("left", "right")


def test_nothing_is_told_that_was_not_asked():
    """The defaults: bit for bit, no windows, no bands, no schedule, laws that both break do not fail."""
    assert Told() == Told("exact", 0, {}, None, None, False)
    bare = Compared("s", "exact", (1,), 4, Verdict.MATCH, "r")
    assert bare == Compared(
        "s", "exact", (1,), 4, Verdict.MATCH, "r", (), (), (), 0, 0, (), (), (), (), (), (), None, ()
    )
    assert bare.first is None
    one, other = Finding("k", None, None, "exact", "t"), Finding("l", None, None, "exact", "t")
    assert replace(bare, findings=(one, other)).first is one


def test_a_curve_in_full():
    """Columns, the steps that differ, counts and the largest difference, of a metric that starts late on one side."""
    left = run((1, "loss", None), (2, "loss", 0.0), (3, "loss", 5.0), steps=4)
    right = target((1, "loss", None), (2, "loss", 1.0), (3, "loss", 2.0), steps=3)
    found = {curve.metric: curve for curve in curves(left, right, "exact", 0)}
    assert tuple(found) == SHOWN
    assert found["loss"] == Curve(
        seed=1, metric="loss", numeric=True, left=(None, 0.0, 5.0, 0.125), right=(None, 1.0, 2.0, None),
        different=(2, 3, 4), low=(), high=(), outside=(), equal=0, of=3,
        largest=Largest(1, 3, 3.0, ulps(leaf(5.0), leaf(2.0)), 5.0, 2.0),
    )  # fmt: skip
    again = {curve.metric: curve for curve in curves(right, left, "exact", 0)}["loss"]
    assert (again.left, again.right, again.different) == (found["loss"].right, found["loss"].left, (2, 3, 4))
    assert again.largest == Largest(1, 3, 3.0, again.largest.ulps, 2.0, 5.0)


def test_what_has_no_size_is_never_the_largest():
    """A word, a value of one side, a NaN: none is a distance; infinities are."""
    changes = (1, "loss", "word"), (2, "lr", None), (3, "entropy", math.nan), (4, "score", math.inf), (4, "odd", 1)
    for left, right in ((run(*changes), target()), (run(), target(*changes))):
        found = {curve.metric: curve for curve in curves(left, right, "exact", 0)}
        assert [found[name].largest for name in ("loss", "lr", "entropy", "odd")] == [None] * 4
        assert [found[name].different for name in ("loss", "lr", "entropy", "odd")] == [(1,), (2,), (3,), (4,)]
        assert (found["score"].largest.absolute, found["score"].largest.step) == (math.inf, 4)
        assert [found[name].numeric for name in ("loss", "lr", "odd")] == [False, True, True]
        assert (found["odd"].of, found["odd"].equal) == (1, 0)
        assert list(found)[-1] == "odd"
    (ends,) = [one for one in curves(run((1, "loss", math.inf)), target((1, "loss", -math.inf)), "exact", 0)
               if one.metric == "loss"]  # fmt: skip
    assert (ends.largest.absolute, ends.largest.left, ends.largest.right) == (math.inf, math.inf, -math.inf)


def test_the_envelope_of_a_curve():
    """Bounds at every step that the evidence has, None where there are none or equal bits are asked; who leaves."""
    rng = random.Random(3)
    left = noisy(rng)
    right = noisy(rng, side="target")
    longer = replace(right, steps=(*right.steps[:2], {**right.steps[2], "loss": leaf(9.0)}, right.steps[3], {}))
    m = EVIDENCE.compared(2)
    found = {curve.metric: curve for curve in curves(left, longer, EVIDENCE, m)}
    bounds = [EVIDENCE.bounds((step, "loss"), m) for step in range(1, 5)]
    assert found["loss"].low == (*(one.low for one in bounds), None)
    assert found["loss"].high == (*(one.high for one in bounds), None)
    assert (found["loss"].outside, found["tokens"].outside) == ((3,), ())
    assert (found["tokens"].low, found["tokens"].high) == ((None,) * 5, (None,) * 5)
    assert compared([left], [right], WITHIN).curves == tuple(curves(left, right, EVIDENCE, m))
    far = [noisy(rng, shift=3.0), noisy(rng, side="target", shift=3.0)]
    both = {curve.metric: curve for curve in curves(*far, EVIDENCE, m)}
    assert (both["entropy"].outside, both["loss"].outside) == ((1, 2, 3, 4), ())


def test_metrics_over_seeds():
    """Counts are added up; of the largest differences the largest is kept, wherever it stands."""
    values = ((1, 0.25), (2, 9.0), (3, 0.5))
    pairs = [(run(seed=seed), target((2, "loss", value), seed=seed)) for seed, value in values]
    found = [curve for pair in pairs for curve in curves(*pair, "exact", 0)]
    told = {one.metric: one for one in metrics(found)}
    assert tuple(told) == SHOWN
    assert told["lr"] == Metric("lr", 12, 12, None)
    assert (told["loss"].equal, told["loss"].of, told["loss"].largest.seed) == (9, 12, 2)
