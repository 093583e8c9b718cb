"""Porting commits: what lands, what stops, and what is left alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from porttool.errors import ManifestError, RepositoryError, UsageError
from porttool.port import Empty, Skipped, abort, apply
from tests.porttool.rig import Rig, lines
from tests.support.repos import Link, Script, Submodule


@pytest.fixture
def rig(repo) -> Rig:
    files = {"old/a.txt": lines(), "old/bin": b"\0\1", "b.txt": "see `old/a.txt`\n", "keep/x": "x\n"}
    return Rig(repo, files)


def kinds(run) -> list[str]:
    return [type(outcome).__name__ for outcome in run.outcomes]


def test_a_commit_lands_at_its_mapped_place_and_nowhere_else(rig):
    """Content changes under the new path, mentions are renamed, target drift stays, other files keep their ids."""
    one = rig.change({"old/a.txt": lines((3, "fixed")), "b.txt": "see `old/a.txt` twice\n"}, message="fix it\n")
    rig.drift({"new/place/a.txt": lines((11, "drift")), "only/here": "t"})
    before = rig.repo.files("target")
    run = rig.apply(one)
    assert kinds(run) == ["Applied"] and run.moved and run.applied[0].kind == "rewritten"
    wanted = before | {"new/place/a.txt": lines((3, "fixed"), (11, "drift")).encode(),
                       "b.txt": b"see `new/place/a.txt` twice\n"}  # fmt: skip
    assert rig.repo.files("out") == wanted


def test_t15_t17_author_message_and_encoding_are_the_sources(rig):
    """The author line is the source's byte for byte; the committer is ours, at the author's date."""
    raw = b"Jos\xe9  <j@x> 1700000001 +0530"
    told = {"author_line": raw, "message": b"caf\xe9\n\nbody\n", "headers": [(b"encoding", b"latin1")]}
    one = rig.change({"keep/x": "y\n"}, **told)
    rig.apply(one)
    made = rig.repo.raw("out")
    assert b"\nauthor " + raw + b"\n" in made
    ours = b"\ncommitter porttool <porttool@localhost.invalid> 1700000001 +0530"
    assert ours + b"\nencoding latin1\n\ncaf\xe9\n\nbody\n" in made


def test_the_square_porting_onto_t_of_the_parent_gives_t(rig):
    """Onto the translated parent, each commit's tree is the translation of its own tree."""
    rig.change({"old/a.txt": lines((1, "x")), "old/n/new.txt": "old/a.txt\n"})
    rig.change({"old/a.txt": None, "old/c.txt": lines((2, "y")), "keep/x": Script("x\n")})
    rig.apply({"range": f"{rig.base}..source"})
    wanted = {rig.to_target(path): content for path, content in rig.repo.files("source").items()}
    wanted["new/place/n/new.txt"] = b"new/place/a.txt\n"
    wanted["b.txt"] = b"see `new/place/a.txt`\n"
    assert rig.repo.files("out") == wanted


def test_the_same_manifest_gives_the_same_ids(rig, tmp_path):
    """Twice in one repository, and in a clone elsewhere: the same commit ids, and the second run moves nothing."""
    one = rig.change({"old/a.txt": lines((3, "x"))})
    first = rig.apply(one)
    refs = rig.repo.refs()
    assert rig.apply(one).head == first.head and rig.repo.refs() == refs
    rig.repo.git("clone", "-q", "--bare", str(rig.repo.path), str(tmp_path / "bare"))
    rig.repo.git("clone", "-q", str(tmp_path / "bare"), str(tmp_path / "elsewhere" / "repo"))
    there = {"repo": str(tmp_path / "elsewhere" / "repo"), "ref": "origin/source"}
    again = rig.apply(one, name="again", source=there, target={**there, "ref": "origin/target", "branch": "out"})
    assert again.head == first.head


def test_t20_the_target_tip_is_an_ancestor_of_the_result(rig):
    """The branch grows out of the target's tip; every ported commit has one parent."""
    picks = [rig.change({"keep/x": f"{n}\n"}) for n in range(3)]
    tip = rig.drift({"t": "t"})
    rig.apply(*picks)
    assert rig.repo.git("merge-base", "target", "out") == tip
    assert rig.repo.git("rev-list", "--count", "target..out") == "3"


def test_t4_a_rename_with_an_edit_keeps_both(rig):
    """A file renamed and edited in one commit lands renamed and edited."""
    one = rig.change({"old/a.txt": None, "old/z.txt": lines((5, "edited"))})
    rig.apply(one)
    files = rig.repo.files("out")
    assert "new/place/a.txt" not in files and files["new/place/z.txt"] == lines((5, "edited")).encode()


def test_t5_a_rename_across_the_map_is_never_empty(rig):
    """A commit that only renames out of the mapped folder deletes the mapped path and adds the other."""
    one = rig.change({"old/a.txt": None, "keep/a.txt": lines()})
    run = rig.apply(one)
    assert kinds(run) == ["Applied"]
    assert "new/place/a.txt" not in rig.repo.files("out") and "keep/a.txt" in rig.repo.files("out")


def test_t6_a_file_the_target_lacks_is_named(rig):
    """The change is neither lost nor put somewhere else: the path is in conflict, with a hint about the map."""
    one = rig.change({"old/a.txt": lines((3, "x"))})
    rig.drift({"new/place/a.txt": None, "elsewhere/a.txt": lines()})
    refs = rig.repo.refs()
    run = rig.apply(one)
    (found,) = run.conflict.conflicts
    assert (found.kind, found.path) == ("missing", "new/place/a.txt") and "map" in found.hint
    assert rig.repo.refs() == refs


def test_t7_an_unmapped_folder_stops(rig):
    """A new file in a folder that the target has under no known name is not guessed into place."""
    rig.repo.git("update-ref", "refs/heads/source", rig.base)
    one = rig.change({"keep/new.txt": "n\n"})
    rig.drift({"keep/x": None, "kept/x": "x\n"})
    (found,) = rig.apply(one).conflict.conflicts
    assert (found.kind, found.path) == ("unmapped", "keep/new.txt") and "'keep'" in found.hint


def test_a_new_folder_is_no_guess(rig):
    """A folder that the commit itself brings lands where it says, though neither side had it."""
    run = rig.apply(rig.change({"fresh/x": "x", "old/deep/er/y": "y"}))
    assert not run.conflict and {"fresh/x", "new/place/deep/er/y"} <= rig.repo.files("out").keys()


def test_t9_nothing_to_port_lists_why(rig):
    """All commits skipped or there already: no branch, and a reason for each."""
    one = rig.change({"keep/x": "1\n"})
    two = rig.change({"keep/x": "2\n"})
    three = rig.change({})
    rig.drift({"keep/x": "2\n"})
    run = rig.apply(one, two, three, skip={one: "not wanted"})
    assert run.nothing and not run.moved and "refs/heads/out" not in rig.repo.refs()
    told = {outcome.names: getattr(outcome, "reason", "") for outcome in run.outcomes}
    assert told == {(one,): "not wanted", (two,): "already there", (three,): "empty in the source"}


@pytest.mark.parametrize("policy", ["skip", "keep", "refuse"])
def test_empty_commits_follow_the_policy(rig, policy):
    """skip leaves them out, keep makes an empty commit, refuse stops with the place in the manifest."""
    one = rig.change({"old/a.txt": lines((3, "x"))})
    rig.drift({"new/place/a.txt": lines((3, "x"))}, message="by hand\n", author="Other <o@x>")
    told = {"policy": {"empty": policy}}
    if policy == "refuse":
        with pytest.raises(UsageError, match="is empty: already there"):
            rig.apply(one, **told)
        return
    run = rig.apply(one, **told)
    (outcome,) = run.outcomes
    assert isinstance(outcome, Empty) and outcome.reason == "already there"
    assert (outcome.commit is not None) == run.moved == (policy == "keep")


def test_t11_every_commit_is_accounted_for(rig):
    """A conflict in the middle drops nothing: what comes after waits, and the counts agree."""
    picks = [rig.change({"old/a.txt": lines((n, "s"))}) for n in (2, 6, 10)]
    other = rig.change({"keep/x": "s\n"})
    rig.drift({"new/place/a.txt": lines((6, "t"))})
    run = rig.apply({"pick": picks[:1]}, {"pick": picks[1:]}, other, skip={picks[0]: "no"})
    assert run.accounted == run.plan.count == 4
    assert kinds(run) == ["Skipped", "Conflicted"] and run.waiting == (other,)


def test_t21_only_mapped_paths_change(rig):
    """Files outside the commit keep their blob ids, whatever their line ends or attributes say."""
    one = rig.change({"old/a.txt": lines((3, "x"))})
    rig.drift({".gitattributes": "* text eol=lf\n", "crlf": b"a\r\nb\r\n", "mixed": b"a\r\nb\n"})
    rig.apply(one)
    changed = rig.repo.git("diff-tree", "-r", "--name-only", "target", "out").split()
    assert changed == ["new/place/a.txt"]


def test_t36_attributes_change_no_byte(rig):
    """`eol` and `text` attributes on both sides leave CRLF, LF and binary content exactly as committed."""
    rig.drift({".gitattributes": "*.txt text eol=crlf\n*.bin text\n"})
    content = {"keep/l.txt": b"a\nb\n", "keep/c.txt": b"a\r\n", "keep/x.bin": b"\0\r\n\n", "keep/m.txt": b"a\r\nb\n"}
    rig.apply(rig.change(content))
    files = rig.repo.files("out")
    assert {path: files[path] for path in content} == content


def test_t35_binary_and_latin1_content_moves_by_id(rig):
    """A binary and a file in another encoding are carried as the blobs they are."""
    one = rig.change({"old/bin": b"\0\2\xff", "old/l1.txt": b"caf\xe9 old/a.txt\n"})
    run = rig.apply(one)
    files = rig.repo.files("out")
    assert files["new/place/bin"] == b"\0\2\xff"
    assert files["new/place/l1.txt"].startswith(b"caf\xe9 ") and not run.conflict


def test_binary_changed_on_both_sides_is_a_conflict(rig):
    """Binaries are never merged by lines."""
    one = rig.change({"old/bin": b"\0\2"})
    rig.drift({"new/place/bin": b"\0\3"})
    (found,) = rig.apply(one).conflict.conflicts
    assert (found.kind, found.path) == ("binary", "new/place/bin")


def test_modes_links_and_submodules(rig):
    """A mode change meets a content change; a link's target is a path; t37: only the commit's own gitlink moves."""
    rig.change({"sub": Submodule("1" * 40), "sub2": Submodule("2" * 40)})
    rig.drift({"sub": Submodule("1" * 40), "sub2": Submodule("3" * 40)})
    one = rig.change({"old/a.txt": Script(lines()), "l": Link("old/a.txt"), "sub": Submodule("4" * 40)})
    rig.drift({"new/place/a.txt": lines((3, "t"))})
    run = rig.apply(one)
    assert not run.conflict
    listed = rig.repo.git("ls-tree", "-r", "--format=%(objectmode) %(path)", "out").split("\n")
    told = dict(line.split(" ")[::-1] for line in listed)
    files = rig.repo.files("out")
    assert told["new/place/a.txt"] == "100755" and files["new/place/a.txt"] == lines((3, "t")).encode()
    assert files["l"] == b"new/place/a.txt" and told["l"] == "120000"


def test_t37_only_the_gitlink_the_commit_changed_moves(rig):
    """A submodule bumped elsewhere on the source is not carried along; both sides bumping one is a conflict."""
    rig.change({"sub": Submodule("1" * 40), "sub2": Submodule("2" * 40)})
    rig.drift({"sub": Submodule("1" * 40), "sub2": Submodule("9" * 40)})
    rig.change({"sub2": Submodule("5" * 40)})
    one = rig.change({"sub": Submodule("4" * 40)})
    rig.apply(one)
    files = rig.repo.files("out")
    assert (files["sub"], files["sub2"]) == (b"4" * 40, b"9" * 40)
    two = rig.change({"sub2": Submodule("6" * 40)})
    (found,) = rig.apply(two).conflict.conflicts
    assert found.kind == "submodule"


def test_a_directory_that_becomes_a_file_is_no_clash(rig):
    """Both in one commit, as on the source."""
    rig.change({"keep/d/x": "1"})
    rig.drift({"keep/d/x": "1"})
    run = rig.apply(rig.change({"keep/d/x": None, "keep/d": "now a file"}))
    assert not run.conflict and rig.repo.files("out")["keep/d"] == b"now a file"


def test_added_alike_on_both_sides_is_no_conflict(rig):
    """The same new file with the same bytes is there already."""
    one = rig.change({"old/n": "s\n", "keep/x": "y\n"})
    rig.drift({"new/place/n": "s\n"})
    assert kinds(rig.apply(one)) == ["Applied"]


def test_protected_paths_stop_the_commit(rig):
    """A commit that would touch a protected path fails there, and the file stays the target's."""
    one = rig.change({"old/a.txt": lines((2, "s")), "keep/x": "s\n"})
    for glob in ("new/place/a.txt", "new/**", "new"):
        run = rig.apply(one, protected=[glob])
        (found,) = run.conflict.conflicts
        assert (found.kind, found.path) == ("protected", "new/place/a.txt")
        abort(rig.manifest(one, protected=[glob]))


def test_several_sources_make_one_commit(rig):
    """The first author stays, others are co-authors, one Ported-From each, the subject is the manifest's."""
    one = rig.change({"old/a.txt": lines((2, "s"))}, message="first\n\nbody one\n")
    two = rig.change({"old/a.txt": lines((2, "s"), (9, "s"))}, message="second\n", author="Bo <bo@x>")
    three = rig.change({"keep/x": "s\n"}, message="third\n", author="Bo <bo@x>")
    rig.apply({"pick": [one, two, three], "subject": "all of it", "upstream": ["d597a2fd"]})
    message = rig.repo.raw("out").split(b"\n\n", 1)[1].decode()
    assert message == (
        "all of it\n\nfirst\n\nbody one\n\nsecond\n\nthird\n\nCo-authored-by: Bo <bo@x>\nUpstream: d597a2fd\n"
        + "".join(f"Ported-From: repo@{oid}\n" for oid in (one, two, three))
        + f"Layout: {rig.manifest(one).layout.digest}\n"
    )
    assert rig.repo.files("out")["new/place/a.txt"] == lines((2, "s"), (9, "s")).encode()


def test_by_upstream_picks_the_other_ids(rig):
    """The same manifest ports the `upstream` ids instead; an item without them is an error at its line."""
    one = rig.change({"keep/x": "1\n"})
    two = rig.change({"old/a.txt": lines((4, "s"))})
    run = apply(rig.manifest({"pick": [one], "upstream": [two[:10]]}), by="upstream")
    assert run.applied[0].names == (two,)
    with pytest.raises(ManifestError, match="no upstream ids"):
        apply(rig.manifest(one), by="upstream")


def merged(rig, **evil):
    """A merge on the source branch whose sides touch different files, with a hand-made change."""
    side = rig.repo.commit({"keep/side": "s\n"}, branch="side", parents=[rig.base])
    left = rig.change({"keep/left": "l\n"})
    merge = rig.change({"keep/side": "s\n", **evil}, parents=[left, side], message="merge\n")
    return side, left, merge


def test_t22_merges_are_refused_unless_the_manifest_says(rig):
    """refuse: an error that names the merge; first-parent: its whole difference; evil: only the hand's part."""
    side, left, merge = merged(rig, **{"old/a.txt": lines((5, "by hand"))})
    whole = {"range": f"{rig.base}..source"}
    with pytest.raises(UsageError, match=f"{merge[:12]} is a merge"):
        rig.apply(whole)
    run = rig.apply(whole, policy={"merges": "first-parent"})
    assert [outcome.names for outcome in run.applied] == [(left,), (merge,)]
    assert rig.repo.files("out")["keep/side"] == b"s\n"
    evil = rig.apply(whole, policy={"merges": "evil"})
    assert {outcome.names for outcome in evil.applied} == {(side,), (left,), (merge,)}
    last = evil.applied[-1].commit
    assert rig.repo.git("diff-tree", "-r", "--name-only", f"{last}^", last) == "new/place/a.txt"


def test_t22_a_merge_without_a_hand_is_empty(rig):
    """Under `evil` a clean merge is accounted for as empty."""
    _, _, merge = merged(rig)
    run = rig.apply({"range": f"{rig.base}..source"}, policy={"merges": "evil"})
    empty = [outcome for outcome in run.outcomes if isinstance(outcome, Empty)]
    assert [outcome.names for outcome in empty] == [(merge,)] and "merge" in empty[0].reason
    assert run.accounted == 3


def test_t25_a_signature_is_recorded_and_not_kept(rig):
    """The signature cannot hold for the new commit: it goes, and a trailer says there was one."""
    one = rig.change({"keep/x": "s\n"}, headers=[(b"gpgsig", b"-----BEGIN\r\n x\n -----END")])
    rig.apply(one)
    raw = rig.repo.raw("out")
    assert b"gpgsig" not in raw and raw.endswith(b"\nSource-Signature: present\n")
    rig.apply(one, policy={"signatures": "drop"})
    assert b"Source-Signature" not in rig.repo.raw("out")
    with pytest.raises(UsageError, match="is signed"):
        rig.apply(one, policy={"signatures": "refuse"})


def test_t30_a_malformed_author_is_carried_raw(rig):
    """A line no parser takes is carried as it is; t32: so is an odd zone; our own committer stays readable."""
    for line in (b"no mail at all", b"A <a@x> 1700000000 +051800", b" <> 1700000000 -0000"):
        one = rig.change({"keep/x": line + b"\n"}, author_line=line)
        rig.apply({"pick": [one]}, name="t30")
        assert f"\nauthor {line.decode()}\n" in rig.repo.git("cat-file", "commit", "out")
        rig.repo.git("update-ref", "-d", "refs/heads/out")
        rig.repo.git("update-ref", "refs/heads/source", rig.base)


def test_a_checked_out_branch_is_refused(rig, tmp_path):
    """Nothing is written to a branch somebody has in a worktree."""
    one = rig.change({"keep/x": "s\n"})
    rig.repo.branch("out", rig.tip)
    rig.repo.git("worktree", "add", "-q", str(tmp_path / "w"), "out")
    with pytest.raises(RepositoryError, match="checked out"):
        rig.apply(one)


def test_dry_run_writes_nothing(rig):
    """Everything is computed, the ids are known, and the repository has not one file more."""
    one = rig.change({"old/a.txt": lines((3, "x"))})
    before = {str(path) for path in rig.repo.path.rglob("*")}
    run = apply(rig.manifest(one), dry_run=True)
    assert {str(path) for path in rig.repo.path.rglob("*")} == before and not run.moved
    assert rig.apply(one).head == run.head


def test_a_branch_with_a_foreign_commit_is_not_overwritten(rig):
    """A port replaces a port, keeping the old one under our refs; it never drops somebody's commit."""
    one, two = (rig.change({"keep/x": f"{n}\n"}) for n in range(2))
    first = rig.apply(one).head
    rig.apply(one, two)
    assert not [name for name in rig.repo.refs() if "replaced" in name]
    rig.apply({"pick": [one, two]})
    assert [name for name in rig.repo.refs() if "replaced" in name] and first
    rig.repo.commit({"mine": "m"}, branch="out")
    with pytest.raises(RepositoryError, match="did not make"):
        rig.apply(one)


def test_already_ported_commits_are_recognised(rig):
    """By trailer, and by what they do where a hand carried them over in the target's names."""
    one = rig.change({"old/a.txt": lines((3, "x"))}, message="fix\n")
    two = rig.change({"old/a.txt": lines((3, "x"), (9, "y"))}, message="more\n")
    rig.apply(one)
    rig.repo.branch("target", "out")
    rig.drift({"new/place/a.txt": lines((3, "x"), (9, "y"))}, message="more\n", author="Other <o@x>")
    run = rig.apply(one, two, target={"repo": str(rig.repo.path), "ref": "target", "branch": "next"})
    assert [type(outcome) for outcome in run.outcomes] == [Skipped, Skipped]
    assert ["trailer" in outcome.reason or "same change" in outcome.reason for outcome in run.outcomes] == [True, True]


def test_what_is_carried_back_is_not_carried_twice(rig):
    """The inverse port of a ported commit finds it at home already."""
    one = rig.change({"old/a.txt": lines((3, "x"))})
    rig.apply(one)
    there = rig.repo.commit({"new/place/a.txt": lines((3, "x"), (9, "t"))}, branch="out")
    here = str(rig.repo.path)
    home = {"repo": here, "ref": "source", "branch": "home"}
    manifest = rig.manifest({"range": "target..out"}, target=home, source={"repo": here, "ref": "out"})
    run = apply(replace(manifest, layout=manifest.layout.inverse()))
    assert [outcome.names for outcome in run.applied] == [(there,)]
    assert rig.repo.files("home")["old/a.txt"] == lines((3, "x"), (9, "t")).encode()


def test_a_source_repository_of_its_own(rig, tmp_path):
    """Objects come from another repository; no ref of the user moves; names resolve there."""
    one = rig.change({"old/a.txt": lines((3, "x"))})
    rig.repo.git("clone", "-q", str(rig.repo.path), str(tmp_path / "fork"), "-b", "source")
    rig.repo.git("update-ref", "-d", "refs/heads/source")
    refs = rig.repo.refs()
    run = rig.apply(one, source={"repo": str(tmp_path / "fork"), "ref": "source"})
    assert run.moved
    mine = {name: oid for name, oid in rig.repo.refs().items() if not name.startswith("refs/porttool/")}
    assert mine == refs | {"refs/heads/out": run.head}
