"""Old names in a ported branch: what T rewrote, what is still there, and new names that lead to nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from porttool.leftovers import Mention, census, unresolved_keys, unresolved_targets
from porttool.plan import Plan
from porttool.repo import Repository
from porttool.translate import Culprit


class Carried(Protocol):
    """What the census asks of a proven commit."""

    @property
    def sources(self) -> tuple[str, ...]: ...

    @property
    def touched(self) -> tuple[str, ...]: ...


class TreeFiles(Mapping[str, bytes]):
    """The regular files of a tree, each read when it is asked for."""

    def __init__(self, repository: Repository, tree: str) -> None:
        self._repository = repository
        self._oids = {path: entry.oid for path, entry in repository.entries(tree).items() if entry.is_regular}

    def __getitem__(self, path: str) -> bytes:
        return self._repository.read(self._oids[path])

    def __iter__(self) -> Iterator[str]:
        return iter(self._oids)

    def __len__(self) -> int:
        return len(self._oids)


def mentions(plan: Plan, carried: Iterable[Carried], head: str, *, moved: bool = False) -> tuple[Mention, ...]:
    """The census over the files that the port touched, and what in them is unresolved in the whole target tree.

    `moved` is a branch that starts with a commit of pure movement: that touches every file.
    """
    repository = plan.repository
    rows = list(carried)
    result = TreeFiles(repository, repository.commit(head).tree)
    touched = {path for row in rows for path in row.touched if path in result}
    source: dict[str, bytes] = {}
    last = ""
    for row in rows:
        for oid in filter(repository.has, row.sources):
            last = oid
            for change in repository.changes_of(repository.commit(oid)):
                if change.new is not None and change.new.is_regular:
                    source[change.path] = repository.read(change.new.oid)
    if moved:
        last = plan.tip
        touched = set(result)
        before = TreeFiles(repository, repository.commit(last).tree)
        source = {**before, **source}
    found = census(plan.layout, source, {path: result[path] for path in sorted(touched)})
    if not last:
        return found
    before = TreeFiles(repository, repository.commit(last).tree)
    astray = [
        *unresolved_targets(plan.layout, before, result, only=touched),
        *unresolved_keys(plan.layout, before, result, only=touched),
    ]
    return (*found, *(_mention(culprit) for culprit in astray))


def _mention(culprit: Culprit) -> Mention:
    return Mention(culprit.path, culprit.line, culprit.text, culprit.kind, "unresolved", culprit.kind)
