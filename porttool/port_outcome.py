"""What became of a commit: applied, empty, in conflict, or skipped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from porttool.plan import Step
from porttool.port_merge import Conflict, Delta
from porttool.repo import Entry
from porttool.resolutions import Resolution, Sides
from porttool.translate import Culprit


@dataclass(frozen=True)
class Applied:
    """A commit that was made.

    `touched` are the target paths its sources change; `renamed` says whether T did anything to them; `deltas` are
    what each source is in target names.
    """

    step: Step
    commit: str
    touched: tuple[str, ...] = ()
    resolved: tuple[Resolution, ...] = ()
    renamed: bool = False
    notes: tuple[Culprit, ...] = ()
    deltas: tuple[Delta, ...] = field(default=(), repr=False, compare=False)

    @property
    def one_way(self) -> tuple[Culprit, ...]:
        """The places of its sources that do not come back; found when first asked for."""
        return tuple(dict.fromkeys(culprit for delta in self.deltas for culprit in delta.one_way))

    @property
    def names(self) -> tuple[str, ...]:
        return self.step.names

    @property
    def kind(self) -> str:
        """How far the source was touched: clean, rewritten, resolved or new."""
        if not self.step.sources:
            return "new"
        return "resolved" if self.resolved else "rewritten" if self.renamed else "clean"


@dataclass(frozen=True)
class Empty:
    """A commit that changes nothing on the target; `commit` is set where policy keeps it all the same."""

    step: Step
    reason: str
    commit: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return self.step.names


@dataclass(frozen=True)
class Conflicted:
    """A commit that needs a decision. `tree` is what the scratch worktree holds, made on the commit `head`.

    `needs` are source commits that are not ported and that the conflict depends on; `recipe` are shell commands that
    build the same tree with git alone.
    """

    step: Step
    source: str
    subject: str
    head: str
    tree: str
    conflicts: tuple[Conflict, ...]
    all_sides: Mapping[str, Sides] = field(default_factory=dict, hash=False, repr=False)
    needs: tuple[str, ...] = ()
    recipe: tuple[str, ...] = ()
    scratch: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return self.step.names

    def shown(self, path: str) -> Entry | None:
        """What the scratch worktree held at a path in conflict."""
        return next((found.shown for found in self.conflicts if found.path == path), None)

    def sides(self, path: str) -> Sides:
        """The three sides of a path; one the commit does not touch has only the target's."""
        return self.all_sides[path]


@dataclass(frozen=True)
class Skipped:
    """A commit that is not ported, and why."""

    source: str
    subject: str
    reason: str

    @property
    def names(self) -> tuple[str, ...]:
        return (self.source,)


Outcome = Applied | Empty | Conflicted | Skipped
