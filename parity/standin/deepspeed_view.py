"""What the pinned DeepSpeed makes of a ds_config at a world size, without starting a rank."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from deepspeed.runtime import config as ds_runtime
from deepspeed.runtime.engine import DeepSpeedEngine
from deepspeed.runtime.zero import utils as zero_utils

from parity.record import Key, Leaf, leaf
from parity.standin.values import leaves

# The attributes a run depends on; the parser's others are features that no config here asks for.
_SEEN = (
    "train_batch_size",
    "train_micro_batch_size_per_gpu",
    "gradient_accumulation_steps",
    "zero_optimization_stage",
    "gradient_clipping",
    "communication_data_type",
    "torch_autocast_enabled",
    "torch_autocast_dtype",
    "grad_accum_dtype",
    "param_dtype",
    "buffer_dtype",
    "optimizer_name",
    "optimizer_params",
    "scheduler_name",
    "scheduler_params",
)


class _Noted(dict):  # type: ignore[type-arg]
    """A config that notes which of its keys the parser asks for."""

    asked: set[str]

    def __copy__(self) -> _Noted:
        made = _Noted(self)
        made.asked = self.asked
        return made

    def get(self, key: Any, default: Any = None) -> Any:
        self.asked.add(key)
        return super().get(key, default)

    def __getitem__(self, key: Any) -> Any:
        self.asked.add(key)
        return super().__getitem__(key)


def server_config(job: Mapping[str, Any]) -> dict[str, Any]:
    """The config that the real server hands to DeepSpeed for a job it was asked to initialise."""
    from arctic_platform.rl.deepspeed_worker import DeepSpeedWorker

    worker = DeepSpeedWorker.__ray_metadata__.modified_class
    told = copy.deepcopy(dict(job))
    settings = told.get("ds_worker_config") or {}
    if told["job_type"] == "log_prob":
        made = worker.ds_inference_config(None, told.get("log_prob_config") or {}, settings)
    else:
        made = worker.ds_training_config(None, told, told.get("ds_config") or {}, settings)
    return dict(made)


def view(config: Mapping[str, Any], world_size: int) -> dict[Key, Leaf]:
    """DeepSpeed's parsed view, and `refused` with its own words; keys it never asks for are `unknown.<key>`."""
    noted = _Noted(copy.deepcopy(dict(config)))
    noted.asked = set()
    refused = _Refused()
    told: dict[Key, Leaf] = {}
    with _world(world_size), refused:
        parsed = ds_runtime.DeepSpeedConfig(noted)
        for name in _SEEN:
            value = getattr(parsed, name)
            plain = value if value is None or isinstance(value, (bool, int, float, dict)) else str(value)
            told.update(leaves(plain, name))
        engine = _engine(parsed)
        if "optimizer" in config:
            told["optimizer_wrapper"] = leaf(str(DeepSpeedEngine._do_optimizer_sanity_check(engine, _plain_adamw())))
        elif parsed.zero_optimization_stage in (1, 2):
            # A forward-only engine: these stages partition an optimizer, and refuse to start without one.
            DeepSpeedEngine._configure_zero_optimizer(engine, None)
    if refused.words:
        told["refused"] = leaf(refused.words)
    for name in noted:
        if name not in noted.asked:
            told[f"unknown.{name}"] = leaf("DeepSpeed never asks for it")
    return told


class _Refused:
    """Keeps what DeepSpeed raises: its words are the observation."""

    words = ""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> bool:
        if kind is None or not issubclass(kind, Exception):
            return False
        self.words = " ".join(f"{kind.__name__}: {error}".split())
        return True


@contextmanager
def _world(size: int) -> Iterator[None]:
    ranks = SimpleNamespace(get_rank=lambda: 0, get_world_size=lambda *_: size)
    kept = [(module, module.dist) for module in (ds_runtime, zero_utils)]
    for module, _ in kept:
        module.dist = ranks
    try:
        yield
    finally:
        for module, real in kept:
            module.dist = real


def _engine(parsed: Any) -> Any:
    """As much of an engine as its own rule on stages and dtypes asks."""
    zero = parsed.zero_config
    engine = SimpleNamespace(
        _config=parsed,
        global_rank=0,
        pipeline_parallelism=False,
        fp16_enabled=lambda: parsed.float16_config.enabled,
        bfloat16_enabled=lambda: parsed.bfloat16_config.enabled,
        zero_optimization=lambda: parsed.zero_enabled,
        zero_optimization_stage=lambda: parsed.zero_optimization_stage,
        zero_cpu_offload=lambda: zero.offload_optimizer is not None and zero.offload_optimizer.device == "cpu",
        zero_allow_untested_optimizer=lambda: parsed.zero_allow_untested_optimizer,
        amp_enabled=lambda: parsed.amp_enabled,
        mics_shard_size=lambda: parsed.mics_shard_size,
        wall_clock_breakdown=lambda: False,
        module=_Parameters(),
        zero_legacy_stage1=lambda: zero.legacy_stage1,
        zero_overlap_comm=lambda: zero.overlap_comm,
        zero_contiguous_gradients=lambda: zero.contiguous_gradients,
        zero_round_robin_gradients=lambda: zero.round_robin_gradients,
    )
    engine.get_data_types = lambda: DeepSpeedEngine.get_data_types(engine)
    return engine


class _Parameters:
    def parameters(self) -> list[Any]:
        return []


def _plain_adamw() -> Any:
    import torch

    return torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))])
