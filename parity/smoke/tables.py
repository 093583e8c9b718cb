"""The tables of a pull request: per step, windows, validation; as plain cells, and as Markdown within a limit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

from parity.record import Leaf
from parity.smoke.compare import Compared, Curve
from parity.smoke.page_panel import apart, away, chosen, number, ulps
from parity.smoke.page_shown import Shown, answer, behind, extent, how
from porttool.errors import visible
from porttool.report import counted
from porttool.report_markdown import LIMIT, code, table_row

_ROWS = 20  # of a table that had to be shortened


@dataclass(frozen=True)
class Grid:
    """A table: `numbers` are the columns that hold numbers, `wrong` the rows that say that the sides are apart.

    `bold` are the cells, `(row, column)`, that do.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()
    wrong: frozenset[int] = frozenset()
    bold: frozenset[tuple[int, int]] = frozenset()
    left_out: str = ""


Section = Callable[[Shown, int], Grid]


def steps(shown: Shown, level: int = 0) -> Grid:
    """Each step of each side. Shorter: equal sides in one row; only the steps that differ; only their number."""
    told, columns = shown.compared, chosen(shown.compared)
    if not columns:
        return Grid("Per step", (), ())
    several, timed = len(told.seeds) > 1, any(run.seconds for run in (*shown.left, *shown.right))
    head = (*["seed"] * several, "step", "side", "equal", *columns, *["seconds"] * timed)
    rows: list[tuple[str, ...]] = []
    bold: set[tuple[int, int]] = set()
    skipped = 0
    for seed, step in product(told.seeds, range(1, told.steps + 1)):
        parted, equal = _parted(told, seed, step)
        if level >= 2 and (equal == "yes" or len(rows) >= _ROWS or level == 3):
            skipped += 1
            continue
        names = ("both",) if level and equal == "yes" else shown.sides
        places = [2 + several, *(3 + several + k for k, name in enumerate(columns) if name in parted)]
        bold.update((len(rows) + k, place) for k in range(len(names)) for place in places if parted)
        cells = zip(names, _values(told, columns, seed, step), _seconds(shown, seed, step), strict=False)
        lead = (*[f"{seed}"] * several, f"{step}")
        rows += [(*lead, name, equal, *values, *[took] * timed) for name, values, took in cells]
    others = len({curve.metric for curve in told.curves}) - len(columns)
    notes = [_out(skipped, "step"), _out(others, "other metric"), "equal steps are in one row" * (level == 1)]
    first = 1 + several
    numbers = frozenset({*range(first), *range(first + 2, len(head))})
    wrong = frozenset(row for row, _ in bold)
    return Grid("Per step", head, tuple(rows), numbers, wrong, frozenset(bold), "; ".join(filter(None, notes)))


def windows(shown: Shown, level: int = 0) -> Grid:
    """Mean and range of each window. Shorter: only those that differ; only the first; only their number."""
    held = [row for row in shown.compared.windows if row.left_mean is not None or row.right_mean is not None]
    different = [row for row in held if row.mean_difference or row.range_difference]
    kept = held if level == 0 else different if level == 1 else different[:_ROWS] if level == 2 else []
    several = len(shown.compared.seeds) > 1
    head = ("metric", "steps", *(f"{what} {name}" for what in ("mean", "range") for name in (*shown.sides, "apart")))
    rows = []
    for row in kept:
        means, ranges = apart(row.left_mean, row.right_mean), apart(row.left_range, row.right_range)
        told = (f"{row.first}-{row.last}", *means, _difference(row.mean_difference))
        seed = f"seed {row.seed}: " if several else ""
        rows.append((f"{seed}{row.metric}", *told, *ranges, _difference(row.range_difference)))
    # Within an envelope the means may differ.
    wrong = frozenset(k for k, row in enumerate(kept) if row in different and shown.compared.mode == "exact")
    bold = frozenset((k, place) for k in wrong for place in (4, 7) if rows[k][place] not in ("0", "-"))
    left_out = _out(len(held) - len(rows), "window")
    return Grid("Windows", head, tuple(rows), frozenset(range(1, 8)), wrong, bold, left_out)


def validation(shown: Shown, level: int = 0) -> Grid:
    """What validation measured. Shorter: only what differs; only the first; only their number."""
    held = shown.compared.validation
    different = [row for row in held if not row.equal]
    kept = list(held) if level == 0 else different if level == 1 else different[:_ROWS] if level == 2 else []
    several = len(shown.compared.seeds) > 1
    rows = []
    for row in kept:
        seed = f"seed {row.seed}: " if several else ""
        rows.append((f"{seed}{row.key}", *_leaves(row.left, row.right), "yes" if row.equal else "no"))
    wrong = frozenset(k for k, row in enumerate(kept) if not row.equal)
    left_out = _out(len(held) - len(rows), "metric")
    head, bold = ("metric", *shown.sides, "equal"), frozenset((k, 3) for k in wrong)
    return Grid("Validation", head, tuple(rows), frozenset({1, 2}), wrong, bold, left_out)


def metrics(shown: Shown, level: int = 0) -> Grid:
    """How far apart each metric is that is not equal at each step, and where most; last, those without a number."""
    envelope, several = shown.compared.mode != "exact", len(shown.compared.seeds) > 1
    kept = [curve for curve in shown.compared.curves if curve.different and level < 3]
    named: dict[tuple[str, ...], list[str]] = {}
    for curve in sorted(kept, key=lambda curve: curve.largest is None):
        parted = away(curve)
        told = (f"{curve.equal} of {curve.of}", f"{parted[0]}" if parted else "-", *_largest(curve))
        name = f"seed {curve.seed}: {curve.metric}" if several else curve.metric
        # Rows that say how far apart the sides are stand alone, whatever the numbers.
        named.setdefault(told if curve.largest is None else (*told, name), []).append(name)
    rows = tuple((", ".join(names), *told[:7]) for told, names in named.items())
    wrong = frozenset(k for k, row in enumerate(rows) if row[2] != "-")
    away_head = "leaves the envelope at step" if envelope else "differs from step"
    head = ("metric", "equal steps", away_head, "largest difference", "at step", "ulps", *shown.sides)
    equal = len({curve.metric for curve in shown.compared.curves} - {curve.metric for curve in kept})
    left_out = (
        f"{counted(equal, 'other metric' if kept else 'metric')} equal at each step" if equal and level < 3 else ""
    )
    bold = frozenset((k, 2) for k in wrong)
    return Grid("Differences", head, rows, frozenset(range(1, 8)), wrong, bold, left_out)


def schedule(shown: Shown, level: int = 0) -> Grid:
    """The learning rate of each step against its closed form."""
    held = shown.compared.schedule
    broken = [row for row in held if not (row.left_ok and row.right_ok)]
    kept = list(held) if level == 0 else broken[:_ROWS]
    rows = []
    for row in kept:
        sides = apart(row.expected, row.left, row.right)
        ok = [name for name, fits in zip(shown.sides, (row.left_ok, row.right_ok), strict=True) if not fits]
        rows.append((f"{row.step}", f"{row.updates}", *sides, f"no: {', '.join(ok)}" if ok else "yes"))
    wrong = frozenset(k for k, row in enumerate(kept) if row in broken)
    head = ("step", "updates", "closed form", *shown.sides, "fits")
    left_out = _out(len(held) - len(rows), "step")
    bold = frozenset((k, 5) for k in wrong)
    return Grid("Learning rate in closed form", head, tuple(rows), frozenset(range(5)), wrong, bold, left_out)


def bands(shown: Shown, level: int = 0) -> Grid:
    """The fixed ranges that both sides must keep."""
    held = shown.compared.bands
    kept = [row for row in held if level == 0 or row.outside]
    rows = []
    for row in kept:
        name = shown.sides[row.side == "right"]
        out = ", ".join(map(str, row.outside[:8])) + (" ..." if len(row.outside) > 8 else "")
        told = (f"{number(row.band.low)} to {number(row.band.high)}", number(row.lowest), number(row.highest))
        rows.append((row.metric, name, *told, out or "none", row.band.why))
    wrong = frozenset(k for k, row in enumerate(kept) if row.outside)
    head = ("metric", "side", "band", "lowest", "highest", "steps outside", "why")
    bold, left_out = frozenset((k, 5) for k in wrong), _out(len(held) - len(rows), "band")
    return Grid("Bands", head, tuple(rows), frozenset({3, 4}), wrong, bold, left_out)


def _values(told: Compared, columns: Sequence[str], seed: int, step: int) -> list[tuple[str, ...]]:
    """The cells of both sides at a step; a run may be shorter than another, or lack a metric."""
    sides = {curve.metric: (curve.left, curve.right) for curve in told.curves if curve.seed == seed}
    held = [[side[step - 1] if step <= len(side) else None for side in sides.get(name, ((), ()))] for name in columns]
    return list(zip(*(apart(*pair) for pair in held), strict=True))


def _seconds(shown: Shown, seed: int, step: int) -> list[str]:
    """What the step took on each side."""
    runs = [next(run for run in side if run.seed == seed) for side in (shown.left, shown.right)]
    return [f"{run.seconds[step - 1]:.1f}" if step <= len(run.seconds) else "-" for run in runs]


def _parted(told: Compared, seed: int, step: int) -> tuple[set[str], str]:
    """The metrics that are apart at a step, and the step in a word: yes, within (the envelope), or no and how many."""
    curves = [curve for curve in told.curves if curve.seed == seed]
    parted = {curve.metric for curve in curves if step in away(curve)}
    if parted:
        return parted, f"no ({len(parted)})"
    return parted, "within" if any(step in curve.different for curve in curves) else "yes"


def _largest(curve: Curve) -> tuple[str, ...]:
    most = curve.largest
    if most is None:
        return ("-",) * 5
    return (number(most.absolute, 3), str(most.step), ulps(most.ulps), *apart(most.left, most.right))


def _leaves(left: Leaf | None, right: Leaf | None) -> list[str]:
    held = [value.number() if value is not None else None for value in (left, right)]
    if all(value is not None for value in held):
        return apart(*held)
    return ["-" if value is None else f"{value}" for value in (left, right)]


def _difference(value: float | None) -> str:
    return "-" if value is None else number(value, 3)


def _out(count: int, thing: str) -> str:
    return f"{counted(count, thing)} left out" if count > 0 else ""


def markdown(results: Sequence[Shown], limit: int = LIMIT) -> str:
    """All scenarios for a pull request, of at most `limit` characters; what had to go is named in its place."""

    @cache  # once per level, however many combinations are tried
    def rendered(place: int, section: Section, level: int) -> str:
        return _table(section(results[place], level))

    text = ""
    for levels in _degraded():
        text = _joined(results, rendered, levels)
        if len(text) <= limit:
            return text
    lines = [f"## {_text(answer(results))}", "", f"Shortened to {limit} characters: every table is left out.", ""]
    return "\n".join(lines)[:limit]


_SECTIONS: tuple[Section, ...] = (metrics, steps, windows, validation, bands, schedule)
# What a reviewer misses least goes first.
_LEAST_MISSED: tuple[Section, ...] = (schedule, bands, windows, validation, steps, metrics)


def _degraded() -> Iterator[dict[Section, int]]:
    levels = dict.fromkeys(_SECTIONS, 0)
    yield dict(levels)
    for level in (1, 2, 3):
        for section in _LEAST_MISSED:
            levels[section] = level
            yield dict(levels)


def _joined(results: Sequence[Shown], rendered: Callable[[int, Section, int], str], levels: dict[Section, int]) -> str:
    lines = [f"## {_text(answer(results))}", "", _text(extent(results)), ""]
    for place, one in enumerate(results):
        told = one.compared
        lines += [f"### {_text(one.scenario)}: {told.verdict.value}", "", _text(one.reason), "", _text(how(told)), ""]
        lines += [f"{_text(one.called)}.", ""] if one.called else []
        if told.first is not None:
            lines += [f"First divergence: {code(told.first.key)}: {_text(one.spoken(told.first.told))}", ""]
        lines += [f"- {code(cause.commit[:10])} {code(cause.subject)}: {_text(cause.told)}" for cause in one.causes]
        lines += [f"- {_text(one.spoken(note))}" for note in told.notes]
        drawn, left = behind(one)
        lines += [f"- {_text(line)}" for line in (drawn, *left[:_ROWS]) if line]
        lines += [""] if one.causes or told.notes or drawn else []
        lines += [f"{_text(name)} ended early.\n" for name, _ in one.crashes()]
        lines += filter(None, (rendered(place, section, levels[section]) for section in _SECTIONS))
    return "\n".join(lines)


def _table(grid: Grid) -> str:
    if not grid.rows and not grid.left_out:
        return ""
    lines = [f"#### {grid.title}", ""]
    if grid.rows:
        sides = ("---:" if k in grid.numbers else "---" for k in range(len(grid.head)))
        lines += [table_row(map(_text, grid.head)), table_row(sides)]
        for k, row in enumerate(grid.rows):
            cells = (_cell(cell, (k, place) in grid.bold) for place, cell in enumerate(row))
            lines.append(table_row(cells))
        lines.append("")
    if grid.left_out:
        lines += [f"({_text(grid.left_out)})", ""]
    return "\n".join(lines)


def _cell(cell: str, bold: bool) -> str:
    return f"**{_text(cell)}**" if bold else _text(cell)


_LINKS = re.compile(r"[@#]|://|www\.|\b(?=\d*[a-f])[0-9a-f]{7,40}\b")
_MARKUP = re.compile(r"([\\`*_<>\[\]|~])")


def _text(text: str) -> str:
    """Plain text; what GitHub would take for a mention, a reference or a link becomes a code span."""
    flat = " ".join(visible(text, lines=True).split())
    return code(flat) if _LINKS.search(flat) else _MARKUP.sub(r"\\\1", flat)
