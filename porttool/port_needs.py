"""Which commit that is not ported a conflict depends on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

from porttool.errors import LayoutError
from porttool.plan import Plan
from porttool.port_merge import Conflict, delta_of
from porttool.repo import EMPTY_TREE, Commit, Entry, Repository, is_binary, line_changes
from porttool.translate import Translator

_SEARCHED = 500


def needed(
    plan: Plan, translator: Translator, source: Commit, conflicts: Iterable[Conflict]
) -> tuple[str, ...]:
    """Source commits before `source`, on no target and not in the plan before it, that wrote lines it builds on.

    A commit counts where it added a line that the source's version before has and the target's lacks, or where it
    made a file the target does not have. Newest first.
    """
    repository = plan.repository
    missing = {found.path: _missing(repository, found) for found in conflicts}
    missing = {path: lines for path, lines in missing.items() if lines}
    if not missing or not source.parents:
        return ()
    here = {name for step in plan.steps for name in step.sources}
    older = repository.history([source.parents[0]], [plan.tip])
    found = []
    for oid in islice(reversed(older), _SEARCHED):
        commit = repository.commit(oid)
        if len(commit.parents) < 2 and oid not in here and _wrote(repository, translator, commit, missing):
            found.append(oid)
    return tuple(found)


def _missing(repository: Repository, conflict: Conflict) -> frozenset[bytes]:
    """Lines of the base that the target lacks; the whole base where the target has no such file."""
    base, ours, _ = conflict.sides
    told = _text(repository, base)
    if ours is None:
        return frozenset(told.splitlines())
    changes = line_changes(_text(repository, ours), told)
    return frozenset(change.text.rstrip(b"\r\n") for change in changes if change.sign == "+" and change.text.strip())


def _text(repository: Repository, entry: Entry | None) -> bytes:
    if entry is None or not entry.is_regular:
        return b""
    content = repository.read(entry.oid)
    return b"" if is_binary(content) else content


def _wrote(
    repository: Repository, translator: Translator, commit: Commit, missing: Mapping[str, frozenset[bytes]]
) -> bool:
    parent = repository.commit(commit.parents[0]).tree if commit.parents else EMPTY_TREE
    try:
        delta = delta_of(repository, translator, parent, commit.tree)
    except LayoutError:
        return False
    for path in delta.paths:
        if path in missing:
            before, after = (_text(repository, side.get(path)) for side in (delta.base, delta.theirs))
            added = {change.text.rstrip(b"\r\n") for change in line_changes(before, after) if change.sign == "+"}
            if added & missing[path]:
                return True
    return False
