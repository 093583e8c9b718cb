"""What a plan says and what a run did, as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from porttool.plan import Left, Plan, Step
from porttool.plan_census import Tally
from porttool.port import Applied, Conflicted, Empty, Run, Skipped
from porttool.port_patch import read_patch
from porttool.repo import Commit, Repository
from porttool.translate import Culprit


def plan_json(
    plan: Plan,
    run: Run,
    census: Iterable[Tally],
    outside: Mapping[str, Iterable[Culprit]],
    unmatched: Iterable[str],
) -> dict[str, Any]:
    """The steps of a plan, what would stop it, and what the layout cannot undo in the real trees."""
    return {
        "verdict": "conflict" if run.conflict else "ready" if plan.steps else "nothing to port",
        "source": plan.source_tip,
        "target": plan.tip,
        "branch": branch_of(plan),
        "layout": plan.layout.digest,
        "steps": [_step(plan.repository, step) for step in plan.steps],
        "skipped": [_left(left) for left in plan.left],
        "conflict": _conflict(run.conflict) if run.conflict else None,
        "census": [
            {"kind": told.kind, "count": told.count, "policy": told.policy, "places": list(told.places)}
            for told in census
        ],
        "not_undoable": [
            {**culprit_json(culprit), "side": side} for side, found in outside.items() for culprit in found
        ],
        "unmatched": list(unmatched),
    }


def run_json(run: Run) -> dict[str, Any]:
    """Every commit of the manifest and what became of it."""
    repository = run.plan.repository
    return {
        "verdict": verdict_of(run),
        "branch": branch_of(run.plan),
        "repository": str(repository.root),
        "head": run.head,
        "moved": run.moved,
        "commits": [_applied(repository, outcome) for outcome in run.applied],
        "empty": [_empty(outcome) for outcome in run.outcomes if isinstance(outcome, Empty)],
        "skipped": [_left(outcome) for outcome in run.outcomes if isinstance(outcome, Skipped)],
        "conflict": _conflict(run.conflict) if run.conflict else None,
        "waiting": list(run.waiting),
        "unused_resolutions": list(run.unused),
        "replaced": run.replaced or None,
    }


def verdict_of(run: Run) -> str:
    """One word for a run: conflict, nothing, applied, or planned where nothing was to move."""
    if run.conflict:
        return "conflict"
    if run.nothing:
        return "nothing to port"
    return "applied" if run.moved else "planned"


def branch_of(plan: Plan) -> str:
    """The branch a port ends on, by its short name."""
    return plan.ref.removeprefix("refs/heads/")


def culprit_json(culprit: Culprit) -> dict[str, Any]:
    """A place and what is wrong there."""
    return {"path": culprit.path, "line": culprit.line, "kind": culprit.kind, "text": culprit.text}


def step_subject(repository: Repository, step: Step) -> str:
    """The subject a step will have."""
    return step.subject or _first(repository, step).subject


def step_author(repository: Repository, step: Step) -> str:
    """The author a step will have, as `Name <mail>`."""
    return _first(repository, step).author_name


def _first(repository: Repository, step: Step) -> Commit:
    """The commit that gives a step its author and subject; a patch file stands for one."""
    if step.patch is None:
        return repository.commit(step.sources[0])
    patch = read_patch(step.patch, step.where)
    return Commit("", (), patch.author, b"", patch.message)


def _step(repository: Repository, step: Step) -> dict[str, Any]:
    return {
        "sources": list(step.sources),
        "patch": str(step.patch) if step.patch else None,
        "upstream": list(step.upstream),
        "author": step_author(repository, step),
        "subject": step_subject(repository, step),
        "adapted": dict(step.adapted),
        "why": step.why,
        "where": step.where,
    }


def _applied(repository: Repository, applied: Applied) -> dict[str, Any]:
    commit = repository.commit(applied.commit)
    return {
        "commit": applied.commit,
        "author": commit.author_name,
        "subject": commit.subject,
        "sources": list(applied.step.sources),
        "upstream": list(applied.step.upstream),
        "touched": applied.kind,
        "paths": list(applied.touched),
        "resolved": [{"id": found.id, "path": found.path} for found in applied.resolved],
        "one_way": [culprit_json(culprit) for culprit in applied.one_way],
        "notes": [culprit_json(culprit) for culprit in applied.notes],
    }


def _empty(empty: Empty) -> dict[str, Any]:
    return {"sources": list(empty.names), "reason": empty.reason, "commit": empty.commit}


def _left(left: Left | Skipped) -> dict[str, Any]:
    return {"source": left.source, "subject": left.subject, "reason": left.reason}


def _conflict(conflict: Conflicted) -> dict[str, Any]:
    return {
        "source": conflict.source,
        "subject": conflict.subject,
        "onto": conflict.head,
        "paths": [{"path": found.path, "kind": found.kind, "hint": found.hint} for found in conflict.conflicts],
        "needs": list(conflict.needs),
        "scratch": conflict.scratch,
        "recipe": list(conflict.recipe) if conflict.scratch else [],
    }
