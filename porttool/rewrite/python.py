"""Python: imports, names and config reads through a parser; strings and comments as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tree_sitter import Node

from porttool.edits import Edit, Found, Note, apart
from porttool.layout import FileNames, Layout
from porttool.rewrite import text
from porttool.rewrite.parsing import GivenUp
from porttool.rewrite.python_bindings import ImportEdits, all_entry
from porttool.rewrite.python_config import ConfigReads
from porttool.rewrite.python_imports import Imports, is_import_part
from porttool.rewrite.python_names import Chains, StarNames
from porttool.rewrite.python_parse import too_deep
from porttool.rewrite.python_scope import Scopes
from porttool.rewrite.python_tree import WORD, Tree, encode

_RELATIVE = re.compile(rb"\bfrom[ \t\\\r\n]*\.")
_NAME = re.compile(rb"[" + WORD + rb"]+")


class _Lexicon(NamedTuple):
    """What to look for in a source: `whole` as a whole name, `inner` anywhere in one."""

    whole: tuple[bytes, ...]
    inner: tuple[bytes, ...]
    modules: frozenset[bytes]
    keys: frozenset[bytes]
    scoped: bool

    def hits(self, source: bytes) -> list[int]:
        """Every offset at which the layout can speak about `source`."""
        found = {at for word in self.inner for at in _places(source, word)}
        for word in self.whole:
            found.update(at for at in _places(source, word) if _is_a_name(source, at, at + len(word)))
        return sorted(found)


_LEXICONS: dict[str, _Lexicon] = {}


def _lexicon(layout: Layout) -> _Lexicon:
    found = _LEXICONS.get(layout.digest)
    if found is None:
        if len(_LEXICONS) >= 64:
            _LEXICONS.clear()
        parts = {s.old for s in layout.symbols if not s.whole}
        parts |= {form(word) for word in parts for form in (str.lower, str.upper, str.capitalize)}
        starred = [segment for pair in layout.paths for segment in pair.old if "*" in segment]
        parts |= {word for word in layout.words if any(word in segment for segment in starred)}
        found = _LEXICONS[layout.digest] = _Lexicon(
            tuple(encode(word) for word in layout.words if word not in parts),
            tuple(encode(word) for word in layout.words if word in parts),
            frozenset(encode(pair.old[-1]) for pair in layout.modules if pair.old),
            frozenset(encode(pair.old[-1]) for pair in layout.keys if pair.old),
            any(symbol.scope for symbol in layout.symbols),
        )
    return found


def _places(source: bytes, word: bytes) -> Iterator[int]:
    """Every offset of a word. Plain searches in turn: one pattern of all words takes longer."""
    at = source.find(word)
    while at >= 0:
        yield at
        at = source.find(word, at + 1)


def scan(source: bytes, names: FileNames) -> Found:
    """Every edit that carries a Python source to the other side of its layout."""
    lexicon = _lexicon(names.layout)
    hits = lexicon.hits(source)
    if not hits and not (_moves(names) and _RELATIVE.search(source)):
        return Found([], [])
    if too_deep(source):
        return _as_text(source, names, "this nests deeper than Python goes")
    try:
        return _Scan(source, names, lexicon).run(hits)
    except GivenUp:
        return _as_text(source, names, "this is too far from Python for the parser")


def _as_text(source: bytes, names: FileNames, why: str) -> Found:
    plain = text.scan(source, names)
    return Found(plain.edits, [*plain.notes, Note(0, "unparsable", why)])


def _is_a_name(source: bytes, start: int, end: int) -> bool:
    """Whether a name can end here and start there: behind no letter, unless one of an escape such as `\\n`."""
    if _NAME.match(source, end, end + 1):
        return False
    return not start or not _NAME.match(source, start - 1, start) or source[start - 2 : start - 1] == b"\\"


def _moves(names: FileNames) -> bool:
    """Whether relative imports of this file can change without any old name being spelled out."""
    if names.module is None:
        return False
    module = names.module[0]
    return names.module != names.new_module or any(names.dotted(module[:n]) for n in range(1, len(module) + 1))


class _Scan:
    """One pass over one source: imports first, then each place the search found."""

    def __init__(self, source: bytes, names: FileNames, lexicon: _Lexicon) -> None:
        self.source, self.names, self.lexicon = source, names, lexicon
        self.tree = Tree(source, names)
        scopes = Scopes(self.tree)
        imports = Imports(self.tree, names)
        self.imports = ImportEdits(self.tree, names, imports, scopes)
        self.chains = Chains(self.tree, names, imports, scopes, self.imports.kept)
        self.stars = StarNames(self.tree, imports, scopes)
        self.config = ConfigReads(self.tree, names, scopes)
        self.edits: list[Edit] = []
        self.notes: list[Note] = []

    def run(self, hits: list[int]) -> Found:
        self.imports.run()
        leaves = list(self._leaves(hits))
        for leaf in leaves:
            word = self.tree.text(leaf)
            if self.lexicon.keys and (word in self.lexicon.keys or leaf.type == "string_content"):
                self.config.visit(leaf)
            if leaf.type == "identifier" and (self.lexicon.scoped or word in self.lexicon.modules):
                self.chains.visit(leaf)
        self.chains.unbound()
        claimed = self.imports.claimed | self.chains.claimed | self.config.claimed
        for leaf in leaves:
            if leaf.start_byte in claimed:
                continue
            if leaf.type == "identifier":
                self._identifier(leaf)
            elif leaf.type == "comment":
                self._text(leaf.start_byte, leaf.end_byte)
            elif leaf.type == "string_content":
                self._string(leaf)
        # `import conf.a` makes a module of what is also called like a config; in a broken file anything may overlap.
        edits = apart(self.imports.edits, self.chains.edits, self.config.edits, self.edits)
        notes = self.notes + self.imports.notes + self.chains.notes + self.config.notes
        return Found(edits, notes + self._unparsable())

    def _leaves(self, hits: list[int]) -> Iterator[Node]:
        """The identifier, comment or string content at each hit, each once."""
        reached = -1
        for hit in hits:
            if hit < reached:
                continue
            leaf = self.tree.leaf(hit)
            if leaf.type in ("escape_sequence", "escape_interpolation") and leaf.parent is not None:
                leaf = leaf.parent
            if leaf.type in ("identifier", "comment", "string_content"):
                reached = leaf.end_byte
                yield leaf

    def _identifier(self, leaf: Node) -> None:
        new = self.names.symbol(self.tree.word(leaf)) or self.stars.new(leaf)
        if new is not None and not is_import_part(leaf):
            self.edits.append(Edit(leaf.start_byte, leaf.end_byte, encode(new)))

    def _string(self, content: Node) -> None:
        new = self.imports.renamed.get(self.tree.text(content))
        if new is not None and content.parent is not None and all_entry(content.parent, self.tree):
            self.edits.append(Edit(content.start_byte, content.end_byte, new))
            return
        start, end = self._whole_names(content)
        for escape in content.children:
            self._text(start, min(escape.start_byte, end))
            start = max(start, escape.end_byte)
        self._text(start, end)

    def _whole_names(self, content: Node) -> tuple[int, int]:
        """The span of a piece of an f-string without the names that an interpolation begins or ends."""
        start, end = content.start_byte, content.end_byte
        if self.source[start - 1 : start] == b"}" and _is_interpolation(content.prev_sibling):
            lead = _NAME.match(self.source, start, end)
            start = lead.end() if lead else start
        if _is_interpolation(content.next_sibling):
            while end > start and _NAME.match(self.source, end - 1, end):
                end -= 1
        return start, end

    def _text(self, start: int, end: int) -> None:
        if start < end:
            found = text.scan(self.source, self.names, start, end)
            self.edits += found.edits
            self.notes += found.notes

    def _unparsable(self) -> list[Note]:
        at = self.tree.first_error()
        return [] if at is None else [Note(at, "unparsable", "this is no Python that the parser knows")]


def _is_interpolation(node: Node | None) -> bool:
    return node is not None and node.type == "interpolation"
