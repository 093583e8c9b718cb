"""An audit as Markdown for a pull request: within a limit, degraded section by section, never cut in the middle."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from porttool.errors import visible
from porttool.report import Audit, Place, Row

LIMIT = 60_000
_SHORT = 10


@dataclass(frozen=True)
class Rendered:
    """The text, and the whole audit where the text had to leave something out."""

    text: str
    overflow: str | None = None


Section = Callable[[Audit, int], list[str]]


def markdown(audit: Audit, artefact: str = "the full audit", limit: int = LIMIT) -> Rendered:
    """Markdown of at most `limit` characters. `artefact` is where the caller keeps the overflow."""

    @cache  # once per level, however many combinations are tried
    def rendered(section: Section, level: int) -> list[str]:
        return section(audit, level)

    whole = _joined(audit, rendered, dict.fromkeys(_SECTIONS, 0))
    if len(whole) <= limit:
        return Rendered(whole)
    digest = hashlib.sha256(whole.encode("utf-8", "surrogateescape")).hexdigest()
    note = f"Shortened to {limit} characters. Everything is in {code(artefact)}, sha256 {digest}."
    for levels in _degraded():
        text = _joined(audit, rendered, levels, note)
        if len(text) <= limit:
            return Rendered(text, whole)
    return Rendered("\n".join([f"## {audit.answer}", "", note, ""]), whole)


def _degraded() -> Iterator[dict[Section, int]]:
    """Ever shorter levels: what a reviewer misses least goes first, the table of commits last."""
    levels = dict.fromkeys(_SECTIONS, 0)
    for level in (1, 2):
        for section in _LEAST_MISSED:
            levels[section] = level
            yield dict(levels)
    for level in (1, 2, 3, 4):
        levels[_table] = level
        yield dict(levels)


def _joined(
    audit: Audit, rendered: Callable[[Section, int], list[str]], levels: dict[Section, int], note: str = ""
) -> str:
    lines = [f"## {plain(audit.answer)}", ""]
    where = f"{code(audit.branch)} on {code(audit.target)}" if audit.branch else code(audit.target)
    again = "" if audit.rederived else " Porting again gives other ids."
    lines += [f"From {code(audit.source)} to {where}, layout {code(audit.layout[:12])}.{again}", ""]
    lines += [note, ""] if note else []
    for section in _SECTIONS:
        lines += rendered(section, levels[section])
    return "\n".join(lines)


def _table(audit: Audit, level: int) -> list[str]:
    if not audit.rows:
        return []
    if level >= 3:
        labels = [row.label for row in audit.rows]
        told = [f"{labels.count(label)} {label}" for label in dict.fromkeys(labels)]
        shown = audit.rows[:100] if level == 3 else ()
        listed = [f"- {row.commit[:_SHORT]} {row.label}" for row in shown]
        rest = len(audit.rows) - len(shown)
        return ["### Commits", "", f"{len(labels)} commits: {', '.join(told)}.", "", *listed, *_more(rest), ""]
    head = ["#", "commit", "author", "subject", "source commits", "label", "touched", "adaptation"]
    head = head[: -level or None]
    lines = ["### Commits", "", table_row(head), "|" + " --- |" * len(head)]
    lines += [table_row(_cells(row, level)[: len(head)]) for row in audit.rows]
    return [*lines, ""]


def _cells(row: Row, level: int) -> list[str]:
    sources = [oid[:_SHORT] for oid in row.sources]
    if row.upstream:
        sources.append(f"(upstream {', '.join(oid[:8] for oid in row.upstream)})")
    subject = row.subject if level == 0 else _cut(row.subject, 60 if level == 1 else 40)
    author = row.name if level == 0 else _cut(row.name, 24)
    touched = row.touched if level == 0 else row.touched.partition(":")[0]
    return [
        str(row.number),
        row.commit[:_SHORT],
        plain(author),
        code(subject),
        " ".join(sources[: None if level == 0 else 2]),
        plain(row.label),
        plain(touched),
        plain(row.adaptation),
    ]


def _residual(audit: Audit, level: int) -> list[str]:
    places = [(row, place) for row in audit.rows for place in row.residual]
    lines = [
        _line(place, row.commit) + (f" ({plain(row.adapted[place.path])})" if place.path in row.adapted else "")
        for row, place in places
    ]
    return _section("Changed beyond the layout", lines, level)


def _resolved(audit: Audit, level: int) -> list[str]:
    lines = [
        f"- {row.commit[:_SHORT]} {code(found.path)} {found.id} by {plain(found.author)}: {plain(found.reason)}"
        + (_diff(found.delta) if level == 0 else "")
        for row in audit.rows
        for found in row.resolved
    ]
    return _section("Resolved conflicts", lines, level)


def _diff(lines: Sequence[str]) -> str:
    """A diff below a list item, in a fence that none of its lines can end."""
    if not lines:
        return ", exactly what the port gives"
    fence = "```"
    while any(fence in line for line in lines):
        fence += "`"
    return "".join(f"\n  {_safe(line)}" for line in (f"{fence}diff", *lines, fence))


def _one_way(audit: Audit, level: int) -> list[str]:
    lines = [_line(place, row.commit) for row in audit.rows for place in row.one_way]
    return _section("Cannot be carried back", lines, level)


def _warnings(audit: Audit, level: int) -> list[str]:
    return _section("Warnings", [f"- {plain(warning)}" for warning in audit.warnings], level)


def _protected(audit: Audit, level: int) -> list[str]:
    lines = [f"- {code(path)} {'untouched' if ok else '**touched**'}" for path, ok in audit.protected.items()]
    return _section("Protected paths", lines, level)


def _not_ported(audit: Audit, level: int) -> list[str]:
    lines = [f"- {oid[:_SHORT]} {plain(reason)}" for oid, reason in audit.not_ported.items()]
    return _section("Not ported", lines, level)


def _census(audit: Audit, level: int) -> list[str]:
    lines = []
    for told in audit.census:
        if not told.count:
            continue
        places = f": {', '.join(code(place) for place in told.places[:5])}" if told.places and level == 0 else ""
        lines.append(f"- {told.count} {plain(told.kind)} ({plain(told.policy)}){places}{_rest(told.places, level)}")
    none = [told.kind for told in audit.census if not told.count]
    return _section("Census", [*lines, f"- none: {', '.join(none)}"] if none else lines, level)


def _rest(places: Sequence[str], level: int) -> str:
    return f" and {len(places) - 5} more" if level == 0 and len(places) > 5 else ""


def _leftovers(audit: Audit, level: int) -> list[str]:
    states = [leftover.state for leftover in audit.leftovers]
    told = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    lines = []
    for leftover in audit.leftovers:
        reason = f" ({plain(leftover.reason)})" if leftover.reason else ""
        lines.append(f"- {leftover.state}: {_line(leftover.place)[2:]}{reason}")
    return _section(f"Mentions of old names: {told}" if told else "", lines, level)


def _style(audit: Audit, level: int) -> list[str]:
    return _section("Style of added lines", [_line(style.place, style.commit) for style in audit.style], level)


_LEAST_MISSED: tuple[Section, ...] = (
    _style, _leftovers, _one_way, _census, _not_ported, _protected, _residual, _resolved,
    _warnings,
)  # fmt: skip
_SECTIONS: tuple[Section, ...] = (
    _table, _warnings, _resolved, _residual, _one_way, _protected, _not_ported, _census, _leftovers, _style,
)  # fmt: skip


def _section(title: str, lines: list[str], level: int) -> list[str]:
    """A section in full, as its first lines, or as its count."""
    if not lines:
        return []
    shown = lines if level == 0 else lines[:20] if level == 1 else []
    return [f"### {title} ({len(lines)})", "", *shown, *_more(len(lines) - len(shown)), ""]


def _more(number: int) -> list[str]:
    return [f"- and {number} more"] if number > 0 else []


def _line(place: Place, commit: str = "") -> str:
    head = f"{commit[:_SHORT]} " if commit else ""
    text = f": {code(_cut(place.text, 200))}" if place.text else ""
    return f"- {head}{code(str(place))} {plain(place.kind)}{text}"


def code(text: str) -> str:
    """Text as a code span: no link, no mention, no markup comes of it."""
    flat = " ".join(_safe(text).split()) or " "
    fence = "`"
    while fence in flat:
        fence += "`"
    pad = " " if flat[0] == "`" or flat[-1] == "`" else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


def table_row(cells: Iterable[str]) -> str:
    """A row of a table. No bar in a cell ends it, also not one behind backslashes of its own."""
    return f"| {' | '.join(_BAR.sub(_ESCAPED, cell) for cell in cells)} |"


_MARKUP = re.compile(r"[`*_<>\[\]|#@~\\]|://|^www\.|^[-+]$|^\d+\.$")
# What is quoted in backticks is one word, and a list in brackets, with those in it, whatever spaces they hold.
_WORDS = re.compile(r"`[^`\s][^`]{0,200}`\S*|[^\s\[]*\[(?:[^\[\]]|\[[^\[\]]{0,80}\]){0,200}\]\S*|\S+")
_QUOTED = re.compile(r"`([^`]+)`")
_BAR, _ESCAPED = re.compile(r"(?<!\\)((?:\\\\)*)\|"), r"\1\\|"


def plain(text: str) -> str:
    """Plain text, in which each word that a code host would take for markup, a link or a mention is a code span."""
    words = _WORDS.findall(" ".join(_safe(text).split()))
    return " ".join(_word(word) if _MARKUP.search(word) else word for word in words)


def _word(text: str) -> str:
    """A code span, with the punctuation of the sentence behind it; what is one already stays one."""
    bare = text.rstrip(",;:.")
    quoted = _QUOTED.fullmatch(bare)
    return f"{code(quoted[1] if quoted else bare)}{text[len(bare) :]}" if bare else code(text)


def _safe(text: str) -> str:
    return visible(text, lines=True)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
