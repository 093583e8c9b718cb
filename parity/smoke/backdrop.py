"""The envelope of equal code behind an exact comparison: drawn and told, without a part in the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from parity.record import Key
from parity.smoke.cells import strays
from parity.smoke.curves import bounds
from parity.smoke.envelope import Envelope
from parity.smoke.outcome import Backdrop, Curve, Leaves, names
from parity.smoke.series import Series

Pair = tuple[Series, Series]


def backdrop(
    pairs: Sequence[Pair], shown: Sequence[Curve], evidence: Envelope | str, unfit: str = ""
) -> Backdrop | None:
    """Where the envelope runs for each metric with numbers, as wide as if it decided, and where each side leaves it.

    Evidence that does not fit, or cannot be read, is not drawn, and why is told.
    """
    if isinstance(evidence, str) or unfit:
        why = evidence if isinstance(evidence, str) else unfit
        return Backdrop(refused=why) if why else None
    m = evidence.compared(2 * len(pairs))
    numeric = [name for name in dict.fromkeys(curve.metric for curve in shown) if _drawn(name, shown, evidence)]
    bands = {name: bounds(evidence, name, evidence.steps, m) for name in numeric}
    found = tuple(one for name in numeric for left, right in pairs for one in _leaves(left, right, name, evidence, m))
    return Backdrop(bands=bands, leaves=found, runs=len(evidence.runs))


def _drawn(metric: Key, shown: Sequence[Curve], evidence: Envelope) -> bool:
    return (1, metric) in evidence.spreads and all(curve.numeric for curve in shown if curve.metric == metric)


def _leaves(left: Series, right: Series, metric: Key, evidence: Envelope, m: int) -> Iterator[Leaves]:
    called = names(left, right)
    sides: tuple[tuple[Literal["left", "right"], Series], ...] = (("left", left), ("right", right))
    for side, run in sides:
        for step, told in enumerate(run.steps, 1):
            cell, value = (step, metric), told.get(metric)
            # What one of the two does not have is no number that leaves anything.
            if value is not None and cell in evidence.spreads and strays((value, value), called, evidence, cell, m)[1]:
                yield Leaves(left.seed, metric, side, step)
                break
