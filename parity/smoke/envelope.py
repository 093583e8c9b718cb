"""How far equal code strays: an envelope from A/A runs of the source, and the evidence it rests on.

For each cell (a metric at a step, or one of the validation) the n runs give a mean and a spread s. Under normal noise
a further run of the same code lies within

    mean +- t(1 - alpha/(2m), n-1) * s * sqrt(1 + 1/n)

with the chance 1 - alpha/m, exactly, for any n: it is the prediction interval of one more draw. With m the number of
cells that are compared (each metric, step, side and seed that has a spread), the chance that a whole comparison of
equal code leaves it anywhere is at most alpha, however the cells depend on each other (Bonferroni). The lowest and the
highest of the n runs are no such interval: the next run leaves them with the chance 2/(n+1) in each cell, a third at
n = 5.

Noise may also be discrete: most runs are equal, one goes another way, and at which step is chance. Five runs that are
alike in a cell, or apart by a last bit, are no proof then that the sixth is. So a metric is held to its very bits only
where it is alike in all of its cells, and no cell of another has a spread below the root mean square of its spreads
over the steps. That only widens, so the rate above still holds for normal noise; the price is that a step with less
noise than the others is held no closer than they are. For discrete noise no formula gives the rate: what a run does
with the chance p stays unseen by n of them with the chance (1 - p)^n, and the next run that does it is an alarm. A/A
runs beside the evidence (`porttool smoke --aa N`) measure it.

Words (digests) that differ among the runs anywhere say nothing about another run: of them only the presence is asked.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any

from parity.record import Key, Leaf
from parity.smoke import series as stored
from parity.smoke.series import Series
from parity.smoke.student import quantile

FEWEST = 5
ALPHA = 0.01
POWER = 0.9
ASSUMPTION = (
    "the noise of a metric at a step is normal, and a metric that is equal in all A/A runs has none; metrics and "
    "steps may depend on each other; for other noise the rate is what `porttool smoke --aa N` measures"
)
# The step under which the cells of the validation stand.
VALIDATION = 0
_NAMES = {"alpha", "assumption", "runs", "scenario", "digests", "seal", "series"}
Cell = tuple[int, Key]


class Refused(ValueError):
    """These runs are no evidence for an envelope."""


@dataclass(frozen=True)
class Spread:
    """One cell over the runs: `only` is what has to be held bit for bit, None where equal code may differ."""

    type: str
    only: Leaf | None
    mean: float = 0.0
    deviation: float = 0.0

    @property
    def numeric(self) -> bool:
        return self.type in ("int", "float")


@dataclass(frozen=True)
class Bounds:
    """Where a cell has to lie, ends included."""

    low: float
    high: float


@dataclass(frozen=True)
class Detectable:
    """The smallest shift of one metric that is seen with probability `POWER`, taking the measured spread for the true.

    `shift`: of all steps, seen at `step`, where the spread is least; other steps can only raise the chance.
    `everywhere`: of one single step, whichever it is. `exact_steps`: steps at which any change is seen.
    """

    metric: Key
    shift: float
    step: int
    everywhere: float
    exact_steps: int


@dataclass(frozen=True)
class Envelope:
    """A/A runs of the source, checked to be evidence, and the false-alarm rate asked of a whole comparison."""

    scenario: str
    alpha: float
    runs: tuple[Series, ...]

    @property
    def steps(self) -> int:
        return len(self.runs[0].steps)

    @property
    def seeds(self) -> tuple[int, ...]:
        """One seed: noise of equal seeds. As many seeds as runs: noise over seeds, for a run of any seed."""
        return tuple(sorted({run.seed for run in self.runs}))

    @property
    def environment(self) -> dict[str, str]:
        return environment(self.runs[0])

    @cached_property
    def spreads(self) -> Mapping[Cell, Spread]:
        """Every cell, by step (from 1; the validation stands under 0) and metric."""
        columns = [dict(cells(run)) for run in self.runs]
        found = {cell: _spread([column[cell] for column in columns]) for cell in columns[0]}
        # A metric of the validation is another than one of the steps, though it may have its name.
        by_metric: dict[tuple[bool, Key], dict[Cell, Spread]] = {}
        for (step, name), spread in found.items():
            by_metric.setdefault((step == VALIDATION, name), {})[step, name] = spread
        pooled = {cell: spread for own in by_metric.values() for cell, spread in _pooled(own).items()}
        return {cell: pooled[cell] for cell in found}

    @cached_property
    def unsteady(self) -> tuple[Key, ...]:
        """Metrics whose words differ among the runs at any step: not compared."""
        found = {name for (_, name), spread in self.spreads.items() if spread.only is None and not spread.numeric}
        return tuple(sorted(found))

    def compared(self, series: int) -> int:
        """How many cells with a spread a comparison has in which `series` runs are held to the envelope."""
        return series * sum(1 for spread in self.spreads.values() if spread.only is None and spread.numeric)

    def bounds(self, cell: Cell, m: int) -> Bounds | None:
        """Where this cell has to lie, if m cells are compared; None where it is no number, or held to equal bits."""
        spread = self.spreads[cell]
        if spread.only is not None or not spread.numeric:
            return None
        half = self._scale(spread) * self._factor(m)
        return Bounds(spread.mean - half, spread.mean + half)

    def _factor(self, m: int) -> float:
        return quantile(self.alpha / (2 * m), len(self.runs) - 1)

    def _scale(self, spread: Spread) -> float:
        return spread.deviation * math.sqrt(1 + 1 / len(self.runs))


def environment(run: Series) -> dict[str, str]:
    """What has to be equal for two runs to be compared at all."""
    return {name: value for name, value in sorted(run.provenance.items()) if name.startswith("env.")}


def cells(run: Series) -> Iterator[tuple[Cell, Leaf]]:
    """Everything that is compared of a run: each metric of each step (from 1), then the validation under 0."""
    for step, metrics in enumerate(run.steps, 1):
        yield from (((step, name), told) for name, told in metrics.items())
    yield from (((VALIDATION, name), told) for name, told in run.validation.items())


def measured(runs: Sequence[Series], alpha: float = ALPHA) -> Envelope:
    """An envelope from A/A runs of one side. Raises Refused on runs that are no evidence, saying which and why."""
    if not 0 < alpha < 1:
        raise Refused(f"alpha is {alpha}: a chance between 0 and 1 is needed")
    if len(runs) < FEWEST:
        raise Refused(f"{len(runs)} A/A runs: at least {FEWEST} are needed")
    for number, run in enumerate(runs, 1):
        reason = _unfit(run) or _unlike(runs[0], run)
        if reason:
            raise Refused(f"run {number}: {reason}")
    if len({run.seed for run in runs}) not in (1, len(runs)):
        raise Refused("the runs must have one seed, or a seed each")
    found = Envelope(runs[0].scenario, alpha, tuple(runs))
    odd = [cell for cell, spread in found.spreads.items() if not spread.type]
    if odd:
        step, name = odd[0]
        where = f"step {step}" if step else "the validation"
        raise Refused(f"{name} at {where} is no finite number of one type in all runs, nor equal in all of them")
    return found


def _unfit(run: Series) -> str:
    if run.crashed:
        return f"it crashed: {run.crashed.strip().splitlines()[-1]}"
    if not run.steps:
        return "it has no steps"
    if run.variance and not any(run.variance):
        return "its rewards never vary"
    return ""


def _unlike(first: Series, run: Series) -> str:
    if (run.scenario, run.side) != (first.scenario, first.side):
        return f"it is of {run.scenario!r} and the {run.side} side, the first of {first.scenario!r} and {first.side}"
    if len(run.steps) != len(first.steps):
        return f"it has {len(run.steps)} steps, the first {len(first.steps)}"
    ours, theirs = environment(first), environment(run)
    for name in sorted({*ours, *theirs}):
        if ours.get(name) != theirs.get(name):
            return f"its environment differs: {name} is {theirs.get(name)!r}, in the first {ours.get(name)!r}"
    odd = sorted({cell for cell, _ in cells(run)} ^ {cell for cell, _ in cells(first)})
    return f"it and the first do not have the same metrics: {odd[0][1]} at step {odd[0][0]}" if odd else ""


def _spread(found: Sequence[Leaf]) -> Spread:
    """A cell of runs that differ and are neither words nor finite numbers of one type has no type: it is refused."""
    first = found[0]
    if all(told == first for told in found):
        return Spread(first.type, first)
    if all(told.type == "str" for told in found):
        return Spread("str", None)
    numbers = [number for told in found if (number := told.number()) is not None and math.isfinite(number)]
    if len(numbers) < len(found) or any(told.type != first.type for told in found):
        return Spread("", None)
    mean = math.fsum(numbers) / len(numbers)
    square = math.fsum((number - mean) ** 2 for number in numbers)
    return Spread(first.type, None, mean, math.sqrt(square / (len(numbers) - 1)))


def _pooled(own: Mapping[Cell, Spread]) -> dict[Cell, Spread]:
    """The cells of one metric: alike in all, or none narrower than all of them together."""
    if all(spread.only is not None for spread in own.values()):
        return dict(own)
    square = math.fsum(spread.deviation**2 for spread in own.values()) / len(own)
    return {cell: _widened(spread, math.sqrt(square)) for cell, spread in own.items()}


def _widened(spread: Spread, least: float) -> Spread:
    if spread.only is None:
        return replace(spread, deviation=max(spread.deviation, least)) if spread.numeric else spread
    if not spread.numeric:
        return replace(spread, only=None) if spread.type == "str" else spread
    mean = spread.only.number()
    # No interval is laid around a NaN or an infinity.
    return spread if mean is None or not math.isfinite(mean) else Spread(spread.type, None, mean, least)


def detectable(envelope: Envelope, *, series: int = 2) -> tuple[Detectable, ...]:
    """What a comparison of so many runs can see, per numeric metric of the steps: to be told beside every MATCH."""
    m = max(1, envelope.compared(series))
    factor = envelope._factor(m) + NormalDist().inv_cdf(POWER)
    shown = []
    for name in envelope.runs[0].names():
        by_step = [(step, spread) for (step, metric), spread in envelope.spreads.items() if metric == name and step]
        if not all(spread.numeric for _, spread in by_step):
            continue
        shifts = [(factor * envelope._scale(spread), step) for step, spread in by_step]
        exact = sum(1 for _, spread in by_step if spread.only is not None)
        least, where = min(shifts)
        shown.append(Detectable(name, least, where, max(shifts)[0], exact))
    return tuple(shown)


def to_json(envelope: Envelope) -> str:
    """The evidence as a stable, diffable text: the runs themselves, so that it can be checked and measured again."""
    texts = [stored.to_json(run).rstrip("\n") for run in envelope.runs]
    head = {
        "alpha": envelope.alpha,
        "assumption": ASSUMPTION,
        "runs": len(envelope.runs),
        "scenario": envelope.scenario,
        "digests": [run.digest() for run in envelope.runs],
        # Over the runs with their provenance, so that the environment cannot be changed without being measured anew.
        "seal": hashlib.sha256("\n".join([envelope.alpha.hex(), *texts]).encode()).hexdigest(),
    }
    lines = ["{", *(f'"{name}": {json.dumps(value)},' for name, value in head.items()), '"series": [']
    return "\n".join([*lines, ",\n".join(texts), "]", "}", ""])


def from_json(text: str) -> Envelope:
    """The envelope of a text from `to_json`. Raises Refused on anything else, and on runs that someone changed."""
    try:
        told: Any = json.loads(text)
    except ValueError as error:
        raise Refused(f"this is not JSON: {error}") from error
    if not isinstance(told, dict) or set(told) != _NAMES:
        odd = sorted(_NAMES ^ set(told)) if isinstance(told, dict) else ["all of it"]
        raise Refused(f"this is not an envelope: {', '.join(odd)} missing or unknown")
    if isinstance(told["alpha"], bool) or not isinstance(told["alpha"], float) or not isinstance(told["series"], list):
        raise Refused("this is not an envelope: alpha is no float, or series is no list")
    try:
        envelope = measured([stored.from_json(json.dumps(run)) for run in told["series"]], told["alpha"])
    except Refused:
        raise
    except (TypeError, AttributeError, ValueError) as error:
        raise Refused(f"this is not an envelope: {error}") from error
    own = json.loads(to_json(envelope))
    # The assumption is told to a reader; it may be said in other words.
    odd = [name for name in sorted(_NAMES - {"assumption"}) if told[name] != own[name]]
    if odd:
        raise Refused(f"the runs are not those that the evidence was made of: {', '.join(odd)} differ")
    return envelope
