"""Which variable a Python name means: the scopes of a file and what binds each name in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tree_sitter import Node

from porttool.rewrite.python_tree import Tree, ancestors, dotted_tokens, is_field, same

_COMPREHENSIONS = frozenset(
    ("list_comprehension", "set_comprehension", "dictionary_comprehension", "generator_expression")
)
_PATTERNS = frozenset(("pattern_list", "tuple_pattern", "list_pattern", "list_splat_pattern", "expression_list"))
_LEFT = frozenset(("assignment", "augmented_assignment", "for_statement", "for_in_clause"))
_PARAMETERS = frozenset(("parameters", "lambda_parameters"))
_CLAUSES = frozenset(("import_statement", "import_from_statement", "aliased_import", "relative_import"))
USE, IMPORT, PARAMETER, DEFINITION, ASSIGNMENT = "use", "import", "parameter", "definition", "assignment"
GLOBAL, NONLOCAL = "global", "nonlocal"
PART = "part"  # an attribute, a keyword argument's name, a segment of an imported module: no variable at all


class Binding(NamedTuple):
    """One place that binds a name in a scope."""

    kind: str
    node: Node


_Chain = tuple[Node, "_Chain | None"]


class Scopes:
    """Resolves names of one tree. A scope is looked through for a name when first asked: most of a file never is."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._scopes: dict[int, Node] = {}
        self._bound: dict[tuple[bytes, int], list[Binding]] = {}
        self._homes: dict[int, tuple[str, int]] = {}
        self._chains: dict[tuple[int, bool], _Chain] = {}

    def binds(self, name: bytes) -> bool:
        """Whether anything in the file binds `name`."""
        return any(role(node) not in (USE, PART) for node in self.tree.named(name))

    def resolve(self, name: bytes, node: Node) -> int | None:
        """The id of the scope whose variable `name` means at `node`; None where the file binds no such name."""
        kind = role(node) if node.type == "identifier" else USE
        own = self._home(node, kind) if kind not in (USE, PART) else None
        for scope in self._visible(own or node, own is not None):
            kinds = {binding.kind for binding in self._bound_in(name, scope)}
            if GLOBAL in kinds:
                return self.tree.root.id if self._bound_in(name, self.tree.root) else None
            if kinds and NONLOCAL not in kinds:
                return scope.id
        return None

    def _bound_in(self, name: bytes, scope: Node) -> list[Binding]:
        """What binds `name` in a scope: all of it stands inside the scope's own span."""
        found = self._bound.get((name, scope.id))
        if found is None:
            self._scopes[scope.id] = scope
            nodes = self.tree.named(name, scope if scope.parent is not None else None)
            told = ((self._home_of(node), node) for node in nodes)
            found = [Binding(kind, node) for (kind, home), node in told if home == scope.id]
            self._bound[name, scope.id] = found
        return found

    def _home_of(self, node: Node) -> tuple[str, int]:
        """How an identifier binds its name, and in which scope; no scope where it does not."""
        found = self._homes.get(node.start_byte)
        if found is None:
            kind = role(node)
            home = self._home(node, kind).id if kind not in (USE, PART) else 0
            found = self._homes[node.start_byte] = kind, home
        return found

    def bindings(self, name: bytes, scope: int) -> list[Binding]:
        """What binds `name` in a scope that `resolve` gave."""
        found = self._bound_in(name, self._scopes[scope])
        return [binding for binding in found if binding.kind not in (GLOBAL, NONLOCAL)]

    def variable(self, name: bytes, scope: int) -> list[Node]:
        """Every identifier of the file that means the variable `name` of that scope."""
        nodes = (node for node in self.tree.named(name) if role(node) != PART)
        return [node for node in nodes if self.resolve(name, node) == scope]

    def can_rename(self, to: bytes, scope: int, nodes: list[Node]) -> bool:
        """Whether the variable of `scope` that `nodes` mean can be called `to`: it captures nothing, nothing it."""
        if self.bindings(to, scope):
            return False
        if any(self._means_inner(to, node, scope) for node in nodes):
            return False
        used = (node for node in self.tree.named(to) if role(node) != PART)
        return all(scope not in self._ids_around(node) or self._means_inner(to, node, scope) for node in used)

    def captures(self, name: bytes, scope: int, nodes: list[Node]) -> bool:
        """Whether `name`, written at `nodes` for an import of `scope`, would mean something that is no import."""
        taken = any(binding.kind != IMPORT for binding in self.bindings(name, scope))
        return taken or any(self._means_inner(name, node, scope) for node in nodes)

    def _means_inner(self, name: bytes, node: Node, scope: int) -> bool:
        """Whether `name` at `node` is a variable of a scope inside `scope`."""
        found, around = self.resolve(name, node), self._ids_around(node)
        return found is not None and found not in around[around.index(scope) :]

    def around(self, node: Node) -> Iterator[Node]:
        """The scope that a node's expression is evaluated in, then those around it; the last is the file."""
        chain: _Chain | None = self._chain(node)
        while chain is not None:
            scope, chain = chain
            yield scope

    def _ids_around(self, node: Node) -> list[int]:
        return [scope.id for scope in self.around(node)]

    def _chain(self, node: Node) -> _Chain:
        """What is around each node is kept: long expressions nest deep, and a parent is found from the root down."""
        passed: list[tuple[tuple[int, bool], Node | None]] = []
        child, held = node, False
        while (chain := self._chains.get((child.id, held))) is None:
            parent = child.parent
            if parent is None:
                chain = self._chains[child.id, held] = (child, None)
                break
            passed.append(((child.id, held), parent if _encloses(parent, child, held) else None))
            held = parent.type == "for_in_clause" and is_field(child, parent, "right")
            child = parent
        for key, scope in reversed(passed):
            chain = (scope, chain) if scope is not None else chain
            self._chains[key] = chain
        return chain

    def _visible(self, node: Node, is_scope: bool) -> Iterator[Node]:
        """The scopes a name at `node` is looked up in; a class body is seen only from directly inside it."""
        if is_scope:
            yield node
        for at, scope in enumerate(self.around(node)):
            if scope.type != "class_definition" or (at == 0 and not is_scope):
                yield scope

    def _home(self, node: Node, kind: str) -> Node:
        """The scope in which a binding node binds; in a broken file, parameters may stand alone."""
        if kind == PARAMETER:
            functions = (parent for parent in ancestors(node) if parent.type in ("function_definition", "lambda"))
            if (function := next(functions, None)) is not None:
                return function
        at = node.parent if kind == DEFINITION and node.parent is not None else node
        walrus = node.parent is not None and node.parent.type == "named_expression"
        return next(scope for scope in self.around(at) if not (walrus and scope.type in _COMPREHENSIONS))


def _encloses(parent: Node, child: Node, held: bool) -> bool:
    """Whether `parent` is a scope of its own for its `child`; `held`: the child is a clause that is come to from its
    iterable."""
    match parent.type:
        case "function_definition" | "class_definition":
            return child.type == "block"
        case "lambda":
            return child.type != "lambda_parameters"
    return parent.type in _COMPREHENSIONS and not (held and _first_clause(parent, child))


def _first_clause(comprehension: Node, clause: Node) -> bool:
    """The iterable of the first `for` of a comprehension belongs to the scope around it."""
    first = next((child for child in comprehension.children if child.type == "for_in_clause"), None)
    return same(first, clause)


def role(node: Node) -> str:
    """What an identifier is doing: a use, one of the ways to bind, or no variable at all (PART)."""
    parent = node.parent
    if parent is None:
        return USE
    match parent.type:
        case "attribute":
            return PART if is_field(node, parent, "attribute") else USE
        case "keyword_argument":
            return PART if is_field(node, parent, "name") else USE
        case "parameters" | "lambda_parameters" | "typed_parameter":
            return PARAMETER
        case "default_parameter" | "typed_default_parameter":
            return PARAMETER if is_field(node, parent, "name") else USE
        case "function_definition" | "class_definition":
            return DEFINITION if is_field(node, parent, "name") else USE
        case "dotted_name" | "aliased_import":
            return _imported(node, parent)
        case "global_statement":
            return GLOBAL
        case "nonlocal_statement":
            return NONLOCAL
        case "keyword_pattern":
            return PART if same(node, parent.children[0]) else USE
        case "as_pattern_target" | "splat_pattern" | "del_statement":
            return ASSIGNMENT
        case "as_pattern":
            return ASSIGNMENT if parent.children[-1].id == node.id else USE
        case "named_expression":
            return ASSIGNMENT if is_field(node, parent, "name") else USE
        case "list_splat_pattern" | "dictionary_splat_pattern":
            around = parent.parent
            if around is not None and around.type in _PARAMETERS | {"typed_parameter"}:
                return PARAMETER
    return ASSIGNMENT if _is_target(node, parent) else USE


def _imported(node: Node, parent: Node) -> str:
    """The role of an identifier in an import clause, or in the dotted name of a `case` pattern."""
    if parent.type == "aliased_import":
        return IMPORT if is_field(node, parent, "alias") else PART
    around = parent.parent
    if around is None or around.type not in _CLAUSES:
        pattern = around is not None and around.type == "case_pattern" and parent.child_count == 1
        return ASSIGNMENT if pattern else USE if same(node, parent.children[0]) else PART
    if around.type == "import_statement":
        return IMPORT if same(node, dotted_tokens(parent)[0]) else PART
    if around.type == "import_from_statement" and not is_field(parent, around, "module_name"):
        return IMPORT
    return PART


def _is_target(node: Node, parent: Node) -> bool:
    child = node
    while parent.type in _PATTERNS:
        above = parent.parent
        if above is None:
            return False
        child, parent = parent, above
    if parent.type == "del_statement":
        return True
    return parent.type in _LEFT and is_field(child, parent, "left")


def is_none_fallback(node: Node) -> bool:
    """`a = None`, as an `except ImportError:` does it."""
    parent = node.parent
    if parent is None or parent.type != "assignment":
        return False
    right = parent.child_by_field_name("right")
    return right is not None and right.type == "none"
