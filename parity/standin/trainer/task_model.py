"""A tiny Qwen3 that has seen some of the task: a short seeded warm-up, so that its answers are sometimes right."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from parity.standin import model as tiny
from parity.standin.trainer import task_rows

CONFIG: dict[str, Any] = {**tiny.CONFIG, "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4}
STEPS, BATCH, PEAK, WARM = 100, 32, 3e-3, 20
IGNORED = -100  # the label that the loss skips


def write(folder: Path, seed: int) -> None:
    """Config, tokenizer and warmed-up weights as a Hugging Face folder."""
    from transformers import AutoTokenizer, Qwen3Config, Qwen3ForCausalLM

    tiny.write(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = task_rows.TEMPLATE
    tokenizer.save_pretrained(folder)
    with _repeatable(seed):
        model = Qwen3ForCausalLM._from_config(Qwen3Config(**CONFIG), attn_implementation="eager", dtype=torch.float32)
        _warm_up(model, tokenizer, seed)
    model.save_pretrained(folder, safe_serialization=True)


@contextmanager
def _repeatable(seed: int) -> Iterator[None]:
    """One thread, deterministic kernels and a seed, all put back: the caller may be a trainer's process."""
    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.use_deterministic_algorithms(strict)
        torch.set_num_threads(threads)


def _warm_up(model: Any, tokenizer: Any, seed: int) -> None:
    told = task_rows.prompts(random.Random(f"warm-up {seed}"))
    optimizer = torch.optim.AdamW(model.parameters(), lr=PEAK, betas=(0.9, 0.95), weight_decay=0.0, foreach=False)
    model.train()
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = PEAK * min(1.0, (step + 1) / WARM)
        ids, labels = _batch(tokenizer, list(islice(told, BATCH)))
        loss = model(input_ids=ids, attention_mask=(ids != tiny.PAD).long(), labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    model.eval()


def _batch(tokenizer: Any, digits: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
    """ids [BATCH, length], padded on the right, and labels that are IGNORED outside of the answers."""
    rows = []
    for prompt in digits:
        asked = tokenizer.apply_chat_template(task_rows.chat(prompt), add_generation_prompt=True, return_dict=False)
        told = tokenizer(task_rows.answer(prompt), add_special_tokens=False)["input_ids"]
        rows.append((asked, [*told, tiny.EOS]))
    width = max(len(asked) + len(told) for asked, told in rows)
    ids = torch.full((len(rows), width), tiny.PAD)
    labels = torch.full((len(rows), width), IGNORED)
    for row, (asked, told) in enumerate(rows):
        end = len(asked) + len(told)
        ids[row, :end] = torch.tensor([*asked, *told])
        labels[row, len(asked) : end] = torch.tensor(told)
    return ids, labels
