"""The law on the rehearsal's own base: the whole of the pinned verl under the restructure layout."""

from __future__ import annotations

from pathlib import Path

import pytest

from porttool.manifest import load
from porttool.repo import EMPTY_TREE, Repository
from porttool.translate import Translator

ROOT = Path(__file__).resolve().parents[2]
VERL = ROOT / "build" / "verl"
MANIFESTS = sorted((ROOT / "manifests").glob("*.yaml"))

pytestmark = pytest.mark.skipif(not (VERL / ".git").exists(), reason="build/verl is made by `porttool vendor sync`")


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.stem)
def test_t_then_inverse_gives_the_same_tree_id(manifest):
    """No file of the release is one-way, and the tree that comes back is the tree that was sent."""
    repo = Repository.open(VERL)
    tree = repo.commit(repo.resolve("upstream/v0.7.1")).tree
    translator = Translator(load(manifest).layout, repo)
    there = translator.tree(repo.entries(tree))
    assert there.one_way == ()
    sent = repo.edit_tree(EMPTY_TREE, there.entries)
    fresh = Translator(translator.layout.inverse(), repo)
    assert repo.edit_tree(EMPTY_TREE, fresh.tree(repo.entries(sent)).entries) == tree


def test_the_restructure_is_exactly_t():
    """The tag behind the restructure is T of the tag before it, tree id for tree id, and the way back as well."""
    repo = Repository.open(VERL)
    before, after = (repo.commit(repo.resolve(f"share/{name}")).tree for name in ("pre-restructure", "restructured"))
    translator = Translator(load(ROOT / "manifests" / "restructure.yaml").layout, repo)
    assert repo.edit_tree(EMPTY_TREE, translator.tree(repo.entries(before)).entries) == after
    back = Translator(translator.layout.inverse(), repo)
    assert repo.edit_tree(EMPTY_TREE, back.tree(repo.entries(after)).entries) == before
