"""Loose objects, read without libgit2: it never returns from one that was cut short."""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from porttool.errors import RepositoryError

_OBJECT = re.compile(r"[0-9a-f]{38}")
_HEADER = re.compile(rb"(commit|tree|blob|tag) (\d+)\0")
_MOST_CHECKED = 20_000
_HEAD_BYTES = 128


class Loose:
    """The loose objects below an objects folder and below those it borrows from."""

    def __init__(self, objects: Path) -> None:
        self._folders = [os.fspath(folder) for folder in _with_alternates(objects)]

    def read(self, oid: str) -> tuple[str, bytes] | None:
        """Kind and content; None where the object is not loose. Raises RepositoryError where it is damaged."""
        for folder in self._folders:
            path = f"{folder}/{oid[:2]}/{oid[2:]}"
            try:
                with open(path, "rb") as file:
                    stored = file.read()
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                raise RepositoryError(f"object {oid} cannot be read: {error.strerror}", path) from error
            found = _parsed(stored, oid)
            if found is None:
                hint = "run `git fsck`, and bring the object back from another clone"
                raise RepositoryError(f"object {oid} is damaged", path, hint)
            return found
        return None

    @cached_property
    def are_walkable(self) -> bool:
        """Whether libgit2 may follow history here: no loose commit or tag is damaged; no if too many to check."""
        for count, (path, oid) in enumerate(self._all()):
            if count >= _MOST_CHECKED:
                return False
            try:
                with open(path, "rb") as file:
                    head = file.read(_HEAD_BYTES)
                    start = _HEADER.match(_inflated_start(head))
                    if start is None:
                        return False
                    if start[1] in (b"commit", b"tag") and _parsed(head + file.read(), oid) is None:
                        return False
            except FileNotFoundError:
                continue  # git packed it meanwhile
            except OSError:
                return False
        return True

    def _all(self) -> Iterator[tuple[str, str]]:
        for folder in self._folders:
            for number in range(256):
                above = f"{number:02x}"
                try:
                    names = os.listdir(f"{folder}/{above}")
                except OSError:
                    continue
                for name in names:
                    if _OBJECT.fullmatch(name):
                        yield f"{folder}/{above}/{name}", above + name


def _inflated_start(stored: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(stored, 32)
    except zlib.error:
        return b""


def _parsed(stored: bytes, oid: str) -> tuple[str, bytes] | None:
    """Kind and content of a loose object's file; None where it is not the whole object of that id."""
    inflater = zlib.decompressobj()
    try:
        whole = inflater.decompress(stored)
    except zlib.error:
        return None
    header = _HEADER.match(whole)
    if not inflater.eof or header is None or hashlib.sha1(whole).hexdigest() != oid:
        return None
    raw = whole[header.end() :]
    return (header[1].decode("ascii"), raw) if len(raw) == int(header[2]) else None


def _with_alternates(objects: Path) -> list[Path]:
    """The folder and those named, one a line, in `info/alternates`, which may name more in theirs."""
    found = [objects]
    for folder in found:
        try:
            lines = os.fsdecode((folder / "info" / "alternates").read_bytes()).splitlines()
        except OSError:
            continue
        for line in lines:
            other = folder / line
            if line and not line.startswith("#") and other not in found:
                found.append(other)
    return found
