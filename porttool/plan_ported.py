"""Which source commits the target has already: by trailer, and by what they do."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from porttool.errors import LayoutError
from porttool.repo import EMPTY_TREE, MODE_TREE, Commit, Entry, Repository, is_binary, line_changes
from porttool.translate import Translator

_PORTED = re.compile(rb"^Ported-From: (?P<remote>.*)@(?P<oid>[0-9a-f]{40})\r?$", re.MULTILINE)


@dataclass(frozen=True)
class Ported:
    """Where a source commit is on the target, and how that was seen: `trailer`, `origin` or `same change`."""

    commit: str
    seen_by: str

    def __str__(self) -> str:
        told = {"trailer": "named by its trailer", "origin": "it came from there", "same change": "the same change"}
        return f"already there as {self.commit[:12]} ({told[self.seen_by]})"


def ported_from(message: bytes) -> list[str]:
    """The source commits a message says it was ported from, in order."""
    return [found["oid"].decode() for found in _PORTED.finditer(message)] if b"Ported-From:" in message else []


def ported_on_target(
    repository: Repository, sources: Sequence[str], *, tip: str, source_tip: str, translator: Translator
) -> Mapping[str, Ported]:
    """The sources that a commit of the target's own history already carries.

    A commit with the same author line or subject is compared by what it does in target names; a reworded and
    re-authored one is left to `status`, which compares all pairs.
    """
    if not sources:
        return {}
    only_there = [repository.commit(oid) for oid in repository.history([tip], [source_tip])]
    found: dict[str, Ported] = {}
    by_look: dict[bytes | str, list[Commit]] = {}
    for commit in only_there:
        for oid in ported_from(commit.message):
            found.setdefault(oid, Ported(commit.oid, "trailer"))
        if len(commit.parents) == 1:
            by_look.setdefault(commit.author, []).append(commit)
            by_look.setdefault(commit.subject, []).append(commit)
    for source in sources:
        if source not in found and (seen := _seen(repository, translator, source, by_look, tip)):
            found[source] = seen
    return found


def _seen(
    repository: Repository,
    translator: Translator,
    source: str,
    by_look: Mapping[bytes | str, list[Commit]],
    tip: str,
) -> Ported | None:
    commit = repository.commit(source)
    for oid in ported_from(commit.message):
        # A port that is being carried back: its origin is in the history it would go to.
        if repository.has(oid) and repository.is_ancestor(oid, tip):
            return Ported(oid, "origin")
    looks = (commit.author, commit.subject)
    alike = {other.oid: other for look in looks for other in by_look.get(look, ())}
    if not alike or len(commit.parents) != 1:
        return None
    mine = identity(repository, commit, translator)
    for other in alike.values():
        if mine is not None and identity(repository, other) == mine:
            return Ported(other.oid, "same change")
    return None


def identity(repository: Repository, commit: Commit, translator: Translator | None = None) -> str | None:
    """A digest of what a commit does, line by line and file by file, in the names `translator` gives.

    None for a commit that does nothing, or that the layout cannot carry.
    """
    parent = repository.commit(commit.parents[0]).tree if commit.parents else EMPTY_TREE
    changed = [change.path for change in repository.changes(parent, commit.tree)]
    touched = {path for name in changed for path in (translator.group(name) if translator else (name,))}
    sides = [_entries(repository, tree, touched) for tree in (parent, commit.tree)]
    if translator is not None:
        try:
            sides = [translator.entries(side).entries for side in sides]
        except LayoutError:
            return None
    told = hashlib.sha1()
    before, after = sides
    paths = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    for path in paths:
        told.update(path.encode("utf-8", "surrogateescape") + b"\0")
        told.update(_change(repository, before.get(path), after.get(path)))
    return told.hexdigest() if paths else None


def _entries(repository: Repository, tree: str, paths: Iterable[str]) -> dict[str, Entry]:
    found = ((path, repository.entry(tree, path)) for path in paths)
    return {path: entry for path, entry in found if entry is not None and entry.mode != MODE_TREE}


def _change(repository: Repository, old: Entry | None, new: Entry | None) -> bytes:
    modes = b"%o %o\n" % (old.mode if old else 0, new.mode if new else 0)
    contents = [repository.read(side.oid) if side and side.is_regular else b"" for side in (old, new)]
    if any(map(is_binary, contents)) or any(side and not side.is_regular for side in (old, new)):
        return modes + b" ".join(side.oid.encode() if side else b"-" for side in (old, new)) + b"\n"
    return modes + b"".join(change.sign.encode() + change.text for change in line_changes(*contents))
