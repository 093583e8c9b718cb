"""Each metric of both sides over the steps: what differs where, by how much, and where the envelope runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from parity.record import Key, Leaf
from parity.smoke.cells import strays, ulps
from parity.smoke.envelope import Envelope
from parity.smoke.outcome import Curve, Largest, Metric, Mode, names, rank
from parity.smoke.series import Series

Leaves = Sequence[Leaf | None]
Numbers = tuple[float | None, ...]


def curves(left: Series, right: Series, mode: Mode, m: int) -> Iterator[Curve]:
    """Every metric of either side of one seed, in the order in which they are shown; m cells are compared in all."""
    length = max(len(left.steps), len(right.steps))
    for metric in sorted({*left.names(), *right.names()}, key=rank):
        ours, theirs = (_leaves(run, metric, length) for run in (left, right))
        both = list(zip(ours, theirs, strict=True))
        places = [place for place, pair in enumerate(both, 1) if pair != (None, None)]
        different = tuple(place for place in places if both[place - 1][0] != both[place - 1][1])
        low: Numbers = ()
        high: Numbers = ()
        outside: tuple[int, ...] = ()
        if isinstance(mode, Envelope):
            low, high = bounds(mode, metric, length, m)
            called = names(left, right)
            outside = tuple(
                place for place in places if any(strays(both[place - 1], called, mode, (place, metric), m))
            )
        yield Curve(
            seed=left.seed,
            metric=metric,
            numeric=all(told is None or told.number() is not None for told in (*ours, *theirs)),
            left=_numbers(ours),
            right=_numbers(theirs),
            different=different,
            low=low,
            high=high,
            outside=outside,
            equal=len(places) - len(different),
            of=len(places),
            largest=_largest(left.seed, ours, theirs, different),
        )


def metrics(found: Sequence[Curve]) -> Iterator[Metric]:
    """Each metric over all seeds."""
    for name in dict.fromkeys(curve.metric for curve in found):
        own = [curve for curve in found if curve.metric == name]
        known = [curve.largest for curve in own if curve.largest]
        largest = max(known, key=lambda one: one.absolute, default=None)
        yield Metric(name, sum(curve.equal for curve in own), sum(curve.of for curve in own), largest)


def _leaves(run: Series, metric: Key, length: int) -> Leaves:
    found = [step.get(metric) for step in run.steps]
    return found + [None] * (length - len(found))


def _numbers(leaves: Leaves) -> Numbers:
    return tuple(told.number() if told else None for told in leaves)


def bounds(envelope: Envelope, metric: Key, length: int, m: int) -> tuple[Numbers, Numbers]:
    """The lowest and the highest of a metric at each step; None where it has no bounds."""
    found = [
        envelope.bounds((step, metric), m) if (step, metric) in envelope.spreads else None
        for step in range(1, length + 1)
    ]
    return tuple(one.low if one else None for one in found), tuple(one.high if one else None for one in found)


def _largest(seed: int, ours: Leaves, theirs: Leaves, different: Sequence[int]) -> Largest | None:
    found = []
    for step in different:
        one, other = ours[step - 1], theirs[step - 1]
        left, right = one.number() if one else None, other.number() if other else None
        if one and other and left is not None and right is not None and not math.isnan(left - right):
            found.append(Largest(seed, step, abs(left - right), ulps(one, other), left, right))
    return max(found, key=lambda one: one.absolute, default=None)
