"""The functions, classes and registries of a package, from its files; nothing of it is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Def = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Function:
    """One function; `file` is its path from the package on, `registered` are (registry, name) it stands under."""

    file: str
    name: str
    node: Def = field(compare=False, hash=False, repr=False)
    owner: str = ""
    registered: tuple[tuple[str, str], ...] = ()

    @property
    def parameters(self) -> list[ast.arg]:
        """In the order in which positions bind, `self` left out."""
        found = [*self.node.args.posonlyargs, *self.node.args.args]
        return found[1:] if self.owner and found and found[0].arg in ("self", "cls") else found

    def default(self, name: str) -> ast.expr | None:
        """The default of a parameter, where it has one."""
        positional, given = self.node.args, [*self.node.args.posonlyargs, *self.node.args.args]
        last = dict(zip([arg.arg for arg in given[::-1]], positional.defaults[::-1], strict=False))
        named = dict(zip([arg.arg for arg in positional.kwonlyargs], positional.kw_defaults, strict=True))
        return last.get(name) or named.get(name)


@dataclass
class Index:
    """Everything of a package that a call in it may mean."""

    functions: dict[tuple[str, str], Function] = field(default_factory=dict)
    methods: dict[str, list[Function]] = field(default_factory=dict)
    nested: dict[str, list[Function]] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    aliases: dict[tuple[str, str], str] = field(default_factory=dict)
    constants: dict[tuple[str, str], Any] = field(default_factory=dict)
    registries: set[str] = field(default_factory=set)
    used: set[tuple[str, str]] = field(default_factory=set)

    def uses(self, owner: str, attribute: str) -> bool:
        """Whether anything reads an attribute of a class: its own methods, or anyone through an object."""
        return (owner, attribute) in self.used or ("", attribute) in self.used

    def function(self, file: str, name: str) -> Function | None:
        """A module-level function as a module sees it: its own, an alias, or the only one of that name."""
        name = self.aliases.get((file, name), name)
        own = self.functions.get((file, name))
        others = [found for (_, known), found in self.functions.items() if known == name]
        if own is None and len(others) != 1:
            alias = {self.aliases[key] for key in self.aliases if key[1] == name}
            others = [found for (_, known), found in self.functions.items() if known in alias]
        return own or (others[0] if len(others) == 1 else None)

    def method(self, name: str, owner: str = "") -> Function | None:
        """A method of a class, or the only method of that name."""
        found = [one for one in self.methods.get(name, []) if not owner or one.owner == owner]
        return found[0] if len(found) == 1 else None

    def under(self, registry: str) -> Iterator[tuple[str, Function]]:
        """The functions of a registry by the name they are asked for."""
        for function in self.functions.values():
            for where, name in function.registered:
                if where == registry:
                    yield name, function


def index(folder: Path, files: list[Path]) -> Index:
    """The index of some files below `folder`, which stands above the package."""
    trees = {file.relative_to(folder).as_posix(): ast.parse(file.read_bytes()) for file in files}
    found = Index()
    decorators: dict[str, str] = {}
    for tree in trees.values():
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and (registry := _fills(node)):
                decorators[node.name] = registry
                found.registries.add(registry)
    for name, tree in trees.items():
        for node in tree.body:
            _module_level(found, name, node, decorators)
        for inner in ast.walk(tree):
            if isinstance(inner, ast.ClassDef):
                _nested(found, name, inner)
                found.used |= {(inner.name, read) for read in _attributes(inner, of_self=True)}
        found.used |= {("", read) for read in _attributes(tree, of_self=False)}
    return found


def _attributes(tree: ast.AST, *, of_self: bool) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            own = isinstance(node.value, ast.Name) and node.value.id == "self"
            yield from [node.attr] * (own == of_self)


def _module_level(found: Index, file: str, node: ast.stmt, decorators: dict[str, str]) -> None:
    if isinstance(node, Def):
        asked = tuple(_registered(node, decorators))
        found.functions[file, node.name] = Function(file, node.name, node, registered=asked)
    elif isinstance(node, ast.ClassDef):
        found.classes[node.name] = node
        for inner in node.body:
            if isinstance(inner, Def):
                found.methods.setdefault(inner.name, []).append(Function(file, inner.name, inner, node.name))
    elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        target = node.targets[0].id
        if isinstance(node.value, ast.Name):
            found.aliases[file, target] = node.value.id
        elif isinstance(node.value, ast.Constant):
            found.constants[file, target] = node.value.value


def _nested(found: Index, file: str, owner: ast.ClassDef) -> None:
    """Functions inside a class's methods, such as a forward that replaces a model's."""
    for method in owner.body:
        if isinstance(method, Def):
            for node in ast.walk(method):
                if isinstance(node, Def) and node is not method:
                    found.nested.setdefault(f"{owner.name}.{node.name}", []).append(Function(file, node.name, node))


def _fills(node: ast.FunctionDef) -> str:
    """The registry that a decorator factory `def register(name)` writes its function into."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Assign) and isinstance(inner.targets[0], ast.Subscript):
            where = inner.targets[0]
            keyed = isinstance(where.slice, ast.Name) and where.slice.id in [arg.arg for arg in node.args.args]
            if keyed and isinstance(where.value, ast.Name):
                return where.value.id
    return ""


def _registered(node: Def, decorators: dict[str, str]) -> Iterator[tuple[str, str]]:
    for one in node.decorator_list:
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in decorators and one.args:
            name = one.args[0]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                yield decorators[one.func.id], name.value
