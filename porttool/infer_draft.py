"""A drafted layout: each pair with its evidence, and what could not be decided."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from porttool.infer_paths import Undecided
from porttool.layout import Fragment, Layout, Symbol
from porttool.names import Pair, Renaming, split

Kind = Literal["path", "module", "symbol", "key", "fragment"]
EXAMPLES = 3  # shown for each pair


@dataclass(frozen=True)
class Drafted:
    """One pair: `count` places say so, `against` says otherwise; examples are `old path:line -> new path:line`."""

    kind: Kind
    old: str
    new: str
    count: int
    confidence: float
    examples: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    words: bool = False
    fragment: Fragment | None = field(default=None, compare=False)
    gain: int = field(default=0, compare=False)  # lines by which T(old) comes nearer to new because of this pair

    def __str__(self) -> str:
        told = f"{self.kind} {self.old} -> {self.new}"
        return told + (f" in {', '.join(self.scope)}" if self.scope else "")


def confidence(places: int, against: int = 0) -> float:
    """The share of places that say so, as if one more had said so and one had not: one place alone is not certain."""
    return round((places + 1) / (places + against + 2), 3)


@dataclass(frozen=True)
class Draft:
    """What two trees say about the layout between them. `unproven` pairs had evidence but bring T(old) no nearer."""

    pairs: tuple[Drafted, ...]
    undecided: tuple[Undecided, ...] = ()
    unproven: tuple[Drafted, ...] = ()
    roots: tuple[str, ...] = (".",)
    mounts: tuple[tuple[str, str], ...] = ()
    gone: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    def of(self, kind: Kind) -> tuple[Drafted, ...]:
        """The pairs of one kind."""
        return tuple(pair for pair in self.pairs if pair.kind == kind)

    @cached_property
    def layout(self) -> Layout:
        """The drafted layout, ready to translate."""
        return layout_of(self.pairs, self.roots, self.mounts)


def layout_of(
    pairs: Iterable[Drafted], roots: tuple[str, ...] = (".",), mounts: Iterable[tuple[str, str]] = ()
) -> Layout:
    """The layout that a set of drafted pairs makes."""
    of: dict[str, list[Drafted]] = {}
    for pair in pairs:
        of.setdefault(pair.kind, []).append(pair)
    return Layout(
        paths=Renaming("path", tuple(Pair(split(p.old, "/"), split(p.new, "/")) for p in of.get("path", ())), "/"),
        extra_modules=tuple(Pair(split(p.old), split(p.new)) for p in of.get("module", ())),
        symbols=tuple(Symbol(p.old, p.new, p.scope, p.words) for p in of.get("symbol", ())),
        keys=Renaming("key", tuple(Pair(split(p.old), split(p.new)) for p in of.get("key", ()))),
        fragments=tuple(p.fragment for p in of.get("fragment", ()) if p.fragment is not None),
        roots=roots,
        mounts=tuple((glob, split(key)) for glob, key in mounts),
    )


def as_yaml(draft: Draft) -> str:
    """The `layout:` part of a manifest, each pair under a comment that holds its evidence."""
    lines = ["layout:"]
    if draft.roots != (".",):
        lines.append(f"  roots: [{', '.join(word(root) for root in draft.roots)}]")
    for section, kind in _SECTIONS:
        pairs = [pair for pair in draft.pairs if pair.kind == kind]
        if pairs:
            lines.append(f"  {section}:")
        for pair in pairs:
            lines += [f"    # {told}" for told in _evidence(pair)]
            lines.append(f"    {word(pair.old)}: {_target(pair)}")
    if draft.mounts:
        lines.append("  mounts:")
        lines += [f"    {word(glob)}: {word(key)}" for glob, key in draft.mounts]
    for pair in draft.unproven:
        lines.append(f"  # not proven: {pair} ({pair.count} places, translation comes no nearer)")
    for left in draft.undecided:
        lines.append(f"  # undecided {left.kind}: {_list(left.old)} -> {_list(left.new)}: {left.reason}")
    return "\n".join(lines) + "\n" if len(lines) > 1 else "layout: {}\n"


_SECTIONS: tuple[tuple[str, Kind], ...] = (
    ("paths", "path"), ("modules", "module"), ("symbols", "symbol"), ("keys", "key"), ("fragments", "fragment"),
)  # fmt: skip


def _evidence(pair: Drafted) -> Iterable[str]:
    places = "place" if pair.count == 1 else "places"
    yield f"{pair.count} {places}, confidence {pair.confidence:.2f}; e.g. {'; '.join(pair.examples[:EXAMPLES])}"
    if pair.against:
        yield f"against: {'; '.join(pair.against[:EXAMPLES])}"


def _target(pair: Drafted) -> str:
    options: dict[str, object] = {}
    if pair.scope:
        options["in"] = list(pair.scope)
    if pair.words:
        options["words"] = True
    if pair.fragment is not None:
        for side, end in (("old", pair.fragment.old), ("new", pair.fragment.new)):
            options |= {f"{side}_after": end.after} if end.after is not None else {}
            options |= {f"{side}_lead": end.lead} if end.lead else {}
    if not options:
        return word(pair.new)
    told = [f"to: {word(pair.new)}"] + [f"{name}: {_flow(value)}" for name, value in options.items()]
    return "{" + ", ".join(told) + "}"


def _flow(value: object) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(word(item) for item in value) + "]"
    return "true" if value is True else word(str(value))


def word(text: str) -> str:
    """A YAML scalar; JSON strings are YAML, so anything unusual is written as one."""
    plain = text.replace("/", "").replace("_", "").replace(".", "").replace("-", "")
    return text if plain.isascii() and plain.isalnum() and plain[:1].isalpha() else json.dumps(text)


def _list(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:4])
    return f"{shown} and {len(names) - 4} more" if len(names) > 4 else shown
