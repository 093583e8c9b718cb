"""An object store that writes nothing until `flush`, then everything as one pack."""

from __future__ import annotations

import fnmatch
import hashlib
import zlib
from collections import OrderedDict
from collections.abc import Mapping
from functools import lru_cache

import pygit2

from porttool.errors import RepositoryError
from porttool.repo_loose import Loose
from porttool.repo_objects import (
    RAW_TREE,
    Change,
    Entry,
    Level,
    RawEntry,
    by_directory,
    entry_of,
    in_order,
    parse_tree,
    path_bytes,
    path_text,
    raw_entry,
    serialize_tree,
)

_KINDS = {"commit": 1, "tree": 2, "blob": 3}
_NAMES = {number: name for name, number in _KINDS.items()}
_TREES_KEPT = 2_000
_DEEPEST = 200  # directories are written by recursion; nobody nests them like this by hand
EMPTY_TREE = hashlib.sha1(b"tree 0\0").hexdigest()


class Store:
    """Objects of one repository plus those made in this run, which stay in memory until `pack` is taken.

    So a dry run, a refused run and a killed run leave nothing behind, and a run of hundreds of commits costs one pack
    instead of thousands of loose files.
    """

    def __init__(self, odb: pygit2.Odb, loose: Loose) -> None:
        self._odb, self._loose = odb, loose
        self._made: dict[str, tuple[str, int, bytes]] = {}  # kind, size, deflated content
        self._packed: set[str] = set()
        self._trees: OrderedDict[str, Level] = OrderedDict()

    def read(self, oid: str, kind: str) -> bytes:
        """The raw content of an object. Raises RepositoryError where it is missing or of another kind."""
        made = self._made.get(oid)
        if made is not None:
            found, raw = made[0], zlib.decompress(made[2])
        else:
            found, raw = self._loose.read(oid) or self._read_packed(oid, kind)
        if found != kind:
            raise RepositoryError(f"expected a {kind}, found a {found}", oid)
        return raw

    def _read_packed(self, oid: str, kind: str) -> tuple[str, bytes]:
        try:
            number, raw = self._odb.read(oid)
        except (KeyError, ValueError, pygit2.GitError) as error:
            told = "missing from the repository" if isinstance(error, KeyError) else "missing or damaged"
            raise RepositoryError(f"{kind} is {told}", oid, "fetch it, or run `git fsck`") from error
        return _NAMES.get(number, "tag"), raw

    def has(self, oid: str) -> bool:
        return oid in self._made or oid in self._odb

    def write(self, kind: str, raw: bytes) -> str:
        """Keep an object and return its id."""
        oid = hashlib.sha1(b"%s %d\0" % (kind.encode("ascii"), len(raw)) + raw).hexdigest()
        if oid not in self._made and oid not in self._odb:
            # The ids in a tree do not deflate, and trying costs more than making the tree does.
            self._made[oid] = (kind, len(raw), zlib.compress(raw, 0 if kind == "tree" else 1))
        return oid

    def pack(self) -> bytes:
        """A pack of everything made since the last pack; empty where nothing was made."""
        wanted = [oid for oid in self._made if oid not in self._packed]
        if not wanted:
            return b""
        pieces = [b"PACK" + (2).to_bytes(4, "big") + len(wanted).to_bytes(4, "big")]
        for oid in wanted:
            kind, size, deflated = self._made[oid]
            pieces += (_pack_header(_KINDS[kind], size), deflated)
        body = b"".join(pieces)
        return body + hashlib.sha1(body).digest()

    def packed(self) -> None:
        """Told once the pack is safely stored."""
        self._packed.update(self._made)

    def tree(self, oid: str) -> Level:
        """One tree level. Neighbouring commits share most trees, so the last ones read are kept."""
        found = self._trees.get(oid)
        if found is None:
            found = self._keep(oid, {} if oid == EMPTY_TREE else parse_tree(self.read(oid, "tree")))
        return found

    def _keep(self, oid: str, level: Level) -> Level:
        self._trees[oid] = level
        if len(self._trees) > _TREES_KEPT:
            self._trees.popitem(last=False)
        return level

    def entry(self, tree: str, path: str) -> Entry | None:
        """The entry at a path (a tree entry where it is a directory); None where there is none."""
        *above, name = _segments(path)
        level = self.tree(tree)
        for part in above:
            below = level.get(part)
            if below is None or below[0] != RAW_TREE:
                return None
            level = self.tree(below[1].hex())
        found = level.get(name)
        return None if found is None else entry_of(found)

    def entries(self, tree: str) -> dict[str, Entry]:
        """Every file of a tree by its path, directories left out."""
        found: dict[str, Entry] = {}
        open_levels = [("", iter(self.tree(tree).items()))]
        while open_levels:
            above, level = open_levels[-1]
            for name, raw in level:
                path = above + path_text(name)
                if raw[0] == RAW_TREE:
                    open_levels.append((path + "/", iter(self.tree(raw[1].hex()).items())))
                    break
                found[path] = entry_of(raw)
            else:
                open_levels.pop()
        return found

    def matches(self, tree: str, pattern: tuple[str, ...]) -> bool:
        """Whether some path of a tree begins with segments that match the pattern's, each a glob."""
        glob, rest = pattern[0], pattern[1:]
        if glob == "**":
            return bool(self.tree(tree))
        for name, (mode, oid) in self.tree(tree).items():
            if fnmatch.fnmatchcase(path_text(name), glob) and (
                not rest or (mode == RAW_TREE and self.matches(oid.hex(), rest))
            ):
                return True
        return False

    def changes(self, old: str, new: str) -> list[Change]:
        """Paths at which two trees differ; subtrees with one id are never opened, so size does not matter."""
        found: list[Change] = []
        pending: list[Change | tuple[str, str, str]] = [(old, new, "")]
        while pending:
            last = pending.pop()
            if isinstance(last, Change):
                found.append(last)
            elif last[0] != last[1]:
                pending += reversed(self._level_changes(*last))
        return found

    def _level_changes(self, old: str, new: str, prefix: str) -> list[Change | tuple[str, str, str]]:
        """What differs in one directory: files as changes, directories as the two trees to compare and their path."""
        found: list[Change | tuple[str, str, str]] = []
        before, after = self.tree(old), self.tree(new)
        for name in sorted(_differing(before, after)):
            was, now = before.get(name), after.get(name)
            path = prefix + path_text(name)
            old_dir, new_dir = (side[1].hex() if side and side[0] == RAW_TREE else None for side in (was, now))
            if old_dir or new_dir:
                found.append((old_dir or EMPTY_TREE, new_dir or EMPTY_TREE, path + "/"))
            old_file = entry_of(was) if was and not old_dir else None
            new_file = entry_of(now) if now and not new_dir else None
            if old_file or new_file:
                found.append(Change(path, old_file, new_file))
        return found

    def edit_tree(self, tree: str, edits: Mapping[str, Entry | None]) -> str:
        """A tree with some paths set or (None) removed; directories left empty go, as git cannot hold them."""
        for path in edits:
            if path.count("/") > _DEEPEST:
                told = f"a path is {path.count('/')} directories deep"
                raise RepositoryError(told, path, f"at most {_DEEPEST} can be written; leave it out")
        return self._edit_level(tree, edits)

    def _edit_level(self, tree: str, edits: Mapping[str, Entry | None]) -> str:
        if not edits:
            return tree
        level = dict(self.tree(tree))
        ordered = True
        for name, edit in by_directory(edits).items():
            was = level.get(name)
            now = self._edited(was, edit)
            if now is None:
                level.pop(name, None)
                continue
            # A name keeps its place where it was, unless a file became a directory or the reverse.
            ordered = ordered and was is not None and (was[0] == RAW_TREE) == (now[0] == RAW_TREE)
            level[name] = now
        level = level if ordered else in_order(level)
        made = self.write("tree", serialize_tree(level))
        self._keep(made, level)
        return made

    def _edited(self, was: RawEntry | None, edit: Entry | dict[str, Entry | None] | None) -> RawEntry | None:
        if not isinstance(edit, dict):
            return None if edit is None else raw_entry(edit)
        is_tree = was is not None and was[0] == RAW_TREE
        if was is not None and not is_tree and not any(edit.values()):
            return was
        below = self._edit_level(was[1].hex() if was is not None and is_tree else EMPTY_TREE, edit)
        return None if below == EMPTY_TREE else (RAW_TREE, bytes.fromhex(below))


@lru_cache(maxsize=4096)
def _segments(path: str) -> list[bytes]:
    return path_bytes(path).split(b"/")


def _differing(before: Level, after: Level) -> list[bytes]:
    """The names at which two levels differ. Most entries are the same, so comparing is cheaper than building sets."""
    found = [name for name, raw in after.items() if before.get(name) != raw]
    if len(before) != len(after) or any(name not in before for name in found):
        found += [name for name in before if name not in after]
    return found


def _pack_header(kind: int, size: int) -> bytes:
    byte = (kind << 4) | (size & 0x0F)
    size >>= 4
    header = bytearray()
    while size:
        header.append(byte | 0x80)
        byte = size & 0x7F
        size >>= 7
    header.append(byte)
    return bytes(header)
