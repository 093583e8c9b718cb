"""Prefix generalisation: the fewest pairs that put every name where it was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from porttool.names import Name, Pair, Renaming

_GUESS = 0.34  # price of each name a directory pair would move that nobody saw move: two seen ones outweigh five
_TRIES = 4  # candidate places per directory


@dataclass(frozen=True)
class Prefix:
    """One written pair and the moves that support it; `whole` marks a directory (or a subtree of keys)."""

    old: Name
    new: Name
    whole: bool
    seen: tuple[Name, ...]


@dataclass
class _Node:
    name: Name
    children: dict[str, _Node] = field(default_factory=dict)
    leaves: dict[str, Name | None] = field(default_factory=dict)  # name -> where it went; None: nobody knows
    votes: Counter[Name] = field(default_factory=Counter)

    @cached_property
    def candidates(self) -> tuple[Name, ...]:
        ranked = sorted(self.votes.items(), key=lambda vote: (-vote[1], vote[0]))
        return tuple(place for place, _ in ranked[:_TRIES])


Cost = tuple[float, int]


def generalise(moves: Mapping[Name, Name], unknown: Iterable[Name] = ()) -> tuple[Prefix, ...]:
    """The cheapest pairs under which every name of `moves` (one that stays maps to itself) goes to its place.

    `unknown` names may go anywhere, at a price. A name that would not round-trip gets a pair that holds it in place.
    """
    barred: frozenset[tuple[Name, Name]] = frozenset()
    while True:
        pairs = _Chooser(_trie(moves, unknown), moves, barred).pairs()
        clashing = _clashing(pairs, moves, unknown)
        if not clashing:
            return _with_support(pairs, moves)
        barred |= clashing


def one_to_one(moves: Mapping[Name, Name]) -> dict[Name, Name]:
    """The moves without those that would put a name where another one is."""
    takers = Counter(moves.values())
    return {name: place for name, place in moves.items() if takers[place] == 1 or name == place}


def _trie(moves: Mapping[Name, Name], unknown: Iterable[Name]) -> _Node:
    root = _Node(())
    for name, place in [*moves.items(), *((name, None) for name in unknown)]:
        node = root
        for depth, segment in enumerate(name[:-1], 1):
            node = node.children.setdefault(segment, _Node(name[:depth]))
        node.leaves[name[-1]] = place
        if place is None:
            continue
        chain = [root]
        for segment in name[:-1]:
            chain.append(chain[-1].children[segment])
        for back in range(1, min(len(name), len(place))):
            chain[len(name) - back].votes[place[: len(place) - back]] += 1
            if name[-back - 1] != place[-back - 1]:
                break
    return root


class _Chooser:
    """Walks the trie for the cheapest choice; the state of a node is where its parent's choice puts it."""

    def __init__(self, root: _Node, moves: Mapping[Name, Name], barred: frozenset[tuple[Name, Name]]) -> None:
        self._root = root
        self._barred = barred
        self._memo: dict[tuple[Name, Name], tuple[Cost, Name]] = {}
        self._residents: Counter[Name] = Counter()
        for name, place in moves.items():
            if name == place:
                self._residents.update({name[:depth] for depth in range(1, len(name))})

    def pairs(self) -> list[tuple[Name, Name, bool]]:
        found: list[tuple[Name, Name, bool]] = []
        todo: list[tuple[_Node, Name]] = [(self._root, ())]
        while todo:
            node, at = todo.pop()
            choice = self._best(node, at)[1]
            if choice != at:
                found.append((node.name, choice, True))
            for leaf, place in node.leaves.items():
                if place is not None and place != (*choice, leaf):
                    found.append(((*node.name, leaf), place, False))
            todo += [(child, (*choice, segment)) for segment, child in node.children.items()]
        return found

    def _best(self, node: _Node, at: Name) -> tuple[Cost, Name]:
        known = self._memo.get((node.name, at))
        if known is None:
            options = [at] if not node.name else [at, *(c for c in node.candidates if c != at)]
            costs = [
                (self._cost(node, at, option), position, option)
                for position, option in enumerate(options)
                if (node.name, option) not in self._barred or option == at
            ]
            cost, _, choice = min(costs)
            known = self._memo[node.name, at] = cost, choice
        return known

    def _cost(self, node: _Node, at: Name, choice: Name) -> Cost:
        price, taste = 0.0, 0
        if choice != at:
            # Whatever lives at the new place already needs a pair that holds it there.
            price += 1.0 + (self._residents[choice] if choice != node.name else 0)
            taste += 2 if choice and node.name[-1] == choice[-1] else 1
        moved = choice != node.name
        for leaf, place in node.leaves.items():
            if place is None:
                price += _GUESS if moved else 0.0
            elif place != (*choice, leaf):
                price += 1.0
        for segment, child in node.children.items():
            (more, extra), _ = self._best(child, (*choice, segment))
            price, taste = price + more, taste + extra
        return (round(price, 6), taste)


def _clashing(
    pairs: list[tuple[Name, Name, bool]], moves: Mapping[Name, Name], unknown: Iterable[Name]
) -> frozenset[tuple[Name, Name]]:
    """Directory pairs that would move a name onto one that is in use; names held in place are added to `pairs`."""
    news: dict[Name, Name] = {}
    for old, new, _ in pairs:
        if new in news:
            return frozenset({(o, n) for o, n, whole in pairs if n == new and whole})
        news[new] = old
    for _ in range(len(moves) + 1):
        renaming = Renaming("name", tuple(Pair(old, new) for old, new, _ in pairs), "/")
        lost = next((name for name in [*moves, *unknown] if name not in renaming), None)
        if lost is None:
            return frozenset()
        place = moves.get(lost)
        if place == lost and lost not in {new for _, new, _ in pairs}:
            pairs.append((lost, lost, False))
            continue
        back = renaming.inverse().match(renaming.map(lost))
        guilty = frozenset((o, n) for o, n, whole in pairs if whole and back is not None and n == back[0].old)
        found = renaming.match(lost)
        return guilty or frozenset((o, n) for o, n, whole in pairs if whole and found and o == found[0].old)
    return frozenset()


def _with_support(pairs: list[tuple[Name, Name, bool]], moves: Mapping[Name, Name]) -> tuple[Prefix, ...]:
    renaming = Renaming("name", tuple(Pair(old, new) for old, new, _ in pairs), "/")
    seen: dict[Name, list[Name]] = {old: [] for old, _, _ in pairs}
    for name in sorted(moves):
        found = renaming.match(name)
        if found is not None:
            seen[found[0].old].append(name)
    return tuple(Prefix(old, new, whole, tuple(seen[old])) for old, new, whole in sorted(pairs))
