"""What one side has to hold whatever the other does: a law that is broken on one side is a finding of that side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from parity.smoke.outcome import Finding, RuleKind, Side, Told, names
from parity.smoke.schedule import Schedule, check, collapsed, updates_so_far
from parity.smoke.series import Series

RATIO_TOLERANCE = 1e-3
# Below this a ratio is off by no more than two passes in 16 bits are.
ROUNDING = 2e-2
# The digest of the sampler's weights after the sync of a step.
WEIGHTS = "digest/weights"

UNALIGNED = (
    "the old log-probs are not of the same tokens or temperature as the new ones: shift, alignment or temperature"
)
ROUNDED = "the passes of the old and of the new log-probs round differently (dtype), or part a little otherwise"


@dataclass(frozen=True)
class Broken:
    """One law broken at one step (from 1) of one run. `gross` is more than what rounding does."""

    law: str
    metric: str
    step: int
    told: str
    cause: str
    rule: RuleKind = "law"
    gross: bool = True

    @property
    def place(self) -> tuple[str, str, int]:
        return self.law, self.metric, self.step


Laws = Mapping[tuple[str, str, int], Broken]


def broken(series: Series, told: Told) -> list[Broken]:
    """Every law that a run breaks, law by law."""
    found = [*_ratio(series), *_finite(series), *_synced(series)]
    if told.updates is not None:
        found += _updates(series, told.updates)
    if told.schedule is not None:
        found += _schedule(series, told.schedule)
    return found


def law_findings(left: Series, right: Series, told: Told, prefix: str) -> tuple[list[Finding], list[Finding]]:
    """The findings of one side alone, and those of laws that both sides break at the same step."""
    ours, theirs = ({one.place: one for one in broken(run, told)} for run in (left, right))
    alone = [_finding(one, "left", left, right, prefix) for one in _worse(ours, theirs)]
    alone += [_finding(one, "right", left, right, prefix) for one in _worse(theirs, ours)]
    alike = [one for law, one in ours.items() if law in theirs and theirs[law].gross == one.gross]
    return alone, [_finding(one, "both", left, right, prefix) for one in alike]


def _worse(own: Laws, other: Laws) -> list[Broken]:
    """What a side breaks and the other does not, or breaks grossly where the other only rounds."""
    return [one for law, one in own.items() if law not in other or (one.gross and not other[law].gross)]


def _finding(one: Broken, side: Side, left: Series, right: Series, prefix: str) -> Finding:
    ours, theirs = (
        series.steps[one.step - 1].get(one.metric) if one.step <= len(series.steps) else None
        for series in (left, right)
    )
    who = "both sides" if side == "both" else f"the {names(left, right)[side == 'right']} side"
    key = f"{prefix}step[{one.step}].{one.metric}"
    return Finding(key, ours, theirs, one.rule, f"{who}: {one.told}", side, left.seed, one.step, one.metric, one.cause)


def _ratio(series: Series) -> Iterator[Broken]:
    for step, ratio in enumerate(series.column("first_ratio"), 1):
        if ratio is not None and not abs(ratio - 1) <= RATIO_TOLERANCE:
            told = f"the ratio before the first update is {ratio:.6g}; it has to be 1 within {RATIO_TOLERANCE}"
            gross = not abs(ratio - 1) <= ROUNDING
            yield Broken("ratio", "first_ratio", step, told, UNALIGNED if gross else ROUNDED, gross=gross)


def _finite(series: Series) -> Iterator[Broken]:
    for name in ("loss", "grad_norm"):
        for step, value in enumerate(series.column(name), 1):
            if value is not None and not math.isfinite(value):
                yield Broken("finite", name, step, f"{name} is {value}", "the training broke down: it learns nothing")


def _synced(series: Series) -> Iterator[Broken]:
    """Weights may stand still while the rate of the update is 0, and where nothing pulls at them.

    The update of a step is made at the rate that was reported after the step before.
    """
    digests = [step.get(WEIGHTS) for step in series.steps]
    rates, pulls = series.column("lr"), series.column("grad_norm")
    for place in range(1, len(digests)):
        still = digests[place] is not None and digests[place] == digests[place - 1]
        if still and rates[place - 1] and pulls[place]:
            told = "the sampler's weights are those of the step before, though the optimizer took a step"
            yield Broken("synced", WEIGHTS, place + 1, told, "the weights are not synced after the update")


def _updates(series: Series, asked: int) -> Iterator[Broken]:
    for step, count in enumerate(series.column("updates"), 1):
        if count is not None and count != asked:
            told = f"{count:g} optimizer steps; the config asks for {asked}"
            yield Broken("updates", "updates", step, told, "the mini-batch loop or ppo_epochs")


def _schedule(series: Series, schedule: Schedule) -> Iterator[Broken]:
    wrong = check(series, schedule)
    if not wrong:
        return
    values = schedule.series(updates_so_far(series))
    cause = collapsed(series, schedule) or "the schedule: peak, warm-up, horizon or kind"
    for step in wrong:
        told = f"the learning rate is {series.column('lr')[step - 1]!r}; the schedule gives {values[step - 1]!r}"
        yield Broken("schedule", "lr", step, told, cause, "schedule")
