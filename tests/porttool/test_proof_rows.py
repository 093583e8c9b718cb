"""What a proof says as a whole: its verdict, who is accounted for, and the rules that were of no use."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from porttool.errors import RepositoryError
from porttool.plan import make_plan
from porttool.port import apply
from porttool.proof import Proof, Proven, Residual, prove, verify
from porttool.resolutions import Sides, add
from tests.porttool.rig import Rig, lines
from tests.porttool.test_proof_commit import amended
from tests.support.repos import AUTHOR


def proof(*labels, protected=None, warnings=(), declared_loss=False):
    """A proof of commits with these labels."""
    rows = tuple(Proven("c", "Ann", "s", (), label, declared_loss=declared_loss) for label in labels)
    return Proof(None, rows, protected=protected or {}, warnings=tuple(warnings))


@pytest.mark.parametrize(
    ("labels", "verdict"),
    [
        ([], "layout-only"),
        (["verbatim", "layout-only", "empty: already there"], "layout-only"),
        (["layout-only", "adapted"], "declared"),
        (["resolved"], "declared"),
        (["new"], "declared"),
        (["verbatim", "undeclared", "new"], "undeclared"),
        (["one-way", "verbatim"], "undeclared"),
    ],
)
def test_the_verdict_is_that_of_the_worst_commit(labels, verdict):
    """One commit that nobody declared is enough; what is declared is not layout-only."""
    told = proof(*labels)
    assert (told.verdict, told.ok) == (verdict, verdict != "undeclared")


def test_a_loss_may_be_declared():
    """Then a commit that does not come back is declared, and nothing else is."""
    assert proof("one-way", "verbatim", declared_loss=True).verdict == "declared"
    assert proof("one-way", "undeclared", declared_loss=True).verdict == "undeclared"


def test_a_touched_protected_path_is_undeclared():
    """One of several is enough."""
    assert proof("verbatim", protected={"a": True, "b": False}).verdict == "undeclared"
    assert proof("verbatim", protected={"a": True, "b": True}).verdict == "layout-only"


def test_a_warning_fails_a_proof_whatever_its_verdict():
    """The verdict stays."""
    told = proof("verbatim", warnings=["a pair matches nothing"])
    assert (told.verdict, told.ok) == ("layout-only", False)


def test_a_proof_says_nothing_it_was_not_told():
    """No reason, no path, no mention, no warning; and it was not derived again."""
    plan = SimpleNamespace()
    assert hash(Proof(None, ())) == hash(Proof(None, ()))
    assert Proof(plan, ()) == Proof(plan, (), {}, {}, (), (), False)


@pytest.fixture
def rig(repo) -> Rig:
    return Rig(
        repo, {"old/a.txt": lines(), "old/b.txt": lines(), "keep/x": "1\n2\n", "safe/s": "s\n", "safe/t": "t\n"}
    )


def test_no_branch_says_which_and_what_makes_it(rig):
    """The short name, the repository, and the verb; and none is made by asking."""
    manifest = rig.manifest(rig.change({"keep/x": "y\n"}))
    before = rig.repo.refs()
    with pytest.raises(RepositoryError) as caught:
        verify(manifest)
    error = caught.value
    assert rig.repo.refs() == before
    assert (error.message, error.where) == ("there is no branch 'out'", str(make_plan(rig.manifest()).repository.root))
    assert error.hint == "`porttool apply` makes it"


def test_nothing_to_port_needs_no_branch(rig):
    """Where all commits are skipped the target itself is the proof."""
    one = rig.change({"keep/x": "y\n"})
    told = verify(rig.manifest(one, skip={one: "not wanted"}))
    assert (told.commits, told.not_ported, told.ok, told.rederived) == ((), {one: "not wanted"}, True, True)


def test_another_branch_and_other_ids_can_be_proven(rig):
    """The branch that is asked for, and upstream ids where they are."""
    one, other = rig.change({"keep/x": "y\n"}), rig.change({"keep/y": "y\n"})
    manifest = rig.manifest({"pick": [one], "upstream": [other]})
    apply(manifest, branch="second", by="upstream")
    told = verify(manifest, branch="second", by="upstream")
    assert [row.sources for row in told.commits] == [(other,)] and told.ok and told.rederived
    assert [row.label for row in verify(manifest, branch="second").commits] == ["verbatim", "undeclared"]
    skipped = rig.manifest({"pick": [one], "upstream": [other]}, skip={other: "not wanted"})
    assert verify(skipped, by="upstream").commits == ()


def test_a_branch_of_another_history_is_refused(rig):
    """There is nowhere to begin."""
    apply(manifest := rig.manifest(rig.change({"keep/x": "y\n"})))
    odd = rig.repo.commit({"a": "b\n"}, branch="odd", parents=[])
    with pytest.raises(RepositoryError) as caught:
        prove(make_plan(manifest), odd)
    assert (caught.value.message, caught.value.where) == ("the branch has no commit in common with the target", odd)


def test_a_commit_that_is_missing_is_a_row(rig):
    """With its author and subject, the step that wanted it, and the place told."""
    one, two = rig.change({"keep/x": "y\n"}, message="first\n"), rig.change({"keep/y": "y\n"}, message="second\n")
    apply(manifest := rig.manifest(one, two))
    rig.repo.git("update-ref", "refs/heads/out", "out~1")
    there, gone = verify(manifest).commits
    assert (there.label, there.subject) == ("verbatim", "first")
    assert (gone.commit, gone.author, gone.subject, gone.sources) == ("", AUTHOR, "second", (two,))
    assert (gone.label, gone.step.sources) == ("undeclared", (two,))
    assert gone.residual == (Residual("", 0, "commit", f"{two} is not on the branch"),)


PATCH = """\
From: Ann Author <ann@example.invalid>
Date: Tue, 14 Nov 2023 22:13:20 +0000
Subject: [PATCH] {subject}

---
diff --git a/{path} b/{path}
new file mode 100644
--- /dev/null
+++ b/{path}
@@ -0,0 +1 @@
+new
"""


def patches(rig, *names):
    """Patch files that each make one file."""
    for name in names:
        (rig.folder / f"{name}.patch").write_text(PATCH.format(subject=f"add {name}", path=f"new/{name}"))
    return [{"new": f"{name}.patch", "why": f"why {name}"} for name in names]


def test_patches_are_told_apart_by_name(rig):
    """Each commit from a patch goes to the step of its own patch; what is not there is told by the file's name."""
    items = patches(rig, "p", "q", "r")
    apply(rig.manifest(*items[:2]))
    told = verify(rig.manifest(items[1], items[0], items[2]))
    assert [(row.label, row.why, row.subject) for row in told.commits] == [
        ("new", "why p", "add p"),
        ("new", "why q", "add q"),
        ("undeclared", "why r", "r.patch"),
    ]
    gone = told.commits[2]
    assert (gone.commit, gone.author, gone.sources) == ("", "", ())
    assert gone.residual == (Residual("", 0, "commit", "r.patch is not on the branch"),)


def test_a_squash_that_is_there_already_is_accounted_for_by_each_of_its_commits(rig):
    """Every commit of a step that comes to nothing has its reason."""
    one = rig.change({"old/a.txt": lines((3, "x"))})
    two = rig.change({"old/b.txt": lines((3, "x"))})
    rig.drift({"new/place/a.txt": lines((3, "x")), "new/place/b.txt": lines((3, "x"))}, author="Other <o@x>")
    manifest = rig.manifest({"pick": [one, two]}, rig.change({"keep/x": "y\n"}))
    apply(manifest)
    told = verify(manifest)
    assert told.not_ported == {one: "empty: already there", two: "empty: already there"}
    assert [row.label for row in told.commits] == ["verbatim"] and told.ok


def test_protected_paths_one_by_one(rig):
    """A path is told by itself, a glob by what it holds, untouched or not; a new file under a glob counts."""
    one = rig.change({"keep/x": "y\n"})
    apply(manifest := rig.manifest(one, protected=["safe/*", "keep/x"][:1]))
    assert verify(manifest).protected == {"safe/s": True, "safe/t": True}
    rig.repo.commit({"safe/t": "touched\n", "safe/u": "new\n"}, branch="out")
    assert verify(manifest).protected == {"safe/s": True, "safe/t": False, "safe/u": False}
    exact = rig.manifest(one, protected=["safe/t", "safe/s"])
    told = verify(exact).protected
    assert list(told.items()) == [("safe/s", True), ("safe/t", False)]
    mixed = rig.manifest(one, protected=["safe/s", "keep/*"])
    assert list(verify(mixed).protected.items()) == [("keep/x", False), ("safe/s", True)]


def test_every_warning_says_what_and_where(rig):
    """A resolution of no use, a commit that is there twice, and a reason for a path that does not differ."""
    one = rig.change({"keep/x": "y\n"}, message="fix\n")
    manifest = rig.manifest({"pick": [one], "adapted": {"keep/x": "no reason"}})
    apply(manifest)
    told = {"sides": Sides(None, None, None), "result": None, "content": b"", "author": "me", "reason": "r"}
    unused = add(manifest.resolutions, source="1" * 40, path="p", **told)
    commit = rig.repo.git("rev-parse", "out")
    twice = rig.repo.git(
        "commit-tree", "-p", commit, "-m", rig.repo.git("log", "-1", "--format=%B", "out"), "out^{tree}"
    )
    rig.repo.git("update-ref", "refs/heads/out", twice)
    proof = verify(manifest)
    where = proof.commits[0].step.where
    assert where.rpartition(":")[2].isdigit()
    assert proof.warnings[:2] == (
        f"resolution {unused.id} of p was of no use ({unused.file})",
        f"adapted keep/x of {commit[:12]} differs in nothing ({where})",
    )
    assert not proof.ok and not proof.rederived


def test_a_second_port_of_a_commit_is_a_stray(rig):
    """It proves, and the manifest does not know it: that is a warning by its id."""
    one = rig.change({"old/a.txt": lines((3, "x"))}, message="fix\n")
    two = rig.change({"old/a.txt": lines()}, message="undo\n")
    apply(manifest := rig.manifest(one, two))
    apply(only := rig.manifest(one, name="only"), branch="out2")
    told = verify(only, branch="out")
    commit = told.commits[1].commit
    assert told.warnings == (f"commit {commit[:12]} is on the branch and not in the manifest, or is there twice",)
    assert (told.commits[1].label, told.verdict, told.ok) == ("layout-only", "layout-only", False)
    assert verify(manifest).warnings == ()


def test_a_port_that_cannot_be_done_again_says_why(rig):
    """A branch of another manifest: the error is a warning, and nothing is said to be derived again."""
    one = rig.change({"keep/x": "y\n"})
    apply(rig.manifest(one))
    item = {"new": "p.patch"}
    patches(rig, "p")
    (rig.folder / "p.patch").write_text((rig.folder / "p.patch").read_text().replace("new/p", "keep/x"))
    told = verify(rig.manifest(item))
    assert not told.rederived and [row.commit == "" for row in told.commits] == [False, True]
    (stop,) = [warning for warning in told.warnings if warning.startswith("porting again stops: ")]
    assert "p.patch" in stop and stop.endswith(")")


def test_a_commit_that_proves_nothing_is_no_stray(rig):
    """It is undeclared, and that is all that is said of it."""
    apply(manifest := rig.manifest(rig.change({"keep/x": "y\n"})))
    rig.repo.commit({"mine": "m\n"}, branch="out")
    told = verify(manifest)
    assert ([row.label for row in told.commits], told.warnings) == (["verbatim", "undeclared"], ())


def test_the_last_trailer_names_the_patch(rig):
    """The message of a patch may name another; a commit that names a source is from no patch."""
    (item,) = patches(rig, "p")
    file = rig.folder / "p.patch"
    file.write_text(file.read_text().replace("\n---\n", "\nPatch: q.patch@1\n---\n", 1))
    apply(manifest := rig.manifest(item))
    assert [row.label for row in verify(manifest).commits] == ["new"]
    message = rig.repo.git("log", "-1", "--format=%B", "out") + f"\nPorted-From: r@{'1' * 40}\n"
    made = rig.repo.git("commit-tree", "-p", "target", "-m", message, "out^{tree}")
    rig.repo.git("update-ref", "refs/heads/out", made)
    row, gone = verify(manifest).commits
    assert (row.step, row.residual[0].kind, gone.commit, gone.subject) == (None, "source", "", "p.patch")


def test_everyone_who_is_missing_is_told(rig):
    """Behind one that is accounted for, too; a squash by its first commit."""
    empty = rig.change({"old/a.txt": lines((3, "x"))})
    there = rig.change({"keep/x": "y\n"})
    first, second = rig.change({"keep/a": "a\n"}, message="first\n"), rig.change({"keep/b": "b\n"}, message="second\n")
    rig.drift({"new/place/a.txt": lines((3, "x"))}, message="by hand\n", author="Other <o@x>")
    apply(manifest := rig.manifest(empty, there, {"pick": [first, second]}))
    rig.repo.git("update-ref", "refs/heads/out", "out~1")
    told = verify(manifest)
    assert told.not_ported == {empty: "empty: already there"}
    assert [(row.label, row.subject, row.sources) for row in told.commits[1:]] == [
        ("undeclared", "first", (first, second))
    ]
    assert told.commits[1].residual[0].text == f"{first} is not on the branch"


def test_a_reason_is_of_use_where_the_commit_differs(rig):
    """By hand or by a resolution."""
    one = rig.change({"keep/x": "y\n"})
    apply(manifest := rig.manifest({"pick": [one], "adapted": {"keep/a": "we need it"}}))
    assert [row.label for row in amended(rig, manifest, {"keep/a": "a\n"})] == ["adapted"]
    assert verify(manifest).warnings == ()
