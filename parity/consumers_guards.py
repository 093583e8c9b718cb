"""Conditions under which vendor code reads a key, and what a request says about them: yes, no, or not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["truth", "given", "in", "equals", "has", "above", "const", "not", "all", "any"]
Place = tuple[str, str]  # (dict, key)
# A value that is there and that we cannot judge, such as a tensor.
OPAQUE = object()


@dataclass(frozen=True)
class Guard:
    """One condition on a sent key, or a combination of such. `default` is what the reader takes where it is absent.

    `truth` is `if d["k"]`, `given` is `is not None`, `in` is `"k" in d`, `has` is `value in d["k"]`.
    """

    kind: Kind
    place: Place = ("", "")
    value: Any = None
    default: Any = None
    parts: tuple[Guard, ...] = ()

    def __str__(self) -> str:
        name = ".".join(self.place)
        match self.kind:
            case "not":
                inner = self.parts[0]
                return f"{inner}".replace(" is ", " is not ", 1) if inner.kind == "equals" else f"not {inner}"
            case "all" | "any":
                word = " and " if self.kind == "all" else " or "
                return word.join(f"({part})" if part.parts else f"{part}" for part in self.parts)
            case "equals":
                return f"{name} is {self.value!r}"
            case "has":
                return f"{self.value!r} is in {name}"
            case "above":
                return f"{name} > {self.value}"
            case "given" | "in":
                return f"{name} is sent"
            case "const":
                return f"{self.value} is on, which it is not" if self.value else "never"
        return name

    def places(self) -> list[Place]:
        """The keys it asks about."""
        return [self.place] if self.place[0] else [place for part in self.parts for place in part.places()]


def denied(guard: Guard) -> Guard:
    """The opposite."""
    return guard.parts[0] if guard.kind == "not" else Guard("not", parts=(guard,))


def both(guards: tuple[Guard, ...]) -> Guard:
    """All of them."""
    return guards[0] if len(guards) == 1 else Guard("all", parts=guards)


def holds(guard: Guard, sent: Mapping[Place, Any], known: frozenset[str]) -> bool | None:
    """Whether a condition is met by what was sent; None where that cannot be told.

    `known` names the dicts that `sent` describes in full: a key of those that is not there was not sent.
    """
    match guard.kind:
        case "const":
            return bool(guard.default)
        case "not":
            inner = holds(guard.parts[0], sent, known)
            return None if inner is None else not inner
        case "all" | "any":
            told = [holds(part, sent, known) for part in guard.parts]
            stops = guard.kind == "any"
            if stops in told:
                return stops
            return None if None in told else not stops
    return _asked(guard, sent, known)


def _asked(guard: Guard, sent: Mapping[Place, Any], known: frozenset[str]) -> bool | None:
    there = guard.place in sent
    if not there and guard.place[0] not in known:
        return None
    if guard.kind == "in":
        return there
    value = sent[guard.place] if there else guard.default
    if guard.kind == "given":
        return value is not None
    if value is OPAQUE:
        return None
    if guard.kind == "equals":
        return bool(value == guard.value)
    if guard.kind == "has":
        return guard.value in (value or ())
    if guard.kind == "above":
        return value is not None and not isinstance(value, str) and bool(value > guard.value)
    return bool(value)
