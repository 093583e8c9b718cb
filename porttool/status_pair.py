"""Pairs the commits of two branches by what they do; a message is evidence, never the ground of a pair."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

from porttool.status_delta import EMPTY, MODULUS, Delta, Item, Told

How = Literal["identity", "squash", "split", "named", "similar", "similar squash"]

_GAP = 0.06  # a best mate that leads by less is an equal of the next one
_FEW = 12  # commits among which every subset is tried
_COMMON = 30  # a line that more commits change finds no candidates
_HELD = 0.7  # share of a commit that has to be in a squash for it to be part of it


@dataclass(frozen=True)
class Match:
    """Source commits and the target commits that hold them; `evidence` says what else agrees."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    how: How
    likeness: float
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tie:
    """Commits that could be each other's mates equally well: nothing is paired."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Pairing:
    """Which commits are each other's, and which could not be told."""

    matches: tuple[Match, ...]
    ties: tuple[Tie, ...]


def pair(
    sources: Sequence[Told], targets: Sequence[Told], onward: Callable[[Told], Delta] | None = None
) -> Pairing:
    """Pairs two branches, each given in the order of its history.

    `onward` gives what a commit does in the names of the target. Where two old names became one, or a new name was in
    use on the source already, the way back cannot tell, but the way there still does.
    """
    work = _Pairer(sources, targets, onward)
    work.identical()
    work.identical_onward()
    work.empty()
    work.sums("squash", work.sources, work.targets)
    work.sums("split", work.targets, work.sources)
    work.similar_squashes()
    work.named()
    work.similar()
    place = {commit.oid: at for at, commit in enumerate(sources)}
    matches = sorted(work.matches, key=lambda match: place[match.sources[0]])
    return Pairing(tuple(matches), tuple(work.ties))


class _Pairer:
    def __init__(
        self, sources: Sequence[Told], targets: Sequence[Told], onward: Callable[[Told], Delta] | None
    ) -> None:
        self.sources = list(sources)
        self.targets = list(targets)
        self.onward = onward
        self.matches: list[Match] = []
        self.ties: list[Tie] = []
        self._taken: set[str] = set()
        self._named = {
            target.oid: [s for s in sources if _names(target, s) and s.author == target.author]
            for target in targets
            if target.sources
        }
        self._naming: dict[str, list[str]] = defaultdict(list)
        for oid, held in self._named.items():
            for source in held:
                self._naming[source.oid].append(oid)

    def _free(self, commits: Iterable[Told]) -> list[Told]:
        return [commit for commit in commits if commit.oid not in self._taken]

    def _match(self, sources: Sequence[Told], targets: Sequence[Told], how: How, likeness: float = 1.0) -> None:
        agreed = evidence(sources[0], targets[0]) if len(sources) == len(targets) == 1 else ()
        match = Match(_oids(sources), _oids(targets), how, round(likeness, 3), agreed)
        self.matches.append(match)
        self._taken.update(match.sources, match.targets)

    def identical(self) -> None:
        """Commits with one identity; where it has several on a side, the evidence has to tell them apart."""
        for sources, targets in _alike(self.sources, self.targets, lambda commit: commit.delta.signature):
            self._assign(sources, targets)

    def identical_onward(self) -> None:
        """The same in the names of the target, among commits that add and remove as much."""
        onward = self.onward
        if onward is None:
            return
        free = self._free(self.sources), self._free(self.targets)
        for sources, targets in _alike(*free, lambda commit: commit.delta.size):
            for here, there in _alike(sources, targets, lambda commit: onward(commit).signature):
                self._assign(here, there)

    def _assign(self, sources: list[Told], targets: list[Told]) -> None:
        for source, target in best_mates(sources, targets, lambda s, t: float(_agreement(s, t)), gap=0.5):
            self._match([source], [target], "identity")
        left, right = self._free(sources), self._free(targets)
        if len(left) == len(right):
            # The same change made as often on both sides: whichever goes with which, each has its mate.
            for source, target in zip(left, right, strict=True):
                self._match([source], [target], "identity")
        elif left and right:
            self.ties.append(Tie(_oids(left), _oids(right), "one change, made a different number of times"))
            self._taken.update(_oids(left), _oids(right))

    def empty(self) -> None:
        """Commits without content have only their author and message."""
        left = [commit for commit in self._free(self.sources) if not commit.delta.items]
        right = [commit for commit in self._free(self.targets) if not commit.delta.items]
        for source, target in best_mates(left, right, lambda s, t: float(_agreement(s, t)), gap=0.5, least=3):
            self._match([source], [target], "identity")

    def sums(self, how: Literal["squash", "split"], parts: list[Told], wholes: list[Told]) -> None:
        """One commit that is exactly several of the other side together: neighbours first, then any few of them."""
        for whole in self._free(wholes):
            if not whole.delta.items:
                continue
            free = [part for part in self._free(parts) if part.delta.items and self._may_be_in(part, whole, how)]
            inside = [part for part in free if part.delta.paths & whole.delta.paths]
            named = [part for part in free if any(part.oid.startswith(oid) for oid in whole.sources)]
            found = _run(free, whole) or _run(named, whole) or _run(inside, whole) or _subset(inside, whole)
            if found:
                ends = (found, [whole]) if how == "squash" else ([whole], found)
                self._match(*ends, how)

    def similar_squashes(self) -> None:
        """One commit that is nearly several of the other side together."""
        for target in self._free(self.targets):
            near = [source for source in self._free(self.sources) if not self._elsewhere(source, target)]
            parts = [s for s in near if s.delta.weight and s.delta.overlap(target.delta) >= _HELD * s.delta.weight]
            if len(parts) < 2 or any(part not in parts for part in self._port(target)):
                continue
            parts, together = _with_hidden(parts, near, target)
            if together >= 0.6 and together > max(p.delta.likeness(target.delta) for p in near) + 0.1:
                self._match(parts, [target], "similar squash", together)

    def _may_be_in(self, part: Told, whole: Told, how: How) -> bool:
        """Not where the source has a port by its own word and this part does what the whole does not."""
        source, target = (part, whole) if how == "squash" else (whole, part)
        within = all(whole.delta.items.get(item, 0) * n > 0 for item, n in part.delta.items.items())
        return within or not self._elsewhere(source, target)

    def _elsewhere(self, source: Told, target: Told) -> bool:
        """Whether another target commit by the source's author says that it is the port of this source."""
        naming = self._naming.get(source.oid, [])
        return bool(naming) and target.oid not in naming

    def _port(self, target: Told) -> list[Told]:
        """The free sources a target commit is the port of by all it says: trailers, author and subject."""
        held = self._free(self._named.get(target.oid, ()))
        return held if any(source.subject == target.subject for source in held) else []

    def named(self) -> None:
        """Ports by their own word, whatever was made of their lines: trailer, author and subject agree."""
        said = {target.oid: held for target in self._free(self.targets) if (held := self._port(target))}
        rivals = Counter(source.oid for held in said.values() for source in held)
        for target in self._free(self.targets):
            held = said.get(target.oid, [])
            if held and all(rivals[source.oid] == 1 for source in held):
                self._match(held, [target], "named", sum((s.delta for s in held), EMPTY).likeness(target.delta))
        for source in self._free(self.sources):
            mates = [target for target in self._free(self.targets) if source in said.get(target.oid, ())]
            like = {target.oid: 1 + source.delta.likeness(target.delta) for target in mates}
            best = _clear_best([(value, oid) for oid, value in like.items()], _GAP) if mates else []
            if best:
                self._match([source], [t for t in mates if t.oid in best], "named", like[best[0]] - 1)
            elif mates:
                self.ties.append(Tie((source.oid,), _oids(mates), "named by each of them"))
                self._taken.update((source.oid,), _oids(mates))

    def similar(self) -> None:
        """Ports that somebody resolved, adapted or amended: the mutual best, and only where it is clearly the best."""
        sources, targets = self._free(self.sources), self._free(self.targets)
        near = _likenesses(sources, targets)
        if self.onward:
            there = ([replace(c, delta=self.onward(c)) for c in side] for side in (sources, targets))
            for ends, like in _likenesses(*there).items():
                near[ends] = max(like, near.get(ends, 0.0))

        def score(source: Told, target: Told) -> float:
            if self._elsewhere(source, target) or (self._named.get(target.oid) and not _names(target, source)):
                return 0.0
            like = near.get((source.oid, target.oid), 0.0)
            agreed = evidence(source, target)
            return like + sum(_BONUS[told] for told in agreed) if like >= _need(agreed) else 0.0

        for source, target in best_mates(sources, targets, score, gap=_GAP):
            self._match([source], [target], "similar", near[source.oid, target.oid])
        left, right = self._free(self.sources), self._free(self.targets)
        for source in left:
            equals = [target for target in right if score(source, target) > 0]
            if len(equals) > 1:
                self.ties.append(Tie((source.oid,), _oids(equals), "equally similar"))


_BONUS = {"trailer": 0.3, "subject": 0.2, "author and date": 0.25, "author": 0.05}


def _names(target: Told, source: Told) -> bool:
    return any(source.oid.startswith(oid) for oid in target.sources)


def evidence(source: Told, target: Told) -> tuple[str, ...]:
    """What besides the content says that two commits are one."""
    agreed = []
    if _names(target, source):
        agreed.append("trailer")
    if source.subject == target.subject and source.subject:
        agreed.append("subject")
    if source.author == target.author:
        agreed.append("author and date" if source.author_date == target.author_date else "author")
    return tuple(agreed)


def _agreement(source: Told, target: Told) -> int:
    worth = {"trailer": 8, "author and date": 4, "subject": 2, "author": 1}
    return sum(worth[told] for told in evidence(source, target))


def _need(agreed: tuple[str, ...]) -> float:
    """How much of two commits has to be the same, the less the more evidence there is."""
    if "trailer" in agreed or {"subject", "author and date"} <= set(agreed):
        return 0.1
    if "subject" in agreed or "author and date" in agreed:
        return 0.25
    return 0.4 if "author" in agreed else 0.5


def best_mates(
    left: Sequence[Told],
    right: Sequence[Told],
    score: Callable[[Told, Told], float],
    *,
    gap: float,
    least: float = 0.0,
) -> list[tuple[Told, Told]]:
    """Mutual bests that lead the next best by a gap; a pair that is sure takes its ends out of the running."""
    scores = {(s.oid, t.oid): value for s in left for t in right if (value := score(s, t)) > least}
    of = {commit.oid: commit for commit in (*left, *right)}
    found: list[tuple[Told, Told]] = []
    while True:
        rows = defaultdict(list)
        columns = defaultdict(list)
        for (s, t), value in scores.items():
            rows[s].append((value, t))
            columns[t].append((value, s))
        sure = [
            (s, t)
            for s, row in rows.items()
            for t in _clear_best(row, gap)
            if _clear_best(columns[t], gap) == [s]
        ]
        if not sure:
            return found
        found += [(of[s], of[t]) for s, t in sure]
        gone = {oid for ends in sure for oid in ends}
        scores = {ends: value for ends, value in scores.items() if not gone & set(ends)}


def _clear_best(row: list[tuple[float, str]], gap: float) -> list[str]:
    ranked = sorted(row, reverse=True)
    return [ranked[0][1]] if len(ranked) == 1 or ranked[0][0] - ranked[1][0] >= gap else []


def _with_hidden(parts: list[Told], near: Sequence[Told], target: Told) -> tuple[list[Told], float]:
    """The parts of a squash and those that bring them nearer to it: what one part does, another may have undone."""
    total = sum((part.delta for part in parts), EMPTY)
    together = total.likeness(target.delta)
    for other in near:
        nearer = (total + other.delta).likeness(target.delta)
        if other not in parts and nearer > together:
            total, together = total + other.delta, nearer
            parts = [commit for commit in near if commit in parts or commit is other]
    return parts, together


def _run(parts: Sequence[Told], whole: Told) -> list[Told]:
    """The shortest run of neighbours whose sum is the whole."""
    at = {0: 0}
    total = 0
    best: tuple[int, int] | None = None
    for end, part in enumerate(parts, 1):
        total = (total + part.delta.signature) % MODULUS
        start = at.get((total - whole.delta.signature) % MODULUS)
        if start is not None and (best is None or end - start < best[1] - best[0]):
            best = (start, end)
        at[total] = end
    return list(parts[best[0] : best[1]]) if best else []


def _subset(parts: Sequence[Told], whole: Told) -> list[Told]:
    """The only smallest set of a few commits whose sum is the whole."""
    if len(parts) > _FEW:
        return []
    for size in range(2, len(parts) + 1):
        found = [
            chosen
            for chosen in combinations(parts, size)
            if sum(part.delta.signature for part in chosen) % MODULUS == whole.delta.signature
        ]
        if found:
            return list(found[0]) if len(found) == 1 else []
    return []


def _likenesses(sources: Sequence[Told], targets: Sequence[Told]) -> dict[tuple[str, str], float]:
    """Likeness of each two commits that share a telling line or some evidence."""
    holders: dict[Item, list[Told]] = defaultdict(list)
    for source in sources:
        for item in source.delta.without_paths.items:
            holders[item].append(source)
    found: dict[tuple[str, str], float] = {}
    for target in targets:
        hits: Counter[str] = Counter()
        for item in target.delta.without_paths.items:
            mates = holders.get(item, ())
            if len(mates) <= _COMMON:
                hits.update(mate.oid for mate in mates)
        for source in sources:
            if source.oid in hits or evidence(source, target):
                found[source.oid, target.oid] = source.delta.likeness(target.delta)
    return found


def _alike(
    sources: Iterable[Told], targets: Iterable[Told], key: Callable[[Told], object]
) -> list[tuple[list[Told], list[Told]]]:
    """The commits with content that have one key, where both sides have some."""
    groups: dict[object, tuple[list[Told], list[Told]]] = defaultdict(lambda: ([], []))
    for side, commits in enumerate((sources, targets)):
        for commit in commits:
            if commit.delta.items:
                groups[key(commit)][side].append(commit)
    return [sides for sides in groups.values() if all(sides)]


def _oids(commits: Iterable[Told]) -> tuple[str, ...]:
    return tuple(commit.oid for commit in commits)


def undone_by(delta: Delta) -> int:
    """The signature of a commit that takes another one back."""
    return -delta.signature % MODULUS
