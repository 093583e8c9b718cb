"""A gate as Markdown for a comment or a job summary: within a limit, degraded section by section, never cut."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from parity.gate.result import Gate, Point, Probe, Row, rows
from parity.verdict import Verdict
from porttool.errors import visible
from porttool.report_markdown import LIMIT, code

Section = Callable[[Gate, int], list[str]]
_MARKS = {Verdict.MATCH: "✅", Verdict.DIFFER: "❌", Verdict.INCOMPARABLE: "⚠️"}
_MARKUP = re.compile(r"[`*_<>\[\]|#@~\\]|://|^www\.|^[-+]$|^\d+\.$")
# A list in brackets is one word, whatever spaces it holds.
_WORDS = re.compile(r"[^\s\[]*\[[^\[\]]{0,200}\]\S*|\S+")
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
    lines += [f"{_text(gate.sides[0])} against {_text(gate.sides[1])}, {code(gate.manifest)}.", ""]
    lines += [note, ""] if note else []
    for section in _SECTIONS:
        lines += rendered(section, levels[section])
    return "\n".join(lines)


def _answer(gate: Gate) -> str:
    return f"## {_MARKS[gate.verdict]} {gate.verdict.value}: {_text(gate.answer)}"


def _probes(gate: Gate, level: int) -> list[str]:
    lines = ["| probe | verdict | what was looked at | seconds |", "| --- | --- | --- | --- |"]
    for probe in gate.probes:
        told = probe.told if level < _LAST else ""
        verdict = f"{_MARKS[probe.verdict]} {probe.verdict.value}"
        lines.append(f"| {_text(probe.name)} | {verdict} | {_text(told)} | {probe.seconds:.1f} |")
    lines += [f"| {_text(name)} | not checked | {_text(why)} | |" for name, why in gate.unchecked.items()]
    return [*lines, ""]


def _why(gate: Gate, level: int) -> list[str]:
    """For each probe that does not match: the first divergence, both values, the cause and the commit."""
    lines = []
    for probe in gate.probes:
        if probe.verdict is Verdict.MATCH:
            continue
        case = next(one for one in probe.bad if one.verdict is probe.verdict)
        named = "" if case.name == probe.name else f" {_text(case.name)}:"
        lines += [f"**{_text(probe.name)}**{named} {_text(_cut(case.reason, level))}", ""]
        first = case.failing[0] if case.failing and level < _LAST else None
        if first is None:
            continue
        lines.append(f"- first: {code(first.name)}")
        if (first.left, first.right) != (None, None):
            lines += [f"- {_text(name)}: {code(_cut(held or 'nothing', level))}"
                      for name, held in zip(gate.sides, (first.left, first.right), strict=True)]  # fmt: skip
        lines.append(f"- cause: {_text(_cut(first.why, level))}")
        lines.append(f"- line: {code(str(first.place))}" if first.place else "- line: unknown")
        point = gate.opened_by(probe.name, first.name)
        lines += [f"- commit: {code(point.commit[:10])} {_text(point.subject)}"] if point else []
        lines.append("")
    return ["### Why", "", *lines] if lines else []


def _findings(gate: Gate, level: int) -> list[str]:
    lines: list[str] = []
    for probe in gate.probes:
        found = rows(probe)
        if not found:
            continue
        shown = found[: _LISTED[level]]
        lines += [f"#### {_text(probe.name)}: {len(found)}", ""]
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
    seen = ", ".join(shown) + (f" and {rest} more" if rest else "")
    sides = (code(_cut(held, level)) if held is not None else "" for held in (one.left, one.right))
    at = code(str(one.place)) if one.place else ""
    cells = (code(_cut(one.name, level)), *sides, _text(_cut(one.why, level)), at, _text(seen))
    return f"| {' | '.join(cells)} |"


def _ledger(gate: Gate, level: int) -> list[str]:
    if not gate.ledger:
        return []
    columns = [name for name in gate.ledger[0].open._fields if any(getattr(one.open, name) for one in gate.ledger)]
    steps = any(point.steps is not None for point in gate.ledger)
    head = ["commit", "subject", *columns, *(["steps"] if steps else []), "closes", "opens"]
    lines = ["### What still differs after each commit", "", f"| {' | '.join(head)} |", "|" + " --- |" * len(head)]
    for point in gate.ledger:
        counts = [str(len(getattr(point.open, name))) for name in columns]
        counts += ["" if point.steps is None else str(point.steps)] * steps
        moved = (str(len(point.closes)), str(len(point.opens)))
        subject = _text(_cut(point.subject, max(level, 1)))
        if point.incomparable:
            subject += f" ({_text(point.incomparable)})"
        lines.append(f"| {' | '.join((code(point.commit[:10]), subject, *counts, *moved))} |")
    return [*lines, "", *_moves(gate.ledger, level)]


def _moves(points: Sequence[Point], level: int) -> list[str]:
    lines = []
    for point in points:
        for word, keys in point.moves:
            shown = keys[: _KEYS[level]]
            if shown:
                more = f" and {len(keys) - len(shown)} more" if len(keys) > len(shown) else ""
                lines.append(f"- {code(point.commit[:10])} {word} {', '.join(map(code, shown))}{more}")
    return [*lines, ""] if lines else []


def _declared(gate: Gate, level: int) -> list[str]:
    """What differs and is declared, and what this pull request changed of its own measure with a reason."""
    found = [
        (probe.name, row)
        for probe in gate.probes
        for row in rows(probe, ((c, f) for c in probe.cases for f in c.found if f.rule in ("expected", "declared")))
    ]
    lines = [f"- {_text(name)} {code(row.found.name)}: {_text(_cut(row.found.why, level))}" for name, row in found]
    return _list("Declared", lines, level)


def _shared(gate: Gate, level: int) -> list[str]:
    found = [
        (probe.name, row)
        for probe in gate.probes
        for row in rows(probe, ((c, f) for c in probe.cases for f in c.found if f.rule == "shared" and not f.counts))
    ]
    lines = [f"- {_text(name)} {code(row.found.name)}: {_text(_cut(row.found.why, level))}" for name, row in found]
    return _folded("Wrong on both sides alike", lines, level)


def _warnings(gate: Gate, level: int) -> list[str]:
    return _list("Warnings", [f"- {_text(text)}" for text in gate.warnings], level)


def _provenance(gate: Gate, level: int) -> list[str]:
    if level == _LAST:
        return []
    lines = []
    for side in ("left", "right"):
        told = gate.provenance.get(side) or {}
        shown = {name: value for name, value in told.items() if level == 0 or not name.startswith("env.")}
        each = ", ".join(f"{_text(name)} {code(str(value))}" for name, value in shown.items())
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


def _text(text: str) -> str:
    """Plain text, in which each word that a code host would take for markup, a link or a mention is a code span."""
    words = _WORDS.findall(" ".join(visible(text, lines=True).split()))
    return " ".join(_word(word) if _MARKUP.search(word) else word for word in words)


def _word(text: str) -> str:
    """A code span, with the punctuation of the sentence behind it."""
    bare = text.rstrip(",;:")
    return f"{code(bare)}{text[len(bare) :]}" if bare else code(text)


_SECTIONS: tuple[Section, ...] = (_probes, _why, _findings, _ledger, _declared, _warnings, _shared, _provenance)
_LEAST_MISSED: tuple[Section, ...] = (_shared, _provenance, _declared, _findings, _ledger, _warnings, _why, _probes)
