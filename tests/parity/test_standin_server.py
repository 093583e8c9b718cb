"""The server without an engine, and the oracle over one with an engine."""

from __future__ import annotations

import asyncio

import pytest

torch = pytest.importorskip("torch", reason="the trainer stack is not installed")

from parity.scenario import Rows  # noqa: E402
from parity.standin.answers import Server, State  # noqa: E402
from parity.standin.oracle import cause, scattered  # noqa: E402
from parity.standin.recorder import Session  # noqa: E402
from parity.standin.step import advantages, prompts  # noqa: E402

B, P, R = 3, 2, 3


def request(zorro, **meta):
    mask = torch.tensor([[1, 1, 1, 1, 0], [0, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    batch = {"input_ids": torch.ones(B, P + R, dtype=torch.long), "attention_mask": mask, "prompts": mask[:, :P]}
    told = {"zorro_train_enable": zorro, "pad_token_id": 9, **meta}
    return {"batch": batch, "meta": told, "processing": {}}


@pytest.fixture
def server():
    state = State(Session(), training_gpus=1)
    state.jobs = {1: {"job_type": "training", "checkpoint_path": "/c"}, 2: {"job_type": "log_prob"}}
    return Server(state)


def ask(work):
    return asyncio.run(work)


def test_each_slot_has_a_value_of_its_own(server):
    """A value that is read from a wrong slot is another value; padding holds the pad token."""
    values = ask(server.fwd_no_grad(1, request(False)))["batch"]["logprobs"]
    assert values.shape == (B, P + R)
    valid = values[request(False)["batch"]["attention_mask"].bool()]
    assert len(set(valid.tolist())) == len(valid)
    assert values[1, 0] == values[0, 4] == 9


def test_zorro_answers_responses_only(server):
    """Prompt slots hold 0, as the real one leaves them."""
    values = ask(server.fwd_no_grad(1, request(True)))["batch"]["logprobs"]
    assert (values[:, :P] == 0).all()
    assert values[0, P] != 0 and values[0, 4] == 0


def test_the_reference_answers_otherwise(server):
    """Policy and reference that are mixed up are seen."""
    policy, reference = (ask(server.fwd_no_grad(job, request(False)))["batch"]["logprobs"] for job in (1, 2))
    assert not torch.equal(policy, reference)


def test_entropy_comes_when_asked(server):
    """As the real one: by the flag in meta."""
    assert "entropy" in ask(server.fwd_no_grad(1, request(False, calculate_entropy=True)))["batch"]
    assert "entropy" not in ask(server.fwd_no_grad(1, request(False)))["batch"]


@pytest.mark.parametrize(
    ("break_it", "raised"),
    [
        (lambda told: told["meta"].update(prompts=1), "multiple values for keyword argument 'prompts'"),
        (lambda told: told.pop("processing"), "processing"),
        (lambda told: told["batch"].pop("input_ids"), "input_ids"),
    ],
)
def test_what_the_real_server_refuses_is_refused(server, break_it, raised):
    """Shared keys of batch and meta, and a request without its three parts."""
    told = request(False)
    break_it(told)
    with pytest.raises((TypeError, KeyError), match=raised):
        ask(server.fwd_bwd(1, told))


def test_fewer_rows_than_ranks(server):
    """Each rank needs a row."""
    server.state.gpus["training_gpus"] = 8
    with pytest.raises(ValueError, match="smaller than num_workers 8"):
        ask(server.fwd_bwd(1, request(False)))


def test_ranks_answer_in_lists(server):
    """A step on several ranks reports one learning rate each, on one rank a number."""
    assert isinstance(ask(server.step(1))["metrics"]["last_lr"], float)
    server.state.gpus["training_gpus"] = 2
    assert len(ask(server.step(1))["metrics"]["last_lr"]) == 2


def test_a_job_is_destroyed_once(server):
    """The second time there is none."""
    ask(server.destroy(1, "training"))
    with pytest.raises(ValueError, match="not found"):
        ask(server.destroy(1, "training"))


def test_rows_of_a_prompt_apart_are_found():
    """Neighbours are not; a prompt that stands there twice with others between is."""
    a, b = [1, 2], [1, 3]
    assert scattered(torch.tensor([a, a, b, b])) == []
    assert scattered(torch.tensor([a, b, a, b])) == [[0, 2], [1, 3]]
    assert scattered(torch.tensor([a, b, b, a])) == [[0, 3]]


def test_the_cause_names_the_rows_and_what_to_do():
    """Only zorro groups rows; else the forward itself is suspected."""
    rows = {"prompts": torch.tensor([[1], [2], [1]])}
    told = cause(rows, [1, 2], True)
    assert "rows [1, 2] are wrong" in told and "rows [0, 2]" in told and "balance_batch=False" in told
    assert "dense forward" in cause(rows, [1], False)
    assert "not adjacent" not in cause({"prompts": torch.tensor([[1], [1], [2]])}, [1], True)


def test_prompts_differ():
    """Also where they are one token long; `repeat` makes the last the first again."""
    told = prompts(Rows(prompt_lengths=(1,)), 64)
    assert len({tuple(ids) for ids in told}) == 64
    again = prompts(Rows(repeat=True), 4)
    assert again[0] == again[3] and again[0] != again[1]


def test_advantages_vary_and_stop_at_the_response():
    """A zero advantage would hide the policy loss."""
    mask = torch.tensor([[1, 1, 0], [1, 0, 0]])
    told = advantages(mask)
    assert told.dtype == torch.float32
    assert (told[mask == 0] == 0).all() and (told[mask == 1] != 0).all()
    assert told[0, 0] != told[1, 0]
