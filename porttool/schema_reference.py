"""The manifest reference in Markdown, derived from the table that the loader reads by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from porttool.manifest_schema import (
    COMMITS,
    FORMATS,
    LAYOUT,
    MANIFEST,
    POLICY,
    ByKey,
    ByKind,
    Flag,
    Free,
    Record,
    Seq,
    Shape,
    Table,
    Text,
    Whole,
    Word,
)


def reference() -> str:
    """Every key of a manifest: whether it must be there, what it holds, what it means."""
    lines: list[str] = []
    for title, record in (("The manifest", MANIFEST), ("`layout`", LAYOUT), ("`policy`", POLICY)):
        lines += _section(title, record.keys)
    for name, record in COMMITS.items():
        lines += _section(f"`commits`, an item with `{name}`", record.keys)
    return "\n".join(lines).rstrip() + "\n"


def _section(title: str, keys: Mapping[str, object]) -> Iterator[str]:
    yield from (f"### {title}", "", "| key | holds | meaning |", "| --- | --- | --- |")
    yield from _rows(keys, "")
    yield ""


def _rows(keys: Mapping[str, object], above: str) -> Iterator[str]:
    for name, key in keys.items():
        shape, doc, required = (getattr(key, field) for field in ("shape", "doc", "required"))
        told = f"`{above}{name}`" + (" (required)" if required else "")
        yield f"| {told} | {_cell(_holds(shape))} | {_cell(doc)} |"
        if shape not in (LAYOUT, POLICY):
            for inner, prefix in _records(shape, f"{above}{name}"):
                yield from _rows(inner.keys, f"{prefix}.")


def _records(shape: Shape, at: str) -> Iterator[tuple[Record, str]]:
    """The records below a shape that have no section of their own."""
    match shape:
        case Record():
            yield shape, at
        case Table():
            yield from _records(shape.of, f"{at}.<{shape.key.format}>")
        case ByKind():
            for part in shape.shapes:
                if part not in COMMITS.values():
                    yield from _records(part, at)
        case _:
            return


def _holds(shape: Shape) -> str:
    match shape:
        case Text():
            return FORMATS[shape.format].told
        case Word():
            words = " or ".join(f"`{word}`" for word in shape.words)
            return f"{words}, or {FORMATS[shape.or_format].told}" if shape.or_format else words
        case Whole():
            return str(shape.least) if shape.least == shape.most else f"{shape.least} to {shape.most}"
        case Flag():
            return "true or false"
        case Free():
            return "anything"
        case Seq():
            return f"a list: {_holds(shape.of)}"
        case Table():
            return f"a mapping: {FORMATS[shape.key.format].told} -> {_holds(shape.of)}"
        case Record():
            return "a mapping"
        case ByKey():
            return "one of the items below"
        case ByKind():
            return " or ".join(_holds(part) for part in shape.shapes)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
