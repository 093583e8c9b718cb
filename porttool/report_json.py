"""An audit as the JSON that scripts and CI read."""

from __future__ import annotations

from typing import Any

from porttool.report import Audit, Leftover, Place, Row


def verify_json(audit: Audit) -> dict[str, Any]:
    """The contract of `verify --json`: keys are never renamed or dropped."""
    return {
        "verdict": audit.verdict,
        "commits": [_commit(row) for row in audit.rows],
        "leftovers": [_leftover(leftover) for leftover in audit.leftovers],
        "protected": [{"path": path, "untouched": untouched} for path, untouched in audit.protected.items()],
        "warnings": list(audit.warnings),
        "rederived": audit.rederived,
    }


def audit_json(audit: Audit) -> dict[str, Any]:
    """`verify --json` and the rest of the audit."""
    return {
        **verify_json(audit),
        "answer": audit.answer,
        "source": audit.source,
        "target": audit.target,
        "branch": audit.branch,
        "layout": audit.layout,
        "not_ported": [{"commit": oid, "reason": reason} for oid, reason in audit.not_ported.items()],
        "census": [
            {"kind": told.kind, "count": told.count, "policy": told.policy, "places": list(told.places)}
            for told in audit.census
        ],
        "style": [{"commit": style.commit, **_place(style.place)} for style in audit.style],
    }


def _commit(row: Row) -> dict[str, Any]:
    return {
        "commit": row.commit,
        "author": row.author,
        "subject": row.subject,
        "sources": list(row.sources),
        "label": row.label,
        "residual": [_place(place) for place in row.residual],
        "one_way": [_place(place) for place in row.one_way],
        "upstream": list(row.upstream),
        "adapted": dict(row.adapted),
        "resolved": [
            {
                "path": found.path,
                "id": found.id,
                "author": found.author,
                "reason": found.reason,
                "delta": list(found.delta),
            }
            for found in row.resolved
        ],
        "touched": row.touched,
        "why": row.why,
    }


def _place(place: Place) -> dict[str, Any]:
    return {"path": place.path, "line": place.line, "kind": place.kind, "text": place.text}


def _leftover(leftover: Leftover) -> dict[str, Any]:
    return {**_place(leftover.place), "state": leftover.state, "reason": leftover.reason}
