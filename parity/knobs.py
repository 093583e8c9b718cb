"""Change one knob, run both sides again, and see what moved: dead knobs, and knobs that move one side only."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Literal

from parity.capture import Checkout, Stack, capture
from parity.compare import Finding, Rule, compare
from parity.consumers import Consumers
from parity.consumers_static import Scan
from parity.knobs_leaves import Knob, knobs
from parity.probes.rules import failing, rules
from parity.probes.run import Setting
from parity.record import Capture, Leaf
from parity.scenario import Job, Scenario
from parity.verdict import Verdict
from porttool.report import counted

State = Literal["alive", "dead", "crashed", "not there"]
# A worker keeps a whole trainer stack in memory; more than this rarely fits.
MOST_WORKERS = 32
SHOWN = 3

Capturer = Callable[[Sequence[tuple[Checkout, Sequence[Job]]], Stack], list[list[Capture]]]


@dataclass(frozen=True)
class Moved:
    """What a changed knob moved on one side. `dead` moves nothing, or only what nobody reads: `cause` says which."""

    state: State
    keys: tuple[str, ...] = ()
    cause: str = ""

    def __str__(self) -> str:
        if self.state == "alive":
            more = f" and {len(self.keys) - SHOWN} more" if len(self.keys) > SHOWN else ""
            return f"moves {', '.join(self.keys[:SHOWN])}{more}"
        return f"{self.state}: {self.cause}"


@dataclass(frozen=True)
class Turned:
    """One knob in one scenario, on both sides. `apart` are keys that it moves on both, to other values on each."""

    scenario: str
    knob: Knob
    left: Moved
    right: Moved
    apart: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """Whether both sides answer alike: the same keys move, to the same values, or none that counts."""
        return self.left.state == self.right.state and self.left.keys == self.right.keys and not self.apart

    @property
    def crashed(self) -> bool:
        """Whether neither side can be seen with it."""
        return self.left.state == self.right.state == "crashed"

    @property
    def dead(self) -> bool:
        return self.left.state == self.right.state == "dead"


@dataclass(frozen=True)
class Sweep:
    """All knobs in all chosen scenarios; `incomparable` says why there is nothing to tell."""

    turned: tuple[Turned, ...]
    unswept: tuple[Knob, ...]
    bases: tuple[tuple[Capture, Capture], ...]
    incomparable: str = ""
    failing: tuple[Turned, ...] = ()

    @property
    def verdict(self) -> Verdict:
        if self.incomparable or not self.turned:
            return Verdict.INCOMPARABLE
        return Verdict.MATCH if all(one.same for one in self.turned) and not self.failing else Verdict.DIFFER

    @property
    def dead(self) -> list[str]:
        """The keys of knobs that are dead on both sides in every scenario."""
        keys = dict.fromkeys(one.knob.key for one in self.turned)
        return [key for key in keys if all(one.dead for one in self.turned if one.knob.key == key)]


def swept(of: Setting, names: Sequence[str], report: Callable[[str], None], capturer: Capturer | None = None) -> Sweep:
    """The sweep a manifest asks for: `knobs.scenarios`, by default its first scenario."""
    section = of.manifest.parity.get("knobs", {})
    scenarios = of.chosen(names or section.get("scenarios") or [of.harness.scenarios[0].name])
    trees = (of.left.folder, of.right.folder)
    found = {
        scenario: knobs(of.manifest.parity, of.manifest.layout, trees, (*of.harness.base, *scenario.overrides))
        for scenario in scenarios
    }
    every = [knob for held in found.values() for knob in held]
    if not any(knob.now for knob in every):
        return Sweep((), tuple({knob.key: knob for knob in every}.values()), (), _none(every))
    count = len(every)
    report(f"turning {counted(count, 'knob')} on both sides in {', '.join(one.name for one in scenarios)}")
    done = sweep(of, found, capturer or _here(of, report))
    globs = failing(of.manifest.parity, of.manifest.where("parity"))
    bad = [
        one for one in done.turned if one.dead and any(fnmatchcase(f"knobs.{one.knob.key}", glob) for glob in globs)
    ]
    return replace(done, failing=tuple(bad))


def _none(every: Sequence[Knob]) -> str:
    """Why there is nothing to turn, and what to do about it."""
    if every:
        return "there is no knob to turn: no other value of any key is known; name them under parity.knobs.values"
    return "there is no knob to turn: no YAML block stands under layout.fragments, no key under parity.knobs.also"


def sweep(of: Setting, found: Mapping[Scenario, Sequence[Knob]], capturer: Capturer | None = None) -> Sweep:
    """Capture each scenario as it is and with each knob changed; workers run side by side on the cores here."""
    turns = [
        (scenario, knob) for scenario, held in found.items() for knob in [None, *held] if knob is None or knob.now
    ]
    changed = [_changed(scenario, knob) for scenario, knob in turns]
    sides = [(of.left, of.jobs(changed, "source")), (of.right, of.jobs(changed, "target"))]
    pairs = list(zip(*spread(sides, of.stack, capturer or _here(of)), strict=True))
    scan, told = of.scan(), rules(of.manifest.parity, of.manifest.where("parity"))
    bases = {scenario: pair for (scenario, knob), pair in zip(turns, pairs, strict=True) if knob is None}
    turned = []
    for (scenario, knob), pair in zip(turns, pairs, strict=True):
        if knob is not None:
            left, right = (moved(base, after, knob, scan) for base, after in zip(bases[scenario], pair, strict=True))
            apart = _apart(bases[scenario], pair, told)
            both = tuple(key for key in left.keys if key in apart and key in right.keys)
            turned.append(Turned(scenario.name, knob, left, right, both))
    reason = next((why for base in bases.values() for side in base if (why := _unfit(side))), "")
    if not reason and turned and all(one.crashed for one in turned):
        reason = f"no knob was seen to move: {turned[0].knob.override} is {turned[0].left}"
    rest = {knob.key: knob for held in found.values() for knob in held if not knob.now}
    return Sweep(tuple(turned), tuple(rest.values()), tuple(bases.values()), reason)


def _unfit(side: Capture) -> str:
    """Why nothing is seen of what a knob moves on a side; "" where something is."""
    if side.crashed:
        return f"the {side.side} side crashed: {_last(side)}"
    return "" if any(side.probes.values()) else f"the {side.side} side captured nothing"


def spread(sides: Sequence[tuple[Checkout, Sequence[Job]]], stack: Stack, capturer: Capturer) -> list[list[Capture]]:
    """The captures of each side's jobs in order, the jobs of a side dealt out to several workers."""
    workers = max(1, min(os.cpu_count() or 1, MOST_WORKERS) // len(sides))
    dealt = [(side, [jobs[at::workers] for at in range(min(workers, len(jobs)))]) for side, jobs in sides]
    answers = iter(capturer([(side, hand) for side, hands in dealt for hand in hands], stack))
    told = []
    for (_, jobs), (_, hands) in zip(sides, dealt, strict=True):
        row: list[Capture | None] = [None] * len(jobs)
        for at in range(len(hands)):
            row[at :: len(hands)] = next(answers)
        told.append([one for one in row if one is not None])
    return told


def moved(base: Capture, after: Capture, knob: Knob, scan: Scan | None) -> Moved:
    """What a knob moved on one side; without a scan, whatever moves counts."""
    if after.crashed:
        return Moved("crashed", cause=_last(after))
    lacking = f"override.{knob.key}"
    if lacking in after.probes.get("config", {}) and lacking not in base.probes.get("config", {}):
        return Moved("not there", cause="this side's config has no such key")
    told = compare(_observed(base), _observed(replace(after, scenario=base.scenario)))
    if told.incomparable:
        return Moved("crashed", cause=told.incomparable)
    findings = told.findings
    if not findings:
        return Moved("dead", cause="it moves nothing")
    readers = None if scan is None else (Consumers(after, scan), Consumers(base, scan))
    inert = {finding: _inert(finding, readers) for finding in findings}
    alive = tuple(sorted({_named(finding) for finding, why in inert.items() if not why}))
    if alive:
        return Moved("alive", alive)
    first = next(iter(findings))
    keys = ", ".join(dict.fromkeys(_named(finding) for finding in list(findings)[:SHOWN]))
    return Moved("dead", cause=f"it moves only {keys}: {inert[first]}")


def _apart(before: tuple[Capture, Capture], after: tuple[Capture, Capture], told: Sequence[Rule]) -> set[str]:
    """What differs between the sides with a knob changed, and did not before."""
    was, now = (compare(_observed(left), _observed(right), told).findings for left, right in (before, after))
    return {_named(finding) for finding in now} - {_named(finding) for finding in was}


def _observed(side: Capture) -> Capture:
    """Without who reads: a reader is not an effect."""
    kept = {name: keys for name, keys in side.probes.items() if name != "reads"}
    return replace(side, probes=kept)


def _inert(finding: Finding, readers: tuple[Consumers, Consumers] | None) -> str:
    """Why a moved key has no effect; "" where it has one."""
    held: Leaf | None = finding.right or finding.left
    if finding.key.startswith("override.") or held is None:
        return "the override itself"
    if readers is None:
        return ""
    there = readers[0] if finding.right is not None else readers[1]
    if finding.probe != "config":
        return there.dead(finding.probe, finding.key)
    part, _, rest = finding.key.partition(".")
    if part == "server":
        job, _, key = rest.partition(".")
        unknown = f"deepspeed.{job}.1.unknown.{key.split('.')[0]}"
        return "DeepSpeed never asks for it" if unknown in there.capture.probes["config"] else ""
    if part == "deepspeed" and ".unknown." in f".{rest}.":
        return "DeepSpeed never asks for it"
    return there.dead(finding.probe, finding.key)


def _named(finding: Finding) -> str:
    return finding.key if finding.probe == "config" else f"{finding.probe}.{finding.key}"


def _changed(scenario: Scenario, knob: Knob | None) -> Scenario:
    if knob is None:
        return scenario
    return replace(scenario, name=f"{scenario.name}+{knob.override}", overrides=(*scenario.overrides, knob.override))


def _here(of: Setting, report: Callable[[str], None] | None = None) -> Capturer:
    def run(wanted: Sequence[tuple[Checkout, Sequence[Job]]], stack: Stack) -> list[list[Capture]]:
        return capture(wanted, stack, of.cache, layout=of.manifest.layout.digest, report=report)

    return run


def _last(side: Capture) -> str:
    return side.crashed.strip().splitlines()[-1]
