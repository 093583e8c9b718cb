"""Laws over random histories: the square, port then back, the same ids twice; and no false label under mutation."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from porttool.port import apply
from porttool.proof import verify
from porttool.repo import MODE_EXECUTABLE, Commit, Repository
from porttool.translate import Translator
from tests.porttool.rig import Rig
from tests.support.repos import Link, Script, new_repo

MOVED = {"old": "new/place", "lib/core": "core", "solo.txt": "docs/solo.md"}
PATHS = ["old/a", "old/b/c", "lib/core/x", "lib/y", "solo.txt", "plain", "old/bin"]
WORDS = ["old/a", "see `lib/core/x`", "./solo.txt", "plain", "x = 1", "", "old/b/c:12", "\tpad", "unold/a"]


def content(rng: random.Random):
    kind = rng.random()
    if kind < 0.08:
        return bytes(rng.randrange(256) for _ in range(20)) + b"\0"
    if kind < 0.14:
        return Link(rng.choice(["old/a", "plain", "lib/core/x"]))
    end = rng.choice(["\n", "\n", "\r\n"])
    text = end.join(f"{n} {rng.choice(WORDS)}" for n in range(rng.randrange(4, 14))) + rng.choice(["", end])
    return Script(text) if kind < 0.25 else text


def edited(rng: random.Random, old: bytes):
    lines = old.split(b"\n")
    for _ in range(rng.randrange(1, 3)):
        at = rng.randrange(len(lines))
        lines[at : at + rng.randrange(2)] = [f"{rng.randrange(99)} {rng.choice(WORDS)}".encode()] * rng.randrange(1, 3)
    return b"\n".join(lines)


def history(repo, rng: random.Random, commits: int) -> Rig:
    """Random commits on the source; the target is the translation of the first."""
    rig = Rig(repo, {path: content(rng) for path in PATHS}, moved=MOVED)
    there = translated(rig, rig.base)
    rig.tip = repo.git("commit-tree", "-m", "base, moved", there)
    repo.git("update-ref", "refs/heads/target", rig.tip)
    for _ in range(commits):
        files = rig.repo.files("source")
        change = {}
        for path in rng.sample(sorted(files), rng.randrange(1, 4)):
            roll = rng.random()
            if roll < 0.15 and len(files) > 3:
                change[path] = None
            elif roll < 0.3:
                change[path], change[f"{path}.r"] = None, files[path]
            else:
                change[path] = content(rng) if roll < 0.45 else edited(rng, files[path])
        if rng.random() < 0.3:
            change[f"{rng.choice(['old', 'lib/core', 'fresh'])}/n{rng.randrange(99)}"] = content(rng)
        rig.change(change, message=f"{rng.random()}")
    return rig


def translated(rig: Rig, oid: str) -> str:
    """The tree of T over a commit, stored."""
    here = Repository.open(rig.repo.path)
    translator = Translator(rig.manifest(oid, name="t").layout, here)
    entries = translator.tree(here.entries(here.commit(oid).tree)).entries
    tree = here.edit_tree(here.commit(oid).tree, dict.fromkeys(here.entries(here.commit(oid).tree)))
    made = here.edit_tree(tree, dict(entries))
    here.flush()
    return made


@pytest.mark.parametrize("seed", range(12))
def test_the_square_and_the_way_back(repo, seed):
    """Each port onto T of the parent is T of the commit; back again every tree is the source's; ids repeat."""
    rig = history(repo, random.Random(seed), 5)
    manifest = rig.manifest({"range": f"{rig.base}..source"})
    run = apply(manifest)
    assert not run.conflict and run.accounted == 5
    for outcome in run.applied:
        assert repo.git("rev-parse", f"{outcome.commit}^{{tree}}") == translated(rig, outcome.names[0])
    assert apply(manifest, dry_run=True).head == run.head
    assert verify(manifest).verdict == "layout-only"
    there = replace(manifest.source, ref="out")
    home = replace(manifest.target, ref=rig.base, branch="home")
    (item,) = manifest.commits
    commits = (replace(item, range="target..out"),)
    way_back = replace(manifest, source=there, target=home, layout=manifest.layout.inverse(), commits=commits)
    assert not apply(way_back).conflict
    shown = ("rev-list", "--reverse", "--format=%T %an %at %B")
    ours, theirs = (repo.git(*shown, f"{rig.base}..{tip}") for tip in ("home", "source"))
    assert [line for line in theirs.split("\n") if not line.startswith("commit ")] == [
        line for line in ours.split("\n") if line and not line.startswith(("commit ", "Ported-From", "Layout"))
    ]


@pytest.mark.parametrize("seed", range(6))
def test_no_mutant_keeps_its_label(tmp_path, seed):
    """Any one change of a file of a ported commit, wherever it falls, makes that commit undeclared."""
    rng = random.Random(100 + seed)
    rig = history(new_repo(tmp_path / "repo"), rng, 2)
    manifest = rig.manifest({"range": f"{rig.base}..source"})
    head = apply(manifest).head
    here = Repository.open(rig.repo.path)
    commit = here.commit(head)
    for _ in range(12):
        tree = mutated(rng, here, commit.tree)
        if tree == commit.tree:
            continue
        made = here.write_commit(Commit(tree, commit.parents, commit.author, commit.committer, commit.message))
        here.flush()
        rig.repo.git("update-ref", "refs/heads/out", made)
        proof = verify(manifest)
        assert proof.commits[-1].label == "undeclared" and proof.verdict == "undeclared"
        (change,) = here.changes(commit.tree, tree)
        assert {residual.path for residual in proof.commits[-1].residual} == {change.path}


def mutated(rng: random.Random, here: Repository, tree: str) -> str:
    path, entry = rng.choice(sorted(here.entries(tree).items()))
    blob = bytearray(here.read(entry.oid))
    roll = rng.random()
    if roll < 0.1:
        return here.edit_tree(tree, {path: None})
    if roll < 0.2 and entry.is_regular:
        return here.edit_tree(tree, {path: entry._replace(mode=entry.mode ^ MODE_EXECUTABLE ^ 0o100644)})
    at = rng.randrange(len(blob) + 1)
    if roll < 0.5:
        blob[at : at + 1] = b""
    elif roll < 0.8:
        blob[at:at] = bytes([rng.choice(b"x \n\r0")])
    else:
        lines = bytes(blob).splitlines(keepends=True)
        rng.shuffle(lines)
        blob = bytearray(b"".join(lines))
    return here.edit_tree(tree, {path: entry._replace(oid=here.write(bytes(blob)))})
