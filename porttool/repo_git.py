"""Running git, through GitPython, in an environment that cannot redirect it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from porttool.errors import EnvironmentFault, RepositoryError

# A hook or a wrapper may have exported GIT_DIR, GIT_INDEX_FILE or GIT_OBJECT_DIRECTORY; they would send our writes
# elsewhere. What carries the user's credentials, proxies and configuration stays.
_KEPT = ("GIT_ALLOW_PROTOCOL", "GIT_ASKPASS", "GIT_CONFIG_", "GIT_EXEC_PATH", "GIT_HTTP_", "GIT_PROXY_", "GIT_SSH",
         "GIT_SSL_", "GIT_TERMINAL_PROMPT")  # fmt: skip
_STEADY = ("-c", "core.hooksPath=/dev/null", "-c", "core.autocrlf=false", "-c", "core.safecrlf=false",
           "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.fsmonitor=false",
           "-c", "apply.ignoreWhitespace=no", "-c", "core.filesRefLockTimeout=1000")  # fmt: skip


class Ran(NamedTuple):
    """What a git command gave back."""

    code: int
    out: bytes
    err: str


@dataclass(frozen=True)
class Git:
    """Runs git in one directory. No hooks, no filters, no shell, no inherited `GIT_DIR`."""

    directory: str

    @cached_property
    def _client(self) -> Any:
        # Imported late: GitPython looks for git when imported, and a dry run never needs it.
        try:
            import git
        except ImportError as error:
            told = str(error).splitlines()[0]
            raise EnvironmentFault("git cannot be run", told, "install git 2.39 or newer") from error
        return git.cmd.Git(self.directory)

    def run(
        self, *arguments: str, stdin: bytes = b"", answers: Container[int] = (0,), variables: Sequence[str] = ()
    ) -> Ran:
        """Run `git arguments`. Exit codes not in `answers` raise RepositoryError, or EnvironmentFault for a full disk.

        `variables` are `NAME=value` settings for this command alone.
        """
        command = ["env", *_cleared(), *variables, "git", *_STEADY, *arguments]
        process = self._client.execute(command, as_process=True, istream=subprocess.PIPE)
        out, raw_err = process.communicate(stdin)
        err = raw_err.decode("utf-8", "replace").strip()
        code: int = process.returncode
        if code not in answers:
            raise fault_of(f"git {arguments[0]}", code, err)
        return Ran(code, out, err)

    def text(self, *arguments: str) -> str:
        """The output of a command as a path or a word, without its last newline."""
        return os.fsdecode(self.run(*arguments).out).removesuffix("\n")


def fault_of(what: str, code: int, err: str) -> RepositoryError | EnvironmentFault:
    """The fault a failed git command stands for; the first telling line of its errors is kept."""
    lines = [line for line in err.splitlines() if line.startswith(("fatal:", "error:"))] or err.splitlines()
    told = lines[0].partition(": ")[2] or lines[0] if lines else f"exit code {code}"
    if code < 0:
        return EnvironmentFault(f"{what} was killed by signal {-code}", hint="nothing was changed; run it again")
    if any(word in err for word in ("No space left", "Disk quota exceeded", "File too large")):
        return EnvironmentFault(f"{what} could not write: {told}", hint="free some disk space; nothing was changed")
    return RepositoryError(f"{what} failed: {told}")


def why_not_fetched(code: int, err: str) -> str:
    """The line of a failed fetch that tells why: its last lines only ask whether the repository exists."""
    lines = [line for line in err.splitlines() if line.strip() and not line.lower().startswith("warning:")]
    return lines[0].removeprefix("fatal: ") if lines else f"exit code {code}"


def _cleared() -> list[str]:
    dropped = (name for name in os.environ if name.startswith("GIT_") and not name.startswith(_KEPT))
    return [word for name in sorted(dropped) for word in ("-u", name)]
