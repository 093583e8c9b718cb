"""Where two branches stand, on a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console

from porttool.report import counted
from porttool.report_status import by_state
from porttool.screen import print_list, tell
from porttool.status import Standing, Status


def status_screen(status: Status, out: Console) -> None:
    """The counts, then the commits by state: source commits first."""
    states = by_state(status)
    told = ", ".join(f"{len(held)} {state}" for state, held in states.items())
    tell(out, f"{counted(len(status.source), 'source commit')}: {told}", "bold")
    for state, held in states.items():
        print_list(out, state.capitalize(), map(_line, held), whole=True)
    ties = [f"{_short(tie.sources)} or {_short(tie.targets)}: {tie.reason}" for tie in status.ties]
    print_list(out, "Equally likely, so not paired", ties, whole=True)
    print_list(out, "Authorship lost", _lost(status), whole=True)


def landed_screen(status: Status, ref: str, out: Console) -> None:
    """How the commits of a port arrived where they landed."""
    missing = [standing for standing in status.source if standing.oid in status.unported]
    arrived = len(status.source) - len(missing)
    answer = f"\nlanded on {ref}: {arrived} of {counted(len(status.source), 'commit')}"
    lost = f"; {len(status.lost_authors)} lost their authors" if status.lost_authors else ""
    tell(out, answer + lost, "bold red" if missing or lost else "bold green")
    print_list(out, "Not landed", map(_line, missing), whole=True)
    print_list(out, "Authorship lost", _lost(status), whole=True)


def _lost(status: Status) -> list[str]:
    return [f"{at.target[:12]} by {at.author} does not name {', '.join(at.lost)}" for at in status.lost_authors]


def _line(standing: Standing) -> str:
    mates = f"  {_short(standing.mates)} ({standing.how})" if standing.mates else ""
    return f"{standing.oid[:12]}{mates}  {standing.subject}"


def _short(oids: Iterable[str]) -> str:
    return " ".join(oid[:12] for oid in oids)
