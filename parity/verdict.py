"""MATCH, DIFFER or INCOMPARABLE. Only MATCH passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from parity.compare import Comparison
from porttool.report import counted


class Verdict(Enum):
    """The answer of a probe, of a scenario, of a whole run; the worst one wins."""

    MATCH = "MATCH"
    DIFFER = "DIFFER"
    INCOMPARABLE = "INCOMPARABLE"

    @property
    def exit_code(self) -> int:
        return {"MATCH": 0, "DIFFER": 1, "INCOMPARABLE": 3}[self.value]


@dataclass(frozen=True)
class Judged:
    """A verdict and the sentence that justifies it."""

    verdict: Verdict
    reason: str


def judge(comparison: Comparison) -> Judged:
    """The verdict on one comparison. A match needs something compared; an unused rule is told, not judged."""
    if comparison.incomparable:
        return Judged(Verdict.INCOMPARABLE, comparison.incomparable)
    if comparison.findings:
        first = comparison.findings[0]
        rest = len(comparison.findings) - 1
        more = f" and {rest} more" if rest else ""
        return Judged(Verdict.DIFFER, f"{first.probe}.{first.key} is {first.kind}{more}")
    equal = counted(comparison.equal, "key")
    return Judged(Verdict.MATCH, f"{equal} {'is' if comparison.equal == 1 else 'are'} equal")


def overall(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict of several: DIFFER where any differs, else INCOMPARABLE where any is, else MATCH; none is none."""
    if not verdicts:
        return Verdict.INCOMPARABLE
    for bad in (Verdict.DIFFER, Verdict.INCOMPARABLE):
        if bad in verdicts:
            return bad
    return Verdict.MATCH
