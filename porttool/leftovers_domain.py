"""Before anything is written: what in a real tree makes a Layout not undoable."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from porttool.errors import LayoutError
from porttool.layout import Layout
from porttool.translate import Blobs, Culprit, Translator
from porttool.translate_tree import clashes

if TYPE_CHECKING:
    from porttool.repo import Entry


# Notes of T that say a name could not become what the layout asks for, because something else stands there.
_TAKEN = ("key-moved", "ambiguous", "parts-ways")


class Overlay:
    """Blobs that are written in memory only."""

    def __init__(self, below: Blobs) -> None:
        self._below = below
        self._own: dict[str, bytes] = {}

    def read(self, oid: str) -> bytes:
        own = self._own.get(oid)
        return self._below.read(oid) if own is None else own

    def write(self, data: bytes) -> str:
        oid = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        self._own[oid] = data
        return oid


def outside(layout: Layout, entries: Mapping[str, Entry], blobs: Blobs) -> tuple[Culprit, ...]:
    """Every place of a from-side tree that the layout cannot undo, or cannot do: paths first, then lines.

    Nothing is written.
    """
    found: list[Culprit] = []
    origin: dict[str, str] = {}
    inside: dict[str, Entry] = {}
    for path, entry in entries.items():
        try:
            new_path = layout.path(path)
        except LayoutError as fault:
            found.append(Culprit(path, 0, "path", fault.message))
            continue
        if origin.setdefault(new_path, path) != path:
            found.append(Culprit(path, 0, "path", f"{origin[new_path]!r} becomes {new_path!r} as well"))
            continue
        inside[path] = entry
    found += [Culprit(path, 0, "path", text) for path, text in clashes(origin)]
    translator = Translator(layout, Overlay(blobs))
    for group in _groups(translator, inside):
        try:
            done = translator.entries({path: inside[path] for path in group})
            found += (*done.one_way, *(note for note in done.notes if note.kind in _TAKEN))
        except LayoutError as fault:
            found.append(Culprit(group[0], 0, "fragment", fault.message))
    return tuple(dict.fromkeys(found))


def _groups(translator: Translator, paths: Iterable[str]) -> list[tuple[str, ...]]:
    known = dict.fromkeys(paths)
    done: set[str] = set()
    found = []
    for path in known:
        if path not in done:
            group = tuple(sorted(name for name in translator.group(path) if name in known))
            done.update(group)
            found.append(group)
    return found
