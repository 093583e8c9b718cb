"""One patch file: DEP-3 header, message, and a git diff with one line of context."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timezone

from porttool.errors import ManifestError

REQUIRED = ("From", "Date", "Subject", "Origin", "Forwarded", "Applied-Upstream", "Last-Update")
OPTIONAL = ("Upstream-Commit", "Bug", "Reviewed-By")
CONTEXT = 1


@dataclass(frozen=True)
class Person:
    """Who wrote a patch."""

    name: str
    mail: str

    def __str__(self) -> str:
        return f"{self.name} <{self.mail}>"


@dataclass(frozen=True)
class Patch:
    """A patch as read: `fields` in file order, `message` with its subject and final newline, `diff` as git wrote it.

    `date` is as git stores it; `diff_line` is the line of the file at which the diff starts.
    """

    fields: Mapping[str, str]
    author: Person
    date: str
    message: bytes
    diff: bytes
    diff_line: int

    @property
    def author_line(self) -> bytes:
        return f"{self.author} {self.date}".encode("utf-8", "surrogateescape")


def person(text: str) -> Person | None:
    """`Name <mail>` as git accepts it, or None."""
    found = re.fullmatch(r"([^<>\n]*[^<>\s]) <([^<>\s]+)>", text)
    return Person(found[1].lstrip(), found[2]) if found else None


def raw_date(text: str) -> str | None:
    """ISO 8601 with a zone as git's `seconds +hhmm`, or None."""
    if not re.fullmatch(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[+-]\d\d:\d\d", text):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return f"{int(moment.timestamp())} {text[-6:].replace(':', '')}"


def iso_date(raw: str) -> str:
    """Git's `seconds +hhmm` as ISO 8601 in that zone."""
    seconds, zone = raw.split(" ")
    minutes = int(zone[1:3]) * 60 + int(zone[3:5])
    shown = datetime.fromtimestamp(int(seconds) + (-60 if zone[0] == "-" else 60) * minutes, timezone.utc)
    return f"{shown:%Y-%m-%dT%H:%M:%S}{zone[:3]}:{zone[3:]}"


def read_patch(source: bytes, where: str) -> Patch:
    """Parse a patch file and check its form. Raises ManifestError with `where:line`."""
    header, _, rest = source.partition(b"\n\n")
    fields, lines = _header(header, where)
    for name in REQUIRED:
        if not fields.get(name, "").strip():
            raise ManifestError(f"the DEP-3 field {name} is missing", f"{where}:1", f"add a line `{name}: ...`")
    body, mark, diff = (b"\n" + rest).partition(b"\n---\n")
    if not mark or not diff.startswith(b"diff --git "):
        raise ManifestError("no line `---` followed by a git diff", f"{where}:1", "write it with vendor_series export")
    author, moment = _checked(fields, lines, where)
    text = body[1:].strip(b"\n")
    message = fields["Subject"].encode("utf-8", "surrogateescape") + (b"\n\n" + text if text else b"") + b"\n"
    start = header.count(b"\n") + body.count(b"\n") + 4
    _check_context(diff, where, start)
    return Patch(fields, author, moment, message, diff, start)


def write_patch(fields: Mapping[str, str], message: bytes, diff: bytes) -> bytes:
    """The patch file of a commit; `fields` without Subject, which comes from `message`."""
    subject, _, body = message.partition(b"\n\n")
    told = dict(fields)
    told["Subject"] = subject.decode("utf-8", "surrogateescape").rstrip("\n")
    lines = [f"{name}: " + told[name].replace("\n", "\n ") for name in (*REQUIRED, *OPTIONAL) if name in told]
    header = "\n".join(lines).encode("utf-8", "surrogateescape")
    return header + b"\n\n" + (body.strip(b"\n") + b"\n" if body.strip(b"\n") else b"") + b"---\n" + diff


def _header(header: bytes, where: str) -> tuple[dict[str, str], dict[str, int]]:
    fields: dict[str, str] = {}
    lines: dict[str, int] = {}
    name = ""
    for number, line in enumerate(header.decode("utf-8", "surrogateescape").split("\n"), 1):
        if line.startswith(" ") and name:
            fields[name] += "\n" + line[1:]
            continue
        name, colon, value = line.partition(":")
        if not colon or name in fields or name not in (*REQUIRED, *OPTIONAL):
            what = f"the header field {name!r} is given twice" if name in fields else f"{line!r} is no header field"
            raise ManifestError(what, f"{where}:{number}", f"known: {', '.join((*REQUIRED, *OPTIONAL))}")
        fields[name] = value.removeprefix(" ")
        lines[name] = number
    return fields, lines


def _checked(fields: Mapping[str, str], lines: Mapping[str, int], where: str) -> tuple[Person, str]:
    author, moment = person(fields["From"]), raw_date(fields["Date"])
    wrong = [
        ("From", author is not None, "`Name <mail>`"),
        ("Date", moment is not None, "ISO 8601 with a zone, such as 2026-04-01T12:00:00+02:00"),
        ("Origin", _is_origin(fields["Origin"]), "upstream, backport, vendor or other, then `, where from`"),
        ("Forwarded", re.fullmatch(r"no|not-needed|yes|https?://\S+", fields["Forwarded"]), "no, not-needed or a URL"),
        ("Last-Update", _is_day(fields["Last-Update"]), "a day such as 2026-04-01"),
    ]
    for name, right, wanted in wrong:
        if not right:
            raise ManifestError(f"{name} is {fields[name]!r}", f"{where}:{lines[name]}", f"write {wanted}")
    assert author is not None and moment is not None
    return author, moment


def _is_origin(text: str) -> bool:
    return bool(re.fullmatch(r"(upstream|backport|vendor|other)(, .+)?", text))


def _is_day(text: str) -> bool:
    try:
        return text == date.fromisoformat(text).isoformat()
    except ValueError:
        return False


def _check_context(diff: bytes, where: str, start: int) -> None:
    """Each hunk may hold one line of context at either end, and two between changes that share it."""
    for number, marks in _hunks(diff):
        runs = [len(run) for run in re.findall(r" +", marks)]
        head, tail = len(marks) - len(marks.lstrip(" ")), len(marks) - len(marks.rstrip(" "))
        if head > CONTEXT or tail > CONTEXT or max(runs, default=0) > 2 * CONTEXT:
            hint = "write it with `git diff -U1`, or with vendor_series export"
            raise ManifestError("the context is wider than one line", f"{where}:{start + number}", hint)


def _hunks(diff: bytes) -> Iterator[tuple[int, str]]:
    """The line of each hunk in `diff` and the first character of each of its lines."""
    lines = diff.split(b"\n")
    at = 0
    while at < len(lines):
        found = re.match(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@", lines[at])
        if not found:
            at += 1
            continue
        first = at
        left, right = (1 if count is None else int(count) for count in found.groups())
        marks = ""
        while (left or right) and at + 1 < len(lines):
            at += 1
            mark = lines[at][:1].decode("latin-1") or " "
            if mark == "\\":
                continue
            left -= mark in " -"
            right -= mark in " +"
            marks += mark
        yield first, marks
        at += 1
