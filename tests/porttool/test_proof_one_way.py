"""What is lost to a pair that is declared one-way is declared; another loss beside it is not."""

from __future__ import annotations

import pytest

from parity.gate.proof import probe
from parity.verdict import Verdict
from porttool.errors import LayoutError
from porttool.plan import make_plan
from porttool.port import apply
from porttool.proof import verify
from porttool.proof_commit import Prover, _Found
from porttool.resolutions import Ledger
from porttool.restructure import restructure
from tests.porttool.rig import Rig, lines
from tests.porttool.test_proof_commit import amended

# A word of the old side becomes one that is in use there: only its pair is to blame.
DECLARED = "1\nLost here\n3\n4\n5\n"
# A path of the new side stands on the old one already: nobody said that this need not come back.
UNDECLARED = "1\nsee old/a.txt and new/place/a.txt\n3\n4\n5\n"


@pytest.fixture
def rig(repo) -> Rig:
    """Two branches of which the layout says that the word Lost need not come back."""
    files = {"old/a.txt": lines(), "keep/x": "1\n2\n3\n4\n5\n", "keep/y": "1\n2\n3\n4\n5\n"}
    made = Rig(repo, files)
    made.layout["symbols"] = {"Lost": {"to": "Found", "one_way": True}}
    return made


def judged(rig, *commits, **told):
    """The label, the verdict and the gate's answer for the one row of a port."""
    apply(manifest := rig.manifest(*commits, **told))
    proof = verify(manifest)
    (row,) = proof.commits
    assert row.declared_loss is (row.label == "one-way" and proof.verdict == "declared")
    return row.label, proof.verdict, probe(manifest, proof, 0.0).verdict


def test_what_the_pair_loses_is_declared(rig):
    """One-way, and the proof stands."""
    told = judged(rig, rig.change({"keep/x": DECLARED}))
    assert told == ("one-way", "declared", Verdict.MATCH)


@pytest.mark.parametrize("files", [{"keep/x": UNDECLARED}, {"keep/x": UNDECLARED, "keep/y": DECLARED}])
def test_another_loss_is_not(rig, files):
    """That some pair is one-way excuses nothing that it did not do, in a file of its own or beside one that it did."""
    assert judged(rig, rig.change(files)) == ("one-way", "undeclared", Verdict.DIFFER)


def test_another_loss_in_the_same_file_is_not(rig):
    """Two losses in one file: the one that nobody declared counts."""
    text = UNDECLARED.replace("4\n", "Lost\n")
    assert judged(rig, rig.change({"keep/x": text})) == ("one-way", "undeclared", Verdict.DIFFER)


def test_a_change_that_does_not_come_back_is_not(rig):
    """No word of it is lost; the target has a part of it already."""
    one = rig.change({"keep/x": "1\n2\n3\n4\nfive\n", "old/a.txt": lines((3, "x"), (9, "y"))})
    rig.drift({"new/place/a.txt": lines((9, "y"))})
    assert judged(rig, one) == ("one-way", "undeclared", Verdict.DIFFER)


def test_nor_is_it_beside_a_declared_loss(rig):
    """The same with a word of the pair in another file."""
    one = rig.change({"keep/x": DECLARED, "old/a.txt": lines((3, "x"), (9, "y"))})
    rig.drift({"new/place/a.txt": lines((9, "y"))})
    assert judged(rig, one) == ("one-way", "undeclared", Verdict.DIFFER)


def test_a_file_that_moves_one_way(rig):
    """Its old path and its new one are the loss, and both are the pair's."""
    del rig.layout["symbols"]
    rig.layout["paths"]["keep/y"] = {"to": "there/y", "one_way": True}
    rig.drift({"keep/y": None, "there/y": "1\n2\n3\n4\n5\n"})
    assert judged(rig, rig.change({"keep/y": "1\n2\n3\n4\nfive\n"})) == ("one-way", "declared", Verdict.MATCH)


def test_a_path_that_is_in_the_way_goes_one_way(rig):
    """Without its pair the layout would refuse it; the pair declares the whole file."""
    del rig.layout["symbols"]
    rig.layout["paths"]["new/place/z"] = {"to": "other/z", "one_way": True}
    assert judged(rig, rig.change({"new/place/z": UNDECLARED})) == ("one-way", "declared", Verdict.MATCH)
    moved = restructure(rig.manifest(target={"repo": str(rig.repo.path), "ref": "source", "branch": "moved"}))
    assert [one.path for one in moved.movement.one_way] == ["new/place/z"] * len(moved.movement.one_way)


def test_what_comes_back_has_no_loss(rig):
    """A layout with a one-way pair, and a commit without its word; or one with a residual."""
    one = rig.change({"keep/x": "1\n2\nthree\n4\n5\n"})
    apply(manifest := rig.manifest(one))
    (row,) = verify(manifest).commits
    assert (row.label, row.declared_loss, row.undeclared) == ("verbatim", False, False)
    (row,) = amended(rig, manifest, {"keep/y": "more\n"})
    assert (row.label, row.declared_loss, row.undeclared) == ("undeclared", False, True)


def test_sources_that_cannot_be_laid_together(rig):
    """Nobody can say then what is lost, so no pair can be to blame."""
    one = rig.change({"keep/x": DECLARED, "old/a.txt": lines((2, "x"))})
    rig.change({"old/a.txt": lines((2, "x"), (7, "between"))})
    two = rig.change({"old/a.txt": lines((2, "x"), (7, "y"))})
    rig.drift({"new/place/a.txt": lines((7, "between"))})
    assert judged(rig, {"pick": [one, two]}) == ("one-way", "undeclared", Verdict.DIFFER)


def test_nothing_to_blame_is_nothing_declared(rig):
    """A change that is refused on its way back though each of its files comes back is nobody's declared loss."""
    plan = make_plan(rig.manifest(rig.change({"keep/x": DECLARED})))
    prover = Prover(plan, Ledger(plan.repository, ()))
    assert prover._declared((), _Found(), set()) is False
    assert prover._declared((), _Found(), {"keep/x"}) is False


def test_a_name_that_the_way_back_refuses(rig):
    """A one-way pair that keeps a file where it is, out of a wider pair."""
    del rig.layout["symbols"]
    rig.layout["paths"] |= {"old/b": {"to": "old/b", "one_way": True}}
    assert judged(rig, rig.change({"old/b": "1\n"})) == ("one-way", "declared", Verdict.MATCH)


def test_a_restructure_is_judged_the_same_way(rig):
    """A movement with a loss of the pair is made; with one that nobody declared it is refused, with its place."""
    rig.change({"keep/x": DECLARED})
    made = restructure(rig.manifest(target={"repo": str(rig.repo.path), "ref": "source", "branch": "moved"}))
    assert made.movement.one_way and made.run.moved
    rig.change({"keep/y": UNDECLARED})
    with pytest.raises(LayoutError) as error:
        restructure(rig.manifest(target={"repo": str(rig.repo.path), "ref": "source", "branch": "again"}))
    assert error.value.where == "keep/y:2"
