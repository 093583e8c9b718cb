"""What must hold in one capture, whatever the other side does."""

from __future__ import annotations

import pytest

from parity.compare import Finding
from parity.probes.laws import broken, observed
from parity.probes.scale import STEPS, scaled
from parity.record import Capture, Leaf, leaf

GOOD_CONTRACT = {"bind.a.step": True, "fresh_process.adapter_known": True, "shutdowns": 1, "prompt_tokens_kept": True}
BACKWARD = "update_actor.fwd_bwd"


def capture(crashed="", **probes):
    """A capture of plain values; `tensor:` makes a tensor of that shape."""
    told = {}
    for probe, rows in probes.items():
        told[probe] = {
            key: Leaf("tensor", f"float32{value[7:]} sha256:0")
            if isinstance(value, str) and value.startswith("tensor:")
            else leaf(value)
            for key, value in rows.items()
        }
    return Capture("plain", "target", {}, told, crashed)


def laws(**probes):
    return [found.law for found in broken(capture(**probes))]


def test_a_good_capture_breaks_no_law():
    """Nothing is raised where all holds, and the probe then says so in one leaf."""
    good = capture(contract=GOOD_CONTRACT)
    assert broken(good) == ()
    assert observed(good) == {"broken": leaf(0)}


def test_a_crashed_capture_breaks_none():
    """What did not run shows nothing: it is incomparable, not wrong."""
    assert broken(capture("died", contract={"shutdowns": 2})) == ()


@pytest.mark.parametrize(
    ("key", "value", "law"),
    [
        ("bind.generate.generate", "got an unexpected keyword argument 'routing_key'", "signature"),
        ("raises.driver", "AssertionError: no horizon", "raises"),
        ("never_awaited.save.save_checkpoint", "its coroutine was dropped", "awaited"),
        ("never_awaited[0]", "coroutine 'f' was never awaited", "awaited"),
        ("shutdowns", 2, "one_shutdown"),
        ("shutdowns", 0, "one_shutdown"),
        ("fresh_process.adapter_known", False, "registry"),
        ("prompt_tokens_kept", False, "prompt"),
    ],
)
def test_the_contract_laws(key, value, law):
    """Each observation of the contract probe that is wrong by itself breaks its law, with its words as cause."""
    (found,) = broken(capture(contract={**GOOD_CONTRACT, key: value}))
    assert (found.law, found.key) == (law, f"contract.{key}")
    assert str(value) in found.cause or law in ("registry", "prompt")


def test_batch_and_meta_share_no_key():
    """A key of both is two values for one keyword of the model; a key that only begins alike is none."""
    rows = {"order": "a.fwd_bwd", "a.fwd_bwd.batch.prompts": "tensor:[2, 3]", "a.fwd_bwd.meta.prompts_len": 3}
    assert laws(wire=rows) == []
    (found,) = broken(capture(wire={**rows, "a.fwd_bwd.meta.prompts[0]": 1}))
    assert (found.law, found.key) == ("disjoint", "wire.a.fwd_bwd.batch.prompts")
    assert "multiple values for keyword argument 'prompts'" in found.cause


def sizes(train, micro, steps, gpus, shared=1):
    names = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
    told = {f"client.ds_config.{name}": value for name, value in zip(names, (train, micro, steps), strict=True)}
    return {**told, "client.training_gpus": gpus, "client.ds_config.sequence_parallel_size": shared}


@pytest.mark.parametrize("numbers", [(64, 1, 64, 1), (64, 1, 8, 8), (64, 2, 4, 8), (64, 1, 16, 8, 2)])
def test_batch_sizes_that_hold(numbers):
    """train == micro x steps x ranks, GPUs that share a sequence being one rank."""
    assert laws(config=sizes(*numbers)) == []


@pytest.mark.parametrize(
    ("numbers", "why"),
    [
        ((64, 1, 8, 8, 2), "8 GPUs with sequence_parallel_size 2 are 4 ranks"),
        ((64, 3, 21, 1), "3 x 1 does not divide 64"),
        ((64, 1, 4, 8), "64 rows a step are not 1 a micro batch x 4 steps x 8 ranks"),
    ],
)
def test_batch_sizes_that_do_not_hold(numbers, why):
    """The cause says which of the numbers is to blame."""
    (found,) = broken(capture(config=sizes(*numbers)))
    assert found.law == "batch_sizes"
    assert why in found.cause


def test_deepspeed_takes_the_config_where_it_runs():
    """A refusal at the number of GPUs in use breaks the law; one at another number is only told."""
    refused = {"deepspeed.training.1.refused": "NotImplementedError: no"}
    assert laws(config={"client.training_gpus": 8, **refused}) == []
    (found,) = broken(capture(config={"client.training_gpus": 1, **refused}))
    assert (found.law, found.cause) == ("accepted", "NotImplementedError: no")


def update(rows, size, epochs, steps):
    order = " > ".join([BACKWARD, *(f"update_actor.step{f'#{n}' if n > 1 else ''}" for n in range(1, steps + 1))])
    return {
        "order": order,
        f"{BACKWARD}.meta.global_batch_size": size,
        f"{BACKWARD}.meta.actor_config.ppo_epochs": epochs,
        "returned.old_log_prob.old_log_probs": f"tensor:[{rows}, 5]",
    }


@pytest.mark.parametrize("numbers", [(64, 64, 1, 1), (64, 16, 1, 4), (64, 16, 2, 8)])
def test_as_many_steps_as_the_horizon_counts(numbers):
    """One optimizer step for each mini-batch of each epoch."""
    assert laws(wire=update(*numbers)) == []


@pytest.mark.parametrize("numbers", [(64, 16, 1, 1), (64, 64, 1, 2), (64, 64, 2, 1), (64, 64, 1, 0)])
def test_another_number_of_steps(numbers):
    """Too few and too many are both told, with both numbers."""
    (found,) = broken(capture(wire=update(*numbers)))
    assert found.law == "steps"
    assert f"counts {numbers[2] * numbers[0] // numbers[1]} " in found.cause


@pytest.mark.parametrize(("weight", "asked", "wrong"), [(0.01, False, True), (0.01, True, False), (0, False, False)])
def test_entropy_that_is_weighed_is_asked_for(weight, asked, wrong):
    """Only a weight above 0 without the entropy is wrong."""
    rows = {f"{BACKWARD}.meta.actor_config.entropy_coeff": weight, f"{BACKWARD}.meta.calculate_entropy": asked}
    assert (laws(wire={"order": BACKWARD, **rows}) == ["entropy"]) is wrong


def test_log_probs_are_the_models():
    """The oracle's no breaks the law with the oracle's own words."""
    told = {"old.agrees": True, "ref.agrees": False, "ref.cause": "rows [1] are wrong"}
    (found,) = broken(capture(oracle=told))
    assert (found.law, found.key, found.cause) == ("oracle", "oracle.ref.agrees", "rows [1] are wrong")


@pytest.mark.parametrize(
    ("left", "right", "said"),
    [
        (13.25, 3.3125, "the left side is 4 times the other, as many as gradient_accumulation_steps"),
        (3.33, 13.25, "the right side is 4 times the other, as many as gradient_accumulation_steps"),
        (-1.0, -2.0, "the right side is 2 times the other"),
        (13.25, 3.5, ""),
        (1.0, 1.3, ""),
        (1.0, 1.001, ""),
        (0.0, 4.0, ""),
        (float("nan"), 4.0, ""),
        (float("inf"), 4.0, ""),
        (8, 2, ""),
        (4.0, None, ""),
    ],
)
def test_a_factor_is_told(left, right, said):
    """A whole factor between two floats is said, and whether it is that of the accumulation steps."""
    both = [leaf(value) if value is not None else None for value in (left, right)]
    finding = Finding("wire", "returned.update_actor.actor/grad_norm", *both, "value")
    found = scaled(finding, capture(config={STEPS: 4}))
    assert found.partition(": ")[0] == said
