"""Fenced blocks of shell in Markdown, and where a command's arguments begin in them."""

from __future__ import annotations

import re

_FENCE = re.compile(rb"^[ \t]*(`{3,}|~{3,})[ \t]*(?:\{?\.?)(bash|sh|shell|zsh|console|shell-session)\b[^\n]*\n", re.M)
_ASSIGNMENT = re.compile(rb"[A-Za-z_]\w*\+?=")
_NO_COMMAND = frozenset((b"export", b"env", b"local", b"declare", b"readonly", b"typeset", b"set", b"alias", b"$"))


def shell_blocks(source: bytes) -> list[tuple[int, int]]:
    """The spans of a text's fenced blocks of shell, in order and apart."""
    blocks: list[tuple[int, int]] = []
    for opening in _FENCE.finditer(source):
        close = source.find(b"\n" + opening.group(1), opening.end() - 1)
        start, end = opening.end(), close if close >= 0 else len(source)
        if blocks and start <= blocks[-1][1]:
            first, last = blocks.pop()
            start, end = first, max(end, last)
        blocks.append((start, end))
        if close < 0:
            break  # all that follows is inside
    return blocks


def is_command(line: bytes) -> bool:
    """Whether a command of a shell block has its name in this much of its line, so that arguments follow."""
    told = [word for word in line.split() if not _ASSIGNMENT.match(word) and word != b"\\"]
    return any(word not in _NO_COMMAND for word in told) and told[0] not in _NO_COMMAND - {b"$", b"env"}
