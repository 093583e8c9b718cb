"""Which commit that is not ported a conflict depends on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from porttool.errors import LayoutError
from porttool.plan import Plan
from porttool.port_merge import Conflict, delta_of
from porttool.repo import EMPTY_TREE, Commit, Entry, Repository, is_binary, line_changes
from porttool.translate import Translator

Signed = tuple[str, bytes]  # a line put in (+) or taken out (-)
_SEARCHED = 500
_HUNK = re.compile(
    rb"^<{7} [^\n]*\n(?P<ours>.*?)^\|{7} [^\n]*\n(?P<base>.*?)^={7}\r?\n.*?^>{7} ", re.MULTILINE | re.DOTALL
)


def needed(plan: Plan, translator: Translator, source: Commit, conflicts: Iterable[Conflict]) -> tuple[str, ...]:
    """Source commits before `source`, on no target and not in the plan before it, that it builds on. Newest first.

    A commit counts where it put in a line that the source had in the place of the conflict and the target lacks
    there, or took one out that the target has; where none did, the places of the whole file count.
    """
    repository = plan.repository
    apart = {found.path: _apart(repository, found) for found in conflicts}
    if not source.parents or not any(whole for _, whole in apart.values()):
        return ()
    here = set(_before(plan, source.oid))
    older = repository.history([source.parents[0]], [plan.tip])
    close: list[str] = []
    wide: list[str] = []
    for oid in islice(reversed(older), _SEARCHED):
        commit = repository.commit(oid)
        if len(commit.parents) > 1 or oid in here:
            continue
        done = _done(repository, translator, commit, apart)
        if any(lines & apart[path][0] for path, lines in done.items()):
            close.append(oid)
        if any(lines & apart[path][1] for path, lines in done.items()):
            wide.append(oid)
    return tuple(close or wide)


def _before(plan: Plan, oid: str) -> Iterator[str]:
    """The sources that the plan ports before one of them, and those the target has already."""
    skipped = {plan.repository.resolve(rev, plan.remote) for rev in plan.manifest.skip}
    yield from (left.source for left in plan.left if left.source not in skipped)
    for step in plan.steps:
        for name in step.sources:
            if name == oid:
                return
            yield name


def _apart(repository: Repository, conflict: Conflict) -> tuple[frozenset[Signed], frozenset[Signed]]:
    """How the source's version before the commit is not the target's: where they conflict, and in the whole file."""
    base, ours, _ = conflict.sides
    whole = _signed(_text(repository, ours), _text(repository, base))
    shown = _text(repository, conflict.shown) if conflict.kind == "content" else b""
    close = [_signed(hunk["ours"], hunk["base"]) for hunk in _HUNK.finditer(shown)]
    return frozenset().union(*close), whole


def _signed(old: bytes, new: bytes) -> frozenset[Signed]:
    told = ((change.sign, change.text.rstrip(b"\r\n")) for change in line_changes(old, new))
    return frozenset((sign, text) for sign, text in told if text.strip())


def _text(repository: Repository, entry: Entry | None) -> bytes:
    if entry is None or not entry.is_regular:
        return b""
    content = repository.read(entry.oid)
    return b"" if is_binary(content) else content


def _done(
    repository: Repository, translator: Translator, commit: Commit, paths: Iterable[str]
) -> Mapping[str, frozenset[Signed]]:
    """What a commit did to some paths, in target names."""
    parent = repository.commit(commit.parents[0]).tree if commit.parents else EMPTY_TREE
    try:
        delta = delta_of(repository, translator, parent, commit.tree)
    except LayoutError:
        return {}
    touched = set(delta.paths)
    return {
        path: _signed(_text(repository, delta.base.get(path)), _text(repository, delta.theirs.get(path)))
        for path in paths
        if path in touched
    }
