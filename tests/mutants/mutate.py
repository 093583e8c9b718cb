"""Every small change of a module that a test should notice."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import CodeType
from typing import Any

_COMPARE: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_CALLED = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}
_METHODS = {"startswith": "endswith", "endswith": "startswith", "partition": "rpartition", "rpartition": "partition"}
_DROPPED = ("abs", "set", "reversed")
_DROPPED_METHODS = ("strip", "rstrip", "lstrip", "copy", "lower", "upper", "casefold")
# An `assert` tells the type checker what is so anyway; an import or a name's type changes nothing that can be seen.
_SKIPPED = (ast.Import, ast.ImportFrom, ast.Assert, ast.Global, ast.Nonlocal)


@dataclass(frozen=True)
class Mutant:
    """One change. It is told by its module, its function, the text of its line and the change, never by a number
    of a line; `number` tells apart those that are the same in all of that.
    """

    module: str
    function: str
    source: str
    change: str
    number: int = 1
    line: int = field(default=0, compare=False)
    lines: range = field(default=range(0), compare=False)
    first: int = field(default=0, compare=False)
    slot: tuple[ast.AST, str, int | None] | None = field(default=None, compare=False, repr=False)
    node: ast.AST | None = field(default=None, compare=False, repr=False)

    @property
    def key(self) -> dict[str, str | int]:
        """What an explanation names it by."""
        told: dict[str, str | int] = {"function": self.function, "line": self.source, "change": self.change}
        return {**told, "number": self.number} if self.number > 1 else told

    def __str__(self) -> str:
        twin = f" (number {self.number})" if self.number > 1 else ""
        return f"{self.module}:{self.line} {self.function or 'at the top'}: {self.change}{twin}\n    {self.source}"


class Mutated:
    """A module's tree and its mutants; the code of each mutant is compiled when it is asked for."""

    def __init__(self, module: str, file: Path) -> None:
        text = file.read_text(encoding="utf-8")
        self.module = module
        self.file = str(file)
        self.tree = ast.parse(text, str(file))
        self._lines = text.splitlines()
        seen: Counter[Mutant] = Counter()
        self.mutants: list[Mutant] = []
        for mutant in self._found():
            seen[mutant] += 1
            self.mutants.append(replace(mutant, number=seen[mutant]))

    def code(self, mutant: Mutant) -> CodeType:
        """The module with one change; of the module of a mutant inside a function, only what stands around that."""
        around = [one for one in self.tree.body if _head_of(one) <= mutant.first <= (one.end_lineno or one.lineno)]
        with _changed(mutant):
            body = [*_future(self.tree), *around] if mutant.first else self.tree.body
            return compile(ast.Module(body, []), self.file, "exec", dont_inherit=True)

    def _found(self) -> Iterator[Mutant]:
        for place in _places(self.tree):
            for node, change in _changes(place.node):
                yield Mutant(
                    self.module,
                    place.function,
                    self._lines[place.line - 1].strip(),
                    change,
                    line=place.line,
                    lines=place.lines,
                    first=place.first,
                    slot=place.slot,
                    node=node,
                )


def _future(tree: ast.Module) -> Iterator[ast.stmt]:
    return (one for one in tree.body if isinstance(one, ast.ImportFrom) and one.module == "__future__")


@contextmanager
def _changed(mutant: Mutant) -> Iterator[None]:
    assert mutant.slot is not None and mutant.node is not None
    parent, name, number = mutant.slot
    held = getattr(parent, name)
    fresh = mutant.node if number is None else [*held[:number], mutant.node, *held[number + 1 :]]
    setattr(parent, name, fresh)
    try:
        yield
    finally:
        setattr(parent, name, held)


@dataclass(frozen=True)
class _Place:
    """A node, where it hangs, and the function and the statement that it is of. `first` is 0 outside functions."""

    node: ast.AST
    slot: tuple[ast.AST, str, int | None] | None = None
    function: str = ""
    first: int = 0
    line: int = 1
    lines: range = range(0)


def _places(tree: ast.Module) -> Iterator[_Place]:
    todo = [_Place(tree)]
    while todo:
        place = todo.pop()
        if place.slot is not None:
            yield place
        todo += reversed(list(_below(place)))


def _below(place: _Place) -> Iterator[_Place]:
    node = place.node
    for name, value in ast.iter_fields(node):
        for number, child in enumerate(value) if isinstance(value, list) else ((None, value),):
            if not isinstance(child, ast.AST) or _left_out(node, name, child):
                continue
            found = replace(place, node=child, slot=(node, name, number), line=getattr(child, "lineno", place.line))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and name == "body" and not place.first:
                found = replace(found, first=_head_of(node))
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found = replace(found, function=f"{place.function}.{child.name}".lstrip("."))
            if isinstance(child, ast.stmt):
                found = replace(found, lines=_head(child))
            yield found


def _head_of(statement: ast.stmt) -> int:
    """The first line of a statement, its decorators included, as the code of a function tells it."""
    return min([statement.lineno, *(one.lineno for one in getattr(statement, "decorator_list", ()))])


def _head(statement: ast.stmt) -> range:
    """The lines of a statement without the statements below it."""
    body = getattr(statement, "body", None)
    last = statement.end_lineno or statement.lineno
    return range(statement.lineno, max(body[0].lineno, statement.lineno + 1) if body else last + 1)


def _left_out(parent: ast.AST, name: str, child: ast.AST) -> bool:
    if isinstance(child, _SKIPPED) or name in ("annotation", "returns", "decorator_list", "bases", "type_params"):
        return True
    if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
        return True  # a docstring, or `...`
    if isinstance(parent, ast.JoinedStr) and isinstance(child, ast.Constant):
        return True
    if name in ("format_spec", "ctx"):
        return True
    if isinstance(parent, ast.Subscript) and name == "slice":
        literal = isinstance(parent.value, ast.Name) and parent.value.id == "Literal"
        return literal or isinstance(child, ast.Tuple)  # the arguments of a type
    if isinstance(child, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id == "__all__" for target in child.targets)
    return False


Change = tuple[ast.AST, str]


def _changes(node: ast.AST) -> Iterator[Change]:
    """What a node is replaced by, each with its words."""
    found: Iterator[ast.AST] = iter(())
    match node:
        case ast.stmt():
            yield from _statement(node)
            return
        case ast.Compare():
            found = _compare(node)
        case ast.BoolOp():
            found = _bool_op(node)
        case ast.UnaryOp():
            found = iter([node.operand] if isinstance(node.op, ast.Not | ast.USub) else [])
        case ast.BinOp():
            found = iter([_with(node, op=_ARITHMETIC[type(node.op)]())] if type(node.op) in _ARITHMETIC else [])
        case ast.Constant():
            found = _constant(node)
        case ast.List() | ast.Tuple() | ast.Set() | ast.Dict():
            found = _container(node)
        case ast.Call():
            found = _call(node)
        case ast.Slice():
            found = (_with(node, **{name: None}) for name in ("lower", "upper") if getattr(node, name) is not None)
        case ast.IfExp():
            found = iter([_with(node, test=_not(node.test))] if _plain(node.test) else [])
        case ast.comprehension():
            for number, _ in enumerate(node.ifs):
                fewer = _with(node, ifs=[*node.ifs[:number], *node.ifs[number + 1 :]])
                yield fewer, f"{_told(node)} => {_told(fewer)}"
            return
    for fresh in found:
        # The tree keeps its places: a parent's node may stand in for it.
        yield fresh, f"{_told(node)} => {_told(fresh)}"


def _statement(node: ast.stmt) -> Iterator[Change]:
    nothing = ast.copy_location(ast.Pass(), node)
    match node:
        case ast.Expr() | ast.Raise() | ast.AugAssign() | ast.Delete():
            yield nothing, f"{_told(node)} => pass"
        case ast.Continue():
            yield nothing, "continue => pass"
            yield ast.copy_location(ast.Break(), node), "continue => break"
        case ast.Break():
            yield nothing, "break => pass"
        case ast.Assign() if not all(isinstance(target, ast.Name) for target in node.targets):
            yield nothing, f"{_told(node)} => pass"
        case ast.Return() if node.value is not None and not _none(node.value):
            none = ast.copy_location(ast.Constant(None), node.value)
            yield _with(node, value=none), f"{_told(node)} => return None"
        case ast.If() | ast.While() if _plain(node.test):
            word = type(node).__name__.lower()
            yield _with(node, test=_not(node.test)), f"{word} {_told(node.test)} => {word} not {_told(node.test)}"
        case ast.For():
            empty = ast.copy_location(ast.Tuple([], ast.Load()), node.iter)
            yield _with(node, iter=empty), f"for {_told(node.target)} in {_told(node.iter)} => in ()"
    if isinstance(node, ast.AugAssign) and type(node.op) in _ARITHMETIC:
        other = _with(node, op=_ARITHMETIC[type(node.op)]())
        yield other, f"{_told(node)} => {_told(other)}"


def _compare(node: ast.Compare) -> Iterator[ast.AST]:
    for number, op in enumerate(node.ops):
        for other in _COMPARE[type(op)]:
            yield _with(node, ops=[*node.ops[:number], other(), *node.ops[number + 1 :]])


def _bool_op(node: ast.BoolOp) -> Iterator[ast.AST]:
    yield _with(node, op=ast.And() if isinstance(node.op, ast.Or) else ast.Or())
    for number in range(len(node.values)):
        kept = [*node.values[:number], *node.values[number + 1 :]]
        yield kept[0] if len(kept) == 1 else _with(node, values=kept)


def _constant(node: ast.Constant) -> Iterator[ast.AST]:
    value = node.value
    if isinstance(value, bool):
        yield _with(node, value=not value)
    elif isinstance(value, int | float):
        yield _with(node, value=value + 1)
        yield _with(node, value=value - 1)
    elif isinstance(value, str | bytes):
        other: str | bytes = "?" if isinstance(value, str) else b"?"
        yield _with(node, value=type(value)() if value else other)


def _container(node: ast.List | ast.Tuple | ast.Set | ast.Dict) -> Iterator[ast.AST]:
    if isinstance(node, ast.Dict):
        if node.keys:
            yield _with(node, keys=[], values=[])
    elif node.elts and not (hasattr(node, "ctx") and isinstance(node.ctx, ast.Store)):
        empty = ast.Call(ast.Name("set", ast.Load()), [], []) if isinstance(node, ast.Set) else _with(node, elts=[])
        yield ast.fix_missing_locations(ast.copy_location(empty, node))


def _call(node: ast.Call) -> Iterator[ast.AST]:
    called = node.func
    if isinstance(called, ast.Name):
        if called.id in _CALLED:
            keywords = [] if called.id == "sorted" else node.keywords
            yield _with(node, func=_with(called, id=_CALLED[called.id]), keywords=keywords)
        if called.id in _DROPPED and len(node.args) == 1:
            yield node.args[0]
    elif isinstance(called, ast.Attribute):
        if called.attr in _METHODS:
            yield _with(node, func=_with(called, attr=_METHODS[called.attr]))
        if called.attr in _DROPPED_METHODS:
            yield called.value
        if called.attr == "get" and len(node.args) == 2:
            yield _with(node, args=node.args[:1])
    for number, keyword in enumerate(node.keywords):
        if keyword.arg is not None:
            yield _with(node, keywords=[*node.keywords[:number], *node.keywords[number + 1 :]])


def _with(node: Any, **changes: Any) -> Any:
    fresh = copy.copy(node)
    for name, value in changes.items():
        setattr(fresh, name, value)
    return fresh


def _not(test: ast.expr) -> ast.expr:
    return ast.copy_location(ast.UnaryOp(ast.Not(), test), test)


def _plain(test: ast.expr) -> bool:
    """Whether a test has no operator that is changed by itself."""
    negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    return not negated and not isinstance(test, ast.Compare | ast.BoolOp)


def _none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _told(node: ast.AST) -> str:
    return ast.unparse(node)
