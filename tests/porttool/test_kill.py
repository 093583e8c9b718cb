"""Stops at any moment: SIGKILL, Ctrl-C, a full disk. Nothing is lost, and a rerun ends with the same ids."""

from __future__ import annotations

import os
import random
import resource
import select
import signal
import threading
import time
import warnings
from pathlib import Path

import pytest

from porttool.errors import EnvironmentFault, RepositoryError
from porttool.port import abort, apply, resume
from porttool.port_make import Maker
from porttool.repo import Repository
from porttool.repo_git import Git
from tests.porttool.rig import Rig, lines

KILLS = {"apply": 26, "conflict": 12, "continue": 12}
TRIES = 4  # a delay may be longer than the work takes this time


@pytest.fixture
def rig(repo) -> Rig:
    return Rig(repo, {f"old/{name}.txt": lines() for name in "abcdef"} | {"keep/x": "x\n"})


def clean(rig):
    return rig.manifest(*(rig.change({f"old/{name}.txt": lines((n + 2, "x"))}) for n, name in enumerate("abcdef")))


def conflicting(rig):
    picks = [rig.change({f"old/{name}.txt": lines((6, "s"))}) for name in "abc"]
    rig.drift({"new/place/b.txt": lines((6, "t"))})
    return rig.manifest(*picks)


def child(work) -> tuple[int, int]:
    """Run `work` in a process of its own; returns its id and a pipe that ends when it does."""
    end, mine = os.pipe()
    with warnings.catch_warnings():
        # Newer Pythons warn of threads; the child of a parallel test run uses none of them.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        os.close(mine)
        return pid, end
    os.close(end)
    try:
        work()
    finally:
        os._exit(0)


class Kills:
    """SIGKILLs at moments of a piece of work; one that it outran is the latest from then on."""

    def __init__(self, seed: int, name: str) -> None:
        self._random, self._wanted = random.Random(seed), KILLS[name]
        self._latest = float("inf")
        self.done = 0

    def all(self, took: float) -> bool:
        """Whether there were as many as wanted; `took` is how long the work takes."""
        self._latest = min(self._latest, took)
        return self.done == self._wanted

    def kill(self, work) -> None:
        """Run `work` and kill it, or see it end by itself."""
        delay = self._random.uniform(0, self._latest)
        pid, end = child(work)
        ready, _, _ = select.select([end], [], [], delay)
        if ready:
            self._latest = delay
        else:
            os.kill(pid, signal.SIGKILL)
            self.done += 1
        os.waitpid(pid, 0)
        os.close(end)


def afresh(rig) -> None:
    """Neither the branch nor the objects of an earlier run are there."""
    rig.repo.git("update-ref", "-d", "refs/heads/out")
    for pack in (rig.repo.path / ".git/objects/pack").glob("*"):
        pack.unlink(missing_ok=True)


def duration(work) -> float:
    start = time.perf_counter()
    pid, end = child(work)
    os.waitpid(pid, 0)
    os.close(end)
    return time.perf_counter() - start


def users(rig) -> dict[str, str]:
    return {name: oid for name, oid in rig.repo.refs().items() if not name.startswith("refs/porttool/")}


@pytest.mark.slow
def test_sigkill_while_applying(rig):
    """The branch is there whole or not at all; a rerun gives the ids of an undisturbed run; git finds no damage."""
    manifest = clean(rig)
    before, wanted = users(rig), apply(manifest, dry_run=True).head
    duration(lambda: apply(manifest))
    afresh(rig)
    took = duration(lambda: apply(manifest))
    kills = Kills(5, "apply")
    for _ in range(TRIES * KILLS["apply"]):
        if kills.all(took):
            break
        afresh(rig)
        kills.kill(lambda: apply(manifest))
        assert users(rig) in (before, before | {"refs/heads/out": wanted})
        run = apply(manifest)
        assert run.head == wanted and users(rig) == before | {"refs/heads/out": wanted}
    assert kills.done == KILLS["apply"]
    rig.repo.git("fsck", "--no-dangling")


@pytest.mark.slow
def test_sigkill_while_a_conflict_is_laid_out(rig):
    """No ref moves, whatever is there of the scratch worktree; a rerun lays it out whole."""
    manifest = conflicting(rig)
    before = users(rig)
    text = scratch_of(rig, apply(manifest)).read_bytes()
    took = duration(lambda: (abort(manifest), apply(manifest)))
    kills = Kills(7, "conflict")
    for _ in range(TRIES * KILLS["conflict"]):
        if kills.all(took):
            break
        kills.kill(lambda: (abort(manifest), apply(manifest)))
        assert users(rig) == before
        assert scratch_of(rig, apply(manifest)).read_bytes() == text
    assert kills.done == KILLS["conflict"]
    abort(manifest)
    assert not list((rig.repo.path / ".git/porttool").glob("*"))


def scratch_of(rig, run) -> Path:
    return Path(run.conflict.scratch) / "new/place/b.txt"


@pytest.mark.slow
def test_sigkill_while_continuing(rig):
    """The hand's work is in the scratch worktree or in the ledger at every moment; going on ends the same."""
    manifest = conflicting(rig)
    before = users(rig)
    solved = lines((6, "both")).encode()
    wanted, took, kills = None, float("inf"), Kills(9, "continue")
    for turn in range(TRIES * KILLS["continue"]):
        if kills.all(took):
            break
        for file in manifest.resolutions.glob("*"):
            file.unlink()
        rig.repo.git("update-ref", "-d", "refs/heads/out")
        abort(manifest)
        scratch_of(rig, apply(manifest)).write_bytes(solved)
        if turn == 0:
            wanted = resume(manifest).head
            continue
        if turn == 1:
            took = duration(lambda: resume(manifest))
            continue
        kills.kill(lambda: resume(manifest))
        assert users(rig) in (before, before | {"refs/heads/out": wanted})
        waits = list((rig.repo.path / ".git/porttool").glob("*/state.json"))
        run = resume(manifest) if waits else apply(manifest)
        assert run.head == wanted and rig.repo.files("out")["new/place/b.txt"] == solved
    assert kills.done == KILLS["continue"]


def test_ctrl_c_changes_nothing(rig, monkeypatch):
    """An interrupt while commits are made leaves every ref and every file of the repository as it was."""
    manifest = clean(rig)
    before = users(rig), {str(path) for path in rig.repo.path.rglob("*")}
    made = []
    real = Maker.make

    def interrupted(self, step, head):
        made.append(step)
        if len(made) == 3:
            raise KeyboardInterrupt
        return real(self, step, head)

    monkeypatch.setattr(Maker, "make", interrupted)
    with pytest.raises(KeyboardInterrupt):
        apply(manifest)
    assert (users(rig), {str(path) for path in rig.repo.path.rglob("*")}) == before


def test_ctrl_c_at_the_last_step_is_too_late(rig, monkeypatch):
    """Once refs move, the port is done: it says so instead of claiming that nothing changed.

    The signal goes to another thread, as it may where a progress line or a parallel test run has one.
    """
    manifest = clean(rig)
    real = Git.run

    def interrupted(self, *arguments, **told):
        if arguments[0] == "update-ref":
            signal.pthread_kill(other.ident, signal.SIGINT)
        return real(self, *arguments, **told)

    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    before = signal.getsignal(signal.SIGINT)
    try:
        monkeypatch.setattr(Git, "run", interrupted)
        assert apply(manifest).moved and "refs/heads/out" in users(rig)
    finally:
        done.set()
        other.join()
    assert signal.getsignal(signal.SIGINT) is before


def test_a_full_disk_changes_nothing(rig):
    """Where the pack cannot be written, the fault is the machine's, no ref moves, and a rerun with room completes."""
    manifest = clean(rig)
    before = users(rig)
    told, answer = os.pipe()

    def cramped() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
        try:
            apply(manifest)
        except EnvironmentFault as error:
            os.write(answer, str(error).encode())

    pid, end = child(cramped)
    os.waitpid(pid, 0)
    os.close(answer)
    assert os.read(told, 1000).startswith(b"error: git index-pack")
    os.close(told)
    os.close(end)
    assert users(rig) == before
    assert apply(manifest).moved


def test_objects_reach_the_repository_before_refs_do(rig, monkeypatch):
    """The pack is stored first; if the refs cannot move after that, they all stay."""
    manifest = clean(rig)
    before = users(rig)
    here = Repository.open(rig.repo.path)
    monkeypatch.setattr(type(here.refs), "move", lambda self, moves: (_ for _ in ()).throw(EnvironmentFault("stop")))
    with pytest.raises(EnvironmentFault):
        apply(manifest)
    assert users(rig) == before


def test_a_branch_that_is_there_by_now_is_no_fault(rig, monkeypatch):
    """Two runs of one port end at one commit; that another one moved the ref first changes nothing."""
    manifest = rig.manifest(rig.change({"keep/x": "s\n"}))
    real = Repository.move_refs

    def late(self, moves):
        moves = list(moves)
        real(self, moves)
        real(self, moves)

    monkeypatch.setattr(Repository, "move_refs", late)
    assert apply(manifest).moved


def test_a_branch_that_went_elsewhere_is_a_fault(rig, monkeypatch):
    """A ref that another process moved to another commit is never overwritten."""
    manifest = rig.manifest(rig.change({"keep/x": "s\n"}))
    real = Repository.move_refs

    def late(self, moves):
        rig.repo.branch("out", rig.base)
        real(self, moves)

    monkeypatch.setattr(Repository, "move_refs", late)
    with pytest.raises(RepositoryError, match="moved while"):
        apply(manifest)
    assert users(rig)["refs/heads/out"] == rig.base
