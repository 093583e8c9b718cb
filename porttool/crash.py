"""What is said and kept when porttool itself is wrong."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from porttool import __version__


def log(words: Sequence[str]) -> str:
    """Write the exception being handled to a log file; returns the three lines to say."""
    error = sys.exc_info()[1]
    text = "\n".join(
        [
            f"porttool {__version__}, Python {platform.python_version()}, {platform.platform()}",
            f"words: {list(words)!r}",
            "",
            traceback.format_exc(),
        ]
    )
    first = str(error).split("\n")[0][:200]
    told = f"error: this is a bug in porttool: {type(error).__name__}: {first}"
    for folder in (_state_folder(), Path(tempfile.gettempdir())):
        path = folder / f"porttool-bug-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.log"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", errors="backslashreplace")
        except OSError:
            continue
        return f"{told}\n  at: {path}\nhint: please report it with that file"
    return f"{told}\n{text}"


def _state_folder() -> Path:
    home = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return Path(home) / "porttool"
