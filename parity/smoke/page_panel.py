"""What one small plot shows: a metric of both sides over the steps, and round numbers for its axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from parity.smoke.compare import Compared, Curve
from parity.smoke.series import SHOWN

Side = Literal["left", "right"]
# What the numbers of a metric are; one that is not here has no unit that is known.
UNITS = {
    "score": "mean reward",
    "ppo_kl": "nats a token",
    "entropy": "nats a token",
    "grad_norm": "L2, before clipping",
    "lr": "after the step",
    "first_ratio": "mean ratio, first update",
    "response_length": "tokens",
    "tokens": "tokens a batch",
    "updates": "optimizer steps",
}
_PLAIN = 1e-3, 1e6  # outside of it a number is written with its power of ten
MOST = 12  # plots of one scenario
_FEW = 6  # known metrics
_TELLING = 10_000  # further apart than this, the number of floats in between tells nobody anything


@dataclass(frozen=True)
class Trace:
    """A metric of one run; None where a step does not have it."""

    side: Side
    name: str
    values: tuple[float | None, ...]

    def points(self) -> list[tuple[int, float]]:
        """Steps, from 1, with their values, where there is a finite one."""
        return [(k, v) for k, v in enumerate(self.values, 1) if v is not None and math.isfinite(v)]

    def strokes(self) -> list[list[tuple[int, float]]]:
        """The points in unbroken runs of steps."""
        found: list[list[tuple[int, float]]] = []
        for step, value in self.points():
            if not found or found[-1][-1][0] != step - 1:
                found.append([])
            found[-1].append((step, value))
        return found


@dataclass(frozen=True)
class Mean:
    """Rolling means of one side: `(middle of the window, mean)`."""

    side: Side
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Panel:
    """One plot. `band` is what the envelope allows at each step, `limits` a fixed range that both sides must keep.

    `means` are rolling means, each at the middle of its window of `window` steps. `first` is the first step at which
    the sides are not equal (or not within the envelope), `told` the line below the plot.
    """

    metric: str
    traces: tuple[Trace, ...]
    band: tuple[tuple[float, float] | None, ...] = ()
    limits: tuple[float, float] | None = None
    means: tuple[Mean, ...] = ()
    window: int = 0
    first: int | None = None
    told: str = ""

    @property
    def unit(self) -> str:
        return UNITS.get(self.metric, "")

    @property
    def steps(self) -> int:
        return max((len(trace.values) for trace in self.traces), default=0)

    @property
    def whole(self) -> bool:
        """Whether all its values are whole numbers."""
        return all(value.is_integer() for trace in self.traces for _, value in trace.points())

    def span(self) -> tuple[float, float] | None:
        """The values that the plot must reach, with some air; None where there is none."""
        held = [value for trace in self.traces for _, value in trace.points()]
        if not held:
            return None
        held += [edge for pair in self.band if pair for edge in pair if math.isfinite(edge)]
        held += self.limits or ()
        low, high = min(held), max(held)
        air = (high - low) * 0.08 or abs(low) * 0.1 or 1.0
        return low - air, high + air


def ticks(low: float, high: float, *, whole: bool = False, about: int = 4) -> list[float]:
    """Round numbers between two, whole ones where all that is counted is whole."""
    rough = max((high - low) / about, 1.0 if whole else 0.0)
    power = 10.0 ** math.floor(math.log10(rough))
    pitch = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    first, last = math.ceil(low / pitch - 1e-9), math.floor(high / pitch + 1e-9)
    return [float(f"{k * pitch:.12g}") for k in range(first, last + 1)]


def step_ticks(steps: int, about: int = 8) -> list[int]:
    """Whole steps for an axis, the first always among them."""
    pitch = next(p * 10**k for k in range(12) for p in (1, 2, 5) if steps <= about * p * 10**k)
    return [1, *(k for k in range(pitch, steps + 1, pitch) if k != 1)]


def labels(places: Sequence[float]) -> list[str]:
    """How the ticks of an axis are written: all alike, with as many digits as tell them apart."""
    largest = max(map(abs, places), default=0.0)
    power = math.floor(math.log10(largest)) if largest else 0
    scaled = largest != 0 and not _PLAIN[0] <= largest < _PLAIN[1]
    unit = 10.0**power if scaled else 1.0
    digits = next((d for d in range(15) if all(_near(round(p / unit, d), p / unit) for p in places)), 15)
    end = f"e{power}" if scaled else ""
    return [f"{place / unit:.{digits}f}{end if place else ''}" for place in places]


def _near(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-15)


def number(value: float | None, digits: int = 6) -> str:
    """A value for a reader: so many significant digits, `-` where there is none."""
    if value is None:
        return "-"
    return f"{value:.{digits}g}".replace("e-0", "e-").replace("e+0", "e+")


def apart(*values: float | None) -> list[str]:
    """Values with as many digits as it takes to tell different ones apart, six at least."""
    different = len({v if v is None or not math.isnan(v) else "nan" for v in values})
    shown = [[number(value, digits) for value in values] for digits in range(6, 18)]
    return next((row for row in shown if len(set(row)) >= different), shown[-1])


def panels(told: Compared, sides: tuple[str, str]) -> list[Panel]:
    """A plot for each metric of `chosen`."""
    by_metric = {name: [curve for curve in told.curves if curve.metric == name] for name in chosen(told)}
    return [_panel(told, curves, sides) for curves in by_metric.values()]


def chosen(told: Compared) -> list[str]:
    """The metrics with numbers that are shown: the known ones, then those that part first, while there is room.

    Others are shown only of a trainer that has few of the known ones.
    """
    firsts: dict[str, int] = {}
    for curve in told.curves:
        if curve.numeric:
            first = min(away(curve), default=told.steps + 1)
            firsts[curve.metric] = min(first, firsts.get(curve.metric, first))
    few = len(firsts.keys() & set(SHOWN)) < _FEW
    held = [name for name, first in firsts.items() if name in SHOWN or first <= told.steps or few]
    order = sorted(held, key=lambda name: 0 if name in SHOWN else firsts[name])[:MOST]
    return [name for name in held if name in order]


def away(curve: Curve) -> tuple[int, ...]:
    """The steps at which the sides are too far apart: by any bit, or out of the envelope where there is one."""
    return curve.outside if curve.low else curve.different


def _panel(told: Compared, curves: Sequence[Curve], sides: tuple[str, str]) -> Panel:
    metric, several = curves[0].metric, len(curves) > 1
    traces = []
    for curve in curves:
        seed = f", seed {curve.seed}" if several else ""
        traces += [Trace("left", f"{sides[0]}{seed}", curve.left), Trace("right", f"{sides[1]}{seed}", curve.right)]
    behind = told.backdrop.bands.get(metric) if told.backdrop else None
    edges = zip(*(behind or (curves[0].low, curves[0].high)), strict=True)
    band = tuple((low, high) if low is not None and high is not None else None for low, high in edges)
    limits = next(((row.band.low, row.band.high) for row in told.bands if row.metric == metric), None)
    parted = [step for curve in curves for step in away(curve)]
    means, window = _means(told, metric) if not several else ((), 0)
    line = "; ".join([below(curves), *backdrop_lines(told, sides, metric)])
    return Panel(metric, tuple(traces), band, limits, means, window, min(parted, default=None), line)


def _means(told: Compared, metric: str) -> tuple[tuple[Mean, ...], int]:
    rows = [row for row in told.windows if row.metric == metric]
    if not rows:
        return (), 0
    at = [((row.first + row.last) / 2, row.left_mean, row.right_mean) for row in rows]
    left = Mean("left", tuple((middle, mean) for middle, mean, _ in at if mean is not None))
    right = Mean("right", tuple((middle, mean) for middle, _, mean in at if mean is not None))
    return (left, right), rows[0].last - rows[0].first + 1


def backdrop_lines(told: Compared, sides: tuple[str, str], metric: str = "") -> list[str]:
    """A line for each metric (or this one) and side that leaves the envelope behind an exact comparison."""
    found = []
    for one in told.backdrop.leaves if told.backdrop else ():
        if metric in ("", one.metric):
            seed = f", seed {one.seed}" if len(told.seeds) > 1 else ""
            which = "" if metric else f"{one.metric} "
            found.append(f"{which}leaves the envelope at step {one.step} ({sides[one.side == 'right']}{seed})")
    return found


def ulps(count: int | None) -> str:
    """How many floats two values are apart, where that is telling."""
    return f"{count}" if count is not None and count <= _TELLING else "-"


def below(curves: Sequence[Curve]) -> str:
    """What a reader should know of a metric, in a line."""
    of, equal = sum(curve.of for curve in curves), sum(curve.equal for curve in curves)
    if equal == of:
        return f"equal bit for bit in all {of} steps" if of > 1 else "equal bit for bit"
    largest = max((c.largest for c in curves if c.largest), key=lambda held: held.absolute, default=None)
    most = f"; largest difference {number(largest.absolute, 3)} at step {largest.step}" if largest else ""
    if not curves[0].low:
        first = min(step for curve in curves for step in curve.different)
        return f"differs in {of - equal} of {of} steps, from step {first}{most}"
    outside = sorted(step for curve in curves for step in curve.outside)
    if not outside:
        return f"within the envelope in all {of} steps{most}"
    return f"leaves the envelope in {len(outside)} of {of} steps, from step {outside[0]}{most}"
