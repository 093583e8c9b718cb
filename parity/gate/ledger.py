"""The ledger: what still differs from the source at the target's base and after each ported commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from parity.gate import static
from parity.gate.result import Open, Point
from parity.gate.watch import Report
from parity.probes.pairs import Pair
from parity.probes.rules import rules
from parity.probes.run import Setting, setting
from porttool.errors import EnvironmentFault, RepositoryError
from porttool.proof import Proof

_DS_CONFIG = ("client.ds_config.", "client.log_prob_ds_config.")


@dataclass(frozen=True)
class Stop:
    """The target at one commit, taken out of its repository; `why_not` says why that could not be done."""

    commit: str
    subject: str
    there: Setting | None
    why_not: str = ""


def stops(of: Setting, proof: Proof) -> list[Stop]:
    """The base, then each commit of the branch."""
    repository = proof.plan.repository
    commits = [row.commit for row in proof.commits if row.commit]
    start = proof.plan.tip if not commits else repository.commit(commits[0]).parents[0]
    names = [(start, f"the base, {of.manifest.target.ref}")]
    names += [(oid, repository.commit(oid).subject) for oid in commits]
    found = []
    for oid, subject in names:
        try:
            found.append(Stop(oid, subject, setting(of.manifest, of.left.ref, oid)))
        except (RepositoryError, EnvironmentFault) as error:
            found.append(Stop(oid, subject, None, error.message))
    return found


def to_make(held: Iterable[Stop]) -> int:
    """How many captures are not kept from an earlier run; commits of one tree share theirs."""
    trees = {one.there.right.tree: one.there for one in held if one.there is not None}
    return sum(static.missing(there, there.harness.scenarios) for there in trees.values())


def points(held: Sequence[Stop], jobs: int, report: Report) -> tuple[Point, ...]:
    """What differs after each. Captures are kept by tree, so that a second run captures nothing."""
    found: list[Point] = []
    for number, one in enumerate(held, 1):
        report(f"{number}/{len(held)} {one.commit[:8]} {one.subject}")
        if one.there is None:
            found.append(Point(one.commit, one.subject, incomparable=one.why_not))
            continue
        told = rules(one.there.manifest.parity)
        sides, scan = static.captured(one.there, one.there.harness.scenarios, jobs, report), one.there.scan()
        pairs = [seen.pair for left, right in sides for seen in static.compared(left, right, scan, told)]
        found.append(point(one.commit, one.subject, pairs, found))
    return tuple(found)


def point(oid: str, subject: str, pairs: Sequence[Pair], before: Sequence[Point]) -> Point:
    """One line of the ledger, with what the commit closed and opened since the line before it."""
    now = Point(oid, subject, opened(pairs), _cells(pairs))
    crashed = [one.comparison.incomparable for one in pairs if one.comparison.incomparable]
    last = next((one for one in reversed(before) if not one.incomparable), None)
    if crashed or last is None:
        # Of what was not seen it cannot be said that it was closed.
        return replace(now, incomparable=crashed[0] if crashed else "")
    fewer, more = _keys(last.cells - now.cells), _keys(now.cells - last.cells)
    was, held = last.open.keys, now.open.keys
    return replace(
        now,
        closes=tuple(sorted(was - held)),
        opens=tuple(sorted(held - was)),
        narrows=tuple(sorted(fewer & held)),
        widens=tuple(sorted(more & was)),
    )


def with_steps(found: Iterable[Point], steps: Mapping[str, Mapping[str, int]]) -> tuple[Point, ...]:
    """The ledger with the training steps that differ after each commit, by scenario."""
    return tuple(_trained(one, steps.get(one.commit)) for one in found)


def _trained(one: Point, steps: Mapping[str, int] | None) -> Point:
    if steps is None:
        return one
    return replace(one, steps=sum(steps.values()), apart=frozenset(name for name, count in steps.items() if count))


def opened(pairs: Iterable[Pair]) -> Open:
    """The distinct keys that differ, whatever the scenario, by column."""
    columns: dict[str, set[str]] = {name: set() for name in Open._fields}
    for one in pairs:
        for finding in one.comparison.findings:
            of_deepspeed = finding.probe == "config" and finding.key.startswith(_DS_CONFIG)
            column = "ds_config" if of_deepspeed else finding.probe if finding.probe in columns else "other"
            columns[column].add(f"{finding.probe}.{finding.key}")
    return Open(**{name: frozenset(keys) for name, keys in columns.items()})


def _cells(pairs: Iterable[Pair]) -> frozenset[str]:
    """Every key of every scenario that differs."""
    return frozenset(f"{one.scenario}/{told.probe}.{told.key}" for one in pairs for told in one.comparison.findings)


def _keys(cells: Iterable[str]) -> frozenset[str]:
    return frozenset(cell.partition("/")[2] for cell in cells)
