"""The stand-in's own parts: seeds of requests, the sampler, the first ratio, and the order of requests."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import random
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="the trainer stack is not installed")
pytest.importorskip("transformers", reason="the trainer stack is not installed")

from parity.standin import model as tiny  # noqa: E402
from parity.standin.trainer import client, inject, server, told  # noqa: E402
from parity.standin.trainer.sampling import Pool, Replica, request_seed  # noqa: E402

# What the trainer stack deprecates is not ours to see to.
pytestmark = pytest.mark.filterwarnings("ignore")
PROMPTS = ["sort 31", "sort 7", "sort 31", "sort 954", "sort 31"]
WARM = {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "max_tokens": 8}


def test_a_request_has_its_seed_whenever_it_is_asked():
    """Seed of the run, prompt, number of the same prompt, and weights decide; nothing else can."""
    here = request_seed(1, [5, 6], 0, 3)
    assert here == request_seed(1, [5, 6], 0, 3)
    others = [(2, [5, 6], 0, 3), (1, [56], 0, 3), (1, [5, 6], 1, 3), (1, [5, 6], 0, 4)]
    assert len({here, *(request_seed(*other) for other in others)}) == 5
    assert 0 <= here < 2**63


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny model with weights."""
    from transformers import AutoConfig, AutoModelForCausalLM

    place = tiny.write(tmp_path_factory.mktemp("model"))
    with torch.random.fork_rng():
        torch.manual_seed(1)
        AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(place)).save_pretrained(place)
    # Without a template the tokenizer could not be a trainer's.
    assert (place / "tokenizer.json").is_file()
    return place


def pool(folder, seed=1):
    made = Pool(seed)
    asyncio.run(made.initialize(SimpleNamespace(model=str(folder))))
    return made


def answers(made, prompts, params=WARM):
    return [answer["token_ids"] for answer in asyncio.run(made.generate(prompts, params))]


def test_the_order_of_prompts_changes_no_answer(folder):
    """Requests may come in any order: those of one prompt are told apart by their number alone."""
    straight = answers(pool(folder), PROMPTS)
    order = [3, 0, 1, 2, 4]
    mixed = answers(pool(folder), [PROMPTS[at] for at in order])
    assert mixed == [straight[at] for at in order]


def test_rows_of_one_prompt_differ(folder):
    """Else a group would have no advantage."""
    first, _, second, _, third = answers(pool(folder), PROMPTS)
    assert len({tuple(first), tuple(second), tuple(third)}) > 1


def test_another_seed_is_another_run(folder):
    """Seeds of an order are not the same run twice."""
    assert answers(pool(folder), PROMPTS) != answers(pool(folder, 2), PROMPTS)


def test_validation_is_greedy(folder):
    """At temperature 0 the number of a request does not matter."""
    cold = {**WARM, "temperature": 0.0}
    first, second = answers(pool(folder), [PROMPTS[0]] * 2, cold)
    assert first == second


def test_sampling_leaves_the_global_generator_alone(folder):
    """What else draws numbers in the server's process does not depend on how much was sampled."""
    torch.manual_seed(7)
    wanted = torch.rand(3)
    torch.manual_seed(7)
    answers(pool(folder), PROMPTS[:1])
    assert torch.equal(torch.rand(3), wanted)


def test_new_weights_come_only_by_a_sync(folder, tmp_path):
    """They change the digest and the version, and requests are counted anew."""
    made = pool(folder)
    before, old = made.digest(), answers(made, PROMPTS[:1])
    replica: Replica = made._workers[0].inner
    changed = {name: value + 0.5 for name, value in replica.model.named_parameters()}
    torch.save(changed, tmp_path / "weights.pt")
    assert made.digest() == before
    replica.load_weights_from_shm_path(str(tmp_path / "weights.pt"))
    assert made.digest() != before
    assert answers(made, PROMPTS[:1]) != old
    assert made._asked.total() == 1


def ratio_of(seen, new):
    """One pass of a loss over two rows, of which the second has one token."""
    old = torch.zeros(2, 2)
    mask = torch.tensor([[1, 1], [1, 0]])
    noted = seen.loss(lambda **told: told["log_probs"].sum())
    return noted(old_log_probs=old, log_probs=new, advantages=None, response_mask=mask)


def test_the_first_ratio_is_over_response_tokens():
    """Masked slots hold anything."""
    seen = server.Seen()
    seen.called("sync_weights")
    ratio_of(seen, torch.tensor([[1.0, 0.0], [0.0, 99.0]]).log1p())
    assert seen.take()["first_ratio"] == pytest.approx((2 + 1 + 1) / 3)


def test_only_the_first_pass_after_a_sync_is_first():
    """Later ones are of other weights: their ratio may be anything."""
    seen = server.Seen()
    ratio_of(seen, torch.ones(2, 2))
    assert seen.take() == {"updates": 0, "first_ratio": None}
    for name in ("sync_weights", "fwd_bwd", "step"):
        seen.called(name)
    ratio_of(seen, torch.ones(2, 2))
    assert seen.take() == {"updates": 1, "first_ratio": None}


def test_the_loss_is_not_changed_by_being_watched():
    """What it returns is what the vendor's function returns."""
    assert ratio_of(server.Seen(), torch.ones(2, 2)) == 4


def batch(**more):
    scores = torch.tensor([[0.0, 1.0], [0.5, 0.0]])
    return {"token_level_scores": scores, "advantages": torch.ones(2, 2), **more}


def test_the_variance_is_of_rewards_of_rows():
    """One reward for a row, wherever in it it stands."""
    assert told.about_batch(batch())["variance"] == pytest.approx(0.0625)


def test_a_bit_of_a_tensor_is_seen():
    """-0.0 is another value than 0.0, and one type is not another."""
    plain = told.about_batch(batch())["digests"]["advantages"]
    minus = torch.ones(2, 2)
    minus[0, 0] = torch.nextafter(torch.tensor(1.0), torch.tensor(2.0))
    for other in (minus, torch.ones(2, 2, dtype=torch.float64), torch.ones(4)):
        assert told.about_batch(batch(advantages=other))["digests"]["advantages"] != plain


def test_a_step_becomes_a_line_with_every_bit(tmp_path, monkeypatch):
    """Numbers of any kind arrive as plain ones, exact."""
    import numpy

    value = 0.1 + 2**-50
    monkeypatch.setenv(inject.VARIABLE, json.dumps({"scratch": str(tmp_path)}))
    handle = SimpleNamespace(take=SimpleNamespace(remote=lambda: {"updates": 1}))
    ray = SimpleNamespace(get=lambda answer: answer, get_actor={client.NAME: handle}.__getitem__)
    monkeypatch.setitem(__import__("sys").modules, "ray", ray)
    told._tell({"a": value, "b": numpy.float64(value), "c": numpy.int64(3), "d": numpy.float32(0.1)}, 1)
    read = json.loads((tmp_path / "told.jsonl").read_text())["metrics"]
    assert read == {"a": value, "b": value, "c": 3, "d": float(numpy.float32(0.1))}


def test_http_is_refused_at_once():
    """The stand-in is behind the Ray client; a server process that never answers would be waited for."""
    module = SimpleNamespace()
    client.refuse_http(module)
    with pytest.raises(RuntimeError, match="comm_protocol"):
        module.subprocess.Popen(["python"])


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("verl") is None, reason="the trainer stack is not installed")
def test_rows_take_turns(monkeypatch):
    """With delays before each request the rows of a batch still ask in their order; without the lock they do not."""
    from parity.standin.trainer import agent

    asked: list[int] = []

    async def run(self, sampling_params, *, row):
        await asyncio.sleep(random.random() / 50)
        asked.append(row)

    monkeypatch.setattr(agent.SingleTurnAgentLoop, "run", run)
    monkeypatch.setattr(agent, "DELAY", 0.01)
    monkeypatch.setenv(inject.VARIABLE, json.dumps({"noise": "delays"}))

    async def batch_of(kind):
        asked.clear()
        await asyncio.gather(*(object.__new__(kind).run({}, row=row) for row in range(12)))
        return list(asked)

    monkeypatch.setattr(agent.SerialAgentLoop, "_turn", asyncio.Lock())
    assert asyncio.run(batch_of(agent.SerialAgentLoop)) == list(range(12))
    assert asyncio.run(batch_of(agent.SingleTurnAgentLoop)) != list(range(12))
