"""What is unusual in the commits of a plan, and what becomes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from porttool.plan import Plan
from porttool.repo import EMPTY_TREE, MODE_GITLINK, MODE_LINK, Change, Commit, Entry, is_binary

_FILES = ("submodules", "symlinks", "modes", "binaries", "CRLF")
KINDS = ("merges", "empties", *_FILES, "encodings", "signatures", "headers", "notes")


@dataclass(frozen=True)
class Tally:
    """One kind of unusual thing: what policy does with it, and each place: a commit, its path or its header."""

    kind: str
    policy: str
    places: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        return len(self.places)


def census(plan: Plan) -> tuple[Tally, ...]:
    """Every kind, those without a place too: that there are none is worth saying."""
    places: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for oid in [*(source for step in plan.steps for source in step.sources), *(left.source for left in plan.left)]:
        commit = plan.repository.commit(oid)
        parent = plan.repository.commit(commit.parents[0]).tree if commit.parents else EMPTY_TREE
        changes = plan.repository.changes(parent, commit.tree)
        for kind in _kinds_of_commit(plan, commit, changes):
            places[kind].append(oid[:12])
        places["headers"] += [f"{oid[:12]} {name.decode('utf-8', 'backslashreplace')}" for name in _odd(commit)]
        for change in changes:
            for kind in _kinds_of_change(plan, change):
                places[kind].append(f"{oid[:12]}:{change.path}")
    policies = _policies(plan)
    return tuple(Tally(kind, policies[kind], tuple(places[kind])) for kind in KINDS)


def _kinds_of_commit(plan: Plan, commit: Commit, changes: list[Change]) -> Iterator[str]:
    if len(commit.parents) > 1:
        yield "merges"
    if not changes:
        yield "empties"
    if commit.encoding is not None or not _is_utf8(commit.message + commit.author):
        yield "encodings"
    if commit.is_signed:
        yield "signatures"
    if commit.oid in plan.repository.noted:
        yield "notes"


def _odd(commit: Commit) -> Iterator[bytes]:
    """Headers that neither every commit has nor another kind tells of."""
    for name, _ in commit.extra:
        if not name.startswith(b"gpgsig"):
            yield name


def _kinds_of_change(plan: Plan, change: Change) -> Iterator[str]:
    sides = [side for side in (change.old, change.new) if side is not None]
    modes = {side.mode for side in sides}
    if MODE_GITLINK in modes:
        yield "submodules"
    if MODE_LINK in modes:
        yield "symlinks"
    if len(modes) > 1:
        yield "modes"
    contents = [_content(plan, side) for side in sides]
    if any(map(is_binary, contents)):
        yield "binaries"
    elif any(b"\r\n" in content for content in contents):
        yield "CRLF"


def _content(plan: Plan, side: Entry) -> bytes:
    return plan.repository.read(side.oid) if side.is_regular else b""


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _policies(plan: Plan) -> Mapping[str, str]:
    policy = plan.manifest.policy
    return {
        "merges": policy.merges,
        "empties": policy.empty,
        "submodules": "only the link that the commit changed moves",
        "symlinks": "the target is renamed as a path",
        "modes": "kept",
        "binaries": "moved whole; changed on both sides is a conflict",
        "CRLF": "kept byte for byte",
        "encodings": "message bytes and encoding header kept",
        "signatures": {"record": "dropped, a trailer says so", "drop": "dropped"}.get(policy.signatures, "refused"),
        "headers": "dropped, as git itself does when a commit is made anew",
        "notes": "not carried",
    }
