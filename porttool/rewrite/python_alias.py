"""Names that stand for a sub-config: `arctic = config.arctic_rl`, or `self.cfg = ...` within a class."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tree_sitter import Node

from porttool.names import Name
from porttool.rewrite.python_scope import PARAMETER, Binding, Scopes
from porttool.rewrite.python_tree import Tree, ancestors, is_field

_EMPTY = frozenset((b"None", b"{}", b"dict()", b"OmegaConf.create()", b"OmegaConf.create({})"))
_LOOPS = frozenset(("for_statement", "while_statement"))
_BLOCKS = frozenset(("block", "module"))


class Alias(NamedTuple):
    """The key that a name stands for; `key` None where it may stand for more than one thing."""

    key: Name | None


class Aliases:
    """What the names of one tree stand for; `key_of` gives the key that an expression reads."""

    def __init__(self, tree: Tree, scopes: Scopes, key_of: Callable[[Node], Name | None]) -> None:
        self.tree, self.scopes, self.key_of = tree, scopes, key_of
        self._busy: set[int] = set()
        self._owned: dict[tuple[bytes, int], list[Node]] = {}
        self._values: dict[int, Name | None] = {}

    def key(self, node: Node) -> Alias | None:
        """The alias that an identifier or `self.x` is; None where nothing says so."""
        if node.type == "identifier":
            return self._agreed([self._value_of(binding) for binding in self._reaching(node)])
        name = node.child_by_field_name("attribute")
        home = _class_of(node)
        if name is None or home is None:
            return None
        word = self.tree.text(name)
        if (word, home.id) not in self._owned:
            self._owned[word, home.id] = list(self._own(word, home))
        return self._agreed([_assigned(left) for left in self._owned[word, home.id]])

    def _agreed(self, values: list[Node | None]) -> Alias | None:
        """What assigned values agree on. Empty defaults say nothing; where none is a config read, the name decides."""
        told = [value for value in values if value is None or self.tree.text(value) not in _EMPTY]
        keys = [None if value is None else self._key(value) for value in told]
        known = {key for key in keys if key is not None}
        if not known:
            return None
        return Alias(known.pop() if len(known) == 1 and None not in keys else None)

    def _key(self, value: Node) -> Name | None:
        """The key that an assigned value reads; a value that is being looked at already has none."""
        if value.id in self._values:
            return self._values[value.id]
        if value.id in self._busy:
            return None
        self._busy.add(value.id)
        if value.type == "conditional_expression" and value.named_child_count == 3:
            first, _, other = value.named_children
            found = self.key_of(first) if self.tree.text(other) in _EMPTY else None
        else:
            found = self.key_of(value)
        self._busy.discard(value.id)
        self._values[value.id] = found
        return found

    def _value_of(self, binding: Binding) -> Node | None:
        """The value that a binding gives its name; None where it is not a plain assignment."""
        parent = binding.node.parent
        if parent is None or binding.kind == PARAMETER:
            return None
        if parent.type == "named_expression":
            return parent.child_by_field_name("value")
        if parent.type == "as_pattern_target":
            return _opened(parent, self.tree)
        return _assigned(binding.node)

    def _reaching(self, node: Node) -> list[Binding]:
        """The bindings whose value the variable at `node` may hold there."""
        name = self.tree.text(node)
        scope = self.scopes.resolve(name, node)
        if scope is None:
            return []
        bindings = self.scopes.bindings(name, scope)
        if next(self.scopes.around(node)).id != scope:
            return bindings
        found: list[Binding] = []
        for binding in reversed(bindings):
            if _end(binding.node) > node.start_byte:
                if _share_a_loop(binding.node, node):
                    found.append(binding)
                continue
            found.append(binding)
            if _always_before(binding.node, node):
                break
        return found

    def _own(self, name: bytes, home: Node) -> Iterator[Node]:
        """The `self.name` that a class assigns to."""
        for leaf in self.tree.named(name):
            left = leaf.parent
            if left is None or left.type != "attribute" or not self.tree.text(left).startswith(b"self."):
                continue
            around = left.parent
            target = around is not None and around.type in ("assignment", "augmented_assignment", "pattern_list")
            if target and around is not None and (around.type == "pattern_list" or is_field(left, around, "left")):
                found = _class_of(left)
                if found is not None and found.id == home.id:
                    yield left


def _class_of(node: Node) -> Node | None:
    return next((parent for parent in ancestors(node) if parent.type == "class_definition"), None)


def _assigned(left: Node) -> Node | None:
    """The right side of a plain assignment to `left`."""
    parent = left.parent
    if parent is None or parent.type != "assignment" or not is_field(left, parent, "left"):
        return None
    value = parent.child_by_field_name("right")
    while value is not None and value.type == "assignment":
        value = value.child_by_field_name("right")
    return value


def _opened(target: Node, tree: Tree) -> Node | None:
    """The config in `with open_dict(config) as target`."""
    call = target.parent.children[0] if target.parent is not None else None
    if call is None or call.type != "call":
        return None
    function, held = call.child_by_field_name("function"), call.child_by_field_name("arguments")
    opens = function is not None and tree.text(function).rpartition(b".")[2] in (b"open_dict", b"read_write")
    return held.named_children[0] if opens and held is not None and held.named_child_count == 1 else None


def _end(node: Node) -> int:
    """Where the statement that binds `node` has bound it."""
    for parent in ancestors(node):
        if parent.type in ("assignment", "named_expression", "augmented_assignment"):
            return parent.end_byte
        if parent.type in _BLOCKS:
            break
    return node.end_byte


def _always_before(binding: Node, use: Node) -> bool:
    """Whether every way to `use` passes the statement that holds `binding`."""
    block = next((parent for parent in ancestors(binding) if parent.type in _BLOCKS or parent.parent is None), None)
    if block is None or block.start_byte > use.start_byte or use.end_byte > block.end_byte:
        return block is None
    return True


def _share_a_loop(binding: Node, use: Node) -> bool:
    loops = {parent.id for parent in ancestors(binding) if parent.type in _LOOPS}
    return any(parent.id in loops for parent in ancestors(use))
