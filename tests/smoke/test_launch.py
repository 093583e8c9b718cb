"""Runs as processes: kept by content, ended whatever happens, and nothing of them left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from parity.capture import Stack
from parity.smoke import launch as launching
from parity.smoke import leftover, running, runs
from parity.smoke.runs import running_digest
from parity.smoke.series import steps_so_far
from parity.smoke.watch import Lines
from porttool.errors import EnvironmentFault
from tests.smoke.launching import STACK, a_job, a_run, eventually, launched

ROOT = Path(__file__).resolve().parents[2]
LAUNCHER = Path(__file__).with_name("launching.py")


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    """Runs have their folders below the test's own, and are let settle for a moment only."""
    monkeypatch.setattr(leftover, "BASE", tmp_path)


def folders(place: Path) -> list[Path]:
    return sorted([*place.glob(f"{leftover.PREFIX}*"), *place.glob(f".{leftover.PREFIX}*")])


def kept(place: Path) -> list[str]:
    return sorted(file.name for file in (place / "cache" / "series").glob("*"))


def ours_below(place: Path) -> list[int]:
    """Every process that works below a test's folder, or carries the mark of a run there."""
    found = set(leftover.Ours("", place).pids())
    for folder in folders(place):
        with suppress(FileNotFoundError):  # it is just being taken away
            found |= set(leftover.Ours((folder / "owner").read_text(), folder).pids())
    return sorted(found)


def test_runs_are_told_and_kept(tmp_path):
    """Each run gives its steps, in order; a second time nothing is run, and the series are the same."""
    lines: list[str] = []
    wanted = [a_run(tmp_path, seed=seed) for seed in (1, 2)]
    first = launched(tmp_path, wanted, lines)
    assert [(len(told.steps), told.seed, told.crashed) for told in first.series] == [(3, 1, ""), (3, 2, "")]
    assert dict(first.series[0].validation)["val/score"].number() == 0.5
    assert [line for line in lines if "seed 1  step" in line][-1].startswith("main one seed 1  step 3/3  score ")
    assert folders(tmp_path) == [] and len(kept(tmp_path)) == 2
    assert lines[-1] == "nothing is left of 2 runs: no process, no listening port, no Ray session, no folder"
    again: list[str] = []
    missing = Stack(str(tmp_path / "no-python"), STACK.packages)
    second = launching.launch(wanted, missing, tmp_path / "cache", Lines(again.append))
    assert second.series == first.series
    assert again == ["0 training runs to make, 2 known already"]


def test_fresh_runs_again(tmp_path):
    """`fresh` takes nothing from the cache but what was made for it."""
    launched(tmp_path, [a_run(tmp_path)])
    lines: list[str] = []
    made: set[str] = set()
    launched(tmp_path, [a_run(tmp_path)], lines, fresh=True, made=made)
    launched(tmp_path, [a_run(tmp_path)], lines, fresh=True, made=made)
    assert lines[0] == "1 training run to make" and lines[-1] == "0 training runs to make, 1 known already"


def test_one_tree_under_two_refs_is_run_once(tmp_path):
    """A run is known by content; each answer says by which ref it was asked for."""
    run = a_run(tmp_path)
    other = replace(run, side=replace(run.side, ref="port", commit="d" * 40))
    lines: list[str] = []
    found = launched(tmp_path, [run, other], lines).series
    assert lines[0] == "1 training run to make"
    assert [told.provenance["ref"] for told in found] == ["main", "port"]
    assert found[0].digest() == found[1].digest()


@pytest.mark.parametrize(
    "change",
    [
        {"steps": 4},
        {"seed": 2},
        {"noise": "free"},
        {"sample": 1},
        {"job": a_job("lr=2")},
        {"driver": "json:loads"},
    ],
)
def test_the_key_sees(tmp_path, change):
    """Another length, seed, noise, sample, job or driver is another run."""
    run = a_run(tmp_path)
    assert replace(run, **change).key(STACK) != run.key(STACK)


def test_the_key_sees_tree_packages_and_code(tmp_path, monkeypatch):
    """So is another tree, other packages, and other code that runs it; another ref is not."""
    run = a_run(tmp_path)
    key = run.key(STACK)
    assert replace(run, side=replace(run.side, tree="u" * 40)).key(STACK) != key
    assert replace(run, side=replace(run.side, ref="port")).key(STACK) == key
    assert run.key(Stack(STACK.python, {"torch": "2"})) != key
    with monkeypatch.context() as patch:
        patch.setattr(runs, "running_digest", lambda driver: "other")
        assert run.key(STACK) != key
    monkeypatch.setattr(runs, "cpu", lambda: "another")
    assert run.key(STACK) != key


def test_the_digest_sees_the_driver(tmp_path):
    """A driver's file counts by its content."""
    file = tmp_path / "driver.py"
    file.write_text("def fit(order, writer): ...")
    before = running_digest(f"{file}:fit")
    running_digest.cache_clear()
    file.write_text("def fit(order, writer): return {}")
    assert running_digest(f"{file}:fit") != before


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("written=x.py", "a run wrote x.py into a side's own tree: what it compares is no longer what was committed"),
        ("less=1", "ValueError: the driver made 2 steps, and was asked for 3"),
        ("empty=1", "ValueError: step 1 has no metric"),
        ("unnamed=1", "TypeError: a metric is called 1, which is not a string"),
        ("nothing=1", "TypeError: metrics are NoneType; wanted is {name: value}"),
    ],
)
def test_a_run_that_proves_nothing(tmp_path, override, told):
    """Both sides might do so alike: a run that changes its tree, or says less than was asked, is a crash."""
    lines: list[str] = []
    (found,) = launched(tmp_path, [a_run(tmp_path, override)], lines).series
    assert found.crashed.splitlines()[-1] == told
    assert kept(tmp_path) == [] and folders(tmp_path) == []


@pytest.mark.parametrize(
    "change",
    [
        {"steps": ["x"]},
        {"steps": [{"score": ["float", "zz"]}]},
        {"steps": [{"score": ["float", None]}]},
        {"seconds": ["x"]},
        {"seed": [1]},
        {"validation": None},
    ],
)
def test_a_kept_run_that_was_damaged_is_run_again(tmp_path, change):
    """What is no series is as good as none."""
    first = launched(tmp_path, [a_run(tmp_path)]).series
    (file,) = (tmp_path / "cache" / "series").iterdir()
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    lines: list[str] = []
    assert [told.digest() for told in launched(tmp_path, [a_run(tmp_path)], lines).series] == [first[0].digest()]
    assert lines[0] == "1 training run to make"


def test_a_kept_run_under_another_name_is_run_again(tmp_path):
    """A run copied over another's, the other side's say, is no run of that one."""
    launched(tmp_path, [a_run(tmp_path)])
    (file,) = (tmp_path / "cache" / "series").iterdir()
    own = launched(tmp_path, [a_run(tmp_path, seed=2)]).series[0].digest()
    (other,) = set((tmp_path / "cache" / "series").iterdir()) - {file}
    other.write_bytes(file.read_bytes())
    lines: list[str] = []
    assert [told.digest() for told in launched(tmp_path, [a_run(tmp_path, seed=2)], lines).series] == [own]
    assert lines[0] == "1 training run to make"


def test_steps_that_are_none_of_ours(tmp_path):
    """A driver that scribbles over its own steps stops nobody from watching."""
    (tmp_path / "steps.jsonl").write_bytes(b'{"step": {"score": ["int", 1]}}\n\xff\n[]\n')
    assert [step["score"].number() for step in steps_so_far(tmp_path)] == [1.0]


def test_a_crash_is_an_answer_and_not_kept(tmp_path):
    """A run that dies tells the steps it had and its last lines; the next launch tries again."""
    lines: list[str] = []
    told = launched(tmp_path, [a_run(tmp_path, "crash=3")], lines).series[0]
    assert len(told.steps) == 2
    log = Path(next(line for line in lines if "its log: " in line).partition("its log: ")[2])
    assert "Traceback" in log.read_text() and log.parent == tmp_path / "cache" / "logs"
    assert told.crashed.splitlines()[-1] == "RuntimeError: the trainer broke"
    assert kept(tmp_path) == [] and folders(tmp_path) == []


def test_a_run_that_is_killed_is_an_answer(tmp_path):
    """So does one that the machine kills."""
    told = launched(tmp_path, [a_run(tmp_path, "exit=2", "child=1")]).series[0]
    assert len(told.steps) == 1
    assert told.crashed.splitlines()[-1] == "the run gave no answer; signal 9 ended it"
    assert ours_below(tmp_path) == []


def test_a_driver_that_does_not_load(tmp_path):
    """An import that fails is an answer too."""
    told = launched(tmp_path, [a_run(tmp_path, driver="no_such_module:fit")]).series[0]
    assert told.crashed.splitlines()[-1] == "ModuleNotFoundError: No module named 'no_such_module'"


def test_a_run_that_hangs_is_ended(tmp_path, monkeypatch):
    """It has its time; then it and its children end, SIGTERM or not."""
    monkeypatch.setattr(running, "LIMIT", 3.0)
    monkeypatch.setattr(running, "EACH", 0.0)
    told = launched(tmp_path, [a_run(tmp_path, "hang=2", "child=1", "stray=1")]).series[0]
    assert told.crashed.splitlines()[-1].endswith("it was ended: it took longer than 3 seconds")
    assert len(told.steps) < 3 and kept(tmp_path) == []
    assert ours_below(tmp_path) == [] and folders(tmp_path) == []


def test_what_a_run_leaves_is_ended_and_told(tmp_path):
    """A daemon with an environment of its own, a child, a listener: each is named, and gone; the numbers stand."""
    found = launched(tmp_path, [a_run(tmp_path, "stray=1", "port=1", "tmp=1")])
    assert found.series[0].crashed == ""
    told = [f"{left}" for _, left in found.left]
    assert len(told) == 2
    assert any(" -c import os" in line for line in told)
    assert any("sleep 1000, listening on port " in line for line in told)
    assert not any(Path(f"/proc/{left.pid}").exists() for _, left in found.left)
    assert folders(tmp_path) == []


def test_what_cannot_be_ended_is_a_fault(tmp_path, monkeypatch):
    """A process that outlives all of that is told as a fault of the environment."""
    stays = leftover.Left(1, "init", (80,))
    monkeypatch.setattr(leftover, "end", lambda ours, settle=0: ([stays], [stays]))
    with pytest.raises(EnvironmentFault, match="process 1: init, listening on port 80"):
        launched(tmp_path, [a_run(tmp_path)])


def test_the_end_looks_again(tmp_path, monkeypatch):
    """What is there when all runs are over is a fault, even if it was not there when they ended."""
    original = launching._Launcher.look_again
    late = leftover.Left(1, "late")

    def look_again(self):
        monkeypatch.setattr(leftover.Ours, "left", lambda ours: [late])
        original(self)

    monkeypatch.setattr(launching._Launcher, "look_again", look_again)
    with pytest.raises(EnvironmentFault, match="process 1: late"):
        launched(tmp_path, [a_run(tmp_path)])


def test_a_python_that_is_not_there(tmp_path):
    """A start that fails leaves no folder."""
    missing = Stack(str(tmp_path / "no-python"), {})
    with pytest.raises(FileNotFoundError):
        launching.launch([a_run(tmp_path)], missing, tmp_path / "cache", Lines([].append))
    assert folders(tmp_path) == []


def test_another_system_is_refused(tmp_path, monkeypatch):
    """Where nothing tells what a run has left, nothing is started."""
    monkeypatch.setattr(launching.sys, "platform", "darwin")
    with pytest.raises(EnvironmentFault, match="training runs need Linux"):
        launched(tmp_path, [a_run(tmp_path)])


def test_as_many_at_a_time_as_asked(tmp_path):
    """One at a time: the second starts when the first is done."""
    lines: list[str] = []
    launched(tmp_path, [a_run(tmp_path, seed=seed) for seed in (1, 2)], lines, jobs=1)
    told = [line for line in lines if "started" in line or "done" in line]
    assert [line.split("seed ")[1].split("  ")[0] for line in told] == ["1", "1", "2", "2"]


def start(tmp_path, *overrides: str) -> subprocess.Popen[str]:
    """A launcher of two runs, in a process of its own."""
    command = [sys.executable, str(LAUNCHER), str(tmp_path), *overrides]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, start_new_session=True
    )


def until(launcher: subprocess.Popen[str], text: str) -> None:
    """Read a launcher's lines up to one with this text."""
    assert launcher.stdout is not None
    for line in launcher.stdout:
        if text in line:
            return
    raise AssertionError(f"{text!r} was not told")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "point"),
    [
        *((signal.SIGKILL, point) for point in ("to make", "started", "step 1/3", "step 3/3", "done in")),
        (signal.SIGTERM, "step 1/3"),
        (signal.SIGINT, "step 1/3"),
        (signal.SIGHUP, "started"),
    ],
)
def test_a_launcher_that_is_ended(tmp_path, number, point):
    """At whatever point: no process, no folder and no part of a file is left, and the next launch goes on."""
    # A run that does not end by itself, where the signal comes before its end.
    hangs = ("hang=2",) if point in ("started", "step 1/3") else ()
    launcher = start(tmp_path, "sleep=0.2", "stray=1", "child=1", *hangs)
    until(launcher, point)
    launcher.send_signal(number)
    launcher.communicate(timeout=120)
    assert eventually(lambda: ours_below(tmp_path) == [])
    # Before a guard has started, and after it has ended, a launcher that is killed leaves a folder to the next sweep.
    assert point != "step 1/3" or eventually(lambda: folders(tmp_path) == [])
    assert all(name.endswith(".json") and not name.startswith(".") for name in kept(tmp_path))
    wanted = [a_run(tmp_path, "sleep=0.2", "stray=1", "child=1", seed=seed) for seed in (1, 2)]
    lines: list[str] = []
    found = launched(tmp_path, wanted, lines)
    assert [len(told.steps) for told in found.series] == [3, 3]
    assert point != "done in" or "known already" in lines[0]
    assert folders(tmp_path) == []


@pytest.mark.parametrize("sign", ["guard", "run"])
def test_a_guard_or_a_run_that_is_killed(tmp_path, sign):
    """The launcher notices, ends what is left, and answers that it crashed."""
    launcher = start(tmp_path, "sleep=0.3", "stray=1", "child=1")
    until(launcher, "step 1/3")
    below = [int(text) for text in Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()]
    for guard in below:
        run = int(Path(f"/proc/{guard}/task/{guard}/children").read_text().split()[0])
        os.kill(guard if sign == "guard" else run, signal.SIGKILL)
    out, _ = launcher.communicate(timeout=120)
    assert launcher.returncode == 0
    assert out.count("crashed after") == 2
    assert ours_below(tmp_path) == [] and folders(tmp_path) == [] and kept(tmp_path) == []


def test_what_an_earlier_launcher_left_is_swept(tmp_path):
    """Launcher and guards killed at once: the next launch ends what they left, and says so."""
    launcher = start(tmp_path, "sleep=30", "child=1")
    until(launcher, "seed 2  started")
    assert eventually(lambda: len([f for f in tmp_path.glob("smoke-*/scratch/child") if f.read_text()]) == 2)
    guards = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()
    # Stopped first: a guard that sees its launcher die ends everything before it is killed itself.
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in (*map(int, guards), launcher.pid):
            os.kill(pid, number)
    launcher.communicate(timeout=120)
    lines: list[str] = []
    launched(tmp_path, [a_run(tmp_path)], lines)
    assert any(line.startswith("ended what a smoke that was killed had left: process") for line in lines)
    assert ours_below(tmp_path) == [] and folders(tmp_path) == []
