"""A gate as the JSON that scripts and CI read: verdict, probes with their findings, provenance."""

from __future__ import annotations

from typing import Any

from parity.gate.result import Found, Gate, Point, Probe


def gate_json(gate: Gate) -> dict[str, Any]:
    """The contract of `gate --json`: keys are never renamed or dropped; all else stands in the provenance."""
    return {
        "verdict": gate.verdict.value,
        "probes": {probe.name: _probe(probe) for probe in gate.probes},
        "provenance": {
            **gate.provenance,
            "answer": gate.answer,
            "manifest": gate.manifest,
            "sides": list(gate.sides),
            "cases": {probe.name: _cases(probe) for probe in gate.probes},
            "unchecked": dict(gate.unchecked),
            "warnings": list(gate.warnings),
            "ledger": [_point(point) for point in gate.ledger],
            "fault": gate.fault,
        },
    }


def _probe(probe: Probe) -> dict[str, Any]:
    found = [_found(one) for case in probe.cases for one in case.found]
    return {"verdict": probe.verdict.value, "findings": found}


def _found(one: Found) -> dict[str, Any]:
    return {"key": one.key, "left": one.left, "right": one.right, "rule": one.rule, "cause": one.cause}


def _cases(probe: Probe) -> dict[str, Any]:
    return {
        case.name: {"verdict": case.verdict.value, "reason": case.reason, "compared": case.compared}
        for case in probe.cases
    }


def _point(point: Point) -> dict[str, Any]:
    return {
        "commit": point.commit,
        "subject": point.subject,
        **{name: len(keys) for name, keys in point.open._asdict().items()},
        "steps": point.steps,
        "cells": len(point.cells),
        **{name: list(getattr(point, name)) for name in ("closes", "opens", "narrows", "widens")},
        "incomparable": point.incomparable,
    }
