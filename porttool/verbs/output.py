"""Where answers and progress go: answers to stdout, all else to stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from porttool.errors import visible

if TYPE_CHECKING:
    from rich.console import Console

Progress = Callable[[str], None]


def print_json(told: Any) -> None:
    """One JSON document on stdout, in ASCII: names that are not text survive as escapes."""
    print(json.dumps(told, indent=2))


def say(line: str) -> None:
    """A line for the reader, on stderr."""
    print(visible(line), file=sys.stderr, flush=True)


def answer(line: str) -> None:
    """A line of the answer, on stdout."""
    print(visible(line))


def colour(stream: TextIO) -> bool:
    """Whether a stream takes colour: a terminal, and NO_COLOR is not set."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def screen() -> Console:
    """Stdout as a console."""
    from porttool.screen import console

    return console(sys.stdout, colour(sys.stdout))


@contextmanager
def progress() -> Iterator[Progress]:
    """Reports steps on stderr: a live line on a terminal, a plain line each elsewhere."""
    if not sys.stderr.isatty():
        yield say
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, no_color=not colour(sys.stderr), highlight=False)
    with console.status("") as status:
        # As text: a subject in a line is no markup.
        yield lambda line: status.update(Text(visible(line)))
