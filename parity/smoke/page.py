"""The page of a smoke run, one self-contained file, and everything else that a run leaves to look at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from parity.smoke import plot, tables
from parity.smoke.compare import Finding
from parity.smoke.page_panel import panels
from parity.smoke.page_shown import Shown, answer, behind, extent, how, provenance, written
from parity.smoke.page_svg import STYLE, drawing, legend
from parity.smoke.tables import Grid, markdown
from parity.verdict import Verdict, overall
from parity.webpage import Html, Tone, code, element, escape, figure, items, link, page, section, table, terms
from porttool.report import counted
from porttool.resolutions import write_atomic

_TONES: dict[Verdict, Tone] = {
    Verdict.MATCH: "match",
    Verdict.DIFFER: "differ",
    Verdict.INCOMPARABLE: "incomparable",
}
_LISTED = 20
_LONG = 120  # rows of a table; beyond it only those that differ are on the page, as the captures hold them all


def write(results: Sequence[Shown], folder: Path) -> list[Path]:
    """Write index.html, tables.md and a PNG for each scenario, each whole or not at all; the files are returned."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {"index.html": html(results).encode(), "tables.md": markdown(results).encode()}
    if plot.available():
        for one in results:
            if one.compared.curves:
                files[f"{file_name(one.scenario)}.png"] = plot.png(one)
    for name, content in files.items():
        write_atomic(folder / name, content)
    return [folder / name for name in files]


def html(results: Sequence[Shown]) -> str:
    """The whole page, the verdict first."""
    verdict = overall([one.verdict for one in results])
    return page(
        "Convergence smoke",
        sections(results),
        answer=answer(results),
        tone=_TONES[verdict],
        about=extent(results),
        style=STYLE,
    )


def sections(results: Sequence[Shown], prefix: str = "smoke") -> list[Html]:
    """The parts of the page; another page that shows them adds `page_svg.STYLE`. `prefix` keeps its ids apart."""
    idents = [f"{prefix}-{place}" for place in range(len(results))]
    parts = [_scenario(one, ident) for one, ident in zip(results, idents, strict=True)]
    if len(results) > 1:
        rows = [
            (link(ident, one.scenario), one.verdict.value, one.reason)
            for ident, one in zip(idents, results, strict=True)
        ]
        parts.insert(0, table(("scenario", "verdict", "reason"), rows))
    return [*parts, *([_compared(results)] if results else [])]


def file_name(scenario: str) -> str:
    """A file's name for a scenario, whatever it is called."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", scenario).lstrip(".") or "scenario"


def _scenario(one: Shown, ident: str) -> Html:
    told = one.compared
    tone = _TONES[told.verdict]
    parts: list[str] = [
        element("p", element("b", told.verdict.value), f" {one.spoken(told.reason)}", class_=tone),
        element("p", " ".join(filter(None, [how(told), f"{one.called}." * bool(one.called)])), class_="about"),
        *_first(one),
        *_crashes(one),
        *_pictures(one, ident),
        *_behind(one),
        *_causes(one),
        *_grids(one),
        *_listed("Everything that is wrong", [_line(one, found) for found in told.findings[1:]]),
        *_listed("On both sides alike", [_line(one, found) for found in told.shared]),
        *_listed("Notes", [one.spoken(note) for note in told.notes]),
        *_detectable(one),
    ]
    parts += [element("p", "Run it again: ", code(one.command))] if one.command else []
    return section(one.scenario, *parts, tone=tone, ident=ident)


def _line(one: Shown, found: Finding) -> str:
    return f"{found.key}: {one.spoken(found.told)}"


def _first(one: Shown) -> Iterator[Html]:
    """The first divergence: where, what each side has, and the likely cause."""
    found = one.compared.first
    if found is None:
        return
    sides = [(name, written(held)) for name, held in zip(one.sides, (found.left, found.right), strict=True)]
    told = [("where", found.key), ("what", one.spoken(found.told)), *sides]
    yield element("h3", "First divergence")
    yield terms([*told, *([("likely cause", one.spoken(found.cause))] if found.cause else [])])


def _crashes(one: Shown) -> Iterator[Html]:
    for name, lines in one.crashes():
        yield element("p", f"{name} ended early; its last lines:")
        yield element("pre", lines.strip())


def _pictures(one: Shown, ident: str) -> Iterator[Html]:
    drawn = panels(one.compared, one.sides)
    if not drawn:
        return
    yield element("h3", "Series")
    yield legend(one.sides, drawn)
    shown = [figure(drawing(panel, f"{ident}-{k}", one.sides), panel.told) for k, panel in enumerate(drawn)]
    yield element("div", *shown, class_="panels")


def _behind(one: Shown) -> Iterator[Html]:
    """Where a side leaves the envelope that an exact comparison stands before."""
    told, lines = behind(one)
    if told:
        yield element("h3", "Against the envelope of equal code")
        yield element("p", f"{told[0].upper()}{told[1:]}{':' if lines else '.'}")
        rest = [f"and {len(lines) - _LISTED} more"] * (len(lines) > _LISTED)
        yield from [items([*lines[:_LISTED], *rest])] if lines else []


def _causes(one: Shown) -> Iterator[Html]:
    if one.causes:
        yield element("h3", "Which ported commit")
        rows = [(code(cause.commit[:12]), cause.subject, cause.told) for cause in one.causes]
        yield table(("commit", "subject", "gap"), rows)


def _grids(one: Shown) -> Iterator[Html]:
    sections = (tables.metrics, tables.steps, tables.windows, tables.validation, tables.bands, tables.schedule)
    for made in sections:
        grid = next(grid for level in range(3) if len((grid := made(one, level)).rows) <= _LONG or level == 2)
        if grid.rows or grid.left_out:
            yield element("h3", grid.title)
            yield _grid(grid)


def _grid(grid: Grid) -> Html:
    rows = [
        [element("b", cell) if (k, place) in grid.bold else cell for place, cell in enumerate(row)]
        for k, row in enumerate(grid.rows)
    ]
    made = table(grid.head, rows, numbers=grid.numbers, marked=grid.wrong) if rows else Html("")
    return Html(made + element("p", f"{grid.left_out}.", class_="about")) if grid.left_out else made


def _listed(title: str, lines: Sequence[str]) -> Iterator[Html]:
    if lines:
        rest = [f"and {len(lines) - _LISTED} more"] * (len(lines) > _LISTED)
        yield element("h3", f"{title} ({len(lines)})")
        yield items([*lines[:_LISTED], *rest])


def _detectable(one: Shown) -> Iterator[Html]:
    """What the envelope is able to see at all."""
    if one.compared.detectable:
        yield element("h3", "Smallest shift that the envelope sees nine times in ten")
        rows = [(held.metric, f"{held.shift:.3g}", f"{held.step}") for held in one.compared.detectable]
        yield table(("metric", "shift", "at step"), rows, numbers={1, 2})


def _compared(results: Sequence[Shown]) -> Html:
    """Both sides, and the environment that they share."""
    parted, shared = provenance(results)
    names = results[0].sides
    parts: list[str] = [table(("", *names), parted)] if parted else []
    left, right = (sum(one.seconds()[side] for one in results) for side in (0, 1))
    parts.append(f"{extent(results)}. Time in steps: {names[0]} {left:.0f} s, {names[1]} {right:.0f} s.")
    parts += [element("h3", "Environment of both"), terms((escape(n), escape(v)) for n, v in shared)] if shared else []
    if not plot.available():
        parts.append("The PNG files are left out: matplotlib is not installed.")
    scenarios = counted(len(results), "scenario")
    return section(f"What was compared ({scenarios})", *parts)
