"""Labels and residuals: what a proof says, and that no change of a ported commit escapes it."""

from __future__ import annotations

import re

import pytest

from porttool.errors import ManifestError, RepositoryError
from porttool.port import apply, resume
from porttool.proof import verify
from porttool.repo import Commit, Repository
from porttool.repo_objects import parse_commit, serialize_commit
from tests.porttool.rig import Rig, lines
from tests.support.repos import Link, Script


@pytest.fixture
def rig(repo) -> Rig:
    return Rig(repo, {"old/a.txt": lines(), "old/b.txt": lines(), "keep/x": "1\n2\n3\n4\n5\n", "safe/s": "s\n"})


def ported(rig, **told):
    """A rewritten commit, then a clean one, on a target that has drifted."""
    one = rig.change({"old/a.txt": lines((3, "see old/b.txt"), (4, "x"))}, message="fix\n\nbody\n")
    two = rig.change({"keep/x": "1\n2\n3\n4\nfive\n"}, message="clean\n")
    rig.drift({"new/place/a.txt": lines((11, "drift")), "keep/x": "0\n1\n2\n3\n4\n5\n"})
    manifest = rig.manifest(one, two, protected=["safe/s"], **told)
    apply(manifest)
    return manifest


def test_labels_of_an_untouched_port(rig):
    """verbatim where T did nothing, layout-only where it renamed; the branch is derived again id by id."""
    proof = verify(ported(rig))
    assert [row.label for row in proof.commits] == ["layout-only", "verbatim"]
    assert (proof.verdict, proof.ok, proof.rederived, proof.warnings) == ("layout-only", True, True, ())
    assert proof.protected == {"safe/s": True} and proof.not_ported == {}
    assert {mention.state for mention in proof.leftovers} <= {"rewritten"}


def amend(rig, number: int, change, manifest):
    """Rewrite the commit `number` from the tip of the branch, and those after it, as `change` says."""
    here = Repository.open(rig.repo.path)
    chain = here.history([here.resolve("out")], [here.resolve("target")])
    parent = here.resolve("target")
    for index, oid in enumerate(chain):
        commit = here.commit(oid)
        fields = {name: getattr(commit, name) for name in ("author", "committer", "message", "encoding")}
        tree = commit.tree
        if index == number:
            tree, fields = change(tree, fields)
        elif index > number:
            edits = {found.path: found.new for found in here.changes_of(commit)}
            tree = here.edit_tree(here.commit(parent).tree, edits)
        parent = here.write_commit(Commit(tree=tree, parents=(parent,), **fields))
    here.flush()
    rig.repo.git("update-ref", "refs/heads/out", parent)
    return verify(manifest)


def edits(rig, files):
    """A change of the tree alone."""
    def change(tree, fields):
        base = rig.repo.git_repo.odb
        assert base is not None
        return rig.repo.tree(files, tree), fields
    return change


PERTURBED = {
    "an extra line": {"new/place/a.txt": lines((3, "see new/place/b.txt"), (4, "x"), (11, "drift")) + "extra\n"},
    "a changed line": {"new/place/a.txt": lines((3, "see new/place/b.txt"), (4, "y"), (11, "drift"))},
    "a lost line": {"new/place/a.txt": lines((3, "see new/place/b.txt"), (11, "drift"))},
    "a lost change": {"new/place/a.txt": lines((11, "drift"))},
    "lost drift": {"new/place/a.txt": lines((3, "see new/place/b.txt"), (4, "x"))},
    "an untranslated mention": {"new/place/a.txt": lines((3, "see old/b.txt"), (4, "x"), (11, "drift"))},
    "the same lines elsewhere": {
        "new/place/a.txt": "line 1\nline 2\nline 5\nline 6\nsee new/place/b.txt\nx\n"
        + "".join(f"line {k}\n" for k in range(7, 11)) + "drift\nline 12\n"},
    "a mode": {"new/place/a.txt": Script(lines((3, "see new/place/b.txt"), (4, "x"), (11, "drift")))},
    "a link": {"new/place/a.txt": Link("b.txt")},
    "a deleted file": {"new/place/a.txt": None},
    "another file": {"keep/y": "y\n"},
    "another file changed": {"new/place/b.txt": lines((1, "sneaked in"))},
    "no final newline": {"new/place/a.txt": lines((3, "see new/place/b.txt"), (4, "x"), (11, "drift"))[:-1]},
    "CRLF": {"new/place/a.txt": lines((3, "see new/place/b.txt"), (4, "x"), (11, "drift")).replace("\n", "\r\n")},
    "a protected file": {"safe/s": "touched\n"},
    "trailing space": {"new/place/a.txt": lines((3, "see new/place/b.txt "), (4, "x"), (11, "drift"))},
}  # fmt: skip


@pytest.mark.parametrize("what", PERTURBED)
def test_every_change_of_the_tree_is_seen(rig, what):
    """Each perturbation of one commit's tree makes that commit, and no other, undeclared, and says where."""
    manifest = ported(rig)
    proof = amend(rig, 0, edits(rig, PERTURBED[what]), manifest)
    first, second = proof.commits
    assert (first.label, second.label, proof.verdict, proof.ok) == ("undeclared", "verbatim", "undeclared", False)
    (path,) = PERTURBED[what]
    assert {residual.path for residual in first.residual} == {path}
    assert not proof.rederived


@pytest.mark.parametrize(
    ("field", "old", "new", "kind"),
    [
        ("author", b"Ann", b"Anne", "author"),
        ("author", b"+0000", b"+0100", "author"),
        ("message", b"body", b"Body", "message"),
        ("message", b"fix\n", b"fix \n", "message"),
        ("message", b"Layout: ", b"Layout: 0", "trailers"),
        ("message", b"Ported-From:", b"Signed-off-by: x\nPorted-From:", "trailers"),
        ("encoding", None, b"latin1", "encoding"),
    ],
)
def test_every_change_of_the_commit_object_is_seen(rig, field, old, new, kind):
    """One byte of author, message, trailers or encoding is enough."""
    def change(tree, fields):
        fields[field] = new if old is None else fields[field].replace(old, new, 1)
        return tree, fields

    proof = amend(rig, 0, change, ported(rig))
    assert [residual.kind for residual in proof.commits[0].residual] == [kind]
    assert (proof.commits[0].label, proof.verdict) == ("undeclared", "undeclared")


def test_lines_of_a_residual_are_exact(rig):
    """Path, line and kind of each place that differs, in the numbering of the file that has the line."""
    change = edits(rig, {"new/place/a.txt": lines((3, "see new/place/b.txt"), (4, "y"), (11, "drift"))})
    proof = amend(rig, 0, change, ported(rig))
    told = [(residual.path, residual.line, residual.kind, residual.text) for residual in proof.commits[0].residual]
    assert told == [("new/place/a.txt", 4, "missing", "x"), ("new/place/a.txt", 4, "extra", "y")]


def test_a_dropped_commit_is_missing(rig):
    """Count in is count accounted for: a commit that is not on the branch is a row of its own."""
    manifest = ported(rig)
    rig.repo.git("update-ref", "refs/heads/out", "out~1")
    proof = verify(manifest)
    assert [row.label for row in proof.commits] == ["layout-only", "undeclared"]
    assert proof.commits[1].commit == "" and proof.commits[1].residual[0].kind == "commit"


def test_a_commit_of_unknown_origin_is_undeclared(rig):
    """A commit without our trailers, or naming a source nobody has, proves nothing."""
    manifest = ported(rig)
    rig.repo.commit({"mine": "m"}, branch="out")
    row = verify(manifest).commits[-1]
    assert (row.label, row.residual[0].kind) == ("undeclared", "source")
    rig.repo.commit({"mine": "n"}, branch="out", message=f"x\n\nPorted-From: r@{'1' * 40}\n")
    assert verify(manifest).commits[-1].residual[0].kind == "source"


def test_a_commit_twice_is_not_proven(rig):
    """A second port of the same source is no part of the manifest."""
    manifest = ported(rig)
    raw = rig.repo.raw("out")
    here = Repository.open(rig.repo.path)
    again = parse_commit("", raw).with_tree(here.commit(here.resolve("out")).tree, here.resolve("out"))
    made = rig.repo.git("hash-object", "-w", "-t", "commit", "--stdin", input=serialize_commit(again))
    rig.repo.git("update-ref", "refs/heads/out", made)
    proof = verify(manifest)
    assert not proof.ok and any("not in the manifest" in warning for warning in proof.warnings)


def test_a_rebased_port_is_proven_commit_by_commit(rig):
    """After the branch was rebased onto a target that moved, each commit still proves; ids differ, and it says so."""
    manifest = ported(rig)
    rig.drift({"t/t": "t\n", "new/place/a.txt": "top\n" + lines((11, "drift"))})
    rig.repo.git("worktree", "add", "-q", "-f", "--detach", str(rig.folder / "w"), "out")
    rig.repo.git("-C", str(rig.folder / "w"), "rebase", "-q", "target")
    rebased = rig.repo.git("-C", str(rig.folder / "w"), "rev-parse", "HEAD")
    rig.repo.git("update-ref", "refs/heads/out", rebased)
    proof = verify(manifest)
    assert [row.label for row in proof.commits] == ["layout-only", "verbatim"]
    assert proof.ok and not proof.rederived


def test_a_target_that_moved_on_does_not_matter(rig):
    """The branch is proven, and derived again, where it stands."""
    manifest = ported(rig)
    rig.drift({"new/place/a.txt": "all new\n"})
    proof = verify(manifest)
    assert proof.ok and proof.rederived


def test_no_branch_is_a_fault(rig):
    """There is nothing to prove before apply."""
    with pytest.raises(RepositoryError, match="no branch 'out'"):
        verify(rig.manifest(rig.change({"keep/x": "y\n"})))


def resolved(rig, **told):
    one = rig.change({"old/a.txt": lines((6, "source"))}, message="fix\n")
    rig.drift({"new/place/a.txt": lines((6, "target"))})
    manifest = rig.manifest({"pick": [one], **told})
    apply(manifest)
    (rig.scratch / "new/place/a.txt").write_text(lines((6, "source"), (7, "by hand")))
    resume(manifest, reason="why")
    return manifest


def test_t39_t43_a_resolution_is_listed_with_its_delta(rig):
    """resolved: the path, the resolution's id and reason, and exactly what goes beyond the source's change."""
    proof = verify(resolved(rig))
    (row,) = proof.commits
    assert (row.label, proof.verdict, proof.ok, proof.rederived) == ("resolved", "declared", True, True)
    assert [(found.path, found.reason) for found in row.resolved] == [("new/place/a.txt", "why")]
    assert {residual.text for residual in row.residual} >= {"+by hand", "-line 7"}


def test_declared_in_the_manifest_is_adapted(rig):
    """A reason in the manifest for that path makes it adapted; a reason for a path without residual is a failure."""
    proof = verify(resolved(rig, adapted={"new/place/a.txt": "the target has its own line"}))
    assert (proof.commits[0].label, proof.verdict, proof.ok) == ("adapted", "declared", True)
    rig.repo.git("update-ref", "-d", "refs/heads/out")
    one = rig.repo.git("rev-parse", "source")
    wrong = rig.manifest({"pick": [one], "adapted": {"new/place/a.txt": "x", "keep/x": "never touched"}})
    apply(wrong)
    assert any("keep/x" in warning for warning in verify(wrong).warnings)


@pytest.mark.parametrize("adapted", [False, True])
def test_a_resolution_that_was_changed_on_the_branch_is_undeclared(rig, adapted):
    """The branch has to hold what the resolution says, to the byte; a reason in the manifest does not change that."""
    manifest = resolved(rig, **({"adapted": {"new/place/a.txt": "own line"}} if adapted else {}))
    proof = amend(rig, 0, edits(rig, {"new/place/a.txt": lines((6, "source"), (7, "by another hand"))}), manifest)
    assert (proof.commits[0].label, proof.verdict) == ("undeclared", "undeclared")


def test_a_resolution_without_a_record_is_undeclared(rig):
    """What a hand did and nobody recorded is shown line by line."""
    manifest = resolved(rig)
    for file in manifest.resolutions.iterdir():
        file.unlink()
    proof = verify(manifest)
    assert (proof.commits[0].label, proof.verdict) == ("undeclared", "undeclared")
    assert "+by hand" in {residual.text for residual in proof.commits[0].residual}


def test_a_resolution_of_no_use_fails(rig):
    """A record nothing asks for is a rule that matched nothing."""
    manifest = ported(rig)
    other = resolved_elsewhere(manifest)
    proof = verify(manifest)
    assert not proof.ok and any(other in warning for warning in proof.warnings)


def resolved_elsewhere(manifest) -> str:
    from porttool.resolutions import Sides, add

    told = {"sides": Sides(None, None, None), "result": None, "content": b"", "author": "me", "reason": "r"}
    found = add(manifest.resolutions, source="1" * 40, path="p", **told)
    return found.id


@pytest.mark.parametrize(
    ("told", "word"),
    [
        ({"skip": {"target": "no such pick"}}, "skip target"),
        ({"protected": ["nowhere/*"]}, "protected nowhere/*"),
    ],
)
def test_rules_that_match_nothing_fail(rig, told, word):
    """A skip or a protected glob that names nothing is a warning, and a failure of the proof."""
    one = rig.change({"keep/x": "y\n"})
    manifest = rig.manifest(one, **told)
    apply(manifest)
    proof = verify(manifest)
    assert not proof.ok and word in proof.warnings[0] and re.search(r"port\.yaml:\d+", proof.warnings[0])


@pytest.mark.parametrize(
    ("section", "pair", "word"),
    [
        ("paths", {"gone": "new/gone"}, "path pair gone"),
        ("modules", {"no.such": "not.there"}, "module pair no.such"),
        ("symbols", {"NoSuch": "NotThere"}, "symbol NoSuch"),
        ("keys", {"no.key": "not.here"}, "key pair no.key"),
    ],
)
def test_pairs_that_match_nothing_fail(rig, section, pair, word):
    """A pair of the layout that names nothing on either side is said so, at its line."""
    one = rig.change({"keep/x": "y\n"})
    rig.layout[section] = {**rig.layout.get(section, {}), **pair}
    manifest = rig.manifest(one)
    apply(manifest)
    proof = verify(manifest)
    assert not proof.ok and word in proof.warnings[0]


def test_pairs_that_match_only_a_rename_are_fine(rig):
    """A symbol that stands in a source file matches; so does one that the target alone has already."""
    rig.change({"keep/code.py": "OldName = 1\n"})
    rig.drift({"keep/more.py": "NewWord = 1\n", "keep/code.py": "NewName = 1\n"})
    rig.layout["symbols"] = {"OldName": "NewName", "OldWord": "NewWord"}
    manifest = rig.manifest(rig.change({"keep/x": "y\n"}))
    apply(manifest)
    assert verify(manifest).warnings == ()


def test_empty_and_skipped_commits_are_accounted_for(rig):
    """Each commit that is not on the branch has its reason."""
    one = rig.change({"keep/x": "y\n"})
    two = rig.change({"old/a.txt": lines((3, "x"))})
    three = rig.change({"old/b.txt": lines((3, "x"))})
    rig.drift({"new/place/a.txt": lines((3, "x"))}, message="by hand\n", author="Other <o@x>")
    manifest = rig.manifest(one, two, three, skip={one: "not wanted"})
    apply(manifest)
    proof = verify(manifest)
    assert proof.not_ported == {one: "not wanted", two: "empty: already there"} and proof.ok


def test_a_kept_empty_commit_has_its_label(rig):
    """`empty: already there` where policy keeps it."""
    two = rig.change({"old/a.txt": lines((3, "x"))})
    rig.drift({"new/place/a.txt": lines((3, "x"))}, message="by hand\n", author="Other <o@x>")
    manifest = rig.manifest(two, policy={"empty": "keep"})
    apply(manifest)
    assert [row.label for row in verify(manifest).commits] == ["empty: already there"]


def test_several_sources_are_proven_together(rig):
    """A squash of commits that do not follow each other proves as one, and a change in it is seen."""
    one = rig.change({"old/a.txt": lines((3, "x"))})
    rig.change({"keep/x": "between\n"})
    two = rig.change({"old/a.txt": lines((3, "x"), (9, "y"))})
    manifest = rig.manifest({"pick": [one, two]})
    apply(manifest)
    proof = verify(manifest)
    assert [row.label for row in proof.commits] == ["layout-only"] and proof.ok and proof.rederived
    worse = amend(rig, 0, edits(rig, {"new/place/a.txt": lines((3, "x"), (9, "z"))}), manifest)
    assert worse.verdict == "undeclared"


def test_t26_one_way_is_told_from_layout_only(rig):
    """A change that T carries over and cannot bring back is one-way, and named at its line."""
    one = rig.change({"keep/x": "1\nsee old/a.txt and new/place/a.txt\n3\n4\n5\n"})
    manifest = rig.manifest(one)
    apply(manifest)
    proof = verify(manifest)
    (row,) = proof.commits
    assert row.label == "one-way" and [(culprit.path, culprit.line) for culprit in row.one_way] == [("keep/x", 2)]
    assert proof.verdict == "undeclared" and row.residual == ()


def test_a_stale_resolution_fails(rig):
    """A resolution made for other contents is an error that names what changed, never a guess."""
    manifest = resolved(rig)
    rig.repo.git("update-ref", "-d", "refs/heads/out")
    rig.drift({"new/place/a.txt": lines((6, "target"), (12, "moved on"))})
    with pytest.raises(ManifestError, match="is stale: ours changed"):
        apply(manifest)
