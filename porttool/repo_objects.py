"""Git objects as values: tree entries, changes and commits, read and written as raw bytes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from porttool.errors import RepositoryError

MODE_TREE = 0o040000
MODE_FILE = 0o100644
MODE_EXECUTABLE = 0o100755
MODE_LINK = 0o120000
MODE_GITLINK = 0o160000

# One level of a tree as its object holds it: turning every entry into an `Entry` costs more than all else in a port.
RawEntry = tuple[bytes, bytes]  # mode in octal digits, binary id
Level = dict[bytes, RawEntry]
RAW_TREE = b"40000"

_TREE_ENTRY = re.compile(rb"(\d+) ([^\0]+)\0(.{20})", re.DOTALL)


class Entry(NamedTuple):
    """One entry of a tree: its mode and the hex id of what it names."""

    mode: int
    oid: str

    @property
    def is_regular(self) -> bool:
        """Whether it is a file with content, so neither a symlink nor a submodule."""
        return self.mode & 0o170000 == 0o100000

    @property
    def is_gitlink(self) -> bool:
        return self.mode == MODE_GITLINK


class Change(NamedTuple):
    """What a commit did to one path; `old` is None where it was added, `new` is None where it was deleted."""

    path: str
    old: Entry | None
    new: Entry | None


@dataclass(frozen=True)
class Commit:
    """A commit with every byte kept: `author` and `committer` are raw header values, `message` is not decoded."""

    tree: str
    parents: tuple[str, ...]
    author: bytes
    committer: bytes
    message: bytes
    encoding: bytes | None = None
    extra: tuple[tuple[bytes, bytes], ...] = ()
    oid: str = ""

    @property
    def subject(self) -> str:
        """The first line of the message, for people to read."""
        first = self.message.lstrip(b"\n").split(b"\n", 1)[0].rstrip(b"\r")
        return decode(first, self.encoding)

    @property
    def author_name(self) -> str:
        """The author as `Name <mail>`, for people to read."""
        found = re.match(rb"(.*>)", self.author, re.DOTALL)
        return decode(found.group(1) if found else self.author, self.encoding)

    @property
    def is_signed(self) -> bool:
        return any(name.startswith(b"gpgsig") for name, _ in self.extra)

    def with_tree(self, tree: str, *parents: str) -> Commit:
        """The same commit on another tree and other parents; it has no id until it is written."""
        return replace(self, tree=tree, parents=parents, oid="")


def decode(raw: bytes, encoding: bytes | None) -> str:
    """Text for people: the declared encoding, else UTF-8, else Latin-1, which never fails."""
    for name in ((encoding or b"utf-8").decode("ascii", "replace"), "utf-8"):
        try:
            return raw.decode(name)
        except (LookupError, UnicodeDecodeError):
            continue
    return raw.decode("latin-1")


def parse_commit(oid: str, raw: bytes) -> Commit:
    """A commit from its raw object. Raises RepositoryError where a header porttool must carry is missing."""
    head, found, message = raw.partition(b"\n\n")
    head = head if found else head.removesuffix(b"\n")  # a commit may end behind its headers
    if raw.startswith(b"\n"):
        head, message = b"", raw[1:]
    headers: list[tuple[bytes, bytes]] = []
    for line in head.split(b"\n"):
        if line.startswith(b" ") and headers:
            name, value = headers[-1]
            headers[-1] = (name, value + b"\n" + line[1:])
        else:
            name, _, value = line.partition(b" ")
            headers.append((name, value))
    named: dict[bytes, bytes] = {}
    extra: list[tuple[bytes, bytes]] = []
    for name, value in headers:
        if name in (b"tree", b"author", b"committer", b"encoding") and name not in named:
            named[name] = value
        elif name != b"parent":
            extra.append((name, value))
    for name in (b"tree", b"author", b"committer"):
        if name not in named:
            hint = "leave it out, or repair it at its source"
            raise RepositoryError(f"commit has no {name.decode()} line", oid, hint)
    return Commit(
        tree=named[b"tree"].decode("ascii"),
        parents=tuple(value.decode("ascii") for name, value in headers if name == b"parent"),
        author=named[b"author"],
        committer=named[b"committer"],
        message=message,
        encoding=named.get(b"encoding"),
        extra=tuple(extra),
        oid=oid,
    )


def serialize_commit(commit: Commit) -> bytes:
    """The raw object; `parse_commit` of it gives the commit back."""
    headers = [(b"tree", commit.tree.encode("ascii"))]
    headers += [(b"parent", parent.encode("ascii")) for parent in commit.parents]
    headers += [(b"author", commit.author), (b"committer", commit.committer)]
    if commit.encoding is not None:
        headers.append((b"encoding", commit.encoding))
    headers += commit.extra
    lines = (name + b" " + value.replace(b"\n", b"\n ") + b"\n" for name, value in headers)
    return b"".join(lines) + b"\n" + commit.message


def parse_tree(raw: bytes) -> Level:
    """The entries of one raw tree object by name, in the order of the object."""
    return {name: (mode, oid) for mode, name, oid in _TREE_ENTRY.findall(raw)}


def serialize_tree(level: Level) -> bytes:
    """The raw tree object of entries that are in git's order."""
    return b"".join([b"%b %b\0%b" % (mode, name, oid) for name, (mode, oid) in level.items()])


def in_order(level: Level) -> Level:
    """The entries in git's order, which takes a directory as if its name ended in `/`."""
    return dict(sorted(level.items(), key=lambda item: item[0] + b"/" if item[1][0] == RAW_TREE else item[0]))


def raw_entry(entry: Entry) -> RawEntry:
    """An entry as a tree object holds it."""
    return b"%o" % entry.mode, bytes.fromhex(entry.oid)


def entry_of(raw: RawEntry) -> Entry:
    """An entry of a raw tree object."""
    return Entry(int(raw[0], 8), raw[1].hex())


def path_bytes(path: str) -> bytes:
    """A path as git stores it."""
    return path.encode("utf-8", "surrogateescape")


def path_text(path: bytes) -> str:
    """A path as porttool holds it; bytes that are no text survive as surrogates."""
    return path.decode("utf-8", "surrogateescape")


def by_directory(edits: Mapping[str, Entry | None]) -> dict[bytes, Entry | dict[str, Entry | None] | None]:
    """Edits of one directory level: a name maps to its entry, or to the edits below it."""
    level: dict[bytes, Entry | dict[str, Entry | None] | None] = {}
    # Deletions first, so that a file replaced by a directory of the same name ends as the directory.
    for path, entry in sorted(edits.items(), key=lambda item: (item[1] is not None, item[0])):
        name, slash, rest = path.partition("/")
        key = path_bytes(name)
        if not slash:
            if not (entry is None and isinstance(level.get(key), dict)):
                level[key] = entry
            continue
        below = level.get(key)
        if not isinstance(below, dict):
            below = level[key] = {}
        below[rest] = entry
    return level


def blob_id(content: bytes) -> str:
    """The id a content has as a blob."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def is_binary(content: bytes) -> bool:
    """Whether content is moved whole and never merged by lines: git's own rule."""
    return b"\0" in content[:8000]
