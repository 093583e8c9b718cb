"""verl's own training, `python -m verl.trainer.main_ppo`, on a CPU, for one side of a port.

The process tree of a run:

    the caller            follows told.jsonl, tells the writer, cleans up
      fork server         has imported what the Python processes below need; each of them is a fork of it
      main_ppo            the side's own entry; starts Ray with a folder below /tmp
        gcs_server, monitor, dashboard, log monitor: Ray's daemons
        raylet            starts two agents and the processes of the training:
          TaskRunner      trainer and fit(): data, rewards, advantages; writes told.jsonl
          ServerState     the stand-in: real server, DeepSpeed engines, sampler
          WorkerDict      the side's forwarder
          ArcticLLMServer the side's rollout
          AgentLoopWorker, RewardLoopWorker, load balancer

Where a process is shown below another, the kernel kills it when that one ends, however it ends; a fork has a small
process in its place that ends with it. Killing the caller therefore ends all, but Ray's folder stays: the next caller
removes it. In the scratch folder stay log.txt, command.json, told.jsonl and the checkpoint.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from types import FrameType
from typing import Any

from parity.scenario import job_from_json
from parity.smoke.order import FitOrder
from parity.smoke.series import Writer
from parity.standin.trainer import inject, metrics, processes, settings
from parity.standin.trainer.forkserver import SINGLE, serving

ROOT = Path(__file__).resolve().parents[3]
ENTRY = "verl.trainer.main_ppo"
LAST_LINES = 40
_NOISE = re.compile(r"nanobind: | - (leaked |\.\.\. skipped )|See https://nanobind")
RAY_PREFIX = "ptr-"


def fit(order: FitOrder, writer: Writer) -> dict[str, Any]:
    """Train as ordered; each finished step goes to the writer, and verl's validation comes back.

    To be called in the main thread, which gets SIGTERM. Raises RuntimeError with the last lines of the log where the
    training did not come to its end.
    """
    scratch = Path(order.scratch).resolve()
    scratch.mkdir(parents=True, exist_ok=True)
    order = replace(order, tree=str(Path(order.tree).resolve()), scratch=str(scratch))
    (scratch / "told.jsonl").unlink(missing_ok=True)
    with _ended_by_sigterm(), _ray_folder() as ray_folder:
        environment = _environment(order, scratch)
        preload = settings.preloaded(job_from_json(order.job))
        with (
            serving(Path(order.tree), scratch, preload, environment) as server,
            open(scratch / "log.txt", "wb") as log,
        ):
            arguments, dropped = _arguments(order, scratch, ray_folder)
            command = [str(server.python), "-u", "-m", ENTRY, *arguments]
            (scratch / "command.json").write_text(json.dumps(command, indent=1), encoding="utf-8")
            run = processes.start(command, scratch, environment, log)
            try:
                told = _follow(run, scratch / "told.jsonl", writer)
            finally:
                processes.end(run)
    if run.returncode or len(told) < order.steps:
        raise RuntimeError(f"training ended after {len(told)} of {order.steps} steps\n{_last_lines(scratch)}")
    # Told as a result: two sides of which one left something out are not equal.
    return {**metrics.validation_of(told[-1]), **({"config/dropped": " ".join(dropped)} if dropped else {})}


def _arguments(order: FitOrder, scratch: Path, ray_folder: Path) -> tuple[list[str], list[str]]:
    """All overrides for the side's entry, and the job's overrides that this side does not know."""
    from parity.standin.trainer.task import make

    job = job_from_json(order.job)
    task = make(Path(order.scratch).parent / "task", order.seed)
    agent = scratch / "agent.yaml"
    agent.write_text(settings.agent_config(), encoding="utf-8")
    files = {
        "model": task.model,
        "train": task.train,
        "val": task.validation,
        "reward": task.reward,
        "agent": agent,
        "checkpoints": scratch / "checkpoints",
        "hydra": scratch / "hydra",
    }
    own = settings.overrides(order, files, ray_folder)
    applied, dropped = settings.known(Path(order.tree), job, [text for text in own if not text.startswith("hydra")])
    return [*applied, *own], dropped


def _environment(order: FitOrder, scratch: Path) -> dict[str, str]:
    """What every process of the run has in its environment."""
    run = {"scratch": str(scratch), "seed": order.seed, "noise": order.noise, "caller": os.getpid()}
    site = scratch / "site"
    site.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(inject.SITE, encoding="utf-8")
    # Nothing of the caller's Python and Ray gets in.
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "PYTHON"))}
    return {
        **kept,
        **settings.ENVIRONMENT,
        **SINGLE,
        # Hooks stand before what they hook.
        "PYTHONPATH": os.pathsep.join((str(site), order.tree, str(ROOT))),
        inject.VARIABLE: json.dumps(run, sort_keys=True),
    }


def _follow(run: subprocess.Popen[bytes], file: Path, writer: Writer) -> list[Mapping[str, Any]]:
    """Tell the writer each step as the trainer tells it, until the run has ended."""
    told: list[Mapping[str, Any]] = []
    while True:
        ended = run.poll() is not None
        lines = file.read_text(encoding="utf-8").split("\n")[:-1] if file.is_file() else []
        for line in lines[len(told) :]:
            step = json.loads(line)
            writer.step(metrics.step_of(step), variance=step["variance"], seconds=metrics.seconds_of(step))
            told.append(step)
        if ended:
            return told
        time.sleep(0.1)


def _last_lines(scratch: Path) -> str:
    lines = (scratch / "log.txt").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    # What a library says about itself at its end hides what ended the run.
    return "\n".join([line for line in lines if not _NOISE.match(line)][-LAST_LINES:])


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """SIGTERM ends the run as an exception would: what was started is ended first."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    kept = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, kept)


@contextmanager
def _ray_folder() -> Iterator[Path]:
    """A short folder for Ray's sockets; folders of callers that were killed go too."""
    base = Path(tempfile.gettempdir())
    for left in base.glob(f"{RAY_PREFIX}*"):
        pid = left.name.removeprefix(RAY_PREFIX)
        if pid.isdigit() and (int(pid) == os.getpid() or not Path("/proc", pid).exists()):
            rmtree(left, ignore_errors=True)
    # Short: of the 107 bytes that a socket's path may have, Ray's own part takes 64.
    folder = base / f"{RAY_PREFIX}{os.getpid()}"
    folder.mkdir()
    try:
        yield folder
    finally:
        rmtree(folder, ignore_errors=True)
