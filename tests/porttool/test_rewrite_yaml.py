"""YAML files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
import yaml as pyyaml
from hypothesis import given, settings
from hypothesis import strategies as st

from porttool.edits import splice
from porttool.errors import LayoutError
from porttool.layout import Layout, paths_renaming
from porttool.names import Name, renaming
from porttool.rewrite import yaml, yaml_nesting


def keys(**pairs: str) -> Layout:
    """A layout of keys; `__` stands for a dot."""
    return Layout(keys=renaming("key", ((old.replace("__", "."), new) for old, new in pairs.items())))


ARCTIC = keys(arctic_rl__use_zorro="remote_backend.zorro_train.enable", arctic_rl="remote_backend")
FLAT = keys(remote_backend__arctic="remote_backend")


def translated(old: str, layout: Layout, path: str = "c.yaml") -> tuple[str, list[str]]:
    found = yaml.scan(old.encode(), layout.for_file(path))
    return splice(old.encode(), found.edits).decode(), [note.kind for note in found.notes]


def both_ways(old: str, new: str, layout: Layout, path: str = "c.yaml") -> None:
    """`old` becomes `new`, and `new` becomes `old` again, without a note."""
    there = layout.for_file(path).new_path
    assert translated(old, layout, path) == (new, [])
    assert translated(new, layout.inverse(), there) == (old, [])


BLOCK = """\
arctic_rl:
  # rate
  lr: 1  # tail

  # zorro
  use_zorro: False

  note: |
    use_zorro: not a key
      more
"""


def test_leaf_is_wrapped_and_freed() -> None:
    """A leaf that moves one level down gets a parent line and takes its comment along; the inverse takes it back."""
    both_ways(
        BLOCK,
        BLOCK.replace("arctic_rl:", "remote_backend:").replace(
            "  # zorro\n  use_zorro: False", "  zorro_train:\n    # zorro\n    enable: False"
        ),
        ARCTIC,
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("arctic_rl:\n  lr: 1\nx: 2\n", "remote_backend:\n  lr: 1\nx: 2\n"),
        ('"arctic_rl": {lr: 1}\n', '"remote_backend": {lr: 1}\n'),
        ("'arctic_rl': &A !t\n  lr: 1\n", "'remote_backend': &A !t\n  lr: 1\n"),
        ("arctic_rl: {use_zorro: False, lr: 1}", "remote_backend: {zorro_train: {enable: False}, lr: 1}"),
        ("arctic_rl:\r\n  use_zorro: 1", "remote_backend:\r\n  zorro_train:\r\n    enable: 1"),
        ("\ufeffarctic_rl:\n    use_zorro: 1", "\ufeffremote_backend:\n    zorro_train:\n        enable: 1"),
        (
            "arctic_rl:\n  use_zorro:\n    a: |\n      x\n\n       y\n    b:\n    - 1\n  z: 1\n",
            "remote_backend:\n  zorro_train:\n    enable:\n      a: |\n"
            "        x\n\n         y\n      b:\n      - 1\n  z: 1\n",
        ),
        ("a: 1\n---\narctic_rl: {lr: 1}\n---\n", "a: 1\n---\nremote_backend: {lr: 1}\n---\n"),
        ("x: ${arctic_rl} ${arctic_rl.use_zorro}\n", "x: ${remote_backend} ${remote_backend.zorro_train.enable}\n"),
        ('x: "${oc.select:arctic_rl.lr,1}"\n', 'x: "${oc.select:remote_backend.lr,1}"\n'),
        (
            "arctic_rl:\n  lr: ${.use_zorro}\n  use_zorro: ${.lr}\n",
            "remote_backend:\n  lr: ${.zorro_train.enable}\n  zorro_train:\n    enable: ${..lr}\n",
        ),
        ("x:\n  y: ${..arctic_rl.use_zorro}\n", "x:\n  y: ${..remote_backend.zorro_train.enable}\n"),
        (
            "overrides:\n  - arctic_rl=x\n  - +arctic_rl.lr=1\n",
            "overrides:\n  - remote_backend=x\n  - +remote_backend.lr=1\n",
        ),
        ("params:\n  arctic_rl.lr: 1,2\n", "params:\n  remote_backend.lr: 1,2\n"),
        ("# @package arctic_rl\nuse_zorro: 1\n", None),
        ("# @package arctic_rl\nlr: 1\n", "# @package remote_backend\nlr: 1\n"),
        ("# @package _global_\narctic_rl: {lr: 1}\n", "# @package _global_\nremote_backend: {lr: 1}\n"),
    ],
)
def test_keys_by_their_place(old: str, new: str | None) -> None:
    """Keys, references, packages and overrides are renamed in every style, and the inverse gives the file back."""
    new = "# @package remote_backend\nzorro_train:\n  enable: 1\n" if new is None else new
    both_ways(old, new, ARCTIC)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("remote_backend:\n  arctic:\n    a: 1\n    b:\n      - c\n", "remote_backend:\n  a: 1\n  b:\n    - c\n"),
        ("remote_backend:\n  arctic: # c\n    a: 1\nz: 1", "remote_backend: # c\n  a: 1\nz: 1"),
        ("remote_backend:\n  arctic: null\n", "remote_backend: null\n"),
        ("remote_backend:\n  arctic:\n    a: 1\n\n    # b\n    b: 1\n", "remote_backend:\n  a: 1\n\n  # b\n  b: 1\n"),
    ],
)
def test_level_with_one_child_is_unwrapped(old: str, new: str) -> None:
    """A level that goes away gives its line up, and the inverse puts it back."""
    both_ways(old, new, FLAT)


def test_siblings_share_one_new_parent() -> None:
    """Neighbours that move under the same new parent stand under one line."""
    layout = keys(a__p="a.n.x", a__q="a.n.y")
    both_ways("a:\n  p: 1\n\n  # q\n  q: 2\n  r: 3\n", "a:\n  n:\n    x: 1\n\n    # q\n    y: 2\n  r: 3\n", layout)
    both_ways("a: {p: 1, q: 2, r: 3}\n", "a: {n: {x: 1, y: 2}, r: 3}\n", layout)


def test_neighbour_that_is_the_new_parent_takes_the_key_in() -> None:
    """A key next to the mapping it moves into joins it, and leaves it on the way back."""
    both_ways(
        "arctic_rl:\n  use_zorro: 1\n  zorro_train:\n    max: 2\n",
        "remote_backend:\n  zorro_train:\n    enable: 1\n    max: 2\n",
        ARCTIC,
    )


@pytest.mark.parametrize(
    "source",
    [
        "arctic_rl:\n  use_zorro: 1\n  lr: 1\n  zorro_train:\n    max: 2\n",
        "arctic_rl:\n  use_zorro: 1\n  zorro_train: &A\n    max: 2\n",
        "arctic_rl:\n  use_zorro: 1\n  zorro_train: 3\n",
    ],
)
def test_key_that_no_local_edit_can_move_is_noted(source: str) -> None:
    """Where a second parent would be needed, the key keeps its name and a note says so."""
    assert translated(source, ARCTIC) == (source.replace("arctic_rl", "remote_backend"), ["key-moved"])


def test_doubled_keys_are_placed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that stands in a mapping many times, as a torn file has it, costs no round of its own each time."""
    rounds = []
    misplaced = yaml_nesting.Nesting._misplaced

    def counted(self: yaml_nesting.Nesting, items: Sequence[yaml_nesting.Item], depth: int) -> Iterator[object]:
        rounds.extend([items] * (depth == 0))
        return misplaced(self, items, depth)

    monkeypatch.setattr(yaml_nesting.Nesting, "_misplaced", counted)
    source = "arctic_rl:\n" + "  use_zorro: 1\n  lr: 2\n" * 50 + "  zorro_train:\n    max: 3\n"
    moved, notes = translated(source, ARCTIC)
    assert moved == source.replace("arctic_rl", "remote_backend")
    assert notes == ["key-moved"] * 50
    assert len(rounds) < 10


def test_t64_anchors_aliases_and_merge_keys() -> None:
    """Anchor names stay; an alias that brings a key whose name changes only elsewhere is noted."""
    source = "arctic_rl: &arctic_rl\n  lr: 1\nb:\n  <<: *arctic_rl\n  c: *arctic_rl\n"
    both_ways(source, source.replace("arctic_rl: &", "remote_backend: &"), ARCTIC)
    moved, notes = translated("arctic_rl: &A\n  use_zorro: 1\nb:\n  <<: *A\n", ARCTIC)
    assert moved == "remote_backend: &A\n  zorro_train:\n    enable: 1\nb:\n  <<: *A\n"
    assert notes == ["key-moved"]


def test_t60_t61_scalars_are_neither_wrapped_nor_reflowed() -> None:
    """Long lines and block scalars keep every byte, also what looks like a key in them."""
    scalar = "x: >-\n  arctic_rl: " + "word " * 60 + "\n\n   more\ny: 'a\n  b'\n"
    both_ways(scalar + "arctic_rl: 1\n", scalar + "remote_backend: 1\n", ARCTIC)


GROUPS = Layout(
    paths=paths_renaming({"r/config/algo": "r/config/algorithm/main", "r/config/db/my.yaml": "r/config/db/sql.yaml"}),
    keys=renaming("key", [("actor.optim", "actor.opt"), ("tune", "tuning")]),
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("- algo/x: y", "- algorithm/main/x: y"),
        ("- algo@_global_: y", "- algorithm/main@_global_: y"),
        ("- override /algo: y", "- override /algorithm/main: y"),
        ("- optional algo@_here_: y", "- optional algorithm/main@_here_: y"),
        ("- db: my", "- db: sql"),
        ("- db@a.b: my.yaml", "- db@a.b: sql.yaml"),
        ("- /db/my", "- /db/sql"),
        ("- x@actor.optim: y", "- x@actor.opt: y"),
        ("- tune@_global_: best", "- tuning@_global_: best"),
        ("- _self_\n- plain", "- _self_\n- plain"),
    ],
)
def test_t68_defaults_list(old: str, new: str) -> None:
    """Groups and choices of a defaults list follow the config files, packages follow the keys."""
    both_ways(f"defaults:\n{old}\nz: 1\n", f"defaults:\n{new}\nz: 1\n", GROUPS, "r/config/main.yaml")


def test_relative_group_of_a_file_below_the_config_root() -> None:
    """`../algo` is read from the file's own group."""
    both_ways("defaults:\n- ../algo: y\n", "defaults:\n- ../algorithm/main: y\n", GROUPS, "r/config/actor/a.yaml")


@pytest.mark.parametrize("source", ["arctic_rl: [1\n", "arctic_rl:\n\t- a: [\n", "- " * 400 + "arctic_rl: 1\n"])
def test_a_file_that_is_no_yaml_is_noted(source: str) -> None:
    """A broken file keeps its keys, and a note says that they were not read."""
    assert translated(source, ARCTIC) == (source, ["unparsable"])


def test_odd_bytes_duplicates_and_sequences_never_crash() -> None:
    """Latin-1 bytes, duplicate keys and mappings in sequences are kept."""
    source = b"arctic_rl: caf\xe9\narctic_rl: 2\n- "
    yaml.scan(source, ARCTIC.for_file("c.yaml"))
    listed = "arctic_rl:\n- use_zorro: 1\n  b: 2\n"
    both_ways(listed, listed.replace("arctic_rl", "remote_backend"), ARCTIC)


def test_a_layout_that_matches_nothing_changes_nothing() -> None:
    """A file without a word of the layout has no edit and no note."""
    assert yaml.scan(BLOCK.encode(), keys(zz__absent="b").for_file("c.yaml")) == ([], [])
    assert yaml.scan(BLOCK.encode(), Layout().for_file("c.yaml")) == ([], [])


def flat(tree: object, base: Name = ()) -> dict[Name, object]:
    if isinstance(tree, dict) and tree:
        return {name: leaf for key, sub in tree.items() for name, leaf in flat(sub, (*base, key)).items()}
    return {base: tree}


KEY = st.sampled_from(["a", "b", "c", "d"])
TREES = st.dictionaries(
    KEY,
    st.recursive(st.integers(0, 9), lambda inner: st.dictionaries(KEY, inner, min_size=1, max_size=3), max_leaves=8),
    min_size=1,
    max_size=4,
)
DOTTED = st.lists(KEY, min_size=1, max_size=3).map(".".join)
PAIRS = st.dictionaries(
    DOTTED, st.sampled_from(["x", "x.y", "a.x", "b.z", "x.y.z", "a.b.n", "a"]), min_size=1, max_size=3
)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(TREES, PAIRS)
def test_random_trees_under_random_layouts(tree: dict[str, object], pairs: dict[str, str]) -> None:
    """Without a note the result is the tree with its keys renamed; keys in the domain come back."""
    try:
        layout = Layout(keys=renaming("key", pairs.items()))
    except LayoutError:
        return
    source = pyyaml.safe_dump(tree, sort_keys=False, default_flow_style=False)
    there, notes = translated(source, layout)
    wanted = {layout.keys.map(name): leaf for name, leaf in flat(tree).items()}
    if notes or len(wanted) != len(flat(tree)):
        return
    assert flat(pyyaml.safe_load(there)) == wanted
    back, notes = translated(there, layout.inverse())
    if not notes and all(name in layout.keys for name in flat(tree)):
        assert flat(pyyaml.safe_load(back)) == flat(tree)


PIECES = st.sampled_from(
    b"arctic_rl|use_zorro|zorro_train|: |:"
    b"|\n|\n  |\n    | |{|}|[|]|, |- |&A |*A|<<: *A|\"|'|>|# |\t|\r\n|\xff|\xef\xbb\xbf|"
    b"${|..|=|@|/|--- |? |!t |defaults:\n  - |override /algo|# @package |_global_|1".split(b"|")
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.one_of(PIECES, st.binary(max_size=3)), max_size=40))
def test_any_bytes_are_read(pieces: list[bytes]) -> None:
    """No input crashes the scan, and its edits never overlap."""
    source = b"".join(pieces)
    for layout in (ARCTIC, ARCTIC.inverse(), FLAT, GROUPS):
        splice(source, yaml.scan(source, layout.for_file("r/config/x/c.yaml")).edits)
