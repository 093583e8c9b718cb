"""Where the definitions of a Python file and the keys of a YAML file begin and end, in whole lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import tree_sitter_python
import tree_sitter_yaml
from tree_sitter import Language, Node, Parser

from porttool.layout import FragmentKind
from porttool.names import Name
from porttool.rewrite import python_parse, yaml_tree
from porttool.rewrite.parsing import GivenUp, parsed

_TOO_DEEP: dict[FragmentKind, Callable[[bytes], bool]] = {
    "python": python_parse.too_deep,
    "yaml": yaml_tree.too_deep,
}


@dataclass(frozen=True)
class Item:
    """A key or a statement with the comments that go with it: whole lines `start:end`, its node at `column`.

    `movable` is False where cutting the lines would not give a part with a meaning of its own.
    """

    name: str
    start: int
    end: int
    column: int
    movable: bool
    node: Node


@dataclass(frozen=True)
class Body:
    """The items of a mapping, a module or a class; `start` is where its first line begins or would begin."""

    start: int
    column: int
    items: tuple[Item, ...]

    def find(self, name: str) -> Item | None:
        return next((item for item in self.items if item.name == name), None)

    def behind(self, after: str | None, kind: FragmentKind) -> int | None:
        """The offset behind the sibling `after`; None where there is no such sibling."""
        if after is None:
            return self.items[-1].end if self.items else self.start
        if after:
            sibling = self.find(after)
            return sibling.end if sibling else None
        leading = self.leading() if kind == "python" else 0
        return self.items[leading - 1].end if leading else self.start

    def leading(self) -> int:
        """How many statements without a name (a docstring, imports) stand before the first that has one."""
        return next((index for index, item in enumerate(self.items) if item.name), len(self.items))


def body_of(source: bytes, kind: FragmentKind, parent: Name) -> Body | None:
    """The body that holds the fragments below `parent` (() = the file); None where there is no such parent."""
    if _TOO_DEEP[kind](source):
        return None
    try:
        root = parse(source, kind)
    except GivenUp:
        return None
    return _mapping(source, root, parent) if kind == "yaml" else _suite(source, root, parent)


def parse(source: bytes, kind: FragmentKind) -> Node:
    """The root of the syntax tree. Raises GivenUp."""
    return parsed(_parser(kind), source).root_node


def walk(node: Node) -> Iterator[Node]:
    """A node and all the named nodes below it."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.named_children)


@lru_cache(maxsize=2)
def _parser(kind: FragmentKind) -> Parser:
    grammar = tree_sitter_yaml.language() if kind == "yaml" else tree_sitter_python.language()
    return Parser(Language(grammar))


def _mapping(source: bytes, root: Node, parent: Name) -> Body | None:
    node = next((child for child in root.named_children if child.type == "document"), None)
    start, outer = 0, -2
    for depth in range(len(parent) + 1):
        mapping = _block_mapping(node)
        items = tuple(_pairs(source, mapping)) if mapping is not None else ()
        if depth == len(parent):
            return Body(start, items[0].column if items else outer + 2, items)
        pair = next((item for item in items if item.name == parent[depth]), None)
        if pair is None:
            return None
        node = pair.node.child_by_field_name("value")
        if node is not None and _block_mapping(node) is None:
            return None
        start, outer = _line_end(source, pair.node.start_byte), pair.column
    return None


def _block_mapping(node: Node | None) -> Node | None:
    """The block mapping a document or a value consists of."""
    while node is not None and node.type in ("document", "block_node"):
        node = next((child for child in node.named_children if child.type in ("block_node", "block_mapping")), None)
    return node if node is not None and node.type == "block_mapping" else None


def _pairs(source: bytes, mapping: Node) -> list[Item]:
    found = []
    for pair in mapping.named_children:
        key = pair.child_by_field_name("key") if pair.type == "block_mapping_pair" else None
        if key is None:
            continue
        start = _line_start(source, pair.start_byte)
        column = pair.start_byte - start
        alone = not source[start : pair.start_byte].strip()
        name = _text(source, key).decode("utf-8", "surrogateescape").strip("'\"")
        found.append(Item(name, start, _extent(source, pair, column), column, alone, pair))
    return found


def _suite(source: bytes, root: Node, parent: Name) -> Body | None:
    suite, start, outer = root, 0, -4
    for segment in parent:
        item = next((i for i in _statements(source, suite) if i.name == segment and i.movable), None)
        inner = item.node.child_by_field_name("definition") or item.node if item else None
        block = inner.child_by_field_name("body") if inner is not None else None
        if item is None or inner is None or block is None:
            return None
        colon = next(child for child in inner.children if child.type == ":")
        start = _line_end(source, colon.end_byte)
        suite, outer = block, item.column
    items = tuple(_statements(source, suite))
    return Body(start, items[0].column if items else outer + 4, items)


def _statements(source: bytes, suite: Node) -> list[Item]:
    found: list[Item] = []
    for node in suite.named_children:
        if node.type == "comment":
            continue
        line = _line_start(source, node.start_byte)
        column = node.start_byte - line
        name, movable = _statement_name(source, node)
        movable = movable and not source[line : node.start_byte].strip()
        start = _with_comments(source, line, column, found[-1].end if found else 0) if movable else line
        found.append(Item(name, start, _extent(source, node, column), column, movable, node))
    return found


def _statement_name(source: bytes, node: Node) -> tuple[str, bool]:
    inner = node.child_by_field_name("definition") or node
    name = inner.child_by_field_name("name")
    if inner.type in ("function_definition", "class_definition") and name is not None and _text(source, name):
        return _text(source, name).decode(), True
    child = node.named_children[0] if node.type == "expression_statement" and node.named_children else None
    left = child.child_by_field_name("left") if child is not None and child.type == "assignment" else None
    return (_text(source, left).decode() if left is not None and left.type == "identifier" else "", False)


def _text(source: bytes, node: Node) -> bytes:
    return source[node.start_byte : node.end_byte]


def _with_comments(source: bytes, start: int, column: int, floor: int) -> int:
    """The start of the comment lines that stand directly above, at the same column."""
    while start > floor:
        above = source.rfind(b"\n", 0, start - 1) + 1
        line = source[above:start]
        if above < floor or not line.lstrip(b" \t").startswith(b"#") or _indent(line) != column:
            break
        start = above
    return start


def _extent(source: bytes, node: Node, column: int) -> int:
    """The end of the last line of a node, and of the comments behind it that are indented deeper than it."""
    end = _line_end(source, _content_end(source, node))
    at = end
    while at < len(source):
        after = _line_end(source, at)
        line = source[at:after]
        if line.strip():
            if not line.lstrip(b" \t").startswith(b"#") or _indent(line) <= column:
                break
            end = after
        at = after
    return end


def _content_end(source: bytes, node: Node) -> int:
    """Grammars give a block the comments that follow it, whatever their column; those are not content."""
    while node.named_children and (last := _last_content(node)) is not None:
        if node.children[-1].is_named or node.children[-1].start_byte < last.start_byte:
            node = last
        else:
            break
    return len(source[: node.end_byte].rstrip())


def _last_content(node: Node) -> Node | None:
    return next((child for child in reversed(node.named_children) if child.type != "comment"), None)


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip(b" \t"))


def _line_start(source: bytes, at: int) -> int:
    return source.rfind(b"\n", 0, at) + 1


def _line_end(source: bytes, at: int) -> int:
    found = source.find(b"\n", at)
    return len(source) if found < 0 else found + 1
