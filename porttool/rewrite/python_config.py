"""Config reads in Python: which absolute key an expression means, and its edits.

A receiver whose last name is `config`, `cfg` or `conf` (or ends in `_config` and so on) stands for the root of the
config; a variable or `self.` attribute assigned from a config read stands for the key it was read from.
"""

from __future__ import annotations

import re

from tree_sitter import Node

from porttool.edits import Edit, Note
from porttool.layout import FileNames
from porttool.names import Name
from porttool.rewrite.python_alias import Aliases
from porttool.rewrite.python_keys import Keys, Step, rekey
from porttool.rewrite.python_scope import Scopes
from porttool.rewrite.python_tree import Tree, is_field

_ROOT = re.compile(r"(?:^|_)(?:config|cfg|conf)$")


class Reading:
    """One way to read an access expression: the key its receiver stands for, and the steps behind it."""

    def __init__(self, base: Name, steps: list[Step]) -> None:
        self.base, self.steps = base, steps
        self.key = base + tuple(step.name for step in steps)


class ConfigReads:
    """Collects the edits of config reads; `claimed` are the offsets of the names and strings they settle."""

    def __init__(self, tree: Tree, names: FileNames, scopes: Scopes) -> None:
        self.tree, self.names = tree, names
        self.keys = Keys(tree)
        self.aliases = Aliases(tree, scopes, self.key_of)
        self.edits: list[Edit] = []
        self.notes: list[Note] = []
        self.claimed: set[int] = set()
        self._seen: set[int] = set()
        self._tops: dict[int, Node] = {}

    def visit(self, node: Node) -> None:
        """Translate the config read that an identifier or the content of a string is part of, once."""
        access = self._access(node)
        if access is None:
            return
        top = self._whole(access)
        if top.id in self._seen:
            return
        self._seen.add(top.id)
        for reading in self._readings(top):
            if self._translate(reading):
                return

    def _whole(self, node: Node) -> Node:
        """The whole access expression around one; what lies between is asked for once, however long the chain."""
        way: list[Node] = []
        while (top := self._tops.get(node.id)) is None:
            way.append(node)
            above = self.keys.enclosing(node)
            if above is None:
                top = node
                break
            node = above
        self._tops.update((step.id, top) for step in way)
        return top

    def _access(self, node: Node) -> Node | None:
        """The innermost access expression that takes the name at `node` as a step."""
        parent = node.parent
        if parent is None:
            return None
        if node.type == "identifier":
            return parent if parent.type == "attribute" and is_field(node, parent, "attribute") else None
        string = parent if node.type == "string_content" else None
        around = string.parent if string is not None else None
        if around is not None and around.type == "keyword_argument":
            around = around.parent
        if around is not None and around.type == "argument_list":
            around = around.parent
        if around is None or around.type not in ("call", "subscript", "comparison_operator"):
            return None
        found = self.keys.step(around)
        held = found is not None and any(node.start_byte <= step.start < node.end_byte for step in found[1])
        return around if held else None

    def _readings(self, node: Node) -> list[Reading]:
        """The ways to read `node`, the one with the outermost receiver first."""
        steps: list[Step] = []
        later: list[Reading] = []
        while True:
            if node.type == "identifier" or (node.type == "attribute" and self._is_own(node)):
                alias = self.aliases.key(node)
                if alias is not None:
                    return [Reading(alias.key, steps)] if alias.key is not None else []
            if node.type == "identifier":
                return [Reading((), steps), *later] if _ROOT.search(self.tree.word(node)) else later
            found = self.keys.step(node)
            if found is None:
                return later
            if node.type == "attribute" and _ROOT.search(found[1][0].name):
                later.insert(0, Reading((), list(steps)))
            node, steps = found[0], found[1] + steps

    def _is_own(self, node: Node) -> bool:
        inner = node.child_by_field_name("object")
        return inner is not None and self.tree.text(inner) == b"self"

    def key_of(self, node: Node) -> Name | None:
        """The absolute key that an expression reads; None where it is no config read."""
        readings = self._readings(node)
        touched = (r.key for r in readings if r.key and self.names.layout.keys.touches(r.key))
        return next(touched, readings[0].key if readings else None)

    def _translate(self, reading: Reading) -> bool:
        """Whether a key pair speaks about the key that was read; then its edits or its note are taken."""
        new = self.names.key(reading.key)
        if new is None:
            return False
        base = self.names.key(reading.base) or reading.base
        edits = rekey(self.keys, reading.steps, new[len(base) :]) if new[: len(base)] == base else None
        if edits is None:
            told = f"{'.'.join(reading.key)} is now {'.'.join(new)}, out of reach of this read"
            self.notes.append(Note(reading.steps[0].start if reading.steps else 0, "key-moved", told))
            return True
        self.edits += edits
        for step in reading.steps:
            if any(edit.start <= step.start < max(edit.end, edit.start + 1) for edit in edits):
                self.claimed.add(step.start)
        self._claim_strings(edits)
        return True

    def _claim_strings(self, edits: list[Edit]) -> None:
        """A string that holds a key is settled as a whole."""
        for edit in edits:
            leaf = self.tree.leaf(edit.start)
            if leaf.type == "string_content":
                self.claimed.add(leaf.start_byte)
