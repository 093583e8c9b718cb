"""DeepSpeed's own verdict on configs, at numbers of ranks that nobody started."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("deepspeed") is None, reason="the trainer stack is not installed"),
]
ROOT = Path(__file__).resolve().parents[2]
BATCH = {"train_batch_size": 8, "train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 8}
ADAMW = {"type": "AdamW", "params": {"lr": 1e-3}}
FP32 = {"data_types": {"grad_accum_dtype": "fp32"}}
TRAINING = {**BATCH, "bf16": {"enabled": True}, "optimizer": ADAMW}
CASES = {
    "plain": (TRAINING, 1),
    "eight": ({**TRAINING, "gradient_accumulation_steps": 1}, 8),
    "arithmetic": (TRAINING, 8),
    "floor": ({**TRAINING, "train_batch_size": 10, "gradient_accumulation_steps": 1}, 8),
    "ulysses": ({**TRAINING, "gradient_accumulation_steps": 1, "sequence_parallel_size": 2}, 8),
    "mixed": ({**TRAINING, **FP32}, 1),
    "mixed_stage_1": ({**TRAINING, **FP32, "zero_optimization": {"stage": 1}}, 1),
    "typo": ({**TRAINING, "gradient_cliping": 1.0, "log_level": "INFO"}, 1),
    "zero_typo": ({**TRAINING, "zero_optimization": {"stage": 1, "offload_optimiser": {}}}, 1),
    "dtype": ({**TRAINING, "communication_data_type": "fp8"}, 1),
    "forward_only": ({"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": True}}, 64),
    "forward_only_stage_1": ({"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 1}}, 1),
}
SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
from parity.standin.absent import prepare
prepare()
from parity.standin.deepspeed_view import server_config, view
cases = json.loads(sys.argv[2])
told = {name: {key: leaf.value for key, leaf in view(*case).items()} for name, case in cases.items()}
job = {"job_type": "training", "ds_config": cases["plain"][0], "training_config": {"optimizer": {"lr": 2.0}}}
before = json.dumps(job)
made = server_config(job)
told["server"] = {"lr": made["optimizer"]["params"]["lr"], "untouched": json.dumps(job) == before}
print("\\n" + json.dumps(told))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Every case in one process of its own: importing DeepSpeed takes seconds and changes the process."""
    home = tmp_path_factory.mktemp("home")
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(ROOT), json.dumps(CASES)],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": str(home)},
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    return json.loads(ended.stdout.strip().splitlines()[-1])


@pytest.mark.parametrize("name", ["plain", "eight", "mixed_stage_1", "forward_only"])
def test_good_configs_are_accepted(told, name):
    """Nothing is refused where the arithmetic and the dtypes fit."""
    assert "refused" not in told[name]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("arithmetic", "8 != 1 * 8 * 8"),
        ("floor", "10 != 1 * 1 * 8"),
        ("ulysses", "8 != 1 * 1 * 4"),
        ("mixed", "unsupported mix of model_dtype=torch.bfloat16 and grad_accum_dtype=torch.float32"),
        ("zero_typo", "offload_optimiser"),
        ("dtype", "fp8"),
        ("forward_only_stage_1", "zero stage 1 requires an optimizer"),
    ],
)
def test_bad_configs_are_refused_in_deepspeeds_words(told, name, words):
    """Batch arithmetic, stage and dtype rules, and unknown keys below zero_optimization."""
    assert words in told[name]["refused"]


def test_keys_that_deepspeed_never_asks_for(told):
    """A typo at the top level is silent in DeepSpeed, and told here; known keys are not."""
    unknown = {key for key in told["typo"] if key.startswith("unknown.")}
    assert unknown == {"unknown.gradient_cliping", "unknown.log_level"}
    assert not [key for key in told["plain"] if key.startswith("unknown.")]


def test_the_parsed_view_is_told(told):
    """What DeepSpeed will run with, also where it refuses in the end."""
    assert told["plain"]["gradient_accumulation_steps"] == 8
    assert told["mixed_stage_1"]["optimizer_wrapper"] == "bf16"
    assert told["mixed"]["grad_accum_dtype"] == "fp32"


def test_the_servers_own_function_builds_the_config(told):
    """The optimizer comes from training_config, and the job is left as it was sent."""
    assert told["server"] == {"lr": 2.0, "untouched": True}
