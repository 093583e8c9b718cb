"""What a test must not inherit from the machine it runs on."""

from __future__ import annotations

import signal
from collections.abc import Iterable

# A test says by itself that it runs in CI, for a pull request or in colour, and so says the same on every machine.
_NAMES = ("CI", "FORCE_COLOR", "TTY_COMPATIBLE")
_PREFIXES = (
    *("GIT_", "XDG_", "PORTTOOL_"),
    *("CI_", "GITHUB_", "GITLAB_", "RUNNER_", "BUILDKITE", "BITBUCKET_", "SYSTEM_PULLREQUEST_", "CHANGE_"),
)


def of_the_machine(names: Iterable[str]) -> list[str]:
    """Those of the variables `names` that change what porttool, git or a terminal does."""
    return [name for name in names if name in _NAMES or name.startswith(_PREFIXES)]


def hear_ctrl_c() -> None:
    """A job that a shell starts in the background ignores SIGINT, and so would everything that a test starts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
