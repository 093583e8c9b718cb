"""Expressions and calls of vendor code on followed values: what they read, and into which function a dict goes on."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from parity.consumers_guards import Guard, both, denied, holds
from parity.consumers_index import Function, Index
from parity.consumers_values import NOTHING, UNKNOWN, Value, below, constant, merged

if TYPE_CHECKING:
    from parity.consumers_static import Found, Frame

_COPIES = {"dict", "copy", "deepcopy", "list", "tuple", "sorted", "OrderedDict"}
# A switch in the environment is taken as not set.
_ENVIRONMENT = {"os.environ.get", "os.getenv"}
_READS = {"get", "pop", "setdefault"}


class Calls:
    """Functions that were run, each once for the same values and conditions."""

    def __init__(
        self,
        known: Index,
        found: Found,
        operation: str,
        frame: Callable[..., Frame],
        answers: Mapping[tuple[Any, str], Guard],
    ) -> None:
        self.known, self.found, self.operation, self.answers = known, found, operation, answers
        self.expressions = Expressions(self)
        self._frame = frame
        self._answers: dict[Any, Value] = {}

    def run(self, function: Function, bound: Mapping[str, Value], guards: tuple[Guard, ...]) -> Value:
        """What a function returns."""
        key = (function, tuple(sorted(bound.items(), key=lambda pair: pair[0])), guards)
        if key not in self._answers:
            self._answers[key] = NOTHING
            self._answers[key] = self._frame(self, function, bound, guards).run()
        return self._answers[key]

    def enter(self, frame: Frame, function: Function, node: ast.Call) -> Value:
        """Run a function of the package with a call's arguments, if anything that was sent goes into it."""
        bound: dict[str, Value] = {}
        for parameter, argument in zip(function.parameters, node.args, strict=False):
            bound[parameter.arg] = frame.value(argument)
        for keyword in node.keywords:
            told = frame.value(keyword.value)
            if keyword.arg:
                bound[keyword.arg] = told
            elif told.labels:
                frame.calls.found.handed.update({(label, function.name): None for label in told.labels})
        if not any(value.tracked for value in bound.values()) or any(map(_closed, frame.guards)):
            return NOTHING
        for parameter in (*function.parameters, *function.node.args.kwonlyargs):
            default = function.default(parameter.arg)
            if parameter.arg not in bound and isinstance(default, ast.Constant):
                bound[parameter.arg] = constant(default.value, parameter.arg)
        named = {name: replace(v, named=name) if v.constant is not UNKNOWN else v for name, v in bound.items()}
        return self.run(function, named, frame.guards)


def _closed(guard: Guard) -> bool:
    """Whether the code itself rules a condition out; a switch in the environment can still be set."""
    return holds(guard, {}, frozenset()) is False and not str(guard.value).startswith("$")


class Expressions:
    """The value of an expression in a frame."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls

    def value(self, frame: Frame, node: ast.expr) -> Value:
        match node:
            case ast.Constant():
                return constant(node.value)
            case ast.Name(id=name):
                return self._name(frame, name)
            case ast.Await(value=inner) | ast.Starred(value=inner):
                return frame.value(inner)
            case ast.NamedExpr(target=target, value=inner):
                told = frame.value(inner)
                frame.bind(target, told)
                return told
            case ast.Attribute():
                return self._attribute(frame, node)
            case ast.Subscript():
                return self._subscript(frame, node)
            case ast.Call():
                return self._call(frame, node)
            case ast.BoolOp() | ast.UnaryOp(op=ast.Not()) | ast.Compare():
                return self._test(frame, node)
            case ast.IfExp():
                guard = frame.value(node.test).test
                return merged(frame.value(node.body), frame.value(node.orelse), guard)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return Value(items=tuple(frame.value(part) for part in parts))
            case ast.Dict():
                return self._dict(frame, node)
            case ast.DictComp() | ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                return self._comprehension(frame, node)
            case ast.JoinedStr() | ast.Lambda():
                return NOTHING  # what is printed is not read
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                frame.value(part)
        return NOTHING

    def _name(self, frame: Frame, name: str) -> Value:
        if name in frame.names:
            return frame.names[name]
        fixed = self.calls.known.constants.get((frame.function.file, name), UNKNOWN)
        return NOTHING if fixed is UNKNOWN else constant(fixed, name)

    def _attribute(self, frame: Frame, node: ast.Attribute) -> Value:
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            return self.calls.found.attributes.get((frame.function.owner, node.attr), NOTHING)
        held = frame.value(node.value)
        if held.owner:
            return self.calls.found.attributes.get((held.owner, node.attr), NOTHING)
        return self._read(frame, held, node.attr, "attribute", node) if held.model else NOTHING

    def _subscript(self, frame: Frame, node: ast.Subscript) -> Value:
        held = frame.value(node.value)
        match node.slice:
            case ast.Constant(value=str(key)):
                return self._read(frame, held, key, "index", node)
            case ast.Constant(value=int(place)):
                return held.part(place)
            case ast.Name(id=name) if words := frame.names.get(name, NOTHING).choices:
                for word in words:
                    self._read(frame, held, word, "index", node)
                return NOTHING
        frame.value(node.slice)
        if held.labels:
            self.calls.found.loops.add(f"{frame.function.file}:{frame.function.name}:{node.lineno}")
        return held.part(0)

    def _read(
        self, frame: Frame, held: Value, key: str, how: str, node: ast.expr, default: ast.expr | None = None
    ) -> Value:
        own = held.field(key)
        if own is not None and how != "in":
            return own
        text = ast.unparse(default) if default is not None else ("None" if how == "get" else "")
        frame.note(held, key, how, node, text)
        literal = default.value if isinstance(default, ast.Constant) else None
        labels = frozenset(below(label, key) for label in held.labels)
        place = (sorted(held.labels)[0], key) if held.labels else None
        if place and place[0] == "request":
            place = None
        return Value(labels=labels, place=place, default=literal)

    def _dict(self, frame: Frame, node: ast.Dict) -> Value:
        told = NOTHING
        for key, inner in zip(node.keys, node.values, strict=True):
            value = frame.value(inner)
            if key is None:
                told = replace(told, labels=told.labels | value.labels, fields=(*told.fields, *value.fields))
            elif isinstance(key, ast.Constant) and isinstance(key.value, str):
                told = told.with_field(key.value, value)
        return told

    def _comprehension(self, frame: Frame, node: Any) -> Value:
        kept, source = dict(frame.names), NOTHING
        for loop in node.generators:
            source = frame.value(loop.iter)
            match loop.iter:
                case ast.Call(func=ast.Attribute(value=inner, attr="items"), args=[]):
                    source = frame.value(inner)
            frame.bind(loop.target, frame.elements(loop.iter))
            for test in loop.ifs:
                frame.value(test)
        if isinstance(node, ast.DictComp):
            frame.value(node.value)
            # `{k: f(v) for k, v in d.items()}` is still d; so is `{k: pick[k] for k in d}`.
            told = replace(source, place=None, items=(), constant=UNKNOWN) if source.labels else NOTHING
        else:
            told = frame.value(node.elt)
            told = replace(told, element=True) if not told.items else Value(items=told.items)
        frame.names = kept
        return told

    def _test(self, frame: Frame, node: ast.BoolOp | ast.UnaryOp | ast.Compare) -> Value:
        match node:
            case ast.BoolOp(op=op, values=parts):
                values = [frame.value(part) for part in parts]
                if isinstance(op, ast.Or):
                    literal = all(
                        isinstance(part, ast.Constant | ast.Dict | ast.List | ast.Tuple) for part in parts[1:]
                    )
                    return values[0] if literal and values[0].tracked else self._or(values)
                tests = tuple(test for value in values if (test := value.test) is not None)
                return Value(condition=both(tests) if tests else None)
            case ast.UnaryOp(operand=inner):
                test = frame.value(inner).test
                return Value(condition=denied(test) if test else None)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return Value(condition=self._compare(frame, left, op, right, node))
        return NOTHING

    def _or(self, values: list[Value]) -> Value:
        """Any of some values; one that cannot be judged leaves the whole open."""
        tests = [value.test for value in values]
        condition = None if None in tests else Guard("any", parts=tuple(test for test in tests if test))
        labels = frozenset(label for value in values for label in value.labels)
        return Value(labels=labels, condition=condition)

    def _compare(self, frame: Frame, left: ast.expr, op: ast.cmpop, right: ast.expr, node: ast.expr) -> Guard | None:
        one, other = frame.value(left), frame.value(right)
        if isinstance(right, ast.Name) and (answer := self.calls.answers.get((one.constant, right.id))):
            return denied(answer) if isinstance(op, ast.NotIn) else answer
        if isinstance(op, ast.In | ast.NotIn) and isinstance(one.constant, str) and other.labels:
            self._read(frame, other, one.constant, "in", node)
            guard = Guard("in", (sorted(other.labels)[0], one.constant))
            return denied(guard) if isinstance(op, ast.NotIn) else guard
        negated = isinstance(op, ast.NotEq | ast.IsNot)
        if one.constant is not UNKNOWN and other.constant is not UNKNOWN and isinstance(op, ast.Is | ast.Eq):
            return Guard("const", value=one.named, default=one.constant == other.constant)
        if one.place is None or other.constant is UNKNOWN:
            return None
        if isinstance(op, ast.Gt):
            return Guard("above", one.place, other.constant, one.default)
        if not isinstance(op, ast.Eq | ast.NotEq | ast.Is | ast.IsNot):
            return None
        if other.constant is None:
            given = Guard("given", one.place, default=one.default)
            return given if negated else denied(given)
        guard = Guard("equals", one.place, other.constant, one.default)
        return denied(guard) if negated else guard

    def _call(self, frame: Frame, node: ast.Call) -> Value:
        match node.func:
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in _COPIES and node.args:
                return self._copied(frame, node)
            case ast.Name(id="dict"):
                return self._dict_call(frame, node)
            case ast.Name(id=name) if self._plain(name) and node.keywords and node.keywords[0].arg is None:
                return replace(frame.value(node.keywords[0].value), model=True)
            case ast.Name(id=name):
                return self._function(frame, node, name)
            case ast.Attribute(value=inner, attr="remote") if isinstance(inner, ast.Attribute):
                return self._method(frame, node, inner)
            case ast.Attribute():
                return self._method(frame, node, node.func)
        self._unresolved(frame, node)
        return NOTHING

    def _plain(self, name: str) -> bool:
        """Whether a class takes fields as they are, such as a pydantic model."""
        return name in self.calls.known.classes and self.calls.known.method("__init__", name) is None

    def _copied(self, frame: Frame, node: ast.Call) -> Value:
        told = frame.value(node.args[0])
        for keyword in node.keywords:
            told = told.with_field(keyword.arg or "", frame.value(keyword.value))
        return told

    def _dict_call(self, frame: Frame, node: ast.Call) -> Value:
        told = NOTHING
        for keyword in node.keywords:
            told = told.with_field(keyword.arg, frame.value(keyword.value)) if keyword.arg else told
        return told

    def _function(self, frame: Frame, node: ast.Call, name: str) -> Value:
        held = frame.names.get(name, NOTHING)
        if held.registry:
            return self._registered(frame, node, held)
        if name in self.calls.known.classes:
            made = self.calls.known.method("__init__", name)
            if made is not None:
                self.calls.enter(frame, made, node)
            return Value(owner=name)
        function = self.calls.known.function(frame.function.file, name)
        asked = [argument.id for argument in node.args if isinstance(argument, ast.Name)]
        registry = next((one for one in asked if one in self.calls.known.registries), "")
        if registry and len(node.args) == 2:
            return replace(frame.value(node.args[1]), registry=registry, labels=frozenset())
        if function is None:
            self._unresolved(frame, node)
            return NOTHING
        return self.calls.enter(frame, function, node)

    def _registered(self, frame: Frame, node: ast.Call, held: Value) -> Value:
        """A call of whichever function the request names."""
        kept, told = frame.guards, NOTHING
        for name, function in self.calls.known.under(held.registry):
            place = held.place or ("", "")
            kind: Any = "has" if held.element else "equals"
            frame.guards = (*kept, Guard(kind, place, name, held.default))
            told = merged(told, self.calls.enter(frame, function, node))
        frame.guards = kept
        return told

    def _method(self, frame: Frame, node: ast.Call, func: ast.Attribute) -> Value:
        name = func.attr
        if isinstance(func.value, ast.Name) and func.value.id == "self":
            own = self.calls.known.method(name, frame.function.owner)
            return self.calls.enter(frame, own, node) if own else self._unresolved(frame, node)
        key = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
        if ast.unparse(func) in _ENVIRONMENT and len(node.args) == 1 and isinstance(key, str):
            return constant(None, f"${key}")
        held = frame.value(func.value)
        if name in _READS and held.labels and isinstance(key, str):
            default = node.args[1] if len(node.args) > 1 else None
            if default is not None:
                frame.value(default)
            return self._read(frame, held, key, name, node, default)
        if name == "update":
            return self._update(frame, node, held)
        if name == "append" and isinstance(func.value, ast.Name) and node.args:
            frame.names[func.value.id] = merged(held, replace(frame.value(node.args[0]), element=True))
            return NOTHING
        if name in ("copy", "model_dump") and held.tracked:
            return replace(held, model=False)
        method = self.calls.known.method(name, held.owner)
        if method is not None and not held.labels:
            return self.calls.enter(frame, method, node)
        return self._unresolved(frame, node)

    def _update(self, frame: Frame, node: ast.Call, held: Value) -> Value:
        given: list[tuple[str, Value]] = []
        for argument in node.args:
            given += frame.value(argument).fields
        for keyword in node.keywords:
            told = frame.value(keyword.value)
            given += [(keyword.arg, told)] if keyword.arg else told.fields
        for key, _ in given:
            frame.note(held, key, "write", node)
        return NOTHING

    def _unresolved(self, frame: Frame, node: ast.Call) -> Value:
        """A function of another package: what is handed to it is out of sight."""
        shown = ast.unparse(node.func)
        values: Iterable[Value] = [frame.value(argument) for argument in node.args]
        given = [frame.value(keyword.value) for keyword in node.keywords]
        for value in (*values, *given):
            for inner in (value, *(part for _, part in value.fields)):
                self.calls.found.handed.update({(label, shown): None for label in sorted(inner.labels)})
        return NOTHING
