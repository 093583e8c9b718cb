"""Rolling windows and bands."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parity.smoke.windows import Band, WindowRow, band_row, rolling, window_rows
from tests.smoke.runs import run, target


def test_mean_and_range_of_each_window():
    """Each window has the mean and the range of its steps, and there is one for each place it fits."""
    assert rolling([1.0, 2.0, 6.0, 4.0], 3) == [(3.0, 5.0), (4.0, 4.0)]
    assert rolling([1.0, 2.0], 1) == [(1.0, 0.0), (2.0, 0.0)]
    assert rolling([1.0, 2.0], 3) == []


@pytest.mark.parametrize("odd", [None, math.nan, math.inf])
def test_a_window_with_no_number_in_it_has_none(odd):
    """A step without a finite number empties the windows that hold it and no other."""
    assert rolling([1.0, odd, 3.0, 4.0], 2) == [(None, None), (None, None), (3.5, 1.0)]


def test_a_window_of_no_steps_is_refused():
    """A window has at least one step."""
    with pytest.raises(ValueError, match="a window of 0 steps"):
        rolling([1.0], 0)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=9), st.integers(1, 4))
def test_a_mean_lies_in_its_window(column, length):
    """The mean lies between the lowest and the highest, which are the range apart."""
    for start, (mean, spread) in enumerate(rolling(column, length)):
        part = column[start : start + length]
        assert min(part) - 1e-9 <= mean <= max(part) + 1e-9
        assert spread == max(part) - min(part)


def test_rows_have_both_sides_and_their_difference():
    """A row says how far the right side is from the left, in the mean and in the range; steps count from 1."""
    left = run((1, "loss", 1.0), (2, "loss", 2.0), (3, "loss", 3.0), steps=3)
    right = target((1, "loss", 1.5), (2, "loss", 3.0), (3, "loss", 4.0), steps=3)
    assert window_rows(left, right, "loss", 2) == [
        WindowRow(1, "loss", 1, 2, 1.5, 2.25, 0.75, 1.0, 1.5, 0.5),
        WindowRow(1, "loss", 2, 3, 2.5, 3.5, 1.0, 1.0, 1.0, 0.0),
    ]


def test_a_missing_step_leaves_no_difference():
    """Where a side lacks a number there is no difference, rather than one to nothing."""
    row = window_rows(run((1, "loss", None), steps=2), target(steps=2), "loss", 2)[0]
    assert (row.left_mean, row.right_mean, row.mean_difference, row.range_difference) == (None, 0.125, None, None)


def test_a_band_holds_on_both_ends():
    """Both ends belong to the band; below, above, NaN and nothing are outside."""
    band = Band(0.17, 0.21, "as measured")
    values = [0.17, 0.21, 0.16999, 0.21001, math.nan, None]
    row = band_row(run(*((k, "entropy", v) for k, v in enumerate(values, 1)), steps=6), "left", "entropy", band)
    assert row.outside == (3, 4, 5, 6)
    assert (row.side, row.seed, row.band.why) == ("left", 1, "as measured")


def test_an_empty_band_is_refused():
    """A band whose low end is above its high end, or no number, holds nothing."""
    for low, high in ((2.0, 1.0), (math.nan, 1.0)):
        with pytest.raises(ValueError, match="holds nothing"):
            Band(low, high)
