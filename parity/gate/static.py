"""The static probes: both sides captured once, then compared as diff-meta, diff-config and contract do."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from parity.capture import cache_key, capture
from parity.compare import Finding, Rule, fitting
from parity.consumers import Consumers
from parity.consumers_static import Scan
from parity.gate.places import in_manifest, of_origin
from parity.gate.result import Case, Found, Place, Probe
from parity.gate.watch import Report
from parity.probes.pairs import VERBS, Pair, in_order, pair, verbs_of
from parity.probes.rules import failing, rules
from parity.probes.run import Setting
from parity.record import Capture, Leaf
from parity.scenario import Scenario
from parity.store import Store, Stored
from parity.verdict import Verdict
from porttool.manifest import Manifest

Sides = tuple[Capture, Capture]
_WORDS = {
    "missing": "is not on the right side",
    "extra": "is only on the right side",
    "type": "has another type",
    "value": "has another value",
    "lost": "is a value that got lost on one side",
}
# A worker imports a whole trainer before its first scenario: fewer than these are not worth another worker.
_LEAST = 4


@dataclass(frozen=True)
class Static:
    """The probes, what a reader is to be warned of, and the captures themselves."""

    probes: tuple[Probe, ...]
    warnings: tuple[str, ...]
    sides: tuple[Sides, ...]
    pairs: tuple[Pair, ...] = ()


def missing(of: Setting, scenarios: Sequence[Scenario]) -> int:
    """How many captures have to be made: those of an unchanged side are kept."""
    wanted = [(of.left, job) for job in of.jobs(scenarios, "source")]
    wanted += [(of.right, job) for job in of.jobs(scenarios, "target")]
    keys = (cache_key(side, job, of.stack) for side, job in wanted)
    return sum(not (of.cache / "captures" / f"{key}.json").is_file() for key in keys)


def captured(
    of: Setting, scenarios: Sequence[Scenario], jobs: int, report: Report | None = None
) -> list[Sides]:
    """Both sides of each scenario, in order; at most `jobs` workers at the same time, two at the least."""
    told: dict[str, Sides] = {}
    for drive in dict.fromkeys(scenario.drive for scenario in scenarios):
        held = [scenario for scenario in scenarios if scenario.drive == drive]
        hands = max(1, min(jobs // 2, len(held) // _LEAST))
        dealt = [held[at::hands] for at in range(hands)]
        wanted = [(of.left, of.jobs(hand, "source")) for hand in dealt]
        wanted += [(of.right, of.jobs(hand, "target")) for hand in dealt]
        answers = capture(wanted, of.stack, of.cache, layout=of.manifest.layout.digest, report=report)
        for at, hand in enumerate(dealt):
            pairs = zip(answers[at], answers[hands + at], strict=True)
            told.update({scenario.name: both for scenario, both in zip(hand, pairs, strict=True)})
    return [told[scenario.name] for scenario in scenarios]


def static(of: Setting, sides: Sequence[Sides], scan: Scan | None) -> Static:
    """Every probe of every scenario. Captures are given, so that comparing needs no trainer stack."""
    where = of.manifest.where("parity")
    told, fail = rules(of.manifest.parity, where), failing(of.manifest.parity, where)
    pairs = [one for left, right in sides for one in compared(left, right, scan, told, fail)]
    every = [one.pair for one in pairs]
    probes = [_probe(of.manifest, name, pairs) for name in _names(every)]
    stored = [
        held for both_sides in sides for side in both_sides if (held := Store(of.manifest.path).held(side, told))
    ]
    probes += [_stored(of.manifest, stored)]
    warnings = [*_swallowed(every, told), *_unused(every), *_not_held(stored)]
    return Static(tuple(one for one in probes if one.cases), tuple(warnings), tuple(sides), tuple(every))


def compared(
    left: Capture, right: Capture, scan: Scan | None, told: Sequence[Rule], fail: Sequence[str] = ()
) -> list[Compared]:
    """A scenario as each verb compares it; who reads what is found out once for all of them."""
    readers = (Consumers(left, scan), Consumers(right, scan)) if scan is not None else None
    found = []
    for verb in verbs_of(left, right):
        began = time.monotonic()
        both = pair(left, right, None, verb, told, fail, readers)
        found.append(Compared(verb, both, time.monotonic() - began))
    return found


class Compared(NamedTuple):
    """A scenario as one verb compares it."""

    verb: str
    pair: Pair
    seconds: float


def _names(pairs: Sequence[Pair]) -> list[str]:
    """Every probe; where all sides crashed there is none, and the first one of each verb speaks for it."""
    found = in_order(pairs)
    lost = [VERBS[verb][0] for verb in VERBS if VERBS[verb][0] not in found]
    return [*found, *(lost if any(one.comparison.incomparable for one in pairs) else ())]


def _probe(manifest: Manifest, name: str, pairs: Sequence[Compared]) -> Probe:
    cases: dict[str, Case] = {}
    seconds = 0.0
    for verb, one, took in pairs:
        # A side that crashed has no probes; the first of the verb speaks for all.
        if name in one.probes or (one.comparison.incomparable and name == VERBS[verb][0]):
            case = _case(manifest, name, one)
            cases[one.scenario] = _joined(cases[one.scenario], case) if one.scenario in cases else case
            seconds += took / max(1, len(one.probes))
    held = tuple(cases.values())
    volatile = sum(one.comparison.volatile_in.count(name) for _, one, _ in pairs)
    return Probe(name, "static", held, _told(name, held, volatile), seconds)


def _case(manifest: Manifest, name: str, one: Pair) -> Case:
    place = in_manifest(manifest, "parity", "scenarios", one.scenario)
    if one.comparison.incomparable:
        return Case(one.scenario, Verdict.INCOMPARABLE, one.judged.reason, place=place)
    bad = [finding for finding in one.comparison.findings if finding.probe == name]
    found = [_found(one, finding, place) for finding in bad]
    found += [_found(one, told, place, counts=False) for told in one.comparison.expected if told.probe == name]
    found += _shared(one, name, place, {told.key for told in bad if told.rule == "shared"})
    keys = {key for side in (one.left, one.right) for key in side.probes.get(name, {})}
    count = len(keys) - one.comparison.volatile_in.count(name) if keys else len(found)
    if not bad:
        declared = sum(told.probe == name for told in one.comparison.expected)
        told = f"{count - declared} keys are equal" + (f", {declared} differ as declared" if declared else "")
        return Case(one.scenario, Verdict.MATCH, told, tuple(found), count, place)
    return Case(one.scenario, Verdict.DIFFER, _reason(bad), tuple(found), count, place)


def _joined(one: Case, other: Case) -> Case:
    """The same scenario seen by two verbs."""
    if Verdict.INCOMPARABLE in (one.verdict, other.verdict):
        return one if one.verdict is Verdict.INCOMPARABLE else other
    found = (*one.found, *other.found)
    if one.verdict is Verdict.MATCH and other.verdict is Verdict.MATCH:
        count = sum(told.rule == "shared" for told in found)
        return Case(one.name, one.verdict, f"{count} mismatches are shared", found, len(found), one.place)
    first = one if one.verdict is Verdict.DIFFER else other
    return Case(one.name, Verdict.DIFFER, first.reason, found, len(found), one.place)


def _reason(bad: Sequence[Finding]) -> str:
    word = "is wrong on both sides" if bad[0].rule == "shared" else _WORDS[bad[0].kind]
    rest = len(bad) - 1
    more = f", and {rest} more keys differ" if rest > 1 else ", and 1 more key differs" if rest else ""
    return f"{bad[0].key} {word}{more}"


def _found(one: Pair, finding: Finding, place: Place, *, counts: bool = True) -> Found:
    held = finding.left or finding.right
    return Found(
        f"{one.scenario}/{finding.key}",
        _value(finding.left),
        _value(finding.right),
        finding.rule,
        finding.cause or one.reader(finding),
        of_origin(finding.right) or place,
        held.origin if held is not None else "",
        counts,
    )


def _shared(one: Pair, name: str, place: Place, failed: set[str]) -> Iterator[Found]:
    """What both sides have wrong alike and no rule makes fail: broken laws, and keys without a reader or a sender."""
    for law in one.broken:
        probe, _, key = law.key.partition(".")
        if probe == name and key not in failed:
            left, right = (side.probes[name].get(key) for side in (one.left, one.right))
            cause, at = f"{law.law}: {law.cause}", of_origin(right) or place
            yield Found(f"{one.scenario}/{key}", _value(left), _value(right), "shared", cause, at, counts=False)
    for row in one.shared if name == "consumers" else ():
        if row.name not in failed:
            calls = ", ".join(row.calls)
            yield Found(f"{one.scenario}/{row.name}", calls, calls, "shared", row.cause, place, row.origin, False)


def _value(held: Leaf | None) -> str | None:
    return None if held is None else f"{held}"


def _told(name: str, cases: Sequence[Case], volatile: int) -> str:
    scenarios = f"{len(cases)} scenario{'s' * (len(cases) != 1)}"
    if name == "consumers":
        keys = {one.name for case in cases for one in case.found}
        return f"{scenarios}, {len(keys)} keys without a reader or a sender"
    told = f"{scenarios}, {sum(case.compared for case in cases):,} keys"
    expected = sum(one.rule == "expected" for case in cases for one in case.found)
    laws = {one.cause.partition(":")[0] for case in cases for one in case.found if one.rule == "shared"}
    told += f", {expected} differ as declared" if expected else ""
    told += f", {volatile} not compared as declared" if volatile else ""
    return told + (f", wrong on both sides: {', '.join(sorted(laws))}" if laws else "")


def _stored(manifest: Manifest, held: Sequence[Stored]) -> Probe:
    """Captures kept beside the manifest; those of another environment say nothing and are no cases."""
    cases = []
    for one in held:
        if one.elsewhere:
            continue
        folder = in_manifest(manifest).path.rpartition("/")[0]
        file = f"{one.file.parent.name}/{one.file.name}"
        place = Place(f"{folder}/{file}" if folder else file, 1, "project")
        found = tuple(
            Found(
                f"{one.file.name}/{finding.probe}.{finding.key}", _value(finding.left), _value(finding.right),
                finding.rule, f"{finding.probe}: not as stored", place,
            )
            for finding in one.comparison.findings
        )  # fmt: skip
        cases.append(Case(one.file.name, one.judged.verdict, one.judged.reason, found, one.comparison.compared, place))
    return Probe("stored", "static", tuple(cases), f"{len(cases)} stored captures" if cases else "")


def _not_held(held: Sequence[Stored]) -> list[str]:
    return [f"{one.file.name} is not compared: {one.elsewhere}" for one in held if one.elsewhere]


def _swallowed(pairs: Sequence[Pair], rules: Sequence[Rule]) -> list[str]:
    """What each rule let differ, where it is more than the one key that its reason can be about."""
    taken: dict[Rule, tuple[set[str], set[str]]] = {}
    for one in pairs:
        for finding in one.comparison.expected:
            rule = fitting(rules, finding.probe, finding.key)
            assert rule is not None
            keys, scenarios = taken.setdefault(rule, (set(), set()))
            keys.add(f"{finding.probe}.{finding.key}")
            scenarios.add(one.scenario)
    return [
        f"the rule {rule.glob!r} lets {len(keys)} keys differ in {len(scenarios)} "
        f"scenario{'s' * (len(scenarios) != 1)}: {rule.reason}"
        for rule, (keys, scenarios) in taken.items()
        if len(keys) > 1
    ]


def _unused(pairs: Sequence[Pair]) -> list[str]:
    sets: list[set[Rule]] = [set(one.comparison.unused_rules) for one in pairs if not one.comparison.incomparable]
    unused = set.intersection(*sets) if sets else set()
    return [f"the rule {rule.glob!r} fitted nothing" for rule in sorted(unused, key=lambda rule: rule.glob)]


def provenance(sides: Sequence[Sides]) -> dict[str, Any]:
    """Of both sides what is the same for all captures: refs, commits, trees, packages."""
    return {name: _common([both[at].provenance for both in sides]) for at, name in enumerate(("left", "right"))}


def _common(told: Sequence[Mapping[str, str]]) -> dict[str, str]:
    first = told[0] if told else {}
    return {name: value for name, value in first.items() if all(one.get(name) == value for one in told)}
