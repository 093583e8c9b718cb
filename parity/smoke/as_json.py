"""What a smoke found as JSON, in the shape that every verb of the harness has: verdict, probes, provenance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from parity.record import Leaf
from parity.smoke.by_commit import Walk
from parity.smoke.envelope import Envelope
from parity.smoke.outcome import Backdrop, Compared, Finding
from parity.smoke.page_shown import Shown
from parity.smoke.run import Alike
from parity.smoke.series import Series
from parity.verdict import Verdict, overall

PROBE = "convergence"


def smoke_json(shown: Sequence[Shown], walks: Sequence[Walk] = (), files: Iterable[Path] = ()) -> dict[str, Any]:
    """`{"verdict", "probes": {"convergence": {"verdict", "findings"}}, "provenance"}`; keys begin with a scenario."""
    findings = [_finding(one.scenario, found) for one in shown for found in one.compared.findings]
    provenance: dict[str, Any] = {
        "left": _side([run for one in shown for run in one.left]),
        "right": _side([run for one in shown for run in one.right]),
        "scenarios": {one.scenario: _scenario(one) for one in shown},
        "files": [str(file) for file in files],
    }
    if walks:
        provenance["by_commit"] = {walk.scenario: _walk(walk) for walk in walks}
    return _whole(overall([one.verdict for one in shown]), findings, provenance)


def alike_json(told: Sequence[Alike]) -> dict[str, Any]:
    """The same for A/A: each scenario with its count of runs and of alarms."""
    verdict = overall([one.verdict for one in told])
    findings = [_finding(one.scenario, found) for one in told for each in one.compared for found in each.findings]
    side = _side([run for one in told for run in one.first])
    scenarios = {
        one.scenario: {
            "verdict": one.verdict.value,
            "reason": one.reason,
            "runs": len(one.compared),
            "alarms": one.alarms,
        }
        for one in told
    }
    provenance = {"left": side, "right": side, "scenarios": scenarios}
    return _whole(verdict, findings, provenance)


def measured_json(written: Mapping[Path, Envelope]) -> dict[str, Any]:
    """What was measured and where it is kept; nothing was compared."""
    scenarios = {
        one.scenario: {"file": str(file), "runs": len(one.runs), "alpha": one.alpha, "seeds": list(one.seeds)}
        for file, one in written.items()
    }
    side = _side([run for one in written.values() for run in one.runs])
    return {"measured": scenarios, "provenance": {"left": side}}


def _whole(verdict: Verdict, findings: list[dict[str, Any]], provenance: dict[str, Any]) -> dict[str, Any]:
    probe = {"verdict": verdict.value, "findings": findings}
    return {"verdict": verdict.value, "probes": {PROBE: probe}, "provenance": provenance}


def _finding(scenario: str, found: Finding) -> dict[str, Any]:
    return {
        "key": f"{scenario}/{found.key}",
        "left": _value(found.left),
        "right": _value(found.right),
        "rule": found.rule,
        "cause": found.cause or found.told,
    }


def _value(held: Leaf | None) -> str | None:
    return None if held is None else f"{held}"


def _scenario(one: Shown) -> dict[str, Any]:
    told: Compared = one.compared
    return {
        "verdict": told.verdict.value,
        "reason": told.reason,
        "compared": sum(curve.of for curve in told.curves) + len(told.validation),
        "mode": told.mode,
        "seeds": list(told.seeds),
        "steps": told.steps,
        "equal_steps": told.equal_steps,
        "of_steps": told.of_steps,
        "first": f"{one.scenario}/{told.first.key}" if told.first else None,
        "false_alarm_rate": told.rate,
        "envelope": _backdrop(told.backdrop),
        "shared": [_finding(one.scenario, found) for found in told.shared],
        "notes": list(told.notes),
        "causes": [{"commit": cause.commit, "subject": cause.subject, "cause": cause.told} for cause in one.causes],
        "command": one.command,
    }


def _backdrop(held: Backdrop | None) -> dict[str, Any] | None:
    """The envelope that an exact comparison stands before, and who leaves it first at which step."""
    if held is None:
        return None
    leaves = [{"metric": one.metric, "side": one.side, "seed": one.seed, "step": one.step} for one in held.leaves]
    return {"runs": held.runs, "not_drawn": held.refused or None, "leaves": leaves}


def _walk(walk: Walk) -> list[dict[str, Any]]:
    return [
        {
            "commit": row.commit,
            "subject": row.subject,
            "verdict": row.compared.verdict.value,
            "equal_steps": row.compared.equal_steps,
            "of_steps": row.compared.of_steps,
            "first": row.first or None,
            "differing": None if row.why else row.cells,
            "reason": row.compared.reason,
            "cause": row.told,
        }
        for row in walk.rows
    ]


def _side(runs: Sequence[Series]) -> dict[str, str]:
    """What is the same for all runs of a side."""
    told = runs[0].provenance if runs else {}
    return {name: value for name, value in told.items() if all(run.provenance.get(name) == value for run in runs)}
