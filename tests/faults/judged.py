"""What two captures raise, and whether a fault's own variants raise what they should."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from parity.compare import Finding
from parity.consumers_static import Scan
from parity.probes.pairs import VERBS, pair
from parity.record import Capture
from tests.faults.suite import Fault, Variant


@dataclass(frozen=True)
class Raised:
    """One thing that a reader of the reports sees. `shared`: both sides have it alike."""

    probe: str
    key: str
    cause: str
    shared: bool = False

    def __str__(self) -> str:
        return f"{self.probe} {self.key}: {self.cause}" + (" (shared)" if self.shared else "")


def raised(left: Capture, right: Capture, scan: Scan) -> tuple[Raised, ...]:
    """What the verbs report: findings, and mismatches and broken laws that both sides share."""
    return tuple(dict.fromkeys(_compared(left, right, scan)))


def _compared(left: Capture, right: Capture, scan: Scan) -> Iterator[Raised]:
    for verb in VERBS:
        told = pair(left, right, scan, verb)
        if told.comparison.incomparable:
            yield Raised("verdict", "incomparable", told.comparison.incomparable)
        for finding in told.comparison.findings:
            yield Raised(finding.probe, finding.key, _words(finding))
        for row in told.shared:
            yield Raised("consumers", row.name, row.cause, shared=True)
        for law in told.broken:
            yield Raised("laws", f"{law.law} {law.key}", law.cause, shared=True)


def _words(finding: Finding) -> str:
    both = "; ".join(str(side) if side is not None else "not there" for side in (finding.left, finding.right))
    return both if not finding.cause else f"{both}; {finding.cause}" if finding.probe != "consumers" else finding.cause


@dataclass(frozen=True)
class Answer:
    """How a fault fared. `caught` is the first thing raised that names it; `loud` are controls that raised."""

    fault: Fault
    caught: Raised | None
    instead: tuple[Raised, ...]
    loud: tuple[tuple[Variant, Raised], ...]
    seconds: float

    @property
    def good(self) -> bool:
        return self.caught is not None and not self.loud


def judge(fault: Fault, raises: Callable[[Variant], tuple[Raised, ...]], seconds: float = 0.0) -> Answer:
    """The fault must be raised by its probe with its cause; controls add nothing to what the target itself raises."""
    found = raises(fault.variant)
    caught = next((one for one in found if names(fault, one)), None)
    loud: list[tuple[Variant, Raised]] = []
    for variant in fault.controls:
        known = raises(Variant(variant.scenario))
        # With both sides repaired the server reads other keys: what they then share is not this control's.
        new = [one for one in raises(variant) if one not in known and not (variant.source and one.shared)]
        loud += [(variant, one) for one in raises(variant) if one in new or names(fault, one)]
    for plain in {Variant(variant.scenario) for variant in (fault.variant, *fault.controls)}:
        loud += [(plain, one) for one in raises(plain) if not one.shared]
    for variant in fault.healed:
        loud += [(variant, one) for one in raises(variant) if names(fault, one)]
    others = tuple(one for one in found if one not in raises(Variant(fault.variant.scenario)))
    return Answer(fault, caught, others, tuple(dict.fromkeys(loud)), seconds)


def names(fault: Fault, one: Raised) -> bool:
    """Whether what was raised is the fault, from the probe and in the words that it is expected from."""
    same = one.probe == fault.probe and one.shared == fault.shared
    return same and re.search(fault.cause, f"{one.key}: {one.cause}") is not None
