"""Records every call on the vendor's client, in order, and lets the real method run behind it."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from parity.record import Key, Leaf, leaf
from parity.standin.values import leaves, restore

# A client method may call others of its own; only what the adapter calls is on the wire.
_INSIDE: ContextVar[bool] = ContextVar("inside a recorded call", default=False)


@dataclass
class Call:
    """One call: where in the step, which method, what was passed, and whether its coroutine was awaited."""

    phase: str
    op: str
    number: int
    arguments: Mapping[Key, Leaf]
    awaited: bool | None = None
    refused: str = ""

    @property
    def name(self) -> str:
        """`phase.op`, and `#2` and on where the phase calls it again."""
        return f"{self.phase}.{self.op}" + (f"#{self.number}" if self.number > 1 else "")


@dataclass
class Session:
    """What one run records. `phase` names the part of the step that is running."""

    scrub: Callable[[str], str] = str
    phase: str = "start"
    calls: list[Call] = field(default_factory=list)
    jobs: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    unknown_fields: dict[str, str] = field(default_factory=dict)
    configs: list[Any] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)
    unawaited: list[str] = field(default_factory=list)
    # Called with the op, its bound arguments and what the server answered; the oracle listens here.
    answered: list[Callable[[Call, Mapping[str, Any], Any], None]] = field(default_factory=list)
    _open: list[Coroutine[Any, Any, Any]] = field(default_factory=list)

    @contextmanager
    def part(self, phase: str) -> Iterator[None]:
        """A part of the step. What it raises is an observation of the side, not the end of the run."""
        self.phase = phase
        with _Caught(self, phase):
            yield

    def enter(self, op: str, signature: inspect.Signature, client: Any, args: tuple[Any, ...], kwargs: Any) -> Call:
        """Record one call before anything can change its arguments."""
        number = 1 + sum(call.phase == self.phase and call.op == op for call in self.calls)
        try:
            bound = dict(signature.bind(client, *args, **kwargs).arguments)
        except TypeError as error:
            call = Call(self.phase, op, number, self._told(_unbound(args, kwargs)), refused=str(error))
        else:
            bound.pop("self")
            call = Call(self.phase, op, number, self._told(bound))
        self.calls.append(call)
        for value in (*args, *kwargs.values()):
            restore(value)
        return call

    def track(self, call: Call, work: Coroutine[Any, Any, Any]) -> Coroutine[Any, Any, Any]:
        """The coroutine handed to the caller; it says whether it was awaited."""
        call.awaited = False

        async def told() -> Any:
            call.awaited = True
            return await work

        coroutine = told()
        self._open += (coroutine, work)
        return coroutine

    def close(self) -> None:
        """End the coroutines that nobody awaited, so that Python does not complain about ours."""
        for coroutine in self._open:
            coroutine.close()
        self._open.clear()

    def _told(self, arguments: Mapping[str, Any]) -> dict[Key, Leaf]:
        # A request is one dict of batch, meta and processing: its parts are keys of their own.
        told: dict[Key, Leaf] = {}
        for name, value in arguments.items():
            envelope = name == "batch" and isinstance(value, Mapping)
            told.update(leaves(value, "" if envelope else f"args.{name}", self.scrub))
        return told


class _Caught:
    """Keeps what a part of the step raises as `Type: message`."""

    def __init__(self, session: Session, phase: str) -> None:
        self._session, self._phase = session, phase

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> bool:
        if kind is None or not issubclass(kind, Exception):
            return False
        traceback.print_exception(kind, error, trace)
        told = self._session.scrub(f"{kind.__name__}: {error}").strip()
        self._session.errors[self._phase] = told.splitlines()[0] if told else kind.__name__
        return True


def _unbound(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {**{str(place): value for place, value in enumerate(args)}, **kwargs}


def recording(real: type, session: Session) -> type:
    """A subclass of a vendor client that records its public methods; signatures are those of the real class."""
    methods = {
        name: _recorded(real.__name__, name, method, session)
        for name, method in inspect.getmembers(real, inspect.isfunction)
        if not name.startswith("_") and name not in _QUIET
    }
    return type(real.__name__, (real,), methods)


# How a process hands the client on; nothing is sent.
_QUIET = ("reconnect_config", "get_server_state")


def _recorded(real: str, op: str, method: Callable[..., Any], session: Session) -> Callable[..., Any]:
    signature = inspect.signature(method)

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _INSIDE.get():
            return method(self, *args, **kwargs)
        call = session.enter(op, signature, self, args, kwargs)
        if call.refused:
            raise TypeError(f"{real}.{op}() {call.refused}")
        if inspect.iscoroutinefunction(method):
            return session.track(call, _answer(self, call, args, kwargs))
        token = _INSIDE.set(True)
        try:
            return method(self, *args, **kwargs)
        finally:
            _INSIDE.reset(token)

    async def _answer(self: Any, call: Call, args: tuple[Any, ...], kwargs: Any) -> Any:
        token = _INSIDE.set(True)
        try:
            answer = await method(self, *args, **kwargs)
        finally:
            _INSIDE.reset(token)
        if session.answered:
            bound = signature.bind(self, *args, **kwargs).arguments
            for listen in session.answered:
                listen(call, bound, answer)
        return answer

    run.__name__, run.__doc__ = op, method.__doc__
    return run


def strict(real: type, session: Callable[[], Session]) -> type:
    """The vendor's config class, noting fields it does not have: pydantic drops them without a word."""

    class Strict(real):  # type: ignore[misc]
        def __init__(self, **told: Any) -> None:
            for name in told:
                if name not in real.model_fields:  # type: ignore[attr-defined]
                    session().unknown_fields[name] = session().phase
            super().__init__(**told)

    Strict.__name__ = Strict.__qualname__ = real.__name__
    return Strict


def wire(session: Session) -> dict[Key, Leaf]:
    """The `wire` probe: the order of all calls, and each call's leaves under its name."""
    told: dict[Key, Leaf] = {"order": leaf(" > ".join(call.name for call in session.calls) or "nothing")}
    for call in session.calls:
        for key, value in call.arguments.items():
            told[f"{call.name}.{key}"] = value
        if call.awaited is not None:
            told[f"{call.name}.awaited"] = leaf(call.awaited)
        told.setdefault(f"{call.name}.called", leaf(True))
    return told
