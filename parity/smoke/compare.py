"""Two sides' training runs of one scenario, paired by seed, step by step: MATCH, DIFFER or INCOMPARABLE.

`compared` is the whole of it. Mode `exact` asks equal bits of every metric of every step, of the validation and of the
number of steps; an `Envelope` asks that both sides lie, two-sided and at every step, where equal code of the source
lies. Nothing is compared on an intersection: what one side lacks is a finding. On top stand laws that each side has to
hold (`laws`), the learning rates in closed form (`schedule`), bands and rolling windows (`windows`).

What cannot be compared is INCOMPARABLE and never a match: a crashed side, no steps, another environment, seeds of one
side only, rewards that never vary (nothing can be learnt), evidence of other runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from parity.record import Leaf
from parity.smoke.backdrop import backdrop
from parity.smoke.causes import cause
from parity.smoke.cells import difference, strays
from parity.smoke.curves import curves, metrics
from parity.smoke.envelope import Envelope, cells, detectable, environment
from parity.smoke.laws import law_findings
from parity.smoke.outcome import Compared, Curve, Finding, Largest, Metric, Mode, Row, Side, Told, names, rank
from parity.smoke.schedule import blind
from parity.smoke.schedule import rows as schedule_rows
from parity.smoke.series import SHOWN, Series
from parity.smoke.windows import BandRow, WindowRow, band_row, window_rows
from parity.verdict import Verdict
from porttool.report import counted

__all__ = ["Compared", "Curve", "Finding", "Largest", "Metric", "Row", "Told", "cause", "compared"]

Pair = tuple[Series, Series]


def compared(left: Sequence[Series], right: Sequence[Series], told: Told) -> Compared:
    """Compare the runs of one scenario. Runs are paired by seed; each seed has to be on both sides."""
    reason = _unpaired(left, right)
    if reason:
        return _nothing(left, right, told, reason)
    others = {run.seed: run for run in right}
    pairs = [(run, others[run.seed]) for run in sorted(left, key=lambda run: run.seed)]
    reason = _incomparable(pairs) or _evidence(pairs, told.mode)
    shown = _shown(_nothing(left, right, told, reason), pairs, told)
    return shown if reason else _judged(shown, pairs, told)


def _nothing(left: Sequence[Series], right: Sequence[Series], told: Told, reason: str) -> Compared:
    runs = [*left, *right]
    return Compared(
        scenario=runs[0].scenario if runs else "",
        mode="exact" if told.mode == "exact" else "envelope",
        seeds=tuple(sorted({run.seed for run in runs})),
        steps=max((len(run.steps) for run in runs), default=0),
        verdict=Verdict.INCOMPARABLE,
        reason=reason,
    )


def _unpaired(left: Sequence[Series], right: Sequence[Series]) -> str:
    if not left or not right:
        return f"the {'right' if left else 'left'} side has no run"
    names = sorted({run.scenario for run in (*left, *right)})
    if len(names) > 1:
        return f"these are runs of several scenarios: {', '.join(names)}"
    for side, runs in (("left", left), ("right", right)):
        if len({run.seed for run in runs}) < len(runs):
            return f"the {side} side has two runs of one seed"
    alone = sorted({run.seed for run in left} ^ {run.seed for run in right})
    return f"seed {', '.join(map(str, alone))} was run on one side only" if alone else ""


def _incomparable(pairs: Sequence[Pair]) -> str:
    runs = [run for pair in pairs for run in pair]
    for run in runs:
        if run.crashed:
            last = run.crashed.strip().splitlines()[-1]
            return f"the {run.side} side crashed after {counted(len(run.steps), 'step')}: {last}"
        if not run.steps:
            return f"the {run.side} side has no steps"
    ours = environment(runs[0])
    for run in runs[1:]:
        reason = _apart(ours, environment(run))
        if reason:
            return f"the environments differ: {reason}"
    return next((reason for run in runs if (reason := _flat(run))), "") or _broken_down(pairs)


def _broken_down(pairs: Sequence[Pair]) -> str:
    """A score or a loss that is no number on both sides: equal NaNs say nothing about what would have been trained."""
    for left, right in pairs:
        for name in ("score", "loss"):
            told = any(name in step for step in (*left.steps, *right.steps))
            if told and not any(value is not None for value in (*left.column(name), *right.column(name))):
                return f"{name} is a number in no step on either side: nothing is seen of the training"
            for step, both in enumerate(zip(left.column(name), right.column(name), strict=False), 1):
                if all(value is not None and not math.isfinite(value) for value in both):
                    what = " and ".join(dict.fromkeys(map(str, both)))
                    return f"{name} is {what} at step {step} on both sides: the training broke down"
    return ""


def _apart(ours: Mapping[str, str], theirs: Mapping[str, str]) -> str:
    names = [name for name in sorted({*ours, *theirs}) if ours.get(name) != theirs.get(name)]
    return "; ".join(f"{name} is {ours.get(name)!r} and {theirs.get(name)!r}" for name in names)


def _flat(run: Series) -> str:
    """Rewards that never vary within a step, or a gradient that is always 0: nothing is seen of an update."""
    if not run.variance or any(value > 0 for value in run.variance):
        flat = set(run.column("grad_norm")) == {0.0}
        return f"the {run.side} side: the gradient is 0 in every step: nothing can be learnt" if flat else ""
    always = {step["score"] for step in run.steps if "score" in step}
    only = next(iter(always)).number() if len(always) == 1 else None
    what = f"reward always {only:g}" if only is not None else "the rewards of a step are always equal"
    return f"the {run.side} side: {what}: nothing can be learnt"


def _evidence(pairs: Sequence[Pair], mode: Envelope | str) -> str:
    if not isinstance(mode, Envelope):
        return ""
    runs = [run for pair in pairs for run in pair]
    if mode.scenario != runs[0].scenario:
        return f"the evidence is of scenario {mode.scenario!r}, the runs of {runs[0].scenario!r}"
    reason = _apart(mode.environment, environment(runs[0]))
    if reason:
        return f"the evidence is of another environment: {reason}"
    if all(len(run.steps) != mode.steps for run in runs):
        return f"the evidence is of {mode.steps} steps, the runs of {len(runs[0].steps)}"
    odd = [run.seed for run in runs if run.seed not in mode.seeds]
    if len(mode.seeds) == 1 and odd:
        return f"the evidence is of seed {mode.seeds[0]}, a run of seed {odd[0]}"
    return ""


def _shown(start: Compared, pairs: Sequence[Pair], told: Told) -> Compared:
    """All that is shown whatever the verdict."""
    # Evidence that was refused is not drawn.
    mode = "exact" if start.reason else told.mode
    found = [curve for pair in pairs for curve in curves(*pair, mode, _compared_cells(mode, pairs))]
    found.sort(key=lambda curve: (rank(curve.metric), curve.seed))
    apart = {(curve.seed, step) for curve in found for step in curve.different}
    of = sum(max(len(left.steps), len(right.steps)) for left, right in pairs)
    envelope = mode if isinstance(mode, Envelope) else None
    unfit = _evidence(pairs, told.backdrop)
    return replace(
        start,
        curves=tuple(found),
        metrics=tuple(metrics(found)),
        equal_steps=of - len(apart),
        of_steps=of,
        windows=tuple(_windows(pairs, found, told.windows)),
        bands=tuple(_bands(pairs, told)),
        schedule=tuple(row for pair in pairs for row in schedule_rows(*pair, told.schedule)) if told.schedule else (),
        validation=tuple(row for pair in pairs for row in _validation(pair)),
        rate=envelope.alpha if envelope else None,
        detectable=detectable(envelope, series=2 * len(pairs)) if envelope else (),
        backdrop=None if start.reason or envelope else backdrop(pairs, found, told.backdrop, unfit),
    )


def _compared_cells(mode: Mode, pairs: Sequence[Pair]) -> int:
    return mode.compared(2 * len(pairs)) if isinstance(mode, Envelope) else 0


def _judged(shown: Compared, pairs: Sequence[Pair], told: Told) -> Compared:
    findings: list[Finding] = []
    shared: list[Finding] = []
    for left, right in pairs:
        prefix = f"seed[{left.seed}]." if len(pairs) > 1 else ""
        apart = list(_cells(left, right, told.mode, prefix, _compared_cells(told.mode, pairs)))
        findings += [*_number_of_steps(left, right, prefix), *apart]
        alone, both = law_findings(left, right, told, prefix)
        shared += both
        equal = {one.key for one in alone if _number(one)}.difference(one.key for one in apart)
        # A number that is equal to the comparison is no fault of one side, though noise put one beyond a limit.
        shared += [one for one in alone if one.key in equal]
        findings += [one for one in alone if one.key not in equal]
        findings += _outside_bands(left, right, shown.bands, prefix)
    findings.sort(key=lambda one: one.place)
    shared.sort(key=lambda one: one.place)
    found = replace(shown, findings=tuple(findings), shared=tuple(shared), notes=tuple(_notes(pairs, told)))
    found = replace(found, findings=tuple(replace(one, cause=cause(one, found)) for one in findings))
    failing = (*found.findings, *(found.shared if told.shared_fails else ()))
    if failing:
        return replace(found, verdict=Verdict.DIFFER, reason=_reason(failing))
    return replace(found, verdict=Verdict.MATCH, reason=_why(found))


def _number(one: Finding) -> bool:
    return all(told is not None and told.number() is not None for told in (one.left, one.right))


def _reason(failing: Sequence[Finding]) -> str:
    rest = len(failing) - 1
    return f"{failing[0].key}: {failing[0].told}" + (f"; and {rest} more" if rest else "")


def _why(found: Compared) -> str:
    steps, metrics = counted(found.of_steps, "step"), counted(len(found.metrics), "metric")
    what = f"{steps} of {metrics} and {counted(len(found.validation), 'validation value')}"
    if found.rate is None:
        return f"{what} are equal bit for bit"
    return f"{what} lie in the envelope of equal code (false alarms of such a comparison: at most {found.rate:g})"


def _number_of_steps(left: Series, right: Series, prefix: str) -> Iterator[Finding]:
    ours, theirs = len(left.steps), len(right.steps)
    if ours != theirs:
        called = names(left, right)
        told = f"the {called[0]} side has {ours} steps, the {called[1]} side {theirs}"
        sides = Leaf("int", ours), Leaf("int", theirs)
        yield Finding(f"{prefix}steps", *sides, "steps", told, "", left.seed, min(ours, theirs) + 1, "steps")


def _cells(left: Series, right: Series, mode: Mode, prefix: str, m: int) -> Iterator[Finding]:
    """Every cell of either side, and of the evidence; m cells are compared with an envelope in all."""
    ours, theirs, called = dict(cells(left)), dict(cells(right)), names(left, right)
    asked = mode.spreads if isinstance(mode, Envelope) else {}
    for cell in {**ours, **theirs, **dict.fromkeys(asked)}:
        step, metric = cell
        both = ours.get(cell), theirs.get(cell)
        key = f"{prefix}step[{step}].{metric}" if step else f"{prefix}validation.{metric}"
        if isinstance(mode, Envelope):
            side, told = strays(both, called, mode, cell, m)
            own = side and called[side == "right"] == mode.runs[0].side
            why = "code of which the evidence was made leaves it: is the evidence still of this source?" if own else ""
            found = Finding(key, *both, "envelope", told, side, left.seed, step, metric, why)
        else:
            found = Finding(key, *both, "exact", difference(both, called), "", left.seed, step, metric)
        if found.told:
            yield found


def _outside_bands(left: Series, right: Series, rows: Sequence[BandRow], prefix: str) -> Iterator[Finding]:
    for row in rows:
        for step in row.outside if row.seed == left.seed else ():
            ours, theirs = (
                run.steps[step - 1].get(row.metric) if step <= len(run.steps) else None for run in (left, right)
            )
            value = ours if row.side == "left" else theirs
            why = f" ({row.band.why})" if row.band.why else ""
            side: Side = "left" if row.side == "left" else "right"
            who = names(left, right)[side == "right"]
            told = f"the {who} side: {value or 'nothing'} is not within {row.band.low:g} to {row.band.high:g}{why}"
            key = f"{prefix}step[{step}].{row.metric}"
            yield Finding(key, ours, theirs, "band", told, side, left.seed, step, row.metric)


def _windows(pairs: Sequence[Pair], curves: Sequence[Curve], length: int) -> Iterator[WindowRow]:
    if length < 1:
        return
    numeric = {(curve.seed, curve.metric) for curve in curves if curve.numeric}
    for name in SHOWN:
        for left, right in pairs:
            if (left.seed, name) in numeric:
                yield from window_rows(left, right, name, length)


def _bands(pairs: Sequence[Pair], told: Told) -> Iterator[BandRow]:
    for name, band in sorted(told.bands.items(), key=lambda item: rank(item[0])):
        for left, right in pairs:
            yield band_row(left, "left", name, band)
            yield band_row(right, "right", name, band)


def _validation(pair: Pair) -> Iterator[Row]:
    left, right = pair
    for key in sorted({*left.validation, *right.validation}):
        ours, theirs = left.validation.get(key), right.validation.get(key)
        yield Row(left.seed, key, ours, theirs, ours == theirs)


def _notes(pairs: Sequence[Pair], told: Told) -> Iterator[str]:
    for pair in pairs:
        for run, called in zip(pair, names(*pair), strict=True):
            flat = [step for step, variance in enumerate(run.variance, 1) if variance == 0]
            if flat:
                steps = ", ".join(map(str, flat))
                yield f"the {called} side, seed {run.seed}: all rewards of step {steps} are equal; it learns nothing"
            rates = run.column("lr")
            if rates[0] == 0 and not any(rates[:-1]):
                yield f"the {called} side, seed {run.seed}: every update is made at rate 0; take more steps to see one"
    if isinstance(told.mode, Envelope) and told.mode.unsteady:
        yield f"differs among runs of equal code and is not compared: {', '.join(told.mode.unsteady)}"
    if isinstance(told.mode, Envelope) and all(spread.only is not None for spread in told.mode.spreads.values()):
        yield f"all {len(told.mode.runs)} A/A runs are alike: their envelope knows of no noise and asks equal bits"
    unseen = blind(pairs[0][0], told.schedule) if told.schedule else ""
    if unseen:
        yield unseen
