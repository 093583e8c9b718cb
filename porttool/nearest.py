"""Hints for mistyped words."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint that names the known word closest to a mistyped one, or all of them."""
    known = sorted(known)
    close = get_close_matches(word, known, 1, 0.5)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
