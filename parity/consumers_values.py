"""What the scan knows of a value in vendor code: which sent dict it is or came from, and what a test of it means."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from parity.consumers_guards import Guard, Place, denied

UNKNOWN: Any = "\x00unknown"
# Dicts that hold the named ones; what is below them is known by its own name.
ROOTS = frozenset({"request", "job"})


def below(label: str, key: str) -> str:
    """The name of the dict that stands under a key of another."""
    return key if label in ROOTS else f"{label}.{key}"


@dataclass(frozen=True)
class Value:
    """A value: `labels` are the sent dicts it may be; `place` is the sent key it is the value of.

    `model` marks an object whose attributes are the keys; `registry` a lookup in one, by the sent key in `place`.
    """

    labels: frozenset[str] = frozenset()
    place: Place | None = None
    default: Any = None
    constant: Any = UNKNOWN
    named: str = ""
    condition: Guard | None = None
    items: tuple[Value, ...] = ()
    fields: tuple[tuple[str, Value], ...] = ()
    choices: tuple[str, ...] = ()
    owner: str = ""
    model: bool = False
    registry: str = ""
    element: bool = False

    @property
    def tracked(self) -> bool:
        """Whether it leads to anything that was sent."""
        inner = [*self.items, *(value for _, value in self.fields)]
        return bool(self.labels or self.place or self.registry) or any(value.tracked for value in inner)

    @property
    def test(self) -> Guard | None:
        """What `if value` asks, where it asks about something that was sent or that is fixed."""
        if self.condition is not None:
            return self.condition
        if self.constant is not UNKNOWN:
            return Guard("const", value=self.named, default=bool(self.constant))
        return Guard("truth", self.place, default=self.default) if self.place else None

    def field(self, key: str) -> Value | None:
        """What the code itself put under a key."""
        return next((value for name, value in self.fields if name == key), None)

    def part(self, place: int) -> Value:
        """One of its elements; those of a list of dicts are known by the name of the dict."""
        if self.items:
            return self.items[place] if -len(self.items) <= place < len(self.items) else NOTHING
        return replace(self, element=True)

    def with_field(self, key: str, value: Value) -> Value:
        """The same after `self[key] = value`."""
        kept = tuple(pair for pair in self.fields if pair[0] != key)
        return replace(self, fields=(*kept, (key, value)))


NOTHING = Value()


def constant(value: Any, named: str = "") -> Value:
    """A literal."""
    return Value(constant=value if isinstance(value, (bool, int, float, str, type(None))) else UNKNOWN, named=named)


def merged(one: Value, other: Value, guard: Guard | None = None) -> Value:
    """Either of two values; `guard` is the condition on which it is the first."""
    if one == other:
        return one
    condition = None
    if guard is not None and {one.constant, other.constant} == {True, False}:
        condition = guard if one.constant is True else denied(guard)
    if not one.tracked and not other.tracked and condition is None:
        return Value(owner=one.owner if one.owner == other.owner else "")
    fields = {**dict(other.fields), **dict(one.fields)}
    return Value(
        labels=one.labels | other.labels,
        place=one.place if one.place == other.place else None,
        condition=condition,
        items=one.items if len(one.items) >= len(other.items) else other.items,
        fields=tuple(fields.items()),
        owner=one.owner or other.owner,
        model=one.model or other.model,
        registry=one.registry or other.registry,
    )
