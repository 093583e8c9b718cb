"""Captures: trees by content, workers of their own, a cache that is asked first."""

from __future__ import annotations

import errno
import os
import select
import sys
from dataclasses import replace

import pytest

from parity import capture as capturing
from parity.capture import (
    Checkout,
    Stack,
    cache_key,
    capture,
    checkout,
    clean_environment,
    folder_checkout,
    keep,
    stack,
)
from parity.probes.run import cache_folder
from parity.record import Capture, leaf
from parity.scenario import Job, Rows
from parity.trees import write_tree
from porttool.errors import EnvironmentFault, RepositoryError
from porttool.repo import Repository

STACK = Stack(sys.executable, {"torch": "1", "verl": "2"})


def a_job(**changes):
    told = {
        "side": "source",
        "scenario": "one",
        "drive": "none",
        "subject": {part: f"no_such_package.{part}.C" for part in ("trainer", "worker", "rollout", "adapter")},
        "config": ("no_such_package.config", "main"),
        "select": (),
        "overrides": (),
        "gpus": (),
        "rows": Rows(),
    }
    return Job(**{**told, **changes})


@pytest.fixture
def side(tmp_path):
    folder = tmp_path / "tree"
    folder.mkdir()
    return Checkout("source", "main", "c" * 40, "t" * 40, folder)


def test_a_side_that_cannot_start_is_a_crashed_capture(side, tmp_path):
    """A worker that dies is an answer with its last lines, for every job of its order."""
    found = capture([(side, [a_job(), a_job(scenario="two")])], STACK, tmp_path / "cache")
    assert [told.scenario for told in found[0]] == ["one", "two"]
    for told in found[0]:
        assert "ModuleNotFoundError" in told.crashed
        assert told.probes == {}
        assert told.provenance["tree"] == side.tree


def test_a_crash_is_not_kept(side, tmp_path):
    """The next run tries again: nothing is in the cache."""
    capture([(side, [a_job()])], STACK, tmp_path / "cache")
    assert not list((tmp_path / "cache").glob("captures/*.json"))


def test_runs_leave_no_folders(side, tmp_path):
    """What a worker wrote into its scratch folder goes with the run."""
    capture([(side, [a_job()])], STACK, tmp_path / "cache")
    assert list((tmp_path / "cache").glob("run-*")) == []


def kept(cache, side, job):
    here = {"ref": side.ref, "commit": side.commit, "layout": ""}
    told = Capture("one", "source", here, {"wire": {"order": leaf("x")}})
    key = cache_key(side, job, STACK)
    keep(cache, key, told)
    return told, cache / "captures" / f"{key}.json"


def test_what_the_cache_holds_is_not_run(side, tmp_path):
    """A capture of the same tree, job, packages and code is taken as it is; no process starts."""
    told, _ = kept(tmp_path, side, a_job())
    missing = Stack(str(tmp_path / "no-python"), STACK.packages)
    assert capture([(side, [a_job()])], missing, tmp_path) == [[told]]


def test_a_cached_capture_under_another_name_is_run_again(side, tmp_path):
    """A file copied over another's is no capture of that job, whatever it is called."""
    _, file = kept(tmp_path, side, a_job())
    other = replace(a_job(), scenario="another")
    file.rename(file.with_name(f"{cache_key(side, other, STACK)}.json"))
    ((told,),) = capture([(side, [other])], STACK, tmp_path)
    assert "ModuleNotFoundError" in told.crashed and told.probes == {}


def test_a_cached_capture_says_who_asked(side, tmp_path):
    """A tree that is known by another ref keeps its observations and names this ref."""
    told, _ = kept(tmp_path, side, a_job())
    there = Checkout(side.side, "port", "d" * 40, side.tree, side.folder)
    found = capture([(there, [a_job()])], STACK, tmp_path, layout="abc")[0][0]
    assert found.probes == told.probes
    assert dict(found.provenance) == {"ref": "port", "commit": "d" * 40, "layout": "abc"}


def test_each_job_is_told_when_it_is_done(side, tmp_path):
    """The scenario and the side; what the cache holds is not among them."""
    jobs = [replace(a_job(), scenario=name) for name in ("one", "two", "three")]
    kept(tmp_path, side, jobs[0])
    lines: list[str] = []
    capture([(side, jobs)], STACK, tmp_path, report=lines.append)
    assert sorted(lines) == [f"captured three of {side.ref}", f"captured two of {side.ref}"]


def test_a_full_disk_leaves_no_part_of_a_capture(side, tmp_path, monkeypatch):
    """A capture that cannot be kept is a fault, and nothing of it lies in the cache."""
    monkeypatch.setattr("os.fsync", _full)
    with pytest.raises(EnvironmentFault, match="No space left"):
        kept(tmp_path, side, a_job())
    assert list((tmp_path / "captures").iterdir()) == []


def _full(_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_worker_that_hangs_is_ended(side, tmp_path, monkeypatch):
    """The answer says so, and no process or folder is left."""
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho waiting for a lock\nexec sleep 1000\n")
    python.chmod(0o755)
    monkeypatch.setattr(capturing, "LIMIT", 0.2)
    monkeypatch.setattr(capturing, "EACH", 0)
    found = capture([(side, [a_job()])], Stack(str(python), STACK.packages), tmp_path / "cache")[0][0]
    assert "waiting for a lock" in found.crashed and "took too long" in found.crashed
    assert list((tmp_path / "cache").glob("run-*")) == []


def script(tmp_path, text):
    """A stack whose Python is a shell script; its second argument but one is the order, the last one the folder."""
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{text}\n")
    python.chmod(0o755)
    return Stack(str(python), STACK.packages)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="it waits for a process that is not its own")
def test_what_a_worker_leaves_behind_is_ended(side, tmp_path):
    """A process that a driver started and forgot would go on writing into the sides."""
    stack = script(tmp_path, f"sleep 1000 &\necho $! >{tmp_path}/left")
    assert capture([(side, [a_job()])], stack, tmp_path / "cache")[0][0].crashed
    try:
        left = os.pidfd_open(int((tmp_path / "left").read_text()))
    except ProcessLookupError:
        return
    ended = select.poll()
    ended.register(left, select.POLLIN)
    assert ended.poll(20_000)
    os.close(left)


@pytest.mark.parametrize("text", ["{}", "[]", "half", '{"scenario": 1, "side": "source"}'])
def test_an_answer_that_is_none(side, tmp_path, text):
    """A driver that spoils its own answer gave none, which is no fault of ours."""
    stack = script(tmp_path, f"echo '{text}' >$3/0.json")
    assert "gave no answer" in capture([(side, [a_job()])], stack, tmp_path / "cache")[0][0].crashed


def test_the_import_of_a_trainer_is_timed(side):
    """The measure of a capture's cost is the side's own import, in a process like a worker's."""
    (side.folder / "slow_trainer.py").write_text("import os\nassert os.environ['DS_ACCELERATOR'] == 'cpu'\n")
    job = a_job(subject={"trainer": "slow_trainer.Trainer"})
    assert 0 < capturing.import_seconds(side, job, STACK) < 60
    with pytest.raises(EnvironmentFault, match="does not import"):
        capturing.import_seconds(side, a_job(), STACK)


def test_fresh_runs_in_spite_of_the_cache(side, tmp_path):
    """`fresh` asks the side itself."""
    kept(tmp_path, side, a_job())
    assert capture([(side, [a_job()])], STACK, tmp_path, fresh=True)[0][0].crashed


def test_half_a_capture_is_run_again(side, tmp_path):
    """A file that was cut off is not an answer."""
    _, file = kept(tmp_path, side, a_job())
    file.write_text('{"scenario": "one"', encoding="utf-8")
    assert capture([(side, [a_job()])], STACK, tmp_path)[0][0].crashed


@pytest.mark.parametrize(
    ("tree", "job", "packages"),
    [
        ("u" * 40, a_job(), STACK.packages),
        ("t" * 40, a_job(overrides=(("a=1", "a=1"),)), STACK.packages),
        ("t" * 40, a_job(probes=("wire",)), STACK.packages),
        ("t" * 40, a_job(), {"torch": "1", "verl": "3"}),
    ],
)
def test_the_key_sees(side, tmp_path, tree, job, packages):
    """Another tree, scenario, probe or package version is another capture."""
    there = Checkout(side.side, side.ref, side.commit, tree, side.folder)
    assert cache_key(there, job, Stack(STACK.python, packages)) != cache_key(side, a_job(), STACK)


def test_the_key_does_not_see_the_ref(side):
    """One tree under two names is run once."""
    there = Checkout(side.side, "other", "d" * 40, side.tree, side.folder)
    assert cache_key(there, a_job(), STACK) == cache_key(side, a_job(), STACK)


def test_the_key_sees_the_observing_code(side, monkeypatch):
    """A capture made by other code is not looked up."""
    before = cache_key(side, a_job(), STACK)
    monkeypatch.setattr(capturing, "harness_digest", lambda: "other")
    assert cache_key(side, a_job(), STACK) != before


def test_checkout_takes_the_tree_out_once(repo, tmp_path):
    """A ref's files stand in a folder named by its tree; a second ref with that tree uses the same."""
    first = repo.commit({"pkg/a.py": "x = 1\n"})
    again = repo.commit({"pkg/a.py": "x = 1\n", "b": ""}, parents=[first])
    repo.git("branch", "-f", "one", first)
    repo.git("branch", "-f", "two", again)
    one = checkout(str(repo.path), "one", "source", tmp_path / "cache")
    assert (one.folder / "pkg/a.py").read_text() == "x = 1\n"
    assert one.commit == first
    assert one.folder.name == one.tree
    before = one.folder.stat().st_ino
    assert checkout(str(repo.path), "one", "target", tmp_path / "cache").folder == one.folder
    assert one.folder.stat().st_ino == before
    assert checkout(str(repo.path), "two", "source", tmp_path / "cache").folder != one.folder


@pytest.mark.parametrize("path", ["pkg/a.py", "pkg/new.py", "link"])
def test_a_checkout_that_was_written_to_is_made_anew(repo, tmp_path, path):
    """What a run left in a side's tree is not taken for the side's code by the next one; compiled modules are none."""
    oid = repo.commit({"pkg/a.py": "x = 1\n"})
    folder = checkout(str(repo.path), oid, "source", tmp_path / "cache").folder
    (folder / "pkg/__pycache__").mkdir()
    (folder / "pkg/__pycache__/a.pyc").touch()
    checkout(str(repo.path), oid, "source", tmp_path / "cache")
    assert (folder / "pkg/__pycache__/a.pyc").exists()
    (folder / path).symlink_to("pkg") if path == "link" else (folder / path).write_text("x = 2\n")
    checkout(str(repo.path), oid, "source", tmp_path / "cache")
    assert (folder / "pkg/a.py").read_text() == "x = 1\n"
    assert sorted(file.name for file in folder.rglob("*")) == ["a.py", "pkg"]
    assert [file.name for file in folder.parent.iterdir()] == [folder.name]


def test_last_lines_hold_no_folder_of_the_machine(side, tmp_path):
    """A report goes to others: the folders that a job ran in are told by what they are."""
    driver = tmp_path / "driver.py"
    driver.write_text("def step(job, scratch):\n    raise OSError(f'{job.tree}/a {scratch}/b')\n")
    ((told,),) = capture([(side, [a_job(driver=f"{driver}:step")])], STACK, tmp_path / "cache")
    assert told.crashed.splitlines()[-1] == "OSError: <tree>/a <run>/scratch/0/b"
    assert str(tmp_path / "cache") not in told.crashed


def test_a_cache_named_by_a_relative_path(tmp_path, monkeypatch):
    """It is meant from here, not from the folder of a worker."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PORTTOOL_CACHE", "kept")
    assert cache_folder() == tmp_path / "kept" / "parity"


def test_a_job_that_writes_into_a_tree(side, tmp_path):
    """Nothing is compared after a driver has changed what is compared, and nothing of it is kept."""
    driver = tmp_path / "driver.py"
    body = "    open(f'{job.tree}/new.py', 'w').close()\n    return {'a': {'b': 1}}\n"
    driver.write_text(f"def step(job, scratch):\n{body}")
    ((told,),) = capture([(side, [a_job(driver=f"{driver}:step")])], STACK, tmp_path / "cache")
    assert told.crashed.startswith("a run wrote new.py into a side's own tree")
    assert not (tmp_path / "cache" / "captures").exists()


def test_checkout_is_the_tree_byte_for_byte(repo, tmp_path):
    """Attributes that hide or rewrite files in an archive do not hide them from the harness; links and modes stand."""
    attributes = "hidden.py export-ignore\nstamp.py export-subst\n"
    files = {".gitattributes": attributes, "hidden.py": "x = 1\n", "stamp.py": "id = '$Format:%H$'\n", "run.sh": "#!"}
    first = repo.commit(files)
    repo.git("branch", "-f", "one", first)
    folder = checkout(str(repo.path), "one", "source", tmp_path / "cache").folder
    assert {name: (folder / name).read_text() for name in files} == files


def test_tree_that_would_leave_its_folder_is_refused(repo, tmp_path):
    """A damaged tree writes nothing beside the cache."""
    blob = repo.git("hash-object", "-w", "--stdin", input=b"x").strip()
    line = f"100644 blob {blob}\tup\n"
    inner = repo.git("mktree", input=line.encode()).strip()
    raw = b"40000 ..\0" + bytes.fromhex(inner)
    tree = repo.git("hash-object", "-w", "-t", "tree", "--literally", "--stdin", input=raw).strip()
    with pytest.raises(RepositoryError, match="no checkout can have"):
        write_tree(Repository.open(repo.path), tree, tmp_path / "cache" / "tree")
    assert not (tmp_path / "cache" / "up").exists()


def test_a_folder_is_known_by_what_it_holds(tmp_path):
    """A tree nobody committed has a key that changes with its sources."""
    (tmp_path / "a.py").write_text("x = 1\n")
    before = folder_checkout(tmp_path, "target").tree
    (tmp_path / "notes.log").write_text("no source")
    assert folder_checkout(tmp_path, "target").tree == before
    (tmp_path / "a.py").write_text("x = 2\n")
    assert folder_checkout(tmp_path, "target").tree != before


def test_the_environment_is_clean(monkeypatch):
    """Nothing of ours steers a side's Python, GPU, Ray or proxy."""
    for name in ("PYTHONPATH", "CUDA_VISIBLE_DEVICES", "RAY_ADDRESS", "https_proxy", "VERL_USE_EXTERNAL_MODULES"):
        monkeypatch.setenv(name, "x")
    assert (
        set(clean_environment()) & {"PYTHONPATH", "RAY_ADDRESS", "https_proxy", "VERL_USE_EXTERNAL_MODULES"} == set()
    )
    assert clean_environment()["PATH"] == os.environ["PATH"]


def test_an_incomplete_stack_is_named(tmp_path):
    """A Python without the trainer packages is a fault that says which are missing."""
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho \'{"python": "3.11", "torch": "2"}\'\n')
    python.chmod(0o755)
    with pytest.raises(EnvironmentFault, match="verl") as caught:
        stack(str(python))
    assert "torch" not in caught.value.message


def test_a_python_that_does_not_run_is_named(tmp_path):
    """So is one that ends with an error."""
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 3\n")
    python.chmod(0o755)
    with pytest.raises(EnvironmentFault, match="cannot run"):
        stack(str(python))
