"""Compared pairs as JSON: verdict, probes with their findings, provenance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from parity.compare import Finding
from parity.consumers import Row
from parity.probes.pairs import Pair, in_order, worst
from parity.record import Capture, Leaf
from parity.store import Stored
from parity.verdict import Verdict, overall


def pairs_json(pairs: Sequence[Pair], stored: Iterable[Stored] = ()) -> dict[str, Any]:
    """`{"verdict", "probes": {name: {"verdict", "findings"}}, "provenance"}`; finding keys begin with the scenario.

    The rule of a finding says what it counts as: `expected` and `shared` ones are no differences.
    """
    held = list(stored)
    probes: dict[str, Any] = {}
    for name in in_order(pairs):
        seen = [one for one in pairs if name in one.probes]
        found = [told for one in seen for told in _findings(one, name)]
        probes[name] = {"verdict": overall([one.of(name) for one in seen]).value, "findings": found}
    if held:
        probes["stored"] = _stored(held)
    verdict = worst(pairs)
    if any(one.judged.verdict is Verdict.DIFFER for one in held):
        verdict = Verdict.DIFFER
    return {"verdict": verdict.value, "probes": probes, "provenance": _provenance(pairs)}


def _findings(one: Pair, probe: str) -> list[dict[str, Any]]:
    told = [*one.comparison.findings, *one.comparison.expected]
    found = [_finding(one.scenario, finding) for finding in told if finding.probe == probe]
    failed_laws = {(finding.probe, finding.key) for finding in told if finding.rule == "shared"}
    for law in one.broken:
        name, _, key = law.key.partition(".")
        if name == probe and (name, key) not in failed_laws:
            held = _value(one.left.probes[name].get(key))
            shown = {"key": f"{one.scenario}/{key}", "left": held, "right": held, "rule": "shared"}
            found.append({**shown, "cause": f"{law.law}: {law.cause}"})
    if probe == "consumers":
        failed = {finding.key for finding in told if finding.rule == "shared"}
        found += [_row(one.scenario, row) for row in one.shared if row.name not in failed]
    return found


def _finding(scenario: str, finding: Finding) -> dict[str, Any]:
    return {
        "key": f"{scenario}/{finding.key}",
        "left": _value(finding.left),
        "right": _value(finding.right),
        "rule": finding.rule,
        "cause": finding.cause,
    }


def _row(scenario: str, row: Row) -> dict[str, Any]:
    told = ", ".join(row.calls)
    return {"key": f"{scenario}/{row.name}", "left": told, "right": told, "rule": "shared", "cause": row.cause}


def _value(held: Leaf | None) -> str | None:
    return None if held is None else f"{held}"


def _stored(held: Sequence[Stored]) -> dict[str, Any]:
    # A file of another environment says nothing about the side: it fails nothing.
    verdicts = [one.judged.verdict for one in held if one.judged.verdict is not Verdict.INCOMPARABLE]
    found = [
        {**_finding(one.file.name, finding), "cause": f"{finding.probe}: not as stored"}
        for one in held
        for finding in one.comparison.findings
    ]
    answer = overall(verdicts) if verdicts else Verdict.INCOMPARABLE
    return {"verdict": answer.value, "findings": found}


def _provenance(pairs: Sequence[Pair]) -> dict[str, Any]:
    scenarios = {
        one.scenario: {"verdict": one.verdict.value, "reason": one.judged.reason, "compared": one.comparison.compared}
        for one in pairs
    }
    sides = {name: _side([getattr(one, name) for one in pairs]) for name in ("left", "right")}
    return {**sides, "scenarios": scenarios}


def _side(captures: Sequence[Capture]) -> dict[str, str]:
    """What is the same for all captures of a side."""
    told = captures[0].provenance if captures else {}
    return {name: value for name, value in told.items() if all(one.provenance.get(name) == value for one in captures)}
