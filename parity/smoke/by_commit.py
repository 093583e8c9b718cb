"""Which ported commit opens or closes a gap: the target is run at its base and after each commit, the source once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from parity.capture import Checkout
from parity.probes.run import side_of
from parity.scenario import Scenario
from parity.smoke.compare import compared
from parity.smoke.launch import Watch
from parity.smoke.outcome import Compared, Curve
from parity.smoke.page_shown import Cause, Shown
from parity.smoke.run import Trainer
from parity.smoke.series import Series
from parity.verdict import Verdict
from porttool.errors import UsageError
from porttool.repo import Repository, open_location

BASE = "(before the port)"


@dataclass(frozen=True, order=True)
class Distance:
    """How far a target is from the source: what is wrong is counted first, then how much.

    A run that cannot be compared is further away than any other.
    """

    incomparable: bool
    findings: int
    amount: float


@dataclass(frozen=True)
class Row:
    """The target after one commit, against the source. `told` says what the commit did to the gap; "" = nothing."""

    commit: str
    subject: str
    compared: Compared
    distance: Distance
    cells: int
    told: str = ""

    @property
    def equal(self) -> str:
        """Equal steps, as `k/n`."""
        return f"{self.compared.equal_steps}/{self.compared.of_steps}"

    @property
    def first(self) -> str:
        """The key of the first divergence."""
        return self.compared.first.key if self.compared.first else ""

    @property
    def why(self) -> str:
        """Why the run after this commit cannot be compared."""
        return self.compared.reason if self.distance.incomparable else ""


@dataclass(frozen=True)
class Walk:
    """One scenario, commit by commit, the target's base first."""

    scenario: str
    rows: tuple[Row, ...]

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The commits that change the gap."""
        return tuple(Cause(row.commit, row.subject, row.told) for row in self.rows if row.told)


def by_commit(trainer: Trainer, watch: Watch) -> list[Walk]:
    """Each scenario along the first parents from the target's base to the right side."""
    steps = stops(trainer)
    of, seeds = trainer.of, trainer.seeds
    runs = []
    for scenario in trainer.scenarios:
        for side in (of.left, *(side for side, _ in steps)):
            runs += [of.run(side, scenario, seed, trainer.steps, noise=trainer.noise) for seed in seeds]
    found = iter(trainer.launch(runs, watch))
    walks = []
    for scenario in trainer.scenarios:
        sides = [tuple(next(found) for _ in seeds) for _ in range(len(steps) + 1)]
        walks.append(Walk(scenario.name, tuple(_rows(trainer, scenario, steps, sides))))
    return walks


def caused(shown: Sequence[Shown], walks: Sequence[Walk]) -> tuple[Shown, ...]:
    """Compared scenarios with the commits that change their gap."""
    causes = {walk.scenario: walk.causes for walk in walks}
    return tuple(replace(one, causes=causes.get(one.scenario, ())) for one in shown)


def stops(trainer: Trainer) -> list[tuple[Checkout, str]]:
    """The target's base and each commit after it, with its subject. Raises UsageError where there is none after it."""
    manifest = trainer.of.manifest
    repository: Repository = open_location(manifest.repo(manifest.target))
    base = repository.resolve(manifest.target.ref)
    tip = trainer.of.right.commit
    commits = repository.history([tip], [base], first_parent=True)
    if not commits:
        told = f"there is no commit between {manifest.target.ref} and {trainer.of.right.ref}"
        raise UsageError(told, manifest.where("target"), "port first: porttool apply")
    found = [(base, BASE), *((oid, repository.commit(oid).subject) for oid in commits)]
    sides = (side_of(manifest, manifest.target, [oid], "target", trainer.of.cache) for oid, _ in found)
    return [(replace(side, ref=side.commit[:8]), subject) for side, (_, subject) in zip(sides, found, strict=True)]


def _rows(
    trainer: Trainer, scenario: Scenario, steps: Sequence[tuple[Checkout, str]], sides: Sequence[tuple[Series, ...]]
) -> list[Row]:
    how = trainer.of.told(scenario, trainer.steps)
    source, *targets = sides
    rows: list[Row] = []
    before: tuple[Series, ...] = ()
    for (side, subject), runs in zip(steps, targets, strict=True):
        told = compared(source, runs, how)
        away = distance(told)
        same = [run.digest() for run in runs] == [run.digest() for run in before]
        effect = "" if not rows or same else effect_of(rows[-1].distance, away)
        rows.append(Row(side.commit, subject, told, away, _cells(told), effect))
        before = runs
    return rows


def effect_of(before: Distance, after: Distance) -> str:
    """What a commit that changes a run does to the gap, in words; "" where it stays as wide."""
    nothing = Distance(False, 0, 0.0)
    if before == after:
        return ""
    if before.incomparable or after.incomparable:
        closes = ", and closes the gap" if after == nothing else ""
        return "breaks the run" if after.incomparable else f"mends the run{closes}"
    if after == nothing:
        return "closes the gap"
    if before == nothing:
        return "opens the gap"
    nearer = after < before
    counts = f"{before.findings} to {after.findings} findings"
    if before.findings == after.findings:
        counts = f"{'smaller' if nearer else 'larger'} differences in as many places"
    return f"{'narrows' if nearer else 'widens'} the gap: {counts}"


def distance(told: Compared) -> Distance:
    """How far apart the sides of a comparison are."""
    if told.verdict is Verdict.INCOMPARABLE:
        return Distance(True, 0, 0.0)
    if told.verdict is Verdict.MATCH:
        return Distance(False, 0, 0.0)
    return Distance(False, len(told.findings), sum(map(_amount, told.curves)))


def _amount(curve: Curve) -> float:
    """The differences of a metric, each by its size: 0 to 1 a step, so that no metric drowns the others."""
    scale = max((abs(value) for value in curve.left if value is not None), default=0.0) or 1.0
    sides = zip(curve.left, curve.right, strict=True)
    return sum(1.0 if one is None or other is None else _part(abs(one - other) / scale) for one, other in sides)


def _part(size: float) -> float:
    return size / (1 + size) if size < 1e9 else 1.0


def _cells(told: Compared) -> int:
    """How many values differ by their bits: each metric of each step, and of the validation."""
    return sum(len(curve.different) for curve in told.curves) + sum(not row.equal for row in told.validation)
