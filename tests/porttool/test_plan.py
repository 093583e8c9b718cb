"""Which commits a plan takes, in which order, and what it says of the rest."""

from __future__ import annotations

import pytest

from porttool.errors import ManifestError, RepositoryError, UsageError
from porttool.plan import make_plan, unmatched
from porttool.plan_ported import identity
from porttool.repo import Repository
from porttool.translate import Translator
from tests.porttool.rig import Rig, lines


@pytest.fixture
def rig(repo) -> Rig:
    return Rig(repo, {"old/a.txt": lines(), "keep/x": "x\n"})


def test_order_is_the_manifests(rig):
    """Steps come as they are written, whatever the history's order."""
    one, two, three = (rig.change({"keep/x": f"{n}\n"}) for n in range(3))
    plan = make_plan(rig.manifest(three, {"pick": [one, two]}))
    assert [step.names for step in plan.steps] == [(three,), (one, two)] and plan.count == 3


def test_a_range_is_oldest_first(rig):
    """`a..b` leaves `a` out, and each commit is a step of its own."""
    picks = [rig.change({"keep/x": f"{n}\n"}) for n in range(3)]
    plan = make_plan(rig.manifest({"range": f"{picks[0]}..source"}))
    assert [step.sources for step in plan.steps] == [(picks[1],), (picks[2],)]


def test_short_ids_resolve_and_wrong_ones_name_their_line(rig):
    """A pick may be short; one that is nowhere is an error at the manifest's line."""
    one = rig.change({"keep/x": "1\n"})
    assert make_plan(rig.manifest(one[:8])).steps[0].sources == (one,)
    with pytest.raises(RepositoryError, match="no commit is called") as caught:
        make_plan(rig.manifest("0123456789"))
    assert caught.value.where.endswith("port.yaml:13")


def test_missing_refs_hint_at_the_nearest(rig):
    """A mistyped ref of either side says where it is written and what it may have meant."""
    one = rig.change({"keep/x": "1\n"})
    for side in ("source", "target"):
        told = {"repo": str(rig.repo.path), "ref": f"{side}x", **({"branch": "out"} if side == "target" else {})}
        with pytest.raises(RepositoryError) as caught:
            make_plan(rig.manifest(one, **{side: told}))
        assert caught.value.hint == f"did you mean '{side}'?" and "port.yaml:" in caught.value.where


def test_a_commit_picked_twice_is_refused(rig):
    """Across items, by any spelling of the id, with both places."""
    one = rig.change({"keep/x": "1\n"})
    with pytest.raises(ManifestError, match="picked twice") as caught:
        make_plan(rig.manifest(one, {"pick": [one[:12]]}))
    assert "port.yaml:" in caught.value.where and "port.yaml:" in caught.value.hint


def test_no_branch_is_a_mistake(rig):
    """The branch comes from the manifest or from the command line."""
    manifest = rig.manifest(rig.change({"keep/x": "1\n"}), target={"repo": str(rig.repo.path), "ref": "target"})
    with pytest.raises(UsageError, match="no branch"):
        make_plan(manifest)
    assert make_plan(manifest, branch="mine").ref == "refs/heads/mine"


def test_skipped_commits_keep_their_reason(rig):
    """A skip by short id leaves the commit out with the manifest's words; one without effect is reported."""
    one, two = (rig.change({"keep/x": f"{n}\n"}) for n in range(2))
    plan = make_plan(rig.manifest({"range": f"{rig.base}..source"}, skip={one[:9]: "not wanted"}))
    assert [(left.source, left.reason) for left in plan.left] == [(one, "not wanted")]
    assert [step.sources for step in plan.steps] == [(two,)] and plan.count == 2
    assert unmatched(plan) == ()
    other = make_plan(rig.manifest(two, skip={one: "no"}))
    assert "names no commit of this port" in unmatched(other)[0]


def test_the_fingerprint_is_of_what_is_ported(rig):
    """Other commits, subject, target or layout make another port; a comment in the manifest does not."""
    one, two = (rig.change({"keep/x": f"{n}\n"}) for n in range(2))
    first = make_plan(rig.manifest(one)).fingerprint
    assert make_plan(rig.manifest(one, policy={"empty": "keep"})).fingerprint == first
    others = [make_plan(rig.manifest(two)), make_plan(rig.manifest({"pick": [one], "subject": "s"}))]
    rig.drift({"t": "t"})
    others.append(make_plan(rig.manifest(one)))
    rig.layout["paths"]["keep"] = "kept"
    others.append(make_plan(rig.manifest(one)))
    assert len({first, *(plan.fingerprint for plan in others)}) == 5


def test_identity_is_the_same_in_both_layouts(rig):
    """What a commit does has one digest across layout, drift and message; other lines have another."""
    one = rig.change({"old/a.txt": lines((3, "see old/a.txt"))})
    rig.drift({"new/place/a.txt": "top\n" + lines((11, "drift"))})
    both = lines((3, "see new/place/a.txt"), (11, "drift"))
    two = rig.drift({"new/place/a.txt": "top\n" + both}, message="reworded\n")
    other = rig.drift({"new/place/a.txt": "top\n" + lines((3, "else"), (11, "drift"))})
    here = Repository.open(rig.repo.path)
    translator = Translator(rig.manifest(one).layout, here)
    mine = identity(here, here.commit(one), translator)
    assert mine == identity(here, here.commit(two)) and mine != identity(here, here.commit(other))
    assert identity(here, here.commit(rig.change({}))) is None


def test_a_partly_ported_squash_ports_the_rest(rig):
    """Sources already there are listed, the others still make the commit."""
    one = rig.change({"old/a.txt": lines((3, "x"))}, message="one\n")
    two = rig.change({"keep/x": "y\n"}, message="two\n")
    rig.drift({"new/place/a.txt": lines((3, "x"))}, message="one\n")
    plan = make_plan(rig.manifest({"pick": [one, two]}))
    assert [step.sources for step in plan.steps] == [(two,)]
    assert [left.source for left in plan.left] == [one] and "the same change" in plan.left[0].reason


def test_glob_pairs_match_cheaply(rig):
    """A `*` in a segment and a folder pair match what the tree holds; a typo does not."""
    rig.layout["paths"] = {"old": "new/place", "ke*": "gu*", "kep/*.txt": "x/*.txt"}
    plan = make_plan(rig.manifest(rig.change({"keep/x": "y\n"})))
    assert [line.split(" matches")[0] for line in unmatched(plan)] == ["path pair kep/*.txt"]
