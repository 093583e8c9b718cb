"""Parsing Python. A file that was parsed a moment ago is parsed anew only where it changed since."""

from __future__ import annotations

import re
from collections import OrderedDict
from functools import lru_cache

import tree_sitter_python
from tree_sitter import Language, Parser, Tree

from porttool.layout import FileNames
from porttool.rewrite.parsing import parsed

_DEEPEST = 150
_LINE_END = re.compile(rb"[\r\n]+")
_HIGH = re.compile(rb"[\x80-\xff]")
_KEPT_BYTES = 500_000  # of source; the trees take some twenty times as much


class Recent:
    """The last tree of each path: a commit changes a few lines, and both of its sides are parsed."""

    def __init__(self, kept: int = _KEPT_BYTES) -> None:
        self._kept, self._size = kept, 0
        self._trees: OrderedDict[str, tuple[bytes, Tree]] = OrderedDict()

    def parse(self, source: bytes, path: str) -> Tree:
        """The tree of a source, the same whatever was parsed before it."""
        before = self._forget(path)
        tree = None if before is None else self._renewed(*before, source)
        # Only of sound sources there is one tree; how an error is got over may depend on the tree before.
        if tree is None or tree.root_node.has_error:
            tree = parsed(_parser(), source)
        if not tree.root_node.has_error:
            self._keep(path, source, tree)
        return tree

    def _renewed(self, old: bytes, tree: Tree, source: bytes) -> Tree:
        return tree if old == source else parsed(_parser(), source, _edited(old, tree, source))

    def _forget(self, path: str) -> tuple[bytes, Tree] | None:
        found = self._trees.pop(path, None)
        if found is not None:
            self._size -= len(found[0])
        return found

    def _keep(self, path: str, source: bytes, tree: Tree) -> None:
        self._trees[path] = source, tree
        self._size += len(source)
        while self._size > self._kept:
            self._forget(next(iter(self._trees)))


def parse(source: bytes, names: FileNames) -> Tree:
    """The tree of a source; its offsets are those of `source`, whatever its encoding. Raises GivenUp."""
    recent: Recent = names.layout.memory.setdefault("python", Recent())
    return recent.parse(_parsable(source), names.path)


def too_deep(source: bytes) -> bool:
    """Whether the parser must not see this source: it keeps its indentations in a buffer that it can overrun, and
    ends the process. Python itself stops at 100 levels."""
    if b" " * _DEEPEST not in source.replace(b"\t", b" ").replace(b"\f", b" "):
        return False
    levels: list[int] = []
    for line in _LINE_END.split(source):
        lead = line[: len(line) - len(line.lstrip(b" \t\f"))]
        column = lead.count(b" ") + 8 * lead.count(b"\t")
        while levels and levels[-1] >= column:
            levels.pop()
        levels.append(column)
        if len(levels) > _DEEPEST:
            return True
    return False


@lru_cache(maxsize=1)
def _parser() -> Parser:
    return Parser(Language(tree_sitter_python.language()))


def _parsable(source: bytes) -> bytes:
    """`source` where it is UTF-8; else a copy of the same length whose other bytes are letters to the parser."""
    try:
        source.decode("utf-8")
    except UnicodeDecodeError:
        return _HIGH.sub(b"x", source)
    return source


def _edited(old: bytes, tree: Tree, new: bytes) -> Tree:
    """The tree of `old`, told which bytes are others in `new`."""
    head = _alike(old, new)
    tail = min(_alike(old[::-1], new[::-1]), min(len(old), len(new)) - head)
    spans = (head, len(old) - tail, len(new) - tail)
    places = (_point(old, head), _point(old, spans[1]), _point(new, spans[2]))
    told = tree.copy()
    told.edit(*spans, *places)
    return told


def _alike(one: bytes, other: bytes) -> int:
    """How many leading bytes are the same."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _point(source: bytes, offset: int) -> tuple[int, int]:
    return source.count(b"\n", 0, offset), offset - source.rfind(b"\n", 0, offset) - 1
