"""Which keys of what it is sent a server's code reads: its sources are followed, nothing is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from parity.consumers_calls import Calls
from parity.consumers_guards import Guard, denied, holds
from parity.consumers_index import Function, Index, index
from parity.consumers_values import NOTHING, UNKNOWN, Value, constant, merged
from porttool.errors import EnvironmentFault


@dataclass(frozen=True)
class Entry:
    """A function that gets what a client sent: `operation` is the call it answers, `given` its dicts by parameter."""

    operation: str
    file: str
    owner: str
    name: str
    given: tuple[tuple[str, str], ...]


# Where the pinned server takes over; both transports end in the same functions.
_RAY, _WORKER = "arctic_platform/rl/ray_server.py", "arctic_platform/rl/deepspeed_worker.py"
ENTRIES = (
    Entry("initialize", _RAY, "ArcticRLRayServerState", "initialize", (("job_config", "job"),)),
    Entry("initialize", _WORKER, "DeepSpeedWorker", "initialize", (("job_config", "job"),)),
    Entry("fwd_no_grad", _RAY, "ArcticRLRayServer", "fwd_no_grad", (("batch", "request"),)),
    Entry("fwd_bwd", _RAY, "ArcticRLRayServer", "fwd_bwd", (("batch", "request"),)),
    Entry("sync_weights", _RAY, "ArcticRLRayServer", "sync_weights", (("request", "args"),)),
)
# The model is called with every key of batch and meta; it reads the parameters it names. Per condition: whose forward.
_ZORRO = Guard("truth", ("ds_worker_config", "zorro_train_enable"), default=False)
FORWARDS = (("Qwen3ModelOncePatcher.patched_forward", _ZORRO), ("Qwen3ForCausalLM.forward", denied(_ZORRO)))
# The zorro forward gives log-probs and no logits, so that what works on logits does nothing.
ANSWERS = {("logits", "model_outputs"): denied(_ZORRO)}
LEFT_OUT = ("examples", "recipes", "tests.py", "test_perf.py", "demo.py")


@dataclass(frozen=True)
class Read:
    """One place that reads a key. `default` is its text, "" where a missing key is a KeyError."""

    dict: str
    key: str
    operation: str
    file: str
    function: str
    line: int
    how: str
    default: str = ""
    guards: tuple[Guard, ...] = ()

    @property
    def reader(self) -> str:
        """As the stand-in notes it."""
        return f"{self.file}:{self.function}:{self.line}"


@dataclass(frozen=True)
class Scan:
    """All reads and writes of the entries, and the dicts handed on as a whole, each with whom.

    `shelved` are keys whose value only goes into an attribute that nothing reads; `loops` are places that go over all
    keys, each `file:function:line`, and so are no readers of one.
    """

    reads: tuple[Read, ...]
    writes: tuple[Read, ...]
    handed: tuple[tuple[str, str], ...]
    shelved: tuple[tuple[str, str, str], ...] = ()
    loops: frozenset[str] = frozenset()


def scan(folder: Path, files: Iterable[Path], entries: Iterable[Entry] = ENTRIES, models: Iterable[Path] = ()) -> Scan:
    """Scan files below `folder` from their entries. Raises EnvironmentFault where an entry does not exist."""
    known = index(folder, [file for file in files if not set(file.parts) & set(LEFT_OUT)])
    found = Found()
    for entry in entries:
        function = known.method(entry.name, entry.owner) if entry.owner else known.function(entry.file, entry.name)
        if function is None:
            raise EnvironmentFault(
                f"the vendor code has no {entry.owner}.{entry.name}",
                entry.file,
                "the scan knows another version of it",
            )
        bound = {name: Value(labels=frozenset({label})) for name, label in entry.given}
        Calls(known, found, entry.operation, Frame, ANSWERS).run(function, bound, ())
    forwards = index(folder, list(models))
    found.reads.update(dict.fromkeys(_parameters(found, {**known.nested, **_methods(forwards)})))
    shelved = tuple((*place, where) for place, where in found.shelved.items())
    return Scan(tuple(found.reads), tuple(found.writes), tuple(found.handed), shelved, frozenset(found.loops))


def _methods(known: Index) -> dict[str, list[Function]]:
    return {f"{one.owner}.{one.name}": [one] for several in known.methods.values() for one in several}


def _parameters(found: Found, known: Mapping[str, list[Function]]) -> Iterator[Read]:
    operations = sorted({read.operation for read in found.reads if read.dict == "meta"})
    for name, guard in FORWARDS:
        for function in known.get(name, ()):
            given = [arg.arg for arg in (*function.parameters, *function.node.args.kwonlyargs) if arg.arg != "self"]
            for key in given:
                shown = function.default(key)
                text = ast.unparse(shown) if shown is not None else ""
                for operation in operations:
                    for label in ("batch", "meta"):
                        at = (function.file, function.name, function.node.lineno)
                        yield Read(label, key, operation, *at, "parameter", text, (guard,))


@dataclass
class Found:
    """What a scan has met so far, in order."""

    reads: dict[Read, None] = field(default_factory=dict)
    writes: dict[Read, None] = field(default_factory=dict)
    handed: dict[tuple[str, str], None] = field(default_factory=dict)
    attributes: dict[tuple[str, str], Value] = field(default_factory=dict)
    shelved: dict[tuple[str, str], str] = field(default_factory=dict)
    loops: set[str] = field(default_factory=set)


class Frame:
    """One run of one function on values: statements in order, both branches of every condition."""

    def __init__(
        self, calls: Calls, function: Function, bound: Mapping[str, Value], guards: tuple[Guard, ...]
    ) -> None:
        self.calls, self.function, self.guards = calls, function, guards
        self.names: dict[str, Value] = dict(bound)
        self.returned: Value | None = None
        self.discarded: ast.expr | None = None

    def run(self) -> Value:
        self.block(self.function.node.body)
        return self.returned or NOTHING

    def block(self, statements: Iterable[ast.stmt]) -> bool:
        """Whether the end of the block is reached."""
        kept = self.guards
        for statement in statements:
            if not self.statement(statement):
                self.guards = kept
                return False
        self.guards = kept
        return True

    def statement(self, node: ast.stmt) -> bool:
        match node:
            case ast.If():
                return self._if(node)
            case ast.For() | ast.AsyncFor():
                self.bind(node.target, self.elements(node.iter))
                before = dict(self.names)
                self.block(node.body)
                self._either(before, None)
                self.block(node.orelse)
            case ast.While():
                self.value(node.test)
                self.block([*node.body, *node.orelse])
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    self.value(item.context_expr)
                return self.block(node.body)
            case ast.Try():
                self.block([*node.body, *node.orelse])
                for handler in node.handlers:
                    self.block(handler.body)
                self.block(node.finalbody)
            case ast.Assign():
                told = self.value(node.value)
                for target in node.targets:
                    self.bind(target, told)
            case ast.AnnAssign() if node.value is not None:
                self.bind(node.target, self.value(node.value))
            case ast.Expr():
                self.discarded = node.value
                self.value(node.value)
            case ast.AugAssign():
                self.value(node.value)
            case ast.Return():
                told = self.value(node.value) if node.value is not None else NOTHING
                self.returned = told if self.returned is None else merged(self.returned, told)
                return False
            case ast.Raise() | ast.Continue() | ast.Break():
                return False
        return True

    def _if(self, node: ast.If) -> bool:
        guard = self.value(node.test).test
        before, met = self.names, [guard] if guard else []
        self.names = dict(before)
        with self._under(met):
            first = self.block(node.body)
        then, self.names = self.names, dict(before)
        with self._under([denied(one) for one in met]):
            second = self.block(node.orelse)
        if first and second:
            self._either(then, guard)
        elif first:
            self.names = then
        if first != second:
            # The rest of the block runs only where the branch that ends was not taken.
            self.guards = _added(self.guards, met if first else [denied(one) for one in met])
        return first or second

    @contextmanager
    def _under(self, met: list[Guard]) -> Iterator[None]:
        kept = self.guards
        self.guards = _added(kept, met)
        yield
        self.guards = kept

    def _either(self, then: Mapping[str, Value], guard: Guard | None) -> None:
        for name in {*self.names, *then}:
            one, other = then.get(name), self.names.get(name)
            if one is not None and other is not None:
                self.names[name] = merged(one, other, guard)
            else:
                self.names[name] = one or other or NOTHING

    def bind(self, target: ast.expr, told: Value) -> None:
        """An assignment of a value to a name, a tuple of names, a key of a dict or an attribute of self."""
        match target:
            case ast.Name(id=name):
                self.names[name] = _named(told, name)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for place, part in enumerate(parts):
                    self.bind(part, told.part(place))
            case ast.Starred(value=inner):
                self.bind(inner, told)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                held, own = self.calls.found.attributes, (self.function.owner, name)
                held[own] = merged(held[own], told) if own in held else told
                if told.place and not self.calls.known.uses(*own):
                    self.calls.found.shelved[told.place] = f"{self.function.owner}.{name}"
            case ast.Subscript(value=base):
                self._set(base, target, told)

    def _set(self, base: ast.expr, target: ast.Subscript, told: Value) -> None:
        held = self.value(base)
        if isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str):
            self.note(held, target.slice.value, "write", target)
            if isinstance(base, ast.Name):
                self.names[base.id] = held.with_field(target.slice.value, told)
        else:
            self.value(target.slice)

    def elements(self, node: ast.expr) -> Value:
        """What a loop over an expression gives each time."""
        match node:
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                words = tuple(
                    one.value for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, str)
                )
                return Value(choices=words) if len(words) == len(parts) else NOTHING
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
                return Value(items=(NOTHING, self.elements(inner)))
            case ast.Call(func=ast.Name(id="zip"), args=inner):
                return Value(items=tuple(self.elements(one) for one in inner))
            case ast.Call(func=ast.Attribute(value=inner, attr="items"), args=[]):
                self.value(inner)
                return Value(items=(NOTHING, NOTHING))
        told = self.value(node)
        return merged_all(told.items) if told.items else told.part(0)

    def value(self, node: ast.expr) -> Value:
        """The value of an expression; what it reads is noted on the way."""
        return self.calls.expressions.value(self, node)

    def note(self, held: Value, key: str, how: str, node: ast.expr, default: str = "") -> None:
        """One read or write of a key."""
        for label in sorted(held.labels):
            if label == "request":
                continue
            how = "drop" if how == "pop" and node is self.discarded else how
            at = (self.function.file, self.function.name, node.lineno)
            told = Read(label, key, self.calls.operation, *at, how, default, self.guards)
            (self.calls.found.writes if how == "write" else self.calls.found.reads)[told] = None


def merged_all(values: Iterable[Value]) -> Value:
    """Any of some values."""
    told: Value | None = None
    for value in values:
        told = value if told is None else merged(told, value)
    return told or NOTHING


def _named(told: Value, name: str) -> Value:
    return constant(told.constant, name) if told.constant is not UNKNOWN else told


def _added(guards: tuple[Guard, ...], met: Iterable[Guard]) -> tuple[Guard, ...]:
    """Conditions in the order in which they are met; one that is always met says nothing."""
    none: frozenset[str] = frozenset()
    new = [one for one in met if one not in guards and holds(one, {}, none) is not True]
    return (*guards, *new)
