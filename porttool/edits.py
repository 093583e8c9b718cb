"""Byte-span edits: the only way porttool changes content."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple


class Edit(NamedTuple):
    """Replace `source[start:end]` by `text`; offsets are bytes, `start == end` inserts."""

    start: int
    end: int
    text: bytes


class Note(NamedTuple):
    """Something a reader must know about one place: `offset` in bytes, `kind` a short slug, `message` a sentence."""

    offset: int
    kind: str
    message: str


class Found(NamedTuple):
    """What a rewriter found in one blob: edits to splice (any order, never overlapping) and notes."""

    edits: list[Edit]
    notes: list[Note]


def splice(source: bytes, edits: Iterable[Edit]) -> bytes:
    """Apply edits to `source`; every byte outside a span is kept. Raises ValueError where two spans overlap."""
    pieces: list[bytes] = []
    at = 0
    for start, end, text in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if start < at or end < start or end > len(source):
            raise ValueError(f"edit {start}:{end} overlaps the one before it or leaves the source")
        pieces += (source[at:start], text)
        at = end
    pieces.append(source[at:])
    return b"".join(pieces)


def apart(*kinds: Iterable[Edit]) -> list[Edit]:
    """Edits of several kinds that can be spliced together: where two overlap, the one of the earlier kind is kept."""
    kept: list[Edit] = []
    for edits in kinds:
        for edit in edits:
            at = bisect_left(kept, edit)
            before, behind = kept[:at][-1:], kept[at : at + 1]
            # Only its neighbours can touch an edit: those that are kept lie apart.
            if not any(edit.start < other.end and other.start < edit.end for other in (*before, *behind)):
                kept.insert(at, edit)
    return kept


def line_of(source: bytes, offset: int) -> int:
    """The 1-based line of a byte offset."""
    return source.count(b"\n", 0, offset) + 1
