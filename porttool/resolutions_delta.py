"""What a resolution changes beyond the port itself."""

from __future__ import annotations

from difflib import unified_diff

from porttool.repo import Entry, Repository, is_binary
from porttool.resolutions import Resolution


def delta(repository: Repository, resolution: Resolution) -> tuple[str, ...]:
    """The lines of a diff from what T of the source gives to what was decided.

    T of the source is merged into the target's file, and stands whole wherever the two do not merge. Empty where the
    decision is to take it as it is. The three sides have to be in the repository.
    """
    port, result = _port(repository, resolution), resolution.result
    if port is None or result is None:
        return () if port is result else ("(the file stays)",) if result else ("(the file goes)",)
    head = () if port.mode == result.mode else (f"mode {port.mode:o} -> {result.mode:o}",)
    if port.oid == result.oid:
        return head
    sides = [repository.read(entry.oid) if entry.is_regular else b"\0" for entry in (port, result)]
    if any(map(is_binary, sides)):
        return (*head, f"{port.oid[:12]} -> {result.oid[:12]}")
    before, after = (side.decode("utf-8", "backslashreplace").splitlines() for side in sides)
    names = (f"ported/{resolution.path}", f"resolved/{resolution.path}")
    return (*head, *unified_diff(before, after, *names, lineterm=""))


def _port(repository: Repository, resolution: Resolution) -> Entry | None:
    """The entry that the source would leave at the path, were it always right."""
    base, ours, theirs = resolution.sides
    if theirs is None or ours is None or ours == theirs:
        return theirs if ours is None or theirs is None else ours
    if theirs == base:
        return ours
    if not all(side is None or side.is_regular for side in resolution.sides):
        return theirs
    contents = [repository.read(side.oid) if side else None for side in (base, ours, theirs)]
    merged = repository.merge_theirs(contents[0], contents[1] or b"", contents[2] or b"")
    return Entry(theirs.mode if base is None or ours.mode == base.mode else ours.mode, repository.write(merged))
