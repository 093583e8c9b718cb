"""Rolling windows (mean and range) of both sides, and bands that both sides must stay in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from parity.smoke.series import Series

Number = float | None


@dataclass(frozen=True)
class Band:
    """Where a metric must lie at each step of both sides, ends included, and why."""

    low: float
    high: float
    why: str = ""

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"a band from {self.low} to {self.high} holds nothing")


@dataclass(frozen=True)
class WindowRow:
    """One metric over the steps `first` to `last` (counted from 1). A number is None where a step lacks it."""

    seed: int
    metric: str
    first: int
    last: int
    left_mean: Number
    right_mean: Number
    mean_difference: Number  # right - left
    left_range: Number  # highest - lowest
    right_range: Number
    range_difference: Number


@dataclass(frozen=True)
class BandRow:
    """One side of one seed against one band. `outside` holds the steps (from 1) that left it, or lack the metric."""

    metric: str
    band: Band
    side: str
    seed: int
    lowest: Number
    highest: Number
    outside: tuple[int, ...]


def rolling(column: Sequence[Number], length: int) -> list[tuple[Number, Number]]:
    """Mean and range of each window of `length` steps; None where it holds a step without a finite number."""
    if length < 1:
        raise ValueError(f"a window of {length} steps")
    return [_window(column[start : start + length]) for start in range(len(column) - length + 1)]


def _window(values: Sequence[Number]) -> tuple[Number, Number]:
    known = [value for value in values if value is not None and math.isfinite(value)]
    if len(known) < len(values):
        return None, None
    return math.fsum(known) / len(known), max(known) - min(known)


def window_rows(left: Series, right: Series, metric: str, length: int) -> list[WindowRow]:
    """The windows that both sides have, in the order of the steps."""
    pairs = zip(rolling(left.column(metric), length), rolling(right.column(metric), length), strict=False)
    return [
        WindowRow(
            left.seed,
            metric,
            start + 1,
            start + length,
            ours[0],
            theirs[0],
            _minus(theirs[0], ours[0]),
            ours[1],
            theirs[1],
            _minus(theirs[1], ours[1]),
        )
        for start, (ours, theirs) in enumerate(pairs)
    ]


def _minus(one: Number, other: Number) -> Number:
    return None if one is None or other is None else one - other


def band_row(series: Series, side: str, metric: str, band: Band) -> BandRow:
    """Every step of one side against a band. A NaN is outside."""
    column = series.column(metric)
    known = [value for value in column if value is not None]
    outside = [place for place, value in enumerate(column, 1) if value is None or not band.low <= value <= band.high]
    return BandRow(metric, band, side, series.seed, min(known, default=None), max(known, default=None), tuple(outside))
