"""Short training runs as a probe: one case for each scenario."""

from __future__ import annotations

import time
from collections.abc import Sequence

from parity.gate.places import in_manifest
from parity.gate.result import Case, Found, Probe
from parity.gate.watch import Report
from parity.record import Leaf
from parity.smoke.by_commit import Walk, by_commit
from parity.smoke.outcome import Finding
from parity.smoke.page_shown import Shown
from parity.smoke.run import Asked, Trainer, sides, smoke
from parity.smoke.runs import Cache
from parity.smoke.setting import setting
from parity.smoke.watch import Lines
from parity.verdict import Verdict
from porttool.manifest import Manifest


def trainer(manifest: Manifest, left: str, right: str, jobs: int) -> Trainer:
    """What trains both sides as the manifest's `parity.convergence` says."""
    return Trainer(setting(manifest, left, right), Asked(jobs=jobs))


def to_make(of: Trainer) -> int:
    """How many training runs are not kept from an earlier one."""
    kept = Cache(of.of.cache, of.of.stack)
    runs = {run.key(of.of.stack): run for run in sides(of)}
    return sum(not kept.has(run) for run in runs.values())


def trained(of: Trainer, report: Report) -> tuple[Shown, ...]:
    """Both sides of each scenario, trained and compared; runs of an unchanged side are kept."""
    return smoke(of, Lines(report))


def walked(of: Trainer, report: Report) -> Sequence[Walk]:
    """The training runs of the target at its base and after each ported commit."""
    return by_commit(of, Lines(report))


def differing(walks: Sequence[Walk]) -> dict[str, dict[str, int]]:
    """Steps that are not equal, by commit and scenario."""
    found: dict[str, dict[str, int]] = {}
    # After a run that cannot be compared nobody knows which steps differ.
    lost = {row.commit for walk in walks for row in walk.rows if row.distance.incomparable}
    for walk in walks:
        for row in walk.rows:
            if row.commit in lost:
                continue
            found.setdefault(row.commit, {})[walk.scenario] = row.compared.of_steps - row.compared.equal_steps
    return found


def probe(manifest: Manifest, shown: Sequence[Shown], began: float) -> Probe:
    """What differs is told in the order of the steps; laws that both sides break alike fail nothing here."""
    cases = tuple(_case(manifest, one) for one in shown)
    equal = sum(one.compared.equal_steps for one in shown)
    steps = sum(one.compared.of_steps for one in shown)
    told = f"{len(cases)} scenario{'s' * (len(cases) != 1)}, {equal} of {steps} training steps equal bit for bit"
    return Probe("convergence", "smoke", cases, told, time.monotonic() - began)


def _case(manifest: Manifest, one: Shown) -> Case:
    at = in_manifest(manifest, "parity", "convergence", "scenarios", one.scenario)
    told = one.compared
    if told.verdict is Verdict.INCOMPARABLE:
        return Case(one.scenario, told.verdict, one.reason, place=at)
    pairs = [(finding, True) for finding in told.findings] + [(finding, False) for finding in told.shared]
    found = tuple(
        Found(
            f"{one.scenario}/{finding.key}",
            _value(finding.left),
            _value(finding.right),
            finding.rule if counts else "shared",
            _cause(one, finding),
            at,
            counts=counts,
        )
        for finding, counts in pairs
    )
    return Case(one.scenario, told.verdict, one.reason, found, told.of_steps, at)


def _cause(one: Shown, finding: Finding) -> str:
    return "; ".join(one.spoken(text) for text in (finding.told, finding.cause) if text)


def _value(held: Leaf | None) -> str | None:
    return None if held is None else f"{held}"
