"""One job in one process: the side's objects are built and driven, and what was seen becomes probes."""

from __future__ import annotations

import gc
import inspect
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from parity.record import Key, Leaf, leaf
from parity.scenario import Job
from parity.standin import install, model
from parity.standin.compose import composed, replaced
from parity.standin.deepspeed_view import server_config, view
from parity.standin.origins import origins, with_origins
from parity.standin.recorder import Session, wire
from parity.standin.step import Step, named
from parity.standin.values import MarkLost, leaves

Probes = dict[str, dict[Key, Leaf]]
# DeepSpeed's batch arithmetic is judged at these numbers of ranks, whatever the scenario runs on.
WORLDS = (1, 8, 64)


def adapter_known(job: Job) -> bool | str:
    """Whether a process that has imported only the worker knows the adapter, as a Ray child must.

    Call it first: anything else that imports the adapter hides the answer. Where it is not known, the words of the
    registry that the worker would ask are the answer.
    """
    install.hook()
    worker = import_module(job.subject["worker"].rpartition(".")[0])
    if job.subject["adapter"].rpartition(".")[0] in sys.modules:
        return True
    asked = dict(text.partition("=")[::2] for text in job.select)
    for registry in (value for name, value in vars(worker).items() if name.endswith("Registry")):
        for name in asked.values():
            try:
                registry.get(name)
            except KeyError as error:
                return f"KeyError: {error.args[0]}"
    return False


def imports(job: Job) -> None:
    """Import what every scenario of this side needs."""
    for part in ("trainer", "worker", "adapter", "rollout"):
        import_module(job.subject[part].rpartition(".")[0])
    _no_flash_attention()


def _no_flash_attention() -> None:
    """verl unpads with flash_attn's helpers; it ships the same functions in plain torch for another device."""
    from verl.utils import attention_utils, npu_flash_attn_utils

    names = ("index_first_axis", "pad_input", "rearrange", "unpad_input")
    attention_utils._get_attention_functions = lambda: tuple(getattr(npu_flash_attn_utils, name) for name in names)


def run(job: Job, scratch: Path, known: bool | str) -> Probes:
    """Drive one step and return the probes. Raises only where the side's config cannot be composed."""
    checkpoints = scratch / "checkpoints"
    folder = model.write(scratch / "model")
    shown = {str(folder): "<model>", str(checkpoints): "<checkpoints>", str(scratch): "<scratch>"}

    def scrub(text: str) -> str:
        for path, name in shown.items():
            text = text.replace(path, name)
        return text

    places = (f"actor_rollout_ref.model.path={folder}", f"trainer.default_local_dir={checkpoints}")
    config, dropped = composed(job.config, (*job.select, *places), job.overrides)
    session = Session(scrub)
    driven = _engine(job, session, scratch)
    step = Step(job, config, session)
    with warnings.catch_warnings(record=True) as warned, MarkLost():
        warnings.simplefilter("always")
        step.run()
        gc.collect()
    session.unawaited += _never_awaited(warned)
    session.close()
    written = origins(_sources(job))
    probes: Probes = {
        "wire": with_origins({**wire(session), **_under("returned", step.returned)}, written),
        "config": with_origins({**dropped, **_config(job, config, session)}, written),
        "contract": _contract(session, step, known),
    }
    if driven is not None:
        probes.update(driven())
    return {name: told for name, told in probes.items() if not job.probes or name in job.probes}


def _engine(job: Job, session: Session, scratch: Path) -> Any:
    if job.drive == "none":
        install.install(session)
        return None
    from parity.standin import engine

    return engine.install_engine(session, job, scratch)


def _never_awaited(warned: list[warnings.WarningMessage]) -> list[str]:
    said = (str(one.message) for one in warned if issubclass(one.category, RuntimeWarning))
    return sorted({text for text in said if "was never awaited" in text})


def _sources(job: Job) -> dict[str, Path]:
    """The files that write requests and configs: adapter first, then worker and rollout."""
    found = {}
    for part in ("adapter", "worker", "rollout"):
        file = Path(inspect.getfile(named(job.subject[part])))
        root = Path(inspect.getfile(import_module(job.subject[part].partition(".")[0]))).parent.parent
        found[file.relative_to(root).as_posix() if file.is_relative_to(root) else file.name] = file
    return found


def _config(job: Job, config: Any, session: Session) -> dict[Key, Leaf]:
    told: dict[Key, Leaf] = {}
    for place, sent in enumerate(session.configs):
        told.update(_client(("client", "worker_client", "rollout_client")[min(place, 2)], sent, session))
    for name in session.unknown_fields:
        told[f"client.unknown.{name}"] = leaf("ArcticRLClientConfig has no such field and drops it")
    for kind, sent_job in session.jobs.items():
        if kind != "sampling":
            told.update(leaves(server_config(sent_job), f"server.{kind}", session.scrub))
    # Other numbers of ranks are only configured, never driven; a driven batch is made for one rank.
    install.install(session)
    for world in WORLDS if job.drive == "none" else (1,):
        told.update(_world(job, config, session, world))
    return told


def _client(name: str, sent: Any, session: Session) -> Iterator[tuple[Key, Leaf]]:
    plain = sent.model_dump()
    for field, value in plain.items():
        # What the vendor derives from the machine it runs on is not what the side sent.
        if field in ("host", "port") and field not in sent.model_fields_set:
            continue
        yield from leaves(value, f"{name}.{field}", session.scrub)


def _world(job: Job, config: Any, session: Session, world: int) -> dict[Key, Leaf]:
    """DeepSpeed's verdict on both engines if the side were run on `world` ranks."""
    told: dict[Key, Leaf] = {}
    with aside(session) as inner:
        with inner.part("driver"), replaced(config, dict.fromkeys(job.gpus, world)):
            named(job.subject["adapter"])(config)
        for kind in ("training", "log_prob"):
            key = f"deepspeed.{kind}.{world}"
            if kind in inner.jobs:
                told.update(_under(key, view(server_config(inner.jobs[kind]), world)))
            elif inner.errors:
                told[f"{key}.not_built"] = leaf(inner.errors["driver"])
    return told


@contextmanager
def aside(session: Session) -> Iterator[Session]:
    """The same session with empty lists: what happens inside is not part of the step."""
    names = ("calls", "configs", "jobs", "unknown_fields", "errors", "answered")
    kept = {name: getattr(session, name) for name in names}
    for name, value in kept.items():
        setattr(session, name, type(value)())
    try:
        yield session
    finally:
        session.close()
        for name, value in kept.items():
            setattr(session, name, value)


def _under(prefix: Key, told: Mapping[Key, Leaf]) -> dict[Key, Leaf]:
    return {f"{prefix}.{key}": value for key, value in told.items()}


def _contract(session: Session, step: Step, known: bool | str) -> dict[Key, Leaf]:
    told: dict[Key, Leaf] = {"fresh_process.adapter_known": leaf(known)}
    for call in session.calls:
        told[f"bind.{call.name}"] = leaf(call.refused or True)
        if call.awaited is False and not call.refused:
            told[f"never_awaited.{call.name}"] = leaf("its coroutine was dropped")
    for place, text in enumerate(session.unawaited):
        told[f"never_awaited[{place}]"] = leaf(text)
    for phase, text in session.errors.items():
        told[f"raises.{phase}"] = leaf(text)
    if step.prompt_kept is not None:
        told["prompt_tokens_kept"] = leaf(step.prompt_kept)
    told["shutdowns"] = leaf(sum(call.op == "shutdown" for call in session.calls))
    return told
