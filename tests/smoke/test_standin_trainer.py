"""The pure parts of the driver of verl's training: names, seeds, overrides, folders and processes."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from hydra.errors import HydraException

from parity.scenario import Job, Rows
from parity.smoke.order import FitOrder
from parity.smoke.series import SHOWN, Series, Writer
from parity.standin.trainer import fit, inject, metrics, processes, settings

LOGGED = {
    "critic/score/mean": 0.25,
    "actor/loss": 0.5,
    "actor/pg_loss": 0.125,
    "actor/ppo_kl": 0.0,
    "actor/entropy": 2.0,
    "actor/grad_norm": 1.5,
    "actor/lr": 1e-6,
    "response_length/mean": 7.0,
    "perf/total_num_tokens": 300,
    "actor/pg_clipfrac": 0.0,
    "timing_s/step": 2.5,
    "timing_per_token_ms/gen": 1.0,
    "perf/throughput": 9.0,
    "perf/time_per_step": 2.5,
    "perf/mfu/actor": 0.1,
    "perf/max_memory_allocated_gb": 0.0,
    "perf/cpu_memory_used_gb": 3.0,
    "val-core/task/acc/mean@1": 0.75,
}
TOLD = {
    "metrics": LOGGED,
    "server": {"updates": 1, "first_ratio": 1.0, "weights": "w"},
    "digests": {"advantages": "a"},
    "variance": 0.1,
}


def order(folder: Path, noise: str = "none") -> FitOrder:
    return FitOrder(
        tree=str(folder / "tree"), scratch=str(folder / "run"), out=str(folder), job="{}", steps=4, seed=3, noise=noise
    )


def job(*pairs: tuple[str, str]) -> Job:
    subject = {"trainer": "side.trainer.Trainer", "worker": "side.workers.Worker"}
    return Job("target", "x", "none", subject, ("config", "main"), ("trainer.backend=a",), pairs, (), Rows())


@pytest.fixture
def tree(tmp_path):
    """A side whose config knows a few keys."""
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / "main.yaml").write_text("trainer: {backend: none, steps: 1}\ndata: {seed: 1}\n")
    return tmp_path


def test_every_shown_column_has_a_source():
    """A reader finds each column he knows in what one step tells."""
    assert set(SHOWN) <= set(metrics.step_of(TOLD))


def test_a_metric_keeps_its_own_name_beside_them():
    """What verl logs besides is compared too, once."""
    columns = metrics.step_of(TOLD)
    assert columns["actor/pg_clipfrac"] == 0.0
    assert "actor/loss" not in columns


@pytest.mark.parametrize("name", [name for name in LOGGED if name.startswith(("timing", "perf/"))])
def test_clocks_are_not_compared(name):
    """Two runs of one tree differ in what a clock or the machine says; `tokens` is counted, not measured."""
    assert name not in metrics.step_of(TOLD)


def test_every_exclusion_has_a_reason():
    """Nothing is left out of a comparison without saying why."""
    assert all(metrics.MEASURED.values())


def test_validation_is_no_column():
    """The last step's line holds the validation; it is told once, apart."""
    assert metrics.validation_of(TOLD) == {"val-core/task/acc/mean@1": 0.75}
    assert not [name for name in metrics.step_of(TOLD) if name.startswith("val-")]


def test_a_ratio_that_nobody_saw_is_no_column():
    """A step without an update after a sync has no first ratio, and none is made up."""
    told = {**TOLD, "server": {**TOLD["server"], "first_ratio": None}}
    assert "first_ratio" not in metrics.step_of(told)


def test_digests_stand_beside_the_metrics():
    """Where two runs part is seen in the tensors, too."""
    columns = metrics.step_of(TOLD)
    assert (columns["digest/advantages"], columns["digest/weights"]) == ("a", "w")


def test_an_override_of_the_other_side_is_dropped_and_told(tree):
    """The side that is not ported runs without the keys the port brings; the reader learns which."""
    pairs = (("trainer.steps=2", "trainer.steps=2"), ("old.key=1", "new.key=1"))
    applied, dropped = settings.known(tree, job(*pairs), [])
    assert applied == ["trainer.backend=a", "trainer.steps=2"]
    assert dropped == ["old.key=1"]


def test_the_source_has_to_know_every_override(tree):
    """A misspelt scenario would be dropped on both sides, and compare a plain run with itself."""
    with pytest.raises(HydraException, match=r"new\.key"):
        settings.known(tree, replace(job(("old.key=1", "new.key=1")), side="source"), [])


def test_an_override_that_cannot_be_read_is_an_error(tree):
    """Only a key that is not there is left out."""
    with pytest.raises(HydraException, match="alternative"):
        settings.known(tree, job(("trainer.steps=[", "trainer.steps=[")), [])


def test_a_driver_key_that_the_side_lacks_is_an_error(tree):
    """The driver's own overrides are needed: a run without them would not be the run that was ordered."""
    with pytest.raises(HydraException, match="nowhere"):
        settings.known(tree, job(), ["nowhere.key=1"])


def told(folder: Path, noise: str = "none") -> dict[str, str]:
    names = ("model", "train", "val", "reward", "agent", "checkpoints", "hydra")
    texts = settings.overrides(order(folder, noise), {name: folder / name for name in names}, folder / "ray")
    return dict(text.partition("=")[::2] for text in texts)


def test_the_driver_says_where_and_how_long(tmp_path):
    """Steps, seed and every folder come from the order."""
    own = told(tmp_path)
    assert own["trainer.total_training_steps"] == own["trainer.test_freq"] == own["trainer.save_freq"] == "4"
    assert own["data.seed"] == "3"
    assert own["+ray_kwargs.ray_init._temp_dir"] == str(tmp_path / "ray")


def test_the_order_of_requests_is_free_only_where_it_is_asked_for(tmp_path):
    """`none` and `delays` use the loop with a lock, `free` uses verl's own."""
    key = "actor_rollout_ref.rollout.agent.default_agent_loop"
    assert told(tmp_path)[key] == told(tmp_path, "delays")[key] == "serial"
    assert key not in told(tmp_path, "free")


def test_no_learning_rate_of_its_own(tmp_path):
    """What is trained is the job's to say."""
    assert not [key for key in told(tmp_path) if ".optim." in key or "batch" in key or key.startswith("algorithm")]


def test_a_run_has_no_path_of_its_caller(tmp_path, monkeypatch):
    """Hooks first, then the side's tree; what the caller's shell says about Python and Ray does not get in."""
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    made = order(tmp_path)
    (tmp_path / "run").mkdir()
    environment = fit._environment(made, tmp_path / "run")
    assert environment["PYTHONPATH"].split(os.pathsep)[:2] == [str(tmp_path / "run" / "site"), made.tree]
    assert "/elsewhere" not in environment["PYTHONPATH"]
    assert "RAY_ADDRESS" not in environment
    assert json.loads(environment[inject.VARIABLE])["noise"] == "none"


def test_the_fork_server_knows_the_subject_and_hooks_first():
    """Hooks that come after the module they hook would never run; nor may a module draw ids before that is seen to."""
    names = settings.preloaded(job())
    assert names[:2] == ["parity.standin.trainer.forkserver_ray:no_draws", "parity.standin.trainer.inject:install"]
    assert names[-2:] == ["side.trainer", "side.workers"]


def test_a_hook_runs_after_its_module(tmp_path, monkeypatch):
    """It sees the module whole, and a module that has no hook is left to Python."""
    (tmp_path / "hooked_module.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    seen: list[int] = []
    monkeypatch.setattr(inject, "HOOKS", {"hooked_module": "parity.standin.trainer.inject:seen"})
    monkeypatch.setattr(inject, "seen", lambda module: seen.append(module.value), raising=False)
    finder = inject._Hooked()
    spec = finder.find_spec("hooked_module", None)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert isinstance(module, ModuleType)
    assert seen == [1]
    assert finder.find_spec("json", None) is None


def test_what_hooks_name_is_there():
    """A hook under a wrong name would be found only in the middle of a training."""
    for hook in inject.HOOKS.values():
        where, _, what = hook.partition(":")
        source = Path(importlib.util.find_spec(where).origin).read_text()
        assert f"def {what}(" in source


def test_ray_gets_a_short_folder_and_killed_callers_leave_none(tmp_path, monkeypatch):
    """A socket's path has room for 107 bytes; the folder of a process that is gone is removed by the next."""
    monkeypatch.setattr(fit.tempfile, "gettempdir", lambda: str(tmp_path))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    (tmp_path / f"ptr-{ended.pid}").mkdir()
    (tmp_path / "ptr-1").mkdir()
    (tmp_path / "ptr-own-folder").mkdir()
    with fit._ray_folder() as folder:
        assert len(folder.name) <= len("ptr-4194304")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["ptr-1", folder.name, "ptr-own-folder"]
    assert not folder.exists()


def test_a_step_is_told_once_and_half_a_line_is_none(tmp_path):
    """The file is read while the trainer writes it."""
    file, writer = tmp_path / "told.jsonl", Writer(tmp_path)
    line = json.dumps(TOLD)
    file.write_text(f"{line}\n{line[:20]}")

    class Run:
        polls = iter([None, 0])

        def poll(self):
            return next(self.polls)

    assert len(fit._follow(Run(), file, writer)) == 1
    assert len(writer.done(Series("x", "source", 1, {}, (), {}), {}).steps) == 1


def test_the_end_of_a_log_is_what_ended_the_run(tmp_path):
    """A library that counts what it leaked, after the error, does not push it out of sight."""
    noise = "nanobind: leaked 4 instances!\n - leaked type x\n - ... skipped remainder\n" * 30
    (tmp_path / "log.txt").write_text(f"KeyError: arctic\n{noise}See https://nanobind.readthedocs.io\n")
    assert fit._last_lines(tmp_path) == "KeyError: arctic"


SLEEPER = (
    "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'], {}); {}"
)


def start(tmp_path: Path, code: str) -> subprocess.Popen[bytes]:
    with open(tmp_path / "log", "wb") as log:
        return processes.start([sys.executable, "-c", code], tmp_path, dict(os.environ), log)


def until(what) -> bool:
    deadline = time.monotonic() + 60
    while not what() and time.monotonic() < deadline:
        time.sleep(0.01)
    return bool(what())


def ignores(pid: int, number: signal.Signals) -> bool:
    told = dict(line.split(":") for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return bool(int(told["SigIgn"], 16) >> (number - 1) & 1)


def test_what_is_left_of_a_run_is_ended(tmp_path, monkeypatch):
    """A process in a group of its own is of the run's session; it is killed when it does not follow."""
    monkeypatch.setattr(processes, "FOLLOW", 0.0)
    run = start(tmp_path, SLEEPER.format("process_group=0", "time.sleep(1000)"))
    assert until(lambda: len(processes.of_session(run.pid)) == 2)
    processes.end(run)
    assert run.returncode == -signal.SIGTERM
    assert processes.of_session(run.pid) == []


def test_a_run_that_does_not_listen_is_killed(tmp_path, monkeypatch):
    """Being asked is not enough for a process that ignores it."""
    monkeypatch.setattr(processes, "ASKED", 0.1)
    run = start(tmp_path, "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)")
    assert until(lambda: ignores(run.pid, signal.SIGTERM))
    processes.end(run)
    assert run.returncode == -signal.SIGKILL


def test_a_run_dies_with_its_caller(tmp_path):
    """The kernel sees to it, also where the caller is killed and cleans up nothing."""
    code = (
        "import os, sys, time; from pathlib import Path; from parity.standin.trainer import processes\n"
        "run = processes.start([sys.executable, '-c', 'import time; time.sleep(1000)'], Path(), dict(os.environ), 2)\n"
        "print(run.pid, flush=True); time.sleep(1000)"
    )
    root = str(Path(fit.__file__).resolve().parents[3])
    caller = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=tmp_path, env={**os.environ, "PYTHONPATH": root}
    )
    assert caller.stdout
    pid = int(caller.stdout.readline())
    assert processes.of_session(pid) == [pid]
    caller.kill()
    caller.wait()
    caller.stdout.close()
    assert until(lambda: processes.of_session(pid) == [])
