"""Noting dicts: who reads which key is seen; what only passes keys on is not a reader."""

from __future__ import annotations

import copy
import pickle

import pytest

from parity.record import leaf
from parity.standin.reads import NotingDict, Reads, plain, signature_reads


def told(reads, key):
    return reads.told().get(key)


@pytest.fixture
def reads():
    return Reads()


def noted(reads, **values):
    return reads.wrap("meta", values, sent=True)


def passed_on(values):
    return [values[key] for key in list(values)]


@pytest.mark.parametrize(
    "read",
    [
        lambda meta: meta["alpha"],
        lambda meta: meta.get("alpha"),
        lambda meta: "alpha" in meta,
        lambda meta: meta.pop("alpha"),
        lambda meta: meta.setdefault("alpha", 2),
        lambda meta: {key: meta[key] for key in ["alpha"]},
    ],
    ids=["index", "get", "in", "pop", "setdefault", "listed"],
)
def test_each_way_to_read_is_seen(reads, read):
    """The reader is named by file, function and line."""
    read(noted(reads, alpha=1))
    reader = told(reads, "meta.alpha.read_by")
    assert reader is not None and "test_standin_reads.py" in reader.value
    assert told(reads, "meta.alpha.unread") is None


def test_a_loop_over_all_keys_reads_none(reads):
    """Code that does not name a key passes it on: `batch[key] for key in batch` makes nobody a reader."""
    passed_on(noted(reads, alpha=1, beta=2))
    assert told(reads, "meta.alpha.read_by") is None
    assert told(reads, "meta.beta.unread") == leaf(True)


def test_splatting_reads_nothing(reads):
    """`**meta` hands everything on."""
    dict(**noted(reads, alpha=1))
    assert told(reads, "meta.alpha.unread") == leaf(True)


def test_read_but_unsent(reads):
    """A default that nobody sends is told, with its reader."""
    noted(reads, alpha=1).get("beta", False)
    assert told(reads, "meta.beta.unsent") == leaf(True)
    assert told(reads, "meta.beta.read_by") is not None


def test_what_the_server_adds_is_not_unsent(reads):
    """A key that the server sets before it reads it was never the client's."""
    meta = noted(reads)
    meta["dp_size"] = 2
    meta["dp_size"]
    assert told(reads, "meta.dp_size.unsent") is None
    assert told(reads, "meta.dp_size.sent") is None


def test_inner_dicts_are_known_by_both_names(reads):
    """`meta.actor_config.clip` is told apart from `meta.clip`; a job's parts keep their own names."""
    meta = noted(reads, actor_config={"clip": 0.2})
    meta["actor_config"]["clip"]
    assert told(reads, "meta.actor_config.clip.read_by") is not None
    reads.wrap("job.training", {"ds_config": {"stage": 1}}, sent=True)["ds_config"]["stage"]
    assert told(reads, "ds_config.stage.read_by") is not None


@pytest.mark.parametrize(
    "make", [copy.copy, copy.deepcopy, lambda meta: meta.copy()], ids=["copy", "deepcopy", "method"]
)
def test_a_copy_still_notes(reads, make):
    """Vendor code copies before it reads."""
    make(noted(reads, alpha=1))["alpha"]
    assert told(reads, "meta.alpha.read_by") is not None


def test_it_travels_as_a_plain_dict(reads):
    """torch.save and Ray see the content alone."""
    again = pickle.loads(pickle.dumps(noted(reads, alpha={"beta": 1})))
    assert again == {"alpha": {"beta": 1}}
    assert type(again) is dict
    assert type(plain(noted(reads, alpha={"beta": 1}))["alpha"]) is dict


def test_wrapping_twice_is_once(reads):
    """A dict that notes already keeps its name."""
    meta = noted(reads, alpha=1)
    assert reads.wrap("other", meta) is meta
    assert isinstance(meta, NotingDict)


def test_named_parameters_are_reads(reads):
    """A function that gets both dicts as keywords reads those it names."""
    meta, batch = noted(reads, alpha=1, beta=2), reads.wrap("batch", {"ids": 1}, sent=True)
    signature_reads(reads, iter(["ids", "alpha", "other"]), {"batch": batch, "meta": meta}, "model.py:forward")
    assert told(reads, "meta.alpha.read_by") == leaf("model.py:forward")
    assert told(reads, "batch.ids.read_by") == leaf("model.py:forward")
    assert told(reads, "meta.beta.unread") == leaf(True)
