"""The real Arctic server in one Ray actor: its state, workers, DeepSpeed engines, pipeline and loss, on one rank."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from parity.standin import cpu
from parity.standin.local_ray import Actor, LocalRay, wait
from parity.standin.trainer import inject
from parity.standin.trainer.sampling import Pool

DELAY = 0.05


class ServerState:
    """Stands where the vendor's server state is made an actor: holds it, and the servers of all clients."""

    def __init__(self, **gpus: Any) -> None:
        if (gpus["training_gpus"], gpus["log_prob_gpus"] or 1) != (1, 1):
            raise ValueError("a training run has one rank; ask for more GPUs in a static scenario")
        self._run = inject.settings()
        self._seen = Seen()
        server = _prepared(self._run, self._seen)
        self._make_server = server.ArcticRLRayServer
        self._state = server.ArcticRLRayServerState(**gpus)
        self._servers: list[Any] = []

    def initialize(self, job_config: dict[str, Any]) -> Any:
        """Start one job of the real state."""
        return wait(self._state.initialize(job_config))

    def connect(self) -> int:
        """The number of a new client's server."""
        self._servers.append(self._make_server(Actor(self._state)))
        return len(self._servers) - 1

    def call(self, number: int, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """One call of one client, to its end; calls never overlap."""
        if name == "generate" and self._run["noise"] == "delays":
            time.sleep(DELAY * random.SystemRandom().random())
        answer = wait(getattr(self._servers[number], name)(*args, **kwargs))
        self._seen.called(name)
        return answer

    def take(self) -> dict[str, Any]:
        """What happened since this was last asked, and the weights the sampler has."""
        pool = self._state.sampling_pool
        return {**self._seen.take(), "weights": pool.digest()}


class Seen:
    """What only the server can see of a step."""

    def __init__(self) -> None:
        self._updates, self._fresh = 0, False
        self._sum, self._tokens = 0.0, 0

    def called(self, name: str) -> None:
        """A call was answered."""
        if name == "sync_weights":
            self._fresh = True
        elif name == "fwd_bwd":
            self._fresh = False
        elif name == "step":
            self._updates += 1

    def loss(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """The policy loss, with the ratio of its inputs noted in the first pass after a sync."""

        def noted(old_log_probs: Any, log_probs: Any, advantages: Any, response_mask: Any, **rest: Any) -> Any:
            if self._fresh:
                mask = response_mask.bool()
                ratio = (log_probs.detach().double() - old_log_probs.double()).exp()
                self._sum += float(ratio[mask].sum())
                self._tokens += int(mask.sum())
            return real(
                old_log_probs=old_log_probs,
                log_probs=log_probs,
                advantages=advantages,
                response_mask=response_mask,
                **rest,
            )

        return noted

    def take(self) -> dict[str, Any]:
        """The counts since the last time."""
        told = {"updates": self._updates, "first_ratio": self._sum / self._tokens if self._tokens else None}
        self._updates, self._sum, self._tokens = 0, 0.0, 0
        return told


def _prepared(run: dict[str, Any], seen: Seen) -> Any:
    """The vendor's server module, in this process, with what it takes from GPUs and from vLLM replaced."""
    from arctic_platform.rl import deepspeed_worker, ray_server
    from arctic_platform.rl.processors import verl_grpo
    from arctic_platform.rl.utils.ray_pg import ColocatePlacement

    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.set_num_threads(1)
    cpu.no_builds()
    cpu.register_attention()
    worker = _worker_class(Path(run["scratch"]))
    deepspeed_worker.AutoModelForCausalLM = Pretrained
    verl_grpo.compute_policy_loss_vanilla = seen.loss(verl_grpo.compute_policy_loss_vanilla)
    ray_server.ray = LocalRay
    ray_server.ReplicaPool = lambda: Pool(run["seed"])
    ray_server.DeepSpeedWorker = SimpleNamespace(options=lambda **_: _Remote(worker))
    ray_server.build_model_config = lambda name, *_, **__: SimpleNamespace(model=name, tensor_parallel_size=1)
    ray_server.init_ray_cluster = lambda **_: None
    ray_server.create_colocate_placement = lambda count: ColocatePlacement([object()], count, count)
    ray_server.pg_scheduling_options = lambda *_: {}
    return ray_server


class Pretrained:
    """In place of `AutoModelForCausalLM` in the worker's module: the same weights, with attention that a CPU has."""

    @staticmethod
    def from_pretrained(name: str, attn_implementation: str = "", dtype: Any = torch.float32) -> Any:
        """The model in folder `name`. `attn_implementation` is what was sent; ours runs instead."""
        from transformers import AutoModelForCausalLM

        return AutoModelForCausalLM.from_pretrained(name, attn_implementation=cpu.ATTENTION, dtype=dtype)


class _Remote:
    def __init__(self, made: type) -> None:
        self._made = made

    def remote(self, *args: Any) -> Actor:
        return Actor(self._made(*args))


def _worker_class(scratch: Path) -> type:
    """The vendor's worker with its GPU names given and its compiled optimizer left out."""
    from arctic_platform.rl.deepspeed_worker import DeepSpeedWorker

    class Worker(DeepSpeedWorker.__ray_metadata__.modified_class):  # type: ignore[misc]
        def get_ip(self) -> str:
            return "127.0.0.1"

        def initialize(self, master_addr: str, job_config: dict[str, Any]) -> bool:
            with cpu.cuda_names():
                _one_rank(scratch)
                return bool(super().initialize(master_addr, job_config))

        def ds_training_config(self, *args: Any) -> dict[str, Any]:
            made: dict[str, Any] = super().ds_training_config(*args)
            # The same AdamW without the kernel that DeepSpeed would compile.
            made["optimizer"]["params"]["torch_adam"] = True
            return made

        def offload_to_cpu(self) -> dict[str, Any]:
            return {"status": "on the CPU already"}

    return Worker


def _one_rank(scratch: Path) -> None:
    """A process group of one over a file: no port that another run could hold."""
    if not torch.distributed.is_initialized():
        meeting = scratch / "rendezvous"
        meeting.unlink(missing_ok=True)
        torch.distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=0, world_size=1)
