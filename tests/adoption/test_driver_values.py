"""What a driver is told and what becomes of its values: names, leaves, order, keys of the cache."""

from __future__ import annotations

import ctypes
import math

import pytest

from parity.capture import cache_key, driver_stack
from parity.driver import digest, load, observed, of_tensor, resolve, shown
from parity.probes.pairs import asked, in_order, pair, verbs_of
from parity.record import Capture, Leaf, leaf
from parity.report_json import pairs_json
from parity.scenario import job, job_from_json, read
from porttool.layout import Layout, Symbol, paths_renaming
from porttool.names import renaming
from tests.parity.test_capture import a_job

LAYOUT = Layout(
    paths=paths_renaming({"train.py": "app/loop.py", "config.yaml": "conf/train.yaml"}),
    symbols=(Symbol("Trainer", "Learner"),),
    keys=renaming("key", [("optim", "optimizer"), ("optim.warmup", "optimizer.schedule.warmup")]),
)
SECTION = {
    "drivers": {"step": "probe.py:step"},
    "packages": [],
    "subject": {"config": "./config.yaml", "trainer": "train.Trainer", "data": "data/rows.json"},
    "select": {"source": ["mode=old"], "target": ["mode=new"]},
    "scenarios": {"a": ["optim.warmup=1"]},
}


def test_a_driver_is_told_the_sides_names(tmp_path):
    """Classes, files and overrides are carried over by the layout; a config key comes back to the source's name."""
    (tmp_path / "probe.py").write_text("def step(job, scratch): ...\n")
    harness = read(SECTION, "", tmp_path)
    source, target = (job(harness, harness.scenario("a"), side, LAYOUT) for side in ("source", "target"))
    assert source.subject == {"config": "config.yaml", "trainer": "train.Trainer", "data": "data/rows.json"}
    assert target.subject == {"config": "conf/train.yaml", "trainer": "app.loop.Learner", "data": "data/rows.json"}
    assert source.words == ("mode=old", "optim.warmup=1")
    assert target.words == ("mode=new", "optimizer.schedule.warmup=1")
    for key in ("optim.warmup", "optim.lr", "seed"):
        assert source.source_key(key) == key
    assert target.source_key("optimizer.schedule.warmup") == "optim.warmup"
    assert target.source_key("optimizer.lr") == "optim.lr"
    assert target.source_key("seed") == "seed"
    assert job_from_json(target.to_json()) == target


def test_the_key_is_of_the_content_not_of_the_place(tmp_path):
    """The same driver in another folder finds what the first one left."""
    keys = []
    side = type("Side", (), {"tree": "t"})()
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "d.py").write_text("def step(job, scratch): ...\ndef other(job, scratch): ...\n")
        for name in ("step", "other"):
            job = a_job(driver=resolve(f"d.py:{name}", tmp_path / folder, "x"))
            keys.append(cache_key(side, job, driver_stack([])))
    assert keys[0] == keys[2] and keys[1] == keys[3] and keys[0] != keys[1]


def test_values_become_leaves():
    """Mappings and lists make keys; types are kept; a Leaf passes as it is."""
    kept = Leaf("tensor", "float32[2] sha256:0")
    told = observed({"a": {"x": {"y": [1, 2.0, (True, None)], "t": kept}, "e": []}})
    assert told == {
        "a": {
            "x.y[0]": leaf(1),
            "x.y[1]": leaf(2.0),
            "x.y[2][0]": leaf(True),
            "x.y[2][1]": leaf(None),
            "x.t": kept,
            "e": leaf([]),
        }
    }


class FakeTensor:
    """What of_tensor asks a tensor for."""

    def __init__(self, content):
        self._held = ctypes.create_string_buffer(content, len(content))
        self.dtype, self.shape = "torch.uint8", (len(content),)

    is_quantized = False
    detach = cpu = contiguous = resolve_conj = resolve_neg = lambda self: self

    def data_ptr(self):
        return ctypes.addressof(self._held)

    def numel(self):
        return self.shape[0]

    def element_size(self):
        return 1


def test_a_tensor_is_its_bytes():
    """dtype, shape and digest, without numpy; one bit makes another leaf."""
    one, same, other = (observed({"a": {"t": FakeTensor(text)}})["a"]["t"] for text in (b"abc", b"abc", b"abd"))
    assert one == same != other
    assert one.type == "tensor" and str(one.value).startswith("uint8[3] sha256:")


def test_real_tensors():
    """The leaf of a torch tensor is the one the stand-in takes of it, whatever its strides."""
    torch = pytest.importorskip("torch")
    from parity.standin.values import of_tensor

    for tensor in (torch.arange(6.0).reshape(2, 3).T, torch.ones(2, dtype=torch.bfloat16), torch.zeros(0)):
        assert observed({"a": {"t": tensor}})["a"]["t"] == of_tensor(tensor)


def test_tensors_whose_memory_is_not_their_value():
    """A conjugate or a negative that is only marked as one is not equal to what it was made of."""
    torch = pytest.importorskip("torch")
    held = torch.tensor([1 + 2j])
    assert of_tensor(held) != of_tensor(held.conj()) == of_tensor(torch.tensor([1 - 2j]))
    assert of_tensor(held.conj().imag) == of_tensor(torch.tensor([-2.0]))


def test_a_quantised_tensor_is_refused():
    """Its bytes mean nothing without its scale, which is not among them."""
    held = FakeTensor(b"abc")
    held.is_quantized = True
    with pytest.raises(TypeError, match="quantised"):
        observed({"a": {"t": held}})


@pytest.mark.parametrize(
    "held",
    [
        Leaf("float", 1.5),
        Leaf("float", "1.5"),
        Leaf("int", True),
        Leaf("bool", 1),
        Leaf("str", 1),
        Leaf("null", 0),
        Leaf("own", 1.0),
        Leaf("own", [1]),
        Leaf(7, "x"),
        Leaf("int", 1, origin=7),
    ],
)
def test_a_leaf_in_another_form(held):
    """A Leaf that a driver makes by hand is compared by its value: one that another value equals is refused."""
    with pytest.raises(TypeError, match="another form"):
        observed({"a": {"k": held}})


@pytest.mark.parametrize("held", [0.0, -0.0, 5e-324, -1.5e300, math.inf, -math.inf, math.nan, 3, True, None, "x", []])
def test_a_leaf_in_its_own_form(held):
    """What `leaf` makes is in the form that is asked for."""
    assert leaf(held).sound and observed({"a": {"k": leaf(held)}})["a"]["k"] == leaf(held)


@pytest.mark.parametrize("name", ["guard", "proof", "stored", "knobs", "convergence"])
def test_a_probe_called_like_one_of_the_gates(name):
    """In the gate's JSON one would hide the other."""
    with pytest.raises(ValueError, match=f"a probe is called '{name}'"):
        observed({name: {"k": 1}})


def test_what_the_verbs_ask():
    """Own names count only where a driver made them: the stand-in's `reads` is no probe to compare."""
    probes = {name: {"k": leaf(1)} for name in ("wire", "config", "reads")}
    plain = Capture("s", "source", {}, probes)
    driven = Capture("s", "source", {"driver": "d"}, probes)
    assert "reads" not in asked("diff-meta", plain)
    assert asked("diff-meta", driven)[-1] == "reads" and "config" not in asked("diff-meta", driven)
    assert pair(driven, driven, None, "diff-meta").probes == ("wire", "reads")
    assert pair(plain, plain, None, "diff-meta").probes == ("wire",)
    assert verbs_of(plain, plain) == ["diff-meta", "diff-config", "contract"]
    assert verbs_of(driven, driven) == ["diff-meta", "diff-config"]
    assert verbs_of(*[Capture("s", "source", {"driver": "d"}, {}, "it crashed")] * 2) == ["diff-meta"]


def test_the_stand_ins_laws_are_not_asked_of_a_driver():
    """A driver may call a probe `contract` and mean something else by `shutdowns`."""
    probes = {"contract": {"shutdowns": leaf(3)}}
    plain, driven = (Capture("s", "source", told, probes) for told in ({}, {"driver": "d"}))
    assert [law.law for law in pair(plain, plain, None, "contract").broken] == ["one_shutdown"]
    assert pair(driven, driven, None, "contract").broken == ()


def driven_by(names):
    """A capture of a driver with these probes, in this order."""
    probes = {name: {"k": leaf(1)} for name in names.split(", ")}
    return Capture("s", "source", {"driver": "d", "probes": names}, probes)


def test_the_first_divergence_is_the_drivers(tmp_path):
    """Probes stand in the order in which the driver gave them, and step 2 before step 10."""
    told = {"driver": "d", "probes": "steps, after"}

    def side(value):
        steps = {f"step[{number}]": leaf(value) for number in range(11)}
        return Capture("s", "source", told, {"after": {"w": leaf(value)}, "steps": steps})

    found = pair(side(1), side(2), None, "diff-meta").comparison.findings
    assert [finding.key for finding in found] == [f"step[{number}]" for number in range(11)] + ["w"]
    twice = [pair(driven_by("wire, steps"), driven_by("wire, steps"), None, "diff-meta") for _ in range(2)]
    assert in_order(twice) == ["wire", "steps"]
    assert list(pairs_json([pair(side(1), side(2), None, "diff-meta")])["probes"]) == ["steps", "after"]


def test_the_stand_in_is_no_part_of_a_driven_capture(monkeypatch):
    """Whoever works on the stand-in makes no driver's captures stale."""
    side = type("Side", (), {"tree": "t"})()
    monkeypatch.setattr("parity.capture.harness_digest", lambda standin=True: f"{standin}")
    driven, plain = a_job(driver="tools.probe:step"), a_job()
    before = [cache_key(side, one, driver_stack([])) for one in (driven, plain)]
    monkeypatch.setattr("parity.capture.harness_digest", lambda standin=True: f"{standin} other" * standin or "False")
    after = [cache_key(side, one, driver_stack([])) for one in (driven, plain)]
    assert before[0] == after[0] and before[1] != after[1]


def test_a_driver_is_shown_without_its_folder(tmp_path):
    """Provenance names the file, not where it stands on this machine."""
    (tmp_path / "d.py").write_text("def step(job, scratch): ...\n")
    told = resolve("d.py:step", tmp_path, "x")
    assert shown(told).startswith("d.py:step ") and str(tmp_path) not in shown(told)
    assert digest(told) != digest(told.replace(":step", ":other"))
    assert load(told).__name__ == "step"


@pytest.mark.parametrize(
    ("told", "error"),
    [
        ({"a": {"x.y": 1, "x": {"y": 2}}}, "a has the key 'x.y' twice"),
        ({"a": {"x[0]": 1, "x": [2]}}, "twice"),
        ({1: {"x": 1}, "1": {"x": 2}}, "a probe is called 1"),
    ],
)
def test_two_values_under_one_name_are_refused(told, error):
    """One of them would hide the other, and a difference in it."""
    with pytest.raises((TypeError, ValueError), match=error):
        observed(told)
