"""Checks each log-prob the server answers against a dense forward, row by row.

Ratios cannot see a wrong log-prob: the old and the new pass are wrong alike, and the ratio stays 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import torch

from parity.record import Key, Leaf, leaf
from parity.standin.recorder import Call, Session

# bf16 differs from fp32 by 0.02 here, a token attended across rows by 2 and more.
TOLERANCE = 0.25


class Oracle:
    """Listens to answers of `fwd_no_grad`; `told` holds its verdicts."""

    def __init__(self, session: Session, workers: Mapping[str, Any]) -> None:
        self.session, self.workers = session, workers
        self.told: dict[Key, Leaf] = {}

    def check(self, call: Call, bound: Mapping[str, Any], answer: Any) -> None:
        if call.op != "fwd_no_grad":
            return
        request = bound["batch"]
        worker = self.workers["log_prob" if bound["reference_model"] else "training"]
        settings = worker.ds_worker_config
        zorro = bool(dict.get(request["meta"], "zorro_train_enable", False))
        temperature = float(dict.get(settings, "temperature", 1.0) or 1.0) if zorro else 1.0
        rows = {name: dict.__getitem__(request["batch"], name) for name in ("input_ids", "attention_mask", "prompts")}
        wanted = dense(worker.engine.module, rows, temperature)
        given = answer["batch"]["logprobs"].float()
        if not zorro:
            # Slot j holds the next token's: bring each value to its own token.
            given = torch.roll(given, 1, dims=1)
        mask = rows["attention_mask"].bool()
        mask[:, : rows["prompts"].shape[1]] = False
        off = torch.where(mask, (given - wanted).abs(), torch.zeros(()))
        worst = float(off.max())
        self.told[f"{call.name}.worst"] = leaf(worst)
        self.told[f"{call.name}.agrees"] = leaf(worst <= TOLERANCE)
        if worst > TOLERANCE:
            wrong = (off > TOLERANCE).any(dim=1).nonzero().reshape(-1).tolist()
            self.told[f"{call.name}.cause"] = leaf(cause(rows, wrong, zorro))


def cause(rows: Mapping[str, torch.Tensor], wrong: list[int], zorro: bool) -> str:
    """Why rows may be wrong, as far as the batch tells."""
    apart = scattered(rows["prompts"])
    if zorro and apart:
        told = "; ".join(f"rows {places}" for places in apart)
        return (
            f"rows {wrong} are wrong: zorro groups rows by equal prompts and computes them as neighbours, but rows of "
            f"one prompt are not adjacent ({told}); set trainer.balance_batch=False and repeat no prompt in a batch"
        )
    return f"rows {wrong} are wrong: the server's forward disagrees with a dense forward of the same weights"


def scattered(prompts: torch.Tensor) -> list[list[int]]:
    """The rows of each prompt whose rows are not adjacent."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for row, ids in enumerate(prompts.tolist()):
        groups.setdefault(tuple(ids), []).append(row)
    return [rows for rows in groups.values() if rows[-1] - rows[0] + 1 != len(rows)]


@torch.no_grad()  # type: ignore[untyped-decorator]
def dense(module: Any, rows: Mapping[str, torch.Tensor], temperature: float) -> torch.Tensor:
    """[B, S] float32: log P(token) at the token's own slot, one row at a time, with the plain forward in float32."""
    from transformers import AutoModelForCausalLM

    # from_config writes its attention into the config it is given, which the server's model still reads.
    config = deepcopy(module.config)
    reference = AutoModelForCausalLM.from_config(config, attn_implementation="eager", dtype=torch.float32).eval()
    reference.load_state_dict({name: value.float() for name, value in module.state_dict().items()})
    ids, mask = rows["input_ids"], rows["attention_mask"].bool()
    out = torch.zeros(ids.shape)
    for row in range(ids.shape[0]):
        tokens = ids[row][mask[row]]
        logits = reference(input_ids=tokens.unsqueeze(0)).logits[0].float() / temperature
        chances = torch.log_softmax(logits[:-1], dim=-1).gather(1, tokens[1:].unsqueeze(1)).squeeze(1)
        places = mask[row].nonzero().reshape(-1)[1:]
        out[row, places] = chances
    return out
