"""The ledger of recorded resolutions: files beside the manifest, replayed only where every side is the same again."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from porttool.errors import EnvironmentFault, ManifestError, UsageError
from porttool.repo import Entry, Repository, blob_id, has_markers


class Sides(NamedTuple):
    """The three entries of one path in a merge, in target names; None = not there."""

    base: Entry | None
    ours: Entry | None
    theirs: Entry | None


class Decision(NamedTuple):
    """A recorded resolution that was replayed: its id, and what it gave."""

    id: str
    path: str
    result: Entry | None


@dataclass(frozen=True)
class Resolution:
    """What someone decided for one path of one source commit, and for exactly which three contents."""

    source: str
    path: str
    sides: Sides
    result: Entry | None
    author: str
    reason: str
    file: Path

    @property
    def id(self) -> str:
        return resolution_id(self.source, self.path, self.sides)


def resolution_id(source: str, path: str, sides: Sides) -> str:
    """The name of a resolution: a digest of its key."""
    told = json.dumps([source, path, *(entry_text(side) for side in sides)])
    return hashlib.sha1(told.encode()).hexdigest()[:12]


def add(
    folder: Path,
    *,
    source: str,
    path: str,
    sides: Sides,
    result: Entry | None,
    content: bytes,
    author: str,
    reason: str,
    known: Iterable[bytes] = (),
) -> Resolution:
    """Record a resolution. Raises UsageError where conflict markers are left in it, other than those of `known`."""
    if result is not None and has_markers(content, known):
        raise UsageError("conflict markers are left", path, "resolve them, then run it again")
    found = Resolution(source, path, sides, result, author, reason, folder)
    file = folder / f"{found.id}.json"
    told = {
        "version": 1,
        "source": source,
        "path": path,
        **{name: entry_text(side) for name, side in zip(Sides._fields, sides, strict=True)},
        "result": entry_text(result),
        "author": author,
        "reason": reason,
    }
    if result is not None:
        write_atomic(file.with_suffix(".content"), content)
    write_atomic(file, json.dumps(told, indent=2).encode() + b"\n")
    return Resolution(source, path, sides, result, author, reason, file)


def recorded(folder: Path) -> tuple[Resolution, ...]:
    """Every resolution in a folder, by source commit and path. Raises ManifestError where a file is not one."""
    found = [_read(file) for file in sorted(folder.glob("*.json"))]
    return tuple(sorted(found, key=lambda resolution: (resolution.source, resolution.path, resolution.id)))


def show(folder: Path, id: str) -> tuple[Resolution, bytes | None]:
    """One resolution and the content it gives (None: the file is deleted)."""
    found = _find(folder, id)
    return found, content_of(found)


def drop(folder: Path, id: str) -> Resolution:
    """Forget a resolution; returns what it was."""
    found = _find(folder, id)
    found.file.unlink()
    found.file.with_suffix(".content").unlink(missing_ok=True)
    return found


def content_of(resolution: Resolution) -> bytes | None:
    """The content a resolution gives. Raises ManifestError where it is no longer the one that was recorded."""
    if resolution.result is None:
        return None
    file = resolution.file.with_suffix(".content")
    try:
        content = file.read_bytes()
    except OSError as error:
        hint = "restore it, or drop the resolution"
        raise ManifestError("the content of a resolution is missing", str(file), hint) from error
    if blob_id(content) != resolution.result.oid:
        hint = "restore it (a checkout may have changed its line ends), or drop the resolution"
        raise ManifestError(f"the content of resolution {resolution.id} was changed", str(file), hint)
    return content


class Ledger:
    """Replays resolutions while commits are ported, and knows which of them were of use."""

    def __init__(self, repository: Repository, resolutions: Iterable[Resolution]) -> None:
        self._repository = repository
        self._known: dict[tuple[str, str], list[Resolution]] = {}
        for resolution in resolutions:
            self._known.setdefault((resolution.source, resolution.path), []).append(resolution)
        self._used: set[str] = set()

    def decide(self, source: str, path: str, sides: Sides) -> Decision | None:
        """The resolution recorded for exactly these sides. Raises ManifestError where one is stale."""
        known = self._known.get((source, path))
        if not known:
            return None
        for resolution in known:
            if resolution.sides == sides:
                self._used.add(resolution.id)
                content = content_of(resolution)
                if content is not None:
                    self._repository.write(content)
                return Decision(resolution.id, path, resolution.result)
        stale = known[0]
        changed = [name for name, was, now in zip(Sides._fields, stale.sides, sides, strict=True) if was != now]
        told = f"resolution {stale.id} of {path} is stale: {' and '.join(changed)} changed"
        raise ManifestError(told, str(stale.file), f"`porttool resolution drop {stale.id}`, then resolve it again")

    def extra(self, source: str) -> Iterable[str]:
        """Paths with a resolution for a source commit, whether or not the commit touches them."""
        return [path for known_source, path in self._known if known_source == source]

    def get(self, id: str) -> Resolution:
        """A resolution that was replayed, by its id."""
        return next(found for known in self._known.values() for found in known if found.id == id)

    def unused(self) -> list[Resolution]:
        """Resolutions that nothing asked for."""
        return [found for known in self._known.values() for found in known if found.id not in self._used]


def write_atomic(file: Path, content: bytes) -> None:
    """Write a file whole or not at all. Raises EnvironmentFault where the disk refuses."""
    fresh = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with open(fresh, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        os.replace(fresh, file)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise EnvironmentFault(f"cannot write: {error.strerror}", str(file), "free some disk space") from error


def entry_of(text: str | None) -> Entry | None:
    """An entry as `entry_text` wrote it."""
    if text is None:
        return None
    mode, _, oid = text.partition(" ")
    return Entry(int(mode, 8), oid)


def entry_text(entry: Entry | None) -> str | None:
    """An entry as mode and id, for JSON."""
    return None if entry is None else f"{entry.mode:06o} {entry.oid}"


def _read(file: Path) -> Resolution:
    try:
        told: Mapping[str, Any] = json.loads(file.read_bytes())
        sides = Sides(*(entry_of(told[name]) for name in Sides._fields))
        found = Resolution(
            told["source"], told["path"], sides, entry_of(told["result"]), told["author"], told["reason"], file
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ManifestError(f"not a resolution: {error}", str(file), "restore it, or remove it") from error
    if found.id != file.stem:
        hint = "restore it, or resolve it again"
        raise ManifestError(f"the key of resolution {file.stem} was changed", str(file), hint)
    return found


def _find(folder: Path, id: str) -> Resolution:
    near = [found for found in recorded(folder) if found.id.startswith(id)]
    if len(near) != 1:
        told = "no resolution" if not near else f"{len(near)} resolutions"
        raise UsageError(f"{told} called {id!r}", str(folder), "`porttool resolution list` shows them")
    return near[0]
