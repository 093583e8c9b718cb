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
    """One differing key; `why` is who reads it, and where nobody does, the cause."""

    key: str
    left: str
    right: str
    origin: str
    why: str
    is_read: bool


def rows_of(one: Pair, findings: Iterable[Finding]) -> list[TableRow]:
    """The rows of some findings; one that is the same in several calls is one row."""
    order = sorted({call for side in (one.left, one.right) for call in calls(side)}, key=len, reverse=True)
    grouped: dict[TableRow, list[str]] = {}
    for finding in findings:
        call = next((name for name in order if finding.probe == "wire" and finding.key.startswith(f"{name}.")), "")
        held = finding.left or finding.right
        # A row is known by all but its call, and by where the value comes from only through the first call.
        key = f"{finding.probe}.{finding.key.removeprefix(f'{call}.')}"
        row = TableRow(key, *_sides(finding), held.origin if held else "", *_why(one, finding))
        grouped.setdefault(row, []).append(call)
    return [
        row._replace(key=f"{row.key} in {', '.join(names)}") if names[0] else row for row, names in grouped.items()
    ]


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


def _why(one: Pair, finding: Finding) -> tuple[str, bool]:
    if finding.probe != "consumers":
        reader = one.reader(finding)
        return reader or finding.cause, bool(reader)
    held = finding.left or finding.right
    return f"{held.value}" if held is not None and not (finding.left and finding.right) else "", False


def table(out: Console, names: tuple[str, str], rows: Sequence[TableRow]) -> None:
    """A table on a wide screen; on a narrow one a block a key, as nothing may be cut."""
    kinds = {row.is_read: "read by" if row.is_read else "cause" for row in rows if row.why}
    head = ("key", *names, "comes from", " or ".join(kinds[kind] for kind in sorted(kinds, reverse=True)))
    if out.width < _WIDE:
        for row in rows:
            out.print(row.key, soft_wrap=True)
            for name, cell in zip((*head[1:-1], kinds.get(row.is_read, "")), row[1:-1], strict=True):
                if cell:
                    out.print(f"    {name}: {cell}", soft_wrap=True)
        return
    made = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name, ratio in zip(head, (6, 4, 4, 6, 6), strict=True):
        made.add_column(name, overflow="fold", max_width=out.width * ratio // 26)
    for row in rows:
        made.add_row(*map(Text, row[:-1]))
    with out.capture() as captured:
        out.print(made)
    for line in captured.get().splitlines():
        if line.strip():
            out.out(line.rstrip(), highlight=False)
