"""What a comparison of training runs is told, and what comes out of it; whoever shows it computes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from parity.record import Key, Leaf
from parity.smoke.envelope import Detectable, Envelope
from parity.smoke.schedule import Schedule, ScheduleRow
from parity.smoke.series import SHOWN, Series
from parity.smoke.windows import Band, BandRow, WindowRow
from parity.verdict import Verdict

Mode = Literal["exact"] | Envelope
RuleKind = Literal["steps", "exact", "envelope", "schedule", "law", "band"]
Side = Literal["", "left", "right", "both"]
_RULES: tuple[RuleKind, ...] = ("steps", "exact", "envelope", "schedule", "law", "band")
_AFTER_ALL_STEPS = 1 << 62


@dataclass(frozen=True)
class Told:
    """How runs are compared.

    `windows`: length of the rolling windows, 0 for none. `updates`: optimizer steps that each training step takes.
    `shared_fails`: whether a law that both sides break alike fails. `backdrop`: evidence that is shown behind an exact
    comparison and decides nothing, or why there is none that can be read.
    """

    mode: Mode = "exact"
    windows: int = 0
    bands: Mapping[Key, Band] = field(default_factory=dict)
    schedule: Schedule | None = None
    updates: int | None = None
    shared_fails: bool = False
    backdrop: Envelope | str = ""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong. `step` counts from 1; 0 is not of a step.

    `side` is "" where the two differ, else the side that is wrong whatever the other does; "both" where both are.
    """

    key: Key
    left: Leaf | None
    right: Leaf | None
    rule: RuleKind
    told: str
    side: Side = ""
    seed: int = 0
    step: int = 0
    metric: Key = ""
    cause: str = ""

    @property
    def place(self) -> tuple[int, int, Key, int, int, Side]:
        """Findings stand by step, then by metric in the order in which they are shown, then by seed."""
        step = self.step or _AFTER_ALL_STEPS
        return step, *rank(self.metric), self.seed, _RULES.index(self.rule), self.side


def rank(metric: Key) -> tuple[int, Key]:
    """The place of a metric: the number of steps, those that are shown, the others by name."""
    if metric == "steps":
        return -1, metric
    return (SHOWN.index(metric) if metric in SHOWN else len(SHOWN)), metric


def names(left: Series, right: Series) -> tuple[str, str]:
    """What the sides are called: as their runs call themselves, or left and right where both have one name."""
    return (left.side, right.side) if left.side != right.side else ("left", "right")


@dataclass(frozen=True)
class Largest:
    """Where the two sides are furthest apart. `ulps` is None where one of them is no float."""

    seed: int
    step: int
    absolute: float
    ulps: int | None
    left: float
    right: float


@dataclass(frozen=True)
class Curve:
    """One metric of one seed on both sides, step by step; steps are counted from 1.

    `different` are the steps at which the bits differ, `outside` those at which a side leaves the envelope. `low` and
    `high` are the envelope, empty in exact mode, None where equal bits are asked. `of` counts the steps that have the
    metric on either side, `equal` those that are equal.
    """

    seed: int
    metric: Key
    numeric: bool
    left: tuple[float | None, ...]
    right: tuple[float | None, ...]
    different: tuple[int, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    outside: tuple[int, ...]
    equal: int
    of: int
    largest: Largest | None


@dataclass(frozen=True)
class Metric:
    """One metric over all seeds."""

    metric: Key
    equal: int
    of: int
    largest: Largest | None


@dataclass(frozen=True)
class Row:
    """One value of the validation."""

    seed: int
    key: Key
    left: Leaf | None
    right: Leaf | None
    equal: bool


@dataclass(frozen=True)
class Leaves:
    """The first step at which a side leaves the envelope in a metric."""

    seed: int
    metric: Key
    side: Literal["left", "right"]
    step: int


@dataclass(frozen=True)
class Backdrop:
    """The envelope behind an exact comparison: lows and highs by step. `refused`: why it is not drawn."""

    bands: Mapping[Key, tuple[tuple[float | None, ...], tuple[float | None, ...]]] = field(default_factory=dict)
    leaves: tuple[Leaves, ...] = ()
    runs: int = 0
    refused: str = ""


@dataclass(frozen=True)
class Compared:
    """One scenario compared. `findings` fail, in the order of the steps; `shared` are laws both sides break alike.

    `equal_steps` of `of_steps` steps (of all seeds) are equal in every metric, bit for bit. `rate` is the chance that
    a comparison of equal code differs, under `envelope.ASSUMPTION`; None in exact mode, where equal means equal.
    `backdrop` has no part in the verdict.
    """

    scenario: str
    mode: Literal["exact", "envelope"]
    seeds: tuple[int, ...]
    steps: int
    verdict: Verdict
    reason: str
    findings: tuple[Finding, ...] = ()
    shared: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    equal_steps: int = 0
    of_steps: int = 0
    curves: tuple[Curve, ...] = ()
    metrics: tuple[Metric, ...] = ()
    windows: tuple[WindowRow, ...] = ()
    bands: tuple[BandRow, ...] = ()
    schedule: tuple[ScheduleRow, ...] = ()
    validation: tuple[Row, ...] = ()
    rate: float | None = None
    detectable: tuple[Detectable, ...] = ()
    backdrop: Backdrop | None = None

    @property
    def first(self) -> Finding | None:
        """The first divergence."""
        return self.findings[0] if self.findings else None
