"""File pairs of two trees from their content: equal blobs first, then unique best similarity, then structure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Tree = Mapping[str, bytes]
How = Literal["same blob", "content", "structure", "imports"]

SIMILAR = 0.5  # least share of content two files hold in common to be one file
GAP = 0.03  # a best candidate that leads by less is an equal of the next one
AKIN = 0.2  # least share where the place is already told by the rest of the directory
_COMMON = 40  # a line in more files than this finds no candidates: licence headers, braces
_LONG = 64
_HASH_COMMENTS = (".py", ".pyi", ".sh", ".yaml", ".yml", ".toml", ".cfg")


@dataclass(frozen=True)
class Move:
    """One file found on both sides under different paths; `similarity` is the share of content they hold in common."""

    old: str
    new: str
    how: How
    similarity: float


@dataclass(frozen=True)
class Undecided:
    """Candidates that are equally good: no pair is made of them."""

    kind: str
    old: tuple[str, ...]
    new: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Files:
    """How the files of two trees correspond."""

    moves: tuple[Move, ...]
    kept: tuple[str, ...]
    gone: tuple[str, ...]
    added: tuple[str, ...]
    undecided: tuple[Undecided, ...]

    @cached_property
    def pairs(self) -> dict[str, str]:
        """Old path -> new path of every file that is on both sides."""
        return {path: path for path in self.kept} | {move.old: move.new for move in self.moves}


Place = Callable[[list[Move], Iterable[str]], Mapping[str, str]]


def match_files(old: Tree, new: Tree, place: Place, said: Mapping[str, str] | None = None) -> Files:
    """Pairs the files of two trees. `place(moves, paths)` tells where the directories that moved put a path.

    `said` are places that something else names, such as import statements; the content has to agree a little.
    """
    broken = {path for path in old.keys() & new.keys() if _broken(old[path], new[path])}
    gone = {path: old[path] for path in sorted(old.keys() - new.keys() | broken)}
    added = {path: new[path] for path in sorted(new.keys() - old.keys() | broken)}
    markers = {old[path] for path in old.keys() & new.keys() if path.endswith("__init__.py")}
    silent = {path for path, blob in [*gone.items(), *added.items()] if _says_nothing(path, blob) or blob in markers}
    moves = _equal_blobs(gone, added, silent)
    _drop(gone, added, moves)
    scores = _Scores(gone, added, silent)
    found, tied = scores.decide()
    moves += found
    _drop(gone, added, found)
    moves += _agreed(gone, added, said or {}, "imports", scores)
    moves += _by_structure(gone, added, moves, place, scores)
    moves += _agreed(gone, added, _beside(gone, moves, old.keys() & new.keys() - broken), "structure", scores)
    moves = [move for move in moves if move.old != move.new]
    left = {move.old for move in moves}, {move.new for move in moves}
    open_ties = [u for u in tied if not left[0] & set(u.old) and not left[1] & set(u.new)]
    undecided = {(u.old, u.new): u for u in [*open_ties, *_equal_groups(gone, added, silent)]}
    kept = (old.keys() & new.keys()) - {m.old for m in moves} - {m.new for m in moves}
    return Files(
        tuple(sorted(moves, key=lambda move: move.old)),
        tuple(sorted(kept)),
        tuple(sorted(old.keys() - kept - left[0])),
        tuple(sorted(new.keys() - kept - left[1])),
        tuple(undecided[ends] for ends in sorted(undecided)),
    )


def _drop(gone: dict[str, bytes], added: dict[str, bytes], moves: Iterable[Move]) -> None:
    for move in moves:
        gone.pop(move.old, None)
        added.pop(move.new, None)


def _broken(before: bytes, after: bytes) -> bool:
    """Whether one path holds two files that have nothing to do with each other."""
    if before == after or min(len(before), len(after)) < 400:
        return False
    return _shared(Counter(before.splitlines()), Counter(after.splitlines())) < 0.1 * max(len(before), len(after))


def _equal_blobs(gone: Tree, added: Tree, silent: Collection[str]) -> list[Move]:
    """Blobs that are on each side exactly once."""
    homes: dict[bytes, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for end, tree in enumerate((gone, added)):
        for path, blob in tree.items():
            homes[blob][end].append(path)
    return [
        Move(olds[0], news[0], "same blob", 1.0)
        for blob, (olds, news) in homes.items()
        if len(olds) == len(news) == 1 and olds[0] not in silent
    ]


def _says_nothing(path: str, blob: bytes) -> bool:
    """An empty file, or one that is a licence header and nothing else, is like any other of its kind."""
    lines = [line for line in blob.splitlines() if line.strip()]
    return not lines or (path.endswith(_HASH_COMMENTS) and all(line.startswith(b"#") for line in lines))


def _equal_groups(gone: Tree, added: Tree, silent: Collection[str]) -> list[Undecided]:
    homes: dict[bytes, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for end, tree in enumerate((gone, added)):
        for path, blob in tree.items():
            if path not in silent:
                homes[blob][end].append(path)
    return [
        Undecided("path", tuple(olds), tuple(news), "the same content")
        for olds, news in homes.values()
        if olds and news
    ]


class _Scores:
    """Similarities of the files left over, found through the lines they hold in common."""

    def __init__(self, gone: Tree, added: Tree, silent: Collection[str]) -> None:
        self._silent = silent
        self._gone = {path: _chunks(blob) for path, blob in gone.items()}
        self._added = {path: _chunks(blob) for path, blob in added.items()}
        self._gone_weight = {path: _weight(lines) for path, lines in self._gone.items()}
        self._added_weight = {path: _weight(lines) for path, lines in self._added.items()}
        spread: Counter[bytes] = Counter()
        for lines in (*self._gone.values(), *self._added.values()):
            spread.update(lines.keys())
        self._spread = spread

    def decide(self) -> tuple[list[Move], list[Undecided]]:
        """Mutual unique bests, and the ties. Round by round: a pair that is sure takes its ends out of the running."""
        ranked = self._ranked()
        moves: list[Move] = []
        taken: set[str] = set()
        while True:
            best_old = _leaders((o, n, s) for o, n, s in ranked if o not in taken and n not in taken)
            best_new = _leaders((n, o, s) for o, n, s in ranked if o not in taken and n not in taken)
            found = [
                Move(o, ns[0], "content", round(self.share(o, ns[0]), 3))
                for o, (ns, _) in best_old.items()
                if len(ns) == 1 and best_new[ns[0]][0] == [o]
            ]
            if not found:
                break
            moves += found
            taken.update(move.old for move in found)
            taken.update(move.new for move in found)
            ranked = [row for row in ranked if row[0] not in taken and row[1] not in taken]
        ties = [
            Undecided("path", (o,), tuple(sorted(ns)), f"equally similar ({score:.2f})")
            for o, (ns, score) in best_old.items()
            if len(ns) > 1
        ] + [
            Undecided("path", tuple(sorted(os)), (n,), f"equally similar ({score:.2f})")
            for n, (os, score) in best_new.items()
            if len(os) > 1
        ]
        return moves, ties

    def _ranked(self) -> list[tuple[str, str, float]]:
        holders: dict[bytes, list[str]] = defaultdict(list)
        for path, lines in self._gone.items():
            for line in lines if path not in self._silent else ():
                if self._spread[line] <= _COMMON and len(line.strip()) > 3:
                    holders[line].append(path)
        rows = []
        for path, lines in self._added.items():
            if path in self._silent:
                continue
            hits: Counter[str] = Counter()
            for line in lines:
                for holder in holders.get(line, ()):
                    hits[holder] += len(line)
            for holder, _ in hits.most_common(12):
                if self.share(holder, path) >= SIMILAR:
                    rows.append((holder, path, self._rare_share(holder, path) + _name_bonus(holder, path)))
        return rows

    def share(self, old: str, new: str) -> float:
        """The bytes both hold, as a share of the longer one."""
        left, right = self._gone[old], self._added[new]
        longer = max(self._gone_weight[old], self._added_weight[new])
        return _shared(left, right) / longer if longer else 1.0

    def _rare_share(self, old: str, new: str) -> float:
        """As `share`, but a line that many files hold says little about which of them this is."""
        left, right = self._gone[old], self._added[new]
        both = sum(len(line) * n / self._spread[line] for line, n in (left & right).items())
        each = max(sum(len(line) * n / self._spread[line] for line, n in side.items()) for side in (left, right))
        return both / each if each else 1.0


def _name_bonus(old: str, new: str) -> float:
    """Less than a gap: a name never decides alone between equals, it only orders near ones."""
    return GAP / 2 if old.rpartition("/")[2] == new.rpartition("/")[2] else 0.0


def _leaders(rows: Iterable[tuple[str, str, float]]) -> dict[str, tuple[list[str], float]]:
    """For each left end: the right ends within a gap of the best score."""
    of: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for left, right, score in rows:
        of[left].append((score, right))
    told = {}
    for left, scored in of.items():
        top = max(scored)[0]
        told[left] = (sorted(right for score, right in scored if score > top - GAP), top)
    return told


def _by_structure(
    gone: dict[str, bytes], added: dict[str, bytes], moves: list[Move], place: Place, scores: _Scores
) -> list[Move]:
    """Files whose content does not tell them apart go where the proven directory moves put them."""
    found: list[Move] = []
    while True:
        fresh = _agreed(gone, added, place(moves + found, gone), "structure", scores)
        if not fresh:
            return found
        found += fresh


def _beside(gone: Iterable[str], moves: list[Move], kept: Iterable[str]) -> dict[str, str]:
    """Where the rest of a directory went, for a directory that is gone and whose files all went to one place."""
    homes: dict[str, set[str]] = defaultdict(set)
    for move in moves:
        old, new = move.old.rpartition("/"), move.new.rpartition("/")
        homes[old[0]].add(new[0] if old[2] == new[2] else "")
    living = {path.rpartition("/")[0] for path in kept}
    found = {}
    for path in gone:
        folder, _, name = path.rpartition("/")
        if folder and folder not in living and len(homes[folder]) == 1 and (there := min(homes[folder])):
            found[path] = f"{there}/{name}"
    return found


def _agreed(
    gone: dict[str, bytes], added: dict[str, bytes], places: Mapping[str, str], how: How, scores: _Scores
) -> list[Move]:
    """The files whose content does not speak against the place that something else gives them."""
    fresh = []
    for path, there in places.items():
        if path not in gone or there not in added or there == path:
            continue
        share = scores.share(path, there) if gone[path] != added[there] else 1.0
        if share >= AKIN or _tokens_akin(gone[path], added[there]):
            fresh.append(Move(path, there, how, round(share, 3)))
    _drop(gone, added, fresh)
    return fresh


def _tokens_akin(before: bytes, after: bytes) -> bool:
    """Short files whose every line holds a renamed name."""
    left, right = (Counter(re.findall(rb"\w+|[^\s\w]", blob)) for blob in (before, after))
    longer = max(left.total(), right.total())
    return not longer or (left & right).total() >= SIMILAR * longer


def _chunks(blob: bytes) -> Counter[bytes]:
    """Lines, or pieces of them where a line is too long to stand for its file."""
    if b"\0" in blob[:8000]:
        return Counter(blob[at : at + _LONG] for at in range(0, len(blob), _LONG))
    return Counter(blob.splitlines(keepends=True))


def _weight(lines: Counter[bytes]) -> int:
    return sum(len(line) * n for line, n in lines.items())


def _shared(left: Counter[bytes], right: Counter[bytes]) -> int:
    few, many = (left, right) if len(left) <= len(right) else (right, left)
    return sum(len(line) * min(n, many[line]) for line, n in few.items() if line in many)
