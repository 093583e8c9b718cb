"""A gate as Markdown for a comment or a job summary: within a limit, degraded section by section, never cut."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from parity.gate.result import Found, Gate, Point, Probe, Row, rows
from parity.verdict import Verdict
from porttool.report_markdown import LIMIT, code, plain, table_row

Section = Callable[[Gate, int], list[str]]
_MARKS = {Verdict.MATCH: "✅", Verdict.DIFFER: "❌", Verdict.INCOMPARABLE: "⚠️"}
# By level, the last one says the least: entries of a list, characters of a text, keys of a commit, cases of a finding.
_LISTED = (400, 200, 100, 50, 25, 12, 0)
_LONGEST = (2000, 600, 400, 300, 200, 120, 80)
_KEYS = (40, 20, 12, 8, 6, 4, 0)
_CASES = (6, 3, 2, 1, 1, 1, 1)
_LAST = len(_LISTED) - 1


def markdown(gate: Gate, limit: int = LIMIT) -> str:
    """Markdown of at most `limit` characters; what was left out is counted."""

    @cache  # once per level, however many combinations are tried
    def rendered(section: Section, level: int) -> list[str]:
        return section(gate, level)

    whole = _joined(gate, rendered, dict.fromkeys(_SECTIONS, 0))
    if len(whole) <= limit:
        return whole
    digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
    note = f"Shortened to {limit} characters; everything is in `porttool gate --json` or `--html`. Whole: {digest}."
    for levels in _degraded():
        text = _joined(gate, rendered, levels, note)
        if len(text) <= limit:
            return text
    return "\n".join([_answer(gate)[: limit // 2], "", note, ""])[:limit]


def _degraded() -> Iterator[dict[Section, int]]:
    """Ever shorter levels: what a reviewer misses least goes first, the verdicts last."""
    levels = dict.fromkeys(_SECTIONS, 0)
    for level in range(1, _LAST + 1):
        for section in _LEAST_MISSED:
            levels[section] = level
            yield dict(levels)


def _joined(
    gate: Gate, rendered: Callable[[Section, int], list[str]], levels: dict[Section, int], note: str = ""
) -> str:
    lines = [_answer(gate), ""]
    lines += [f"{plain(gate.sides[0])} against {plain(gate.sides[1])}, {code(gate.manifest)}.", ""]
    lines += [note, ""] if note else []
    for section in _SECTIONS:
        lines += rendered(section, levels[section])
    return "\n".join(lines)


def _answer(gate: Gate) -> str:
    return f"## {_MARKS[gate.verdict]} {gate.verdict.value}: {plain(_cut(gate.answer, 0))}"


def _probes(gate: Gate, level: int) -> list[str]:
    lines = ["| probe | verdict | what was looked at | seconds |", "| --- | --- | --- | --- |"]
    for probe in gate.probes:
        told = probe.told if level < _LAST else ""
        verdict = f"{_MARKS[probe.verdict]} {probe.verdict.value}"
        cells = (plain(_cut(probe.name, level)), verdict, plain(_cut(told, level)), f"{probe.seconds:.1f}")
        lines.append(table_row(cells))
    missing = ((plain(name), "not checked", plain(_cut(why, level)), "") for name, why in gate.unchecked.items())
    lines += [table_row(cells) for cells in missing]
    return [*lines, ""]


def _why(gate: Gate, level: int) -> list[str]:
    """For each probe that does not match: the first divergence, both values, the cause and the commit."""
    lines = []
    for probe in gate.probes:
        if probe.verdict is Verdict.MATCH:
            continue
        case = next(one for one in probe.bad if one.verdict is probe.verdict)
        named = "" if case.name == probe.name else f" {plain(_cut(case.name, level))}:"
        lines += [f"**{plain(_cut(probe.name, level))}**{named} {plain(_cut(case.reason, level))}", ""]
        first = case.failing[0] if case.failing and level < _LAST else None
        if first is None:
            continue
        lines += [] if case.whole else [f"- first: {code(_cut(first.name, level))}"]
        if not case.whole and (first.left, first.right) != (None, None):
            lines += [f"- {plain(name)}: {code(_cut(held or 'nothing', level))}"
                      for name, held in zip(gate.sides, (first.left, first.right), strict=True)]  # fmt: skip
        lines += [] if first.why == case.reason else [f"- cause: {plain(_cut(first.why, level))}"]
        lines.append(f"- line: {code(_cut(str(first.place), level))}" if first.place else "- line: unknown")
        point = gate.opened_by(probe.name, first)
        lines += [f"- commit: {code(point.commit[:10])} {plain(_cut(point.subject, level))}"] if point else []
        lines.append("")
    return ["### Why", "", *lines] if lines else []


def _findings(gate: Gate, level: int) -> list[str]:
    lines: list[str] = []
    for probe in gate.probes:
        found = rows(probe)
        if not found:
            continue
        shown = found[: _LISTED[level]]
        lines += [f"#### {plain(_cut(probe.name, level))}: {len(found)}", ""]
        if shown:
            lines += ["| key | left | right | cause | line | seen in |", "|" + " --- |" * 6]
        lines += [_row(probe, row, level) for row in shown]
        lines += _more(len(found) - len(shown))
        lines.append("")
    return ["### Findings", "", *lines] if lines else []


def _row(probe: Probe, row: Row, level: int) -> str:
    one = row.found
    shown = () if probe.tier in ("guard", "proof") else row.cases[: _CASES[level]]
    rest = len(row.cases) - len(shown) if shown else 0
    seen = ", ".join(_cut(name, level) for name in shown) + (f" and {rest} more" if rest else "")
    sides = (code(_cut(held, level)) if held is not None else "" for held in (one.left, one.right))
    at = code(_cut(str(one.place), level)) if one.place else ""
    cells = (code(_cut(one.name, level)), *sides, plain(_cut(one.why, level)), at, plain(seen))
    return table_row(cells)


def _ledger(gate: Gate, level: int) -> list[str]:
    if not gate.ledger:
        return []
    columns = [name for name in gate.ledger[0].open._fields if any(getattr(one.open, name) for one in gate.ledger)]
    steps = any(point.steps is not None for point in gate.ledger)
    head = ["commit", "subject", *columns, *(["steps"] if steps else []), "closes", "opens"]
    lines = ["### What still differs after each commit", "", table_row(head), "|" + " --- |" * len(head)]
    for point in gate.ledger:
        counts = [point.count(name) for name in columns]
        counts += ["" if point.steps is None else str(point.steps)] * steps
        moved = (str(len(point.closes)), str(len(point.opens)))
        subject = plain(_cut(point.subject, max(level, 1)))
        if point.incomparable:
            subject += f" ({plain(_cut(point.incomparable, level))})"
        lines.append(table_row((code(point.commit[:10]), subject, *counts, *moved)))
    return [*lines, "", *_moves(gate.ledger, level)]


def _moves(points: Sequence[Point], level: int) -> list[str]:
    lines = []
    for point in points:
        for word, keys in point.moves:
            shown = keys[: _KEYS[level]]
            if shown:
                more = f" and {len(keys) - len(shown)} more" if len(keys) > len(shown) else ""
                told = ", ".join(code(_cut(key, level)) for key in shown)
                lines.append(f"- {code(point.commit[:10])} {word} {told}{more}")
    return [*lines, ""] if lines else []


def _declared(gate: Gate, level: int) -> list[str]:
    """What differs and is declared, and what this pull request changed of its own measure with a reason."""
    return _list("Declared", _beside(gate, level, lambda one: one.rule in ("expected", "declared")), level)


def _shared(gate: Gate, level: int) -> list[str]:
    lines = _beside(gate, level, lambda one: one.rule == "shared" and not one.counts)
    return _folded("Wrong on both sides alike", lines, level)


def _beside(gate: Gate, level: int, wanted: Callable[[Found], bool]) -> list[str]:
    """A line for each finding that fails nothing."""
    lines = []
    for probe in gate.probes:
        for row in rows(probe, ((case, one) for case in probe.cases for one in case.found if wanted(one))):
            name, key, why = probe.name, row.found.name, row.found.why
            lines.append(f"- {plain(_cut(name, level))} {code(_cut(key, level))}: {plain(_cut(why, level))}")
    return lines


def _warnings(gate: Gate, level: int) -> list[str]:
    return _list("Warnings", [f"- {plain(_cut(text, level))}" for text in gate.warnings], level)


def _provenance(gate: Gate, level: int) -> list[str]:
    if level == _LAST:
        return []
    lines = []
    for side in ("left", "right"):
        told = gate.provenance.get(side) or {}
        shown = {name: value for name, value in told.items() if level == 0 or not name.startswith("env.")}
        each = ", ".join(f"{plain(name)} {code(_cut(str(value), level))}" for name, value in shown.items())
        lines += [f"- {side}: {each}"] if shown else []
    return _folded("Where it ran", lines, 0)


def _list(title: str, lines: list[str], level: int) -> list[str]:
    shown = lines[: _LISTED[level]]
    return [f"### {title} ({len(lines)})", "", *shown, *_more(len(lines) - len(shown)), ""] if lines else []


def _folded(title: str, lines: list[str], level: int) -> list[str]:
    """A list that a reader opens when it is wanted: it says nothing about the verdict."""
    told = _list(title, lines, level)
    return (
        ["<details>", f"<summary>{title} ({len(lines)})</summary>", "", *told[2:-1], "", "</details>", ""]
        if told
        else []
    )


def _more(rest: int) -> list[str]:
    return ["", f"and {rest} more"] if rest > 0 else []


def _cut(text: str, level: int) -> str:
    most = _LONGEST[level]
    return text if len(text) <= most else f"{text[: most - 1]}…"


_SECTIONS: tuple[Section, ...] = (_probes, _why, _findings, _ledger, _declared, _warnings, _shared, _provenance)
_LEAST_MISSED: tuple[Section, ...] = (_shared, _provenance, _declared, _findings, _ledger, _warnings, _why, _probes)
