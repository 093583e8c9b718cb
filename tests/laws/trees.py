"""Whole trees as dictionaries, for laws and for tests of T."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from porttool.layout import Fragment, Layout, fragment_end
from porttool.repo import Entry
from porttool.translate import Translated, Translator
from tests.support.cases import MemoryBlobs

Files = Mapping[str, bytes]
FILE, LINK, GITLINK, EXECUTABLE = 0o100644, 0o120000, 0o160000, 0o100755


@dataclass(frozen=True)
class Carried:
    """T over a tree and back: contents by path, and what T said on each way."""

    files: dict[str, bytes]
    modes: dict[str, int]
    there: Translated
    back_files: dict[str, bytes]
    back_modes: dict[str, int]

    @property
    def one_way(self) -> list[str]:
        return sorted({f"{culprit.path}:{culprit.line}" for culprit in self.there.one_way})

    @property
    def notes(self) -> list[str]:
        return sorted(f"{culprit.kind} {culprit.path}:{culprit.line}" for culprit in self.there.notes)


def carry(layout: Layout, files: Files, modes: Mapping[str, int] | None = None) -> Carried:
    """Translate a tree and translate the result back; a gitlink's bytes are its object id."""
    blobs = MemoryBlobs()
    translator = Translator(layout, blobs)
    modes = modes or {}
    entries = {}
    for path, content in files.items():
        mode = modes.get(path, FILE)
        entries[path] = Entry(mode, content.decode() if mode == GITLINK else blobs.write(content))
    there = translator.tree(entries)
    back = translator.inverse().tree(there.entries)
    return Carried(_files(blobs, there), _modes(there), there, _files(blobs, back), _modes(back))


def _files(blobs: MemoryBlobs, translated: Translated) -> dict[str, bytes]:
    return {
        path: entry.oid.encode() if entry.mode == GITLINK else blobs.read(entry.oid)
        for path, entry in translated.entries.items()
    }


def _modes(translated: Translated) -> dict[str, int]:
    return {path: entry.mode for path, entry in translated.entries.items()}


def with_fragments(*fragments, **others):
    """A layout from pairs of ends; an end is its text, or a tuple with `after` and `lead`."""
    made = []
    for old, new in fragments:
        old, new = (end if isinstance(end, tuple) else (end,) for end in (old, new))
        made.append(Fragment(fragment_end(*old), fragment_end(*new)))
    return Layout(fragments=tuple(made), **others)


def both_ways(names, old, new):
    """`old` becomes exactly `new`, `new` becomes exactly `old`, and nothing is said about either."""
    for one, first, second in ((names, old, new), (names.inverse(), new, old)):
        ran = carry(one, {path: text.encode() for path, text in first.items()})
        assert {path: blob.decode() for path, blob in ran.files.items()} == second
        assert (ran.there.one_way, ran.there.notes) == ((), ())
        assert {path: blob.decode() for path, blob in ran.back_files.items()} == first
