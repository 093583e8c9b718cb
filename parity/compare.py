"""Two captures of one scenario, key by key, under rules. Nothing is compared on an intersection."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from parity.record import Capture, Key, Leaf

RuleKind = Literal["exact", "within", "expected", "volatile"]
FindingKind = Literal["missing", "extra", "type", "value", "lost"]


@dataclass(frozen=True)
class Rule:
    """How the keys of a glob are compared. `exact` is the default and needs no rule.

    `within` needs `tolerance` (absolute, both ways) and `evidence` (the A/A runs it comes from); `expected` is a
    declared difference with its `reason`; `volatile` names keys that differ from run to run (times), with a reason.
    """

    glob: str
    kind: RuleKind
    reason: str = ""
    tolerance: float = 0.0
    evidence: str = ""

    def __post_init__(self) -> None:
        if self.kind == "within" and not (0 < self.tolerance < math.inf and self.evidence):
            told = "`within` needs a finite tolerance above 0 and the evidence it comes from"
            raise ValueError(f"rule {self.glob!r}: {told}")
        if self.kind in ("expected", "volatile") and not self.reason:
            raise ValueError(f"rule {self.glob!r}: `{self.kind}` needs a reason")


@dataclass(frozen=True)
class Finding:
    """One key on which the sides differ; None stands for "not there"."""

    probe: str
    key: Key
    left: Leaf | None
    right: Leaf | None
    kind: FindingKind
    rule: str = "exact"
    cause: str = ""


@dataclass(frozen=True)
class Comparison:
    """What came out: findings, those a rule expected, and how much was compared.

    `volatile_in` names, for each key that was not compared, its probe.
    """

    findings: tuple[Finding, ...]
    expected: tuple[Finding, ...]
    compared: int
    volatile: int
    unused_rules: tuple[Rule, ...]
    incomparable: str = ""
    volatile_in: tuple[str, ...] = ()

    @property
    def equal(self) -> int:
        """How many keys passed without a rule that lets them differ."""
        return self.compared - len(self.findings) - len(self.expected)


def compare(left: Capture, right: Capture, rules: Iterable[Rule] = ()) -> Comparison:
    """Compare every key of every probe of both sides. A crash, or nothing captured, is incomparable.

    So is a probe of which rules leave nothing to compare, and a pair of which they leave nothing equal.
    """
    rules = tuple(rules)
    reason = _incomparable(left, right)
    if reason:
        return Comparison((), (), 0, 0, (), reason)
    used: set[Rule] = set()
    findings: list[Finding] = []
    expected: list[Finding] = []
    compared = 0
    volatile: list[str] = []
    for probe in sorted(left.probes):
        ours, theirs = left.probes[probe], right.probes[probe]
        for key in _ordered(ours, theirs):
            rule = fitting(rules, probe, key)
            if rule is not None and rule.kind == "volatile":
                used.add(rule)
                volatile.append(probe)
                continue
            compared += 1
            kind = _difference(ours.get(key), theirs.get(key), rule)
            if rule is not None and (kind or rule.kind == "within"):
                used.add(rule)
            if kind:
                finding = Finding(probe, key, ours.get(key), theirs.get(key), kind, rule.kind if rule else "exact")
                if rule is not None and rule.kind == "expected":
                    expected.append(replace(finding, cause=rule.reason))
                else:
                    findings.append(finding)
    reason = _left(left, right, compared, volatile, expected)
    if reason:
        return Comparison((), (), 0, len(volatile), (), reason)
    unused = tuple(rule for rule in rules if rule not in used)
    return Comparison(tuple(findings), tuple(expected), compared, len(volatile), unused, "", tuple(volatile))


def fitting(rules: Iterable[Rule], probe: str, key: Key) -> Rule | None:
    """The rule of a key: the first one whose glob fits."""
    return next((rule for rule in rules if fnmatch.fnmatchcase(f"{probe}.{key}", rule.glob)), None)


def _left(
    left: Capture, right: Capture, compared: int, volatile: Sequence[str], expected: Sequence[Finding]
) -> str:
    """Why what rules leave to compare proves nothing; "" where it does."""
    if compared == 0:
        return "every key is declared volatile: nothing was compared"
    for probe in dict.fromkeys(volatile):
        if volatile.count(probe) == len({*left.probes[probe], *right.probes[probe]}):
            return f"every key of {probe} is declared volatile: nothing of it was compared"
    return "every key is declared to differ, and does: nothing is equal" if compared == len(expected) else ""


def _incomparable(left: Capture, right: Capture) -> str:
    if left.scenario != right.scenario:
        return f"these are two scenarios: {left.scenario!r} and {right.scenario!r}"
    for capture in (left, right):
        if capture.crashed:
            return f"the {capture.side} side crashed: {capture.crashed.strip().splitlines()[-1]}"
        empty = sorted(probe for probe, keys in capture.probes.items() if not keys)
        if not capture.probes or empty:
            return f"the {capture.side} side captured nothing" + (f" for {', '.join(empty)}" if empty else "")
    if set(left.probes) != set(right.probes):
        only = sorted(set(left.probes) ^ set(right.probes))
        return f"one side alone was probed for {', '.join(only)}"
    return environments(left.provenance, right.provenance)


def environments(left: Mapping[str, str], right: Mapping[str, str]) -> str:
    """Provenance keys that start with `env.` say whether two captures may be compared at all."""
    for name in sorted({*left, *right}):
        if name.startswith("env.") and left.get(name) != right.get(name):
            return f"the environments differ: {name} is {left.get(name)!r} and {right.get(name)!r}"
    return ""


def _ordered(left: Mapping[Key, Leaf], right: Mapping[Key, Leaf]) -> list[Key]:
    """Keys in the order in which the sides recorded them, so that the first finding is the first divergence."""
    return [*left, *(key for key in right if key not in left)]


def _difference(left: Leaf | None, right: Leaf | None, rule: Rule | None) -> FindingKind | None:
    if left is None:
        return "extra"
    if right is None:
        return "missing"
    if left == right:
        return None
    if left.lost != right.lost:
        return "lost"
    if left.type != right.type:
        return "type"
    if rule is not None and rule.kind == "within":
        # Whole numbers as they are: beyond 2**53 two of them may be one float.
        ours, theirs = (one.value if one.type == "int" else one.number() for one in (left, right))
        if ours is not None and theirs is not None:  # no distance from NaN or infinity is within anything
            return None if abs(ours - theirs) <= rule.tolerance else "value"
    return "value"
