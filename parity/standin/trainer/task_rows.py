"""The task: put the digits of a prompt into order. Any number of prompts, each with one right answer."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

SOURCE = "porttool/digits_in_order"
# Digits of a prompt: rows are ragged on both sides of the answer, as real ones are.
SHORTEST, LONGEST = 3, 8
TRAIN_ROWS, VALIDATION_ROWS = 256, 16
TEMPLATE = (
    "{% for message in messages %}{{ message['role'][0] }}:{{ message['content'] }} {% endfor %}"
    "{% if add_generation_prompt %}a:{% endif %}"
)


def prompts(chance: random.Random) -> Iterator[str]:
    """Endless prompts, none of them twice."""
    told: set[str] = set()
    while True:
        digits = "".join(chance.choices("0123456789", k=chance.randint(SHORTEST, LONGEST)))
        if digits not in told:
            told.add(digits)
            yield digits


def answer(digits: str) -> str:
    """What is right for a prompt."""
    return "".join(sorted(digits))


def chat(digits: str) -> list[dict[str, str]]:
    """A prompt as the trainer's dataset holds it."""
    return [{"role": "user", "content": f"sort {digits}"}]


def rows(split: str, digits: Sequence[str]) -> list[dict[str, Any]]:
    """Rows in the columns that verl's dataset and reward manager read."""
    return [
        {
            "data_source": SOURCE,
            "prompt": chat(prompt),
            "ability": "sorting",
            "reward_model": {"style": "rule", "ground_truth": answer(prompt)},
            "extra_info": {"split": split, "index": at},
        }
        for at, prompt in enumerate(digits)
    ]


def write(told: Sequence[dict[str, Any]], file: Path) -> None:
    """Rows as parquet."""
    from pandas import DataFrame

    DataFrame(list(told)).to_parquet(file, index=False)
