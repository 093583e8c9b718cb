"""What a smoke run learns: a tiny model, its tokenizer, a task with one right answer a prompt, and its reward."""

from __future__ import annotations

import hashlib
import random
import shutil
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from itertools import islice
from pathlib import Path

from parity.standin import model as tiny
from parity.standin.trainer import task_reward, task_rows

# All that decides the bytes of a task, besides the seed.
SOURCES = ("task.py", "task_model.py", "task_reward.py", "task_rows.py", "../model.py")
PACKAGES = ("torch", "transformers", "safetensors", "tokenizers", "pandas", "pyarrow")
MAX_PROMPT, MAX_RESPONSE = 32, 16  # tokens


@dataclass(frozen=True)
class Task:
    """Files of one task; `reward` defines `compute_score` as verl's `reward.custom_reward_function.path` wants it."""

    model: Path
    train: Path
    validation: Path
    reward: Path
    eos: int
    description: str


def make(cache: Path, seed: int = 1) -> Task:
    """The task of a seed, made where `cache` does not have it: whole or not at all, by whoever comes first."""
    folder = cache / f"task-{address(seed)}"
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        making = Path(tempfile.mkdtemp(prefix=".task-", dir=cache))
        try:
            _fill(making, seed)
            _publish(making, folder)
        finally:
            shutil.rmtree(making, ignore_errors=True)
    return Task(
        model=folder / "model",
        train=folder / "train.parquet",
        validation=folder / "validation.parquet",
        reward=folder / "reward.py",
        eos=tiny.EOS,
        description=f"{task_rows.SOURCE}, seed {seed}, {folder.name}",
    )


def address(seed: int) -> str:
    """What names a task: its sources, the packages that write it, and the seed. It imports none of them."""
    here = Path(__file__).resolve().parent
    told = [f"seed {seed}", *(f"{name} {version(name)}" for name in PACKAGES)]
    told += [hashlib.sha256((here / name).read_bytes()).hexdigest() for name in SOURCES]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]


def _fill(folder: Path, seed: int) -> None:
    from parity.standin.trainer import task_model

    digits = task_rows.prompts(random.Random(f"rows {seed}"))
    for split, count in (("train", task_rows.TRAIN_ROWS), ("validation", task_rows.VALIDATION_ROWS)):
        task_rows.write(task_rows.rows(split, list(islice(digits, count))), folder / f"{split}.parquet")
    shutil.copyfile(task_reward.__file__, folder / "reward.py")
    task_model.write(folder / "model", seed)


def _publish(made: Path, folder: Path) -> None:
    """Rename into place; a folder that another process put there meanwhile holds the same bytes."""
    try:
        made.chmod(0o755)
        made.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
