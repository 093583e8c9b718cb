"""A server without an engine: checks requests as the real one unpacks them and answers in the right shapes.

Each value names its place, so that one that is read from the wrong slot changes what the trainer sends next.
"""

from __future__ import annotations

import os
from typing import Any

import torch

from parity.standin.recorder import Session

# What verl_grpo reports for each update, after the server has folded it.
UPDATE_METRICS = ("loss", "actor/pg_loss", "actor/ppo_kl", "actor/pg_clipfrac", "actor/pg_clipfrac_lower")


class State:
    """The jobs of a server; one for all clients of a run."""

    def __init__(self, session: Session, **gpus: Any) -> None:
        self.session, self.gpus = session, gpus
        self.jobs: dict[int, dict[str, Any]] = {}

    async def initialize(self, job_config: dict[str, Any]) -> dict[str, Any]:
        from arctic_platform.rl.utils.server_models import JobConfig

        told = JobConfig(**job_config).model_dump()
        job_id = len(self.jobs) + 1
        self.jobs[job_id] = told
        self.session.jobs[told["job_type"]] = told
        return {"job_id": job_id, "job_type": told["job_type"], "running": True}

    async def destroy(self, job_id: int, job_type: str) -> dict[str, Any]:
        if self.jobs.pop(job_id, None) is None:
            raise ValueError(f"Job {job_id} not found")
        return {"job_id": job_id}


class Server:
    """Answers in place of `ArcticRLRayServer`; every method is one of its endpoints."""

    def __init__(self, state: Any) -> None:
        self.state: State = getattr(state, "inner", state)

    @property
    def ranks(self) -> int:
        return int(self.state.gpus.get("training_gpus") or 1)

    async def destroy(self, job_id: int, job_type: str) -> dict[str, Any]:
        return await self.state.destroy(job_id, job_type)

    async def fwd_no_grad(self, job_id: int, batch: dict[str, Any]) -> dict[str, Any]:
        if job_id not in self.state.jobs:
            raise KeyError(job_id)
        _check(batch, self.ranks)
        values = _places(batch)
        if self.state.jobs[job_id]["job_type"] == "log_prob":
            values = values * 0.5
        answer = {"logprobs": values}
        if batch["meta"].get("calculate_entropy"):
            answer["entropy"] = values + 0.25
        return {"job_id": job_id, "batch": answer, "metrics": {}}

    async def fwd_bwd(self, job_id: int, batch: dict[str, Any]) -> dict[str, Any]:
        _check(batch, self.ranks)
        metrics = {name: 0.5**place for place, name in enumerate(UPDATE_METRICS, 1)}
        return {"job_id": job_id, "metrics": metrics, "avg_loss": 0.5}

    async def step(self, job_id: int) -> dict[str, Any]:
        metrics: dict[str, Any] = {"last_lr": 2.0**-20, "grad_norm": 0.75}
        if self.ranks > 1:
            # The real one merges its ranks into lists.
            metrics = {name: [value] * self.ranks for name, value in metrics.items()}
        return {"job_id": job_id, "metrics": metrics, "batch": {}}

    async def save_checkpoint(self, job_id: int) -> dict[str, Any]:
        folder = self.state.jobs[job_id]["checkpoint_path"]
        return {"job_id": job_id, "path": os.path.join(folder, f"arctic_rl_job_{job_id}")}

    async def generate(self, job_id: int, request: dict[str, Any]) -> dict[str, Any]:
        from arctic_platform.rl.utils.server_models import GenerateRequest

        asked = GenerateRequest(**request)
        results = [
            {"text": "ab", "token_ids": [36, 37], "finish_reason": "stop", "prompt_len": len(prompt)}
            for prompt in asked.prompts
        ]
        return {"job_id": job_id, "results": results}

    async def sync_weights(self, request: dict[str, Any]) -> dict[str, Any]:
        from arctic_platform.rl.utils.server_models import SyncWeightsRequest

        return {"job_id": SyncWeightsRequest(**request).training_job_id, "status": "ok"}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)

        async def done(*args: Any, **kwargs: Any) -> dict[str, Any]:
            return {"status": "ok"}

        return done


def _check(request: dict[str, Any], ranks: int) -> None:
    """Refuse what `unpack_batch`, the split and the model call refuse."""
    batch, meta = request["batch"], request["meta"]
    request["processing"]
    both = sorted(set(batch) & set(meta))
    if both:
        raise TypeError(f"got multiple values for keyword argument {both[0]!r}: batch and meta share it")
    rows = batch["input_ids"].shape[0]
    if rows < ranks:
        raise ValueError(f"Batch dimension {rows} is smaller than num_workers {ranks}")
    meta["dp_size"] = ranks
    meta["worker_return_tensors"] = True


def _places(request: dict[str, Any]) -> torch.Tensor:
    """[B, S]: slot j of row b holds -(b + j/64); zorro fills response slots only, else padding holds the pad token."""
    batch, meta = request["batch"], request["meta"]
    rows, width = batch["input_ids"].shape
    values = -(torch.arange(rows).unsqueeze(1) + torch.arange(width).unsqueeze(0) / 64.0)
    mask = batch["attention_mask"].bool()
    if meta.get("zorro_train_enable"):
        responses = torch.arange(width) >= batch["prompts"].shape[1]
        return torch.where(mask & responses, values, torch.zeros(()))
    return torch.where(mask, values, torch.tensor(float(meta["pad_token_id"])))
