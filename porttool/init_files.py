"""Writes what `porttool init` made: all files or none, and an entry in pyproject.toml without touching the rest."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from porttool.errors import EnvironmentFault, UsageError

_HEADER = re.compile(r"(?m)^\[tool\.porttool\][ \t]*(?:#[^\r\n]*)?(?=\r?$)")
_KEY = re.compile(r"""(?m)^manifest\s*=\s*(["'])(.+?)\1""")


def with_manifest(before: str, manifest: str, where: str) -> str:
    """pyproject.toml with `[tool.porttool] manifest`; one that names a manifest already is left as it is."""
    end = "\r\n" if "\r\n" in before else "\n"
    entry = f'manifest = "{manifest}"'
    header = _HEADER.search(before)
    if header is None:
        gap = "" if not before else end if before.endswith("\n") else end * 2
        after = f"{before}{gap}[tool.porttool]{end}{entry}{end}"
    elif named(before):
        return before
    else:
        after = f"{before[: header.end()]}{end}{entry}{before[header.end() :]}"
    _check(before, after, where)
    return after


def named(pyproject: str) -> str:
    """The manifest that `[tool.porttool]` names; "" where it names none."""
    header = _HEADER.search(pyproject)
    if header is None:
        return ""
    table = re.split(r"(?m)^\[", pyproject[header.end() :], maxsplit=1)[0]
    key = _KEY.search(table)
    return key[2] if key else ""


def _check(before: str, after: str, where: str) -> None:
    """The edit added one table and changed nothing. Python 3.10 has no TOML parser; there it is not asked."""
    try:
        toml: Any = importlib.import_module("tomllib")
    except ImportError:
        return
    hint = 'add [tool.porttool] with `manifest = "..."` by hand'
    try:
        was, now = toml.loads(before), toml.loads(after)
    except toml.TOMLDecodeError as error:
        raise UsageError(f"pyproject.toml cannot be edited: {error}", where, hint) from error
    own = now.get("tool", {}).pop("porttool", {})
    if not now["tool"] and "tool" not in was:
        del now["tool"]
    rest = {key: value for key, value in own.items() if key != "manifest"}
    if was.get("tool", {}).pop("porttool", {}) != rest or now != was:
        raise UsageError("pyproject.toml cannot be edited without changing more of it", where, hint)


def write(files: Mapping[Path, str]) -> None:
    """Write every file whole, or none: each is written beside its place first. Raises EnvironmentFault."""
    staged: dict[Path, Path] = {}
    made: list[Path] = []
    try:
        for path, text in files.items():
            if path.is_dir():
                raise IsADirectoryError(21, "a folder stands in its place", str(path))
            made += _folders(path.parent)
            staged[path] = path.with_name(f".{path.name}.part")
            with open(staged[path], "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
                file.write(text)
        for path, partial in staged.items():
            partial.replace(path)
    except OSError as error:
        for partial in staged.values():
            partial.unlink(missing_ok=True)
        for folder in reversed(made):
            with suppress(OSError):
                folder.rmdir()
        told = f"cannot write: {error.strerror}; nothing was written"
        raise EnvironmentFault(told, str(error.filename or ""), "the work can be started again") from error


def _folders(folder: Path) -> list[Path]:
    """Make a folder; returns those that were not there, the outermost first."""
    missing = [above for above in (folder, *folder.parents) if not above.exists()][::-1]
    folder.mkdir(parents=True, exist_ok=True)
    return missing
