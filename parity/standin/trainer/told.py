"""In the trainer's process: each training step, when verl logs it, as a line of JSON for the process that waits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from parity.standin.trainer import inject
from parity.standin.trainer.client import NAME

# Tensors of the batch whose bytes show where two runs part.
DIGESTED = ("responses", "old_log_probs", "ref_log_prob", "token_level_scores", "advantages")
_batch: dict[str, Any] = {}


def watch_batches(module: ModuleType) -> None:
    """In `verl.trainer.ppo.ray_trainer`: the batch of a step, when it is whole."""
    real = module.compute_data_metrics

    def noted(batch: Any, *args: Any, **kwargs: Any) -> Any:
        _batch.update(about_batch(batch.batch))
        return real(batch, *args, **kwargs)

    module.compute_data_metrics = noted  # type: ignore[attr-defined]


def watch_metrics(module: ModuleType) -> None:
    """In `verl.utils.tracking`: what verl logs."""
    real = module.Tracking.log

    def log(self: Any, data: Mapping[str, Any], step: int, backend: Any = None) -> Any:
        if step > 0:
            _tell(data, step)
        return real(self, data, step, backend)

    module.Tracking.log = log


def about_batch(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """The variance of the rewards of a batch, and the digests of its tensors."""
    import torch

    rewards = tensors["token_level_scores"].sum(dim=-1).double()
    told: dict[str, Any] = {"variance": float(rewards.var(unbiased=False)), "digests": {}}
    for name in DIGESTED:
        if name in tensors.keys():  # noqa: SIM118 - a TensorDict asks its keys
            tensor = tensors[name].detach().contiguous()
            data = tensor.view(torch.uint8).numpy().tobytes()
            about = f"{tensor.dtype} {list(tensor.shape)} ".encode()
            told["digests"][name] = hashlib.sha256(about + data).hexdigest()[:16]
    return told


def _tell(data: Mapping[str, Any], step: int) -> None:
    import ray

    server = ray.get(ray.get_actor(NAME).take.remote())
    metrics = {name: getattr(value, "item", lambda value=value: value)() for name, value in data.items()}
    line = json.dumps({"step": step, "metrics": metrics, "server": server, **_batch})
    with open(Path(inject.settings()["scratch"]) / "told.jsonl", "a", encoding="utf-8") as file:
        file.write(line + "\n")
