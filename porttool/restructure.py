"""A layout applied to a branch as one commit of pure movement, and the commits of the series after it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from porttool.errors import LayoutError
from porttool.manifest import Manifest
from porttool.plan import Plan, make_plan
from porttool.port import Run, apply, kept_as, moves
from porttool.port_message import committer_line, with_trailers
from porttool.repo import Commit, Entry
from porttool.translate import Culprit, Translated, Translator


@dataclass(frozen=True)
class Movement:
    """The commit that moves: `old_tree` under the layout is `new_tree`, and undoing the layout gives `old_tree` again.

    `moved` are files whose path changes, `rewritten` those whose content does, `one_way` what cannot be undone.
    """

    commit: str
    old_tree: str
    new_tree: str
    moved: int
    rewritten: int
    one_way: tuple[Culprit, ...] = ()

    def __str__(self) -> str:
        counts = f"{self.moved} moved, {self.rewritten} rewritten"
        told = f"{counts}; T of tree {self.old_tree[:12]} is {self.new_tree[:12]}"
        if self.one_way:
            return f"movement that cannot be undone in {len(self.one_way)} places: {told}"
        return f"pure movement: {told}, and its inverse gives {self.old_tree[:12]} again"


@dataclass(frozen=True)
class Restructured:
    """The movement and what the commits of the manifest did after it."""

    movement: Movement
    run: Run


def restructure(manifest: Manifest, *, branch: str = "", dry_run: bool = False) -> Restructured:
    """Restructure `target.ref` onto the branch. Raises LayoutError where the movement does not come back.

    The same manifest on the same ref gives the same commit ids. The branch moves once, when the series is complete.
    """
    plan = make_plan(manifest, branch=branch)
    movement = move(plan)
    run = apply(manifest, branch=branch, dry_run=True, plan=replace(plan, tip=movement.commit))
    done = run.conflict is None and not dry_run
    if done and run.head != plan.was:
        plan.repository.move_refs(moves(plan, run.head))
    return Restructured(movement, replace(run, moved=done, replaced=kept_as(plan, run.head) if done else ""))


def move(plan: Plan) -> Movement:
    """Make the commit of pure movement on the tip of a plan, in memory, and prove it."""
    repository, layout = plan.repository, plan.layout
    tip = repository.commit(plan.tip)
    old = repository.entries(tip.tree)
    translator = Translator(layout, repository)
    there = translator.tree(old)
    first = _undeclared(translator, old, there) if there.one_way else None
    if first is not None:
        hint = "make the pair undoable, declare it `one_way: true`, or leave the file alone: `keep` in the layout"
        raise LayoutError(f"the movement cannot be undone: {first.text}", f"{first.path}:{first.line}", hint)
    edits: dict[str, Entry | None] = {path: None for path in old if path not in there.entries}
    edits.update({path: entry for path, entry in there.entries.items() if old.get(path) != entry})
    tree = repository.edit_tree(tip.tree, edits)
    if not there.one_way:
        _check_back(translator, there.entries, old)
    moved = sum(layout.path(path) != path for path in old)
    rewritten = sum(there.entries[layout.path(path)].oid != entry.oid for path, entry in old.items())
    commit = repository.write_commit(_commit(plan, tip, tree, moved, rewritten))
    return Movement(commit, tip.tree, tree, moved, rewritten, there.one_way)


def _check_back(translator: Translator, new: dict[str, Entry], old: dict[str, Entry]) -> None:
    """The inverse of the new tree is the old tree, entry by entry."""
    back = translator.inverse().tree(new).entries
    for path in sorted(old.keys() | back.keys()):
        if old.get(path) != back.get(path):
            raise LayoutError("the movement does not come back as it was", path, "the layout is not a bijection there")


def _undeclared(translator: Translator, old: dict[str, Entry], there: Translated) -> Culprit | None:
    """The first place that does not come back although no pair is to blame that is declared one-way."""
    plain, paths = translator.without_one_way(), translator.layout.paths
    if plain is None:
        return there.one_way[0]
    # A file whose path is declared to go one way is declared as a whole.
    asked = {path for path in old if not paths.is_one_way(tuple(path.split("/")))}
    lost = {culprit.path for culprit in there.one_way}
    told = plain.entries({path: entry for path, entry in old.items() if path in asked}).one_way
    return next((culprit for culprit in told if culprit.path in lost), None)


def _commit(plan: Plan, tip: Commit, tree: str, moved: int, rewritten: int) -> Commit:
    """A commit by porttool itself, dated as the one below it, so that its id is the same on any machine."""
    policy = plan.manifest.policy.committer
    who = committer_line("author-date" if policy == "now" else policy, tip.committer)
    subject = f"Restructure: {moved} moved, {rewritten} rewritten"
    body = "Pure movement: undoing the layout gives the tree before it, byte for byte."
    told = with_trailers(f"{subject}\n\n{body}\n".encode(), [(b"Layout", plan.layout.digest.encode())])
    return Commit(tree, (plan.tip,), who, who, told)
