"""The knobs of a backend's YAML block, and another valid value for each."""

from __future__ import annotations

from pathlib import Path

import pytest

from parity.knobs_leaves import Knob, choices, knobs, unswept
from porttool.errors import ManifestError
from porttool.manifest import load_layout

LAYOUT = load_layout(b"""
keys: {rl: backend, rl.use_zorro: backend.zorro.enable}
fragments: {"conf/main.yaml#rl": "conf/backend/rl.yaml#"}
""")
OLD = """
trainer: {steps: 3}
rl:
  # whether to
  use_zorro: False
  gpus: 1
  factor: 0.5
  # Transport: ray or http
  protocol: ray
  # How: none, compute (in chunks) or memory (tiled, only with zorro)
  logits: none
  dtype: fp32
  path: somewhere
  rollouts: ${rollout.n}
  deep:
    stage: 0
"""
NEW = "gpus: 1\nzorro:\n  enable: False\nextra: 4\n"


@pytest.fixture
def trees(tmp_path):
    """Both sides' folders."""
    for side, name, text in (("left", "conf/main.yaml", OLD), ("right", "conf/backend/rl.yaml", NEW)):
        file = tmp_path / side / name
        file.parent.mkdir(parents=True)
        file.write_text(text)
    return tmp_path / "left", tmp_path / "right"


def turned(trees, overrides=(), **section):
    """Old and new value by key."""
    return {knob.key: knob for knob in knobs({"knobs": section} if section else {}, LAYOUT, trees, overrides)}


def test_values(trees):
    """A flip, another number, another listed word, another known word."""
    found = turned(trees, ["rollout.n=4"])
    assert {key: (knob.was, knob.now) for key, knob in found.items()} == {
        "rl.use_zorro": ("False", "True"),
        "rl.gpus": ("1", "2"),
        "rl.factor": ("0.5", "1.0"),
        "rl.protocol": ("ray", "http"),
        "rl.logits": ("none", "compute"),
        "rl.dtype": ("fp32", "bf16"),
        "rl.path": ("somewhere", ""),
        "rl.rollouts": ("${rollout.n}", "5"),
        "rl.deep.stage": ("0", "1"),
        "rl.extra": ("4", "5"),
    }
    assert found["rl.gpus"].override == "rl.gpus=2"


def test_only_on_one_side(trees):
    """A key that the target's file alone has is a knob in the source's names."""
    assert turned(trees)["rl.extra"].only == "right"


def test_what_the_scenario_sets_is_turned_from_there(trees):
    """A knob the scenario turned already is turned to another value than that."""
    found = turned(trees, ["rl.use_zorro=True", "rl.gpus=8", "rl.logits=compute"])
    assert [found[f"rl.{name}"].now for name in ("use_zorro", "gpus", "logits")] == ["False", "9", "memory"]


def test_unknown_values_are_told(trees):
    """Where no other value is known, the reason stands there instead of a guess."""
    assert {knob.key for knob in unswept(turned(trees).values())} == {"rl.path", "rl.rollouts"}
    assert "parity.knobs.values" in turned(trees)["rl.path"].why


def test_the_manifest_gives_values_and_neighbours(trees):
    """A table for what nothing tells, and keys outside the block that feed it."""
    found = turned(trees, ["actor.lr=1"], values={"rl.path": "elsewhere"}, also={"actor.lr": 2, "actor.clip": None})
    assert found["rl.path"].now == "elsewhere"
    assert found["actor.lr"] == Knob("actor.lr", "1", "2")
    assert found["actor.clip"].override == "actor.clip=null"


def test_a_value_for_no_key(trees):
    """A table entry that fits no key is a mistake in the manifest."""
    with pytest.raises(ManifestError, match=r"no YAML block has the key 'rl\.pth'"):
        turned(trees, values={"rl.pth": 1})
    with pytest.raises(ManifestError, match="wants a mapping"):
        turned(trees, values=["rl.path"])


def test_a_side_without_the_file(trees):
    """A tree from before the file came has no keys of its own."""
    assert {knob.only for knob in knobs({}, LAYOUT, (trees[0], Path("/nowhere")), ())} == {""}


@pytest.mark.parametrize(
    ("comment", "words"),
    [
        ("none, cpu or nvme", ["none", "cpu", "nvme"]),
        ("Transport between trainer and server: ray or http", ["ray", "http"]),
        ("How: none, compute (in chunks) or memory (tiled autograd, only with zorro)", ["none", "compute", "memory"]),
        ("one of a, b; c is gone", []),
        ("a, b; c is gone", ["a", "b"]),
        ("GPUs of the training engine", []),
        ("", []),
    ],
)
def test_choices(comment, words):
    """Only a plain list of words is one."""
    assert choices(comment) == words
