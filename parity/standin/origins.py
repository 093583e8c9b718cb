"""Where a key on the wire is written: the dict literals and keyword arguments of the side's own sources."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from parity.record import Key, Leaf


class Written(NamedTuple):
    """One place that writes a key: its function tells whether the neighbours are written there too."""

    function: str
    text: str


Origins = dict[str, list[Written]]


def origins(files: Mapping[str, Path]) -> Origins:
    """For each key that is written: every place, as `path:line expression`, in the order of the files."""
    found: Origins = {}
    for shown, file in files.items():
        if not file.is_file():
            continue
        for function in _functions(ast.parse(file.read_text(encoding="utf-8"))):
            for name, line, text in _writes(function):
                found.setdefault(name, []).append(Written(f"{shown}::{function.name}", f"{shown}:{line} {text}"))
    return found


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _writes(tree: ast.AST) -> Iterator[tuple[str, int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for name, value in zip(node.keys, node.values, strict=True):
                if isinstance(name, ast.Constant) and isinstance(name.value, str):
                    yield name.value, name.lineno, _short(value)
        elif isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg:
                    yield keyword.arg, keyword.value.lineno, _short(keyword.value)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
                    yield str(target.slice.value), node.lineno, _short(node.value)


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 70 else text[:67] + "..."


def with_origins(told: Mapping[Key, Leaf], written: Origins) -> dict[Key, Leaf]:
    """Leaves with the place that writes the innermost of their names that is known.

    Several functions may write one name; the one that writes most of the key's neighbours is taken.
    """
    neighbours: dict[Key, set[str]] = {}
    for key in told:
        for above, name in _levels(key):
            neighbours.setdefault(above, set()).add(name)
    best = {above: _best(names, written) for above, names in neighbours.items()}
    return {
        key: value if value.origin else replace(value, origin=_origin(key, written, best))
        for key, value in told.items()
    }


def _levels(key: Key) -> list[tuple[Key, str]]:
    """(what stands above, name) for each name of a key, innermost first; list places are no names."""
    parts = key.split(".")
    names = [part.partition("[")[0].partition("#")[0] for part in parts]
    return [(".".join(parts[:at]), names[at]) for at in reversed(range(len(parts)))]


def _best(names: set[str], written: Origins) -> Counter[str]:
    return Counter(function for name in names for function in {place.function for place in written.get(name, ())})


def _origin(key: Key, written: Origins, best: Mapping[Key, Counter[str]]) -> str:
    for above, name in _levels(key):
        if name in written:
            return max(written[name], key=lambda place: best[above][place.function]).text
    return ""
