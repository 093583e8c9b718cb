"""What an audit says, as plain data: the screen, Markdown and JSON are views of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Verdict = Literal["layout-only", "declared", "undeclared"]


@dataclass(frozen=True)
class Place:
    """A place in a file and what is there; line 0 is the file itself, path "" the commit."""

    path: str
    line: int
    kind: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path or "the commit"


@dataclass(frozen=True)
class Resolved:
    """A path where a recorded resolution was replayed: which one, by whom, and why.

    `delta` is a diff: what it changes beyond the port itself.
    """

    path: str
    id: str
    author: str
    reason: str
    delta: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """One ported commit: a row of the table in the pull request.

    `author` is `Name <mail>`. `sources` are source ids, `upstream` those of the same commits in the original fork;
    `adapted` gives the declared reason by path; `moves` says that it is the movement of a restructure.
    """

    number: int
    commit: str
    author: str
    subject: str
    sources: tuple[str, ...]
    label: str
    upstream: tuple[str, ...] = ()
    adapted: Mapping[str, str] = field(default_factory=dict, hash=False)
    resolved: tuple[Resolved, ...] = ()
    residual: tuple[Place, ...] = ()
    one_way: tuple[Place, ...] = ()
    why: str = ""
    moves: bool = False

    @property
    def name(self) -> str:
        """The author's name."""
        return self.author.partition(" <")[0]

    @property
    def touched(self) -> str:
        """How far the source was touched: clean, rewritten, adapted, new, moved, or resolved with the files."""
        if self.resolved:
            return f"resolved: {', '.join(found.path for found in self.resolved)}"
        if self.moves:
            return "moved"
        return {"verbatim": "clean", "layout-only": "rewritten", "one-way": "rewritten"}.get(self.label, self.label)

    @property
    def adaptation(self) -> str:
        """The declared reasons, each with its path."""
        told = [f"{path}: {reason}" for path, reason in self.adapted.items()]
        return "; ".join([*told, self.why] if self.why else told)


@dataclass(frozen=True)
class Counted:
    """A line of the census: how many commits or paths of a kind there are, and what the policy does with them."""

    kind: str
    count: int
    policy: str
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class Leftover:
    """A mention of an old name after the port: rewritten, kept for a stated reason, or unresolved."""

    place: Place
    state: Literal["rewritten", "kept", "unresolved"]
    reason: str = ""


@dataclass(frozen=True)
class Style:
    """Something a reviewer would ask about on an added line."""

    commit: str
    place: Place


@dataclass(frozen=True)
class Audit:
    """Everything a reviewer of the port needs. `not_ported` gives the reason by source id, skipped or empty.

    `rederived` says whether porting again gives exactly this branch, id by id.
    """

    verdict: Verdict
    source: str
    target: str
    branch: str
    layout: str
    rows: tuple[Row, ...]
    not_ported: Mapping[str, str] = field(default_factory=dict, hash=False)
    census: tuple[Counted, ...] = ()
    leftovers: tuple[Leftover, ...] = ()
    style: tuple[Style, ...] = ()
    protected: Mapping[str, bool] = field(default_factory=dict, hash=False)
    warnings: tuple[str, ...] = ()
    rederived: bool = True

    @property
    def ok(self) -> bool:
        """Whether the port stands: everything that is not layout is declared, and protected paths are untouched."""
        return self.verdict != "undeclared" and all(self.protected.values()) and not self.warnings

    @property
    def answer(self) -> str:
        """The first line of every view."""
        commits = counted(len(self.rows), "commit")
        if not self.rows:
            return "nothing to verify: nothing was to port"
        broken = sum(not untouched for untouched in self.protected.values())
        if broken:
            return f"not proven: {counted(broken, 'protected path')} touched"
        if self.verdict == "undeclared":
            places = sum(len(row.residual) for row in self.rows if row.label == "undeclared")
            return f"undeclared: {counted(places, 'place')} of {commits} changed beyond the layout"
        if self.warnings:
            return f"not proven: {counted(len(self.warnings), 'warning')}; {commits} {self.verdict}"
        if self.verdict == "declared":
            declared = sum(bool(row.residual) or row.label in ("adapted", "new", "resolved") for row in self.rows)
            go = "goes" if declared == 1 else "go"
            return f"declared: {commits}, {declared} of which {go} beyond the layout, each with its reason"
        return f"layout-only: {commits} changed nothing but the layout"


def counted(number: int, thing: str) -> str:
    """`1 commit`, `2 commits`, `2 repositories`, `2 keys`."""
    if number == 1:
        return f"1 {thing}"
    return f"{number} {thing[:-1]}ies" if thing.endswith("y") and thing[-2] not in "aeiou" else f"{number} {thing}s"
