"""The recorder: what is called, with what, in which order, awaited or not; the vendor's methods run behind it."""

from __future__ import annotations

import asyncio
import json
import warnings

import pytest

torch = pytest.importorskip("torch", reason="the trainer stack is not installed")

from parity.record import Leaf, leaf  # noqa: E402
from parity.standin.recorder import Session, recording, strict, wire  # noqa: E402
from parity.standin.values import LOST, MarkLost, leaves, restore  # noqa: E402


class Vendor:
    """As the vendor's clients: async calls, one that calls another, a synchronous shutdown."""

    async def fwd_bwd(self, batch, processing=None):
        batch["meta"]["dp_size"] = 1
        return {"loss": 1.0}

    async def sync_weights(self, cuda_ipc=False):
        return await self.wake(tags=["weights"])

    async def wake(self, tags=None):
        return tags

    async def generate(self, prompts, sampling_params=None):
        return [len(prompts)]

    def shutdown(self):
        return "down"

    def reconnect_config(self):
        return "config"


@pytest.fixture
def session():
    return Session(phase="part")


@pytest.fixture
def client(session):
    return recording(Vendor, session)()


def request(**meta):
    return {"batch": {"ids": torch.tensor([[1, 2]])}, "meta": meta, "processing": {"post": ["p"], "loss_fn": None}}


def test_a_call_is_kept_as_it_was_passed(client, session):
    """Arguments are taken before the server changes them; the request's parts are keys of their own."""
    assert asyncio.run(client.fwd_bwd(request(temperature=0.7, n=2))) == {"loss": 1.0}
    told = wire(session)
    assert told["part.fwd_bwd.meta.temperature"] == leaf(0.7)
    assert told["part.fwd_bwd.meta.n"] == leaf(2)
    assert told["part.fwd_bwd.batch.ids"].type == "tensor"
    assert told["part.fwd_bwd.processing.loss_fn"] == leaf(None)
    assert told["part.fwd_bwd.awaited"] == leaf(True)
    assert "part.fwd_bwd.meta.dp_size" not in told


def test_order_and_repeats(client, session):
    """Calls stand in their order; a second call of one method in a part has a name of its own."""
    asyncio.run(client.sync_weights())
    asyncio.run(client.sync_weights(cuda_ipc=True))
    client.shutdown()
    told = wire(session)
    assert told["order"] == leaf("part.sync_weights > part.sync_weights#2 > part.shutdown")
    assert told["part.sync_weights#2.args.cuda_ipc"] == leaf(True)


def test_what_the_client_calls_itself_is_not_on_the_wire(client, session):
    """Only the adapter's calls count; so does whatever hands the client on."""
    asyncio.run(client.sync_weights())
    client.reconnect_config()
    assert [call.op for call in session.calls] == ["sync_weights"]


def test_nothing_called_is_told():
    """An empty step has an order too."""
    assert wire(Session())["order"] == leaf("nothing")


def test_a_dropped_coroutine(client, session):
    """A call nobody awaits is known as such, and Python is not left to complain about it."""
    client.sync_weights()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session.close()
    assert wire(session)["part.sync_weights.awaited"] == leaf(False)


def test_a_synchronous_method_is_neither_awaited_nor_not(client, session):
    """The HTTP client's shutdown gives no coroutine."""
    assert client.shutdown() == "down"
    assert "part.shutdown.awaited" not in wire(session)
    assert wire(session)["part.shutdown.called"] == leaf(True)


def test_an_unknown_keyword_is_refused_as_the_vendor_would(client, session):
    """The call is kept with the refusal, and raises when it is made."""
    with pytest.raises(TypeError, match="routing_key"):
        client.generate(prompts=["a"], routing_key="k")
    assert "routing_key" in session.calls[0].refused
    assert wire(session)["part.generate.args.routing_key"] == leaf("k")


def test_what_a_part_raises_is_an_observation(session):
    """The run goes on; the first line of what was raised is kept."""
    with session.part("update_actor"):
        raise ValueError("no rows\nmore")
    assert session.errors == {"update_actor": "ValueError: no rows"}
    with pytest.raises(KeyboardInterrupt), session.part("later"):
        raise KeyboardInterrupt


def test_listeners_hear_answers(client, session):
    """The oracle gets the bound arguments and what was answered."""
    heard = []
    session.answered.append(lambda call, bound, answer: heard.append((call.op, bound["prompts"], answer)))
    asyncio.run(client.generate(["abc"]))
    assert heard == [("generate", ["abc"], [1])]


def test_a_field_the_config_does_not_have(session):
    """pydantic drops it; here it is told, and the field is dropped all the same."""

    class Config:
        model_fields = ("model_name",)

        def __init__(self, **told):
            self.told = told

    known = strict(Config, lambda: session)
    assert known.__name__ == "Config"
    known(model_name="m", modle_name="n")
    assert session.unknown_fields == {"modle_name": "part"}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (torch.zeros(2, 3, dtype=torch.bfloat16), "tensor"),
        (torch.tensor(7), "tensor"),
        (7, "int"),
        (7.0, "float"),
        (True, "bool"),
        ("7", "str"),
        (None, "null"),
        ([], "list"),
    ],
)
def test_values_keep_their_type(value, kind):
    """8, 8.0, True, "8" and a tensor of 8 are different leaves."""
    assert dict(leaves(value, "k"))["k"].type == kind


def test_tensors_differ_by_dtype_shape_and_bits():
    """Equal numbers in another dtype, shape or order are other leaves; a view is its content."""
    base = torch.arange(4)
    others = [base.int(), base.reshape(2, 2), base.flip(0)]
    told = {dict(leaves(tensor, "k"))["k"].value for tensor in [base, *others]}
    assert len(told) == 4
    grid = torch.arange(6).reshape(2, 3)
    assert dict(leaves(grid.T, "k")) == dict(leaves(grid.T.contiguous(), "k"))


def test_jagged_rows_count():
    """The same tokens cut into other rows are another leaf."""
    one = torch.nested.nested_tensor([torch.arange(2), torch.arange(1)], layout=torch.jagged)
    two = torch.nested.nested_tensor([torch.arange(1), torch.arange(2)], layout=torch.jagged)
    assert dict(leaves(one, "k")) != dict(leaves(two, "k"))


def test_numpy_scalars_are_no_plain_numbers():
    """What JSON or torch.load may treat differently is told apart."""
    import numpy

    assert dict(leaves(numpy.float32(0.5), "k"))["k"].type == "numpy.float32"
    assert dict(leaves(object(), "k"))["k"] == Leaf("builtins.object", "opaque")


def test_a_lost_value_is_not_a_null():
    """A null that stands for something unserialisable is flagged with its type; a sent null is not."""
    with MarkLost():
        sent = json.loads(json.dumps({"a": None, "b": {1, 2}, "c": [object()]}, default=lambda value: None))
    told = dict(leaves(sent, "k"))
    assert told["k.a"] == Leaf("null", None)
    assert told["k.b"] == Leaf("null", None, lost=True)
    assert told["k.b"].origin == "set"
    assert told["k.c[0]"].lost
    assert restore(sent) == {"a": None, "b": None, "c": [None]}


def test_marking_ends_with_its_block():
    """Outside it json is json again, and a default that gives a value is left alone inside."""
    with MarkLost():
        assert json.dumps({1, 2}, default=sorted) == "[1, 2]"
    assert LOST not in json.dumps(object(), default=lambda value: None)


def test_the_server_sees_nulls(client, session):
    """The mark is for the recorder alone."""
    seen = {}
    session.answered.append(lambda call, bound, answer: seen.update(bound["batch"]["meta"]))
    asyncio.run(client.fwd_bwd(request(lost=f"{LOST}set")))
    assert seen["lost"] is None
    assert wire(session)["part.fwd_bwd.meta.lost"].lost
