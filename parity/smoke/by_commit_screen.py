"""The target commit by commit, on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from parity.smoke.by_commit import Row, Walk
from porttool.screen import print_table, tell

_HEAD = ("#", "commit", "subject", "equal", "differing", "first divergence", "gap")


def screen(walks: Sequence[Walk], out: Console) -> None:
    """A table for each scenario, what could not be compared, and the commits that change the gap."""
    for walk in walks:
        tell(out, f"\n{walk.scenario}, commit by commit", "bold")
        print_table(out, _HEAD, [(f"{place}", *_cells(row)) for place, row in enumerate(walk.rows)])
        reasons: dict[str, list[str]] = {}
        for place, row in enumerate(walk.rows):
            if row.why:
                reasons.setdefault(row.why, []).append(f"{place}")
        for why, places in reasons.items():
            tell(out, f"{', '.join(places)} cannot be compared: {why}")
        tell(out, named(walk))


def _cells(row: Row) -> tuple[str, ...]:
    said = row.told.split()[0] if row.told else ""
    if row.why:
        return row.commit[:8], row.subject, "-", "-", "-", said
    return row.commit[:8], row.subject, row.equal, f"{row.cells}", row.first or "none", said


def named(walk: Walk) -> str:
    """The commits that change the gap, in one sentence."""
    rows = [(place, row) for place, row in enumerate(walk.rows) if row.told]
    told = [f"commit {place} ({row.commit[:8]} {row.subject}) {row.told}" for place, row in rows]
    return f"{walk.scenario}: {'; '.join(told) or 'no commit changes the gap'}"
