"""Random choices that are written down, so that an example can be made again from fewer and smaller ones."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Rejected(Exception):
    """The choices give no example."""


class Pick:
    """Choices from a seed, or as they were made before (0 where they have run out)."""

    def __init__(self, seed: int = 0, before: Sequence[int] | None = None) -> None:
        self._rng = random.Random(seed)
        self._before = before
        self.made: list[int] = []

    def below(self, count: int) -> int:
        """A number from 0 to `count - 1`."""
        if self._before is None:
            number = self._rng.randrange(count)
        else:
            at = len(self.made)
            number = min(self._before[at], count - 1) if at < len(self._before) else 0
        self.made.append(number)
        return number

    def of(self, choices: Sequence[T]) -> T:
        """One of some things; the first is the simplest."""
        return choices[self.below(len(choices))]

    def seldom(self, of: int = 8) -> bool:
        """True once in so many times."""
        return self.below(of) == of - 1

    def some(self, make: Callable[[], T], most: int, least: int = 0) -> list[T]:
        """A list of things, each made anew."""
        return [make() for _ in range(least + self.below(most - least + 1))]


def strategy(make: Callable[[Pick], T]) -> st.SearchStrategy[T]:
    """What a maker makes, for hypothesis."""

    @st.composite
    def made(draw: st.DrawFn) -> T:
        class Drawn(Pick):
            def below(self, count: int) -> int:
                return draw(st.integers(0, count - 1))

        try:
            return make(Drawn())
        except Rejected:
            return draw(st.nothing())

    return made()


def smaller(choices: list[int]) -> Iterator[list[int]]:
    """Choices that are fewer, then smaller."""
    size = max(len(choices) // 2, 1)
    while size:
        for at in range(0, len(choices), size):
            yield choices[:at] + choices[at + size :]
        size //= 2
    for at, number in enumerate(choices):
        for less in sorted({0, number // 2, number - 1}):
            if 0 <= less < number:
                yield [*choices[:at], less, *choices[at + 1 :]]


def shrunk(choices: list[int], fails: Callable[[list[int]], bool], seconds: float = 30) -> list[int]:
    """The smallest choices found in some time that still fail."""
    end = time.monotonic() + seconds
    better = True
    while better:
        better = False
        for candidate in smaller(choices):
            if time.monotonic() > end:
                break
            if fails(candidate):
                choices, better = candidate, True
                break
    return choices
