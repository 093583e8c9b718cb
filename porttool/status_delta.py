"""What a commit does, as signed lines per file in the names of the source layout: its identity across layouts."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from porttool.errors import LayoutError
from porttool.infer_align import blocks
from porttool.repo import Change, Commit, Entry, Repository, is_binary
from porttool.translate import Translator

Item = tuple[str, bytes]  # path, line (or, after a NUL, a fact about the entry)
MODULUS = 1 << 128
_PORTED_FROM = re.compile(rb"^Ported-From:[ \t]*(?:.*@)?([0-9a-f]{7,64})[ \t]*$", re.MULTILINE)
_CO_AUTHOR = re.compile(rb"^Co-authored-by:[ \t]*(.*>)[ \t]*$", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True)
class Delta:
    """Lines added (+) and removed (-) per file, without order, context or position; whitespace counts."""

    items: Mapping[Item, int]

    @cached_property
    def signature(self) -> int:
        """A sum over the lines, so that the signature of several commits together is the sum of theirs."""
        return sum(_number(item) * n for item, n in self.items.items()) % MODULUS

    @cached_property
    def size(self) -> tuple[int, int]:
        """How many lines it adds, and how many it removes: the same in any layout, for most commits."""
        return sum(n for n in self.items.values() if n > 0), sum(n for n in self.items.values() if n < 0)

    @cached_property
    def weight(self) -> float:
        return sum(_heft(item) * abs(n) for item, n in self.items.items())

    @cached_property
    def paths(self) -> frozenset[str]:
        return frozenset(path for path, _ in self.items)

    @cached_property
    def without_paths(self) -> Delta:
        """The same lines, wherever they are."""
        loose: Counter[Item] = Counter()
        for (_, line), n in self.items.items():
            loose["", line] += n
        return Delta(loose)

    def overlap(self, other: Delta) -> float:
        """The weight of the lines both add or both remove."""
        few, many = sorted((self.items, other.items), key=len)
        both = ((item, n, many.get(item, 0)) for item, n in few.items())
        return sum(_heft(item) * min(abs(n), abs(m)) for item, n, m in both if n * m > 0)

    def likeness(self, other: Delta) -> float:
        """0 to 1; lines that are the same in files that are not count a little less."""
        total = self.weight + other.weight
        if not total:
            return 0.0
        here = 2 * self.overlap(other) / total
        anywhere = 2 * self.without_paths.overlap(other.without_paths) / total
        return max(here, 0.9 * anywhere)

    def __add__(self, other: Delta) -> Delta:
        total = Counter(self.items)
        for item, n in other.items.items():
            total[item] += n
        return Delta({item: n for item, n in total.items() if n})


EMPTY = Delta({})


@dataclass(frozen=True)
class Told:
    """One commit as the pairing sees it; `delta` is in the names of the source layout."""

    oid: str
    author: str
    author_date: bytes
    subject: str
    delta: Delta
    sources: tuple[str, ...] = ()  # ids (or the starts of ids) its trailers name
    co_authors: tuple[str, ...] = ()


def told(repository: Repository, oid: str, translator: Translator | None = None) -> Told:
    """Reads a commit; `translator` carries the names of its side to the source side."""
    commit = repository.commit(oid)
    return Told(
        oid,
        commit.author_name,
        commit.author.rpartition(b">")[2].strip(),
        commit.subject,
        delta_of(repository, commit, translator),
        tuple(found.decode() for found in _PORTED_FROM.findall(commit.message)),
        tuple(found.decode("utf-8", "replace").strip() for found in _CO_AUTHOR.findall(commit.message)),
    )


def delta_of(repository: Repository, commit: Commit, translator: Translator | None = None) -> Delta:
    """What a commit did to its first parent."""
    changes = repository.changes_of(commit)
    if translator is not None:
        changes = list(_carried(repository, commit, changes, translator))
    items: Counter[Item] = Counter()
    for change in changes:
        items.update(_items(repository, change))
    return Delta({item: n for item, n in items.items() if n})


def _carried(
    repository: Repository, commit: Commit, changes: Iterable[Change], translator: Translator
) -> Iterable[Change]:
    """The changes in the other layout; files that share a fragment are carried together."""
    parent = repository.commit(commit.parents[0]).tree if commit.parents else None
    done: set[str] = set()
    for change in changes:
        if change.path in done:
            continue
        group = translator.group(change.path)
        done |= group
        sides = [
            {path: entry for path in sorted(group) if tree and (entry := repository.file(tree, path))}
            for tree in (parent, commit.tree)
        ]
        try:
            before, after = (translator.entries(side).entries for side in sides)
        except LayoutError:
            # A path the layout cannot carry is a file of the other side alone: it pairs with nothing on this one.
            before, after = ({f"/{path}": entry for path, entry in side.items()} for side in sides)
        for path in sorted(before.keys() | after.keys()):
            if before.get(path) != after.get(path):
                yield Change(path, before.get(path), after.get(path))


def _items(repository: Repository, change: Change) -> Counter[Item]:
    """The signed lines of one change. A change of order alone, or of a binary, is told by its content."""
    items: Counter[Item] = Counter()
    lines: list[list[bytes]] = []
    for entry, sign in ((change.old, -1), (change.new, 1)):
        lines.append(_lines(repository, entry))
        for line in lines[-1]:
            items[change.path, line] += sign
        if entry is not None:
            items[change.path, b"\0mode %o" % entry.mode] += sign
    found = Counter({item: n for item, n in items.items() if n})
    if not found and change.old and change.new:
        found[change.path, b"\0order " + _order(lines[0], lines[1])] = 1
    return found


def _lines(repository: Repository, entry: Entry | None) -> list[bytes]:
    if entry is None:
        return []
    if entry.mode & 0o170000 == 0o160000:
        return [b"\0commit " + entry.oid.encode()]
    blob = repository.read(entry.oid)
    if is_binary(blob):
        return [b"\0blob " + entry.oid.encode()]
    return blob.splitlines(keepends=True)


def _order(before: list[bytes], after: list[bytes]) -> bytes:
    """The lines that changed places, without where."""
    moved: dict[str, list[bytes]] = defaultdict(list)
    for block in blocks(before, after):
        moved["-"] += before[block.old_start : block.old_end]
        moved["+"] += after[block.new_start : block.new_end]
    return hashlib.sha256(b"\0".join(sorted(moved["-"]) + sorted(moved["+"]))).hexdigest().encode()


def _number(item: Item) -> int:
    path, line = item
    raw = path.encode("utf-8", "surrogateescape") + b"\0" + line
    return int.from_bytes(hashlib.blake2b(raw, digest_size=16).digest(), "big")


def _heft(item: Item) -> float:
    """Long lines tell commits apart; blank lines, braces and modes hardly do."""
    if item[1].startswith(b"\0mode"):
        return 0.5
    return 0.05 + min(len(item[1].strip()), 80)
