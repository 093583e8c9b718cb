"""A git of our own for vendored packages: the same objects whatever the user's configuration says."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from porttool.errors import EnvironmentFault, RepositoryError


@dataclass(frozen=True)
class Done:
    """What one git command gave."""

    status: int
    out: bytes
    err: bytes


@dataclass(frozen=True)
class Git:
    """Runs git in one folder, away from the user's configuration, hooks and GIT_* variables."""

    folder: Path
    extra: Mapping[str, str] = field(default_factory=dict)

    def attempt(self, *words: str, stdin: bytes = b"") -> Done:
        """Run one command and give its status; raises EnvironmentFault where there is no git."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environment = {
            **kept,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
            **self.extra,
        }
        try:
            ran = subprocess.run(
                ["git", *words], cwd=self.folder, input=stdin, capture_output=True, env=environment, check=False
            )
        except FileNotFoundError as error:
            if not self.folder.is_dir():
                raise
            raise EnvironmentFault("git is not installed", str(error.filename), "install git 2.39 or newer") from None
        return Done(ran.returncode, ran.stdout, ran.stderr)

    def run(self, *words: str, stdin: bytes = b"") -> bytes:
        """Run one command and give its output; raises RepositoryError with git's own last line where it fails."""
        done = self.attempt(*words, stdin=stdin)
        if done.status:
            told = done.err.decode("utf-8", "replace").strip().splitlines() or [f"it ended with status {done.status}"]
            raise RepositoryError(f"git {words[0]} failed", str(self.folder), told[-1])
        return done.out

    def text(self, *words: str, stdin: bytes = b"") -> str:
        """Output of one command without the final newline."""
        return self.run(*words, stdin=stdin).decode("utf-8", "surrogateescape").rstrip("\n")

    def with_index(self, index: Path) -> Git:
        """The same repository with an index of its own, so that the user's is not touched."""
        return Git(self.folder, {**self.extra, "GIT_INDEX_FILE": str(index)})

    def commit_object(self, tree: str, parents: tuple[str, ...], author: bytes, message: bytes) -> str:
        """Write a commit whose committer is its author; `author` is the raw line `Name <mail> seconds zone`."""
        lines = [b"tree " + tree.encode(), *(b"parent " + parent.encode() for parent in parents)]
        lines += [b"author " + author, b"committer " + author, b"", message]
        return self.text("hash-object", "-t", "commit", "-w", "--stdin", stdin=b"\n".join(lines))
