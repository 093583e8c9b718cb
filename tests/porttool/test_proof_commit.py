"""One commit against its sources: what its row says, to the word."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from porttool.plan import Step
from porttool.port import apply, resume
from porttool.port_merge import Delta
from porttool.proof import verify
from porttool.proof_commit import Proven, Prover, _Found
from porttool.proof_delta import Residual
from porttool.repo import Commit, Repository
from porttool.translate import Culprit
from tests.porttool.rig import Rig, lines
from tests.support.repos import AUTHOR, Link, Script, Submodule

ONE_WAY = "see old/a.txt and new/place/a.txt"


@pytest.fixture
def rig(repo) -> Rig:
    files = {"old/a.txt": lines(), "old/b.txt": lines(), "keep/x": "1\n2\n3\n4\n5\n", "safe/s": "s\n"}
    return Rig(repo, files)


def amended(rig, manifest, files=(), branch="out", **fields):
    """The proof after the last commit of the branch was made again with other files, or other fields."""
    here = Repository.open(rig.repo.path)
    old = here.commit(here.resolve(branch))
    kept = {name: getattr(old, name) for name in ("parents", "author", "committer", "message", "encoding")}
    made = here.write_commit(Commit(tree=rig.repo.tree(dict(files), old.tree), **{**kept, **fields}))
    here.flush()
    rig.repo.git("update-ref", f"refs/heads/{branch}", made)
    return verify(manifest).commits


def commit_of(rig, rev="out"):
    here = Repository.open(rig.repo.path)
    return here.commit(here.resolve(rev))


def test_a_row_says_nothing_it_was_not_told():
    """No step, residual, resolution, path or movement; the step's words where there is one."""
    bare = Proven("c", "Ann", "s", (), "verbatim")
    assert bare == Proven("c", "Ann", "s", (), "verbatim", None, (), (), (), (), "")
    assert (dict(bare.adapted), bare.upstream, bare.why, _Found().empty) == ({}, (), "", False)
    assert bare.declared_loss is False
    step = Step(("1",), upstream=("u",), adapted={"a": "b"}, why="they asked")
    told = Proven("c", "Ann", "s", ("1",), "verbatim", step, movement="it moved")
    assert (told.adapted, told.upstream, told.why) == ({"a": "b"}, ("u",), "they asked")


def test_where_a_commit_is_not_from(rig):
    """The first source that is not here, that there is none, or how many parents: told as one place of the commit."""
    one = rig.change({"keep/x": "y\n"}, message="fix\n")
    apply(manifest := rig.manifest(one))
    names = [f"Ported-From: r@{oid}" for oid in (one, "1" * 40, "2" * 40)]
    for message, parents, told in (
        ("fix\n\n" + "\n".join(names) + "\n", ["target"], Residual("", 0, "source", f"source {'1' * 40} is not here")),
        ("fix\n", ["target"], Residual("", 0, "source", "names no source commit")),
        (f"fix\n\n{names[0]}\n", ["target", "source"], Residual("", 0, "parents", "has 2 parents")),
    ):
        above = tuple(rig.repo.git("rev-parse", parent) for parent in parents)
        row = next(row for row in amended(rig, manifest, message=message.encode(), parents=above)
                   if row.commit == rig.repo.git("rev-parse", "out"))  # fmt: skip
        assert (row.label, row.residual, row.one_way, row.touched) == ("undeclared", (told,), (), ())
        assert (row.author, row.subject) == (AUTHOR, "fix")


@pytest.mark.parametrize(
    ("field", "new", "kind", "text"),
    [
        ("author", b"Eve <e@x> 1 +0000", "author", "{new!r} and not {old!r}"),
        ("encoding", b"latin1", "encoding", "{new!r} and not {old!r}"),
        ("message", b"fix it\n", "message", "the source's message is not the start of this one"),
        ("message", b"fix\n\nmore\n", "trailers", "the trailers are not those of this layout and manifest"),
    ],
)
def test_what_differs_of_a_commit_object(rig, field, new, kind, text):
    """One place, of the commit and no file, with both values where there are two."""
    source = rig.change({"keep/x": "y\n"}, message="fix\n")
    manifest = rig.manifest(source)
    apply(manifest)
    old = getattr(commit_of(rig), field)
    if field == "message" and kind == "trailers":
        (row,) = amended(rig, manifest, message=old.replace(b"Layout: ", b"Layout: 0"))
    elif field == "message":
        (row,) = amended(rig, manifest, message=old.replace(b"fix\n", new, 1))
    else:
        (row,) = amended(rig, manifest, **{field: new})
    assert (row.label, row.residual) == ("undeclared", (Residual("", 0, kind, text.format(new=new, old=old)),))


def test_a_squash_has_its_first_author(rig):
    """And the subject that the manifest gives; both are asked."""
    one = rig.change({"keep/x": "y\n"}, message="one\n", author="Bo <b@x>")
    two = rig.change({"keep/y": "y\n"}, message="two\n", author="Cy <c@x>")
    manifest = rig.manifest({"pick": [one, two], "subject": "both"})
    apply(manifest)
    (row,) = verify(manifest).commits
    assert (row.label, row.subject, row.author, row.sources) == ("verbatim", "both", "Bo <b@x>", (one, two))
    assert row.touched == ("keep/x", "keep/y") and row.residual == ()
    (row,) = amended(rig, manifest, author=commit_of(rig, two).author)
    assert [residual.kind for residual in row.residual] == ["author"]


def test_a_squash_is_renamed_where_any_of_it_is(rig):
    """One source that T changes is enough for layout-only."""
    one, two = rig.change({"old/a.txt": lines((3, "x"))}), rig.change({"keep/x": "y\n"})
    apply(manifest := rig.manifest({"pick": [one, two]}))
    assert [row.label for row in verify(manifest).commits] == ["layout-only"]


def test_what_does_not_come_back_is_told_only_of_what_is_otherwise_right(rig):
    """With a residual, or a resolution, that is the news; the places that do not come back are not."""
    one = rig.change({"keep/x": f"1\n{ONE_WAY}\n3\n4\n5\n"})
    apply(manifest := rig.manifest(one))
    (row,) = verify(manifest).commits
    assert (row.label, [(found.path, found.line) for found in row.one_way]) == ("one-way", [("keep/x", 2)])
    (row,) = amended(rig, manifest, {"keep/y": "more\n"})
    assert (row.label, row.one_way) == ("undeclared", ())


LESS = "the change does not come back as it was"


def test_a_change_of_which_the_target_has_a_part(rig):
    """The rest of it is ported and is less than the source: it does not come back, of the first path touched."""
    one = rig.change({"keep/x": "1\n2\n3\n4\nfive\n", "old/a.txt": lines((3, "x"), (9, "y"))})
    rig.drift({"new/place/a.txt": lines((9, "y"))})
    apply(manifest := rig.manifest(one))
    (row,) = verify(manifest).commits
    assert (row.label, row.touched) == ("one-way", ("keep/x", "new/place/a.txt"))
    assert row.one_way == (Culprit("keep/x", 0, "one-way", LESS),)


@pytest.mark.parametrize(
    ("start", "drifted", "source"),
    [("caac", "acac", "caaac"), ("bbcbbc", "bcbbbc", "bbccbc")],
    ids=["merged on the way back", "conflict on the way back"],
)
def test_lines_that_are_like_their_neighbours(rig, start, drifted, source):
    """A merge may not know which of equal lines changed; taking out and putting in the same lines is coming back."""
    rig.change({"keep/x": "\n".join([*start, ""])})
    rig.drift({"keep/x": "\n".join([*drifted, ""])})
    one = rig.change({"keep/x": "\n".join([*source, ""])})
    apply(manifest := rig.manifest(one))
    (row,) = verify(manifest).commits
    assert (row.label, row.one_way) == ("verbatim", ())


def test_sources_that_do_not_stand_on_each_other(rig):
    """Where they cannot be laid together on the source alone, nobody can say that the port comes back."""
    one = rig.change({"old/a.txt": lines((2, "x"))})
    rig.change({"old/a.txt": lines((2, "x"), (7, "between"))})
    two = rig.change({"old/a.txt": lines((2, "x"), (7, "y"))})
    rig.drift({"new/place/a.txt": lines((7, "between"))})
    apply(manifest := rig.manifest({"pick": [one, two]}))
    (row,) = verify(manifest).commits
    assert (row.label, row.one_way) == ("one-way", (Culprit("new/place/a.txt", 0, "one-way", LESS),))


def test_a_link_that_does_not_come_back(rig):
    """It has no lines; where it leads is asked all the same."""
    one = rig.change({"keep/l": Link("../new/place/a.txt")})
    apply(manifest := rig.manifest(one))
    (row,) = verify(manifest).commits
    assert row.label == "one-way" and {found.path for found in row.one_way} == {"keep/l"}


LINK, OTHER, SUB = Link("a"), Link("b"), Submodule("1" * 40)


@pytest.mark.parametrize(
    ("back", "source", "same"),
    [
        (({"a": "0\n1\n2\n"}, {"a": "0\n1\n3\n"}), ({"a": "1\n2\n"}, {"a": "1\n3\n"}), True),
        (({"a": "1\n2\n"}, {"a": "1\n4\n"}), ({"a": "1\n2\n"}, {"a": "1\n3\n"}), False),
        (({"a": "1\n"}, {"a": "1\n3\n"}), ({"a": "1\n"}, {"a": "1\n3\n", "b": "1\n"}), False),
        (({"a": "1\n"}, {"a": "2\n", "b": "1\n"}), ({"a": "1\n"}, {"a": "2\n"}), False),
        (({}, {"a": "1\n"}), ({}, {"a": "1\n"}), True),
        (({"a": "1\n"}, {}), ({"a": "1\n"}, {}), True),
        (({}, {"a": Script("1\n")}), ({}, {"a": "1\n"}), False),
        (({"a": Script("1\n")}, {}), ({"a": "1\n"}, {}), False),
        (({}, {"a": ""}), ({"a": ""}, {}), False),
        (({"a": "1\n"}, {"a": Script("1\n")}), ({"a": "1\n"}, {"a": Script("1\n")}), True),
        (({"a": LINK}, {"a": OTHER}), ({"a": LINK}, {"a": OTHER}), True),
        (({"a": LINK}, {"a": OTHER}), ({"a": LINK}, {"a": Link("c")}), False),
        (({"a": LINK}, {"a": SUB}), ({"a": LINK}, {"a": SUB}), True),
        (
            ({"a": "1\n", "b": "1\n"}, {"a": "2\n", "b": "3\n"}),
            ({"a": "1\n", "b": "1\n"}, {"a": "2\n", "b": "2\n"}),
            False,
        ),
    ],
)
def test_changes_with_the_same_lines(rig, back, source, same):
    """The same files, modes and lines taken out and put in, wherever in a file they stand."""
    here = Repository.open(rig.repo.path)
    start, wanted = (rig.repo.tree(files) for files in source)
    base, theirs = (here.entries(rig.repo.tree(files)) for files in back)
    changed = [path for path in {**base, **theirs} if base.get(path) != theirs.get(path)]
    delta = Delta(*({path: side[path] for path in changed if path in side} for side in (base, theirs)))
    assert Prover._same_lines(SimpleNamespace(repository=here), delta, start, wanted) is same


def test_a_squash_comes_back_to_where_its_first_source_stood(rig):
    """Though a later one changes the same line again."""
    one, two = rig.change({"old/a.txt": lines((3, "x"))}), rig.change({"old/a.txt": lines((3, "y"))})
    apply(manifest := rig.manifest({"pick": [one, two]}))
    (row,) = verify(manifest).commits
    assert (row.label, row.one_way) == ("layout-only", ())


def test_a_resolution_that_does_what_the_source_does(rig):
    """Nothing is left over, and it is resolved all the same, though it would not come back."""
    one = rig.change({"keep/x": f"1\n2\n{ONE_WAY}\n4\n5\n"})
    rig.drift({"keep/x": "1\nzwei\n3\n4\n5\n"})
    apply(manifest := rig.manifest(one))
    told = ONE_WAY.replace("old", "new/place")
    (rig.scratch / "keep/x").write_text(f"1\nzwei\n{told}\n4\n5\n")
    resume(manifest, reason="both")
    (row,) = verify(manifest).commits
    assert (row.label, row.residual, row.one_way) == ("resolved", (), ())


@pytest.mark.parametrize("second", [(1, "first"), (6, "source two")], ids=["clean", "in conflict too"])
def test_a_squash_that_comes_to_a_resolved_file_again(rig, second):
    """What a resolution says is what the next source is laid on; the end of it is held to the byte."""
    one = rig.change({"old/a.txt": lines((6, "source"))})
    two = rig.change({"old/a.txt": lines(second) if second[0] == 6 else lines((6, "source"), second)})
    rig.drift({"new/place/a.txt": lines((6, "target"))})
    apply(manifest := rig.manifest({"pick": [one, two]}))
    (rig.scratch / "new/place/a.txt").write_text(lines((6, "both")))
    if resume(manifest, reason="why").conflict:
        (rig.scratch / "new/place/a.txt").write_text(lines((6, "both two")))
        resume(manifest, reason="why")
    proof = verify(manifest)
    assert ([row.label for row in proof.commits], proof.ok, proof.rederived) == (["resolved"], True, True)
    (row,) = amended(rig, manifest, {"new/place/a.txt": lines((6, "neither"))})
    assert row.label == "undeclared"


def test_what_a_hand_does_and_nobody_recorded_is_not_explained_by_what_was(rig):
    """A squash with one resolution that is recorded and one that is not, of one file."""
    one = rig.change({"old/a.txt": lines((6, "source"))})
    two = rig.change({"old/a.txt": lines((6, "source two"))})
    rig.drift({"new/place/a.txt": lines((6, "target"))})
    apply(manifest := rig.manifest({"pick": [one, two]}))
    (rig.scratch / "new/place/a.txt").write_text(lines((6, "both")))
    resume(manifest, reason="why")
    (rig.scratch / "new/place/a.txt").write_text(lines((6, "both two")))
    resume(manifest, reason="why")
    files = {json.loads(file.read_text())["source"]: file for file in manifest.resolutions.glob("*.json")}
    files[two].unlink()
    (row,) = verify(manifest).commits
    assert row.label == "undeclared" and len(row.resolved) == 1


def test_no_reason_excuses_a_protected_path(rig):
    """Declared as adapted it is as undeclared as without."""
    one = rig.change({"keep/x": "y\n"})
    manifest = rig.manifest({"pick": [one], "adapted": {"safe/s": "we need it"}}, protected=["safe/*"])
    apply(manifest)
    (row,) = amended(rig, manifest, {"safe/s": "t\n"})
    assert row.label == "undeclared"
    assert Residual("safe/s", 0, "protected", "a protected path was changed") in row.residual
    free = rig.manifest({"pick": [one], "adapted": {"safe/s": "we need it"}})
    assert verify(free).commits[0].label == "adapted"


def test_one_path_that_is_declared_does_not_cover_another(rig):
    """Each path with a residual needs its reason."""
    one = rig.change({"keep/x": "y\n"})
    manifest = rig.manifest({"pick": [one], "adapted": {"keep/a": "we need it"}})
    apply(manifest)
    assert amended(rig, manifest, {"keep/a": "t\n"})[0].label == "adapted"
    assert amended(rig, manifest, {"keep/b": "t\n"})[0].label == "undeclared"


PATCH = """\
From: Ann Author <ann@example.invalid>
Date: Tue, 14 Nov 2023 22:13:20 +0000
Subject: [PATCH] add it

---
diff --git a/keep/x b/keep/x
deleted file mode 100644
--- a/keep/x
+++ /dev/null
@@ -1,5 +0,0 @@
-1
-2
-3
-4
-5
diff --git a/new/p b/new/p
new file mode 100644
--- /dev/null
+++ b/new/p
@@ -0,0 +1 @@
+new
"""


def patched(rig, **told):
    (rig.folder / "p.patch").write_text(PATCH)
    manifest = rig.manifest({"new": "p.patch", "why": "they asked"}, **told)
    apply(manifest)
    return manifest


def test_the_row_of_a_patch(rig):
    """It has no source; what it writes is touched, what it deletes is not there any more."""
    (row,) = verify(patched(rig)).commits
    assert (row.label, row.sources, row.residual, row.why) == ("new", (), (), "they asked")
    assert (row.touched, row.one_way, row.resolved) == (("new/p",), (), ())


def test_every_change_of_a_patched_commit_is_seen(rig):
    """Its tree, its author and its message are those of the file, to the byte."""
    manifest = patched(rig)
    author, message = commit_of(rig).author, commit_of(rig).message
    (row,) = amended(rig, manifest, {"new/p": Script("new\n")})
    assert (row.label, [(one.path, one.kind) for one in row.residual]) == ("undeclared", [("new/p", "mode")])
    (row,) = amended(rig, manifest, {"new/p": "new\n"}, author=b"Eve <e@x> 1 +0000")
    told = Residual("", 0, "author", f"{b'Eve <e@x> 1 +0000'!r} and not {author!r}")
    assert (row.label, row.residual) == ("undeclared", (told,))
    (row,) = amended(rig, manifest, author=author, message=message + b"more\n")
    assert (row.label, row.residual) == (
        "undeclared",
        (Residual("", 0, "message", "not the message of the patch file"),),
    )
    assert row.touched == ("new/p",)


def test_a_patch_that_does_not_apply_there(rig):
    """Why is told as the one place; nothing else is judged."""
    manifest = patched(rig)
    above = rig.drift({"keep/x": "1\n2\ndrei\n4\n5\n"})
    (row,) = amended(rig, manifest, parents=(above,))
    assert (row.label, row.sources, row.touched) == ("undeclared", (), ())
    (told,) = row.residual
    assert (told.path, told.line, told.kind) == ("", 0, "source") and "does not apply" in told.text


def test_a_patch_that_is_there_already(rig):
    """Kept, it is an empty commit and says so."""
    (rig.folder / "p.patch").write_text(PATCH)
    rig.drift({"keep/x": None, "new/p": "new\n"})
    manifest = rig.manifest({"new": "p.patch"}, policy={"empty": "keep"})
    apply(manifest)
    (row,) = verify(manifest).commits
    assert (row.label, row.residual, row.touched) == ("empty: already there", (), ())


def test_what_is_known_of_a_commit_is_a_path_once():
    """Nothing is empty until it is seen to be; paths stand in the order of the sources."""
    assert _Found().empty is False
    assert _Found().touched == ()


def test_a_squash_of_a_change_and_its_way_back(rig):
    """The target had the change, so only the way back is new there; on the source the two come to nothing."""
    one = rig.change({"old/a.txt": lines((3, "x")), "keep/z": "z\n"})
    two = rig.change({"old/a.txt": lines()})
    rig.drift({"new/place/a.txt": lines((3, "x"))})
    apply(manifest := rig.manifest({"pick": [one, two]}))
    (row,) = verify(manifest).commits
    assert (row.label, row.residual, row.one_way) == ("layout-only", (), ())


def test_a_squash_of_a_deletion_and_its_way_back(rig):
    """What comes back is not what stands on the source, and a conflict there is not taken for coming to nothing."""
    rig.change({"keep/w": f"{ONE_WAY}\n"})
    one = rig.change({"keep/w": None})
    two = rig.change({"keep/w": f"{ONE_WAY}\n"})
    apply(manifest := rig.manifest({"pick": [one, two]}))
    (row,) = verify(manifest).commits
    assert (row.label, row.residual) == ("one-way", ())
    assert [(found.path, found.line) for found in row.one_way] == [("keep/w", 1)]


def test_a_fragment_whose_old_home_the_target_gave_up(rig):
    """The change fits the target, but nothing of it can be put back; why is told at the first path touched."""
    rig.layout = {**rig.layout, "fragments": {"keep/host.yaml#model.x": "keep/x.yaml#"}}
    host = "model:\n  y: 1\n  x:\n    a: 1\n"
    rig.change({"keep/host.yaml": host})
    one = rig.change({"keep/host.yaml": host.replace("a: 1", "a: 2"), "keep/z": "z\n"})
    rig.drift({"keep/host.yaml": "other: 1\n", "keep/x.yaml": "a: 1\n"})
    apply(manifest := rig.manifest(one))
    (row,) = verify(manifest).commits
    assert (row.label, row.residual, row.touched) == ("one-way", (), ("keep/x.yaml", "keep/z"))
    told = "keep/x.yaml# has no place at keep/host.yaml#model.x: there is no 'model' in 'keep/host.yaml'"
    assert row.one_way == (Culprit("keep/x.yaml", 0, "one-way", told),)
