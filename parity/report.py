"""Compared pairs on a terminal: verdict, first differing key, table, what to do. The first line is the answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.text import Text

from parity.compare import Finding
from parity.consumers import Row
from parity.probes.pairs import Pair, worst
from parity.report_advice import advice
from parity.report_table import rows_of, shown, table
from parity.store import Stored
from parity.verdict import Verdict

LISTED = 12
_COLOURS = {Verdict.MATCH: "bold green", Verdict.DIFFER: "bold red", Verdict.INCOMPARABLE: "bold yellow"}


def screen(
    pairs: Sequence[Pair], out: Console, *, stored: Iterable[Stored] = (), names: tuple[str, str], shared: bool = False
) -> None:
    """Everything there is to say: a clean scenario takes one line."""
    bad = [one for one in pairs if one.verdict is not Verdict.MATCH]
    moved = [one for one in stored if one.judged.verdict is Verdict.DIFFER]
    if bad and len(pairs) > 1:
        names_of = ", ".join(one.scenario for one in bad)
        _answer(worst(pairs), f"{len(bad)} of {len(pairs)} scenarios: {names_of}", out)
    elif moved and not bad:
        _answer(Verdict.DIFFER, f"both sides agree, but {len(moved)} are not as stored", out)
    told: set[str] = set()
    for one in pairs:
        _scenario(one, out, names, told)
        if shared:
            _shared(one, out)
    for held in stored:
        _stored(held, out)
    _unused(pairs, out)
    if bad:
        _advice(bad, out)


def _answer(verdict: Verdict, told: str, out: Console) -> None:
    line = Text(verdict.value, style=_COLOURS[verdict])
    line.append(f"  {told}", style="default")
    out.print(line, soft_wrap=True)


def _scenario(one: Pair, out: Console, names: tuple[str, str], told: set[str]) -> None:
    if one.verdict is Verdict.MATCH:
        _answer(one.verdict, f"{one.scenario}: {one.judged.reason}{_declared(one)}{_shared_line(one, told)}", out)
        return
    _answer(one.verdict, f"{one.scenario}: {one.judged.reason}", out)
    if one.verdict is Verdict.INCOMPARABLE:
        for side in (one.left, one.right):
            for line in side.crashed.strip().splitlines()[-6:]:
                out.print(f"  {side.side}: {line}", soft_wrap=True)
        return
    findings = one.comparison.findings
    _first(one, findings[0], out, names)
    rows = rows_of(one, findings)
    table(out, names, rows[:LISTED])
    if len(rows) > LISTED:
        out.print(f"and {len(rows) - LISTED} more rows: see --json")
    alike = _shared_line(one, told).lstrip("; ")
    if alike:
        out.print(alike, soft_wrap=True)


def _first(one: Pair, finding: Finding, out: Console, names: tuple[str, str]) -> None:
    """The first divergence: calls in the order in which they were made."""
    out.print(f"first: {finding.probe}.{finding.key}", soft_wrap=True)
    if finding.probe == "consumers":
        out.print(f"  {finding.cause}", soft_wrap=True)
        return
    for name, held in zip(names, (finding.left, finding.right), strict=True):
        out.print(
            f"  {name}: {shown(held)}{f'   {held.origin}' if held is not None and held.origin else ''}", soft_wrap=True
        )
    if finding.cause:
        out.print(f"  cause: {finding.cause}", soft_wrap=True)


def _declared(one: Pair) -> str:
    expected = len(one.comparison.expected)
    volatile = one.comparison.volatile
    parts = [f"{expected} differ as declared"] * bool(expected) + [f"{volatile} not compared as declared"] * bool(
        volatile
    )
    return "".join(f"; {part}" for part in parts)


def _shared_line(one: Pair, told: set[str]) -> str:
    """What both sides have wrong alike: laws by name, mismatches by count; likely misspellings are named once."""
    parts = []
    if one.broken:
        parts.append(f"wrong on both sides: {', '.join(dict.fromkeys(law.law for law in one.broken))}")
    if one.shared:
        doubtful = [text for row in one.shared if (text := _doubtful(row)) and text not in told]
        told.update(doubtful)
        keys = f"{len(one.shared)} key{'s' * (len(one.shared) > 1)} without a reader or a sender"
        parts.append(f"shared: {keys}" + (f" ({'; '.join(doubtful)})" if doubtful else ""))
    return "".join(f"; {part}" for part in parts)


def _doubtful(row: Row) -> str:
    """A mismatch that looks like a mistake by its name."""
    if row.kind == "elsewhere":
        return f"{row.dict}.{row.key} is sent where its reader does not look"
    return f"{row.dict}.{row.key} is sent, {row.dict}.{row.near} is read" if row.near and row.kind == "unread" else ""


def _shared(one: Pair, out: Console) -> None:
    for law in one.broken:
        out.print(f"  shared  {law.law}, {law.key}: {law.cause}", soft_wrap=True)
    for row in one.shared:
        calls = "" if row.calls == ("client",) else f"  [{', '.join(row.calls)}]"
        out.print(f"  shared  {row.name}: {row.cause}{calls}", soft_wrap=True)


def _stored(held: Stored, out: Console) -> None:
    name = f"{held.file.parent.name}/{held.file.name}"
    if held.judged.verdict is Verdict.DIFFER:
        _answer(Verdict.DIFFER, f"{name}: {held.judged.reason}; --update writes it anew", out)
        for finding in held.comparison.findings[:LISTED]:
            told = f"{shown(finding.left)} is now {shown(finding.right)}"
            out.print(f"  {finding.probe}.{finding.key}: {told}", soft_wrap=True)
    elif held.judged.verdict is Verdict.INCOMPARABLE:
        out.print(f"{name} is not compared: {held.judged.reason}", soft_wrap=True)


def _unused(pairs: Sequence[Pair], out: Console) -> None:
    compared = [one for one in pairs if not one.comparison.incomparable]
    sets = [set(one.comparison.unused_rules) for one in compared]
    for rule in sorted(set.intersection(*sets) if sets else (), key=lambda rule: rule.glob):
        out.print(f"warning: the rule {rule.glob!r} fitted nothing", soft_wrap=True)


def _advice(bad: Sequence[Pair], out: Console) -> None:
    told: Iterator[str] = (line for one in bad for line in advice(one))
    lines = list(dict.fromkeys(told))
    if lines:
        out.print("what to do", style="bold")
    for line in lines[:LISTED]:
        out.print(f"  {line}", soft_wrap=True)
