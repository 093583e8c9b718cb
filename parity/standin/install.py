"""Puts the stand-in between the adapter and the server: the vendor's clients are real, their transport is not."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import torch

from parity.standin.answers import Server, State
from parity.standin.local_ray import Actor, LocalRay, wait
from parity.standin.recorder import Session, recording, strict

# Adapters bind the factory and the config class when they are imported; each run brings its own session.
_SESSION: list[Session] = [Session()]


def hook() -> None:
    """Replace the client factory and the config class of `arctic_platform.rl`; before an adapter is imported."""
    import arctic_platform.rl as package
    from arctic_platform.rl import client

    factory = client.create_arctic_rl_client

    def create_arctic_rl_client(config: Any, arctic_rl_server_state: Any = None) -> Any:
        _SESSION[0].configs.append(config)
        return factory(config, arctic_rl_server_state)

    known = strict(package.ArcticRLClientConfig, lambda: _SESSION[0])
    for module in (package, client):
        module.create_arctic_rl_client = create_arctic_rl_client
        module.ArcticRLClientConfig = known


def install(
    session: Session, *, state: Callable[..., Any] | None = None, server: Callable[..., Any] | None = None
) -> None:
    """Let the vendor's clients record into `session` and reach a server in this process.

    `state` and `server` are the real server's classes where an engine is driven; without them nothing is computed.
    """
    from arctic_platform.rl import client, http_client, ray_client

    _SESSION[0] = session
    make = state or (lambda **gpus: State(session, **gpus))
    serve = server or Server
    ray_client.ray = LocalRay
    ray_client.create_arctic_rl_ray_server_state = lambda **gpus: Actor(make(**gpus))
    ray_client.ArcticRLRayServer = serve
    transport = _Http(make, serve)
    http_client.requests = SimpleNamespace(Session=lambda: transport, get=transport.get)
    http_client.aiohttp = SimpleNamespace(ClientSession=lambda: _AsyncHttp(transport))
    http_client.subprocess = SimpleNamespace(Popen=transport.launch, DEVNULL=None)
    http_client.atexit = SimpleNamespace(register=lambda function: function)
    client.ArcticRLHTTPClient = recording(http_client.ArcticRLHTTPClient, session)
    client.ArcticRLRayClient = recording(ray_client.ArcticRLRayClient, session)


class _Process:
    """A server process that runs until it is told to stop."""

    pid = 0
    returncode: int | None = None

    def poll(self) -> int | None:
        return self.returncode

    def send_signal(self, number: int) -> None:
        self.returncode = -number

    def wait(self, timeout: float | None = None) -> int | None:
        return self.returncode


class _Response:
    ok, status_code, text = True, 200, ""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def json(self) -> Any:
        return json.loads(json.dumps(self._answer))

    @property
    def content(self) -> bytes:
        buffer = io.BytesIO()
        torch.save(self._answer, buffer)
        return buffer.getvalue()

    def raise_for_status(self) -> None:
        pass


class _Http:
    """A `requests.Session` that reaches the server in this process; bodies are encoded as they would be."""

    def __init__(self, make: Callable[..., Any], serve: Callable[..., Any]) -> None:
        self._make, self._serve = make, serve
        self._state: Any = None

    def launch(self, command: list[str], **_: Any) -> Any:
        told = dict(pairwise(command))
        jobs = ("training", "sampling", "log_prob")
        gpus = {f"{job}_gpus": int(told[f"--{job.replace('_', '-')}-gpus"]) for job in jobs}
        engine = told["--log-prob-engine"]
        self._state = Actor(self._make(**gpus, log_prob_engine=engine, colocate="--colocate" in command))
        return _Process()

    def get(self, url: str, **_: Any) -> _Response:
        path = url.rsplit("/", 1)[-1]
        jobs = self._state.inner.jobs
        if path == "status":
            return _Response({"jobs": {}})
        return _Response({"status": "RUNNING", "jobs": sorted(jobs)})

    def post(
        self, url: str, *, params: Any = None, data: bytes | None = None, json: Any = None, **_: Any
    ) -> _Response:
        path, job = url.rsplit("/", 1)[-1], (params or {}).get("job_id")
        state = self._state.inner
        if path == "initialize":
            return _Response(wait(state.initialize(json)))
        if path == "destroy":
            return _Response(wait(state.destroy(job, json["job_type"])))
        server = self._serve(self._state)
        if data is not None:
            batch = torch.load(io.BytesIO(data), map_location="cpu", weights_only=False)
            return _Response(wait(getattr(server, path.replace("-", "_"))(job, batch)))
        if path == "sync-weights":
            return _Response(wait(server.sync_weights(json)))
        if path == "generate":
            return _Response(wait(server.generate(job, json)))
        if path in ("step", "save-checkpoint"):
            return _Response(wait(getattr(server, path.replace("-", "_"))(job)))
        return _Response({"job_id": job, "status": "ok"})


class _AsyncHttp:
    """As much of `aiohttp.ClientSession` as `generate` uses."""

    def __init__(self, transport: _Http) -> None:
        self._transport = transport

    async def __aenter__(self) -> _AsyncHttp:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    def post(self, url: str, **kwargs: Any) -> _AsyncResponse:
        return _AsyncResponse(self._transport.post(url, **kwargs))


class _AsyncResponse:
    def __init__(self, response: _Response) -> None:
        self._response = response

    async def __aenter__(self) -> _AsyncResponse:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    def raise_for_status(self) -> None:
        pass

    async def json(self) -> Any:
        return self._response.json()
