"""Conflicts: laid out, resolved, skipped or dropped; never in the way of anything else."""

from __future__ import annotations

import subprocess

import pytest

from porttool.errors import UsageError
from porttool.port import Applied, Conflicted, Skipped, abort, apply, resume, skip
from tests.porttool.rig import Rig, lines
from tests.support.repos import Link


@pytest.fixture
def rig(repo) -> Rig:
    files = {"old/a.txt": lines(), "old/bin": b"\0\1", "b.txt": "see `old/a.txt`\n", "keep/x": "x\n"}
    return Rig(repo, files)


@pytest.mark.parametrize(
    ("source", "target", "kind"),
    [
        ({"old/a.txt": None}, {"new/place/a.txt": lines((2, "t"))}, "deleted"),
        ({"old/n": "s\n"}, {"new/place/n": "t\n"}, "added"),
        ({"old/a.txt": lines((2, "s"))}, {"new/place/a.txt": lines((2, "t"))}, "content"),
        ({"old/n": "s\n"}, {"new/place/n/x": "t\n"}, "directory"),
        ({"old/n/x": "s\n"}, {"new/place/n": "t\n"}, "directory"),
        ({"old/a.txt": Link("b.txt")}, {"new/place/a.txt": lines((2, "t"))}, "link"),
    ],
)
def test_each_kind_of_conflict(rig, source, target, kind):
    """Each clash stops the commit on its path, and no ref moves."""
    one = rig.change(source)
    rig.drift(target)
    refs = rig.repo.refs()
    run = rig.apply(one)
    assert [found.kind for found in run.conflict.conflicts] == [kind]
    assert rig.repo.refs() == refs and not run.moved


def conflicting(rig):
    one = rig.change({"old/a.txt": lines((6, "source")), "keep/x": "s\n"}, message=b"# kept\n#1 fix\n\n# too\n")
    rig.drift({"new/place/a.txt": lines((6, "target"))})
    return one, rig.manifest(one)


def test_a_conflict_is_laid_out_beside_everything(rig):
    """diff3 markers with commit names in a worktree of its own; refs, index and worktree are as they were."""
    one, manifest = conflicting(rig)
    refs, index = rig.repo.refs(), rig.repo.git("status", "--porcelain")
    run = apply(manifest)
    text = (rig.scratch / "new/place/a.txt").read_text()
    assert f"<<<<<<< {rig.repo.git('rev-parse', 'target')[:12]} (change)" in text
    assert f"||||||| parent of {one[:12]}" in text and f">>>>>>> {one[:12]} (# kept)" in text
    assert (rig.scratch / "keep/x").read_text() == "s\n"
    assert run.conflict.scratch == str(rig.scratch)
    assert rig.repo.refs() == refs and rig.repo.git("status", "--porcelain") == index
    unmerged = rig.repo.git("-C", str(rig.scratch), "ls-files", "-u")
    assert unmerged.count("new/place/a.txt") == 3


def test_t1_t18_continue_keeps_author_and_message(rig):
    """After a hand resolved it, `#` lines and author are still the source's, byte for byte."""
    one, manifest = conflicting(rig)
    apply(manifest)
    (rig.scratch / "new/place/a.txt").write_text(lines((6, "both")))
    run = resume(manifest, reason="both wanted", author="Me <me@x>")
    assert run.moved and run.applied[0].kind == "resolved"
    assert [found.reason for found in run.applied[0].resolved] == ["both wanted"]
    made, source = rig.repo.raw("out"), rig.repo.raw(one)
    assert made.split(b"\n\n", 1)[1].startswith(b"# kept\n#1 fix\n\n# too\n")
    assert made.split(b"\nauthor ")[1].split(b"\n")[0] == source.split(b"\nauthor ")[1].split(b"\n")[0]
    assert rig.repo.files("out")["new/place/a.txt"] == lines((6, "both")).encode()
    assert not list((rig.repo.path / ".git/porttool").glob("*")) and rig.repo.git("worktree", "list").count("\n") == 0


def test_t13_continue_is_idempotent(rig):
    """A rerun keeps the work in the scratch worktree; a second conflict follows the first; ids are a rerun's."""
    one, _ = conflicting(rig)
    two = rig.change({"old/a.txt": lines((6, "source"), (7, "more"))})
    manifest = rig.manifest(one, two)
    apply(manifest)
    (rig.scratch / "new/place/a.txt").write_text(lines((6, "both")))
    assert (rig.scratch / "new/place/a.txt").read_text() == lines((6, "both"))
    assert isinstance(apply(manifest).conflict, Conflicted)
    assert (rig.scratch / "new/place/a.txt").read_text() == lines((6, "both"))
    run = resume(manifest)
    assert run.conflict.source == two
    (rig.scratch / "new/place/a.txt").write_text(lines((6, "both"), (7, "more")))
    run = resume(manifest)
    assert run.moved and len(run.applied) == 2
    rig.repo.git("update-ref", "-d", "refs/heads/out")
    assert apply(manifest).head == run.head
    with pytest.raises(UsageError, match="no port is waiting"):
        resume(manifest)


def test_t41_markers_left_block(rig):
    """`--continue` refuses while a marker is left, and nothing is recorded."""
    _, manifest = conflicting(rig)
    apply(manifest)
    with pytest.raises(UsageError, match="markers are left"):
        resume(manifest)
    assert not manifest.resolutions.exists() and "refs/heads/out" not in rig.repo.refs()


def test_a_stray_edit_in_the_scratch_worktree_is_refused(rig):
    """Only paths in conflict, or declared as adapted, may be changed while resolving."""
    one, manifest = conflicting(rig)
    apply(manifest)
    (rig.scratch / "new/place/a.txt").write_text(lines((6, "both")))
    (rig.scratch / "stray").write_text("x")
    with pytest.raises(UsageError, match="not in conflict"):
        resume(manifest)
    abort(manifest)
    declared = rig.manifest({"pick": [one], "adapted": {"stray": "needed there"}})
    apply(declared)
    (rig.scratch / "new/place/a.txt").write_text(lines((6, "both")))
    (rig.scratch / "stray").write_text("x")
    resume(declared)
    assert rig.repo.files("out")["stray"] == b"x"
    assert b"\nAdapted: stray: needed there\n" in rig.repo.raw("out")


def test_skip_leaves_one_commit_out(rig):
    """The commit in conflict is skipped, listed with its reason, and the rest goes on."""
    one, _ = conflicting(rig)
    two = rig.change({"keep/x": "z\n"})
    rig.drift({"keep/x": "s\n"})
    manifest = rig.manifest(one, two)
    apply(manifest)
    run = skip(manifest)
    assert [type(outcome) for outcome in run.outcomes] == [Skipped, Applied] and run.moved
    assert "by hand" in run.outcomes[0].reason and run.accounted == 2


def test_abort_leaves_no_trace(rig):
    """State, scratch worktree and its registration go; a second abort says there was nothing."""
    _, manifest = conflicting(rig)
    before = rig.repo.refs()
    apply(manifest)
    assert abort(manifest) is True
    assert abort(manifest) is False
    assert rig.repo.refs() == before and not list((rig.repo.path / ".git").glob("porttool/*"))
    assert rig.repo.git("worktree", "list").count("\n") == 0


def test_a_changed_plan_does_not_take_over_a_conflict(rig):
    """Another manifest or a moved target must not continue what was stopped under the first."""
    one, manifest = conflicting(rig)
    two = rig.change({"keep/x": "z\n"})
    apply(manifest)
    for verb in (apply, resume, skip):
        with pytest.raises(UsageError, match=r"earlier plan|changed since"):
            verb(rig.manifest(one, two))


def test_without_record_the_resolution_is_for_this_port_alone(rig):
    """Nothing is written beside the manifest, and the branch cannot be derived again."""
    _, manifest = conflicting(rig)
    apply(manifest)
    (rig.scratch / "new/place/a.txt").write_text(lines((6, "both")))
    assert resume(manifest, record=False).moved and not manifest.resolutions.exists()
    assert apply(manifest, dry_run=True).conflict


def test_t10_the_recipe_replays_to_the_same_tree(rig):
    """The printed commands, run by a shell, end with the id of the very tree in the scratch worktree."""
    one = rig.change({"old/a.txt": lines((6, "source")), "keep/x": "s\n", "old/bin": b"\0\7", "keep/it's new": "n\n"})
    rig.drift({"new/place/a.txt": lines((6, "target")), "new/place/bin": b"\0\x08"})
    found = rig.apply(one).conflict
    assert {conflict.kind for conflict in found.conflicts} == {"content", "binary"}
    script = "\n".join((*found.recipe, 'echo "${GIT_INDEX_FILE-as before}"'))
    told = subprocess.run(["sh", "-e", "-c", script], cwd=rig.repo.path, capture_output=True, text=True, check=True)
    assert told.stdout.splitlines()[-2:] == [found.tree, "as before"]


def test_t10_the_recipe_is_not_filtered(rig):
    """Attributes that would turn line ends around do not touch what the recipe stores."""
    (rig.repo.path / ".git/info").mkdir(exist_ok=True)
    (rig.repo.path / ".git/info/attributes").write_text("* text eol=crlf\n")
    text = lines().replace("\n", "\r\n")
    rig.change({"keep/dos": text})
    rig.drift({"keep/dos": text.replace("line 6", "target")})
    found = rig.apply(rig.change({"keep/dos": text.replace("line 6", "source")})).conflict
    script = "\n".join(found.recipe)
    told = subprocess.run(["sh", "-e", "-c", script], cwd=rig.repo.path, capture_output=True, text=True, check=True)
    assert told.stdout.splitlines()[-1] == found.tree


def test_a_conflict_names_the_commit_it_needs(rig):
    """The unported commit that wrote the lines it builds on is named; unrelated ones and planned ones are not."""
    need = rig.change({"old/a.txt": lines((6, "prerequisite"))}, message="needed\n")
    rig.change({"keep/x": "unrelated\n"})
    one = rig.change({"old/a.txt": lines((6, "built on it"))})
    found = rig.apply(one).conflict
    assert found.needs == (need,)
    abort(rig.manifest(one))
    assert not rig.apply(need, one).conflict


def test_of_several_commits_the_one_beside_the_conflict_is_named(rig):
    """Unported commits in one file are told apart by the place; a line that only went away counts too."""
    rig.change({"old/a.txt": lines((1, "far"))})
    near = rig.change({"old/a.txt": lines((1, "far"), (9, "near"))})
    one = rig.change({"old/a.txt": lines((1, "far"), (9, "near"), (10, "the port"))})
    assert rig.apply(one).conflict.needs == (near,)
    abort(rig.manifest(one))
    whole = lines((1, "far"), (9, "near"), (10, "the port")).replace("line 5\n", "")
    cut = rig.change({"old/a.txt": whole})
    two = rig.change({"old/a.txt": whole.replace("line 6\n", "six\n")})
    assert rig.apply(two).conflict.needs == (cut,)


def test_a_commit_that_comes_too_late_or_is_skipped_is_needed(rig):
    """What the plan ports only after the conflict, or leaves out, is not there when it is needed."""
    need = rig.change({"old/a.txt": lines((6, "prerequisite"))})
    one = rig.change({"old/a.txt": lines((6, "built on it"))})
    assert rig.apply(one, need).conflict.needs == (need,)
    abort(rig.manifest(one))
    found = apply(rig.manifest({"range": f"{rig.base}..{one}"}, skip={need: "not wanted"}))
    assert found.conflict.needs == (need,)


def test_a_missing_file_names_the_commit_that_made_it(rig):
    """A file the target never got depends on the commit that added it."""
    need = rig.change({"old/made.txt": "a\nb\n"})
    one = rig.change({"old/made.txt": "a\nc\n"})
    found = rig.apply(one).conflict
    assert found.conflicts[0].kind == "missing" and found.needs == (need,)


def test_marker_lines_of_the_files_own_do_not_block(rig):
    """A file that tells of conflict markers may keep the ones it had; one that is ours may not stay."""
    native = "<<<<<<< an example\n"
    rig.change({"keep/doc": native + lines()})
    rig.drift({"keep/doc": native + lines((6, "target"))})
    manifest = rig.manifest(rig.change({"keep/doc": native + lines((6, "source"))}))
    apply(manifest)
    with pytest.raises(UsageError, match="markers"):
        resume(manifest)
    (rig.scratch / "keep/doc").write_text(native + lines((6, "both")))
    assert resume(manifest).moved


def test_a_conflict_in_a_squash_stops_at_its_source(rig):
    """The second of two sources conflicts: it is named, the first one's change is in the scratch worktree already."""
    one = rig.change({"keep/x": "s\n"})
    two = rig.change({"old/a.txt": lines((6, "source"))})
    rig.drift({"new/place/a.txt": lines((6, "target"))})
    manifest = rig.manifest({"pick": [one, two]})
    found = apply(manifest).conflict
    assert found.source == two and (rig.scratch / "keep/x").read_text() == "s\n"
    (rig.scratch / "new/place/a.txt").write_text(lines((6, "both")))
    run = resume(manifest)
    assert run.moved and run.applied[0].names == (one, two)


def test_a_gone_manifest_commit_does_not_keep_a_port_from_being_given_up(rig):
    """`--abort` needs the branch's name alone."""
    _, manifest = conflicting(rig)
    apply(manifest)
    assert abort(rig.manifest("0123456789abcdef")) is True and not abort(manifest)
