"""An audit on a terminal. The first line is the answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from porttool.errors import visible
from porttool.report import Audit, Counted, Resolved, Row

_WIDE = 140
_LISTED = 20


def console(stream: TextIO, colour: bool) -> Console:
    """A console that prints names as they are: no markup, no emoji, no highlighting."""
    terminal = None if colour else False
    return Console(
        file=stream, no_color=not colour, force_terminal=terminal, markup=False, emoji=False, highlight=False
    )


def tell(out: Console, text: str, style: str = "") -> None:
    """A line of text, whatever names are in it; a line end in front leaves a line empty."""
    gap = "\n" if text.startswith("\n") else ""
    out.print(Text(gap + visible(text.removeprefix("\n")), style=style), soft_wrap=True)


def verify_screen(audit: Audit, out: Console) -> None:
    """Whether the port stands, and everything that is declared or in its way; the rest is in the audit."""
    _head(audit, out)
    _commits(audit, out)
    _reasons(audit, out)
    unresolved = [left for left in audit.leftovers if left.state == "unresolved"]
    told = [f"{left.place}  {left.place.kind}  {left.place.text}" for left in unresolved]
    print_list(out, "Old names that are left", told)


def audit_screen(audit: Audit, out: Console) -> None:
    """The whole audit."""
    _head(audit, out)
    _commits(audit, out)
    _reasons(audit, out)
    print_list(out, "Not ported", [f"{oid[:12]}  {reason}" for oid, reason in audit.not_ported.items()], whole=True)
    print_list(out, "Census", census_lines(audit.census), whole=True)
    states = [left.state for left in audit.leftovers]
    told = ", ".join(f"{states.count(state)} {state}" for state in ("unresolved", "kept", "rewritten"))
    # Those that were rewritten are in the diff already.
    shown = [f"{left.state}  {left.place}  {left.place.text}  {left.reason}" for left in audit.leftovers]
    left = [line for line, state in zip(shown, states, strict=True) if state != "rewritten"]
    print_list(out, f"Old names: {told}; not rewritten", left)
    print_list(out, "Style of added lines", [f"{s.commit[:8]}  {s.place}  {s.place.text}" for s in audit.style])


def _head(audit: Audit, out: Console) -> None:
    tell(out, audit.answer, "bold green" if audit.ok else "bold red")
    on = f" as {audit.branch}" if audit.branch else ""
    again = "the same ids" if audit.rederived else "OTHER ids"
    tell(out, f"{audit.source} -> {audit.target}{on}, layout {audit.layout[:12]}; porting again gives {again}")


def _reasons(audit: Audit, out: Console) -> None:
    """What is declared, and what stands in the way."""
    if out.width < _WIDE:
        # The narrow table has no room for this column.
        adapted = [f"{row.number}  {row.adaptation}" for row in audit.rows if row.adaptation]
        print_list(out, "Adaptations", adapted, whole=True)
    resolved = [[_decision(row, found), *indented(found.delta)] for row in audit.rows for found in row.resolved]
    print_list(out, "Resolved", resolved, whole=True)
    print_list(out, "Warnings", audit.warnings, whole=True)
    places = [f"{row.number}  {place}  {place.kind}  {place.text}" for row in audit.rows for place in row.residual]
    print_list(out, "Changed beyond the layout", places, whole=not audit.ok)
    one_way = [f"{row.number}  {place}  {place.text}" for row in audit.rows for place in row.one_way]
    print_list(out, "Cannot be carried back", one_way)
    touched = [f"{path}  {'untouched' if ok else 'TOUCHED'}" for path, ok in audit.protected.items()]
    print_list(out, "Protected paths", touched)


def _decision(row: Row, found: Resolved) -> str:
    return f"{row.number}  {found.path}  {found.id} by {found.author}: {found.reason}"


def indented(delta: Iterable[str]) -> list[str]:
    """The diff of a resolution, to stand below its line."""
    return [f"    {line}" for line in delta] or ["    exactly what the port gives"]


def census_lines(census: Iterable[Counted]) -> list[str]:
    """A line for each kind that occurs, and one for all that do not."""
    there = [f"{told.count} {told.kind} ({told.policy})" for told in census if told.count]
    none = [told.kind for told in census if not told.count]
    return [*there, f"none: {', '.join(none)}"] if none else there


def print_table(out: Console, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table whose narrow columns stay whole; its lines end where the text ends, so that it can be pasted."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name in head:
        narrow, wide = _COLUMNS.get(name, (None, None))
        justify: Literal["left", "right"] = "right" if name == "#" else "left"
        table.add_column(name, overflow="fold", min_width=narrow, max_width=wide, justify=justify)
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    with out.capture() as captured:
        out.print(table)
    lines = [line.rstrip() for line in captured.get().splitlines()]
    for line in ["", *filter(None, lines)]:
        out.out(line, highlight=False)


# What a column takes at least and at most; the subject takes what is left.
_COLUMNS = {
    "#": (1, 4),
    "commit": (8, 8),
    "author": (8, 16),
    "source": (8, 8),
    "label": (11, 20),
    "touched": (9, 40),
    "adaptation": (20, 60),
}


def _commits(audit: Audit, out: Console) -> None:
    """The table of the pull request."""
    wide = out.width >= _WIDE
    rows = []
    for row in audit.rows:
        sources = " ".join(oid[:8] for oid in row.upstream or row.sources)
        cells = (str(row.number), row.commit[:8], row.name, row.subject, sources, row.label)
        rows.append((*cells, row.touched, row.adaptation) if wide else cells)
    head = ("#", "commit", "author", "subject", "source", "label", "touched", "adaptation")
    if rows:
        print_table(out, head if wide else head[:6], rows)


def print_list(out: Console, title: str, lines: Iterable[str | Sequence[str]], *, whole: bool = False) -> None:
    """A titled list of items of one or several lines; cut with its count, unless a reader must see all of it."""
    told = list(lines)
    if not told:
        return
    tell(out, f"\n{title} ({len(told)})", "bold")
    shown = told if whole else told[:_LISTED]
    for item in shown:
        for line in [item] if isinstance(item, str) else item:
            tell(out, f"  {line}")
    if len(told) > len(shown):
        tell(out, f"  and {len(told) - len(shown)} more: see --markdown or --json")
