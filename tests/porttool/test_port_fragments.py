"""Fragments: a file of one side is two files of the other, and a commit may touch both parts."""

from __future__ import annotations

import pytest

from porttool.port import apply
from porttool.proof import verify
from porttool.repo import Repository
from porttool.translate import Translator
from tests.porttool.rig import Rig

CONFIG = "a: 1\nblk:\n  x: 1\n  y: 2\n  z: 3\n  w: 4\nb: 2\n"
SPLIT = {"conf.yaml#blk": {"to": "sub/blk.yaml#", "old_after": "a"}}


@pytest.fixture
def rig(repo) -> Rig:
    """The target is the translation of the source's base, the block in a file of its own."""
    rig = Rig(repo, {"conf.yaml": CONFIG, "keep": "k\n"}, moved={})
    rig.layout = {"fragments": SPLIT}
    here = Repository.open(repo.path)
    entries = here.entries(here.commit(rig.base).tree)
    there = Translator(rig.manifest(rig.base).layout, here).tree(entries).entries
    tree = here.edit_tree(here.edit_tree(here.commit(rig.base).tree, dict.fromkeys(entries)), there)
    here.flush()
    rig.tip = repo.git("commit-tree", "-m", "split", tree)
    repo.git("update-ref", "refs/heads/target", rig.tip)
    return rig


def changed(rig) -> list[str]:
    return rig.repo.git("diff-tree", "-r", "--name-only", "target", "out").split()


def test_the_target_is_split(rig):
    """What the other tests build on."""
    files = rig.repo.files("target")
    assert files["conf.yaml"] == b"a: 1\nb: 2\n" and files["sub/blk.yaml"] == b"x: 1\ny: 2\nz: 3\nw: 4\n"


@pytest.mark.parametrize(
    ("old", "new", "paths"),
    [
        ("  z: 3\n", "  z: 33\n", ["sub/blk.yaml"]),
        ("b: 2\n", "b: 22\n", ["conf.yaml"]),
        ("  z: 3\n  w: 4\nb: 2\n", "  z: 33\n  w: 4\nb: 22\n", ["conf.yaml", "sub/blk.yaml"]),
    ],
)
def test_each_part_lands_where_it_lives(rig, old, new, paths):
    """A change of the fragment, of the rest, or of both, with drift in the other lines, and proven both ways."""
    rig.drift({"sub/blk.yaml": "# own\nx: 1\ny: 2\nz: 3\nw: 4\n"})
    manifest = rig.manifest(rig.change({"conf.yaml": CONFIG.replace(old, new)}))
    assert not apply(manifest).conflict
    assert changed(rig) == paths
    proof = verify(manifest)
    assert [row.label for row in proof.commits] == ["layout-only"] and proof.ok


def test_a_mutant_in_the_other_part_is_seen(rig):
    """A change of the rest of the file, sneaked into a commit that only changes the fragment."""
    manifest = rig.manifest(rig.change({"conf.yaml": CONFIG.replace("z: 3", "z: 33")}))
    apply(manifest)
    raw = rig.repo.git("cat-file", "commit", "out")
    tree = rig.repo.tree({"conf.yaml": "a: 1\nb: 3\n"}, rig.repo.git("rev-parse", "out"))
    made = raw.replace(raw.split("\n", 1)[0], f"tree {tree}", 1) + "\n"
    oid = rig.repo.git("hash-object", "-w", "-t", "commit", "--stdin", input=made.encode())
    rig.repo.git("update-ref", "refs/heads/out", oid)
    (row,) = verify(manifest).commits
    assert row.label == "undeclared" and {residual.path for residual in row.residual} == {"conf.yaml"}
