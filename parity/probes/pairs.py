"""A scenario's two captures, with what the server makes of them, compared probe by probe."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from parity.compare import Comparison, Finding, Rule, compare
from parity.consumers import Consumers, Row
from parity.consumers_sent import PARTS, calls
from parity.consumers_static import Scan
from parity.probes.causes import caused
from parity.probes.laws import Broken, broken
from parity.record import Capture, Key, Leaf
from parity.verdict import Judged, Verdict, judge, overall

PROBES = ("wire", "config", "contract", "oracle", "consumers")
# Of the mismatches with the server's readers, those in a request belong to diff-meta, the others to diff-config.
VERBS: Mapping[str, tuple[str, ...]] = {
    "diff-meta": ("wire", "oracle", "consumers"),
    "diff-config": ("config", "consumers"),
    "contract": ("contract",),
}
_NUMBERED = re.compile(r"(\D*)(\d*)")
_WORDS = {
    "missing": "is not on the right side",
    "extra": "is only on the right side",
    "type": "has another type",
    "value": "has another value",
    "lost": "is a value that got lost on one side",
}


@dataclass(frozen=True)
class Pair:
    """Both sides of a scenario, compared. `shared` are mismatches both have, `broken` laws both break."""

    scenario: str
    left: Capture
    right: Capture
    comparison: Comparison
    judged: Judged
    shared: tuple[Row, ...] = ()
    probes: tuple[str, ...] = ()
    readers: tuple[Consumers, Consumers] | None = field(default=None, compare=False, repr=False)
    broken: tuple[Broken, ...] = ()

    @property
    def verdict(self) -> Verdict:
        return self.judged.verdict

    def of(self, probe: str) -> Verdict:
        """The verdict on one probe."""
        if self.comparison.incomparable:
            return Verdict.INCOMPARABLE
        differs = any(finding.probe == probe for finding in self.comparison.findings)
        return Verdict.DIFFER if differs else Verdict.MATCH

    def reader(self, finding: Finding) -> str:
        """Who reads the key of a finding, on the side that has it."""
        if self.readers is None:
            return ""
        left = self.readers[0].reader(finding.probe, finding.key)
        return left or self.readers[1].reader(finding.probe, finding.key)


def pair(
    left: Capture,
    right: Capture,
    scan: Scan | None,
    verb: str,
    rules: Iterable[Rule] = (),
    failing: Sequence[str] = (),
    readers: tuple[Consumers, Consumers] | None = None,
) -> Pair:
    """Compare the probes of a verb. Without a scan nothing is said about readers; who has them already gives them."""
    if readers is None and scan is not None:
        readers = Consumers(left, scan), Consumers(right, scan)
    chosen = asked(verb, left, right)
    own = readers or (None, None)
    sides = [_chosen(side, chosen, verb, consumers) for side, consumers in zip((left, right), own, strict=True)]
    comparison = compare(sides[0], sides[1], rules)
    lacking = _lacking(verb, left, right)
    if lacking:
        comparison = replace(comparison, incomparable=lacking)
    findings = sorted(comparison.findings, key=_in_order(sides))
    told = readers is not None and "consumers" in chosen and not comparison.incomparable
    shared = _shared(readers, verb) if readers and told else ()
    findings += [_failed(row) for row in shared if _matches(f"consumers.{row.name}", failing)]
    # The laws are those of the stand-in's keys; a driver may use the same names for something else.
    lawful = not comparison.incomparable and not _driven(left)
    laws = _laws((left, right), chosen) if lawful else []
    both = tuple(found for found in laws[0] if found in laws[1]) if laws else ()
    findings += [_against(left, found) for found in both if _matches(f"laws.{found.law}", failing)]
    causes = {found.key: found.cause for side in laws for found in side}
    comparison = replace(comparison, findings=tuple(caused(finding, readers, causes) for finding in findings))
    probes = tuple(name for name in chosen if any(name in side.probes for side in sides))
    return Pair(left.scenario, left, right, comparison, _judged(comparison), shared, probes, readers, both)


def asked(verb: str, *sides: Capture) -> tuple[str, ...]:
    """The probes that a verb compares; `diff-meta` takes those that another trainer's driver adds."""
    own = [name for name in _driven_order(sides) if name not in PROBES]
    return (*VERBS[verb], *own) if verb == "diff-meta" else VERBS[verb]


def verbs_of(*sides: Capture) -> list[str]:
    """The verbs that have something to compare: a driver need not have a config or a contract."""
    seen = {name for side in sides for name in side.probes}
    driven = any(map(_driven, sides))
    return [verb for verb in VERBS if not driven or seen.intersection(asked(verb, *sides))] or ["diff-meta"]


def _lacking(verb: str, *sides: Capture) -> str:
    """Why there is nothing to compare of a driver that ran: it gives other probes; "" where that is not so."""
    given = _driven_order(sides)
    if not given or any(side.crashed for side in sides) or set(given).intersection(asked(verb, *sides)):
        return ""
    return f"the driver has no {' or '.join(VERBS[verb])} probe: it gives {', '.join(given)}"


def in_order(pairs: Sequence[Pair]) -> list[str]:
    """Every probe that was compared: those that all trainers share first."""
    seen = {name for one in pairs for name in one.probes}
    own = _driven_order([side for one in pairs for side in (one.left, one.right)])
    return [name for name in dict.fromkeys([*PROBES, *own]) if name in seen]


def _driven(side: Capture) -> bool:
    return "driver" in side.provenance


def _driven_order(sides: Iterable[Capture]) -> list[str]:
    """The probes of a driver, in the order in which it gave them."""
    told: dict[str, None] = {}
    for side in sides:
        if _driven(side):
            first = [name for name in side.provenance.get("probes", "").split(", ") if name in side.probes]
            told |= dict.fromkeys([*first, *sorted(side.probes)])
    return list(told)


def _judged(comparison: Comparison) -> Judged:
    """The verdict, with its reason in words a reader need not look up."""
    judged = judge(comparison)
    if judged.verdict is not Verdict.DIFFER:
        return judged
    first = comparison.findings[0]
    rest = len(comparison.findings) - 1
    more = f", and {rest} more keys differ" if rest > 1 else ", and 1 more key differs" if rest else ""
    word = "is wrong on both sides" if first.rule == "shared" else _WORDS[first.kind]
    return Judged(judged.verdict, f"{first.probe}.{first.key} {word}{more}")


def worst(pairs: Iterable[Pair]) -> Verdict:
    """The verdict on all scenarios."""
    return overall([one.verdict for one in pairs])


def _chosen(side: Capture, chosen: Sequence[str], verb: str, consumers: Consumers | None) -> Capture:
    probes: dict[str, Mapping[Key, Leaf]] = {
        name: side.probes[name] for name in chosen if name in side.probes and (name != "consumers" or _driven(side))
    }
    if consumers is not None and "consumers" in chosen and not side.crashed:
        told = {key: leaf for key, leaf in consumers.observed().items() if _belongs(key, verb)}
        probes["consumers"] = told or {"mismatches": Leaf("int", 0)}
    return replace(side, probes=probes)


def _belongs(key: Key, verb: str) -> bool:
    in_request = key.split(".")[0] in PARTS
    return in_request == (verb == "diff-meta")


def _shared(readers: tuple[Consumers, Consumers], verb: str) -> tuple[Row, ...]:
    other = {(row.name, row.calls, row.cause) for row in readers[1].rows}
    return tuple(
        row for row in readers[0].rows if (row.name, row.calls, row.cause) in other and _belongs(row.name, verb)
    )


def _failed(row: Row) -> Finding:
    told = Leaf("str", row.cause, origin=row.origin)
    return Finding("consumers", row.name, told, told, "value", "shared", row.cause)


def _laws(sides: tuple[Capture, Capture], chosen: Sequence[str]) -> list[list[Broken]]:
    """The laws that each side breaks, of those that are seen in the chosen probes."""
    return [[found for found in broken(side) if found.key.partition(".")[0] in chosen] for side in sides]


def _against(side: Capture, found: Broken) -> Finding:
    probe, _, key = found.key.partition(".")
    told = side.probes[probe].get(key) or Leaf("str", found.cause)
    return Finding(probe, key, told, told, "value", "shared", f"{found.law}: {found.cause}")


def _matches(name: str, failing: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, glob) for glob in failing)


def _in_order(sides: Sequence[Capture]) -> Callable[[Finding], tuple[int, int, list[tuple[str, int]]]]:
    """Sort key: probes as listed, then calls in the order in which they were made: the first divergence leads."""
    order = {call: place for side in sides for place, call in enumerate(calls(side))}
    probes = list(dict.fromkeys([*PROBES, *_driven_order(sides)]))

    def rank(finding: Finding) -> tuple[int, int, list[tuple[str, int]]]:
        if finding.probe == "wire":
            named = [name for name in order if finding.key.startswith(f"{name}.")]
            place = -1 if finding.key == "order" else order[max(named, key=len)] if named else len(order)
        else:
            place = 0
        at = probes.index(finding.probe) if finding.probe in probes else len(probes)
        # Step 2 comes before step 10.
        return at, place, [(text, int(number or -1)) for text, number in _NUMBERED.findall(finding.key)]

    return rank
