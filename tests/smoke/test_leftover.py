"""What a run started is found by more than one sign, and nobody else's process is."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from parity.smoke import leftover
from parity.smoke.leftover import MARK, Ours, new, remove, sweep
from tests.smoke.fake_driver import STRAY
from tests.smoke.launching import eventually


@pytest.fixture
def ours(tmp_path, monkeypatch):
    """A run's mark and folder; whatever a test starts for it is ended."""
    monkeypatch.setattr(leftover, "BASE", tmp_path)
    found = new()
    yield found
    leftover.end(found, settle=0)


def sleeper(*, mark: str = "", cwd=None, **options) -> subprocess.Popen[bytes]:
    environment = {MARK: mark} if mark else {}
    return subprocess.Popen(["/bin/sleep", "1000"], env=environment, cwd=cwd, start_new_session=True, **options)


def ended(*processes):
    for process in processes:
        process.kill()
        process.wait()


def test_a_mark_is_a_sign(ours):
    """The environment tells, wherever the process works."""
    process = sleeper(mark=ours.token, cwd="/")
    assert eventually(lambda: ours.pids() == [process.pid])
    ended(process)
    assert ours.pids() == []


def test_a_mark_is_taken_whole(ours):
    """A longer one is another run's."""
    process = sleeper(mark=f"{ours.token}0", cwd="/")
    other = Ours(f"{ours.token}0", ours.folder)
    assert eventually(lambda: other.pids() == [process.pid])
    assert ours.pids() == []
    ended(process)


def test_a_folder_is_a_sign(ours):
    """So is working below the run's folder, or a file there that is open to write; a folder beside it is not."""
    (ours.folder / "in").mkdir()
    beside = ours.folder.with_name(f"{ours.folder.name}x")
    beside.mkdir()
    inside, outside = sleeper(cwd=ours.folder / "in"), sleeper(cwd=beside)
    with open(ours.folder / "log", "wb") as log:
        writing = sleeper(cwd="/", stdout=log)
    assert eventually(lambda: ours.pids() == sorted([inside.pid, writing.pid]))
    ended(inside, outside, writing)


def test_who_reads_is_not_of_a_run(ours):
    """A launcher reads the steps while a guard looks for what is left; neither it nor a copier of logs is killed."""
    (ours.folder / "log").write_text("x")
    with open(ours.folder / "log", "rb") as log:
        reading = sleeper(cwd="/", stdin=log)
    with open(ours.folder / "log", "r+b") as log:
        writing = sleeper(cwd="/", stdin=log)
    assert eventually(lambda: ours.pids() == [writing.pid])
    ended(reading, writing)


def test_the_launcher_is_not_of_its_run(ours):
    """Whatever it has open; what it started is told by other signs."""
    with open(ours.folder / "log", "wb") as log:
        launcher = sleeper(cwd="/", stdout=log)
    assert eventually(lambda: ours.pids() == [launcher.pid])
    assert Ours(f"{launcher.pid}.{ours.token.partition('.')[2]}", ours.folder).pids() == []
    ended(launcher)


def test_who_has_a_terminal_is_not_of_a_run(ours):
    """Somebody who looks into a run's folder keeps the shell."""
    leader, follower = os.openpty()
    take = "import fcntl, termios, time; fcntl.ioctl(0, termios.TIOCSCTTY, 0); print(flush=True); time.sleep(1000)"
    shell = subprocess.Popen(
        [sys.executable, "-c", take],
        stdin=follower,
        stdout=subprocess.PIPE,
        cwd=ours.folder,
        env={},
        start_new_session=True,
    )
    assert shell.stdout is not None and shell.stdout.readline()
    assert ours.pids() == []
    ended(shell)
    shell.stdout.close()
    os.close(leader)
    os.close(follower)


def test_children_are_of_the_run(ours):
    """What a marked process started is found without a sign of its own."""
    child = "subprocess.Popen(['/bin/sleep', '1000'], env={}, cwd='/', start_new_session=True)"
    code = f"import subprocess, time; {child}; time.sleep(1000)"
    process = subprocess.Popen([sys.executable, "-c", code], env={MARK: ours.token}, cwd="/")
    assert eventually(lambda: len(ours.pids()) == 2)
    found, survived = leftover.end(ours, settle=0)
    assert len(found) == 2 and survived == []
    process.wait()


def test_ports_are_told(ours):
    """A listener is named with its port."""
    with socket.socket() as ear:
        ear.bind(("127.0.0.1", 0))
        ear.listen()
        ear.set_inheritable(True)
        port = ear.getsockname()[1]
        process = sleeper(mark=ours.token, close_fds=False)
    assert eventually(lambda: len(ours.left()) == 1)
    [left] = ours.left()
    assert f"{left}" == f"process {process.pid}: /bin/sleep 1000, listening on port {port}"
    ended(process)


def test_the_end_waits_for_who_ends_by_itself(ours):
    """What ends in time was not left behind."""
    process = subprocess.Popen(["/bin/sleep", "0.3"], env={MARK: ours.token})
    assert leftover.end(ours, settle=5) == ([], [])
    assert process.wait() == 0


def test_an_orphan_comes_to_who_adopts(ours):
    """A daemon with no sign at all is below the process that adopts orphans; what it was forked by ends meanwhile."""
    code = (
        "import subprocess, sys, os\n"
        "from pathlib import Path\n"
        "from parity.smoke import leftover\n"
        "leftover.adopt_orphans()\n"
        f"subprocess.run([sys.executable, '-c', {STRAY!r}], env={{}}, cwd='/', check=True)\n"
        "found, survived = leftover.end(leftover.Ours('', Path('/nowhere'), above=os.getpid()), settle=1)\n"
        "print(len(found), len(survived))\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "1 0\n"


def test_folders_are_short_and_private(ours):
    """A socket's path below a run's folder has to stay below 107 bytes."""
    assert len(ours.folder.name) == len("smoke-abcdef")
    assert ours.folder.stat().st_mode & 0o077 == 0
    assert remove(ours.folder) and not ours.folder.exists()


def owned(folder, token: str):
    folder.mkdir()
    (folder / "owner").write_text(token)
    return folder


def test_the_sweep_takes_what_nobody_owns(ours, tmp_path):
    """A folder whose launcher is gone goes, with its processes; that of a living one, or of anything else, stays."""
    gone = subprocess.Popen(["/bin/true"])
    gone.wait()
    space = ours.token.split(".")[1]
    dead = owned(tmp_path / "smoke-dead00", f"{gone.pid}.{space}.dead00")
    other_machine = owned(tmp_path / "smoke-other0", f"{gone.pid}.1{space}.other0")
    foreign = tmp_path / "smoke-test-results"
    foreign.mkdir()
    (foreign / "file").write_text("x")
    empty = tmp_path / "smoke-old000"
    empty.mkdir()
    process = sleeper(mark=f"{gone.pid}.{space}.dead00", cwd="/")
    assert eventually(lambda: Ours(f"{gone.pid}.{space}.dead00", dead).pids() == [process.pid])
    assert [left.pid for left in sweep()] == [process.pid]
    process.wait()
    assert sorted(tmp_path.iterdir()) == sorted([ours.folder, other_machine, empty, foreign])


def test_a_launcher_nobody_waited_for_is_gone(ours, tmp_path):
    """Where the first process of a container reaps nobody, the killed stay in the list of processes."""
    launcher = subprocess.Popen(["/bin/true"])
    state = Path(f"/proc/{launcher.pid}/stat")
    assert eventually(lambda: state.read_text().rpartition(")")[2].split()[0] == "Z")
    folder = owned(tmp_path / "smoke-zombie", f"{launcher.pid}.{ours.token.split('.')[1]}.zombie")
    assert sweep() == [] and not folder.exists()
    launcher.wait()


KILLED = """
import os, signal, sys
from pathlib import Path
from parity.smoke import leftover
leftover.BASE = Path(sys.argv[1])
seen = 0

def dies(event, told):
    global seen
    if event.startswith(("os.mkdir", "os.rename", "os.remove", "os.rmdir", "open", "shutil.rmtree")):
        if str(leftover.BASE) in str(told) or event in ("os.remove", "os.rmdir"):
            seen += 1
            if seen == int(sys.argv[2]):
                os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(dies)
ours = leftover.new()
(ours.folder / "out" / "deep").mkdir(parents=True)
(ours.folder / "out" / "deep" / "file").write_text("x")
(ours.folder / "link").symlink_to(leftover.BASE)
leftover.remove(ours.folder)
"""


def test_whoever_is_killed_leaves_its_mark(tmp_path, monkeypatch):
    """At whatever change to a run's folder its launcher is killed, the next sweep takes the folder away."""
    monkeypatch.setattr(leftover, "BASE", tmp_path)
    left = 0
    for point in range(1, 100):
        told = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), str(point)], check=False)
        left += any(tmp_path.iterdir())
        sweep()
        assert list(tmp_path.iterdir()) == []
        if told.returncode == 0:
            break
        assert told.returncode == -signal.SIGKILL
    assert point > 10 and left > 8


def test_what_does_not_go_keeps_its_mark(ours, monkeypatch):
    """A folder that something still writes to is found again by the next sweep."""
    (ours.folder / "file").touch()
    monkeypatch.setattr(leftover.os, "unlink", lambda path: None)
    assert not remove(ours.folder)
    assert (ours.folder / "owner").read_text() == ours.token


def test_a_half_made_folder_is_its_launchers(tmp_path, monkeypatch):
    """While the launcher lives, a sweep lets it be."""
    monkeypatch.setattr(leftover, "BASE", tmp_path)
    partial = tmp_path / f".smoke-{os.getpid()}.{leftover._space()}.abcdef"
    partial.mkdir()
    assert sweep() == [] and partial.exists()
