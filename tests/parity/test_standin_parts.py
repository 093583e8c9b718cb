"""The stand-in's parts that need no trainer stack: origins, local Ray, the import hook and the tiny model."""

from __future__ import annotations

import asyncio
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from parity.record import leaf
from parity.standin import absent, model
from parity.standin.local_ray import Actor, LocalRay, Ref, wait
from parity.standin.origins import origins, with_origins

ADAPTER = """
class Adapter:
    def ds_worker_config(self):
        worker = {"use_liger": model.use_liger}
        worker.update(enable=True, peak=config.rl.peak)
        return worker

    def request(self, data):
        meta = {"enable": config.rl.enable, "rows": data.rows, "temperature": data.temperature}
        meta["seed"] = 7
        return {"meta": meta}
"""


@pytest.fixture
def written(tmp_path):
    (tmp_path / "adapter.py").write_text(ADAPTER)
    return origins({"verl/adapter.py": tmp_path / "adapter.py", "verl/gone.py": tmp_path / "gone.py"})


@pytest.mark.parametrize(
    ("key", "origin"),
    [
        ("call.meta.rows", "verl/adapter.py:9 data.rows"),
        ("call.meta.seed", "verl/adapter.py:10 7"),
        ("client.use_liger", "verl/adapter.py:4 model.use_liger"),
        ("client.peak", "verl/adapter.py:5 config.rl.peak"),
        ("call.rows[0].unknown", "verl/adapter.py:9 data.rows"),
        ("order", ""),
    ],
)
def test_a_key_is_traced_to_the_place_that_writes_it(written, key, origin):
    """Dict literals, keywords and subscripts count; a key inside an unknown one is traced to what holds it."""
    assert with_origins({key: leaf(1)}, written)[key].origin == origin


def test_neighbours_decide_between_two_writers(written):
    """`enable` is written twice; each leaf is traced to the function that writes the keys beside it."""
    told = with_origins({f"call.meta.{name}": leaf(1) for name in ("enable", "rows", "temperature")}, written)
    assert told["call.meta.enable"].origin == "verl/adapter.py:9 config.rl.enable"
    told = with_origins({f"client.worker.{name}": leaf(1) for name in ("enable", "use_liger", "peak")}, written)
    assert told["client.worker.enable"].origin == "verl/adapter.py:5 True"


def test_an_origin_changes_no_comparison(written):
    """Leaves are equal with and without the place they come from."""
    assert with_origins({"a.rows": leaf(1)}, written)["a.rows"] == leaf(1)


class Counter:
    def __init__(self):
        self.count = 0

    def add(self, by):
        self.count += by
        return self.count

    async def later(self, by):
        await asyncio.sleep(0)
        return self.add(by)


def test_refs_answer_get_and_await():
    """Both ways of asking for a remote result give it; a coroutine runs once."""
    actor = Actor(Counter())
    ref = actor.later.remote(2)
    assert LocalRay.get(ref) == 2
    assert LocalRay.get(ref) == 2
    assert LocalRay.get([actor.add.remote(1), actor.add.remote(1)]) == [3, 4]

    async def asked():
        return await actor.later.remote(1), LocalRay.get(actor.later.remote(1))

    assert asyncio.run(asked()) == (5, 6)


def test_what_an_actor_raises_reaches_the_caller():
    """As `ray.get` re-raises."""

    async def fails():
        raise KeyError("job")

    with pytest.raises(KeyError, match="job"):
        LocalRay.get(Ref(fails()))

    async def inside():
        LocalRay.get(Ref(fails()))

    with pytest.raises(KeyError, match="job"):
        asyncio.run(inside())


def test_wait_works_inside_a_loop():
    """A server method that blocks on a ref is called from a running loop."""

    async def seven():
        return 7

    async def outer():
        return wait(seven())

    assert asyncio.run(outer()) == 7


def test_the_absent_package_imports_as_empty_classes():
    """Names below arctic_inference import; an installed package would win."""
    code = (
        f"import sys; sys.path.insert(0, {str(Path(absent.__file__).parents[2])!r})\n"
        "from parity.standin.absent import prepare\nprepare()\nprepare()\n"
        "from arctic_inference.server.config import ModelConfig\n"
        "print(ModelConfig(a=1).a, sum(type(f).__name__ == '_Inert' for f in sys.meta_path))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.stdout.split() == ["1", "1"], ended.stderr


def test_another_missing_package_stays_missing():
    """Only what is named is stood in for."""
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("vllm_that_is_not_there")
    assert absent._Inert().find_spec("torch", None) is None


def test_the_model_folder_is_the_same_every_time(tmp_path):
    """Its bytes do not depend on where or when it is written."""
    one, two = model.write(tmp_path / "one"), model.write(tmp_path / "two")
    names = sorted(file.name for file in one.iterdir())
    assert [(one / name).read_bytes() for name in names] == [(two / name).read_bytes() for name in names]
    vocabulary = json.loads((one / "tokenizer.json").read_text())["model"]["vocab"]
    assert vocabulary["<pad>"] == model.PAD and vocabulary["<eos>"] == model.EOS and vocabulary[" "] == 3
