import json

import pytest

from parity.record import Capture, Leaf, flatten, from_json, leaf, tensor_leaf, to_json


@pytest.mark.parametrize(
    ("left", "right"), [(8, 8.0), (8, "8"), (1, True), (0, False), (None, "None"), ([], {}), ((), [])]
)
def test_a_leaf_keeps_the_type(left, right):
    """Values that print alike but differ in type are different leaves."""
    assert leaf(left) != leaf(right)


def test_floats_are_equal_only_to_the_bit():
    """One unit in the last place is a difference, and so is the sign of zero."""
    assert leaf(0.1 + 0.2) != leaf(0.3)
    assert leaf(0.0) != leaf(-0.0)
    assert leaf(float("nan")) == leaf(float("nan"))


def test_a_lost_null_is_not_a_null():
    """A null that stands for something unserialisable differs from one that was sent."""
    assert Leaf("null", None, lost=True) != leaf(None)
    assert "not serialisable" in str(Leaf("null", None, lost=True))


def test_origin_is_shown_not_compared():
    """Where a value comes from does not make it another value."""
    assert leaf(1, origin="a.py:3") == leaf(1, origin="b.py:9")


def test_flatten_keeps_every_leaf_and_its_place():
    """Nested mappings, lists and empty containers all leave a key behind."""
    told = {"meta": {"n": 4, "betas": [0.9, 0.999], "none": {}}, "loss": None}
    assert dict(flatten(told)) == {
        "meta.n": leaf(4),
        "meta.betas[0]": leaf(0.9),
        "meta.betas[1]": leaf(0.999),
        "meta.none": leaf({}),
        "loss": leaf(None),
    }


def test_flatten_refuses_what_it_cannot_record():
    """An object that has no JSON form is an error, never silently a null."""
    with pytest.raises(TypeError, match="cannot record a object"):
        dict(flatten({"a": object()}))
    with pytest.raises(ValueError, match="not a string"):
        dict(flatten({1: 2}))


def test_tensor_leaf_sees_dtype_shape_and_bytes():
    """Each of the three makes another leaf."""
    one = tensor_leaf("int64", (2,), b"\1\0")
    assert one == tensor_leaf("int64", (2,), b"\1\0")
    others = [
        tensor_leaf("int32", (2,), b"\1\0"),
        tensor_leaf("int64", (1, 2), b"\1\0"),
        tensor_leaf("int64", (2,), b"\1\1"),
    ]
    assert all(one != other for other in others)


def test_a_capture_survives_its_file():
    """Writing and reading a capture changes nothing, and the text is the same each time."""
    probes = {"wire": {"meta.t": leaf(0.7, "rollout.temperature"), "x": Leaf("null", None, lost=True)}}
    capture = Capture("zorro", "left", {"env.torch": "2.13.0"}, probes)
    text = to_json(capture)
    assert from_json(text) == capture
    assert to_json(from_json(text)) == text
    assert from_json(text).probes["wire"]["meta.t"].origin == "rollout.temperature"
    assert from_json(text).digest() == capture.digest()


def test_a_changed_leaf_changes_the_digest():
    """The digest sees a type change that prints the same."""
    one = Capture("s", "left", {}, {"wire": {"a": leaf(1)}})
    two = Capture("s", "left", {}, {"wire": {"a": leaf(True)}})
    assert one.digest() != two.digest()


def test_garbage_is_not_a_capture():
    """A file that is no capture is refused with a ValueError."""
    with pytest.raises(ValueError, match="not a capture"):
        from_json(json.dumps({"scenario": "s"}))


@pytest.mark.parametrize(
    "change",
    [
        {"probes": {"wire": []}},
        {"probes": []},
        {"probes": {"wire": {"a": ["float", "half"]}}},
        {"probes": {"wire": {"a": ["int", True]}}},
        {"probes": {"wire": {"a": ["int", 1, False, 7]}}},
        {"probes": {"wire": {"a": 3}}},
        {"provenance": ["env"]},
        {"provenance": {"env.torch": 2}},
        {"crashed": None},
        {"scenario": 1},
    ],
)
def test_a_file_of_another_shape_is_not_a_capture(change):
    """What was written by hand, or by something else, is refused before it is compared or shown."""
    told = {"scenario": "s", "side": "left", "crashed": "", "provenance": {}, "probes": {"wire": {"a": ["int", 1]}}}
    assert from_json(json.dumps(told)).probes == {"wire": {"a": leaf(1)}}
    with pytest.raises(ValueError, match="not a capture"):
        from_json(json.dumps({**told, **change}))


def test_a_whole_number_beyond_every_float():
    """It is kept as it is, and is no point of a curve."""
    assert (leaf(10**400).value, leaf(10**400).number(), leaf(3).number()) == (10**400, None, 3.0)
