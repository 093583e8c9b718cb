"""The author, committer and message of a ported commit, as bytes.

The source's message is a prefix of the result's, so it can always be read off again; trailers come after it. Where the
source has no final newline the result has none either.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence

from porttool.errors import UsageError
from porttool.repo_objects import Commit, decode

PORTER = "porttool <porttool@localhost.invalid>"
PORTED_FROM = b"Ported-From"

_TRAILER = re.compile(rb"[A-Za-z0-9][A-Za-z0-9-]*[ \t]*:|\(cherry picked from commit |[ \t]")
_IDENTITY = re.compile(rb"(?P<who>.*>) ?(?P<seconds>-?\d+) (?P<zone>[+-]\d+)\Z", re.DOTALL)

Trailer = tuple[bytes, bytes]


def trailer(message: bytes, name: str) -> list[str]:
    """The values of our trailer `name` in a message, in order."""
    found = re.findall(rb"^" + re.escape(name.encode()) + rb": (.*?)\r?$", message, re.MULTILINE)
    return [value.decode("utf-8", "replace") for value in found]


def with_trailers(message: bytes, trailers: Iterable[Trailer]) -> bytes:
    """`message` followed by the trailers it does not hold yet; a trailer block at its end is continued.

    >>> with_trailers(b"topic: what\\n", [(b"Layout", b"1f")])
    b'topic: what\\n\\nLayout: 1f\\n'
    """
    have = set(message.splitlines())
    lines = [line for line in (name + b": " + value for name, value in trailers) if line not in have]
    if not lines:
        return message
    open_line = message and not message.endswith(b"\n")
    gap = b"\n" if open_line else b""
    if message.strip(b"\r\n") and not _ends_in_trailers(message) and not message.endswith((b"\n\n", b"\n\r\n")):
        gap += b"\n"
    return message + gap + b"\n".join(lines) + (b"" if open_line else b"\n")


def _ends_in_trailers(message: bytes) -> bool:
    if message.endswith((b"\n\n", b"\n\r\n")):
        return False
    paragraphs = re.split(rb"\n(?:[ \t]*\r?\n)+", message.rstrip(b"\r\n"))
    lines = paragraphs[-1].split(b"\n")
    return len(paragraphs) > 1 and not lines[0].startswith((b" ", b"\t")) and all(map(_TRAILER.match, lines))


def joined_message(sources: Sequence[Commit], subject: str) -> bytes:
    """The message before trailers: the source's own bytes, its subject replaced where the manifest gives one.

    Several sources give their messages one after the other, in the encoding of the first.
    """
    first = sources[0]
    new_subject = _encoded(subject, first)
    if len(sources) == 1:
        if not subject:
            return first.message
        _, newline, rest = first.message.partition(b"\n")
        return new_subject + newline + rest
    parts = [new_subject] if subject else []
    parts += [_in_encoding_of(first, source).strip(b"\n") for source in sources]
    return b"\n\n".join(parts) + b"\n"


def _in_encoding_of(first: Commit, other: Commit) -> bytes:
    if first.encoding == other.encoding:
        return other.message
    try:
        return decode(other.message, other.encoding).encode((first.encoding or b"utf-8").decode("ascii"))
    except (LookupError, UnicodeEncodeError) as error:
        hint = "port them as two commits, or list the UTF-8 one first"
        raise UsageError(f"its message cannot be written in the encoding of {first.oid}", other.oid, hint) from error


def _encoded(text: str, like: Commit) -> bytes:
    encoding = (like.encoding or b"utf-8").decode("ascii", "replace")
    try:
        return text.encode(encoding, "backslashreplace")
    except LookupError:
        return text.encode("utf-8", "surrogateescape")


def trailers_of(
    sources: Sequence[Commit],
    *,
    remote: str,
    digest: str,
    adapted: Iterable[tuple[str, str]] = (),
    upstream: Iterable[str] = (),
    signatures: str = "record",
) -> list[Trailer]:
    """The trailers of a ported commit, in their fixed order."""
    first = sources[0]
    found: list[Trailer] = []
    authors = [_who(first)]
    for source in sources[1:]:
        if _who(source) not in authors:
            authors.append(_who(source))
            found.append((b"Co-authored-by", _encoded(decode(_who(source), source.encoding), first)))
    found += [(b"Upstream", oid.encode("ascii")) for oid in upstream]
    told = _encoded(remote, first)
    found += [(PORTED_FROM, told + b"@" + source.oid.encode("ascii")) for source in sources]
    found.append((b"Layout", digest.encode("ascii")))
    found += [(b"Adapted", _encoded(f"{path}: {' '.join(why.split())}", first)) for path, why in adapted]
    if signatures == "record" and any(source.is_signed for source in sources):
        found.append((b"Source-Signature", b"present"))
    return found


def _who(commit: Commit) -> bytes:
    found = _IDENTITY.match(commit.author)
    return found["who"] if found else commit.author


def committer_line(
    policy: str, author: bytes, committer: bytes = b"", *, now: Callable[[], float] = time.time, me: str = PORTER
) -> bytes:
    """The raw committer: `author-date` and `Name <mail>` give the same bytes on every machine, `now` does not.

    An author line without a readable date falls back to the source committer's date.
    """
    if policy == "now":
        return f"{me} {int(now())} +0000".encode("utf-8", "surrogateescape")
    who = PORTER if policy == "author-date" else policy
    dated = _IDENTITY.match(author) or _IDENTITY.match(committer)
    seconds, zone = (dated["seconds"], dated["zone"]) if dated else (b"0", b"+0000")
    # An odd zone is the author's to keep; ours has to be one that every reader can parse.
    zone = zone if len(zone) == 5 else b"+0000"
    return who.encode("utf-8", "surrogateescape") + b" " + seconds + b" " + zone


def public_remote(location: str) -> str:
    """A repository as it may stand in a commit message: no password, and no folder of one machine.

    >>> public_remote("https://me:secret@host/o/verl"), public_remote("/home/me/verl"), public_remote("build/verl")
    ('https://host/o/verl', 'verl', 'build/verl')
    """
    if location.startswith(("/", "~", "file:")):
        return location.rstrip("/").rpartition("/")[2]
    return re.sub(r"^(\w[\w+.-]*://)[^/@]*@", r"\1", location)
