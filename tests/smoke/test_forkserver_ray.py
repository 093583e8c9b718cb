"""Ray on a fork server: every Python process of a cluster comes from it, and all are gone afterwards."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import tempfile
import textwrap
from pathlib import Path

import pytest

from parity.standin.trainer.forkserver import ROOT, serving

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="the trainer stack is not installed"),
]
DRIVER = """
    import json, os, random, sys
    import ray

    class Told:
        def tell(self):
            import slow_to_import
            return {"pid": os.getpid(), "imported_by": slow_to_import.PID, "chance": random.random(),
                    "x": os.environ.get("X"), "executable": sys.executable}

    ray.init(address="local", num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1",
             object_store_memory=80_000_000, _temp_dir=sys.argv[1], logging_level="error")
    plain = ray.remote(num_cpus=0.1)(Told)
    other = plain.options(runtime_env={"env_vars": {"X": "own"}})
    actors = [plain.remote(), plain.remote(), other.remote()]
    told = ray.get([actor.tell.remote() for actor in actors])
    ray.kill(actors[0])
    print(json.dumps({"told": told, "driver": os.getpid()}))
"""
ENVIRONMENT = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0", "RAY_prestart_worker_first_driver": "0"}


@pytest.fixture
def run(tmp_path):
    """Runs the driver with a Python, and gives what it told."""
    (tmp_path / "slow_to_import.py").write_text("import os\nPID = os.getpid()\n")
    driver = tmp_path / "driver.py"
    driver.write_text(textwrap.dedent(DRIVER))

    def told(python, environment):
        with tempfile.TemporaryDirectory(prefix="fs-") as folder:
            done = subprocess.run(
                [python, driver, folder], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300
            )
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout.splitlines()[-1])

    return told


def environment_of(tmp_path):
    """The environment of a cluster of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    return {**kept, **ENVIRONMENT, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT))), "HOME": str(tmp_path)}


def test_workers_are_forked(run, tmp_path):
    """Workers have what the fork server imported, an environment of their own, and other chances; none is left."""
    environment = environment_of(tmp_path)
    with serving(tmp_path, tmp_path / "scratch", ["ray", "slow_to_import"], environment) as server:
        told = run(server.python, environment)
    workers = told["told"]
    by = {worker["imported_by"] for worker in workers}
    assert len(by) == 1 and by.isdisjoint({told["driver"], *(worker["pid"] for worker in workers)})
    assert [worker["x"] for worker in workers] == [None, None, "own"]
    assert len({worker["pid"] for worker in workers}) == len({worker["chance"] for worker in workers}) == 3
    assert {worker["executable"] for worker in workers} == {str(server.python)}
    assert server.log and "not forked" not in server.log.read_text()
    assert [pid for pid in [told["driver"], *(w["pid"] for w in workers)] if Path("/proc", str(pid)).exists()] == []


ACTOR = """
    import ray

    @ray.remote
    class MadeAtItsImport:
        pass
"""
# One of the main thread, and of threads as an asynchronous actor has them.
IDS = """
    import threading
    import ray

    def draw():
        print(ray.TaskID.for_fake_task(ray.JobID.from_int(1)).hex())

    draw()
    for _ in range(4):
        one = threading.Thread(target=draw)
        one.start()
        one.join()
"""


@pytest.mark.parametrize("quiet", [True, False])
def test_no_two_workers_draw_the_same_ids(tmp_path, quiet):
    """Equal ids of tasks are equal ids of objects: one worker would be handed what another wrote.

    What has drawn before the fork all the same is found out, and its processes are started without one.
    """
    for name, text in {"actor.py": ACTOR, "ids.py": IDS}.items():
        (tmp_path / name).write_text(textwrap.dedent(text))
    environment = environment_of(tmp_path)
    preload = [*(["parity.standin.trainer.forkserver_ray:no_draws"] if quiet else []), "actor"]
    with serving(tmp_path, tmp_path / "scratch", preload, environment) as server:
        told = [
            subprocess.run([server.python, tmp_path / "ids.py"], env=environment, capture_output=True, text=True)
            for _ in range(2)
        ]
        log = server.log.read_text()
    ids = [line for one in told for line in one.stdout.splitlines()]
    assert len(set(ids)) == len(ids) == 10, told
    assert ("not forked: what was imported has drawn ids from Ray" in log) is not quiet
