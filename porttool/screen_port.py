"""A plan and a run on a terminal. The first line is the answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console

from porttool.plan import Plan
from porttool.plan_census import Tally
from porttool.port import Conflicted, Empty, Run, Skipped
from porttool.report import counted
from porttool.report_port import branch_of, step_author, step_subject
from porttool.restructure import Movement
from porttool.screen import print_list, print_table, tell
from porttool.translate import Culprit


def plan_screen(
    plan: Plan,
    run: Run,
    out: Console,
    *,
    census: Sequence[Tally],
    outside: Mapping[str, Sequence[Culprit]],
    unmatched: Iterable[str],
) -> None:
    """What would be done, and what stands in its way; `outside` gives the places of each side."""
    stop = run.conflict
    places = sum(map(len, outside.values()))
    steps = counted(len(plan.steps), "commit")
    answer = f"{steps} to port onto {branch_of(plan)}" if plan.steps else "nothing to port"
    if stop:
        answer += f"; {stop.source[:12] or stop.subject} would stop in conflict"
    elif places:
        answer += f"; the layout cannot undo {counted(places, 'place')}"
    tell(out, answer, "bold red" if stop or places else "bold green")
    manifest = plan.manifest
    tell(out, f"{manifest.source.ref} -> {manifest.target.ref}, layout {plan.layout.digest[:12]}")
    rows = []
    for number, step in enumerate(plan.steps, 1):
        told = " ".join(oid[:8] for oid in step.sources) or "patch"
        author, subject = step_author(plan.repository, step), step_subject(plan.repository, step)
        rows.append((str(number), _name(author), subject, told))
    if rows:
        print_table(out, ("#", "author", "subject", "source"), rows)
    print_list(out, "Not ported", [_left(left.source, left.subject, left.reason) for left in plan.left], whole=True)
    if stop:
        _conflict(plan, stop, out, "porttool apply")
    there = [f"{told.count} {told.kind} ({told.policy})" for told in census if told.count]
    print_list(out, "Census", there, whole=True)
    if not there:
        tell(out, "\ncensus: nothing unusual")
    print_list(out, "Matches nothing", unmatched, whole=True)
    titles = {"source": f"Not undoable in {manifest.source.ref}", "target": f"Not undoable in {manifest.target.ref}"}
    for side, found in outside.items():
        print_list(out, titles[side], [f"{_place(culprit)}  {culprit.text}" for culprit in found])
    clash = any(culprit.kind == "path" for found in outside.values() for culprit in found)
    if run.applied and not stop and not clash:
        tell(out, f"\nwould apply cleanly: {counted(len(run.applied), 'commit')}")


def run_screen(run: Run, out: Console, *, dry_run: bool, again: str = "porttool apply") -> None:
    """What was done, commit by commit; `again` is the command that goes on after a conflict."""
    style = "bold red" if run.conflict else "bold green"
    tell(out, run_answer(run, dry_run=dry_run), style)
    repository = run.plan.repository
    rows = []
    for number, applied in enumerate(run.applied, 1):
        commit = repository.commit(applied.commit)
        told = " ".join(oid[:8] for oid in applied.step.sources) or "patch"
        rows.append((str(number), applied.commit[:8], _name(commit.author_name), commit.subject, told, applied.kind))
    if rows:
        print_table(out, ("#", "commit", "author", "subject", "source", "touched"), rows)
    empty = [_left(found.names[0], "", found.reason) for found in run.outcomes if isinstance(found, Empty)]
    print_list(out, "Empty", empty, whole=True)
    left = [_left(found.source, found.subject, found.reason) for found in run.outcomes if isinstance(found, Skipped)]
    print_list(out, "Not ported", left, whole=True)
    if run.conflict:
        _conflict(run.plan, run.conflict, out, again)
        print_list(out, "Waiting for it", [name[:12] for name in run.waiting])
    print_list(out, "Resolutions that nothing asked for", run.unused, whole=True)
    if run.replaced:
        tell(out, f"\nThe branch that was there before is kept as {run.replaced}")


def movement_screen(movement: Movement, out: Console) -> None:
    """What a restructure moved, and the proof that it only moved."""
    told = f"{counted(movement.moved, 'file')} moved, {counted(movement.rewritten, 'file')} rewritten"
    answer = f"pure movement: {told} in commit {movement.commit[:12]}"
    if movement.one_way:
        answer = f"movement with {counted(len(movement.one_way), 'place')} that cannot be undone: {told}"
    tell(out, answer, "bold red" if movement.one_way else "bold green")
    again = "" if movement.one_way else f", and its inverse gives {movement.old_tree[:12]} again"
    tell(out, f"T of tree {movement.old_tree[:12]} is {movement.new_tree[:12]}{again}")


def run_answer(run: Run, *, dry_run: bool) -> str:
    """The first line."""
    branch = branch_of(run.plan)
    made = counted(len(run.applied), "commit")
    if run.conflict:
        stop = run.conflict
        paths = counted(len(stop.conflicts), "path")
        told = "would stop" if dry_run else "stopped"
        return f"{told}: {stop.source[:12] or stop.subject} is in conflict on {paths}; {branch} is as it was"
    if run.nothing:
        return f"nothing to port: {counted(run.accounted, 'commit')} named, none of them to be made"
    if dry_run:
        return f"dry run: {made} would be on {branch}; nothing was changed"
    return f"{made} on {branch}, now at {run.head[:12]}"


def _conflict(plan: Plan, stop: Conflicted, out: Console, again: str) -> None:
    tell(out, f"\nConflict in {stop.source[:12]} {stop.subject}", "bold")
    for found in stop.conflicts:
        hint = f": {found.hint}" if found.hint else ""
        tell(out, f"  {found.path}  {found.kind}{hint}")
    needs = [f"{oid[:12]}  {plan.repository.commit(oid).subject}" for oid in stop.needs]
    print_list(out, "It depends on commits that are not ported", needs, whole=True)
    if stop.scratch:
        # Where nothing was laid out, nothing was stored either: the ids a recipe names would lead nowhere.
        tell(out, f"\nResolve the files in {stop.scratch}, then `{again} --continue`;")
        tell(out, f"or `{again} --skip` to leave the commit out, `--abort` to give up.")
        print_list(out, "The same tree with git alone", stop.recipe, whole=True)


def _name(author: str) -> str:
    return author.partition(" <")[0]


def _left(source: str, subject: str, reason: str) -> str:
    return "  ".join(part for part in (source[:12], subject, reason) if part)


def _place(culprit: Culprit) -> str:
    return f"{culprit.path}:{culprit.line}" if culprit.line else culprit.path
