"""The layout between two trees is found from the trees alone, and nothing else is."""

from __future__ import annotations

import pytest

from porttool.infer import as_yaml, infer
from porttool.infer_prove import Ledger, carried
from porttool.layout import Fragment, Layout, Symbol, fragment_end, paths_renaming
from porttool.manifest import load
from porttool.names import renaming
from porttool.repo_objects import MODE_FILE, Entry
from porttool.translate import Translator

PPO = """\
# Config of the trainer.
defaults:
  - optional backend: null
  - _self_

data:
  files: a.parquet
  seed: null

trainer:
  backend: null
  epochs: 30

# what the backend is asked for
backend:
  arctic:
    # shares the GPUs
    colocate: True
    gpus: 1
    use_zorro: False  # packed
    zero:
      stage: 2
      device: none

other:
  last: 1
"""
WORKER = '''\
"""Worker of the remote backend."""
from pkg.trainer.client import ArcticClient
from pkg.backend.tools import make_njt


class GenericWorker:
    def __init__(self, config):
        self.config = config
        self.cfg = config.backend.arctic

    def run(self):
        if self.config.backend.arctic.use_zorro:
            return make_njt(self.cfg.gpus)
        return ArcticClient(self.config.backend.arctic.colocate)
'''
CLIENT = '''\
"""Client."""
from .core import loss


class ArcticClient:
    """Talks to the server, see pkg/trainer/client.py."""

    def __init__(self, colocate):
        self.colocate = colocate

    def step(self, x):
        return loss(x)
'''
MAIN = '''\
from pkg.backend.worker import GenericWorker


def main(config):
    worker = GenericWorker(config)
    print(config.trainer.backend)
    return worker.run()
'''
RUN = """\
#!/bin/bash
python3 -m pkg.trainer.main \\
    trainer.backend=arctic \\
    backend.arctic.colocate=True \\
    backend.arctic.zero.stage=1 \\
    data.files=x.parquet
"""
ROLLOUT = '''\
"""Rollout {0}."""
from pkg.rollout.base import Base


class {0}(Base):
    def go_{0}(self):
        return "{0}"
'''
OLD = {
    path: text.encode()
    for path, text in {
        "pkg/__init__.py": "",
        "pkg/trainer/__init__.py": "",
        "pkg/trainer/client.py": CLIENT,
        "pkg/trainer/core.py": "def loss(x):\n    return x\n",
        "pkg/trainer/main.py": MAIN,
        "pkg/backend/__init__.py": "",
        "pkg/backend/worker.py": WORKER,
        "pkg/backend/tools.py": "def make_njt(x):\n    return x\n",
        "pkg/config/trainer.yaml": PPO,
        "pkg/rollout/__init__.py": "",
        "pkg/rollout/base.py": "class Base:\n    pass\n",
        "pkg/rollout/arctic/__init__.py": "",
        "pkg/rollout/arctic/engine.py": ROLLOUT.format("Engine"),
        "pkg/rollout/arctic/server.py": ROLLOUT.format("Server"),
        "run/a.sh": RUN,
        "run/b.sh": RUN.replace("x.parquet", "y.parquet"),
        "README.md": "Use `GenericWorker` with backend.arctic.use_zorro=True; see pkg/rollout/arctic/server.py.\n",
    }.items()
}
PATHS = {
    "pkg/trainer/client.py": "pkg/remote/arctic.py",
    "pkg/backend/worker.py": "pkg/backend/workers/arctic/worker.py",
    "pkg/rollout/arctic/": "pkg/rollout/remote/arctic/",
}
LAYOUT = Layout(
    paths=paths_renaming(PATHS),
    symbols=(Symbol("GenericWorker", "ArcticWorker"),),
    keys=renaming("key", [("backend.arctic", "backend")]),
    fragments=(
        Fragment(
            fragment_end("pkg/config/trainer.yaml#backend", "trainer", "\n# what the backend is asked for\n"),
            fragment_end("pkg/config/backend/arctic.yaml#", None, "# Loaded by backend=arctic.\n"),
        ),
    ),
)


def across(layout, tree):
    """T of a tree; the layout has to be one that comes back."""
    ledger = Ledger()
    done = Translator(layout, ledger).tree({path: Entry(MODE_FILE, ledger.write(tree[path])) for path in sorted(tree)})
    assert done.one_way == ()
    return {path: ledger.read(entry.oid) for path, entry in done.entries.items()}


def told(draft):
    return {(pair.kind, pair.old, pair.new) for pair in draft.pairs}


def test_finds_the_whole_layout_of_a_restructure():
    """Paths, a symbol, a key and a fragment with the text around it: found from the two trees, and nothing else."""
    draft = infer(OLD, across(LAYOUT, OLD))
    assert draft.layout.digest == LAYOUT.digest
    assert draft.undecided == ()
    assert carried(draft.layout, OLD, OLD) == across(LAYOUT, OLD)


def test_the_way_back_is_inferred_too():
    """From new to old the inverse comes out: a file that became a block of another one."""
    new = across(LAYOUT, OLD)
    draft = infer(new, OLD)
    assert carried(draft.layout, new, new) == OLD


def test_real_changes_on_top_do_not_disturb_it():
    """The new side also has changes of its own: they become no pairs."""
    new = across(LAYOUT, OLD)
    new["pkg/remote/arctic.py"] = new["pkg/remote/arctic.py"].replace(b"return loss(x)", b"return 2 * loss(x)")
    new["pkg/trainer/core.py"] = b"def loss(y):\n    return y + 1\n"
    new["pkg/backend/extra.py"] = b"def extra():\n    return 'new'\n"
    assert infer(OLD, new).layout.digest == LAYOUT.digest


def test_equal_trees_have_no_layout():
    """Nothing differs: nothing is drafted."""
    draft = infer(OLD, OLD)
    assert draft.pairs == ()
    assert as_yaml(draft) == "layout: {}\n"


def test_edits_alone_make_no_pairs():
    """A tree with edits, and no name that moved, gives no pair of any kind."""
    new = dict(OLD)
    new["pkg/trainer/core.py"] = b"def loss(value, scale):\n    total = value * scale\n    return total\n"
    new["pkg/trainer/main.py"] = MAIN.replace("worker.run()", "worker.start()").encode()
    new["run/a.sh"] = RUN.replace("zero.stage=1", "gpus=4").encode()
    assert infer(OLD, new).pairs == ()


def test_every_pair_has_evidence_on_both_sides():
    """Count, confidence and `path:line` on both sides, for a reader to check."""
    for pair in infer(OLD, across(LAYOUT, OLD)).pairs:
        assert pair.count > 0
        assert 0 < pair.confidence <= 1
        for example in pair.examples:
            old, new = example.split(" -> ")
            assert old.rpartition(":")[0] in OLD
            assert int(new.rpartition(":")[2]) >= 1


def test_the_draft_is_a_manifest_layout(tmp_path):
    """What is written loads as the `layout:` of a manifest and means the same."""
    draft = infer(OLD, across(LAYOUT, OLD))
    path = tmp_path / "m.yaml"
    head = "version: 1\nsource: {repo: ., ref: a}\ntarget: {repo: ., ref: b, branch: c}\n"
    path.write_text(head + as_yaml(draft))
    assert load(path).layout.digest == LAYOUT.digest


def test_the_written_draft_is_annotated():
    """Each pair stands under its evidence; what is undecided is told at the end."""
    old = {"a/x.py": CLIENT.encode(), "k": b"k"}
    new = {"b/x.py": CLIENT.encode(), "b/y.py": CLIENT.encode(), "k": b"k"}
    assert as_yaml(infer(old, new)) == (
        "layout:\n  # undecided path: a/x.py -> b/x.py, b/y.py: the same content\n"
    )
    lines = as_yaml(infer(OLD, across(LAYOUT, OLD))).splitlines()
    at = lines.index("    GenericWorker: ArcticWorker")
    assert lines[at - 1].startswith("    # 4 places, confidence 0.83; e.g. README.md:1 -> README.md:1; ")


def test_src_layout_has_import_roots():
    """A package that moved under src/ keeps its module names: the draft says that src is an import root."""
    old = {"p/__init__.py": b"", "p/a.py": b"from p import b\nx = 1\ny = 2\n"}
    old["p/b.py"] = b"from p import a\nz = 3\nw = 4\n"
    old["t/test_a.py"] = b"from p.a import x\n\n\ndef test():\n    assert x\n"
    new = {(f"src/{path}" if path.startswith("p/") else path): blob for path, blob in old.items()}
    draft = infer(old, new)
    assert told(draft) == {("path", "p/", "src/p/")}
    assert draft.roots == (".", "src")
    assert not draft.layout.modules


def test_package_rename_needs_no_module_pairs():
    """Module names follow from the paths; only what paths do not explain is written."""
    old = {f"p/{n}.py": f"import ext.sub\nimport ext.more\nfrom p.q{n} import f{n}\n{ROLLOUT.format(n)}".encode()
        for n in "abcd"}
    extra = tuple(renaming("module", [("ext", "outer.ext")]))
    layout = Layout(paths=paths_renaming({"p/": "r/"}), extra_modules=extra)
    draft = infer(old, across(layout, old))
    assert told(draft) == {("path", "p/", "r/"), ("module", "ext", "outer.ext")}


def test_config_outside_hydra_needs_a_read():
    """A key of a plain YAML file that code reads by its new name is a pair; one nobody reads is not."""
    config = "a:\n  b: 11\n  c: 12\nlist: [1]\n"
    code = "def f(cfg):\n    return cfg.a.b + cfg.a.c\n"
    old = {"c.yaml": config.encode(), "m.py": code.encode()}
    new = {"c.yaml": config.replace("a:", "z:").encode(), "m.py": code.replace("cfg.a", "cfg.z").encode()}
    assert ("key", "a", "z") in told(infer(old, new))
    assert "key" not in {pair.kind for pair in infer(old, {**new, "m.py": code.encode()}).pairs}


def test_result_does_not_depend_on_the_order_of_the_trees():
    """The same trees in another order give the same text."""
    new = across(LAYOUT, OLD)
    text = as_yaml(infer(OLD, new))
    assert as_yaml(infer(dict(reversed(OLD.items())), dict(reversed(new.items())))) == text


@pytest.mark.parametrize("blob", [b"\xff\xfe: {", b"a: [1,", b"- x\n", b"{{ template }}: 1\n", b"", b"\0\1"])
def test_files_that_are_not_what_they_are_called(blob):
    """Broken YAML, templates and binaries are compared as they are."""
    old = {"c.yaml": blob, "d.py": blob, "k.yaml": PPO.encode()}
    new = {"c.yaml": blob + b"#", "d.py": blob + b"#", "k.yaml": PPO.replace("epochs: 30", "epochs: 31").encode()}
    assert infer(old, new).pairs == ()
