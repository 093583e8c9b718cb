"""A small self-contained web page: light, printable, nothing fetched, nothing run. Text is escaped unless it is Html.

The name is not `html`: a probe's process has this folder on its path, where that would hide the standard library's.
"""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from porttool.errors import visible

Tone = Literal["match", "differ", "incomparable", "plain"]


class Html(str):
    """A fragment of markup that is already escaped; only this module and the writers of drawings make one."""


def escape(text: str) -> Html:
    """Text as markup, fit for an element and for an attribute; what cannot be shown is written as its escape."""
    return text if isinstance(text, Html) else Html(html.escape(visible(text, lines=True)))


def element(name: str, *inner: str, **attributes: str) -> Html:
    """An element around its parts; an attribute's `_` stands for `-`, and a trailing one is dropped."""
    told = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    return Html(f"<{name}{told}>{''.join(map(escape, inner))}</{name}>")


def page(
    title: str, sections: Iterable[str], *, answer: str = "", tone: Tone = "plain", about: str = "", style: str = ""
) -> str:
    """The whole document: the answer first, `about` below it, then the sections. `style` is added to the CSS."""
    head = [
        Html('<meta charset="utf-8">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        element("title", title),
        Html(f"<style>\n{_STYLE}{style}</style>"),
    ]
    top = [element("h1", title)]
    top += [element("p", answer, class_=f"answer {tone}")] if answer else []
    top += [element("p", about, class_="about")] if about else []
    body = [element("header", *top), *map(escape, sections)]
    start = ["<!doctype html>", '<html lang="en">', "<head>", *head, "</head>", "<body>"]
    return "\n".join([*start, *body, "</body>", "</html>", ""])


def section(title: str, *parts: str, tone: Tone = "plain", ident: str = "") -> Html:
    """A titled part of the page; plain text among its parts becomes a paragraph. `ident` is for `link`s to it."""
    body = [part if isinstance(part, Html) else element("p", part) for part in parts]
    named = {"id": ident} if ident else {}
    return element("section", Html("\n".join([element("h2", title), *body])), class_=tone, **named)


def link(ident: str, text: str) -> Html:
    """A link to a section of the same page."""
    return element("a", text, href=f"#{ident}")


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str = "",
    numbers: Collection[int] = (),
    marked: Collection[int] = (),
) -> Html:
    """A table whose head is printed again on each sheet. `numbers` are columns aligned right, `marked` rows shaded."""

    def line(cells: Sequence[str], kind: str, tone: str = "") -> Html:
        parts = (element(kind, cell, **_class("number" if k in numbers else "")) for k, cell in enumerate(cells))
        return element("tr", *parts, **_class(tone))

    body = "\n".join(line(row, "td", "marked" if k in marked else "") for k, row in enumerate(rows))
    told = element("caption", caption) if caption else ""
    made = f"<table>{told}<thead>{line(head, 'th')}</thead>\n<tbody>\n{body}\n</tbody></table>"
    return Html(f'<div class="wide">{made}</div>')


def _class(name: str) -> dict[str, str]:
    return {"class_": name} if name else {}


def figure(drawing: Html, caption: str) -> Html:
    """A drawing (inline SVG) that is never broken over two sheets, with its caption."""
    return element("figure", drawing, element("figcaption", caption))


def items(lines: Iterable[str]) -> Html:
    """A list."""
    return element("ul", *(element("li", line) for line in lines))


def code(text: str) -> Html:
    """A name, a command or some lines, in a fixed-width type."""
    return element("pre", text) if "\n" in text else element("code", text)


def terms(pairs: Iterable[tuple[str, str]]) -> Html:
    """Names and what they stand for, such as refs and packages."""
    return element("dl", *(part for name, told in pairs for part in (element("dt", name), element("dd", told))))


# Whatever a name in a report holds, the page can load and run nothing.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

_STYLE = """\
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --paper: #fff; --shade: #f6f8fa;
  --source: #0b5cad; --target: #e66a00; --band: #d9dde2; --good: #116329; --bad: #b3121d; --odd: #7a5200; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --soft: #9aa5b1; --line: #3a424c; --paper: #14181d; --shade: #1d232a;
    --source: #6cb0ff; --target: #ff9d5c; --band: #39424d; --good: #56d364; --bad: #ff7b72; --odd: #e3b341; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 80rem; color: var(--ink); background: var(--paper);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; padding-top: .6rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.4rem 0 .3rem; }
p { margin: .4rem 0; }
a { color: var(--source); }
.about, figcaption, caption, dt { color: var(--soft); }
.answer { font-size: 1.1rem; font-weight: 600; padding: .6rem .9rem; border-left: .4rem solid var(--line);
  background: var(--shade); overflow-wrap: anywhere; }
.match.answer { border-color: var(--good); } .differ.answer { border-color: var(--bad); }
.incomparable.answer { border-color: var(--odd); }
.match > b { color: var(--good); } .differ > b { color: var(--bad); } .incomparable > b { color: var(--odd); }
.wide { overflow-x: auto; margin: .5rem 0 1rem; }
table { border-collapse: collapse; font-size: .87rem; }
caption { text-align: left; padding-bottom: .3rem; }
th, td { padding: .2rem .6rem .2rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; border-bottom-width: 2px; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td { overflow-wrap: break-word; }
tr.marked td { background: var(--shade); } td b { white-space: nowrap; }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .9em; }
pre { background: var(--shade); padding: .6rem .8rem; overflow-x: auto; white-space: pre-wrap; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: .5rem 0; font-size: .92rem; }
dd { margin: 0; overflow-wrap: anywhere; }
figure { margin: .8rem 0 1.2rem; break-inside: avoid; }
svg { max-width: 100%; height: auto; display: block; }
figcaption { font-size: .87rem; }
@page { size: A4; margin: 14mm 12mm; }
@media print {
  body { padding: 0; max-width: none; font-size: 10pt; }
  h2, h3 { break-after: avoid; }
  .wide, pre { overflow: visible; }
  table { font-size: 7.2pt; } th, td { padding: .1rem .35rem .1rem 0; }
  thead { display: table-header-group; }
  tr { break-inside: avoid; }
  * { print-color-adjust: exact; }
}
"""
