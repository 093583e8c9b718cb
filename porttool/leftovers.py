"""The census of old names after T, and what in two real trees makes a Layout not undoable."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from porttool.edits import line_of
from porttool.layout import FileNames, Layout
from porttool.leftovers_domain import outside
from porttool.leftovers_keys import unresolved_keys
from porttool.leftovers_targets import unresolved_targets
from porttool.rewrite import is_binary, scan, touched

__all__ = ["Mention", "census", "leftovers", "outside", "rewritten", "unresolved_keys", "unresolved_targets"]

State = Literal["rewritten", "kept", "unresolved"]
Files = Mapping[str, bytes]

_RUN = rb"A-Za-z0-9_./\-\x80-\xff"
_BEFORE, _BEHIND = re.compile(rb"[%s]*\Z" % _RUN), re.compile(rb"[%s]*" % _RUN)
_WORD_BYTES = frozenset((string.ascii_letters + string.digits + "_").encode()) | frozenset(range(0x80, 0x100))
_PLAIN = re.compile(rb"[a-z]+")  # an everyday word names a module only where it stands alone in quotes
_REACH = 200


@dataclass(frozen=True)
class Mention:
    """One place that names something by its old name: from-side place where `rewritten`, else a place of the result.

    `reason` says why a mention is kept: `not a whole token`, `part of another name`, `prose word`,
    `out of scope`, `binary`.
    """

    path: str
    line: int
    text: str
    name: str
    state: State
    reason: str = ""


class _Old(NamedTuple):
    """An old name as it is written, and what it became."""

    text: bytes
    new: bytes
    kind: str
    scope: tuple[str, ...] = ()

    @property
    def telling(self) -> bool:
        """Whether the text means this name wherever it stands as whole segments."""
        return self.kind == "symbol" or b"." in self.text or b"/" in self.text


def census(layout: Layout, source: Files, result: Files) -> tuple[Mention, ...]:
    """Every mention of an old name: those T rewrote in `source`, and those that are left in `result`."""
    return (*rewritten(layout, source), *leftovers(layout, result))


def rewritten(layout: Layout, source: Files) -> Iterator[Mention]:
    """The mentions T rewrites, one for each edit."""
    for path, blob in source.items():
        names = layout.for_file(path)
        if is_binary(blob) or not touched(blob, names):
            continue
        for start, end, new in sorted(scan(blob, names).edits):
            old = _text(blob[start:end])
            if not old.strip():
                if not new.strip():
                    continue  # an indentation names nothing
                old = "an insertion"
            yield Mention(path, line_of(blob, start), _line(blob, start), old, "rewritten", f"now {_text(new)!r}")


def leftovers(layout: Layout, result: Files) -> Iterator[Mention]:
    """The mentions of old names in the new tree, in one pass over each file that holds a word of the layout."""
    book = _Book(layout)
    for path, blob in result.items():
        if book.pattern is None or not any(word in blob for word in book.words):
            continue
        names = layout.inverse().for_file(path)
        if is_binary(blob) or names.kept:
            hit = book.pattern.search(blob)
            if hit is not None:
                yield Mention(path, 0, "", _text(hit.group()), "kept", "binary" if is_binary(blob) else "a kept file")
            continue
        floor = 0
        for hit in book.pattern.finditer(blob):
            if hit.start() >= floor and (found := book.judge(blob, hit.start(), hit.end(), names)) is not None:
                floor, name, state, reason = found
                yield Mention(path, line_of(blob, hit.start()), _line(blob, hit.start()), name, state, reason)


class _Book:
    """The old names of a layout by the word that tells them."""

    def __init__(self, layout: Layout) -> None:
        self.names = sorted(_old_names(layout), key=lambda old: -len(old.text))
        words = {word.encode("utf-8", "surrogateescape") for word in layout.words}
        words |= {old.text for old in self.names if old.kind == "symbol"}
        self.words = sorted(words, key=lambda word: (-len(word), word))
        self.pattern = re.compile(b"|".join(map(re.escape, self.words))) if words else None
        self._by_word = lru_cache(maxsize=None)(self._holding)

    def _holding(self, word: bytes) -> tuple[_Old, ...]:
        return tuple(old for old in self.names if word in old.text)

    def judge(self, blob: bytes, start: int, end: int, names: FileNames) -> tuple[int, str, State, str] | None:
        """Where the mention at `blob[start:end]` ends, its name, and what it is; None where it is no old name."""
        before = _BEFORE.search(blob, max(start - _REACH, 0), start)
        low = before.start() if before else start
        behind = _BEHIND.match(blob, end, min(end + _REACH, len(blob)))
        run = blob[low : behind.end() if behind else end]
        candidates = self._by_word(blob[start:end])
        if any(_covers(run, old.new, start - low, end - low) is not None for old in candidates if old.new != old.text):
            return None
        for old in candidates:
            at = _covers(run, old.text, start - low, end - low) if old.telling else None
            if at is not None:
                if old.scope and not _in_scope(old, names):
                    return end, _text(old.text), "kept", "out of scope"
                return low + at + len(old.text), _text(old.text), "unresolved", ""
        word = blob[start:end]
        if _top_key(blob, start, end, names) and any((old.kind, old.text) == ("key", word) for old in candidates):
            return end, _text(word), "unresolved", ""
        if candidates and all(_stays(old, word) for old in candidates):
            return None
        whole = not _in_word(blob, start - 1) and not _in_word(blob, end)
        if _PLAIN.fullmatch(blob, start, end) and not _quoted(blob, start, end):
            return None
        if not whole:
            return end, _text(word), "kept", "not a whole token"
        return end, _text(word), "kept", "prose word" if run.strip(b"./-") == word else "part of another name"


def _old_names(layout: Layout) -> Iterator[_Old]:
    for renaming in (layout.paths, layout.modules, layout.imports, layout.keys):
        for pair in renaming:
            old, new = (renaming.separator.join(name) for name in (pair.old, pair.new))
            yield _Old(_bytes(old.partition("*")[0]), _bytes(new.partition("*")[0]), renaming.kind)
    for symbol in layout.symbols:
        if symbol.whole:
            yield _Old(_bytes(symbol.old), _bytes(symbol.new), "symbol", symbol.scope)
    for fragment in layout.fragments:
        ends = [_bytes(end.name[-1]) if end.name else b"" for end in (fragment.old, fragment.new)]
        yield _Old(ends[0], ends[1], "fragment")


def _covers(run: bytes, name: bytes, start: int, end: int) -> int | None:
    """Where `name` stands as whole segments in `run` so that it holds `run[start:end]`."""
    at = run.find(name, max(end - len(name), 0)) if name else -1
    while 0 <= at <= start:
        if at + len(name) >= end and not _in_word(run, at - 1) and not _in_word(run, at + len(name)):
            return at
        at = run.find(name, at + 1)
    return None


def _stays(old: _Old, word: bytes) -> bool:
    """Whether a word of an old name is one of the new name too, as where a key only moved deeper."""
    return old.new == old.text or re.search(rb"(?<!\w)%s(?!\w)" % re.escape(word), old.new) is not None


def _in_scope(old: _Old, names: FileNames) -> bool:
    """Whether a scoped symbol means this file, which is told by its name on the other side."""
    return names.symbol(_text(old.new)) is not None


def _quoted(blob: bytes, start: int, end: int) -> bool:
    return blob[start - 1 : start] in (b"'", b'"', b"`") and blob[start - 1 : start] == blob[end : end + 1]


def _top_key(blob: bytes, start: int, end: int, names: FileNames) -> bool:
    """Whether a word is a key at the root of a YAML file, where T would have renamed it if it could."""
    root = names.path.endswith((".yaml", ".yml")) and not names.layout.key_mount(names.path)
    return root and blob[start - 1 : start] in (b"\n", b"") and blob[end : end + 1] == b":"


def _in_word(blob: bytes, at: int) -> bool:
    return 0 <= at < len(blob) and blob[at] in _WORD_BYTES


def _line(blob: bytes, at: int) -> str:
    start = blob.rfind(b"\n", 0, at) + 1
    end = blob.find(b"\n", at)
    shown = _text(blob[start : end if end >= 0 else len(blob)]).strip()
    return shown if len(shown) <= 160 else shown[:157] + "..."


def _text(blob: bytes) -> str:
    return blob.decode("utf-8", "backslashreplace")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
