"""What a reviewer would ask about on added lines: width, dense comments, references that will not age well."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import NamedTuple

DENSE = 0.3  # share of comments among a file's added lines
_FEW = 10  # fewer added lines than this say nothing about density

_HASH = (".py", ".pyi", ".yaml", ".yml", ".sh", ".bash", ".toml", ".cfg", ".mk", "Makefile", "Dockerfile")
_SLASHES = (".c", ".h", ".cc", ".cpp", ".cu", ".cuh", ".go", ".js", ".ts", ".rs", ".java")
_PULL_REQUEST = re.compile(r"(?i)(?<![\w&])#\d{1,6}\b|\b(?:pr|pull|issue|mr)[ /#-]*\d+\b|/(?:pull|issues)/\d+")
_LINE_NUMBER = re.compile(r"(?i)\bline(?:s|no)?\s*[:#]?\s*\d+|\b[\w/.-]+\.\w{1,5}:\d+\b|\bL\d{2,}\b")


class Finding(NamedTuple):
    """One thing to ask about, at a line of the new file (0: the whole of the added lines)."""

    line: int
    kind: str
    text: str


def added_lines(old: bytes, new: bytes) -> list[tuple[int, str]]:
    """The lines of `new` that `old` does not have in their place, with their numbers."""
    before, after = old.splitlines(), new.splitlines()
    if not before:
        return [(number, _text(line)) for number, line in enumerate(after, 1)]
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    spans = [(low, high) for tag, _, _, low, high in matcher.get_opcodes() if tag in ("insert", "replace")]
    return [(number + 1, _text(after[number])) for low, high in spans for number in range(low, high)]


def findings(path: str, added: Iterable[tuple[int, str]], width: int) -> list[Finding]:
    """Findings on the added lines of one file."""
    found: list[Finding] = []
    comments = lines = header = 0
    for number, line in added:
        lines += bool(line.strip())
        if len(line) > width:
            found.append(Finding(number, "width", f"{len(line)} columns, more than {width}"))
        comment = comment_of(path, line)
        if comment is None:
            continue
        if header == number - 1 and line.startswith(("#", "//")):
            header = number  # the comment that opens a new file is its licence, not prose about code
        else:
            comments += line.lstrip().startswith(("#", "//"))
        for kind, pattern in (("reference", _PULL_REQUEST), ("line-number", _LINE_NUMBER)):
            if mention := pattern.search(comment):
                found.append(Finding(number, kind, f"a comment names {mention.group().strip()!r}"))
    if lines >= _FEW and comments > DENSE * lines:
        found.append(Finding(0, "comments", f"{comments} of {lines} added lines are comments"))
    return found


def comment_of(path: str, line: str) -> str | None:
    """The comment on a line, without its mark; None where there is none or the language is not known."""
    mark = "#" if path.endswith(_HASH) else "//" if path.endswith(_SLASHES) else ""
    if not mark or line.startswith("#!"):
        return None
    quote = ""
    for at, letter in enumerate(line):
        if quote:
            quote = "" if letter == quote and line[at - 1] != "\\" else quote
        elif letter in "\"'":
            quote = letter
        elif line.startswith(mark, at) and (at == 0 or line[at - 1].isspace()):
            return line[at + len(mark) :].strip()
    return None


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace")
