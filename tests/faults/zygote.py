"""Captures many trees from one import of the trainer stack: `python zygote.py ORDERS JOBS`.

Nothing of a side's tree is imported before the fork, so a child sees what a fresh worker process would see.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# The server, and what verl imports from others: nothing a fault is put into.
OTHERS = (
    "arctic_platform.rl.ray_server",
    "codetiming",
    "datasets",
    "hydra",
    "omegaconf",
    "pandas",
    "peft",
    "ray",
    "tensordict",
    "torchdata.stateful_dataloader",
)


def main(orders_file: str, jobs: int) -> int:
    """Run a worker for each [order file, folder] pair; print one JSON line [folder, seconds] as each ends."""
    sys.path.insert(0, str(ROOT))
    from parity import worker
    from parity.standin.absent import prepare

    prepare()
    for name in OTHERS:
        import_module(name)
    if "verl" in sys.modules:
        raise RuntimeError("one of these packages imported verl: a child would not take it from its own tree")
    sys.path.remove(str(ROOT))
    waiting = json.loads(Path(orders_file).read_text(encoding="utf-8"))
    running: dict[int, tuple[str, float]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            order, out = waiting.pop(0)
            child = os.fork()
            if not child:
                _worker(worker.main, order, out)
            running[child] = (out, time.monotonic())
        ended, _ = os.wait()
        out, began = running.pop(ended)
        print(json.dumps([out, round(time.monotonic() - began, 2)]), flush=True)
    return 0


def _worker(run, order: str, out: str) -> None:
    """In the child: a worker's life, its words in its own log."""
    log = os.open(f"{out}/log", os.O_CREAT | os.O_WRONLY, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    here = Path(out) / "cwd"
    here.mkdir()
    os.chdir(here)
    try:
        code = run(order, out)
    except BaseException:
        traceback.print_exc()
        code = 70
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]
    raise SystemExit(main(sys.argv[1], int(sys.argv[2])))
