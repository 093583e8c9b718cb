"""Manifest -> Plan: which commits, in which order, and what of the source is left out and why."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from porttool.errors import ManifestError, PortError, UsageError
from porttool.layout import Layout
from porttool.manifest import Manifest, NewPatch, Pick, Range
from porttool.plan_ported import Ported, ported_on_target
from porttool.plan_unmatched import unmatched
from porttool.repo import Repository, branch_ref, open_location
from porttool.translate import Translator

__all__ = ["By", "Left", "Plan", "Step", "make_plan", "target_of", "unmatched"]

By = Literal["pick", "upstream"]


@dataclass(frozen=True)
class Step:
    """One commit to make: from source commits (oldest first), or from a patch file."""

    sources: tuple[str, ...]
    patch: Path | None = None
    upstream: tuple[str, ...] = ()
    subject: str = ""
    adapted: Mapping[str, str] = field(default_factory=dict, hash=False)
    why: str = ""
    where: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """What this step accounts for: its source ids, or the name of its patch."""
        return self.sources or (self.patch.name if self.patch else "",)


@dataclass(frozen=True)
class Left:
    """A source commit the manifest names and this plan does not port. `reason` is for people."""

    source: str
    subject: str
    reason: str


@dataclass(frozen=True)
class Plan:
    """What to port onto what. `tip` is the target commit it starts at; `was` is where the branch is now, if it is.

    `remote` is the prefix of the refs that the source repository's names resolve under; `translator` is T of the
    layout, which remembers what it has translated.
    """

    manifest: Manifest
    repository: Repository
    translator: Translator = field(repr=False)
    source_tip: str
    tip: str
    ref: str
    was: str | None
    steps: tuple[Step, ...]
    left: tuple[Left, ...] = ()
    remote: str | None = None
    by: By = "pick"

    @property
    def layout(self) -> Layout:
        return self.manifest.layout

    @property
    def count(self) -> int:
        """How many commits the manifest names: each has one outcome in the end."""
        return sum(len(step.names) for step in self.steps) + len(self.left)

    @property
    def fingerprint(self) -> str:
        """What a stopped port belongs to: the same commits onto the same target under the same layout."""
        steps = [[*step.names, step.subject, sorted(step.adapted.items())] for step in self.steps]
        told = [self.tip, self.ref, self.layout.digest, steps]
        return hashlib.sha1(json.dumps(told).encode()).hexdigest()


def make_plan(manifest: Manifest, *, by: By = "pick", branch: str = "") -> Plan:
    """Resolve a manifest against its two repositories. Raises a PortError with the place of what is wrong."""
    repository, ref = target_of(manifest, branch)
    source_at = manifest.repo(manifest.source)
    remote = None if source_at == manifest.repo(manifest.target) else repository.bring(source_at)
    source_tip = _resolved(repository, manifest.source.ref, remote, manifest.where("source", "ref"))
    tip = _resolved(repository, manifest.target.ref, None, manifest.where("target", "ref"))
    translator = Translator(manifest.layout, repository)
    bare = Plan(manifest, repository, translator, source_tip, tip, ref, repository.refs.read(ref), (), (), remote, by)
    steps, left = _Expansion(bare).expanded()
    return replace(bare, steps=steps, left=left)


def target_of(manifest: Manifest, branch: str = "") -> tuple[Repository, str]:
    """The repository that commits go to, and the full ref of the branch they end on."""
    name = branch or manifest.target.branch
    if not name:
        raise UsageError("no branch is named", manifest.where("target"), "set `target.branch`, or pass --branch NAME")
    ref = branch_ref(name)
    return open_location(manifest.repo(manifest.target)), ref


def _resolved(repository: Repository, rev: str, remote: str | None, where: str) -> str:
    try:
        return repository.resolve(rev, remote)
    except PortError as error:
        raise type(error)(error.message, where or error.where, error.hint) from error


class _Expansion:
    """Turns the items of a manifest into steps, and accounts for every commit that becomes none."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._repository = plan.repository
        self._policy = plan.manifest.policy
        self._skips = {
            _resolved(plan.repository, rev, plan.remote, plan.manifest.where("skip", rev)): why
            for rev, why in plan.manifest.skip.items()
        }
        self._steps: list[Step] = []
        self._left: list[Left] = []
        self._seen: dict[str, str] = {}

    def expanded(self) -> tuple[tuple[Step, ...], tuple[Left, ...]]:
        for item in self._plan.manifest.commits:
            if isinstance(item, NewPatch):
                self._steps.append(Step((), item.file, why=item.why, where=item.where))
            elif isinstance(item, Range):
                self._range(item)
            else:
                self._pick(item)
        known = ported_on_target(
            self._repository,
            [source for step in self._steps for source in step.sources],
            tip=self._plan.tip,
            source_tip=self._plan.source_tip,
            translator=self._plan.translator,
        )
        return tuple(self._without(known)), tuple(self._left)

    def _pick(self, item: Pick) -> None:
        ids = item.pick if self._plan.by == "pick" else item.upstream
        if not ids:
            hint = "add `upstream:`, or apply without --by upstream"
            raise ManifestError("this commit has no upstream ids", item.where, hint)
        sources = [_resolved(self._repository, rev, self._plan.remote, item.where) for rev in ids]
        kept = tuple(source for source in sources if self._kept(source, item.where))
        if kept:
            upstream = item.upstream if self._plan.by == "pick" else ()
            self._steps.append(Step(kept, None, upstream, item.subject, item.adapted, item.why, item.where))

    def _range(self, item: Range) -> None:
        first, _, last = item.range.partition("..")
        ends = [_resolved(self._repository, rev, self._plan.remote, item.where) for rev in (first, last)]
        line = self._policy.merges == "first-parent"
        for source in self._repository.history([ends[1]], [ends[0]], first_parent=line):
            if self._kept(source, item.where):
                self._steps.append(Step((source,), why=item.why, where=item.where))

    def _kept(self, source: str, where: str) -> bool:
        other = self._seen.setdefault(source, where)
        if other != where:
            raise ManifestError(f"commit {source[:12]} is picked twice", where, f"it is picked at {other} too")
        commit = self._repository.commit(source)
        if source in self._skips:
            self._left.append(Left(source, commit.subject, self._skips[source]))
            return False
        if len(commit.parents) > 1:
            self._check_merge(source, len(commit.parents), where)
        if commit.is_signed and self._policy.signatures == "refuse":
            hint = "set `policy.signatures` to record or drop; a port cannot keep a signature valid"
            raise UsageError(f"commit {source[:12]} is signed", where, hint)
        return True

    def _check_merge(self, source: str, parents: int, where: str) -> None:
        if self._policy.merges == "refuse":
            hint = "set `policy.merges` to first-parent or evil, or give it a reason under `skip`"
            raise UsageError(f"commit {source[:12]} is a merge", where, hint)
        if self._policy.merges == "evil" and parents > 2:
            hint = "port it with merges: first-parent"
            raise UsageError(f"commit {source[:12]} merges {parents} parents", where, hint)

    def _without(self, known: Mapping[str, Ported]) -> Iterable[Step]:
        for step in self._steps:
            for source in step.sources:
                if source in known:
                    self._left.append(Left(source, self._repository.commit(source).subject, str(known[source])))
            rest = tuple(source for source in step.sources if source not in known)
            if rest or step.patch:
                yield replace(step, sources=rest)
