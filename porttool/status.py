"""Where two branches stand: which commits are on both, whatever the layout, the message or the rebase."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from porttool.repo import Repository
from porttool.status_delta import Delta, Told, delta_of, told
from porttool.status_pair import Match, Pairing, Tie, pair, undone_by
from porttool.translate import Translator

State = Literal["ported", "changed since", "missing", "only there", "dropped"]


@dataclass(frozen=True)
class Standing:
    """One commit and how it stands; `mates` are the commits of the other branch that hold it."""

    oid: str
    subject: str
    author: str
    state: State
    mates: tuple[str, ...] = ()
    how: str = ""
    likeness: float = 0.0
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class LostAuthors:
    """A target commit that holds the work of people it names neither as author nor as co-author."""

    target: str
    author: str
    sources: tuple[str, ...]
    lost: tuple[str, ...]


@dataclass(frozen=True)
class Status:
    """Every commit of both branches, once."""

    source: tuple[Standing, ...]
    target: tuple[Standing, ...]
    ties: tuple[Tie, ...] = ()
    lost_authors: tuple[LostAuthors, ...] = ()

    def of(self, state: State) -> tuple[Standing, ...]:
        """The commits in one state, of both branches."""
        return tuple(standing for standing in (*self.source, *self.target) if standing.state == state)

    @property
    def unported(self) -> frozenset[str]:
        """Source commits that the target does not hold."""
        return frozenset(standing.oid for standing in self.source if standing.state in ("missing", "dropped"))


def status(
    repository: Repository,
    source: Sequence[str],
    target: Sequence[str],
    translator: Translator,
    *,
    patches: Mapping[str, str] | None = None,
    listed: Collection[str] = (),
    skipped: Collection[str] = (),
    declared: Collection[str] = (),
) -> Status:
    """Pairs two ranges of commits, parents first.

    `patches` are patch files by name, each with the commit it makes on the target: they are told with the source's.
    `listed` are the commits the manifest picks, `skipped` those it leaves out, `declared` those with an adaptation or
    a recorded resolution: for them a delta that differs is the port itself, not a later change.
    """
    back = translator.inverse()
    sources = [told(repository, oid) for oid in source]
    sources += [replace(told(repository, oid, back), oid=name) for name, oid in (patches or {}).items()]
    targets = [told(repository, oid, back) for oid in target]
    pairing = pair(sources, targets, Onward(repository, translator, source, patches or {}))
    return standings(sources, targets, pairing, listed=listed, skipped=skipped, declared=declared)


class Onward:
    """What a commit does in the names of the target, read once."""

    def __init__(
        self, repository: Repository, translator: Translator, source: Collection[str], patches: Mapping[str, str]
    ) -> None:
        self._repository, self._translator = repository, translator
        self._source, self._patches = frozenset(source), patches
        self._known: dict[str, Delta] = {}

    def __call__(self, commit: Told) -> Delta:
        found = self._known.get(commit.oid)
        if found is None:
            there = self._repository.commit(self._patches.get(commit.oid, commit.oid))
            translator = self._translator if commit.oid in self._source else None
            found = self._known[commit.oid] = delta_of(self._repository, there, translator)
        return found


def standings(
    sources: Sequence[Told],
    targets: Sequence[Told],
    pairing: Pairing,
    *,
    listed: Collection[str] = (),
    skipped: Collection[str] = (),
    declared: Collection[str] = (),
) -> Status:
    """The state of each commit once the branches are paired."""
    matched = {oid: match for match in pairing.matches for oid in (*match.sources, *match.targets)}
    undone = _taken_back(targets, matched)
    dropped = set(skipped) | _left_out(sources, matched, listed)
    here = []
    for commit in sources:
        match = matched.get(commit.oid)
        if match is None:
            here.append(_standing(commit, "dropped" if commit.oid in dropped else "missing", None))
        elif undone & set(match.targets):
            here.append(_standing(commit, "dropped", match))
        else:
            same = not match.how.startswith(("similar", "named")) or commit.oid in declared
            here.append(_standing(commit, "ported" if same else "changed since", match))
    state_of = {standing.oid: standing.state for standing in here}
    there = []
    for commit in targets:
        match = matched.get(commit.oid)
        there.append(_standing(commit, state_of[match.sources[0]] if match else "only there", match))
    return Status(tuple(here), tuple(there), pairing.ties, lost_authors(sources, targets, pairing.matches))


def _standing(commit: Told, state: State, match: Match | None) -> Standing:
    if match is None:
        return Standing(commit.oid, commit.subject, commit.author, state)
    mates = match.targets if commit.oid in match.sources else match.sources
    return Standing(
        commit.oid, commit.subject, commit.author, state, mates, match.how, match.likeness, match.evidence
    )


def _taken_back(targets: Sequence[Told], matched: Collection[str]) -> set[str]:
    """Target commits that a later, unpaired target commit takes back line for line."""
    gone: set[str] = set()
    for at, later in enumerate(targets):
        if later.oid in matched or not later.delta.items:
            continue
        for earlier in reversed(targets[:at]):
            if earlier.oid not in gone and undone_by(later.delta) == earlier.delta.signature:
                gone.add(earlier.oid)
                break
    return gone


def _left_out(sources: Sequence[Told], matched: Collection[str], listed: Collection[str]) -> set[str]:
    """Listed commits that are not there although later ones of the list are: the series was applied without them."""
    order = [commit.oid for commit in sources if commit.oid in listed]
    there = [at for at, oid in enumerate(order) if oid in matched]
    return {oid for at, oid in enumerate(order) if oid not in matched and there and at < there[-1]}


def lost_authors(
    sources: Iterable[Told], targets: Iterable[Told], matches: Iterable[Match]
) -> tuple[LostAuthors, ...]:
    """Where a landing squashed authorship away."""
    of = {commit.oid: commit for commit in (*sources, *targets)}
    found = []
    for match in matches:
        owed = dict.fromkeys(of[oid].author for oid in match.sources)
        named = {name for oid in match.targets for name in (of[oid].author, *of[oid].co_authors)}
        lost = tuple(author for author in owed if author not in named)
        if lost:
            head = match.targets[0]
            found.append(LostAuthors(head, of[head].author, match.sources, lost))
    return tuple(found)


def landed(repository: Repository, branch: Sequence[str], landing: Sequence[str]) -> Status:
    """How the commits of a branch arrived on the branch that took them in; both are in one layout."""
    sources = [told(repository, oid) for oid in branch]
    targets = [told(repository, oid) for oid in landing]
    return standings(sources, targets, pair(sources, targets))
