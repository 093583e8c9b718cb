"""Writes reports whole or not at all, whatever the verdict is."""

from __future__ import annotations

import stat
from collections.abc import Callable, Mapping
from pathlib import Path

from parity.gate.junit import junit
from parity.gate.markdown import markdown
from parity.gate.page import html
from parity.gate.result import Gate
from parity.gate.sarif import sarif
from porttool.errors import EnvironmentFault, PortError
from porttool.resolutions import write_atomic

FORMATS: Mapping[str, Callable[[Gate], str]] = {
    "junit": junit,
    "sarif": sarif,
    "markdown": markdown,
    "html": html,
}


def written(gate: Gate, files: Mapping[str, Path]) -> list[Path]:
    """Each report in its file; one that cannot be written keeps no other back. Raises EnvironmentFault for it."""
    refused: list[PortError] = []
    for name, file in files.items():
        try:
            _write(file, FORMATS[name](gate).encode("utf-8", "backslashreplace"))
        except PortError as error:
            refused.append(error)
    if refused:
        raise refused[0]
    return list(files.values())


def _write(file: Path, content: bytes) -> None:
    try:
        kind = file.stat().st_mode if file.exists() else stat.S_IFREG
        if file.is_symlink() or not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            # A device, a pipe, a link such as /dev/stdout: what is there is written to, never replaced.
            file.write_bytes(content)
            return
    except OSError as error:
        raise EnvironmentFault(f"cannot write: {error.strerror}", str(file), "name a file") from error
    if stat.S_ISDIR(kind):
        raise EnvironmentFault("cannot write: it is a folder", str(file), "name a file in it")
    write_atomic(file, content)
