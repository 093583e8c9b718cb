"""Mismatches between what is sent and what is read, each with its cause."""

from __future__ import annotations

import pytest

from parity.consumers import Consumers, alike, disagreements
from parity.consumers_guards import Guard
from parity.consumers_sent import sent
from tests.parity.consumers_support import captured, read, requested, scanned

ZORRO = Guard("truth", ("ds_worker_config", "zorro"), default=False)
INPUT = read("batch.input_ids", "index", "")


def rows(capture, scan):
    """Kind, key and cause of each row, without those of input_ids and processing."""
    return {f"{row.dict}.{row.key}": row for row in Consumers(capture, scan).rows}


def test_a_key_with_a_reader_is_no_row():
    """What is read and sent is nothing to tell."""
    assert rows(requested(), scanned(INPUT, read("meta.k"))) == {}


def test_sent_and_unread():
    """A key that nobody reads is told with where its value comes from."""
    row = rows(requested(), scanned(INPUT))["meta.k"]
    assert (row.kind, row.calls, row.cause) == ("unread", ("old.fwd_no_grad",), "sent in meta; nobody reads it")


def test_read_and_unsent():
    """A key that is read and not sent is told with the default that holds."""
    scan = scanned(INPUT, read("meta.k"), read("meta.other", default="4"), read("meta.must", "index", ""))
    found = rows(requested(), scan)
    assert found["meta.other"].cause == "srv/batch.py:split:1 reads it and nobody sends it: 4 holds"
    assert found["meta.must"].cause.endswith("a KeyError")


def test_what_the_server_writes_need_not_be_sent():
    """A key that the server puts there itself is not missed."""
    scan = scanned(
        INPUT, read("meta.k"), read("meta.dp_size", "index", ""), writes=[read("meta.dp_size", "write", "")]
    )
    assert rows(requested(), scan) == {}


def test_parameters_and_dropped_values():
    """A model's parameters are no missing keys; a value that is thrown away has no reader."""
    scan = scanned(INPUT, read("meta.k", "drop"), read("meta.labels", "parameter"))
    assert set(found := rows(requested(), scan)) == {"meta.k"}
    assert found["meta.k"].cause == "sent in meta; srv/batch.py:split:1 drops it"


def test_near_name():
    """Sent under one name, read under a similar one: both rows say so."""
    capture = requested({"zorro_train_load_balancer": True})
    found = rows(capture, scanned(INPUT, read("meta.load_balancer", default="False")))
    assert found["meta.zorro_train_load_balancer"].near == "load_balancer"
    assert "reads the near name meta.load_balancer, which is not sent: False holds" in (
        found["meta.zorro_train_load_balancer"].cause
    )
    assert "the near name meta.zorro_train_load_balancer is sent" in found["meta.load_balancer"].cause


def test_reader_in_another_dict():
    """Sent in meta only, while the reader looks in ds_worker_config: that dict and the reader are named."""
    reader = read("ds_worker_config.k", "get", "'none'", "initialize", [ZORRO], 7)
    scan = scanned(INPUT, read("ds_worker_config.zorro", operation="initialize"), reader)
    told = rows(requested(client={"ds_worker_config": {"zorro": True}}), scan)["meta.k"]
    assert told.kind == "elsewhere"
    where = "ds_worker_config at srv/batch.py:split:7"
    assert told.cause == f"sent in meta; the reader looks in {where}, where it is not sent: 'none' holds"
    both = rows(requested(client={"ds_worker_config": {"zorro": True, "k": 2}}), scan)["meta.k"]
    assert both.kind == "unread" and both.cause.endswith("where it is sent too")


def test_condition_that_is_not_met():
    """A key whose only reader sits behind a condition that does not hold is unread, and the condition is named."""
    on = Guard("truth", ("meta", "balance"), default=False)
    scan = scanned(INPUT, read("meta.k", guards=[on]))
    assert rows(requested(), scan)["meta.k"].cause == (
        "sent in meta; srv/batch.py:split:1 reads it only where meta.balance"
    )
    assert "meta.k" not in rows(requested({"k": 1, "balance": True}), scan)


def test_condition_of_a_request():
    """Whether a loss runs is decided by the request's own processing."""
    loss = Guard("equals", ("processing", "loss_fn"), "grpo", "grpo")
    scan = scanned(INPUT, read("meta.k", guards=[loss]))
    assert "meta.k" in rows(requested(), scan)
    assert "meta.k" not in rows(requested(processing={"post": [], "loss_fn": "grpo"}), scan)


def test_plain_arguments():
    """An argument that the client puts into a request has readers too; what the client adds itself is not missed."""
    wire = {"order": "sync.sync_weights", "sync": {"sync_weights": {"args": {"ipc": False, "low": True}}}}
    ipc = Guard("truth", ("args", "ipc"))
    reads = [read("args.ipc", operation="sync_weights"), read("args.job_id", operation="sync_weights")]
    found = rows(captured(wire=wire), scanned(*reads, read("args.low", operation="sync_weights", guards=[ipc])))
    assert {name: row.cause for name, row in found.items()} == {
        "args.low": "sent in args; srv/batch.py:split:1 reads it only where args.ipc"
    }


def test_jobs_decide():
    """A read in one kind of job counts where that job is started."""
    log_prob = Guard("equals", ("job", "job_type"), "log_prob")
    scan = scanned(INPUT, read("meta.k"), read("ds_config.k", operation="initialize", guards=[log_prob]))
    client = {"ds_config": {"x": 1}, "training_gpus": 1, "log_prob_gpus": 0}
    assert "ds_config.k" not in rows(requested(client=client), scan)
    assert "ds_config.k" in rows(requested(client={**client, "log_prob_gpus": 1}), scan)


def test_shelved():
    """A key read into an attribute that nothing uses has no effect, and the attribute is named."""
    scan = scanned(INPUT, read("meta.k"), shelved=[("meta", "k", "Policy.k")])
    assert "reads it into Policy.k, which nothing uses" in rows(requested(), scan)["meta.k"].cause


def test_recorded_reads():
    """What a run recorded counts, but not a loop over all keys; what it did not record counts where it surely runs."""
    seen = {"old": {"meta": {"k": {"read_by": "srv/other.py:f:3"}}}}
    assert rows(requested(extra={"reads": seen}), scanned(INPUT)) == {}
    assert "meta.k" in rows(requested(extra={"reads": seen}), scanned(INPUT, loops=["srv/other.py:f:3"]))
    unread = {"old": {"meta": {"k": {"unread": True}}}}
    assert rows(requested(extra={"reads": unread}), scanned(INPUT, read("meta.k"))) == {}
    perhaps = Guard("truth", ("nowhere", "x"))
    assert "meta.k" in rows(requested(extra={"reads": unread}), scanned(INPUT, read("meta.k", guards=[perhaps])))
    assert rows(requested(), scanned(INPUT, read("meta.k", guards=[perhaps]))) == {}


def test_disagreements():
    """The witnesses are held against each other."""
    seen = {"old": {"meta": {"k": {"read_by": "srv/other.py:f:3"}}}}
    told = disagreements(requested(extra={"reads": seen}), scanned(INPUT))
    assert told == ["old.fwd_no_grad: meta.k was read by srv/other.py:f:3; the scan says nobody"]
    assert disagreements(requested(extra={"reads": seen}), scanned(INPUT, read("meta.k"))) == []


def test_a_dict_nobody_opens():
    """A dict that is taken as a whole takes its keys with it; one that nobody reads is told once."""
    client = {"training_config": {"optim": {"a": 1, "b": 2}, "model": {"c": 3, "d": 4}}}
    scan = scanned(INPUT, read("meta.k"), read("training_config.optim", operation="initialize"))
    assert set(rows(requested(client=client), scan)) == {"training_config.model"}


def test_many_unread_keys_inside_meta():
    """The unread keys of a dict inside meta are one row with their names."""
    meta = {"k": {"a": 1, "b": 2, "c": 3}}
    found = rows(requested(meta), scanned(INPUT, read("meta.k"), read("meta.k.a")))
    assert found["meta.k.*"].cause == "2 of 3 keys: nobody reads it: b, c"


def test_deepspeed_judges_its_own_config():
    """A top-level key that DeepSpeed never asks for is unread."""
    unknown = {"deepspeed": {"training": {"1": {"unknown": {"log_level": "x"}}}}}
    client = {"ds_config": {"log_level": "INFO", "train_batch_size": 4}}
    config = {"client": client, **unknown}
    found = rows(captured(wire={"order": "nothing"}, config=config), scanned(INPUT))
    assert {name: row.cause for name, row in found.items()} == {
        "ds_config.log_level": "sent in ds_config; DeepSpeed never asks for it"
    }


def test_calls_with_one_cause_are_one_row():
    """The same mismatch in several requests is told once, with the requests."""
    request = {"meta": {"k": 1}, "batch": {"input_ids": 1}, "processing": {"post": []}}
    wire = {
        "order": "old.fwd_no_grad > ref.fwd_no_grad",
        "old": {"fwd_no_grad": request},
        "ref": {"fwd_no_grad": request},
    }
    (row,) = Consumers(captured(wire=wire), scanned(INPUT)).rows
    assert row.calls == ("old.fwd_no_grad", "ref.fwd_no_grad")


def test_observed():
    """The probe has a leaf for each mismatch, and one where there is none, so that it is never empty."""
    assert {key: leaf.value for key, leaf in Consumers(requested(), scanned(INPUT)).observed().items()} == {
        "meta.k.unread": "sent in meta; nobody reads it"
    }
    none = Consumers(requested(), scanned(INPUT, read("meta.k"))).observed()
    assert [leaf.value for leaf in none.values()] == [0]


def test_reader_and_dead():
    """A capture's key leads to who reads it, whatever the depth."""
    capture = requested({"k": {"a": [1, 2]}, "dead": 1})
    told = Consumers(capture, scanned(INPUT, read("meta.k", line=3)))
    assert told.reader("wire", "old.fwd_no_grad.meta.dead") == "nobody"
    assert told.dead("wire", "old.fwd_no_grad.meta.dead") == "sent in meta; nobody reads it"
    assert told.reader("wire", "old.fwd_no_grad.batch.input_ids") == "srv/batch.py:split:1"
    assert told.reader("wire", "order") == told.dead("wire", "order") == ""


def test_sent_values():
    """Conditions see plain values, lists as lists, and dicts as something that is there."""
    capture = requested({"k": {"a": 1}, "f": 0.5, "n": None}, processing={"post": ["x", "y"], "loss_fn": None})
    told = sent(capture)[-1]
    assert told.values["processing", "post"] == ["x", "y"]
    assert (told.values["meta", "f"], told.values["meta", "n"], told.values["meta.k", "a"]) == (0.5, None, 1)
    assert told.dicts >= {"meta", "meta.k", "batch", "processing"}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("zorro_train_load_balancer", "load_balancer", True),
        ("load_balancer", "zorro_train_load_balancer", True),
        ("max_rollouts", "zorro_max_rollouts", True),
        ("gradient_clippping", "gradient_clipping", True),
        ("calculate_entropies", "calculate_entropy", True),
        ("clip_ratio_low", "clip_ratio_high", False),
        ("grad_acum_dtype", "grad_accum_dtype", True),
        ("temperature", "max_token_len", False),
        ("seed", "data_loader_seed", False),
        ("logits_optimization", "logits_compute_in_fp32", False),
    ],
)
def test_alike(one, other, same):
    """Names are near where the words of one stand in the other, or where few letters differ."""
    assert alike(one, other) is same
