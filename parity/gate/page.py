"""A gate as one self-contained page: the answer, a line for each probe, why, and the curves of the training runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from parity.gate.result import TOLD, Case, Found, Gate, Probe, Row, rows
from parity.smoke.page import sections as smoke_sections
from parity.smoke.page_svg import STYLE
from parity.verdict import Verdict
from parity.webpage import Html, Tone, code, element, items, page, section, table, terms

_TONES: dict[Verdict, Tone] = {
    Verdict.MATCH: "match",
    Verdict.DIFFER: "differ",
    Verdict.INCOMPARABLE: "incomparable",
}
# Keys, values and causes are long words: they break where they have to, so that every column is on the page.
# Where there is room, keys and lines, which are looked for and copied, do not break for a long cause.
_STYLE = """\
.keys td { overflow-wrap: anywhere; min-width: 5.5rem; }
@media screen and (min-width: 75rem) {
  .found td:nth-child(1), .found td:nth-child(5), .declared td:nth-child(2), .declared td:nth-child(4) {
    min-width: 20rem;
  }
}
"""
_LISTED = 300
_CASES = 2


def html(gate: Gate) -> str:
    """The whole page."""
    curves = smoke_sections(gate.shown) if gate.shown else []
    return page(
        "porttool gate",
        [*_sections(gate), *curves],
        answer=f"{gate.verdict.value}: {gate.answer}",
        tone=_TONES[gate.verdict],
        about=f"{gate.sides[0]} against {gate.sides[1]}, {gate.manifest}, {gate.seconds:.0f} s",
        style=_STYLE + (STYLE if curves else ""),
    )


def _sections(gate: Gate) -> Iterator[Html]:
    lines: list[tuple[str, str, str, str]] = [
        (one.name, _verdict(one.verdict), one.told, f"{one.seconds:.1f}") for one in gate.probes
    ]
    lines += [(name, "not checked", why, "") for name, why in gate.unchecked.items()]
    yield section("Probes", table(("probe", "verdict", "what was looked at", "seconds"), lines, numbers=[3]))
    for probe in gate.probes:
        if probe.verdict is not Verdict.MATCH:
            yield _why(gate, probe)
    if gate.ledger:
        yield _ledger(gate)
    yield from _told(gate)
    if gate.warnings:
        yield section("Warnings", items(gate.warnings))
    sides = [gate.provenance.get(name) or {} for name in ("left", "right")]
    names = dict.fromkeys(name for side in sides for name in side)
    if names:
        held = [(name, *(str(side.get(name, "")) for side in sides)) for name in names]
        yield section("Where it ran", table(("", *gate.sides), held))


def _verdict(verdict: Verdict) -> Html:
    return element("span", element("b", verdict.value), class_=_TONES[verdict])


def _why(gate: Gate, probe: Probe) -> Html:
    case = next(one for one in probe.bad if one.verdict is probe.verdict)
    parts: list[str] = [probe.says(case)]
    if case.failing:
        parts.append(_first(gate, probe, case))
    found = rows(probe)
    if found:
        lines = [
            (code(row.found.name), *_values(row.found), row.found.why, str(row.found.place or ""), _seen(probe, row))
            for row in found[:_LISTED]
        ]
        parts.append(_keys("found", ("key", *gate.sides, "cause", "line", "seen in"), lines))
    if len(found) > _LISTED:
        parts.append(f"and {len(found) - _LISTED} more: see --json")
    return section(f"{probe.name}: {probe.verdict.value}", *parts, tone=_TONES[probe.verdict])


def _keys(name: str, head: Sequence[str], lines: Iterable[Sequence[str]]) -> Html:
    return element("div", table(head, lines), class_=f"keys {name}")


def _values(one: Found) -> tuple[str, str]:
    return one.left or "", one.right or ""


def _seen(probe: Probe, row: Row) -> str:
    """The first cases of a row: with all their names no other column would have room."""
    if probe.tier in ("guard", "proof"):
        return ""
    rest = len(row.cases) - _CASES
    return ", ".join(row.cases[:_CASES]) + (f" and {rest} more" if rest > 0 else "")


def _first(gate: Gate, probe: Probe, case: Case) -> Html:
    one = case.failing[0]
    sides = [(name, held or "nothing") for name, held in zip(gate.sides, (one.left, one.right), strict=True)]
    pairs = [] if case.whole else [("first divergence", one.name), *sides]
    pairs += [] if one.why == case.reason else [("cause", one.why)]
    pairs += [("line", str(one.place or "unknown"))]
    point = gate.opened_by(probe.name, one)
    pairs += [("commit", f"{point.commit[:10]} {point.subject}")] if point else []
    return terms(pairs)


def _ledger(gate: Gate) -> Html:
    columns = [name for name in gate.ledger[0].open._fields if any(getattr(one.open, name) for one in gate.ledger)]
    head = ("commit", "subject", *columns, "steps", "closes", "opens")
    lines = [
        (
            code(one.commit[:10]),
            f"{one.subject} ({one.incomparable})" if one.incomparable else one.subject,
            *(one.count(name) for name in columns),
            "" if one.steps is None else str(one.steps),
            str(len(one.closes)),
            str(len(one.opens)),
        )
        for one in gate.ledger
    ]
    numbers = range(2, len(head))
    moved = [f"{one.commit[:10]} {word} {', '.join(keys)}" for one in gate.ledger for word, keys in one.moves]
    return section("What still differs after each commit", table(head, lines, numbers=numbers), items(moved))


def _told(gate: Gate) -> Iterator[Html]:
    """What differs and is declared, and what both sides have wrong alike."""
    for title, rules in (("Declared", ("expected", "declared")), ("Wrong on both sides alike", ("shared",))):
        lines = [(probe.name, code(row.found.name), row.found.why, str(row.found.place or ""))
                 for probe in gate.probes for row in rows(probe, _of(probe, rules))]  # fmt: skip
        if lines:
            yield section(title, _keys("declared", ("probe", "key", "why", "line"), lines[:_LISTED]))


def _of(probe: Probe, rules: Iterable[str]) -> list[tuple[Case, Found]]:
    wanted = set(rules) & set(TOLD)
    return [(case, one) for case in probe.cases for one in case.found if not one.counts and one.rule in wanted]
