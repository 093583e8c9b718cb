"""Dotted chains rooted at an imported name: `a.b.f(x)` after `import a.b`, `m.Symbol` after `from a import m`."""

from __future__ import annotations

from typing import NamedTuple

from tree_sitter import Node

from porttool.edits import Edit, Note
from porttool.layout import FileNames
from porttool.names import Name
from porttool.rewrite.python_imports import Imports, Item, Statement
from porttool.rewrite.python_scope import ASSIGNMENT, IMPORT, PART, USE, Scopes, is_none_fallback, role
from porttool.rewrite.python_tree import Tree, chain_tokens, chain_top, encode, respell


class Root(NamedTuple):
    """What a variable bound by imports stands for; `plain` where `import a.b` binds the top package `a`."""

    full: Name
    plain: bool


class Chains:
    """Collects the edits of attribute chains; `claimed` are the tokens that name modules.

    `kept` are the imports of `a` that become `import c as a`: what is read from them is left.
    """

    def __init__(self, tree: Tree, names: FileNames, imports: Imports, scopes: Scopes, kept: set[int]) -> None:
        self.tree, self.names, self.imports, self.scopes, self.kept = tree, names, imports, scopes, kept
        self.edits: list[Edit] = []
        self.notes: list[Note] = []
        self.claimed: set[int] = set()
        self._seen: set[int] = set()
        self._roots: dict[tuple[bytes, int], Root | None] = {}

    def visit(self, node: Node) -> None:
        """Translate the chain that the identifier `node` is part of, once."""
        top = chain_top(node)
        tokens = chain_tokens(top)
        if not tokens or tokens[0].start_byte in self._seen:
            return
        self._seen.add(tokens[0].start_byte)
        kind = role(tokens[0])
        if kind not in (USE, ASSIGNMENT) or (kind == ASSIGNMENT and len(tokens) > 1):
            return
        root = self._root(tokens[0])
        if root is None:
            return
        if root.plain:
            self._plain(tokens, kind)
        elif len(tokens) > 1:
            self._below(root.full, tokens)

    def _root(self, node: Node) -> Root | None:
        """What the variable at `node` stands for; None where anything but imports of one thing binds it."""
        name = self.tree.text(node)
        scope = self.scopes.resolve(name, node)
        if scope is None:
            return None
        if (name, scope) not in self._roots:
            self._roots[name, scope] = self._stands_for(name, scope)
        return self._roots[name, scope]

    def _stands_for(self, name: bytes, scope: int) -> Root | None:
        found: set[Root] = set()
        for binding in self.scopes.bindings(name, scope):
            if binding.kind == IMPORT:
                if binding.node.start_byte not in self.imports.by_bound:
                    return None
                statement, item = self.imports.by_bound[binding.node.start_byte]
                plain = statement.place is None and item.alias is None and binding.node.start_byte not in self.kept
                found.add(Root(item.full[:1], True) if plain else Root(item.full, False))
            elif not is_none_fallback(binding.node):
                return None
        return found.pop() if len(found) == 1 else None

    def _plain(self, tokens: list[Node], kind: str) -> None:
        old = tuple(self.tree.word(token) for token in tokens)
        new = self.imports.mapped(old)
        if new == old:
            return
        if kind == ASSIGNMENT and len(new) > 1:
            return self._unresolved(tokens[0], old, new)
        if new[0] != old[0] and not self._binds(new[0], tokens[0]):
            return self._unresolved(tokens[0], old, new)
        self._respell(tokens, old, new)

    def _below(self, full: Name, tokens: list[Node]) -> None:
        rest = tuple(self.tree.word(token) for token in tokens[1:])
        new, base = self.imports.mapped(full + rest), self.imports.mapped(full)
        if new[: len(base)] != base:
            return self._unresolved(tokens[0], full + rest, new)
        head = (self.tree.word(tokens[0]),)
        self._respell(tokens, head + rest, head + new[len(base) :])

    def _respell(self, tokens: list[Node], old: Name, new: Name) -> None:
        edit = respell(tokens, old, new)
        if edit is not None:
            self.edits.append(edit)
            self.claimed.update(t.start_byte for t in tokens if edit.start <= t.start_byte < edit.end)

    def _binds(self, top: str, node: Node) -> bool:
        """Whether the rewritten imports bind the package `top`, and nothing hides it at `node`."""
        if self.scopes.resolve(encode(top), node) is not None:
            root = self._root_named(encode(top), node)
            if root is None or not root.plain:
                return False
        plain = (s for s in self.imports.statements if s.place is None)
        return any(item.alias is None and item.new[0] == top for s in plain for item in s.items)

    def _root_named(self, name: bytes, node: Node) -> Root | None:
        scope = self.scopes.resolve(name, node)
        return None if scope is None else self._stands_for(name, scope)

    def _unresolved(self, node: Node, old: Name, new: Name) -> None:
        told = f"{'.'.join(old)} is now {'.'.join(new)}, which no import of this file reaches"
        self.notes.append(Note(node.start_byte, "unresolved-target", told))

    def unbound(self) -> None:
        """Note the uses of a top package that the rewritten imports no longer bind."""
        plain = [(s, item) for s in self.imports.statements if s.place is None for item in s.items if not item.alias]
        for statement, item in plain:
            top = item.full[0]
            if (
                item.bound.start_byte in self.kept
                or item.new[0] == top
                or any(other.new[0] == top for _, other in plain)
            ):
                continue
            self._note_uses(statement, item)

    def _note_uses(self, statement: Statement, item: Item) -> None:
        name = encode(item.full[0])
        scope = self.scopes.resolve(name, item.bound)
        for node in self.tree.named(name):
            loose = node.parent is None or node.parent.is_error
            if loose or role(node) in (IMPORT, PART) or self.scopes.resolve(name, node) != scope:
                continue
            tokens = chain_tokens(chain_top(node)) or [node]
            old = tuple(self.tree.word(token) for token in tokens)
            if self.names.layout.modules.map(old) == old:
                told = f"{item.full[0]} is no longer imported: the import is now {'.'.join(item.new)}"
                self.notes.append(Note(node.start_byte, "unresolved-target", told))


class StarNames:
    """Names that a star import brings and a scoped symbol renames."""

    def __init__(self, tree: Tree, imports: Imports, scopes: Scopes) -> None:
        self.tree, self.imports, self.scopes = tree, imports, scopes
        self.origins = [s.origin for s in imports.statements if s.star and s.origin]

    def new(self, node: Node) -> str | None:
        """The new form of an identifier that nothing but a star import can bind; None where it stays."""
        if not self.origins:
            return None
        word = self.tree.word(node)
        for origin in self.origins:
            there = self.imports.mapped((*origin, word))
            if there[-1] != word and there[:-1] == self.imports.mapped(origin) and role(node) == USE:
                free = not self.scopes.binds(encode(word)) and not self.scopes.binds(encode(there[-1]))
                return there[-1] if free and not self.tree.named(encode(there[-1])) else None
        return None
