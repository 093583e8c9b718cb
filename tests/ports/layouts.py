"""The maps of the human ports, read from their small format into a Layout."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import yaml

from porttool.layout import Layout, Symbol
from porttool.names import Name, Pair, Renaming, split


def read_layout(file: Path, touched: Collection[str] = ()) -> Layout:
    """The Layout of one pair; the first pair that claims a name may be undone, later ones are one-way.

    `touched` are the paths that the source commits change: a pair whose new name is among them as it stands, is in
    use on the source side already, and so one-way too.
    """
    told = yaml.safe_load(file.read_text())
    modules = [(row["from"], row["to"]) for row in told["modules"] if row["from"].strip(".") and row["to"]]
    paths = _pairs(((row["from"], row["to"]) for row in told["paths"]), "/")
    return Layout(
        paths=Renaming("path", _forward_only(paths, {split(path, "/") for path in touched}), "/"),
        roots=("src", "lib", "."),
        extra_modules=_pairs(((o, n) for o, n in modules if "/" not in o and not o.startswith(".")), "."),
        extra_imports=_pairs(((o, n) for o, n in modules if "/" in o and "." in o.partition("/")[0]), "/"),
        symbols=_symbols([*told["identifiers"], *told["config_keys"]]),
    )


def _pairs(rows, separator: str) -> tuple[Pair, ...]:
    taken: set[Name] = set()
    olds: set[Name] = set()
    pairs = []
    for old_text, new_text in rows:
        old, new = split(old_text, separator), split(new_text, separator)
        if old in olds:
            continue
        pairs.append(Pair(old, new, one_way=new in taken or ("*" in old_text and "*" not in new_text)))
        olds.add(old)
        if not pairs[-1].one_way:
            taken.add(new)
    return tuple(pairs)


def _forward_only(pairs: tuple[Pair, ...], touched: Collection[Name]) -> tuple[Pair, ...]:
    """Mark the pairs whose new name another pair can give as well: `a/ -> x/` beside `a/b/c/ -> x/b/`."""
    renaming = Renaming("path", pairs, "/")
    unmoved = [path for path in touched if renaming.match(path) is None]

    def shared(pair: Pair) -> bool:
        back = Renaming("path", (pair.reversed(),), "/")
        if any(back.match(path) for path in unmoved):
            return True
        for other in pairs:
            if len(other.new) < len(pair.new) and pair.new[: len(other.new)] == other.new:
                found = renaming.match(other.old + pair.new[len(other.new) :])
                if found is not None and found[0] is other:
                    return True
        return False

    return tuple(replace(pair, one_way=pair.one_way or shared(pair)) for pair in pairs)


def _symbols(rows) -> tuple[Symbol, ...]:
    taken: set[str] = set()
    symbols = []
    for row in rows:
        match = row.get("match", "whole")
        if match == "prefix" or not (row["from"].isidentifier() and row["to"].isidentifier()):
            continue
        symbols.append(Symbol(row["from"], row["to"], part=match == "substring", one_way=row["to"] in taken))
        taken.add(row["to"])
    return tuple(symbols)
