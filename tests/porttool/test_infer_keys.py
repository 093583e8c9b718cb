"""Keys and fragments from aligned YAML, overrides and reads."""

from __future__ import annotations

from porttool.infer_fragments import draft_fragments
from porttool.infer_keys import draft_keys
from porttool.infer_paths import match_files
from porttool.infer_symbols import Version
from porttool.infer_yaml import mounts, read_keys

CONFIG = "defaults:\n  - _self_\n\ntop:\n  one: 11\n  two: 22\n  sub:\n    three: 33\n    four: 44\nkeep: 1\n"


def keys(old, new):
    trees = [{path: text.encode() for path, text in tree.items()} for tree in (old, new)]
    versions = [Version(path, path, trees[0][path], trees[1][path]) for path in trees[0] if path in trees[1]]
    drafted, undecided = draft_keys(*trees, versions, ())
    return {pair.old: pair.new for pair in drafted}, undecided


def fragments(old, new):
    trees = [{path: text.encode() for path, text in tree.items()} for tree in (old, new)]
    files = match_files(*trees, lambda moves, paths: {})
    drafted, undecided = draft_fragments(*trees, files)
    return {pair.old: pair.new for pair in drafted}, undecided


def test_renamed_mapping_is_one_pair():
    """Four leaves under one new name are one key pair."""
    assert keys({"c.yaml": CONFIG}, {"c.yaml": CONFIG.replace("top:", "head:")})[0] == {"top": "head"}


def test_moved_leaf_beside_a_renamed_mapping():
    """A leaf that went elsewhere has a pair of its own."""
    new = CONFIG.replace("top:", "head:").replace("  two: 22\n", "") + "apart:\n  two: 22\n"
    assert keys({"c.yaml": CONFIG}, {"c.yaml": new})[0] == {"top": "head", "top.two": "apart.two"}


def test_changed_value_is_no_move():
    """A key that is gone and another one with another value are an edit."""
    assert keys({"c.yaml": CONFIG}, {"c.yaml": CONFIG.replace("keep: 1", "other: 2")})[0] == {}


def test_overrides_are_absolute_evidence():
    """A launch script that names the keys differently is enough."""
    old = "run.py \\\n  a.b.c=1 \\\n  a.b.d=2 \\\n  z.y=3\n"
    assert keys({"r.sh": old}, {"r.sh": old.replace("a.b.", "n.")})[0] == {"a.b": "n"}


def test_overrides_that_contradict_are_undecided():
    """One key that two scripts rename differently: told, no pair."""
    old = "run.py a.b=1 k.l=5\n"
    told = keys({"r.sh": old, "s.sh": old}, {"r.sh": old.replace("a.b", "a.c"), "s.sh": old.replace("a.b", "a.d")})
    assert told[0] == {}
    assert [(u.old, u.new) for u in told[1]] == [(("a.b",), ("a.c", "a.d"))]


def test_two_keys_with_one_value_are_not_guessed():
    """Two leaves with the same last name and value could each have gone to either place."""
    old = "defaults: []\na:\n  x: 1\nb:\n  x: 1\n"
    new = "defaults: []\nc:\n  x: 1\n\n\nd:\n  x: 1\n"
    assert set(keys({"c.yaml": old}, {"c.yaml": new})[0]) <= {"a", "b", "a.x", "b.x"}
    assert keys({"c.yaml": "defaults: []\nq:\n  x: 1\n"}, {"c.yaml": new})[0] == {}


def test_workflow_files_are_no_config():
    """Renamed jobs in a CI file are not config keys."""
    old = "jobs:\n  build:\n    steps: 1\n    name: x\n"
    assert keys({"ci.yml": old}, {"ci.yml": old.replace("build:", "compile:")})[0] == {}


def test_block_that_became_a_file():
    """A mapping that is gone from one file and is a new file."""
    block = "one: 11\ntwo: 22\nsub:\n  three: 33\n"
    inline = "a: 1\ntop:\n" + "".join(f"  {line}\n" for line in block.splitlines())
    assert fragments({"c.yaml": inline}, {"c.yaml": "a: 1\n", "top/t.yaml": block})[0] == {"c.yaml#top": "top/t.yaml#"}
    assert fragments({"c.yaml": "a: 1\n", "t.yaml": block}, {"c.yaml": inline})[0] == {"t.yaml#": "c.yaml#top"}


def test_two_equal_blocks_are_undecided():
    """Either block could be the file: no pair."""
    old = "a:\n  x: 1\n  y: 2\nb:\n  x: 1\n  y: 2\nz: 1\n"
    drafted, undecided = fragments({"c.yaml": old}, {"c.yaml": "z: 1\n", "n.yaml": "x: 1\ny: 2\n"})
    assert drafted == {}
    assert undecided[0].old == ("c.yaml#b", "c.yaml#a") or undecided[0].old == ("c.yaml#a", "c.yaml#b")


def test_unlike_file_is_no_fragment():
    """A new file that shares one key with a block that is gone is a new file."""
    old = "a:\n  x: 1\n  y: 2\n  z: 3\nk: 1\n"
    assert fragments({"c.yaml": old}, {"c.yaml": "k: 1\n", "n.yaml": "x: 1\np: 1\nq: 2\nr: 3\n"}) == ({}, [])


def test_mounts_follow_the_defaults_list():
    """Group, group@package, optional groups and a package header."""
    primary = b"defaults:\n  - opt@model.opt: adam\n  - optional backend: null\n  - data: web\n  - _self_\n"
    tree = {
        "conf/main.yaml": primary,
        "conf/opt/adam.yaml": b"lr: 1\n",
        "conf/backend/arctic.yaml": b"gpus: 1\n",
        "conf/data/web.yaml": b"# @package _global_\nx: 1\n",
        "conf/unused/y.yaml": b"x: 1\n",
    }
    assert mounts(tree) == {
        "conf/opt/adam.yaml": ("model", "opt"),
        "conf/backend/arctic.yaml": ("backend",),
        "conf/data/web.yaml": (),
    }


def test_keys_know_their_lines():
    """Leaves with value and line; empty mappings and lists are leaves."""
    found = read_keys(b"a:\n  b: 1\n  c: {}\nd: [1, 2]\n")
    assert {name: line for name, (_, line) in found.leaves.items()} == {("a", "b"): 2, ("a", "c"): 3, ("d",): 4}
    assert found.children[("a",)] == ("b", "c")
