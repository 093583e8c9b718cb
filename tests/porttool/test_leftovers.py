"""The census of old names, the domain of a layout over a real tree, and names that lead nowhere."""

from __future__ import annotations

import pytest

from porttool.layout import Fragment, Layout, Symbol, fragment_end, paths_renaming
from porttool.leftovers import census, leftovers, outside, unresolved_keys, unresolved_targets
from porttool.names import Pair, Renaming, renaming
from porttool.repo import Entry
from tests.laws.trees import carry
from tests.support.cases import MemoryBlobs

LAYOUT = Layout(
    paths=paths_renaming({"pkg/old_mod.py": "pkg/sub/new_mod.py"}),
    symbols=(Symbol("OldName", "NewName"), Symbol("Scoped", "Renamed", scope=("pkg/scoped.py",))),
    keys=renaming("key", [("old_block.leaf", "new_block.twig")]),
)


def left(text, path="doc.md", layout=LAYOUT):
    return [(m.line, m.name, m.state, m.reason) for m in leftovers(layout, {path: text.encode()})]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("nothing\n", []),
        ("a\npkg/old_mod.py\n", [(2, "pkg/old_mod.py", "unresolved", "")]),
        ("pkg.old_mod.thing", [(1, "pkg.old_mod", "unresolved", "")]),
        ("OldName", [(1, "OldName", "unresolved", "")]),
        ("OldNameX MyOldName", [(1, "OldName", "kept", "not a whole token")] * 2),
        ("the old_mod logger", [(1, "old_mod", "kept", "prose word")]),
        ("my_old_mod_2", [(1, "old_mod", "kept", "not a whole token")]),
        ("Scoped", [(1, "Scoped", "kept", "out of scope")]),
        ("old_block.leaf", [(1, "old_block.leaf", "unresolved", "")]),
        ("other/old_mod.py", [(1, "old_mod", "kept", "part of another name")]),
        ("It is old_mod.", [(1, "old_mod", "kept", "prose word")]),
        ("pkg/sub/new_mod.py pkg.sub.new_mod NewName", []),
    ],
)
def test_t56_each_mention_of_an_old_name_is_listed_with_its_place_and_its_state(text, found):
    """Unresolved where it is the whole old name, kept with the reason where it is not."""
    assert left(text) == found


def test_an_everyday_word_is_a_mention_only_alone_in_quotes():
    """`trainer` in a sentence names nothing; `getLogger("trainer")` may."""
    layout = Layout(paths=paths_renaming({"pkg/trainer/": "pkg/train/"}))
    assert left("the trainer trains cfg.trainer.n trainers\n", layout=layout) == []
    assert left('getLogger("trainer")', layout=layout) == [(1, "trainer", "kept", "prose word")]
    assert left("see pkg.trainer.x", layout=layout) == [(1, "pkg.trainer", "unresolved", "")]


def test_a_scoped_symbol_is_unresolved_in_its_scope():
    """In a file of the scope the old name should be gone."""
    assert left("Scoped", "pkg/scoped.py") == [(1, "Scoped", "unresolved", "")]


def test_a_new_name_that_holds_the_old_word_is_no_leftover():
    """A folder pushed one level down keeps its own name; a longer class name holds the shorter one."""
    layout = Layout(paths=paths_renaming({"w/roll": "w/remote/roll"}), symbols=(Symbol("Worker", "MyWorker"),))
    assert left("w/remote/roll/x.py MyWorker w.remote.roll.x", layout=layout) == []
    assert left("w/roll/x.py", layout=layout) == [(1, "w/roll", "unresolved", "")]


def test_a_binary_that_holds_an_old_name_is_named_once():
    """Nothing in a binary is rewritten, so its mention is kept, and told."""
    mentions = list(leftovers(LAYOUT, {"m.pkl": b"\0pkg.old_mod OldName"}))
    assert [(m.path, m.line, m.state, m.reason) for m in mentions] == [("m.pkl", 0, "kept", "binary")]


def test_the_census_counts_what_was_rewritten_too():
    """Each edit is a mention with its line and what it says now."""
    source = {"doc.md": b"x\nsee pkg/old_mod.py and old_mod\n"}
    result = carry(LAYOUT, source).files
    told = [(m.line, m.name, m.state, m.reason) for m in census(LAYOUT, source, result)]
    assert told == [
        (2, "pkg/old_mod.py", "rewritten", "now 'pkg/sub/new_mod.py'"),
        (2, "old_mod", "kept", "prose word"),
    ]


def test_a_mention_shows_its_line():
    """The text of a mention is its line, cut where it is very long."""
    (mention,) = leftovers(LAYOUT, {"d.md": b"  see OldName here\n"})
    assert mention.text == "see OldName here"
    (mention,) = leftovers(LAYOUT, {"d.md": b"OldName " + b"x" * 500})
    assert len(mention.text) == 160


def test_a_layout_without_names_has_no_leftovers():
    """Nothing to look for, nothing found."""
    assert census(Layout(), {"a": b"x"}, {"a": b"x"}) == ()


def domain(layout, files):
    blobs = MemoryBlobs()
    entries = {path: Entry(0o100644, blobs.write(text.encode())) for path, text in files.items()}
    held = dict(blobs.held)
    found = [(c.path, c.line, c.kind) for c in outside(layout, entries, blobs)]
    assert blobs.held == held
    return found


def test_t45_every_collision_is_listed_before_anything_is_written():
    """Paths in use, paths that clash and target tokens in use, all at once; the store is not written to."""
    layout = Layout(
        paths=paths_renaming({"a.md": "b.md", "c/": "D/", "e": "f", "g": "f/h"}),
        symbols=(Symbol("Old", "New"),),
    )
    files = {"a.md": "", "b.md": "", "c/x": "", "d/y": "", "e": "", "g": "", "t.md": "ok\nNew\n"}
    assert domain(layout, files) == [
        ("a.md", 0, "path"),
        ("d/y", 0, "path"),
        ("g", 0, "path"),
        ("t.md", 2, "one-way"),
    ] or domain(layout, files)[0] == ("b.md", 0, "path")


def test_a_layout_whose_names_are_free_has_nothing_outside():
    """The domain check is silent where every name can be undone."""
    assert domain(LAYOUT, {"pkg/old_mod.py": "class OldName: pass\n", "doc.md": "pkg.old_mod"}) == []


def test_two_paths_to_one_by_a_one_way_pair_are_listed():
    """The second of the two is named with the first."""
    layout = Layout(paths=Renaming("path", (Pair(("a",), ("b",), one_way=True),), "/"))
    assert ("b", 0, "path") in domain(layout, {"a": "", "b": ""})


def test_a_taken_home_of_a_fragment_is_listed():
    """A LayoutError of a group is one more culprit, not the end."""
    layout = Layout(fragments=(Fragment(fragment_end("p.yaml#a"), fragment_end("a.yaml#")),))
    assert domain(layout, {"p.yaml": "a:\n  x: 1\n", "a.yaml": "x: 1\n", "z": ""}) == [("a.yaml", 0, "fragment")]


PYTHON = (
    "import os\nfrom x import (\n    y,\n    z as w,\n)\nclass Cls:\n    pass\nasync def f(): pass\nCONST: int = 1\n"
)


OLD = {"pkg/old_mod.py": (PYTHON + "class Gone: pass\nclass Cl: pass\n").encode()}


@pytest.mark.parametrize(
    ("name", "lost"),
    [
        ("pkg.sub.new_mod", False),
        ("pkg.sub.new_mod.Cls", False),
        ("pkg.sub.new_mod.Cls.anything", False),
        ("pkg.sub.new_mod.f", False),
        ("pkg.sub.new_mod.CONST", False),
        ("pkg.sub.new_mod.y", False),
        ("pkg.sub.new_mod.w", False),
        ("pkg.sub.new_mod.Gone", True),
        ("pkg.sub.new_mod.Cl", True),
        ("other.thing", False),
    ],
)
def test_t58_every_renamed_target_is_resolved_against_the_new_tree(name, lost):
    """The module file exists and defines the name, by a static look; anything else is named at its line."""
    files = {
        "pkg/sub/new_mod.py": PYTHON.encode(),
        "pkg/__init__.py": b"",
        "c.yaml": f"x: 1\n_target_: {name}\n".encode(),
    }
    found = [(c.path, c.line, c.kind) for c in unresolved_targets(LAYOUT, OLD, files)]
    assert found == ([("c.yaml", 2, "unresolved-target")] if lost else [])


def test_t58_a_target_in_a_module_that_is_not_there_is_named():
    """The module itself may be missing."""
    found = unresolved_targets(LAYOUT, OLD, {"pkg/a.py": b"", "c.yaml": b"_target_: pkg.sub.new_mod.Cls\n"})
    assert [(c.line, c.text) for c in found] == [(1, "'pkg.sub.new_mod.Cls' leads to nothing in the new tree")]


def test_a_target_that_led_nowhere_before_is_not_the_layouts_doing():
    """Only what was found under its old name can be lost."""
    assert unresolved_targets(LAYOUT, OLD, {"pkg/a.py": b"", "c.yaml": b"_target_: pkg.sub.new_mod.Never\n"}) == ()


def test_names_of_packages_that_are_not_in_the_tree_are_not_judged():
    """A vendor package is installed elsewhere."""
    layout = Layout(extra_modules=(Pair(("vendor", "old"), ("platform_x", "rl")),))
    assert unresolved_targets(layout, {}, {"a.py": b"import platform_x.rl.client\n"}) == ()


CONFIG = {"conf/main.yaml": b"new_block:\n  twig: 1\n  deep:\n    er: 2\ntrainer:\n  n: 1\n"}
OLD_CONFIG = {"conf/main.yaml": b"old_block:\n  leaf: 1\n  gone: 1\n"}
KEYS = Layout(keys=renaming("key", [("old_block.leaf", "new_block.twig"), ("old_block.gone", "new_block.missing")]))


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("cfg.new_block.twig\n", []),
        ("x\ncfg.new_block.missing\n", [2]),
        ("self.config.new_block.missing.deeper()\n", [1]),
        ("cfg.new_block.twig.lower()\n", []),
        ('cfg.new_block.get("missing")\n', [1]),
        ('cfg["new_block"]["missing"]\n', [1]),
        ('cfg.new_block.get("twig", 3)\n', []),
        ('OmegaConf.select(cfg, "new_block.missing")\n', [1]),
        ('OmegaConf.select(cfg, "new_block.twig")\n', []),
        ("cfg.trainer.unknown\n", []),
        ("self.new_block.missing\n", []),
    ],
)
def test_t66_every_renamed_key_read_in_code_exists_in_the_config(code, lines):
    """A read of a renamed key that no config of the tree holds is named; other reads are none of our business."""
    found = unresolved_keys(KEYS, OLD_CONFIG, {**CONFIG, "a.py": code.encode()})
    assert [(c.path, c.line, c.kind) for c in found] == [("a.py", line, "unresolved-key") for line in lines]


def test_t66_a_key_of_a_config_group_counts_where_its_folder_says():
    """`conf/new_block/x.yaml` is the package `new_block`; a defaults entry may mount a file elsewhere."""
    code = {"a.py": b"cfg.new_block.missing\n"}
    assert unresolved_keys(KEYS, OLD_CONFIG, {**code, "conf/new_block/x.yaml": b"missing: 1\n"}) == ()
    assert (
        unresolved_keys(
            KEYS, OLD_CONFIG, {**code, "conf/grp/x.yaml": b"missing: 1\n", "conf/m.yaml": b"new_block: {}\n"}
        )
        != ()
    )
    mounted = {"conf/grp/x.yaml": b"missing: 1\n", "conf/m.yaml": b"defaults:\n  - grp@new_block: x\n"}
    assert unresolved_keys(KEYS, OLD_CONFIG, {**code, **mounted}) == ()


def test_t66_without_any_config_nothing_is_judged():
    """A tree that holds no config says nothing about keys."""
    assert unresolved_keys(KEYS, OLD_CONFIG, {"a.py": b"cfg.new_block.missing\n"}) == ()


def test_t66_a_key_that_no_config_held_before_is_not_the_layouts_doing():
    """A key that only exists on the command line reads None on both sides."""
    assert unresolved_keys(KEYS, {}, {**CONFIG, "a.py": b"cfg.new_block.missing\n"}) == ()


def test_a_word_that_only_moved_is_no_leftover():
    """`stage` of `zero.stage` is right as it stands when the key has become `ds.zero.stage`."""
    layout = Layout(
        paths=paths_renaming({"w/roll_out/": "w/remote/roll_out/"}),
        keys=renaming("key", [("zero_opt.stage_no", "ds.zero_opt.stage_no"), ("flat_key", "deep.other_key")]),
    )
    assert left('d["stage_no"] zero_opt roll_out "stage_no" flat_key\n', layout=layout) == [
        (1, "flat_key", "kept", "prose word")
    ]
    assert left("cfg zero_opt.stage_no\n", layout=layout) == [(1, "zero_opt.stage_no", "unresolved", "")]


def test_a_fragment_that_keeps_its_name_leaves_no_mention():
    """A method that moved into another class is called by the name it had."""
    layout = Layout(fragments=(Fragment(fragment_end("a.py::_ask_for"), fragment_end("b.py::_ask_for")),))
    assert left("self._ask_for()\n", layout=layout) == []
    layout = Layout(fragments=(Fragment(fragment_end("a.py::_ask_for"), fragment_end("b.py::_request")),))
    assert left("self._ask_for()\n", layout=layout) == [(1, "_ask_for", "kept", "part of another name")]


def test_a_key_that_could_not_be_renamed_is_unresolved():
    """At the root of a YAML file the word is the old name whole, also without a dot."""
    layout = Layout(keys=renaming("key", [("old_block", "new_block")]))
    text = "old_block:\n  a: 1\nnew_block:\n  old_block: 2\n"
    assert left(text, path="c.yaml", layout=layout) == [
        (1, "old_block", "unresolved", ""),
        (4, "old_block", "kept", "prose word"),
    ]
    assert left("old_block: told here\n", layout=layout) == [(1, "old_block", "kept", "prose word")]


def test_indentation_is_no_mention():
    """A YAML block that moved deeper is listed by the keys that changed, and not by each line that moved right."""
    layout = Layout(keys=renaming("key", [("zero_opt", "ds.zero_opt")]))
    source = {"c.yaml": b"zero_opt:\n  a: 1\n  b: 2\n"}
    told = [(m.line, m.name, m.reason) for m in census(layout, source, carry(layout, source).files)]
    assert told == [(1, "an insertion", "now 'ds:\\n  '")]


def test_the_place_where_a_config_is_mounted_is_known():
    """`config.new_block` is the whole of the file in the group `new_block`."""
    layout = Layout(keys=renaming("key", [("old_block", "new_block")]))
    source = {"conf/main.yaml": b"old_block:\n  a: 1\n", "m.py": b"config.old_block\n"}
    result = {"conf/new_block/x.yaml": b"a: 1\n", "m.py": b"config.new_block\nconfig.new_block.a\n"}
    assert unresolved_keys(layout, source, result) == ()
