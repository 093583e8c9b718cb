"""Captures of many trees: one process imports the trainer stack and forks a worker for each tree."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from parity.capture import Checkout, Stack, cache_key, capture, clean_environment
from parity.record import Capture, from_json, to_json
from parity.scenario import Job
from parity.worker import Order

ZYGOTE = Path(__file__).with_name("zygote.py")


@dataclass(frozen=True)
class Wanted:
    """One job on one tree. `alone`: in a process of its own, since its tree brings a server package of its own."""

    side: Checkout
    job: Job
    alone: bool = False

    def key(self, stack: Stack) -> str:
        """What its capture depends on."""
        return cache_key(self.side, self.job, stack)


@dataclass(frozen=True)
class Told:
    """A capture and the seconds its process took, also where it was kept from an earlier run."""

    capture: Capture
    seconds: float = 0.0


def captured(
    wanted: Sequence[Wanted], stack: Stack, cache: Path, *, jobs: int, report: Callable[[str], None]
) -> Mapping[str, Told]:
    """The captures by their keys, from the cache where such content has been captured by the same code before."""
    asked = {one.key(stack): one for one in wanted}
    told: dict[str, Told] = {}
    for key in asked:
        kept = _file(cache, key)
        if kept.is_file():
            told[key] = _told(from_json(kept.read_text(encoding="utf-8")))
    todo = {key: one for key, one in asked.items() if key not in told}
    report(f"{len(told)} captures are kept, {len(todo)} to make")
    made = _forked({key: one for key, one in todo.items() if not one.alone}, stack, cache, jobs, report)
    made.update({key: _keep(cache, key, _alone(one, stack, cache)) for key, one in todo.items() if one.alone})
    return {**told, **made}


def _keep(cache: Path, key: str, answer: Told) -> Told:
    """At once, so that a run that is stopped has not run for nothing."""
    if not answer.capture.crashed:
        file = _file(cache, key)
        file.parent.mkdir(parents=True, exist_ok=True)
        noted = {**answer.capture.provenance, "seconds": str(answer.seconds)}
        file.write_text(to_json(replace(answer.capture, provenance=noted)), encoding="utf-8")
    return answer


def _told(kept: Capture) -> Told:
    return Told(kept, float(kept.provenance.get("seconds", 0.0)))


def _file(cache: Path, key: str) -> Path:
    return cache / "faults" / f"{key}.json"


def _alone(one: Wanted, stack: Stack, cache: Path) -> Told:
    began = time.monotonic()
    ((made,),) = capture([(one.side, [one.job])], stack, cache, fresh=True)
    return Told(made, round(time.monotonic() - began, 2))


def _forked(
    wanted: Mapping[str, Wanted], stack: Stack, cache: Path, jobs: int, report: Callable[[str], None]
) -> dict[str, Told]:
    if not wanted:
        return {}
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="faults-", dir=cache) as work:
        for key, one in wanted.items():
            there = Path(work) / key
            there.mkdir()
            provenance = {**stack.provenance(), "ref": one.side.ref, "tree": one.side.tree}
            order = Order(str(one.side.folder), str(there / "scratch"), (one.job.to_json(),), provenance)
            (there / "order.json").write_text(order.to_json(), encoding="utf-8")
        orders = Path(work) / "orders.json"
        pairs = [[f"{work}/{key}/order.json", f"{work}/{key}"] for key in wanted]
        orders.write_text(json.dumps(pairs), encoding="utf-8")
        command = [stack.python, str(ZYGOTE), str(orders), str(jobs)]
        made: dict[str, Told] = {}
        with (
            open(Path(work) / "log", "wb") as log,
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, text=True, env=clean_environment()
            ) as process,
        ):
            for line in process.stdout or ():
                if not line.startswith("["):
                    continue  # what a package prints while it is imported
                folder, took = json.loads(line)
                key = Path(folder).name
                made[key] = _keep(cache, key, _answer(Path(folder), wanted[key], took))
                report(f"{len(made)}/{len(wanted)} {wanted[key].side.ref} {wanted[key].job.scenario} {took} s")
        for key in wanted.keys() - made.keys():
            made[key] = _answer(Path(work), wanted[key], 0.0)  # it never ran: the log says why
        return made


def _answer(there: Path, one: Wanted, seconds: float) -> Told:
    """What a worker left in its folder; a crash with the last of its log where that is no capture."""
    file, log = there / "0.json", there / "log"
    if file.is_file():
        return Told(from_json(file.read_text(encoding="utf-8")), seconds)
    tail = log.read_text(encoding="utf-8", errors="replace")[-2000:].strip() if log.is_file() else ""
    return Told(Capture(one.job.scenario, one.job.side, {}, {}, tail or "it wrote nothing"), seconds)
