"""The real server in this process: its split, pipeline, loss and DeepSpeed engine, on one CPU rank."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from parity.record import Key, Leaf, leaf
from parity.scenario import Job
from parity.standin import cpu
from parity.standin.install import install
from parity.standin.local_ray import Actor, LocalRay
from parity.standin.oracle import Oracle
from parity.standin.reads import Reads, plain, shortened, signature_reads
from parity.standin.recorder import Session
from parity.standin.sampler import Pool

Probes = Callable[[], dict[str, dict[Key, Leaf]]]


class Engine:
    """What one driven run keeps hold of: the workers it made, and who read what."""

    def __init__(self, session: Session, scratch: Path) -> None:
        self.session, self.scratch = session, scratch
        self.reads = Reads()
        self.workers: dict[str, Any] = {}

    def worker_class(self) -> type:
        """The vendor's worker with its config noted, its GPU names given and its compiled optimizer left out."""
        from arctic_platform.rl.deepspeed_worker import DeepSpeedWorker

        engine = self

        class Worker(DeepSpeedWorker.__ray_metadata__.modified_class):  # type: ignore[misc]
            def get_ip(self) -> str:
                return "127.0.0.1"

            def initialize(self, master_addr: str, job_config: dict[str, Any]) -> bool:
                kind = job_config["job_type"]
                engine.workers[kind] = self
                noted = engine.reads.wrap(f"job.{kind}", job_config, sent=True)
                with cpu.cuda_names():
                    _one_rank(engine.scratch)
                    return bool(super().initialize(master_addr, noted))

            def ds_training_config(self, *args: Any) -> dict[str, Any]:
                made = plain(super().ds_training_config(*args))
                # The same AdamW without the kernel that DeepSpeed would compile.
                made["optimizer"]["params"]["torch_adam"] = True
                return made  # type: ignore[no-any-return]

            def ds_inference_config(self, *args: Any) -> dict[str, Any]:
                return plain(super().ds_inference_config(*args))  # type: ignore[no-any-return]

            def offload_to_cpu(self) -> dict[str, Any]:
                return {"status": "on the CPU already"}

        return Worker

    def split(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """`ray_split_batch` on dicts that note their reads."""

        def noted(request: dict[str, Any], workers: int) -> Any:
            for name in ("batch", "meta", "processing"):
                request[name] = self.reads.wrap(f"{self.session.phase}.{name}", request[name], sent=True)
            return real(request, workers)

        return noted

    def pipeline(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """`run_pipeline`, whose batch the server has just rebuilt; the model names what it takes of batch and meta."""

        def noted(engine: Any, args: Any, batch: Any, meta: Any, processing: Any, **rest: Any) -> Any:
            phase = self.session.phase
            batch = self.reads.wrap(f"{phase}.batch", batch)
            forward = engine.module.forward
            where = f"{shortened(inspect.getfile(forward))}:{forward.__qualname__.rpartition('.')[2]}"
            names = iter(inspect.signature(forward).parameters)
            signature_reads(self.reads, names, {f"{phase}.batch": batch, f"{phase}.meta": meta}, where)
            return real(engine, args, batch, meta, processing, **rest)

        return noted

    def processor(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """A post-processor or loss: the pipeline may have rebuilt the dicts it is given."""

        def noted(outputs: Any, batch: Any, meta: Any, *rest: Any) -> Any:
            phase = self.session.phase
            batch, meta = self.reads.wrap(f"{phase}.batch", batch), self.reads.wrap(f"{phase}.meta", meta)
            return real(outputs, batch, meta, *rest)

        return noted


def install_engine(session: Session, job: Job, scratch: Path) -> Probes:
    """Put the real server behind the clients of `session`; the result gives the `reads` and `oracle` probes."""
    from arctic_platform.rl import deepspeed_worker, ray_server
    from arctic_platform.rl.processors import pipeline
    from arctic_platform.rl.utils.ray_pg import ColocatePlacement

    torch.use_deterministic_algorithms(True, warn_only=True)
    cpu.no_builds()
    cpu.register_attention()
    cpu.SeededModel.seed = job.seed
    engine = Engine(session, scratch)
    oracle = Oracle(session, engine.workers)
    session.answered.append(oracle.check)
    worker = engine.worker_class()
    deepspeed_worker.AutoModelForCausalLM = cpu.SeededModel
    deepspeed_worker.run_pipeline = engine.pipeline(deepspeed_worker.run_pipeline)
    for registry in (pipeline.POST_PROCESSORS, pipeline.LOSS_FNS):
        for name, real in list(registry.items()):
            registry[name] = engine.processor(real)
    ray_server.ray = LocalRay
    ray_server.ReplicaPool = Pool
    ray_server.DeepSpeedWorker = SimpleNamespace(options=lambda **_: _Remote(worker))
    ray_server.build_model_config = lambda name, *_, **__: SimpleNamespace(model=name, tensor_parallel_size=1)
    ray_server.init_ray_cluster = lambda **_: None
    ray_server.create_colocate_placement = lambda count: ColocatePlacement([object()], count, count)
    ray_server.pg_scheduling_options = lambda *_: {}
    ray_server.ray_split_batch = engine.split(ray_server.ray_split_batch)

    def state(**told: Any) -> Any:
        if (told["training_gpus"], told["log_prob_gpus"] or 1) != (1, 1):
            raise ValueError("drive: engine runs one rank; a scenario with more GPUs is recorded with drive: none")
        made = ray_server.ArcticRLRayServerState(**told)
        return _Recording(made, session)

    install(session, state=state, server=_HandleFirst)

    def probes() -> dict[str, dict[Key, Leaf]]:
        return {"reads": engine.reads.told(), "oracle": oracle.told or {"checked": leaf(0)}}

    return probes


class _Remote:
    def __init__(self, made: type) -> None:
        self._made = made

    def remote(self, *args: Any) -> Actor:
        return Actor(self._made(*args))


class _Recording:
    """The real server state, keeping each job it is asked for."""

    def __init__(self, inner: Any, session: Session) -> None:
        self.__dict__.update(_inner=inner, _session=session)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def initialize(self, job_config: Mapping[str, Any]) -> Any:
        from arctic_platform.rl.utils.server_models import JobConfig

        self._session.jobs[job_config["job_type"]] = JobConfig(**job_config).model_dump()
        return await self._inner.initialize(job_config)


def _HandleFirst(handle: Any) -> Any:  # noqa: N802 - stands where a class is called
    from arctic_platform.rl.ray_server import ArcticRLRayServer

    return ArcticRLRayServer(handle)


def _one_rank(scratch: Path) -> None:
    """A process group of one over a file: no port that another run could hold."""
    if not torch.distributed.is_initialized():
        scratch.mkdir(parents=True, exist_ok=True)
        meeting = scratch / "rendezvous"
        meeting.unlink(missing_ok=True)
        torch.distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=0, world_size=1)
