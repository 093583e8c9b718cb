"""Aligned differences: which token of one version of a file stands where another stood in the other version."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple, TypeVar

_CHAIN = re.compile(rb"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*|\d[\w.]*|\n|[^\s\w]")
_IDENTIFIER = re.compile(rb"[A-Za-z_]\w*")
_SMALL = 250_000  # cells of a comparison that may be done exactly
_T = TypeVar("_T", bytes, str)


class Block(NamedTuple):
    """`old[old_start:old_end]` was replaced by `new[new_start:new_end]`."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


class Swap(NamedTuple):
    """A dotted chain (or a bare identifier) and what stands in its place; lines are 1-based.

    `follows` is the token after it, the same on both sides, or empty: `=` and `:` tell a key from a name.
    """

    old: str
    new: str
    old_line: int
    new_line: int
    follows: str


def blocks(old: Sequence[_T], new: Sequence[_T]) -> Iterator[Block]:
    """The blocks in which two sequences differ, in order."""
    return _blocks(old, new, 0, len(old), 0, len(new))


def _blocks(old: Sequence[_T], new: Sequence[_T], a: int, b: int, c: int, d: int) -> Iterator[Block]:
    while a < b and c < d and old[a] == new[c]:
        a, c = a + 1, c + 1
    while a < b and c < d and old[b - 1] == new[d - 1]:
        b, d = b - 1, d - 1
    if a == b and c == d:
        return
    if a == b or c == d:
        yield Block(a, b, c, d)
    elif (b - a) * (d - c) <= _SMALL:
        matcher = SequenceMatcher(None, old[a:b], new[c:d], autojunk=False)
        for tag, i, j, k, m in matcher.get_opcodes():
            if tag != "equal":
                yield Block(a + i, a + j, c + k, c + m)
    else:
        yield from _by_anchors(old, new, a, b, c, d)


def _by_anchors(old: Sequence[_T], new: Sequence[_T], a: int, b: int, c: int, d: int) -> Iterator[Block]:
    """Long stretches are cut at the items that are on each side once and in the same order."""
    anchors = _anchors(old[a:b], new[c:d])
    if not anchors:
        yield Block(a, b, c, d)
        return
    at, there = a, c
    for i, k in anchors:
        yield from _blocks(old, new, at, a + i, there, c + k)
        at, there = a + i + 1, c + k + 1
    yield from _blocks(old, new, at, b, there, d)


def _anchors(old: Sequence[_T], new: Sequence[_T]) -> list[tuple[int, int]]:
    once_old = {item for item, n in Counter(old).items() if n == 1}
    once = {item for item, n in Counter(new).items() if n == 1} & once_old
    where = {item: k for k, item in enumerate(new) if item in once}
    found = [(i, where[item]) for i, item in enumerate(old) if item in once]
    ends: list[int] = []
    chain: list[tuple[int, int]] = []
    before: list[int] = []
    for position, (_, k) in enumerate(found):
        slot = bisect_left([found[end][1] for end in ends] if len(ends) < 32 else _Keys(found, ends), k)
        before.append(ends[slot - 1] if slot else -1)
        ends[slot : slot + 1] = [position]
    at = ends[-1] if ends else -1
    while at >= 0:
        chain.append(found[at])
        at = before[at]
    return chain[::-1]


class _Keys(Sequence[int]):
    """The new-side positions of the ends of the chains, without a copy for each search."""

    def __init__(self, found: list[tuple[int, int]], ends: list[int]) -> None:
        self._found = found
        self._ends = ends

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, at: int) -> int:  # type: ignore[override]
        return self._found[self._ends[at]][1]


def swaps(old: bytes, new: bytes) -> list[Swap]:
    """Chains that were replaced one for one where two versions of a file differ."""
    left, right = old.split(b"\n"), new.split(b"\n")
    found: list[Swap] = []
    for block in blocks(left, right):
        if block.old_start == block.old_end or block.new_start == block.new_end:
            continue
        found += _swaps_in(left, right, block)
    return found


def _swaps_in(left: list[bytes], right: list[bytes], block: Block) -> Iterator[Swap]:
    olds, old_lines = _chains(left, block.old_start, block.old_end)
    news, new_lines = _chains(right, block.new_start, block.new_end)
    for a, b, c, d in blocks(olds, news):
        if b - a != d - c:
            continue
        for offset in range(b - a):
            before, after = olds[a + offset], news[c + offset]
            if before != after and _IDENTIFIER.match(before) and _IDENTIFIER.match(after):
                follows = {*olds[a + offset + 1 : a + offset + 2], *news[c + offset + 1 : c + offset + 2]}
                told = _text(follows.pop()) if len(follows) == 1 else ""
                yield Swap(_text(before), _text(after), old_lines[a + offset], new_lines[c + offset], told)


def _chains(lines: list[bytes], start: int, end: int) -> tuple[list[bytes], list[int]]:
    tokens: list[bytes] = []
    numbers: list[int] = []
    for number in range(start, end):
        for token in _CHAIN.findall(lines[number] + b"\n"):
            tokens.append(token)
            numbers.append(number + 1)
    return tokens, numbers


def identifiers(blob: bytes) -> set[str]:
    """Every identifier token of a file of any language."""
    return {_text(token) for token in set(_IDENTIFIER.findall(blob))}


def difference(old: bytes, new: bytes) -> int:
    """How many lines two versions do not hold in common."""
    if old == new:
        return 0
    left, right = Counter(old.split(b"\n")), Counter(new.split(b"\n"))
    return ((left - right) + (right - left)).total()


def _text(token: bytes) -> str:
    return token.decode("utf-8", "surrogateescape")
