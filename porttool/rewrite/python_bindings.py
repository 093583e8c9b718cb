"""Edits of import statements, and of the variables they bind.

A from-import whose names part ways is split where it stands, in a form that the way back joins again byte for byte.
"""

from __future__ import annotations

import re

from tree_sitter import Node

from porttool.edits import Edit, Note
from porttool.layout import FileNames
from porttool.names import Name
from porttool.rewrite.python_imports import Imports, Item, Statement
from porttool.rewrite.python_scope import ASSIGNMENT, IMPORT, Scopes, is_none_fallback, role
from porttool.rewrite.python_tree import Tree, ancestors, decode, encode, respell

_BETWEEN = re.compile(rb"[ \t]*;(?:[ \t]|\\\r?\n)*")
_BLANK = re.compile(rb"[\s\\]+")
_INDENT = re.compile(rb"[ \t\f]*")
_FOLLOWS = re.compile(rb"[A-Za-z0-9_\x80-\xff]")


class ImportEdits:
    """Collects the edits of all import statements of one file; `claimed` are the tokens that are settled by them."""

    def __init__(self, tree: Tree, names: FileNames, imports: Imports, scopes: Scopes) -> None:
        self.tree, self.names, self.imports, self.scopes = tree, names, imports, scopes
        self.edits: list[Edit] = []
        self.notes: list[Note] = []
        self.claimed: set[int] = set()
        self.renamed: dict[bytes, bytes] = {}  # variables of the module scope, for `__all__`
        self.kept: set[int] = set()  # bindings of `import a` that keep their name by an alias
        self._settled: set[tuple[bytes, int]] = set()

    def run(self) -> None:
        before: Statement | None = None
        for statement in self.imports.statements:
            if statement.origin is not None:
                self._from(statement, before)
            elif statement.place is None:
                self._plain(statement)
            before = statement

    def _plain(self, statement: Statement) -> None:
        for item in statement.items:
            self.claimed.update(token.start_byte for token in item.tokens)
            edit = respell(item.tokens, item.full, item.new)
            if edit is None:
                continue
            if item.alias is None and len(item.full) == 1 and self._kept(item, item.new):
                self.kept.add(item.bound.start_byte)
                kept = encode(".".join(item.new) + " as " + item.full[0])
                edit = Edit(item.tokens[0].start_byte, item.tokens[0].end_byte, kept)
            elif item.alias is not None and item.new == (self.tree.word(item.alias),):
                gap = self.tree.source[item.tokens[-1].end_byte : item.alias.start_byte]
                if gap == b" as " and self._kept(item, item.full):
                    self.claimed.add(item.alias.start_byte)
                    edit = Edit(item.tokens[0].start_byte, item.alias.end_byte, encode(item.new[0]))
            self.edits.append(edit)

    def _kept(self, item: Item, other: Name) -> bool:
        """Whether the variable of `import a` has to keep its name where its module is called `other`.

        So it is where something else binds it (a fallback to None can take a new plain name), or where the new name
        is already a local of a place that uses it.
        """
        name = self.tree.text(item.bound)
        scope = self.scopes.resolve(name, item.bound)
        if scope is None:
            return False
        for binding in self.scopes.bindings(name, scope):
            if binding.kind != IMPORT and (len(other) > 1 or not is_none_fallback(binding.node)):
                return True
        return self.scopes.captures(encode(other[0]), scope, self.scopes.variable(name, scope))

    def _from(self, statement: Statement, before: Statement | None) -> None:
        origins = [item.new[:-1] for item in statement.items]
        assert statement.origin is not None and statement.place is not None
        first = origins[0] if origins else self.names.layout.modules.map(statement.origin)
        joined = before is not None and origins and self._join(before, statement, first)
        if not joined:
            self._place(statement, first)
        for item, origin, last in zip(statement.items[1:], origins[1:], origins, strict=False):
            if origin != last:
                self._split(statement, item, origin)
        for item in statement.items:
            self._item(item)
        if statement.star:
            self._star(statement)

    def _place(self, statement: Statement, origin: Name) -> None:
        """Spell the from-module anew where it differs."""
        place, tree = statement.place, self.tree
        assert place is not None
        new = encode(self.imports.spell(statement, origin))
        if new == _BLANK.sub(b"", tree.text(place)):
            return
        if statement.level == 0 and statement.origin is not None:
            edit = respell([child for child in place.children if child.type == "identifier"], statement.origin, origin)
            if edit:
                self.edits.append(edit)
            return
        touching = _FOLLOWS.match(tree.source, place.start_byte - 1)
        lead = b" " if touching and not new.startswith(b".") else b""
        glued = not new.endswith(b".") and _FOLLOWS.match(tree.source, place.end_byte)
        self.edits.append(Edit(place.start_byte, place.end_byte, lead + new + (b" " if glued else b"")))

    def _split(self, statement: Statement, item: Item, origin: Name) -> None:
        """Start a from-import of `origin` in front of `item`."""
        source, at = self.tree.source, item.node.start_byte
        opening = b"from " + encode(self.imports.spell(statement, origin)) + b" import "
        if not statement.parenthesised:
            comma = source.rindex(b",", 0, at)
            self.edits += (Edit(comma, comma + 1, b";"), Edit(at, at, opening))
            return
        line = source.rfind(b"\n", 0, at) + 1
        if source[line:at].strip(b" \t\f"):
            self.edits.append(Edit(at, at, b"); " + opening + b"("))
            return
        end = b"\r\n" if source[line - 2 : line] == b"\r\n" else b"\n"
        self.edits.append(Edit(line, line, b"); " + opening + b"(" + end))

    def _join(self, before: Statement, statement: Statement, origin: Name) -> bool:
        """Join a statement to the one before it, where a split made the two; whether it did."""
        if before.origin in (None, statement.origin) or bool(before.level) != bool(statement.level):
            return False
        if not before.items or before.items[-1].new[:-1] != origin or before.parenthesised != statement.parenthesised:
            return False
        source, start = self.tree.source, statement.node.start_byte
        assert statement.place is not None
        opening = b"from " + self.tree.text(statement.place) + b" import "
        first, end = statement.items[0].node.start_byte, before.node.end_byte
        between = source[end:start]
        if not statement.parenthesised:
            if not _BETWEEN.fullmatch(between) or source[start:first] != opening:
                return False
            mark = source.index(b";", end)
            self.edits += (Edit(mark, mark + 1, b","), Edit(start, first, b""))
            return True
        if between != b"; " or not source.startswith(opening + b"(", start):
            return False
        line = source.rfind(b"\n", 0, end) + 1
        tail = source[start + len(opening) + 1 : first]
        if not tail and source[line : end - 1].strip(b" \t\f"):
            self.edits.append(Edit(end - 1, first, b""))
            return True
        cut = re.match(rb"\r?\n", tail)
        if not cut or line != end - 1 or not _INDENT.fullmatch(tail, cut.end()):
            return False
        self.edits.append(Edit(end - 1, start + len(opening) + 1 + cut.end(), b""))
        return True

    def _item(self, item: Item) -> None:
        """The name of a from-import, its alias, and the variable it binds."""
        token, old, new = item.tokens[0], item.written, item.new[-1]
        if old == new:
            return
        self.claimed.add(token.start_byte)
        alias = self.tree.word(item.bound) if item.alias else old
        alias = self.names.symbol(alias) or alias
        if item.alias is not None:
            gap = self.tree.source[token.end_byte : item.alias.start_byte]
            if alias == new and gap == b" as " and self._alias_was_added(item):
                self.claimed.add(item.alias.start_byte)
                self.edits.append(Edit(token.start_byte, item.alias.end_byte, encode(new)))
                return
        elif alias != new and not self._rename(item):
            self.edits.append(Edit(token.start_byte, token.end_byte, encode(f"{new} as {alias}")))
            return
        self.edits.append(Edit(token.start_byte, token.end_byte, encode(new)))

    def _declared(self, item: Item) -> bool:
        """Whether a symbol, not a moved module or fragment, changes the name."""
        symbols = self.names.layout.symbols
        named = any(s.old == item.written and s.new == item.new[-1] and s.scope for s in symbols)
        return named or self.imports.at_home(item.full[:-1], item.written) == item.new[-1]

    def _alias_was_added(self, item: Item) -> bool:
        """Whether the way here would have written this alias: for modules always, for symbols to avoid a clash."""
        if not self._declared(item):
            return True
        name = encode(item.new[-1])
        scope = self.scopes.resolve(name, item.bound)
        return scope is None or not self._free(name, encode(item.written), scope)

    def _rename(self, item: Item) -> bool:
        """Rename the variable that a scoped symbol's import binds; False where an alias has to keep its name."""
        if not self._declared(item):
            return False
        name, to = encode(item.written), encode(item.new[-1])
        scope = self.scopes.resolve(name, item.bound)
        if scope is None:
            return False
        if (name, scope) in self._settled:
            return True
        if not self._free(name, to, scope):
            return False
        self._settled.add((name, scope))
        if scope == self.tree.root.id:
            self.renamed[name] = to
        for node in self.scopes.variable(name, scope):
            if role(node) != IMPORT or node.parent is None or node.parent.type == "aliased_import":
                self.claimed.add(node.start_byte)
                self.edits.append(Edit(node.start_byte, node.end_byte, to))
        return True

    def _free(self, name: bytes, to: bytes, scope: int) -> bool:
        """Whether the variable can be called `to`, and only imports of one thing, or a plain fallback, bind it."""
        for binding in self.scopes.bindings(name, scope):
            if binding.kind == IMPORT:
                found = self.imports.by_bound.get(binding.node.start_byte)
                if found is None or not _gives(found[1], decode(name), decode(to)):
                    return False
            elif binding.kind != ASSIGNMENT:
                return False
        return self.scopes.can_rename(to, scope, self.scopes.variable(name, scope))

    def _star(self, statement: Statement) -> None:
        """A star does not bring what a fragment moved elsewhere."""
        origin = statement.origin or ()
        new = self.names.layout.modules.map(origin)
        for fragment in self.names.layout.fragments:
            home = self.names.layout.module_of(fragment.old.path)
            if fragment.old.kind != "python" or home is None or home[0] != origin or len(fragment.old.name) != 1:
                continue
            there = self.names.layout.modules.map(origin + fragment.old.name)
            if there[:-1] != new:
                told = f"the star import no longer brings {fragment.old.name[0]}, now in {'.'.join(there[:-1])}"
                self.notes.append(Note(statement.node.start_byte, "parts-ways", told))


def _gives(item: Item, name: str, to: str) -> bool:
    """Whether an import of `name` is one of `to` on the other side, as it stands or without an alias once added."""
    if item.alias is None:
        return item.new[-1] == to
    return item.written == to and item.new[-1] == name


def all_entry(node: Node, tree: Tree) -> bool:
    """Whether a string node is an entry of `__all__`."""
    for parent in ancestors(node):
        if parent.type in ("assignment", "augmented_assignment"):
            left = parent.child_by_field_name("left")
            return left is not None and tree.text(left) == b"__all__"
        if parent.type == "call":
            function = parent.child_by_field_name("function")
            return function is not None and tree.text(function).startswith(b"__all__.")
        if parent.type not in ("list", "tuple", "argument_list", "binary_operator", "parenthesized_expression"):
            return False
    return False
