"""Plan -> outcomes: commits are made in memory, and the branch moves once, at the end."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from porttool import port_state
from porttool.errors import RepositoryError, UsageError
from porttool.manifest import Manifest
from porttool.plan import By, Plan, Step, make_plan, target_of
from porttool.port_make import Maker
from porttool.port_outcome import Applied, Conflicted, Empty, Outcome, Skipped
from porttool.port_state import State
from porttool.repo import OWN_REFS, RefMove, Repository
from porttool.resolutions import Ledger, Resolution, add, recorded

__all__ = ["Applied", "Conflicted", "Empty", "Outcome", "Run", "Skipped", "abort", "apply", "moves", "resume", "skip"]

_STALE_HINT = "`--abort` it first; nothing of it is lost that was recorded"


@dataclass(frozen=True)
class Run:
    """What a port did. `head` is the last commit made; `moved` whether the branch is there now.

    `waiting` are commits not reached because one before them is in conflict; `unused` are resolutions that nothing
    asked for; `replaced` is the ref that keeps the branch that was there before and that this one does not go on from.
    """

    plan: Plan
    outcomes: tuple[Outcome, ...]
    head: str
    moved: bool = False
    waiting: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    replaced: str = ""

    @property
    def conflict(self) -> Conflicted | None:
        """The commit that stopped the run, if one did."""
        return next((outcome for outcome in self.outcomes if isinstance(outcome, Conflicted)), None)

    @property
    def applied(self) -> tuple[Applied, ...]:
        return tuple(outcome for outcome in self.outcomes if isinstance(outcome, Applied))

    @property
    def nothing(self) -> bool:
        """Whether there was nothing to port: every commit was skipped or is there already."""
        return not self.conflict and self.head == self.plan.tip

    @property
    def accounted(self) -> int:
        """How many commits have an outcome or wait; it equals `plan.count`."""
        return sum(len(outcome.names) for outcome in self.outcomes) + len(self.waiting)


def apply(
    manifest: Manifest, *, branch: str = "", by: By = "pick", dry_run: bool = False, plan: Plan | None = None
) -> Run:
    """Port the commits of a manifest. The branch moves, in one step, only where no commit is in conflict.

    Running it again is always safe: it goes on where a stop, a kill or a conflict left it.
    """
    plan = plan or make_plan(manifest, by=by, branch=branch)
    folder = port_state.folder_of(plan.repository, plan.ref)
    state = port_state.load(folder)
    if state is not None and state.fingerprint != plan.fingerprint and not dry_run:
        raise UsageError("a conflict of an earlier plan is waiting", state.scratch or str(folder), _STALE_HINT)
    return _run(plan, folder, state or State(plan.fingerprint), dry_run=dry_run)


def resume(
    manifest: Manifest,
    *,
    branch: str = "",
    by: By = "pick",
    reason: str = "resolved by hand",
    author: str = "",
    record: bool = True,
) -> Run:
    """`--continue`: take the resolved files, record them as resolutions, and go on.

    `record=False` keeps them for this port only, so that nobody can derive the branch again.
    """
    plan = make_plan(manifest, by=by, branch=branch)
    folder, state = _waiting(plan)
    found = _make(plan, folder, state)
    if found.conflict is not None:
        ledger = plan.manifest.resolutions if record else folder / "resolutions"
        who = author or plan.repository.identity() or "unknown"
        _take(plan.repository, found.conflict, Path(state.scratch), ledger, author=who, reason=reason)
    return _run(plan, folder, state, dry_run=False)


def skip(manifest: Manifest, *, branch: str = "", by: By = "pick") -> Run:
    """`--skip`: leave out the commit in conflict, for this run, and go on."""
    plan = make_plan(manifest, by=by, branch=branch)
    folder, state = _waiting(plan)
    found = _make(plan, folder, state).conflict
    if found is not None:
        state = replace(state, skipped=(*state.skipped, *found.names), scratch="")
        port_state.save(folder, state)
    return _run(plan, folder, state, dry_run=False)


def abort(manifest: Manifest, *, branch: str = "") -> bool:
    """`--abort`: forget a stopped port; recorded resolutions stay. False where none was there."""
    # Not a whole plan: a port must be possible to give up when the manifest's commits are gone.
    repository, ref = target_of(manifest, branch)
    folder = port_state.folder_of(repository, ref)
    was = folder.is_dir()
    port_state.clear(repository, folder)
    return was


def _waiting(plan: Plan) -> tuple[Path, State]:
    folder = port_state.folder_of(plan.repository, plan.ref)
    state = port_state.load(folder)
    if state is None:
        hint = "`porttool apply` starts one"
        raise UsageError("no port is waiting for a decision", plan.ref.removeprefix("refs/heads/"), hint)
    if state.fingerprint != plan.fingerprint:
        where = state.scratch or str(folder)
        raise UsageError("the manifest or its refs changed since the conflict", where, _STALE_HINT)
    return folder, state


def _make(plan: Plan, folder: Path, state: State) -> Run:
    """Make every commit in memory."""
    known = [*recorded(plan.manifest.resolutions), *recorded(folder / "resolutions")]
    ledger = Ledger(plan.repository, known)
    maker = Maker(plan, ledger)
    outcomes: list[Outcome] = [Skipped(left.source, left.subject, left.reason) for left in plan.left]
    head = plan.tip
    for number, step in enumerate(plan.steps):
        if set(step.names) <= set(state.skipped):
            outcomes += _skipped(plan.repository, step)
            continue
        outcome = maker.make(step, head)
        outcomes.append(outcome)
        if isinstance(outcome, Conflicted):
            rest = tuple(name for later in plan.steps[number + 1 :] for name in later.names)
            return Run(plan, tuple(outcomes), head, waiting=rest)
        head = outcome.commit or head
    return Run(plan, tuple(outcomes), head, unused=tuple(found.id for found in unused_of(plan, ledger)))


def unused_of(plan: Plan, ledger: Ledger) -> list[Resolution]:
    """The resolutions of this direction that nothing asked for; those of the other one lie beside them."""
    return [found for found in ledger.unused() if not _other_way(plan, found.source)]


def _other_way(plan: Plan, source: str) -> bool:
    """Whether a commit shares more history with the side that is ported to than with the one ported from."""
    repository = plan.repository
    if not repository.has(source):
        return False
    here = repository.merge_base(source, plan.source_tip)
    for end in (plan.tip, plan.was):
        there = repository.merge_base(source, end) if end else None
        if there and there != here and (here is None or repository.is_ancestor(here, there)):
            return True
    return False


def _skipped(repository: Repository, step: Step) -> Iterable[Skipped]:
    for name in step.names:
        subject = repository.commit(name).subject if step.sources else name
        yield Skipped(name, subject, "skipped by hand: write it under `skip` to keep it so")


def _run(plan: Plan, folder: Path, state: State, *, dry_run: bool) -> Run:
    if not dry_run:
        plan.repository.refs.check_free(plan.ref)
    run = _make(plan, folder, state)
    if dry_run:
        return run
    if run.conflict is not None:
        return _stopped(run, run.conflict, folder, state)
    if not run.nothing and run.head != plan.was:
        _move(plan, run.head)
    port_state.clear(plan.repository, folder)
    return replace(run, moved=not run.nothing, replaced="" if run.nothing else kept_as(plan, run.head))


def _stopped(run: Run, conflict: Conflicted, folder: Path, state: State) -> Run:
    repository = run.plan.repository
    repository.flush()
    key = port_state.scratch_key(conflict.source, conflict.head, conflict.tree)
    scratch = Path(state.scratch)
    # A scratch worktree that the state names may hold a person's work: it is never laid out again.
    if not scratch.name.startswith(key) or not scratch.is_dir():
        # The git of a killed run may still be writing to the one it began, so each attempt has a folder of its own.
        scratch = folder / f"{key}-{os.getpid()}"
        unmerged = {found.path: found.sides for found in conflict.conflicts}
        port_state.lay_out(repository, scratch, conflict.head, conflict.tree, unmerged)
        port_state.save(folder, replace(state, scratch=str(scratch)))
        port_state.sweep(repository, folder, keep=str(scratch))
    placed = replace(conflict, scratch=str(scratch))
    return replace(run, outcomes=tuple(placed if found is conflict else found for found in run.outcomes))


def _move(plan: Plan, head: str) -> None:
    try:
        plan.repository.move_refs(moves(plan, head))
    except RepositoryError:
        # The git of a killed run may have outlived it and just put the branch there: at the very same commit.
        if plan.repository.refs.read(plan.ref) != head:
            raise


def moves(plan: Plan, head: str) -> Sequence[RefMove]:
    """The branch, and where it held a port made before from another plan, a ref of ours that keeps that one."""
    was = plan.was
    moves = [RefMove(plan.ref, was, head)]
    kept = kept_as(plan, head)
    if was is None or not kept:
        return moves
    for oid in plan.repository.history([was], [plan.tip]):
        if b"\nLayout: " not in plan.repository.commit(oid).message:
            hint = "name another branch, or move that commit away"
            raise RepositoryError(f"the branch holds a commit porttool did not make: {oid[:12]}", plan.ref, hint)
    if plan.repository.refs.read(kept) is None:
        moves.append(RefMove(kept, None, was))
    return moves


def kept_as(plan: Plan, head: str) -> str:
    """The ref that keeps what the branch holds where `head` does not go on from it; else nothing."""
    if plan.was is None or _extends(plan.repository, head, plan.was, plan.tip):
        return ""
    return f"{OWN_REFS}replaced/{plan.ref.removeprefix('refs/heads/')}/{plan.was[:12]}"


def _extends(repository: Repository, head: str, was: str, tip: str) -> bool:
    """Whether a chain of new commits from `tip` to `head` holds `was`, or starts after it."""
    while head not in (was, tip):
        head = repository.commit(head).parents[0]
    return head == was or repository.is_ancestor(was, tip)


def _take(
    repository: Repository, conflict: Conflicted, scratch: Path, ledger: Path, *, author: str, reason: str
) -> None:
    """Record what a person made of a conflict."""
    if not scratch.is_dir():
        raise RepositoryError("the scratch worktree is gone", str(scratch), "`--abort`, then apply again")
    edited = port_state.changed(repository, scratch, conflict.tree)
    open_paths = {found.path: found for found in conflict.conflicts}
    strays = [path for path in edited if path not in open_paths and path not in conflict.step.adapted]
    if strays:
        hint = "put it back, or declare it under `adapted` with its reason"
        raise UsageError("a file that was not in conflict was changed", str(scratch / strays[0]), hint)
    for path in dict.fromkeys((*open_paths, *edited)):
        result = port_state.read_entry(repository, scratch, path, conflict.shown(path))
        content = repository.read(result.oid) if result and not result.is_gitlink else b""
        sides = conflict.sides(path)
        known = [repository.read(side.oid) for side in sides if side is not None and side.is_regular]
        add(
            ledger, source=conflict.source, path=path, sides=sides, result=result, content=content,
            author=author, reason=reason, known=known,
        )  # fmt: skip
