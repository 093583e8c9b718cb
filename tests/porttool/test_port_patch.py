"""Commits from patch files: exactly what they say, or not at all."""

from __future__ import annotations

import pytest

from porttool.errors import ManifestError
from porttool.port import Empty, apply
from porttool.port_patch import read_patch
from porttool.proof import verify
from tests.porttool.rig import Rig, lines
from tests.support.repos import Link, Script

DATE = "Tue, 14 Nov 2023 22:13:20 +0130"
HEAD = f"From: J\xf6rg <j@x>\nDate: {DATE}\nSubject: [PATCH 1/2] topic: what\n\nwhy\n---\n stat\n\n"


@pytest.fixture
def rig(repo) -> Rig:
    return Rig(repo, {"old/a.txt": lines(), "keep/x": "x\n", "keep/bin": b"\0\1", "keep/s": "s\n"})


def write(rig, diff: str | bytes, head: str = HEAD, name: str = "p.patch"):
    raw = head.encode() + (diff.encode("utf-8", "surrogateescape") if isinstance(diff, str) else diff)
    (rig.folder / name).write_bytes(raw)
    return {"new": name}


def diff_to(rig, files, *options: str) -> str:
    """What git says the difference is between the target and the target with `files`."""
    tree = rig.repo.tree(files, rig.repo.git("rev-parse", "target"))
    return rig.repo.git("diff", "--binary", "-M", *options, "target^{tree}", tree) + "\n\n"


def test_author_date_and_message_are_the_headers(rig):
    """From, Date and Subject make the commit; the body ends at `---`; the patch is named in a trailer."""
    item = write(rig, diff_to(rig, {"keep/x": "y\n"}))
    run = apply(rig.manifest(item))
    assert run.applied[0].kind == "new"
    raw = rig.repo.raw("out")
    assert b"\nauthor J\xc3\xb6rg <j@x> 1699994600 +0130\n" in raw
    digest = read_patch(rig.folder / "p.patch").digest
    layout = rig.manifest(item).layout.digest
    assert raw.split(b"\n\n", 1)[1] == f"topic: what\n\nwhy\n\nPatch: p.patch@{digest}\nLayout: {layout}\n".encode()


@pytest.mark.parametrize(
    "files",
    [
        {"keep/x": "y\n", "new/place/a.txt": lines((3, "z"))},
        {"brand/new": "n", "keep/x": None},
        {"keep/s": Script("s\n"), "l": Link("keep/s")},
        {"keep/x": None, "keep/moved": "x\n"},
        {"keep/bin": b"\0\2\xff", "keep/a.cr": b"a\r\nb\r\n"},
        {"k\xe9y \"q\"\t": "odd name\n"},
    ],
    ids=["edit", "add and delete", "mode and link", "rename", "binary and CRLF", "quoted name"],
)
def test_every_kind_of_diff_gives_the_tree_git_gives(rig, files):
    """Edits, additions, deletions, modes, links, renames, binaries and quoted names, and the proof holds."""
    manifest = rig.manifest(write(rig, diff_to(rig, files)))
    apply(manifest)
    assert rig.repo.git("rev-parse", "out^{tree}") == rig.repo.tree(files, rig.repo.git("rev-parse", "target"))
    proof = verify(manifest)
    assert [row.label for row in proof.commits] == ["new"] and proof.verdict == "declared" and proof.rederived


def test_one_line_of_context_is_enough(rig):
    """A patch with one line of context applies at the line it names."""
    apply(rig.manifest(write(rig, diff_to(rig, {"new/place/a.txt": lines((3, "z"))}, "-U1"))))
    assert rig.repo.files("out")["new/place/a.txt"] == lines((3, "z")).encode()


def test_t70_no_offset_and_no_fuzz(rig):
    """A hunk that would apply one line further down, or with other context, is refused with the file's name."""
    item = write(rig, diff_to(rig, {"new/place/a.txt": lines((6, "z"))}))
    rig.drift({"new/place/a.txt": "one more line\n" + lines()})
    with pytest.raises(ManifestError, match=r"does not apply: .*offset") as caught:
        apply(rig.manifest(item))
    assert caught.value.where.endswith("p.patch") and "refs/heads/out" not in rig.repo.refs()
    rig.drift({"new/place/a.txt": lines((5, "other context"))})
    with pytest.raises(ManifestError, match="does not apply"):
        apply(rig.manifest(item))


def test_t70_an_applied_patch_is_there_already(rig):
    """A patch whose change is all there is empty, not applied a second time."""
    item = write(rig, diff_to(rig, {"new/place/a.txt": lines((6, "z"))}))
    rig.drift({"new/place/a.txt": lines((6, "z"))})
    run = apply(rig.manifest(item))
    assert isinstance(run.outcomes[0], Empty) and run.nothing


def test_a_binary_part_that_is_cut_short_is_refused(rig):
    """git skips it and exits with 0; here it is an error."""
    item = write(rig, diff_to(rig, {"brand/new": "n\n", "keep/bin": b"\0\2"})[:-1])
    with pytest.raises(ManifestError, match="corrupt binary patch"):
        apply(rig.manifest(item))


def test_a_protected_path_is_not_patched(rig):
    """A patch that touches one is an error of the manifest."""
    item = write(rig, diff_to(rig, {"keep/x": "y\n"}))
    with pytest.raises(ManifestError, match="protected"):
        apply(rig.manifest(item, protected=["keep/x"]))


@pytest.mark.parametrize(
    ("head", "told"),
    [
        (HEAD.replace("From: J\xf6rg <j@x>\n", ""), "no From header"),
        (HEAD.replace(f"Date: {DATE}\n", ""), "no Date header"),
        (HEAD.replace(DATE, "yesterday"), "no readable date"),
        (HEAD.replace("+0130", ""), "no readable date"),
        (HEAD.replace("Subject:", "Topic:"), "no Subject header"),
    ],
)
def test_a_header_that_is_missing_is_named(rig, head, told):
    """Nobody's name, date or subject is made up."""
    with pytest.raises(ManifestError, match=told):
        apply(rig.manifest(write(rig, diff_to(rig, {"keep/x": "y\n"}), head)))


def test_iso_dates_mail_lines_and_encoded_words(rig):
    """The first line of a mailbox, an ISO date and an encoded subject are read as git reads them."""
    head = "From 0123 Mon Sep 17 00:00:00 2001\nFrom: =?utf-8?q?J=C3=B6?= <j@x>\nDate: 2023-11-14T22:13:20+00:00\n" \
           "Subject: =?utf-8?q?caf=C3=A9?=\n  folded\n\n"  # fmt: skip
    item = write(rig, diff_to(rig, {"keep/x": "y\n"}), head)
    patch = read_patch(rig.folder / item["new"])
    assert patch.author == "J\xf6 <j@x> 1700000000 +0000".encode() and patch.message == "caf\xe9 folded\n".encode()


@pytest.mark.parametrize("path", ["../../escaped", "/tmp/escaped", ".git/hooks/x"])
def test_a_path_that_leaves_the_tree_is_refused(rig, path, tmp_path):
    """Absolute paths, `..` and `.git` are git's own to refuse; nothing is written."""
    diff = f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"
    with pytest.raises(ManifestError, match="does not apply"):
        apply(rig.manifest(write(rig, diff)))


def test_a_file_without_a_diff_is_refused(rig):
    """So is one that cannot be read, with its place in the manifest."""
    with pytest.raises(ManifestError, match="no diff"):
        apply(rig.manifest(write(rig, "")))
    with pytest.raises(ManifestError, match="cannot read") as caught:
        apply(rig.manifest({"new": "none.patch"}))
    assert "port.yaml:" in caught.value.where


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("topic: what", "=?nope?q?x?=", "cannot be decoded"),
        ("topic: what", "=?utf-8?b?a?=", "cannot be decoded"),
        ("topic: what", "a\0b", "NUL byte"),
        ("J\xf6rg <j@x>", "nobody", "no readable author"),
        ("J\xf6rg <j@x>", "A <a@x> <b@x>", "no readable author"),
    ],
)
def test_a_header_git_would_not_take_is_refused(rig, old, new, told):
    """What cannot be decoded, or would make a commit object that git calls broken, is told with the file."""
    item = write(rig, diff_to(rig, {"keep/x": "y\n"}), HEAD.replace(old, new))
    with pytest.raises(ManifestError, match=told) as caught:
        apply(rig.manifest(item))
    assert caught.value.where.endswith("p.patch") and len(str(caught.value).splitlines()) == 3


def test_a_hunk_that_does_not_match_is_named_by_its_file(rig):
    """git's heading for the lines it looked for says nothing by itself."""
    item = write(rig, diff_to(rig, {"keep/x": "y\n"}).replace("-x", "-z"))
    with pytest.raises(ManifestError, match="keep/x"):
        apply(rig.manifest(item))
