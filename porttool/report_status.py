"""Where two branches stand, as JSON."""

from __future__ import annotations

from typing import Any, get_args

from porttool.status import Standing, State, Status


def status_json(status: Status) -> dict[str, Any]:
    """Every commit of both branches, once, with its mates."""
    return {
        "counts": {state: len(held) for state, held in by_state(status).items()},
        "source": [_standing(standing) for standing in status.source],
        "target": [_standing(standing) for standing in status.target],
        "ties": [
            {"sources": list(tie.sources), "targets": list(tie.targets), "reason": tie.reason} for tie in status.ties
        ],
        "lost_authors": [
            {"target": lost.target, "author": lost.author, "sources": list(lost.sources), "lost": list(lost.lost)}
            for lost in status.lost_authors
        ],
    }


def by_state(status: Status) -> dict[str, list[Standing]]:
    """Source commits by state, and under `only there` the target commits that no source commit is in."""
    found: dict[str, list[Standing]] = {state: [] for state in get_args(State)}
    for standing in status.source:
        found[standing.state].append(standing)
    found["only there"] = [standing for standing in status.target if standing.state == "only there"]
    return found


def _standing(standing: Standing) -> dict[str, Any]:
    return {
        "commit": standing.oid,
        "subject": standing.subject,
        "author": standing.author,
        "state": standing.state,
        "mates": list(standing.mates),
        "how": standing.how,
        "likeness": standing.likeness,
        "evidence": list(standing.evidence),
    }
