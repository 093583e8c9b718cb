"""A gate on a terminal: the first line is the answer, then a line for each probe, then why."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from parity.gate.result import Found, Gate, Point, Probe, Row, rows
from parity.verdict import Verdict
from porttool.errors import visible

_COLOURS = {Verdict.MATCH: "bold green", Verdict.DIFFER: "bold red", Verdict.INCOMPARABLE: "bold yellow"}
LISTED = 6
_WHOLE = 2  # probes that are told in full; of the others their first divergence and its cause
_LEDGER_KEYS = 4


def gate_screen(gate: Gate, out: Console) -> None:
    """One screen: what a longer report would add is counted."""
    _line(out, gate.verdict.value, f"  {gate.answer}", _COLOURS[gate.verdict])
    _probes(gate, out)
    bad = [probe for probe in gate.probes if probe.verdict is not Verdict.MATCH]
    for place, probe in enumerate(bad):
        _why(gate, probe, out, whole=place < _WHOLE)
    if gate.ledger:
        _ledger(gate, out)
    for text in gate.warnings:
        _tell(out, f"warning: {text}")
    for text in advice(gate):
        _tell(out, text)


def _tell(out: Console, text: str, style: str = "") -> None:
    out.print(Text(visible(text), style=style), soft_wrap=True)


def _line(out: Console, head: str, rest: str, style: str) -> None:
    line = Text(head, style=style)
    line.append(visible(rest), style="default")
    out.print(line, soft_wrap=True)


def _probes(gate: Gate, out: Console) -> None:
    names = [visible(probe.name) for probe in gate.probes] + list(gate.unchecked)
    width = max(map(len, names), default=0)
    wide = len(Verdict.INCOMPARABLE.value)
    for probe in gate.probes:
        head = f"  {visible(probe.name):<{width}}  "
        text = Text(head)
        text.append(f"{probe.verdict.value:<{wide}}", style=_COLOURS[probe.verdict])
        text.append(f"{probe.seconds:>7.1f} s  {visible(_counts(probe))}")
        out.print(text, soft_wrap=True)
    took = gate.provenance.get("seconds", {})
    if "capture" in took:
        _tell(out, f"  {'captures':<{width}}  {'':<{wide}}{took['capture']:>7.1f} s  made once for all static probes")
    for name, why in gate.unchecked.items():
        _tell(out, f"  {name:<{width}}  {'not checked':<{wide}}           {why}")


def _counts(probe: Probe) -> str:
    bad = [case for case in probe.cases if case.verdict is Verdict.DIFFER]
    lost = [case for case in probe.cases if case.verdict is Verdict.INCOMPARABLE]
    parts = [f"{len(bad)} of {len(probe.cases)} differ"] * bool(bad)
    parts += [f"{len(lost)} of {len(probe.cases)} cannot be compared"] * bool(lost)
    return "; ".join([*parts, probe.told] if probe.told else parts)


def _why(gate: Gate, probe: Probe, out: Console, *, whole: bool) -> None:
    """First divergence, both values, likely cause and line, the commit, and which keys."""
    case = next(one for one in probe.bad if one.verdict is probe.verdict)
    found = rows(probe)
    told = f"{probe.name}: {probe.says(case)}"
    if found or told != gate.answer:  # the first line says it already
        _tell(out, told, "bold")
    if not found:
        return
    first = case.failing[0] if case.failing else found[0].found
    if whole and not case.whole:
        _tell(out, f"  first: {first.name}")
        for line in _sides(gate, probe, first):
            _tell(out, f"    {line}")
    for line in _cause(gate, probe, first):
        if line != f"cause: {case.reason}":
            _tell(out, f"  {line}")
    rest = [row for row in found if _told(row.found) != _told(first)]
    shown = rest[: LISTED if whole else 0]
    for row in shown:
        _tell(out, f"  also {_short(row, probe)}")
    if len(rest) > len(shown):
        _tell(out, f"  and {len(rest) - len(shown)} more: see --json, --markdown or --html")


def _told(one: Found) -> tuple[str | None, ...]:
    return one.name, one.left, one.right, one.cause


def _sides(gate: Gate, probe: Probe, one: Found) -> Iterator[str]:
    if (one.left, one.right) == (None, None):
        return
    if probe.tier == "proof":
        yield one.left or one.right or ""
        return
    for name, held in zip(gate.sides, (one.left, one.right), strict=True):
        yield f"{name}: {held if held is not None else '-'}"


def _cause(gate: Gate, probe: Probe, one: Found) -> Iterator[str]:
    yield f"cause: {one.why}"
    if one.place is not None and (one.place.root == "target" or not one.origin):
        yield f"line: {one.place}"
    if one.origin and (one.place is None or not one.origin.startswith(f"{one.place}")):
        yield f"comes from: {one.origin}"
    point = gate.opened_by(probe.name, one)
    if point is not None:
        yield f"commit: {point.commit[:8]} {point.subject}"


def _short(row: Row, probe: Probe) -> str:
    seen = "" if probe.tier in ("guard", "proof") else f" in {row.cases[0]}"
    more = f" and {len(row.cases) - 1} more" if seen and len(row.cases) > 1 else ""
    return f"{row.found.name}{seen}{more}: {_shown(row.found.left)} / {_shown(row.found.right)}"


def _shown(held: str | None) -> str:
    text = "-" if held is None else held
    return text if len(text) <= 60 else f"{text[:57]}..."


def _ledger(gate: Gate, out: Console) -> None:
    """What still differs at the base and after each commit."""
    columns = [name for name in gate.ledger[0].open._fields if any(getattr(one.open, name) for one in gate.ledger)]
    steps = any(point.steps is not None for point in gate.ledger)
    heads = [*columns, *(["steps"] if steps else [])]
    lost = any(point.incomparable for point in gate.ledger)
    _tell(out, "what still differs after each commit" + ("" if heads or lost else ": nothing"), "bold")
    widths = [max(5, len(name)) for name in heads]
    _tell(out, "  " + " ".join(["commit  ", *(f"{name:>{width}}" for name, width in zip(heads, widths, strict=True))]))
    for point in gate.ledger:
        counts = [point.count(name) for name in columns]
        counts += ["-" if point.steps is None else str(point.steps)] * steps
        cells = " ".join(f"{count:>{width}}" for count, width in zip(counts, widths, strict=True))
        _tell(out, f"  {point.commit[:8]} {cells}  {point.subject[: max(20, out.width - len(cells) - 14)]}")
        if point.incomparable:
            _tell(out, f"           {point.incomparable}")
        for line in _moved(point):
            _tell(out, f"           {line}")


def _moved(point: Point) -> Iterator[str]:
    for word, keys in point.moves:
        more = f" and {len(keys) - _LEDGER_KEYS} more" if len(keys) > _LEDGER_KEYS else ""
        yield f"{word} {len(keys)}: {', '.join(keys[:_LEDGER_KEYS])}{more}"


def advice(gate: Gate) -> Iterator[str]:
    """What to run next, where something differs."""
    differing = [probe for probe in gate.probes if probe.verdict is Verdict.DIFFER]
    static = [probe for probe in differing if probe.tier == "static"]
    if static and not gate.ledger:
        yield "`porttool gate --by-commit` names the commit since which each key differs"
    if any(probe.name == "proof" for probe in differing):
        yield "`porttool verify` shows every place that changed beyond the layout"
    if static:
        yield "a difference that is meant: declare it under parity.rules with its reason"
