"""The task of the smoke runs: repeatable to the byte, made once, and neither too easy nor too hard to learn from."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from parity.standin import model as tiny
from parity.standin.trainer import task, task_reward, task_rows

ROOT = Path(__file__).resolve().parents[2]
MAKE = "import sys; from pathlib import Path; from parity.standin.trainer.task import make; make(Path(sys.argv[1]))"


def digest(folder):
    """Every file below a folder with the hash of its bytes."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return {str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def make_apart(cache, *, times=1):
    """Make the task in `cache` in processes of their own, at the same time; their hash seeds differ."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "PYTHONHASHSEED": "random"}
    command = [sys.executable, "-c", MAKE, str(cache)]
    running = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) for _ in range(times)]
    told = [process.communicate(timeout=300)[1].decode() for process in running]
    assert [process.returncode for process in running] == [0] * times, told


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A cache in which two processes made the same task at the same time."""
    pytest.importorskip("transformers", reason="the trainer stack is not installed")
    folder = tmp_path_factory.mktemp("tasks")
    make_apart(folder, times=2)
    return folder


@pytest.fixture(scope="module")
def made(cache):
    """The task of that cache."""
    return task.make(cache)


def test_prompts_never_repeat():
    """Equal prompts in a batch would be one group to the server: no prompt comes twice, whatever the seed."""
    for seed in range(5):
        digits = list(islice(task_rows.prompts(random.Random(seed)), 500))
        assert len(set(digits)) == len(digits)
        assert {len(prompt) for prompt in digits} == set(range(task_rows.SHORTEST, task_rows.LONGEST + 1))


def test_answers():
    """An answer holds the prompt's digits, in order."""
    assert task_rows.answer("52915") == "12559"


@pytest.mark.parametrize(
    ("said", "score"),
    [("1255", 1.0), ("1225", 0.6 * 3 / 4), ("12555", 0.6 * 4 / 5), ("12", 0.6 * 2 / 4), ("", 0.0), ("9999", 0.0)],
)
def test_the_reward_is_graded(said, score):
    """Exact answers earn 1, others a share by place; running on and stopping short cost something."""
    told = task_reward.compute_score(task_rows.SOURCE, said, "1255", {})
    assert told == {"score": pytest.approx(score), "acc": float(said == "1255")}


def test_the_address_names_the_seed_and_the_sources(monkeypatch, tmp_path):
    """Another seed, or another text of a source, is another task."""
    pytest.importorskip("transformers", reason="the trainer stack is not installed")
    told = task.address(1)
    assert told == task.address(1) != task.address(2)
    other = tmp_path / "task_rows.py"
    other.write_text("changed")
    monkeypatch.setattr(task, "SOURCES", tuple(str(other) if "rows" in name else name for name in task.SOURCES))
    assert task.address(1) != told


def test_a_failed_making_leaves_nothing(monkeypatch, tmp_path):
    """A task is there whole or not at all."""
    pytest.importorskip("transformers", reason="the trainer stack is not installed")

    def broken(folder, seed):
        (folder / "half").write_text("x")
        raise OSError("no space")

    monkeypatch.setattr(task, "_fill", broken)
    with pytest.raises(OSError, match="no space"):
        task.make(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_two_at_once_make_one(cache):
    """Two processes making a task at the same time leave one task and no scraps."""
    assert [entry.name for entry in cache.iterdir()] == [f"task-{task.address(1)}"]


@pytest.mark.slow
def test_again_is_the_same_bytes(made, tmp_path):
    """A fresh process with another hash seed writes the same bytes in every file."""
    make_apart(tmp_path)
    told = digest(tmp_path)
    assert told == digest(made.model.parents[1])
    assert len(told) == len({"reward.py", "train.parquet", "validation.parquet"}) + len(list(made.model.iterdir()))


@pytest.mark.slow
def test_what_is_there_is_not_made_again(made, cache, monkeypatch):
    """A second call takes the files as they are."""
    monkeypatch.setattr(task, "_fill", None)
    assert task.make(cache) == made


@pytest.mark.slow
def test_rows_fit(made):
    """Prompts and answers fit the lengths that runs are configured with, and no prompt is in both files or twice."""
    from pandas import read_parquet
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(made.model)
    frames = [read_parquet(file) for file in (made.train, made.validation)]
    assert [len(frame) for frame in frames] == [task_rows.TRAIN_ROWS, task_rows.VALIDATION_ROWS]
    told = [row for frame in frames for row in frame.to_dict("records")]
    assert len({row["prompt"][0]["content"] for row in told}) == len(told)
    for row in told:
        asked = tokenizer.apply_chat_template(list(row["prompt"]), add_generation_prompt=True)
        right = tokenizer(row["reward_model"]["ground_truth"], add_special_tokens=False)["input_ids"]
        assert len(asked) <= task.MAX_PROMPT and len(right) < task.MAX_RESPONSE
        assert tokenizer.unk_token_id not in [*asked, *right]
    assert tokenizer.eos_token_id == made.eos
    assert json.loads((made.model / "config.json").read_text())["eos_token_id"] == made.eos


@pytest.mark.slow
def test_sampled_rewards_vary(made):
    """At temperature 1 rewards lie in the middle, differ within a group, and entropy is neither 0 nor flat."""
    import torch

    means, deviations, entropy = sampled(made, prompts=12, group=6)
    assert 0.2 < sum(means) / len(means) < 0.6
    assert sum(deviation == 0 for deviation in deviations) <= 2
    flat = float(torch.tensor(float(len(tiny.VOCABULARY))).log())
    assert 0.1 < entropy < 0.5 * flat


def sampled(made, *, prompts, group):
    """Mean and deviation of the rewards of each prompt's group, and the mean entropy of the sampled places."""
    import torch
    from pandas import read_parquet
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(made.model), AutoModelForCausalLM.from_pretrained(made.model)
    chance = torch.Generator().manual_seed(0)
    means, deviations, entropies = [], [], []
    for row in read_parquet(made.train).to_dict("records")[:prompts]:
        asked = tokenizer.apply_chat_template(list(row["prompt"]), add_generation_prompt=True)
        ids = torch.tensor([asked] * group)
        with torch.no_grad():
            for _ in range(task.MAX_RESPONSE):
                chances = model(input_ids=ids).logits[:, -1].softmax(-1)
                entropies.append(float(-torch.special.xlogy(chances, chances).sum(-1).mean()))
                ids = torch.cat([ids, torch.multinomial(chances, 1, generator=chance)], 1)
                if (ids[:, len(asked) :] == made.eos).any(1).all():
                    break
        rewards = torch.tensor([scored(tokenizer, line, row, made.eos) for line in ids[:, len(asked) :].tolist()])
        means.append(float(rewards.mean()))
        deviations.append(float(rewards.std()))
    return means, deviations, sum(entropies) / len(entropies)


def scored(tokenizer, line, row, eos):
    """The reward of one sampled line of ids, cut at its end."""
    said = line[: line.index(eos)] if eos in line else line
    truth = row["reward_model"]["ground_truth"]
    return task_reward.compute_score(row["data_source"], tokenizer.decode(said), truth)["score"]
