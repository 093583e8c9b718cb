"""Outcomes -> labels and residuals: for each commit, delta(result) == T(delta(source)), and back again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from porttool.errors import ManifestError, RepositoryError
from porttool.leftovers import Mention
from porttool.manifest import Manifest
from porttool.plan import By, Plan, Step, make_plan, unmatched
from porttool.plan_ported import ported_from
from porttool.port import Run, apply, unused_of
from porttool.port_merge import is_protected
from porttool.port_message import trailer
from porttool.port_outcome import Empty, Skipped
from porttool.port_patch import read_patch
from porttool.proof_commit import Proven, Prover
from porttool.proof_delta import Residual
from porttool.proof_movement import moved_row, movement_of
from porttool.proof_names import mentions
from porttool.repo import Commit
from porttool.resolutions import Ledger, recorded

__all__ = ["Proof", "Proven", "Residual", "Verdict", "prove", "verify"]

Verdict = Literal["layout-only", "declared", "undeclared"]
_PURE = ("verbatim", "layout-only", "empty: already there")


@dataclass(frozen=True)
class Proof:
    """What a branch holds, proven commit by commit.

    `not_ported` gives a reason for each commit of the manifest that is not on the branch; `protected` says of each
    protected path whether it is untouched; `warnings` are rules that matched nothing, each of which fails a proof;
    `rederived` says whether porting again gives exactly this branch, id by id.
    """

    plan: Plan
    commits: tuple[Proven, ...]
    not_ported: Mapping[str, str] = field(default_factory=dict, hash=False)
    protected: Mapping[str, bool] = field(default_factory=dict, hash=False)
    leftovers: tuple[Mention, ...] = ()
    warnings: tuple[str, ...] = ()
    rederived: bool = False

    @property
    def verdict(self) -> Verdict:
        """`undeclared` where anything changed beyond the layout that no one declared."""
        if any(proven.undeclared for proven in self.commits):
            return "undeclared"
        if not all(self.protected.values()):
            return "undeclared"
        return "layout-only" if all(proven.label in _PURE for proven in self.commits) else "declared"

    @property
    def ok(self) -> bool:
        """Whether the proof stands."""
        return self.verdict != "undeclared" and not self.warnings


def verify(manifest: Manifest, *, branch: str = "", by: By = "pick") -> Proof:
    """Prove the branch of a manifest, from the branch alone: its commits, their trailers and the two repositories."""
    plan = make_plan(manifest, by=by, branch=branch)
    if plan.was is None:
        if apply(manifest, dry_run=True, plan=plan).nothing:
            return prove(plan, plan.tip)
        name = plan.ref.removeprefix("refs/heads/")
        raise RepositoryError(f"there is no branch {name!r}", str(plan.repository.root), "`porttool apply` makes it")
    return prove(plan, plan.was)


def prove(plan: Plan, head: str) -> Proof:
    """Prove the commits between the target and `head`."""
    repository = plan.repository
    # The target may have moved on since the port: it is proven, and derived again, where it stands.
    start = repository.merge_base(head, plan.tip)
    if start is None:
        raise RepositoryError("the branch has no commit in common with the target", head)
    plan = replace(plan, tip=start)
    ledger = Ledger(repository, recorded(plan.manifest.resolutions))
    prover = Prover(plan, ledger)
    steps = _Steps(plan.steps)
    commits = [repository.commit(oid) for oid in repository.history([head], [start])]
    movement = movement_of(plan, commits[0]) if commits else None
    proven = [moved_row(commits[0], movement)] if movement else []
    proven += [prover.prove(commit, steps.of(commit)) for commit in commits[len(proven) :]]
    run, stop = _again(replace(plan, tip=movement.commit) if movement else plan)
    missing, not_ported = _accounted(steps.rest(), run)
    strays = [
        f"commit {row.commit[:12]} is on the branch and not in the manifest, or is there twice"
        for row in proven
        if row.step is None and not row.movement and row.label != "undeclared"
    ]
    unused = [
        f"resolution {found.id} of {found.path} was of no use ({found.file})" for found in unused_of(plan, ledger)
    ]
    return Proof(
        plan,
        (*proven, *missing),
        not_ported,
        _protected(plan, head),
        mentions(plan, proven, head, moved=movement is not None),
        (*unmatched(plan), *unused, *_unused_adaptations(proven), *strays, *stop),
        run.head == head,
    )


def _again(plan: Plan) -> tuple[Run, list[str]]:
    """The port done again in memory; with what stops it, where the branch is not made by this manifest at all."""
    try:
        return apply(plan.manifest, dry_run=True, plan=plan), []
    except ManifestError as error:
        return Run(plan, (), plan.tip), [f"porting again stops: {error.message} ({error.where})"]


class _Steps:
    """The steps of a plan, each given to the commit whose trailers name it."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self._left = list(steps)

    def of(self, commit: Commit) -> Step | None:
        """The step a commit says it is; None where its trailers name none that is left."""
        sources = ported_from(commit.message)
        patches = trailer(commit.message, "Patch")
        for step in self._left:
            if step.sources:
                named = sources == list(step.sources)
            else:
                assert step.patch is not None
                named = not sources and patches[-1:] == [read_patch(step.patch, step.where).name]
            if named:
                self._left.remove(step)
                return step
        return None

    def rest(self) -> list[Step]:
        return list(self._left)


def _accounted(rest: Iterable[Step], run: Run) -> tuple[list[Proven], dict[str, str]]:
    """What became of the commits that are not on the branch: a reason for each, or a row that says it is missing."""
    not_ported = {found.source: found.reason for found in run.outcomes if isinstance(found, Skipped)}
    empty = {name: found.reason for found in run.outcomes if isinstance(found, Empty) for name in found.names}
    missing = []
    for step in rest:
        if all(name in empty for name in step.names):
            not_ported.update((name, f"empty: {empty[name]}") for name in step.names)
            continue
        commit = run.plan.repository.commit(step.sources[0]) if step.sources else None
        told = Residual("", 0, "commit", f"{step.names[0]} is not on the branch")
        who, subject = (commit.author_name, commit.subject) if commit else ("", step.names[0])
        missing.append(Proven("", who, subject, step.sources, "undeclared", step, residual=(told,)))
    return missing, not_ported


def _protected(plan: Plan, head: str) -> dict[str, bool]:
    repository, globs = plan.repository, plan.manifest.protected
    before, after = (repository.commit(oid).tree for oid in (plan.tip, head))
    touched = {change.path for change in repository.changes(before, after)}
    found = {path: path not in touched for path in globs if repository.file(before, path)}
    if set(globs) - found.keys():
        held = (path for path in repository.entries(before) if is_protected(path, globs))
        found.update((path, path not in touched) for path in held)
    found.update((path, False) for path in touched if is_protected(path, globs))
    return dict(sorted(found.items()))


def _unused_adaptations(proven: Iterable[Proven]) -> list[str]:
    found = []
    for row in proven:
        differing = {residual.path for residual in row.residual} | {found.path for found in row.resolved}
        for path in row.adapted if row.commit else ():
            if path not in differing:
                where = row.step.where if row.step else ""
                found.append(f"adapted {path} of {row.commit[:12]} differs in nothing ({where})")
    return found
