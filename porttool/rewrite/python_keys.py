"""The steps by which Python code reaches a config key, and how they are written anew."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from typing import NamedTuple

from tree_sitter import Node

from porttool.edits import Edit
from porttool.names import Name
from porttool.rewrite.python_tree import Tree, decode, encode, is_field, same

_GETTERS = frozenset((b"get", b"pop", b"setdefault"))
_ATTRIBUTE_CALLS = frozenset((b"getattr", b"hasattr", b"setattr", b"delattr"))
_SELECTS = frozenset((b"select", b"update", b"is_missing", b"is_interpolation"))
_COPIES = re.compile(rb"(?:OmegaConf\.(?:to_container|create)|(?:copy\.)?(?:deepcopy|copy)|dict)")
_KEY = re.compile(rb"[^\s.$]+(?:\.[^\s.$]+)*")


class Step(NamedTuple):
    """One segment of a key: `start:end` is its name, `base` where what it is taken from ends, `stop` its own end.

    `style`: attribute `.a`, item `["a"]`, get `.get("a")`, argument (`getattr(x, "a")`, `"a" in x`),
    select (`OmegaConf.select(x, "a")`) or text (a segment behind the first of a dotted string).
    """

    name: str
    start: int
    end: int
    base: int
    stop: int
    style: str


def key_string(node: Node | None, tree: Tree) -> Node | None:
    """The content of a string literal; None for anything else, for bytes, escapes and interpolations."""
    if node is None or node.type != "string" or node.child_count != 3:
        return None
    opening, content, _ = node.children
    if not tree.text(opening) or b"b" in tree.text(opening).lower():
        return None
    return content if content.type == "string_content" and not content.child_count else None


def arguments(call: Node) -> list[Node]:
    """The arguments of a call without comments."""
    held = call.child_by_field_name("arguments")
    if held is None or held.type != "argument_list":
        return []
    return [child for child in held.named_children if child.type != "comment"]


class Keys:
    """Reads access expressions of one tree."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def step(self, node: Node) -> tuple[Node, list[Step]] | None:
        """What an expression reads from, and the steps it adds (none for a copy, for parentheses); None: no access."""
        match node.type:
            case "attribute":
                return self._attribute(node)
            case "subscript":
                return self._item(node)
            case "call":
                return self._call(node)
            case "comparison_operator":
                return self._membership(node)
            case "parenthesized_expression" if node.named_child_count == 1:
                return node.named_children[0], []
            case "boolean_operator":
                left, operator = node.child_by_field_name("left"), node.child_by_field_name("operator")
                return (left, []) if left is not None and operator is not None and operator.type == "or" else None
            case "named_expression":
                value = node.child_by_field_name("value")
                return (value, []) if value is not None else None
        return None

    def _attribute(self, node: Node) -> tuple[Node, list[Step]] | None:
        inner, name = node.child_by_field_name("object"), node.child_by_field_name("attribute")
        if inner is None or name is None:
            return None
        word = self.tree.word(name)
        return inner, [Step(word, name.start_byte, name.end_byte, inner.end_byte, node.end_byte, "attribute")]

    def _item(self, node: Node) -> tuple[Node, list[Step]] | None:
        inner, held = node.child_by_field_name("value"), node.children_by_field_name("subscript")
        key = key_string(held[0], self.tree) if len(held) == 1 else None
        return (inner, self._named(key, inner, node, "item")) if inner is not None and key is not None else None

    def _call(self, node: Node) -> tuple[Node, list[Step]] | None:
        function, given = node.child_by_field_name("function"), arguments(node)
        if function is None or not given:
            return None
        if function.type == "attribute":
            method, inner = function.child_by_field_name("attribute"), function.child_by_field_name("object")
            if method is not None and inner is not None and self.tree.text(method) in _GETTERS:
                key = key_string(_value(given[0], self.tree, b"key"), self.tree)
                if key is not None:
                    return inner, self._named(key, inner, node, "get")
        text = self.tree.text(function)
        if _COPIES.fullmatch(text):
            return given[0], []
        omega, _, method_name = text.rpartition(b".")
        selects = omega.endswith(b"OmegaConf") and method_name in _SELECTS
        if len(given) > 1 and (selects or text in _ATTRIBUTE_CALLS):
            key = key_string(_value(given[1], self.tree, b"key"), self.tree)
            if key is not None:
                return given[0], self._named(key, given[0], node, "select" if selects else "argument")
        return None

    def _membership(self, node: Node) -> tuple[Node, list[Step]] | None:
        if node.named_child_count != 2 or node.children[1].type not in ("in", "not in"):
            return None
        key, inner = key_string(node.children[0], self.tree), node.children[-1]
        return (inner, self._named(key, inner, node, "argument")) if key is not None else None

    def _named(self, key: Node, inner: Node, node: Node, style: str) -> list[Step]:
        """The steps of a key string; a dotted one holds several."""
        text = self.tree.text(key)
        parts = text.split(b".") if style != "item" and _KEY.fullmatch(text) else [text]
        steps: list[Step] = []
        at = key.start_byte
        for part in parts:
            base = inner.end_byte if not steps else steps[-1].end
            steps.append(Step(decode(part), at, at + len(part), base, node.end_byte, "text" if steps else style))
            at += len(part) + 1
        return steps

    def enclosing(self, node: Node) -> Node | None:
        """The access expression that takes its next step from `node`; None where `node` is the whole of it."""
        parent = node.parent
        if parent is not None and parent.type == "argument_list":
            parent = parent.parent
        if parent is None:
            return None
        if parent.type == "attribute":
            above = parent.parent
            called = above is not None and above.type == "call" and is_field(parent, above, "function")
            if called and above is not None and is_field(node, parent, "object"):
                found = self.step(above)
                if found is not None and same(found[0], node):
                    return above
        found = self.step(parent)
        return parent if found is not None and same(found[0], node) else None

    def quote(self, step: Step) -> tuple[bytes, bytes]:
        """The quotes around the name of an item step."""
        opening = self.tree.source[step.start - 1 : step.start]
        return opening, opening

    def lead(self, step: Step, names: Name) -> Edit:
        """New segments in front of a step, in its style."""
        if step.style in ("select", "text"):
            return Edit(step.start, step.start, encode(".".join(names) + "."))
        if step.style == "item":
            opening, closing = self.quote(step)
            text = b"".join(b"[" + opening + encode(name) + closing + b"]" for name in names)
        else:
            text = b"".join(_attribute_text(name) for name in names)
        return Edit(step.base, step.base, text)


def _value(argument: Node, tree: Tree, name: bytes) -> Node | None:
    """The value of a positional argument, or of the keyword argument called `name`."""
    if argument.type != "keyword_argument":
        return argument
    key = argument.child_by_field_name("name")
    return argument.child_by_field_name("value") if key is not None and tree.text(key) == name else None


def _attribute_text(name: str) -> bytes:
    plain = name.isidentifier() and not keyword.iskeyword(name)
    return encode("." + name if plain else f'["{name}"]')


def rekey(keys: Keys, steps: list[Step], new: Name) -> list[Edit] | None:
    """Edits that make `steps` spell `new`, each segment in the style of the one it replaces; None where none can.

    The last segment answers to the last, the others from the front; what one side has more stands before the last.
    """
    old = tuple(step.name for step in steps)
    tail = 0
    while tail < min(len(old), len(new)) and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    gone, come = steps[: len(steps) - tail], new[: len(new) - tail]
    if not gone:
        return [keys.lead(steps[0], come)] if come else []
    if not come:
        return _without(gone, steps[len(gone)] if tail else None)
    shared = min(len(gone), len(come)) - 1
    edits = list(_renamed(gone[:shared], come[:shared]))
    if len(come) > len(gone):
        edits.append(keys.lead(gone[-1], come[shared:-1]))
    elif len(gone) > len(come):
        removed = _without(gone[shared:-1], gone[-1])
        if removed is None:
            return None
        edits += removed
    edits += _renamed(gone[-1:], come[-1:])
    return edits


def _renamed(steps: list[Step], new: Name) -> Iterator[Edit]:
    for step, name in zip(steps, new, strict=True):
        if step.name != name:
            yield Edit(step.start, step.end, encode(name))


def _without(steps: list[Step], following: Step | None) -> list[Edit] | None:
    """Edits that take whole steps away; None where one cannot go, such as the only key of a call."""
    edits: list[Edit] = []
    for at, step in enumerate(steps):
        after = steps[at + 1] if at + 1 < len(steps) else following
        if after is not None and after.style == "text":
            edits.append(Edit(step.start, after.start, b""))
        elif step.style in ("attribute", "item") or (step.style == "get" and following is not None):
            edits.append(Edit(step.base, step.stop, b""))
        else:
            return None
    return edits
