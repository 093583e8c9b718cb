"""Three-way merge of contents, in process; git itself writes the markers of a conflict."""

from __future__ import annotations

import re
import shutil
import tempfile
import weakref
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pygit2
from pygit2.enums import MergeFlag, ObjectType

from porttool.repo_git import Git
from porttool.repo_objects import MODE_FILE, Entry, is_binary, raw_entry, serialize_tree

# Before this release libgit2 crashes when it merges from an object store written in Python.
IN_MEMORY = tuple(map(int, pygit2.__version__.split(".")[:2])) >= (1, 21)  # type: ignore[attr-defined]

_MARKER = re.compile(rb"^(?:<{7}|\|{7}|>{7}) .*", re.MULTILINE)


class Labels(NamedTuple):
    """The names a conflict's markers carry."""

    ours: str = "ours"
    base: str = "base"
    theirs: str = "theirs"


class Merged(NamedTuple):
    """`content` is the result (None: deleted); where not `clean` it holds diff3 markers, or one side whole where
    there is nothing to interleave (a binary, a deletion)."""

    clean: bool
    content: bytes | None


class _Memory(pygit2.OdbBackend):
    """The objects of one merge, so that merging writes nothing to a disk."""

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[str, tuple[int, bytes]] = {}

    def read_cb(self, oid: Any) -> tuple[int, bytes]:
        return self.held[str(oid)]

    def read_header_cb(self, oid: Any) -> tuple[int, int]:
        kind, data = self.held[str(oid)]
        return kind, len(data)

    def write_cb(self, oid: Any, data: bytes, kind: int) -> None:
        self.held[str(oid)] = (kind, data)

    def exists_cb(self, oid: Any) -> bool:
        return str(oid) in self.held

    def refresh_cb(self) -> None:
        return None


class _Workshop:
    """A repository of nothing but the objects of a merge: in memory, or in a temporary folder."""

    def __init__(self, in_memory: bool) -> None:
        self._odb = pygit2.Odb()
        self._memory: _Memory | None = None
        if in_memory:
            self._memory = _Memory()
            self._odb.add_backend(self._memory, 1)
        else:
            folder = tempfile.mkdtemp(prefix="porttool-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self._odb.add_backend(pygit2.OdbBackendLoose(folder, 1, False, 0o700, 0o600), 1)
        self._repository = pygit2.Repository()
        self._repository.set_odb(self._odb)

    def merge(self, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
        """The clean merge, or None. One-file trees are merged because that path alone gives back raw bytes."""
        if self._memory is not None:
            self._memory.held.clear()
        one, two, three = (self._tree(side) for side in (base, ours, theirs))
        index = self._repository.merge_trees(one, two, three, flags=MergeFlag(0))
        if index.conflicts is not None:
            return None
        merged = index["f"].id
        return self._memory.held[str(merged)][1] if self._memory else bytes(self._odb.read(merged)[1])

    def _tree(self, content: bytes) -> pygit2.Tree:
        blob = self._odb.write(ObjectType.BLOB, content)
        tree = self._odb.write(ObjectType.TREE, serialize_tree({b"f": raw_entry(Entry(MODE_FILE, str(blob)))}))
        return self._repository[str(tree)].peel(pygit2.Tree)


class Merger:
    """Merges contents by lines, as `git merge-file` does."""

    def __init__(self, git: Git, in_memory: bool = IN_MEMORY) -> None:
        self._git = git
        self._in_memory = in_memory

    @cached_property
    def _workshop(self) -> _Workshop:
        return _Workshop(self._in_memory)

    def merge3(self, base: bytes | None, ours: bytes | None, theirs: bytes | None, labels: Labels) -> Merged:
        """Merge what `theirs` did to `base` into `ours`; None stands for a file that is not there."""
        if ours == theirs or theirs == base:
            return Merged(True, ours)
        if ours == base:
            return Merged(True, theirs)
        if ours is None or theirs is None or any(is_binary(side) for side in (base or b"", ours, theirs)):
            return Merged(False, theirs if ours is None else ours)
        clean = self._workshop.merge(base or b"", ours, theirs)
        return Merged(True, clean) if clean is not None else Merged(False, self._marked(base, ours, theirs, labels))

    def merge_theirs(self, base: bytes | None, ours: bytes, theirs: bytes) -> bytes:
        """Merge, with `theirs` as it is wherever the two do not merge."""
        if any(is_binary(side) for side in (base or b"", ours, theirs)):
            return theirs
        return self._files(base, ours, theirs, "--theirs")

    def _marked(self, base: bytes | None, ours: bytes, theirs: bytes, labels: Labels) -> bytes:
        return self._files(base, ours, theirs, "--diff3", *(word for label in labels for word in ("-L", label)))

    def _files(self, base: bytes | None, ours: bytes, theirs: bytes, *told: str) -> bytes:
        with tempfile.TemporaryDirectory(prefix="porttool-") as folder:
            names = []
            for name, content in (("ours", ours), ("base", base or b""), ("theirs", theirs)):
                Path(folder, name).write_bytes(content)
                names.append(str(Path(folder, name)))
            return self._git.run("merge-file", "-p", *told, *names, answers=range(128)).out


def has_markers(content: bytes, known: Iterable[bytes] = ()) -> bool:
    """Whether a conflict marker is left at the start of some line; lines that stand in a known content are none."""
    native = {line for side in known for line in _MARKER.findall(side)}
    return any(line not in native for line in _MARKER.findall(content))
