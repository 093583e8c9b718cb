"""The client's side of the stand-in: the vendor's Ray client is real, its server answers from a CPU actor."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

# Under this name any process of the run finds the actor.
NAME = "arctic_stand_in"


def reach_stand_in(module: ModuleType) -> None:
    """In `arctic_platform.rl.ray_client`: what starts the server state, and what stands for the server."""
    module.create_arctic_rl_ray_server_state = start  # type: ignore[attr-defined]
    module.ArcticRLRayServer = Server  # type: ignore[attr-defined]


def refuse_http(module: ModuleType) -> None:
    """In `arctic_platform.rl.http_client`: a server process would wait for GPUs, and its client for it."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise RuntimeError("comm_protocol is http: a training run has its server behind the Ray client")

    module.subprocess = SimpleNamespace(Popen=refuse, DEVNULL=None)  # type: ignore[attr-defined]


def start(**gpus: Any) -> Any:
    """The handle of the actor, in place of the vendor's own."""
    import ray

    from parity.standin.trainer.server import ServerState

    return ray.remote(num_cpus=0, num_gpus=0)(ServerState).options(name=NAME).remote(**gpus)


class Server:
    """The vendor's server of one client; it lives beside the state it works on, since its workers live there."""

    def __init__(self, state: Any) -> None:
        import ray

        self._state = state
        self._number = ray.get(state.connect.remote())

    def __getattr__(self, name: str) -> Callable[..., Any]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            return await self._state.call.remote(self._number, name, args, kwargs)

        return call
