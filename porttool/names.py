"""Renamings: finite sets of `old prefix <-> new prefix` pairs over the segments of a name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from porttool.errors import LayoutError

Name = tuple[str, ...]


@dataclass(frozen=True)
class Pair:
    """One `old <-> new` pair of a renaming; `where` is the `file:line` that declared it.

    A one-way pair works forward only: the inverse renaming does not hold it, and what it touches is labelled.
    """

    old: Name
    new: Name
    one_way: bool = False
    where: str = ""

    def reversed(self) -> Pair:
        return Pair(self.new, self.old, False, self.where)


@dataclass(frozen=True)
class Renaming:
    """The longest old prefix of a name is replaced by its new prefix; a name no pair matches stays.

    A pair may hold one `*` inside a segment (paths). A name is in the domain exactly when it round-trips.
    """

    kind: str
    pairs: tuple[Pair, ...] = ()
    separator: str = "."

    def __post_init__(self) -> None:
        for side in ("old", "new"):
            seen: dict[Name, Pair] = {}
            for pair in self.pairs:
                if side == "new" and pair.one_way:
                    continue
                name = getattr(pair, side)
                other = seen.setdefault(name, pair)
                if other is not pair:
                    raise LayoutError(self._clash(side, name, other, pair), pair.where or other.where, _CLASH_HINT)

    def _clash(self, side: str, name: Name, first: Pair, second: Pair) -> str:
        far = "new" if side == "old" else "old"
        ends = " and ".join(repr(self.text(getattr(pair, far))) for pair in (first, second))
        told = "is mapped to" if side == "old" else "is the target of"
        return f"{self.kind} {self.text(name)!r} {told} both {ends}"

    def text(self, name: Name) -> str:
        """A name as a user writes it."""
        return self.separator.join(name)

    def __bool__(self) -> bool:
        return bool(self.pairs)

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.pairs)

    @cached_property
    def _plain(self) -> dict[Name, Pair]:
        return {pair.old: pair for pair in self.pairs if not _wild(pair.old)}

    @cached_property
    def _globbed(self) -> tuple[Pair, ...]:
        return tuple(sorted((p for p in self.pairs if _wild(p.old)), key=lambda p: (-len(p.old), p.old)))

    @cached_property
    def _depths(self) -> tuple[int, ...]:
        return tuple(sorted({len(name) for name in self._plain}, reverse=True))

    @cached_property
    def _inverse(self) -> Renaming:
        return Renaming(self.kind, tuple(p.reversed() for p in self.pairs if not p.one_way), self.separator)

    def inverse(self) -> Renaming:
        """The renaming with every undoable pair swapped."""
        return self._inverse

    def match(self, name: Name) -> tuple[Pair, Name] | None:
        """The pair that renames `name` and the name it gives; None where no pair matches."""
        best: Pair | None = None
        for depth in self._depths:
            if depth <= len(name) and (best := self._plain.get(name[:depth])):
                break
        for pair in self._globbed:
            if best is not None and len(pair.old) <= len(best.old):
                break
            held = _held(pair.old, name)
            if held is not None:
                new = tuple(segment.replace("*", held) for segment in pair.new)
                return pair, new + name[len(pair.old) :]
        return (best, best.new + name[len(best.old) :]) if best is not None else None

    def map(self, name: Name) -> Name:
        """The new name, without asking whether it can be undone."""
        found = self.match(name)
        return found[1] if found else name

    def apply(self, name: Name) -> Name:
        """The new name. Raises LayoutError naming both culprits where `name` does not round-trip."""
        found = self.match(name)
        new = found[1] if found else name
        if found and found[0].one_way:
            return new
        back = self._inverse.map(new)
        if back != name:
            shown = self.text(new)
            raise LayoutError(
                f"{self.kind} {self.text(name)!r} and {self.text(back)!r} both become {shown!r}",
                found[0].where if found else "",
                f"{shown!r} is in use on the old side already: add a pair that moves it away, or declare one_way",
            )
        return new

    def __contains__(self, name: Name) -> bool:
        """Whether `name` round-trips."""
        found = self.match(name)
        return self._inverse.map(found[1] if found else name) == name

    def touches(self, name: Name) -> bool:
        """Whether some pair matches `name` or some name below it."""
        return self.match(name) is not None or any(pair.old[: len(name)] == name for pair in self.pairs)

    def is_one_way(self, name: Name) -> bool:
        found = self.match(name)
        return bool(found and found[0].one_way)


_CLASH_HINT = "map each name to a name of its own, or mark the pair that need not be undone `one_way: true`"


def renaming(kind: str, pairs: Iterable[tuple[str, str]], separator: str = ".") -> Renaming:
    """A renaming from written names, for instance `("a.b", "c")`."""
    return Renaming(kind, tuple(Pair(split(o, separator), split(n, separator)) for o, n in pairs), separator)


def split(text: str, separator: str = ".") -> Name:
    """Segments of a written name; empty segments (a trailing `/`) are dropped."""
    return tuple(segment for segment in text.split(separator) if segment)


def _wild(name: Name) -> bool:
    return any("*" in segment for segment in name)


def _held(pattern: Name, name: Name) -> str | None:
    """What the `*` of a pattern stands for in the leading segments of `name`."""
    if len(name) < len(pattern):
        return None
    held: str | None = None
    for want, have in zip(pattern, name, strict=False):
        if "*" not in want:
            if want != have:
                return None
            continue
        head, _, tail = want.partition("*")
        if len(have) < len(head) + len(tail) or not (have.startswith(head) and have.endswith(tail)):
            return None
        held = have[len(head) : len(have) - len(tail)]
    return held
