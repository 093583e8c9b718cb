"""Line differences of two contents, in process."""

from __future__ import annotations

from typing import NamedTuple

import pygit2
from pygit2.enums import DiffOption


class LineChange(NamedTuple):
    """One line taken out (`-`, line number in the old content) or put in (`+`, line number in the new one)."""

    sign: str
    line: int
    text: bytes


def line_changes(old: bytes, new: bytes) -> list[LineChange]:
    """The changed lines from `old` to `new`, in order, as git's own diff finds them; every byte counts."""
    if old == new:
        return []
    patch = pygit2.Patch.create_from(old, new, context_lines=0, flag=DiffOption.FORCE_TEXT)
    return [
        LineChange(line.origin, line.old_lineno if line.origin == "-" else line.new_lineno, line.raw_content)
        for hunk in patch.hunks
        for line in hunk.lines
        if line.origin in "+-"
    ]
