"""The commit of pure movement at the start of a restructured branch."""

from __future__ import annotations

from dataclasses import replace

from porttool.errors import LayoutError
from porttool.plan import Plan
from porttool.plan_ported import ported_from
from porttool.port_message import trailer
from porttool.proof_commit import Proven
from porttool.repo import Commit
from porttool.restructure import Movement, move


def movement_of(plan: Plan, commit: Commit) -> Movement | None:
    """What `restructure` makes on the tip of a plan, where that is what a commit does; None where it does not.

    Whoever wrote the commit: it is told by its tree, which has to be T of the tip's and to come back as it was.
    """
    named = ported_from(commit.message) or trailer(commit.message, "Patch")
    if named or commit.parents != (plan.tip,) or commit.tree == plan.repository.commit(plan.tip).tree:
        return None
    try:
        made = move(plan)
    except LayoutError:
        return None
    return made if made.new_tree == commit.tree else None


def movement_on(plan: Plan) -> str | None:
    """The commit of pure movement that the branch of a plan starts with, if it does."""
    if plan.was is None or (start := plan.repository.merge_base(plan.was, plan.tip)) is None:
        return None
    line = plan.repository.history([plan.was], [start])
    moves = line and movement_of(replace(plan, tip=start), plan.repository.commit(line[0]))
    return line[0] if moves else None


def moved_row(commit: Commit, movement: Movement) -> Proven:
    """The row of a commit that only moves."""
    label = "one-way" if movement.one_way else "layout-only"
    # A movement with a loss that nobody declared is not made, and so is none.
    return Proven(
        commit.oid, commit.author_name, commit.subject, (), label,
        one_way=movement.one_way, movement=str(movement), declared_loss=bool(movement.one_way),
    )  # fmt: skip
