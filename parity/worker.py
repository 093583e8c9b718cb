"""Runs one side's jobs in a process of its own: `python worker.py JOBS OUT`, the side's tree first on the path."""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parity.record import Key, Leaf
    from parity.scenario import Job

ROOT = Path(__file__).resolve().parent.parent
CRASH_LINES = 12


@dataclass(frozen=True)
class Order:
    """What a worker is told: the side's tree, where it may write, and jobs as `Job.to_json` gives them."""

    tree: str
    scratch: str
    jobs: tuple[str, ...]
    provenance: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        """What `order_from_json` reads."""
        return json.dumps({**vars(self), "provenance": dict(self.provenance)})


def order_from_json(text: str) -> Order:
    """The order that `Order.to_json` wrote."""
    told = json.loads(text)
    return Order(told["tree"], told["scratch"], tuple(told["jobs"]), told["provenance"])


def main(order_file: str, out: str) -> int:
    """Write `<n>.json`, a capture, for each job of the order; a job that dies leaves its last lines there."""
    order = order_from_json(Path(order_file).read_text(encoding="utf-8"))
    sys.path.insert(0, str(ROOT))
    from parity.record import Capture, to_json
    from parity.scenario import job_from_json
    from parity.smoke.leftover import die_with_parent

    # It has a session of its own: whoever started it may be gone without having ended it.
    die_with_parent(signal.SIGKILL, os.getppid())
    # After what observes was imported: a tree may hold a harness of its own, which is not to be asked.
    sys.path.insert(0, order.tree)

    worker = os.getpid()
    jobs = [replace(job_from_json(text), tree=order.tree) for text in order.jobs]
    folder = Path(out)

    def keep(place: int, probes: Mapping[str, Any], crashed: str = "") -> None:
        job = jobs[place]
        # A file of leaves is sorted: what came first is the driver's to say.
        own = {"probes": ", ".join(probes)} if job.driver else {}
        told = Capture(job.scenario, job.side, {**order.provenance, "seed": str(job.seed), **own}, probes, crashed)
        partial = folder / f".{place}.json"
        partial.write_text(to_json(told), encoding="utf-8")
        partial.rename(folder / f"{place}.json")

    # The collector walks everything that is imported, again and again, and finds nothing to free.
    gc.disable()
    with _Crash() as crash:
        observe = _observer(jobs[0])
    gc.freeze()
    gc.enable()
    if crash.lines:
        for place in range(len(jobs)):
            keep(place, {}, crash.lines)
        return 1
    for place, job in enumerate(jobs):
        # Imports cost seconds and a step a fraction of one: each job gets a copy of the process that has imported.
        child = os.fork() if len(jobs) > 1 else 0
        if child:
            os.waitpid(child, 0)
            continue
        if len(jobs) > 1:
            die_with_parent(signal.SIGKILL, worker)
        scratch = Path(order.scratch) / str(place)
        with _Crash() as crash:
            keep(place, observe(job, scratch))
        if crash.lines:
            keep(place, {}, crash.lines)
        if len(jobs) > 1:
            sys.stdout.flush()
            os._exit(0)
    return 0


def _observer(job: Job) -> Callable[[Job, Path], Mapping[str, Mapping[Key, Leaf]]]:
    """What runs a job of this side, with everything imported that each of them needs."""
    if not job.driver:
        from parity.standin.absent import prepare

        prepare()
        from parity.standin import run

        known = run.adapter_known(job)
        run.imports(job)
        return lambda job, scratch: run.run(job, scratch, known)
    from parity.driver import load, observed

    function = load(job.driver)

    def observe(job: Job, scratch: Path) -> Mapping[str, Mapping[Key, Leaf]]:
        scratch.mkdir(parents=True)
        told = observed(function(job, scratch))
        return {name: keys for name, keys in told.items() if not job.probes or name in job.probes}

    return observe


class _Crash:
    """Keeps the last lines of what ends a job: a side that cannot run is an answer for the report, not our fault."""

    lines = ""

    def __enter__(self) -> _Crash:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> bool:
        if kind is None or not issubclass(kind, (Exception, SystemExit)):
            return False
        told = "".join(traceback.format_exception(kind, error, trace))
        sys.stderr.write(told)
        self.lines = "\n".join(told.strip().splitlines()[-CRASH_LINES:])
        return True


if __name__ == "__main__":
    # The folder of this script must not shadow a package of the side's tree.
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT / "parity"]
    raise SystemExit(main(*sys.argv[1:]))
