"""A smoke run on a terminal: verdict first, then a row a metric with both sides as small plots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from rich.console import Console
from rich.text import Text

from parity.smoke.compare import Curve
from parity.smoke.page_panel import apart, away, chosen, number, ulps
from parity.smoke.page_shown import Shown, answer, behind, written
from parity.verdict import Verdict
from porttool.errors import visible
from porttool.report import counted

_COLOURS = {Verdict.MATCH: "bold green", Verdict.DIFFER: "bold red", Verdict.INCOMPARABLE: "bold yellow"}
_WIDE = 120
_LISTED, _CRASH = 8, 6
_HEAD = 2  # lines
_BARS, _PLAIN_BARS = "▁▂▃▄▅▆▇█", "_.-:=+*#"


def terminal(results: Sequence[Shown], out: Console) -> None:
    """The answer, then each scenario; one that matches is shown as its plots alone."""
    if len(results) != 1:
        verdict, _, rest = answer(results).partition(" ")
        _answer(Verdict(verdict.rstrip(":")), rest, out)
    for one in results:
        _scenario(one, out)


def _answer(verdict: Verdict, told: str, out: Console) -> None:
    line = Text(verdict.value, style=_COLOURS[verdict])
    line.append(f"  {visible(told)}", style="default")
    out.print(line, soft_wrap=True)


def _scenario(one: Shown, out: Console) -> None:
    told = one.compared
    _answer(told.verdict, f"{one.scenario}: {one.reason}", out)
    for name, lines in one.crashes():
        for line in lines.strip().splitlines()[-_CRASH:]:
            _tell(out, f"  {name}: {line}")
    _first(one, out)
    for cause in one.causes:
        _tell(out, f"  commit {cause.commit[:10]}  {cause.subject}: {cause.told}")
    _metrics(one, out)
    _behind(one, out)
    wrong = [row for row in told.validation if not row.equal]
    for row in wrong[:_LISTED]:
        _tell(out, f"validation {row.key}: {written(row.left)} | {written(row.right)}")
    if len(wrong) > _LISTED:
        _tell(out, f"and {counted(len(wrong) - _LISTED, 'more validation value')}")
    for note in told.notes[:_LISTED]:
        _tell(out, f"note: {one.spoken(note)}")


def _first(one: Shown, out: Console) -> None:
    """Where the sides part first; how far apart they are there is in the answer already."""
    found = one.compared.first
    if found is None:
        return
    where = f"step {found.step}, {found.metric}" if found.step and found.metric else found.key
    seed = f", seed {found.seed}" if len(one.compared.seeds) > 1 and found.seed else ""
    _tell(out, f"first divergence: {where}{seed}")
    width = max(map(len, one.sides))
    for name, held in zip(one.sides, (found.left, found.right), strict=True):
        _tell(out, f"  {name.ljust(width)}  {written(held)}")
    if found.cause:
        _tell(out, f"  likely cause: {one.spoken(found.cause)}")


def _behind(one: Shown, out: Console) -> None:
    """Where a side leaves the envelope that an exact comparison stands before."""
    told, lines = behind(one)
    if told:
        _tell(out, told)
    for line in lines[:_LISTED]:
        _tell(out, f"  {line}")
    if len(lines) > _LISTED:
        _tell(out, f"  and {len(lines) - _LISTED} more")


def _metrics(one: Shown, out: Console) -> None:
    """A row a metric: both plots on one scale, the last values, equal steps, first and largest difference."""
    told, wanted = one.compared, chosen(one.compared)
    curves = [curve for curve in told.curves if curve.metric in wanted]
    if not curves:
        return
    wide, several = out.width >= _WIDE, len(told.seeds) > 1
    names = one.sides
    if one.called:
        _tell(out, one.called)
    bars = _BARS if out.encoding.lower().startswith("utf") else _PLAIN_BARS
    parting = "apart" if told.mode == "exact" else "out"
    # Two lines: in one there is no room at 80 columns for heads that say what they stand above.
    above = ["", "", "", "last", "last", "steps", "first", "largest", "at", *([""] if wide else [])]
    rows = [above, ["metric", *names, *names, "equal", parting, "diff", "step", *(["ulps"] if wide else [])]]
    for curve in curves:
        name = _cut(curve.metric, 40 if wide else 15 - 3 * several) + (f" #{curve.seed}" if several else "")
        rows.append([name, *_plots(curve, bars, wide=wide), *_numbers(curve, wide=wide)])
    _print(rows, out)
    others = [name for name in dict.fromkeys(curve.metric for curve in told.curves) if name not in wanted]
    parted = {curve.metric for curve in told.curves if away(curve)}
    if others:
        apart_too = sum(name in parted for name in others)
        _tell(out, f"and {counted(len(others), 'other metric')}, {apart_too or 'none'} of them apart")


def _numbers(curve: Curve, *, wide: bool) -> list[str]:
    last = [side[-1] if side else None for side in (curve.left, curve.right)]
    shown = apart(*last) if wide else [number(value, 5) for value in last]
    parted, most = away(curve), curve.largest
    told = [f"{curve.equal}/{curve.of}", f"{parted[0]}" if parted else "-"]
    if most is None:
        return [*shown, *told, "-", "-", *(["-"] if wide else [])]
    return [*shown, *told, number(most.absolute, 3), f"{most.step}", *([ulps(most.ulps)] if wide else [])]


def _print(rows: Sequence[Sequence[str]], out: Console) -> None:
    """Names and plots at the left of their columns, numbers at the right; the first rows are the head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for place, row in enumerate(rows):
        cells = [
            cell.rjust(width) if k > 2 else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        _tell(out, " ".join(cells).rstrip(), "dim" if place < _HEAD else "")


def _plots(curve: Curve, bars: str, *, wide: bool) -> list[str]:
    """Both sides as bars on one scale; where there is room, a step is broader."""
    room = 32 if wide else 7
    broad = max(min(room // max(len(curve.left), 1), 3), 1) if wide else 1
    held = [value for value in (*curve.left, *curve.right) if value is not None and math.isfinite(value)]
    low, high = min(held, default=0.0), max(held, default=0.0)
    made = [_bars(_fit(values, room), low, high, bars) for values in (curve.left, curve.right)]
    return ["".join(bar * broad for bar in side) for side in made]


def _bars(values: Sequence[float | None], low: float, high: float, bars: str) -> str:
    def bar(value: float | None) -> str:
        if value is None:
            return " "
        if not math.isfinite(value):
            return "!"
        part = (value - low) / (high - low) if high > low else 0.5
        return bars[min(int(part * len(bars)), len(bars) - 1)]

    return "".join(map(bar, values))


def _fit(values: Sequence[float | None], room: int) -> list[float | None]:
    """As many values as there is room for: of each part of a long run the one farthest from the part's median."""
    if len(values) <= room:
        return list(values)
    edges = [len(values) * k // room for k in range(room + 1)]
    return [_extreme(values[start:end]) for start, end in pairwise(edges)]


def _extreme(values: Sequence[float | None]) -> float | None:
    held = [value for value in values if value is not None]
    odd = [value for value in held if not math.isfinite(value)]
    if odd or not held:
        return odd[0] if odd else None
    middle = median(held)
    return max(held, key=lambda value: abs(value - middle))


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 2]}.."


def _tell(out: Console, text: str, style: str = "") -> None:
    out.print(Text(visible(text), style=style), soft_wrap=True)
