"""What `.gitattributes` files call binary: such a file has a path that is mapped, and bytes that are not looked at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

NAME = ".gitattributes"
_MEANINGS = {"binary": True, "-diff": True, "-binary": False, "!binary": False, "diff": False, "!diff": False}
_STAR = re.compile(r"\*\*/|/\*\*$|\*|\?|\[[^\]]+\]|[^*?\[/]+|[/\[]")


def attribute_files(path: str) -> Iterator[str]:
    """The files that may say something about a path, the nearest last, as git reads them."""
    yield NAME
    for at, letter in enumerate(path):
        if letter == "/":
            yield f"{path[:at]}/{NAME}"


def called_binary(path: str, attributes: Mapping[str, bytes]) -> bool:
    """Whether the attribute files of a tree call this path binary; the last line that says so or denies it counts."""
    found = False
    for file in attribute_files(path):
        blob = attributes.get(file)
        if blob is not None:
            below = path[len(file) - len(NAME) :]
            for pattern, binary in _lines(blob):
                if pattern.fullmatch(below):
                    found = binary
    return found


@lru_cache(maxsize=256)
def _lines(blob: bytes) -> tuple[tuple[re.Pattern[str], bool], ...]:
    """The lines that say whether a path is binary, as patterns over paths below the file's folder."""
    found = []
    for line in blob.decode("utf-8", "surrogateescape").splitlines():
        words = line.split()
        told = [_MEANINGS[word] for word in words[1:] if word in _MEANINGS]
        if told and not line.lstrip().startswith(("#", "[attr]")):
            found.append((_pattern(words[0].strip('"')), told[-1]))
    return tuple(found)


def _pattern(glob: str) -> re.Pattern[str]:
    """A pattern with a slash is anchored; one without matches a name at any depth; a broken one matches nothing."""
    lead = "" if "/" in glob.rstrip("/") else "(?:.*/)?"
    try:
        return re.compile(lead + "".join(map(_piece, _STAR.findall(glob.removeprefix("/")))), re.DOTALL)
    except re.error:
        return re.compile("(?!)")


def _piece(piece: str) -> str:
    match piece:
        case "**/":
            return "(?:.*/)?"
        case "/**":
            return "/.*"
        case "*":
            return "[^/]*"
        case "?":
            return "[^/]"
    if piece.startswith("[") and len(piece) > 1:
        return "[" + piece[1:-1].replace("\\", "\\\\").replace("!", "^", piece[1] == "!") + "]"
    return re.escape(piece)
