"""A trainer of a few lines, in the standard library: what a smoke run does with a good driver, and with bad ones.

`overrides` of the job say how it behaves: `lr=1`, `sleep=0.1`, `crash=2`, `hang=1`, `stray=1`, `port=1`, `exit=3`,
`less=1`, `empty=1`, `written=x.py`.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

STRAY = "import os, sys, time\nif os.fork(): sys.exit()\nos.setsid()\nif os.fork(): sys.exit()\ntime.sleep(1000)"


def fit(order, writer):
    """Train: the score depends on the seed, the tree's `rate.txt` and the job; `free` noise moves the last digits."""
    job = json.loads(order.job)
    asked = dict(text.split("=", 1) for _, text in job["overrides"])
    rate = float(asked.get("lr", 1)) * float((Path(order.tree) / "rate.txt").read_text())
    draw, noise = random.Random(order.seed), random.Random() if order.noise == "free" else None
    _misbehave(asked, Path(order.scratch), Path(order.tree))
    for step in range(1, order.steps + 1 - int(asked.get("less", 0))):
        time.sleep(float(asked.get("sleep", 0)))
        if asked.get("crash") == str(step):
            raise RuntimeError("the trainer broke")
        if asked.get("exit") == str(step):
            os.kill(os.getpid(), signal.SIGKILL)
        if asked.get("hang") == str(step):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(1000)
        score = draw.random() + rate * step + (noise.gauss(0, 1e-3) if noise else 0.0)
        variance = float(asked.get("variance", 1))
        told = {"score": score, "lr": rate, "updates": 1}
        told = {} if "empty" in asked else {1: score} if "unnamed" in asked else told
        writer.step(told, variance=variance, seconds=0.5)
    return None if "nothing" in asked else {"val/score": rate}


def _misbehave(asked, scratch, tree):
    if "stray" in asked:  # a daemon with an environment and a folder of its own: only its ancestry tells
        subprocess.run([sys.executable, "-c", STRAY], env={}, cwd="/", check=True)
    if "child" in asked:
        (scratch / "child").write_text(str(subprocess.Popen(["sleep", "1000"]).pid))
    if "port" in asked:
        with socket.socket() as ear:
            ear.bind(("127.0.0.1", 0))
            ear.listen()
            ear.set_inheritable(True)
            subprocess.Popen(["sleep", "1000"], close_fds=False, start_new_session=True)
    if "written" in asked:
        (tree / asked["written"]).touch()
    if "tmp" in asked:
        import tempfile

        Path(tempfile.mkdtemp(), "left").write_text("x")
