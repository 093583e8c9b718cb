"""A commit from a patch file: its header gives author, date and message; it is applied exactly or not at all."""

from __future__ import annotations

import email.errors
import email.header
import email.utils
import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from porttool.errors import ManifestError
from porttool.repo import MODE_EXECUTABLE, MODE_FILE, MODE_LINK, Entry, Repository
from porttool.repo_git import Git

_START = re.compile(rb"^(?:diff --git |--- (?:a/|/dev/null)|Index: )", re.MULTILINE)
_PATHS = re.compile(
    rb'^(?:---|\+\+\+) ("?[ab]/[^\t\r\n]+)'
    rb'|^(?:rename|copy) (?:from|to) ("?[^\r\n]+)'
    rb'|^diff --git ("?a/.+) ("?b/[^\r\n]+)',
    re.MULTILINE,
)
_ESCAPE = re.compile(rb'\\([0-3][0-7]{2}|[abtnvfr"\\])')
_ESCAPED = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))


@dataclass(frozen=True)
class Patch:
    """A patch file: the raw author line and message its header gives, and the diff."""

    file: Path
    author: bytes
    message: bytes
    diff: bytes
    digest: str

    @property
    def name(self) -> str:
        """What a commit's trailer says it was made from."""
        return f"{self.file.name}@{self.digest}"

    @property
    def paths(self) -> frozenset[str]:
        """Every path the diff reads or writes."""
        found: set[str] = set()
        for groups in _PATHS.findall(self.diff):
            plain, moved, left, right = groups
            found.update(_unquoted(name)[2:] for name in (plain, left, right) if name)
            if moved:
                found.add(_unquoted(moved))
        return frozenset(found)


def read_patch(file: Path, where: str = "") -> Patch:
    """Read a patch file. Raises ManifestError where a header that a commit needs is missing."""
    try:
        raw = file.read_bytes()
    except OSError as error:
        hint = "put the file there, or name another; the path is relative to the manifest"
        raise ManifestError(f"cannot read the patch {file}: {error.strerror}", where, hint) from error
    start = _START.search(raw)
    if start is None:
        raise ManifestError("the patch file holds no diff", str(file), "write it with `git format-patch`")
    head = raw[: start.start()]
    if head.startswith(b"From ") and b"\n" in head:
        head = head.split(b"\n", 1)[1]
    told, body = _headers(head)
    who = _header(told, file, "From", "Author")
    date = _date(_header(told, file, "Date"), file)
    subject = re.sub(r"^\[PATCH[^\]]*\]\s*", "", _header(told, file, "Subject", "Description"))
    text = re.split(rb"^---\s*$", body, maxsplit=1, flags=re.MULTILINE)[0].strip(b"\n")
    message = subject.encode("utf-8", "surrogateescape") + b"\n" + (b"\n" + text + b"\n" if text.strip() else b"")
    author = f"{who} {int(date.timestamp())} {date:%z}".encode("utf-8", "surrogateescape")
    if not re.fullmatch(rb"[^<>\0]*<[^<>\0]*> -?\d+ [+-]\d{4,}", author):
        raise ManifestError(f"the patch has no readable author: {who!r}", str(file), "write it as `Name <mail>`")
    if b"\0" in message:
        raise ManifestError("the message of the patch holds a NUL byte", str(file), "git would not take it")
    return Patch(file, author, message, raw[start.start() :], hashlib.sha256(raw).hexdigest()[:16])


def _headers(head: bytes) -> tuple[dict[str, str], bytes]:
    """Headers by name, unfolded, and what follows them. Raw bytes in a header are kept, as git keeps them."""
    lines, _, body = head.partition(b"\n\n")
    unfolded = re.sub(rb"\r?\n[ \t]+", b" ", lines).decode("utf-8", "surrogateescape")
    pairs = (line.partition(":") for line in unfolded.splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}, body


def _header(told: Mapping[str, str], file: Path, *names: str) -> str:
    for name in names:
        if (value := told.get(name)) is not None:
            if "=?" in value:
                value = _decoded(value, file)
            return " ".join(value.split())
    hint = "a patch needs From, Date and Subject, as `git format-patch` writes them"
    raise ManifestError(f"the patch has no {names[0]} header", str(file), hint)


def _decoded(value: str, file: Path) -> str:
    try:
        return str(email.header.make_header(email.header.decode_header(value)))
    except (email.errors.HeaderParseError, LookupError, UnicodeError) as error:
        raise ManifestError(f"a header of the patch cannot be decoded: {value!r}", str(file), str(error)) from error


def _date(text: str, file: Path) -> datetime:
    """A date as mail writes it, or ISO 8601; either with its zone."""
    for read in (email.utils.parsedate_to_datetime, datetime.fromisoformat):
        try:
            found = read(text)
        except ValueError:
            continue
        if found.tzinfo is not None:
            return found
    raise ManifestError(f"the patch has no readable date: {text!r}", str(file), "write it with its zone")


def _unquoted(name: bytes) -> str:
    if name.startswith(b'"'):
        name = _ESCAPE.sub(_plain, name[1:].rstrip().removesuffix(b'"'))
    return os.fsdecode(name)


def _plain(found: re.Match[bytes]) -> bytes:
    code = found.group(1)
    return bytes([int(code, 8) if len(code) == 3 else _ESCAPED[code[0]]])


def apply_patch(repository: Repository, tree: str, patch: Patch) -> dict[str, Entry | None] | None:
    """The edits a patch makes to a tree; None where all of them are there already.

    Zero fuzz and no offset: every hunk has to match at the line it names. Raises ManifestError where one does not.
    """
    with tempfile.TemporaryDirectory(prefix="porttool-") as folder:
        _lay_out(repository, tree, patch, Path(folder))
        told = _try(folder, patch)
        if told is None:
            return _read_back(repository, tree, patch, Path(folder))
        if _try(folder, patch, "--reverse", "--check") is None:
            return None
    raise ManifestError(f"the patch does not apply: {told}", str(patch.file), "write it anew against the target")


def _lay_out(repository: Repository, tree: str, patch: Patch, folder: Path) -> None:
    for path in patch.paths:
        entry = repository.entry(tree, path)
        if entry is None or not (entry.is_regular or entry.mode == MODE_LINK):
            continue
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if entry.mode == MODE_LINK:
            file.symlink_to(os.fsdecode(repository.read(entry.oid)))
        else:
            file.write_bytes(repository.read(entry.oid))
            file.chmod(entry.mode & 0o777)


def _try(folder: str, patch: Patch, *options: str) -> str | None:
    """Apply in a plain folder, outside every repository, so that no attribute or filter takes part."""
    outside = f"GIT_CEILING_DIRECTORIES={Path(folder).parent}"
    steady = ("--verbose", "--whitespace=nowarn", "-p1")
    ran = Git(folder).run("apply", *steady, *options, stdin=patch.diff, answers=range(256), variables=(outside,))
    shifted = [line for line in ran.err.splitlines() if re.search(r"succeeded at \d+ \(offset|with fuzz", line)]
    # git leaves out a binary part that is cut short, says so, and exits with 0.
    errors = [line.removeprefix("error: ") for line in ran.err.splitlines() if line.startswith("error: ")]
    # The first line of a hunk that does not match is a heading for the lines that were not found.
    errors.sort(key=lambda line: line == "while searching for:")
    if ran.code == 0 and not shifted and not errors:
        return None
    return (shifted or errors or [f"exit code {ran.code}"])[0]


def _read_back(repository: Repository, tree: str, patch: Patch, folder: Path) -> dict[str, Entry | None]:
    edits: dict[str, Entry | None] = {}
    for path in sorted(patch.paths):
        found = _entry_on_disk(repository, folder / path)
        was = repository.entry(tree, path)
        if found != was and not (found is None and was is not None and not was.is_regular and was.mode != MODE_LINK):
            edits[path] = found
    return edits


def _entry_on_disk(repository: Repository, file: Path) -> Entry | None:
    try:
        mode = file.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(mode):
        return Entry(MODE_LINK, repository.write(os.fsencode(os.readlink(file))))
    if not stat.S_ISREG(mode):
        return None
    return Entry(MODE_EXECUTABLE if mode & 0o100 else MODE_FILE, repository.write(file.read_bytes()))


