"""Import statements: what each binds, and how its module and names are spelled on the other side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from porttool.layout import FileNames
from porttool.names import Name
from porttool.rewrite.python_tree import Tree, dotted_tokens, is_field

STATEMENTS = ("import_statement", "import_from_statement")


@dataclass(frozen=True)
class Item:
    """One name of an import statement. `full` is absolute; `new` is `full` on the other side.

    `node` spans the item with its alias, `tokens` the dotted module of `import a.b` or the one name of a from-import.
    """

    node: Node
    tokens: list[Node]
    alias: Node | None
    full: Name
    new: Name

    @property
    def bound(self) -> Node:
        """The identifier that becomes a variable here."""
        return self.alias or self.tokens[0]

    @property
    def written(self) -> str:
        """The last segment as the statement spells it."""
        return self.full[-1]


@dataclass(frozen=True)
class Statement:
    """An import statement; `origin` is its absolute from-module (None for `import a.b`), `level` its leading dots.

    `excess` counts the dots a relative import spends beyond the fewest that would do.
    """

    node: Node
    items: tuple[Item, ...]
    origin: Name | None = None
    place: Node | None = None
    level: int = 0
    excess: int = 0
    star: bool = False

    @property
    def parenthesised(self) -> bool:
        return self.node.children[-1].type == ")"


class Imports:
    """The import statements of one tree, read on demand and at most once."""

    def __init__(self, tree: Tree, names: FileNames) -> None:
        self.tree, self.names = tree, names
        self._scoped = any(symbol.scope for symbol in names.layout.symbols)
        self._homes: dict[Name, list[FileNames]] = {}
        self.statements = list(self._read())
        self.by_bound = {
            item.bound.start_byte: (statement, item) for statement in self.statements for item in statement.items
        }

    def _read(self) -> Iterator[Statement]:
        seen = -1
        at = -1
        while (at := self.tree.source.find(b"import", at + 1)) >= 0:
            leaf = self.tree.leaf(at)
            node = leaf.parent
            if leaf.type == "import" and node is not None and node.type in STATEMENTS and node.start_byte > seen:
                seen = node.start_byte
                if node.has_error:  # the place of its names cannot be trusted
                    continue
                yield self._from(node) if node.type == "import_from_statement" else self._plain(node)

    def _plain(self, node: Node) -> Statement:
        items: list[Item] = []
        for child in node.children_by_field_name("name"):
            tokens, alias = _parts(child)
            full = tuple(self.tree.word(token) for token in tokens)
            items.append(Item(child, tokens, alias, full, self.names.layout.modules.map(full)))
        return Statement(node, tuple(item for item in items if item.tokens))

    def _from(self, node: Node) -> Statement:
        place = node.child_by_field_name("module_name")
        if place is None:
            return Statement(node, ())
        level = place.children[0].end_byte - place.start_byte if place.type == "relative_import" else 0
        level = self.tree.text(place).count(b".", 0, level)
        rest = next((child for child in place.children if child.type == "dotted_name"), None)
        named = rest if place.type == "relative_import" else place
        tail = tuple(self.tree.word(token) for token in dotted_tokens(named)) if named is not None else ()
        star = any(child.type == "wildcard_import" for child in node.children)
        anchor = _anchor(self.names.module, level) if level else ()
        if anchor is None:
            return Statement(node, (), None, place, level, 0, star)
        origin = anchor + tail
        items: list[Item] = []
        for child in node.children_by_field_name("name"):
            tokens, alias = _parts(child)
            if len(tokens) == 1:
                full = (*origin, self.tree.word(tokens[0]))
                items.append(Item(child, tokens, alias, full, self._mapped(full)))
        excess = level - _fewest(self.names.module, origin) if level else 0
        return Statement(node, tuple(items), origin, place, level, excess, star)

    def _mapped(self, full: Name) -> Name:
        new = self.mapped(full)
        return new if len(new) > 1 else full

    def mapped(self, full: Name) -> Name:
        """A dotted name on the other side: its module, and the symbols that the module's own file renames."""
        new = self.names.layout.modules.map(full)
        if not self._scoped or new[-1] != full[-1]:
            return new
        for depth in range(1, len(full)):
            symbol = self.at_home(full[:depth], full[depth])
            if symbol is not None and len(new) >= len(full) - depth:
                at = len(new) - len(full) + depth
                return (*new[:at], symbol, *new[at + 1 :])
        return new

    def at_home(self, module: Name, name: str) -> str | None:
        """The new form of `name` inside the file of a module, where only a scope says so."""
        if module not in self._homes:
            layout = self.names.layout
            heads = [("" if root in (".", "") else root.strip("/") + "/") + "/".join(module) for root in layout.roots]
            files = [head + tail for head in heads for tail in (".py", "/__init__.py", ".pyi")]
            self._homes[module] = [layout.for_file(file) for file in files]
        if self.names.symbol(name) is not None:
            return None
        found = (file.symbol(name) for file in self._homes[module])
        return next((new for new in found if new is not None), None)

    def spell(self, statement: Statement, origin: Name) -> str:
        """The from-module of a statement where it names `origin` from this file's new place."""
        if not statement.level:
            return ".".join(origin)
        level = _fewest(self.names.new_module, origin)
        if level < 1:
            return ".".join(origin)
        anchor = _anchor(self.names.new_module, level + statement.excess)
        if statement.excess > 0 and anchor:
            level += statement.excess
        anchor = _anchor(self.names.new_module, level) or ()
        return "." * level + ".".join(origin[len(anchor) :])


def _parts(node: Node) -> tuple[list[Node], Node | None]:
    """The dotted tokens and the alias of one imported name."""
    if node.type != "aliased_import":
        return dotted_tokens(node), None
    inner = node.child_by_field_name("name")
    return (dotted_tokens(inner) if inner is not None else []), node.child_by_field_name("alias")


def _package(module: tuple[Name, bool] | None) -> Name | None:
    if module is None:
        return None
    return module[0] if module[1] else module[0][:-1]


def _anchor(module: tuple[Name, bool] | None, level: int) -> Name | None:
    """The package that `level` dots mean in a module; None where they leave the top package."""
    package = _package(module)
    if package is None or level > len(package):
        return None
    return package[: len(package) - level + 1]


def _fewest(module: tuple[Name, bool] | None, origin: Name) -> int:
    """The fewest dots that reach `origin`; 0 where none do."""
    package = _package(module) or ()
    shared = 0
    while shared < min(len(package), len(origin)) and package[shared] == origin[shared]:
        shared += 1
    return len(package) - shared + 1 if shared else 0


def is_import_part(node: Node) -> bool:
    """Whether an identifier names a module in an import statement: such names follow modules, never symbols."""
    parent = node.parent
    around = parent.parent if parent is not None and parent.type == "dotted_name" else None
    if parent is None or around is None:
        return False
    if around.type == "aliased_import":
        above = around.parent
        return above is not None and above.type == "import_statement"
    if around.type == "import_from_statement":
        return is_field(parent, around, "module_name")
    return around.type in ("import_statement", "relative_import")
