"""Parsing that ends: what a grammar has to get over in a broken file may cost it the square of the file's length."""

from __future__ import annotations

from tree_sitter import Parser, Tree

# The parser reports every hundred steps of its own. Of 60,000 files of installed packages none had it report more than
# once in 37 bytes, and of dense sound code made for this none more than once in 11; a bad one does at every byte.
_FREE, _BYTES = 1000, 4
_PART = 1 << 16  # bytes; only of a source that is handed over in parts is progress reported


class GivenUp(ValueError):
    """The parser would take far longer than it does for a sound source of this length."""


def parsed(parser: Parser, source: bytes, before: Tree | None = None) -> Tree:
    """The tree of a source; `before` is one of an earlier source, edited to fit. Its nodes have no `text`.

    Raises GivenUp, for one source on every machine alike: steps are counted, not seconds.
    """
    left = _FREE + len(source) // _BYTES

    def asks(offset: int, has_error: bool) -> bool:
        nonlocal left
        left -= 1
        return left < 0

    def part(offset: int, point: object) -> bytes:
        return source[offset : offset + _PART]

    try:
        if before is None:
            return parser.parse(part, progress_callback=asks)
        return parser.parse(part, before, progress_callback=asks)
    except ValueError as error:
        parser.reset()  # it would go on where it stopped, with whatever comes next
        raise GivenUp(str(error)) from error
