"""The commit that only moves, told by its tree and by where it stands."""

from __future__ import annotations

from dataclasses import replace

import pytest

from porttool.plan import make_plan
from porttool.proof import verify
from porttool.proof_movement import moved_row, movement_of, movement_on
from porttool.repo import Repository
from porttool.restructure import Movement, restructure
from porttool.translate import Culprit
from tests.porttool.rig import Rig, lines

FILES = {"old/a.txt": lines((3, "see old/b.txt")), "old/b.txt": lines(), "keep/x": "x\n"}


@pytest.fixture
def rig(repo) -> Rig:
    return Rig(repo, FILES)


def plan_of(rig, *items, **layout):
    """A plan whose target has the old names, and their layout is to be changed."""
    rig.layout.update(layout)
    to = {"repo": str(rig.repo.path), "ref": "source", "branch": "out"}
    return make_plan(rig.manifest(*items, target=to))


@pytest.fixture
def plan(rig):
    """The same, restructured."""
    restructure(plan_of(rig).manifest)
    return plan_of(rig)


def commit(rig, like="out", parents=("source",), message="move\n", files=()):
    """A commit with the tree of another one, and perhaps some files more."""
    here = Repository.open(rig.repo.path)
    parents = [here.resolve(parent) for parent in parents]
    tree = rig.repo.tree(dict(files), here.resolve(like))
    oid = rig.repo.git("commit-tree", *(word for one in parents for word in ("-p", one)), "-m", message, tree)
    return Repository.open(rig.repo.path).commit(oid)


def test_a_movement_is_told_by_its_tree(rig, plan):
    """Whoever made it and whatever they called it; all of it is known that `restructure` knows."""
    found = movement_of(plan, commit(rig))
    assert found is not None
    assert (found.commit, found.moved, found.rewritten, found.one_way) == (plan.was, 2, 1, ())
    assert movement_on(plan) == plan.was


@pytest.mark.parametrize("trailer", [f"Ported-From: r@{'1' * 40}", "Patch: p.patch@1"])
def test_a_commit_that_names_where_it_is_from_is_no_movement(rig, plan, trailer):
    """It is judged by what it names."""
    assert movement_of(plan, commit(rig, message=f"move\n\n{trailer}\n")) is None


@pytest.mark.parametrize("parents", [(), ("out",), ("source", "out"), ("target",)])
def test_a_movement_stands_on_the_tip_alone(rig, plan, parents):
    """On nothing else, and on nothing more."""
    assert movement_of(plan, commit(rig, parents=parents)) is None


def test_one_byte_more_is_no_movement(rig, plan):
    """All of the tree has to be T of the tip's."""
    assert movement_of(plan, commit(rig, files={"keep/x": "y\n"})) is None


def test_a_commit_of_nothing_is_no_movement(rig):
    """Also where the layout has nothing to move."""
    rig.layout["paths"] = {}
    plan = plan_of(rig, symbols={"Nothing": "Something"})
    assert movement_of(plan, commit(rig, like="source")) is None


def test_a_layout_that_cannot_move_the_tree_has_no_movement(rig):
    """Two paths that become one are an error of `restructure`, and here only a no."""
    rig.layout["paths"] = {"old/a.txt": "old/b.txt"}
    assert movement_of(plan_of(rig), commit(rig, like="source", files={"old/a.txt": None})) is None


def test_a_branch_starts_with_a_movement(rig, plan):
    """Its first commit, also where others follow, and where the target has moved on since."""
    rig.repo.commit({"keep/y": "y\n"}, branch="out")
    rig.repo.commit({"keep/z": "z\n"}, branch="source")
    moved = plan_of(rig)
    assert moved.was != plan.was and moved.tip != plan.tip
    assert movement_on(moved) == plan.was


def test_a_branch_without_a_movement_has_none(rig):
    """No branch, one that is the target, one that shares nothing with it, and one that starts otherwise."""
    plan = plan_of(rig)
    assert (plan.was, movement_on(plan)) == (None, None)
    assert movement_on(replace(plan, was=plan.tip)) is None
    rig.repo.commit({"keep/x": "z\n"}, branch="out", parents=[])
    assert movement_on(plan_of(rig)) is None
    rig.repo.commit({"keep/x": "z\n"}, branch="out", parents=[plan.tip])
    assert movement_on(plan_of(rig)) is None


@pytest.mark.parametrize("one_way", [(), (Culprit("keep/x", 1, "one-way", "x"),)])
def test_the_row_of_a_movement(rig, plan, one_way):
    """Layout-only, or one-way with the places; it has no sources and tells what it moved."""
    movement = Movement(plan.was, "1" * 40, "2" * 40, 2, 1, one_way)
    made = commit(rig)
    row = moved_row(made, movement)
    assert (row.label, row.one_way) == ("one-way" if one_way else "layout-only", one_way)
    assert row.declared_loss is bool(one_way) and not row.undeclared
    assert (row.sources, row.step, row.residual, row.movement, row.why) == ((), None, (), str(movement), str(movement))
    assert (row.commit, row.author, row.subject) == (made.oid, made.author_name, "move")


def test_a_movement_is_proven_with_every_file(rig):
    """All files are asked for old names, not those alone that later commits touch."""
    rig.repo.commit({"keep/x": "old/a\n"}, branch="source")
    restructure(plan_of(rig).manifest)
    proof = verify(plan_of(rig).manifest)
    assert (proof.verdict, proof.ok, proof.rederived) == ("layout-only", True, True)
    assert [(one.path, one.state) for one in proof.leftovers] == [("keep/x", "rewritten"), ("old/a.txt", "rewritten")]


PATCH = """\
From: Ann Author <ann@example.invalid>
Date: Tue, 14 Nov 2023 22:13:20 +0000
Subject: [PATCH] trim

---
diff --git a/keep/x b/keep/x
--- a/keep/x
+++ b/keep/x
@@ -1 +1 @@
-x
+y
"""


def test_the_series_after_a_movement_is_proven_on_it(rig):
    """One row for the movement and one for each commit behind it, derived again id by id."""
    (rig.folder / "p.patch").write_text(PATCH)
    restructure(plan_of(rig, {"new": "p.patch"}).manifest)
    proof = verify(plan_of(rig, {"new": "p.patch"}).manifest)
    assert [(row.label, bool(row.movement)) for row in proof.commits] == [("layout-only", True), ("new", False)]
    ids = rig.repo.git("rev-list", "--reverse", "source..out").split()
    assert [row.commit for row in proof.commits] == ids
    assert (proof.verdict, proof.ok, proof.rederived, proof.warnings) == ("declared", True, True, ())
