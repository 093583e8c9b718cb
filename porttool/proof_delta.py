"""Residuals: where a result differs from what T of its source gives, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from porttool.repo import Entry, Repository, is_binary, line_changes
from porttool.resolutions import Sides


@dataclass(frozen=True)
class Residual:
    """A place at which a commit does more or less than its source; line 0 is the file, path "" the commit itself.

    `kind`: extra or missing (a line, or with `file` the whole of it), mode, content, protected, author, message,
    encoding, trailers, parents, source, commit.
    """

    path: str
    line: int
    kind: str
    text: str = ""


def tree_residual(repository: Repository, expected: str, result: str) -> Iterator[Residual]:
    """Where a result's tree is not the tree it should be."""
    for change in repository.changes(expected, result):
        yield from entry_residual(repository, change.path, change.old, change.new)


def entry_residual(
    repository: Repository, path: str, expected: Entry | None, result: Entry | None
) -> Iterator[Residual]:
    """Where one path is not what it should be; extra lines are numbered in the result, missing ones in `expected`."""
    if expected == result:
        return
    if expected is None or result is None:
        yield Residual(path, 0, "missing file" if result is None else "extra file")
        return
    if expected.mode != result.mode:
        yield Residual(path, 0, "mode", f"{result.mode:o} and not {expected.mode:o}")
    if expected.oid == result.oid:
        return
    if not (expected.is_regular and result.is_regular):
        yield Residual(path, 0, "content", f"{result.oid[:12]} and not {expected.oid[:12]}")
        return
    before, after = repository.read(expected.oid), repository.read(result.oid)
    if is_binary(before) or is_binary(after):
        yield Residual(path, 0, "content", "a binary that is not the source's")
        return
    for change in line_changes(before, after):
        yield Residual(path, change.line, "extra" if change.sign == "+" else "missing", shown(change.text))


def resolved_residual(repository: Repository, path: str, sides: Sides, result: Entry | None) -> list[Residual]:
    """What a hand made of a conflict, beyond the change that T gives.

    The two changes, base to theirs and ours to result, are compared as sequences of lines taken out and put in, for
    around a conflict the files themselves differ.
    """
    base, ours, theirs = sides
    every = [side for side in (*sides, result) if side is not None]
    contents = [repository.read(side.oid) if side.is_regular else b"\0" for side in every]
    if any(map(is_binary, contents)):
        return list(entry_residual(repository, path, theirs, result))
    wanted = line_changes(_content(repository, base), _content(repository, theirs))
    done = line_changes(_content(repository, ours), _content(repository, result))
    told = [[(change.sign, change.text) for change in changes] for changes in (wanted, done)]
    matcher = SequenceMatcher(None, told[0], told[1], autojunk=False)
    found = []
    if (theirs is None) != (result is None):
        found.append(Residual(path, 0, "missing file" if result is None else "extra file"))
    elif theirs and result and base and ours and (theirs.mode != base.mode) != (result.mode != ours.mode):
        found.append(Residual(path, 0, "mode", f"{result.mode:o}"))
    for tag, low, high, low2, high2 in matcher.get_opcodes():
        if tag != "equal":
            found += [Residual(path, c.line, "missing", c.sign + shown(c.text)) for c in wanted[low:high]]
            found += [Residual(path, c.line, "extra", c.sign + shown(c.text)) for c in done[low2:high2]]
    return found


def _content(repository: Repository, entry: Entry | None) -> bytes:
    return b"" if entry is None else repository.read(entry.oid)


def shown(text: bytes) -> str:
    """A line for people, without its end."""
    return text.rstrip(b"\n").decode("utf-8", "backslashreplace")[:200]
