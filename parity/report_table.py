"""The table of differing keys: key, left, right, where the value comes from, who reads it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from parity.compare import Finding
from parity.consumers_sent import calls
from parity.probes.causes import parted
from parity.probes.pairs import Pair
from parity.record import Leaf

_WIDE = 140


class TableRow(NamedTuple):
    """One differing key."""

    key: str
    left: str
    right: str
    origin: str
    reader: str


def rows_of(one: Pair, findings: Iterable[Finding]) -> list[TableRow]:
    """The rows of some findings; one that is the same in several calls is one row."""
    order = sorted({call for side in (one.left, one.right) for call in calls(side)}, key=len, reverse=True)
    grouped: dict[tuple[str, ...], list[str]] = {}
    for finding in findings:
        call = next((name for name in order if finding.probe == "wire" and finding.key.startswith(f"{name}.")), "")
        held = finding.left or finding.right
        reader = _reader(one, finding)
        rest = finding.key.removeprefix(f"{call}.")
        # A row is known by all but its call, and by where the value comes from only through the first call.
        grouped.setdefault((finding.probe, rest, *_sides(finding), held.origin if held else "", reader), []).append(
            call
        )
    rows = []
    for (probe, rest, left, right, origin, reader), names in grouped.items():
        where = f" in {', '.join(names)}" if names[0] else ""
        rows.append(TableRow(f"{probe}.{rest}{where}", left, right, origin, reader))
    return rows


def _sides(finding: Finding) -> tuple[str, str]:
    """Both cells. Of a mismatch that both sides have, what they do not share; else whether a side has it."""
    left, right = finding.left, finding.right
    if finding.probe == "consumers":
        if left is not None and right is not None:
            return parted(f"{left.value}", f"{right.value}")
        return ("no", "yes") if left is None else ("yes", "no")
    if finding.key == "order" and left is not None and right is not None:
        return _count(left), _count(right)
    return shown(left), shown(right)


def shown(held: Leaf | None) -> str:
    """A side's value, or that it has none."""
    return "-" if held is None else f"{held}"


def _count(order: Leaf) -> str:
    return f"{str(order.value).count('>') + 1} calls"


def _reader(one: Pair, finding: Finding) -> str:
    if finding.probe != "consumers":
        return one.reader(finding) or finding.cause
    held = finding.left or finding.right
    return f"{held.value}" if held is not None and not (finding.left and finding.right) else ""


def table(out: Console, names: tuple[str, str], rows: Sequence[TableRow], last: str = "read by") -> None:
    """A table on a wide screen; on a narrow one a block a key, as nothing may be cut."""
    head = ("key", *names, "comes from", last)
    if out.width < _WIDE:
        for row in rows:
            out.print(row.key, soft_wrap=True)
            for name, cell in zip(head[1:], row[1:], strict=True):
                if cell:
                    out.print(f"    {name}: {cell}", soft_wrap=True)
        return
    made = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name, ratio in zip(head, (6, 4, 4, 6, 6), strict=True):
        made.add_column(name, overflow="fold", max_width=out.width * ratio // 26)
    for row in rows:
        made.add_row(*map(Text, row))
    with out.capture() as captured:
        out.print(made)
    for line in captured.get().splitlines():
        if line.strip():
            out.out(line.rstrip(), highlight=False)
