"""One way to state a Python case: exact bytes out, and the same bytes back by the inverse layout."""

from __future__ import annotations

from porttool.edits import Note, splice
from porttool.layout import Fragment, Layout, Symbol, fragment_end, paths_renaming
from porttool.names import Pair, renaming, split
from porttool.rewrite.python import scan


def layout(
    paths: dict[str, str] | None = None,
    *,
    modules: dict[str, str] | None = None,
    keys: dict[str, str] | None = None,
    symbols: tuple[Symbol, ...] = (),
    fragments: dict[str, str] | None = None,
    roots: tuple[str, ...] = (".",),
) -> Layout:
    return Layout(
        paths=paths_renaming(paths or {}),
        extra_modules=tuple(Pair(split(old), split(new)) for old, new in (modules or {}).items()),
        keys=renaming("key", (keys or {}).items()),
        symbols=symbols,
        fragments=tuple(Fragment(fragment_end(old), fragment_end(new)) for old, new in (fragments or {}).items()),
        roots=roots,
    )


def forth(at: Layout, source: bytes, path: str = "use.py") -> tuple[bytes, list[Note]]:
    found = scan(source, at.for_file(path))
    return splice(source, found.edits), found.notes


def both_ways(at: Layout, old: str | bytes, new: str | bytes, path: str = "use.py") -> None:
    """`old` becomes exactly `new`, and `new` exactly `old`, without a note."""
    old = old if isinstance(old, bytes) else old.encode()
    new = new if isinstance(new, bytes) else new.encode()
    got, notes = forth(at, old, path)
    assert got == new
    assert notes == []
    back, notes = forth(at.inverse(), got, at.for_file(path).new_path)
    assert back == old
    assert notes == []


def unchanged(at: Layout, source: str | bytes, path: str = "use.py") -> None:
    both_ways(at, source, source, path)
