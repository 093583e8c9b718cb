"""The commands with which git alone builds the tree of a conflict, for those who would rather do it by hand."""

from __future__ import annotations

from shlex import quote

from porttool.port_merge import Ported
from porttool.repo import Entry, Labels, Repository, is_binary


def recipe(repository: Repository, onto: str, ported: Ported, labels: Labels) -> tuple[str, ...]:
    """Shell commands, run in the target repository; the last prints the id of the tree in the scratch worktree.

    The objects they name are stored when the conflict is laid out.
    """
    lines = [f'dir=$(mktemp -d) && export GIT_INDEX_FILE="$dir"/index && git read-tree {onto}']
    lines += [_set(path, entry) for path, entry in ported.edits.items()]
    for conflict in ported.conflicts:
        base, ours, theirs = conflict.sides
        if conflict.shown is None or conflict.shown == ours:
            lines.append(f"# {conflict.kind}: {conflict.path!r}: {conflict.hint}")
            continue
        merged = ours and theirs and not any(_binary(repository, side) for side in conflict.sides)
        if conflict.kind not in ("content", "added") or not merged:
            lines.append(_set(conflict.path, conflict.shown) + f"  # {conflict.kind}: {conflict.hint}")
            continue
        assert ours is not None and theirs is not None
        for name, side in (("base", base), ("ours", ours), ("theirs", theirs)):
            lines.append(f'git cat-file blob {side.oid} > "$dir"/{name}' if side else f': > "$dir"/{name}')
        told = " ".join(f"-L {quote(label)}" for label in labels)
        lines.append(f'git merge-file --diff3 {told} "$dir"/ours "$dir"/base "$dir"/theirs || true')
        oid = '$(git hash-object -w --no-filters "$dir"/ours)'
        lines.append(f"git update-index --add --cacheinfo {conflict.shown.mode:o},{oid},{quote(conflict.path)}")
    # Pasted into a shell, the commands must not leave its git with another index.
    return (*lines, "git write-tree && unset GIT_INDEX_FILE")


def _set(path: str, entry: Entry | None) -> str:
    if entry is None:
        return f"git update-index --force-remove -- {quote(path)}"
    return f"git update-index --add --cacheinfo {entry.mode:o},{entry.oid},{quote(path)}"


def _binary(repository: Repository, side: Entry | None) -> bool:
    return side is not None and (not side.is_regular or is_binary(repository.read(side.oid)))
