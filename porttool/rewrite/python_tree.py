"""A Python source as a tree-sitter tree: leaves by offset, names by word, and the spelling of dotted names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from tree_sitter import Node

from porttool.edits import Edit
from porttool.layout import FileNames
from porttool.names import Name
from porttool.rewrite.python_parse import parse

WORD = b"A-Za-z0-9_\x80-\xff"


class Tree:
    """One parsed source. Offsets are those of `source`, whatever its encoding."""

    def __init__(self, source: bytes, names: FileNames) -> None:
        self.source = source
        self.root = parse(source, names).root_node
        self._named: dict[tuple[bytes, int], list[Node]] = {}
        self._leaves: dict[int, Node] = {}

    def leaf(self, offset: int) -> Node:
        """The smallest node over the byte at `offset`."""
        found = self._leaves.get(offset)
        if found is None:
            found = self.root.descendant_for_byte_range(offset, offset + 1) or self.root
            self._leaves[offset] = found
        return found

    def text(self, node: Node) -> bytes:
        return self.source[node.start_byte : node.end_byte]

    def word(self, node: Node) -> str:
        return decode(self.source[node.start_byte : node.end_byte])

    def named(self, word: bytes, within: Node | None = None) -> list[Node]:
        """Every identifier leaf spelled `word`, in order; those inside one node, where it is given."""
        key = (word, within.id if within is not None else 0)
        found = self._named.get(key)
        if found is None:
            start, end = (within.start_byte, within.end_byte) if within is not None else (0, len(self.source))
            leaves = (self.leaf(hit.start()) for hit in _whole(word).finditer(self.source, start, end))
            found = self._named[key] = [leaf for leaf in leaves if leaf.type == "identifier"]
        return found

    def first_error(self) -> int | None:
        """The offset of the first syntax error, None where the source parses."""
        node = self.root
        if not node.has_error:
            return None
        while not (node.is_error or node.is_missing):
            inner = next((child for child in node.children if child.has_error or child.is_missing), None)
            if inner is None:
                break
            node = inner
        return node.start_byte


@lru_cache(maxsize=512)
def _whole(word: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"(?<![" + WORD + rb"])" + re.escape(word) + rb"(?![" + WORD + rb"])")


def decode(text: bytes) -> str:
    """Source bytes as a name; bytes that are no text survive as surrogates."""
    return text.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """A name as source bytes."""
    return text.encode("utf-8", "surrogateescape")


def same(left: Node | None, right: Node | None) -> bool:
    """Whether both are the same node of one tree."""
    return left is not None and right is not None and left.id == right.id


def is_field(node: Node, parent: Node, field: str) -> bool:
    """Whether `node` is the child of `parent` in that field."""
    return same(node, parent.child_by_field_name(field))


def ancestors(node: Node) -> Iterator[Node]:
    """The parents of a node, innermost first."""
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent


def dotted_tokens(node: Node) -> list[Node]:
    """The identifiers of a `dotted_name`, in order."""
    return [child for child in node.children if child.type == "identifier"]


def chain_top(node: Node) -> Node:
    """The longest attribute chain that starts with or holds the identifier `node`."""
    parent = node.parent
    if parent is None:
        return node
    if parent.type == "dotted_name":
        return parent
    top = node
    if parent.type == "attribute" and is_field(node, parent, "attribute"):
        top = parent
    while (parent := top.parent) is not None and parent.type == "attribute" and is_field(top, parent, "object"):
        top = parent
    return top


def chain_tokens(top: Node) -> list[Node] | None:
    """The identifiers of `a.b.c`, root first; None where the chain is not rooted at a plain name."""
    if top.type == "dotted_name":
        return dotted_tokens(top)
    tokens: list[Node] = []
    while top.type == "attribute":
        name, inner = top.child_by_field_name("attribute"), top.child_by_field_name("object")
        if name is None or inner is None:
            return None
        tokens.append(name)
        top = inner
    if top.type != "identifier":
        return None
    tokens.append(top)
    return tokens[::-1]


def respell(tokens: Sequence[Node], old: Name, new: Name) -> Edit | None:
    """Rewrite the tokens of dotted `old` to `new`; only what differs is touched. `new` is never empty."""
    if old == new:
        return None
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    gone, come = tokens[head : len(old) - tail], encode(".".join(new[head : len(new) - tail]))
    if gone and come:
        return Edit(gone[0].start_byte, gone[-1].end_byte, come)
    if come:
        at = tokens[head].start_byte if tail else tokens[-1].end_byte
        return Edit(at, at, come + b"." if tail else b"." + come)
    if tail:
        return Edit(gone[0].start_byte, tokens[len(old) - tail].start_byte, b"")
    return Edit(tokens[head - 1].end_byte, gone[-1].end_byte, b"")
