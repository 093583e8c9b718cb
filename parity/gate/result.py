"""What a gate found, as plain data: the screen and every report are views of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from parity.smoke.page_shown import Shown
from parity.verdict import Verdict, overall

Tier = Literal["guard", "proof", "static", "knobs", "smoke"]
Root = Literal["target", "project"]
# Rules whose findings are told beside a match: somebody declared them, or both sides have them alike.
TOLD = ("expected", "shared", "declared")
# Rules of the proof: the reason of a case holds the place and the text of its first finding.
_SAID = ("residual", "protected", "unused")


class Place(NamedTuple):
    """A line of a file of the target, or of the project that holds the manifest. Paths are relative to that root."""

    path: str
    line: int
    root: Root = "target"

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True)
class Found:
    """One finding. `left` and `right` are what the sides have, None where one has nothing.

    `counts` is False for what is told and fails nothing. `origin` says where the source's value comes from.
    """

    key: str
    left: str | None
    right: str | None
    rule: str
    cause: str
    place: Place | None = None
    origin: str = ""
    counts: bool = True

    @property
    def name(self) -> str:
        """The key without the scenario, commit or run in which it was seen."""
        return self.key.partition("/")[2] or self.key

    @property
    def why(self) -> str:
        """The cause, in the same words in every view where none is known."""
        return self.cause or "not known"


@dataclass(frozen=True)
class Case:
    """What one probe says of one scenario, commit or training run; `place` is where the manifest names it."""

    name: str
    verdict: Verdict
    reason: str
    found: tuple[Found, ...] = ()
    compared: int = 0
    place: Place | None = None

    @property
    def failing(self) -> tuple[Found, ...]:
        return tuple(one for one in self.found if one.counts)

    @property
    def whole(self) -> bool:
        """Whether the reason says already where its first finding is and what is there."""
        return bool(self.failing) and self.failing[0].rule in _SAID


@dataclass(frozen=True)
class Probe:
    """One probe over all its cases. `told` counts what was looked at, in words."""

    name: str
    tier: Tier
    cases: tuple[Case, ...]
    told: str = ""
    seconds: float = 0.0

    @property
    def verdict(self) -> Verdict:
        return overall([case.verdict for case in self.cases])

    @property
    def failing(self) -> tuple[Found, ...]:
        return tuple(one for case in self.cases for one in case.failing)

    @property
    def bad(self) -> tuple[Case, ...]:
        """Cases that do not match, the first one first."""
        return tuple(case for case in self.cases if case.verdict is not Verdict.MATCH)

    def says(self, case: Case) -> str:
        """What a case says; one that is named like the probe is the probe itself."""
        return case.reason if case.name == self.name else f"{case.name}: {case.reason}"


class Open(NamedTuple):
    """What still differs from the source: distinct keys by column."""

    wire: frozenset[str] = frozenset()
    ds_config: frozenset[str] = frozenset()
    config: frozenset[str] = frozenset()
    contract: frozenset[str] = frozenset()
    oracle: frozenset[str] = frozenset()
    consumers: frozenset[str] = frozenset()
    other: frozenset[str] = frozenset()

    @property
    def keys(self) -> frozenset[str]:
        return frozenset().union(*self)


@dataclass(frozen=True)
class Point:
    """The target at its base or after one ported commit; `cells` are the keys of each scenario that differ.

    `closes` and `opens` are keys that now differ in no scenario, or in a first one; `narrows` and `widens` those that
    differ in fewer or in more of them. `steps` counts training steps that differ, None = not run; `apart` are the
    scenarios that have such steps.
    """

    commit: str
    subject: str
    open: Open = field(default_factory=Open)
    cells: frozenset[str] = frozenset()
    closes: tuple[str, ...] = ()
    opens: tuple[str, ...] = ()
    narrows: tuple[str, ...] = ()
    widens: tuple[str, ...] = ()
    steps: int | None = None
    incomparable: str = ""
    apart: frozenset[str] = frozenset()

    def count(self, column: str) -> str:
        """How many keys of a column differ; "-" where the side did not run and nothing of it was seen."""
        keys = getattr(self.open, column)
        return str(len(keys)) if keys or not self.incomparable else "-"

    @property
    def moves(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """What the commit did, in words, each with its keys."""
        told = (("closes", self.closes), ("opens", self.opens), ("narrows", self.narrows), ("widens", self.widens))
        return tuple((word, keys) for word, keys in told if keys)


@dataclass(frozen=True)
class Gate:
    """One run. `sides` are the refs; `roots` gives the folder of the target below the project, "" where it is it.

    `unchecked` names what was not looked at and why; `fault` is the error that ended the run early, if one did.
    `shown` are the training runs, for their curves.
    """

    sides: tuple[str, str]
    manifest: str
    probes: tuple[Probe, ...] = ()
    warnings: tuple[str, ...] = ()
    unchecked: Mapping[str, str] = field(default_factory=dict, hash=False)
    ledger: tuple[Point, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict, hash=False)
    roots: Mapping[str, str] = field(default_factory=dict, hash=False)
    seconds: float = 0.0
    fault: str = ""
    shown: tuple[Shown, ...] = field(default=(), hash=False, repr=False)

    @property
    def verdict(self) -> Verdict:
        """DIFFER where any probe differs; a run that was ended early can prove no match."""
        found = [probe.verdict for probe in self.probes]
        return overall([*found, Verdict.INCOMPARABLE] if self.fault else found)

    @property
    def answer(self) -> str:
        """The first line of every view, behind the verdict."""
        if self.verdict is Verdict.MATCH:
            return f"{self.sides[0]} and {self.sides[1]}: {_matched(self.probes)}"
        bad = [probe for probe in self.probes if probe.verdict is self.verdict]
        if not bad:
            return self.fault or "nothing was checked"
        names = ", ".join(probe.name for probe in bad)
        return f"{names}: {bad[0].says(bad[0].bad[0])}"

    def opened_by(self, probe: str, told: Found) -> Point | None:
        """The point of the ledger since which a key differs; of training runs, since which their scenario does."""
        trains = any(one.name == probe and one.tier == "smoke" for one in self.probes)
        scenario = told.key.partition("/")[0]
        found = None
        for point in self.ledger:
            if point.steps is None if trains else point.incomparable:
                continue
            differs = scenario in point.apart if trains else f"{probe}.{told.name}" in point.open.keys
            found = found or point if differs else None
        return found


def _matched(probes: Iterable[Probe]) -> str:
    """What a match rests on, in a few words; the line of each probe says more."""
    held = list(probes)
    parts = [one.told for one in held if one.tier in ("guard", "proof")]
    static = [one for one in held if one.tier == "static"]
    if static:
        count = max(len(one.cases) for one in static)
        told = f"{', '.join(one.name for one in static)} equal in {count} scenario{'s' * (count != 1)}"
        let = {(one.name, found.name) for one in static for case in one.cases for found in case.found
               if found.rule == "expected"}  # fmt: skip
        keys = f"{len(let)} key{'s' * (len(let) != 1)} declared to differ"
        parts.append(f"{told}, but for {keys}" if let else told)
    parts += [one.told for one in held if one.tier in ("knobs", "smoke")]
    return "; ".join(parts)


class Row(NamedTuple):
    """Findings of one probe that are the same in several cases."""

    probe: str
    found: Found
    cases: tuple[str, ...]


def rows(probe: Probe, findings: Iterable[tuple[Case, Found]] | None = None) -> list[Row]:
    """The findings that count, each once, with the cases in which it was seen."""
    told = findings if findings is not None else ((case, one) for case in probe.cases for one in case.failing)
    grouped: dict[tuple[object, ...], tuple[Found, list[str]]] = {}
    for case, one in told:
        # Each scenario stands at a line of its own in the manifest; what fails nothing is told once for all.
        at = one.place if one.place is not None and one.place.root == "target" else None
        same: tuple[object, ...] = (one.name, one.rule, one.cause)
        same += (one.left, one.right, at) if one.counts else ()
        grouped.setdefault(same, (one, []))[1].append(case.name)
    return [Row(probe.name, one, tuple(dict.fromkeys(names))) for one, names in grouped.values()]
