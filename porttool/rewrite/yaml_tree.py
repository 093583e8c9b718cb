"""YAML as a tree of entries with byte spans; nothing is resolved, so that every byte can be put back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import tree_sitter_yaml
from tree_sitter import Language, Node, Parser

from porttool.rewrite.overrides import decode
from porttool.rewrite.parsing import GivenUp, parsed

BOM = b"\xef\xbb\xbf"
_DEEPEST = 64  # what nests deeper is one opaque value
# The grammar's scanner keeps its stack of block indentations in a buffer it can overrun, near 250 levels.
_TOO_DEEP = re.compile(rb"(?:^|\r)[-?: \t]{120}|(?:[-?:][ \t]+){60}", re.M)


@dataclass(frozen=True)
class Entry:
    """A key of a mapping, or an item of a sequence (whose key is its index and has no span).

    `start:end` is the whole pair, `key_start:key_end` the key without quotes, `value_start:value_end` the value
    without anchor and tag. `column` is that of the key; `own_line`: nothing but spaces stands before it.
    """

    key: str
    start: int
    end: int
    key_start: int
    key_end: int
    value_start: int
    value_end: int
    column: int
    flow: bool
    own_line: bool
    is_item: bool
    mapping: bool
    children: tuple[Entry, ...] = ()
    anchor: str = ""
    alias: str = ""
    decorated: bool = False  # an anchor or a tag stands before the value

    @property
    def scalar(self) -> bool:
        return not self.children and not self.alias


@dataclass(frozen=True)
class Lines:
    """The lines of a source by number."""

    source: bytes

    @cached_property
    def starts(self) -> list[int]:
        first = len(BOM) if self.source.startswith(BOM) else 0
        found, at = [first], self.source.find(b"\n")
        while at >= 0:
            found.append(at + 1)
            at = self.source.find(b"\n", at + 1)
        return found

    def text(self, line: int) -> bytes:
        """A line without its end."""
        return self.source[self.starts[line] : self.end(line)].rstrip(b"\r\n")

    def end(self, line: int) -> int:
        """Where the next line starts."""
        return self.starts[line + 1] if line + 1 < len(self.starts) else len(self.source)

    def width(self, line: int) -> int:
        """How many spaces a line starts with; -1 for an empty line."""
        text = self.text(line)
        return len(text) - len(text.lstrip(b" ")) if text else -1

    def ending(self, line: int) -> bytes:
        """The line end in use at this place."""
        raw = self.source[self.starts[line] : self.end(line)]
        if not raw.endswith(b"\n"):
            raw = self.source[: self.starts[line]]
        return b"\r\n" if raw.endswith(b"\r\n") else b"\n"


@lru_cache(maxsize=1)
def _parser() -> Parser:
    return Parser(Language(tree_sitter_yaml.language()))


def too_deep(source: bytes) -> bool:
    """Whether the grammar must not see this source: parsing it could end the process."""
    return _TOO_DEEP.search(source) is not None


def documents(source: bytes) -> list[tuple[Entry, ...]] | None:
    """The root entries of each document; None where the grammar cannot read the file."""
    if too_deep(source):
        return None
    try:
        root = parsed(_parser(), source).root_node
    except GivenUp:
        return None
    if root.has_error:
        return None
    found = []
    for document in root.named_children:
        if document.type == "document":
            for node in document.named_children:
                if node.type in ("block_node", "flow_node"):
                    found.append(_contents(source, node, 0)[0])
    return found


def _contents(source: bytes, node: Node, depth: int) -> tuple[tuple[Entry, ...], bool]:
    """The entries of a value, and whether it is a mapping."""
    for child in node.named_children if depth < _DEEPEST else ():
        match child.type:
            case "block_mapping" | "flow_mapping":
                return tuple(_pairs(source, child, depth)), True
            case "block_sequence" | "flow_sequence":
                return tuple(_items(source, child, depth)), False
    return (), False


def _pairs(source: bytes, mapping: Node, depth: int) -> Iterator[Entry]:
    for pair in mapping.named_children:
        if pair.type in ("block_mapping_pair", "flow_pair"):
            key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
            if key is not None:
                yield _entry(source, pair, key, value, depth)


def _items(source: bytes, sequence: Node, depth: int) -> Iterator[Entry]:
    items = [child for child in sequence.named_children if child.type != "comment"]
    for index, item in enumerate(items):
        node: Node | None = item
        if item.type == "block_sequence_item":
            node = next((child for child in item.named_children if child.type != "comment"), None)
        if item.type == "flow_pair":
            # `[a: 1]`: a mapping of one pair without braces, which cannot be given a second one.
            yield _entry(source, item, None, item.child_by_field_name("value"), depth, str(index))
        else:
            yield _entry(source, item, None, node, depth, str(index))


def _entry(source: bytes, pair: Node, key: Node | None, value: Node | None, depth: int, index: str = "") -> Entry:
    line_start = source.rfind(b"\n", 0, pair.start_byte) + 1
    lead = source[line_start : pair.start_byte].removeprefix(BOM)
    key_start, key_end = (_scalar_span(key) if key is not None else (pair.start_byte, pair.start_byte))
    children, mapping = _contents(source, value, depth + 1) if value is not None else ((), False)
    anchor, alias, decorated = _marks(source, value)
    value_start, value_end = _value_span(value) if value is not None else (pair.end_byte, pair.end_byte)
    return Entry(
        key=index if key is None else decode(source[key_start:key_end]),
        start=pair.start_byte,
        end=max(_last(children, value_end), key.end_byte if key is not None else pair.start_byte),
        key_start=key_start,
        key_end=key_end,
        value_start=value_start,
        value_end=value_end,
        column=len(lead),
        flow=pair.type in ("flow_pair", "flow_node"),
        own_line=not lead.strip(b" ") and key is not None and key.start_byte == pair.start_byte,
        is_item=key is None,
        mapping=mapping,
        children=children,
        anchor=anchor,
        alias=alias,
        decorated=decorated,
    )


def _last(children: tuple[Entry, ...], value_end: int) -> int:
    """Where a value really ends: block nodes of the grammar take trailing comments in."""
    if children and not children[-1].flow:
        return children[-1].end
    return value_end


def _scalar_span(node: Node) -> tuple[int, int]:
    """The span of a scalar without its quotes, anchor and tag."""
    for child in node.named_children:
        if child.type in ("double_quote_scalar", "single_quote_scalar"):
            return child.start_byte + 1, child.end_byte - 1
        if child.type not in ("anchor", "tag", "comment"):
            return child.start_byte, child.end_byte
    return node.start_byte, node.end_byte


def _value_span(node: Node) -> tuple[int, int]:
    for child in node.named_children:
        if child.type not in ("anchor", "tag", "comment"):
            return child.start_byte, child.end_byte
    return node.start_byte, node.end_byte


def _marks(source: bytes, node: Node | None) -> tuple[str, str, bool]:
    """The anchor and the alias of a value, and whether an anchor or a tag stands before it."""
    anchor = alias = ""
    decorated = False
    for child in node.named_children if node is not None else ():
        if child.type == "anchor":
            anchor = decode(source[child.start_byte + 1 : child.end_byte])
        elif child.type == "alias":
            alias = decode(source[child.start_byte + 1 : child.end_byte])
        decorated = decorated or child.type in ("anchor", "tag")
    return anchor, alias, decorated
