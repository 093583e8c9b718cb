"""The restructure of the share branch: the movement alone, then what the review asked for."""

from __future__ import annotations

import json

from porttool.audit import audit_of
from porttool.proof import verify
from porttool.restructure import restructure
from tests.rehearsal.conftest import SHARE

MOVED = "port/restructure"


def test_the_movement_is_the_mechanical_part_exactly(rehearsal):
    """One commit on the old layout, whose tree is that of the tag behind the restructure, proven both ways."""
    made = restructure(rehearsal.manifest("restructure"))
    assert made.movement.new_tree == rehearsal.tree("share/restructured")
    assert made.movement.old_tree == rehearsal.tree("share/pre-restructure")
    assert made.movement.one_way == ()
    first = rehearsal.repo.git("rev-list", "--reverse", f"share/pre-restructure..{MOVED}").split()[0]
    assert first == made.movement.commit and rehearsal.tree(first) == made.movement.new_tree


def test_the_series_ends_in_the_tree_of_the_share_branch(rehearsal):
    """What is not movement follows in commits of its own."""
    restructure(rehearsal.manifest("restructure"))
    assert rehearsal.tree(MOVED) == rehearsal.tree(SHARE)


def test_the_audit_tells_movement_from_review(rehearsal):
    """The movement is layout-only and says what it moved; each further commit stands against its review comment."""
    restructure(rehearsal.manifest("restructure"))
    audit = audit_of(verify(rehearsal.manifest("restructure")))
    assert (audit.verdict, audit.ok, audit.rederived) == ("declared", True, True)
    assert [(row.label, row.touched) for row in audit.rows] == [("layout-only", "moved"), *[("new", "new")] * 5]
    assert audit.rows[0].why.startswith("pure movement: 5 moved, 10 rewritten; T of tree ")
    assert all(row.why.startswith("review: ") for row in audit.rows[1:])
    assert not [left for left in audit.leftovers if left.state == "unresolved"]


def test_a_movement_made_by_hand_is_proven_too(rehearsal):
    """Whoever wrote it, a commit that is exactly T is layout-only; that porting again gives other ids is told."""
    manifest = rehearsal.manifest("restructure")
    rehearsal.repo.branch(MOVED, "share/restructured")
    proof = verify(manifest)
    assert proof.commits[0].label == "layout-only" and not proof.rederived
    assert [row.label for row in proof.commits[1:]] == ["undeclared"] * 5  # the patches are not on that branch


def test_a_movement_with_a_change_in_it_is_none(rehearsal):
    """One more byte, and it is undeclared."""
    path, start = "docs/advance/arctic_rl.md", rehearsal.repo.git("rev-parse", "share/restructured")
    text = rehearsal.repo.files(start)[path] + b"\n"
    rehearsal.repo.commit({path: text}, branch=MOVED, parents=[start])
    parent = rehearsal.repo.git("rev-parse", "share/pre-restructure")
    moved = rehearsal.repo.git("commit-tree", "-p", parent, "-m", "move", f"{MOVED}^{{tree}}")
    rehearsal.repo.git("update-ref", f"refs/heads/{MOVED}", moved)
    assert verify(rehearsal.manifest("restructure")).commits[0].label == "undeclared"


def test_the_review_commits_can_be_carried_back(rehearsal, capsys, monkeypatch):
    """`back` leaves the movement out, for undoing the layout undoes it, and carries the rest to the old layout."""
    from porttool.cli import main

    monkeypatch.chdir(rehearsal.folder)
    restructure(rehearsal.manifest("restructure"))
    capsys.readouterr()
    assert main(["back", str(rehearsal.file("restructure")), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["commits"]) == 5 and told["branch"] == "back/share/pre-restructure"
