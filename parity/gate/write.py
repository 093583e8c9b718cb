"""Writes reports whole or not at all, whatever the verdict is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from parity.gate.junit import junit
from parity.gate.markdown import markdown
from parity.gate.page import html
from parity.gate.result import Gate
from parity.gate.sarif import sarif
from porttool.resolutions import write_atomic

FORMATS: Mapping[str, Callable[[Gate], str]] = {
    "junit": junit,
    "sarif": sarif,
    "markdown": markdown,
    "html": html,
}


def written(gate: Gate, files: Mapping[str, Path]) -> list[Path]:
    """Each report in its file. Raises EnvironmentFault where the disk refuses."""
    for name, file in files.items():
        write_atomic(file, FORMATS[name](gate).encode("utf-8", "backslashreplace"))
    return list(files.values())
