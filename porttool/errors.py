"""Faults and exit codes. An answer (a conflict, a residual, a DIFFER) is a value; a fault is an exception."""

from __future__ import annotations

import re

EXIT_OK = 0
EXIT_ANSWER_NO = 1  # a conflict, an undeclared residual, a DIFFER
EXIT_USAGE = 2  # the manifest, the layout or the command line
EXIT_ENVIRONMENT = 3  # the repository, the machine, or INCOMPARABLE
EXIT_BUG = 70
EXIT_INTERRUPTED = 130

# Control characters of both sets, what has no width, the marks that turn the direction of text around, and bytes that
# are no text.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0a-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)


def visible(text: str, *, lines: bool = False) -> str:
    """Text that can be shown: what would act on a terminal is escaped, line ends too unless `lines`."""
    return _UNSEEN.sub(lambda found: found[0] if lines and found[0] == "\n" else ascii(found[0])[1:-1], text)


class PortError(Exception):
    """A fault in three lines: what is wrong, where (`file:line`, a ref or an object id), and what to do about it."""

    exit_code = EXIT_USAGE

    def __init__(self, message: str, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        lines = [f"error: {self.message}"]
        if self.where:
            lines.append(f"  at: {self.where}")
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


class UsageError(PortError):
    """The command line asks for something that cannot be done."""


class ManifestError(PortError):
    """The manifest is not valid; `where` is its `file:line`."""


class LayoutError(PortError):
    """The layout is not a bijection where it has to be; the message names both culprits."""


class RepositoryError(PortError):
    """The repository cannot be used: missing ref, shallow, bare, sha256, moved while we worked."""

    exit_code = EXIT_ENVIRONMENT


class EnvironmentFault(PortError):
    """The machine cannot do it: no disk, no network, a package that is missing or not as pinned."""

    exit_code = EXIT_ENVIRONMENT
