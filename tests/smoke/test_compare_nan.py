"""Runs that are equal and prove nothing."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from parity.smoke.compare import Told, compared
from parity.verdict import Verdict
from tests.smoke.runs import run, target

EXACT = Told()


@pytest.mark.parametrize(("name", "value"), [("loss", math.nan), ("score", math.nan), ("loss", math.inf)])
def test_training_that_broke_down_on_both_sides_proves_nothing(name, value):
    """Equal NaNs are no evidence."""
    told = compared([run((2, name, value))], [target((2, name, value))], EXACT)
    assert told.verdict is Verdict.INCOMPARABLE
    assert f"{name} is {value} at step 2 on both sides" in told.reason


def test_training_that_broke_down_in_two_ways(name="loss"):
    """Both are told; how far the sides went does not matter."""
    told = compared([run((2, name, math.nan))], [target((2, name, math.inf), steps=3)], EXACT)
    assert told.verdict is Verdict.INCOMPARABLE
    assert told.reason.startswith("loss is nan and inf at step 2 on both sides")


@pytest.mark.parametrize("variance", [math.nan, -1.0])
def test_a_variance_that_is_none_is_no_variance(variance):
    """Rewards of which nothing is known to vary are taken as rewards that do not."""
    sides = [replace(side, variance=(variance,) * len(side.steps)) for side in (run(), target())]
    assert compared([sides[0]], [sides[1]], EXACT).verdict is Verdict.INCOMPARABLE


def test_a_loss_that_is_text_where_it_is_there():
    """In one step of several, and a number in none: nothing is seen of the training."""
    odd = [(1, "loss", "broken"), *((step, "loss", None) for step in (2, 3, 4))]
    told = compared([run(*odd)], [target(*odd)], EXACT)
    assert told.verdict is Verdict.INCOMPARABLE
    assert told.reason.startswith("loss is a number in no step on either side")
