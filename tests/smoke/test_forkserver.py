"""A forked process is what plain Python would have been, only sooner; and none outlives what it belongs to."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from parity.standin.trainer import forkserver, forkserver_ray, forkserver_shim
from parity.standin.trainer.forkserver import ROOT, serving
from parity.standin.trainer.forkserver_shim import HEAD, served, short_path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a fork server needs Linux")
PRELOADED = """
import os, sys
VALUE = sys.path[0]
def prepare():
    os.environ["SET_BY_PRELOAD"] = os.environ["ALSO_SET_BY_PRELOAD"] = "preload"
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A tree with a module of its own."""
    folder = tmp_path_factory.mktemp("tree")
    (folder / "preloaded.py").write_text(PRELOADED)
    return folder


@pytest.fixture(scope="module")
def server(tree, tmp_path_factory):
    """A fork server below a folder whose path is too long for a socket."""
    scratch = tmp_path_factory.mktemp("scratch") / ("long" * 30)
    with serving(tree, scratch, ["decimal", "preloaded:prepare"]) as told:
        yield told


@pytest.fixture
def script(tmp_path):
    """Writes a script and gives its path."""

    def write(text, name="script.py"):
        (tmp_path / name).write_text(textwrap.dedent(text))
        return str(tmp_path / name)

    return write


def ran(server, *arguments, **rest):
    """A finished process."""
    return subprocess.run([server.python, *arguments], capture_output=True, text=True, timeout=60, **rest)


def gone(pid):
    """Whether a process ends soon."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        waiting = select.poll()
        waiting.register(descriptor, select.POLLIN)
        return bool(waiting.poll(60_000))
    finally:
        os.close(descriptor)


def parent(pid):
    """The parent of a process."""
    return int(Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[1])


def forked(pid):
    """Whether a process is a child of a fork server: plain Python is one of its own parent."""
    return "forkserver_zygote" in Path("/proc", str(parent(pid)), "cmdline").read_text()


LIVING = """
    import os, subprocess, sys
    child = subprocess.Popen(["sleep", "600"], start_new_session="apart" in sys.argv)
    print(os.getpid(), child.pid, flush=True)
    sys.stdin.read()
"""


def living(server, path, *arguments, **rest):
    """A running process, its pid, and that of a child which waits."""
    command = [server.python, path, *arguments]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **rest)
    told = process.stdout.readline().split()
    return process, *map(int, told)


def closed(process):
    """Close the pipes of a process that was started by `living`, and take its status."""
    process.stdin.close()
    process.stdout.close()
    return process.wait(timeout=60)


TELLS = """
    import json, os, sys
    told = {
        "argv": sys.argv, "cwd": os.getcwd(), "name": __name__, "file": __file__, "executable": sys.executable,
        "path": sys.path, "umask": os.umask(0), "x": os.environ.get("X"), "pid": os.getpid(), "ppid": os.getppid(),
        "main": sys.modules["__main__"].__dict__ is globals(), "stdin": sys.stdin.read(),
        "preloaded": "decimal" in sys.modules, "set": os.environ.get("SET_BY_PRELOAD"),
        "also": os.environ.get("ALSO_SET_BY_PRELOAD"), "ray": os.environ.get("RAY_JOB_ID"),
    }
    print(json.dumps(told))
"""


def test_a_script_has_its_own_arguments_environment_and_files(server, script, tmp_path):
    """Arguments, folder, environment, mask and standard files are those of the call, the modules the server's."""
    path = script(TELLS)
    environment = {**os.environ, "X": "1", "PYTHONPATH": str(tmp_path / "own"), "ALSO_SET_BY_PRELOAD": "call"}
    told = json.loads(ran(server, path, "a", "-b", cwd="/", env=environment, umask=0o027, input="in").stdout)
    assert told["argv"] == [path, "a", "-b"] and told["cwd"] == "/" and told["umask"] == 0o027
    assert (told["name"], told["file"], told["main"]) == ("__main__", path, True)
    assert (told["x"], told["stdin"], told["ray"]) == ("1", "in", None)
    assert told["executable"] == str(server.python)
    assert told["path"][:2] == [str(tmp_path), str(tmp_path / "own")]
    assert told["preloaded"] and told["ppid"] != os.getpid()
    assert (told["set"], told["also"]) == ("preload", "call")


def test_the_path_is_what_plain_python_has(server, script):
    """But for the folder of the fork server's script, a path has nothing more and nothing less."""
    path = script("import json, sys\nprint(json.dumps(sys.path))")
    plain = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=60)
    assert json.loads(ran(server, path).stdout) == json.loads(plain.stdout)


def test_the_preload_sees_the_tree_first(server, script):
    """Modules are imported from the tree that is served."""
    path = script("import sys; print(sys.modules['preloaded'].VALUE)")
    assert ran(server, path).stdout.strip() == json.loads(server.python.with_name("order.json").read_text())["path"][0]


def test_a_module_runs_as_with_m(server, script, tmp_path):
    """`-m` takes a module of the current folder and runs it as main."""
    script("import sys; print(__name__, sys.argv[1:])", "asked.py")
    assert ran(server, "-u", "-m", "asked", "x", cwd=tmp_path).stdout == "__main__ ['x']\n"


@pytest.mark.parametrize(
    ("arguments", "module"), [(["s.py", "-m"], ""), (["-u", "s.py"], ""), (["-m", "a.b", "c"], "a.b")]
)
def test_what_is_served(arguments, module):
    """Scripts and modules, perhaps unbuffered."""
    told = served(arguments)
    assert told["module"] == module and told["unbuffered"] == (arguments[0] == "-u")


@pytest.mark.parametrize("arguments", [[], ["-c", "pass"], ["-m"], ["-X", "dev", "s.py"], ["-V"], ["folder"]])
def test_what_is_left_to_plain_python(arguments):
    """Any other command line."""
    assert served(arguments) is None


def test_another_call_is_plain_python(server):
    """What is not served runs, too, under the real name of Python."""
    assert ran(server, "-c", "import sys; print(sys.executable)").stdout.strip() == sys.executable


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("raise SystemExit(7)", 7),
        ("pass", 0),
        ("1 / 0", 1),
        ("raise SystemExit('no')", 1),
        ("raise SystemExit(-1)", 255),
        ("raise KeyboardInterrupt", -signal.SIGINT),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
    ],
)
def test_the_status_is_handed_on(server, script, text, code):
    """An exit code, an error, a signal: the caller sees what it would have seen."""
    told = ran(server, script(text))
    assert told.returncode == code
    assert ("ZeroDivisionError" in told.stderr) == ("1 / 0" in text)
    assert (told.stderr == "no\n") == ("no" in text)


def test_an_interpreter_ends_as_usual(server, script):
    """Threads are waited for, what is registered for the end is done, and what was printed is written."""
    path = script("""
        import atexit, threading
        atexit.register(print, "end")
        go = threading.Event()
        threading.Thread(target=lambda: (go.wait(), print("thread"))).start()
        threading.Thread(target=lambda: (threading.main_thread().join(), go.set())).start()
        print("begin")
    """)
    assert ran(server, path).stdout == "begin\nthread\nend\n"


def test_open_files_are_inherited_under_their_numbers(server, script):
    """A descriptor that is passed on has the same number, whatever the fork server has open there."""
    path = script("import os, sys; [os.write(int(number), number.encode()) for number in sys.argv[1:]]")
    pipes = [os.pipe() for _ in range(3)]
    writing = [pipe[1] for pipe in pipes]
    assert ran(server, path, *map(str, writing), pass_fds=writing).returncode == 0
    for number in writing:
        os.close(number)
    assert [os.read(pipe[0], 20) for pipe in pipes] == [str(number).encode() for number in writing]
    for pipe in pipes:
        os.close(pipe[0])


def test_chances_differ(server, script):
    """Two forks do not draw the same numbers."""
    path = script("import random; print(random.random())")
    assert ran(server, path).stdout != ran(server, path).stdout


def test_a_signal_reaches_the_process(server, script):
    """SIGTERM to what stands for a process is a SIGTERM to it."""
    path = script("""
        import os, signal, time
        signal.signal(signal.SIGTERM, lambda *_: os._exit(9))
        print(os.getpid(), os.getpid(), flush=True)
        while True:
            time.sleep(0.05)
    """)
    process, pid, _ = living(server, path)
    process.terminate()
    assert closed(process) == 9
    assert gone(pid)


EARLY = """
import os, signal, socket, sys
from parity.standin.trainer import forkserver_shim as shim

def asked(home, told):
    os.kill(os.getpid(), signal.SIGTERM)
    return socket.socket(fileno=int(home))

shim._ask = asked
shim.main(sys.argv[1], sys.executable, ["script.py"])
"""


def test_a_signal_that_comes_before_it_can_be_handed_on_waits():
    """The child is there by then: it gets the signal, and ends as it wants to."""
    here, there = socket.socketpair()
    with here, there:
        command = [sys.executable, "-c", EARLY, str(there.fileno())]
        own = {**os.environ, "PYTHONPATH": str(ROOT)}
        with subprocess.Popen(command, pass_fds=[there.fileno()], env=own) as process:
            there.close()
            assert here.recv(64) == forkserver_shim.SIGNALLED + bytes([signal.SIGTERM])
            here.sendall(forkserver_shim.ENDED + str(9 << 8).encode())
            here.close()
    assert process.returncode == 9


def test_plain_python_gets_the_signals_that_waited(server):
    """What is not served has the mask that the call had."""
    code = "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    assert ran(server, "-c", code).stdout == "set()\n"


@pytest.mark.parametrize("apart", [(), ("apart",)])
def test_a_killed_call_leaves_nothing(server, script, apart):
    """SIGKILL to what stands for a process kills the process and all that descends from it, in any session."""
    process, pid, child = living(server, script(LIVING), *apart)
    assert forked(pid)
    process.kill()
    assert gone(pid) and gone(child)
    closed(process)


@pytest.mark.parametrize("apart", [(), ("apart",)])
def test_the_end_of_serving_leaves_nothing(tree, tmp_path, script, apart):
    """Nothing that descends from a fork server outlives it, not even in a session of its own."""
    with serving(tree, tmp_path, []) as server:
        process, pid, child = living(server, script(LIVING), *apart)
    assert gone(pid) and gone(child)
    assert closed(process) == -signal.SIGKILL


def test_a_killed_caller_leaves_nothing(tree, tmp_path, script):
    """The fork server ends with the process that serves, however that one ends."""
    caller = script(f"""
        import subprocess, sys
        from pathlib import Path
        sys.path.insert(0, {str(ROOT)!r})
        from parity.standin.trainer.forkserver import serving
        with serving(Path({str(tree)!r}), Path({str(tmp_path)!r}), []) as server:
            subprocess.run([server.python, sys.argv[1]])
    """, "caller.py")  # fmt: skip
    plain = forkserver.Server(Path(sys.executable))
    process, pid, child = living(plain, caller, script(LIVING))
    assert forked(pid)
    process.kill()
    assert gone(pid) and gone(child)
    closed(process)


def test_a_killed_fork_server(tree, tmp_path, script):
    """Its children die, what stands for them says so, and the next call is plain Python."""
    with serving(tree, tmp_path, []) as server:
        process, pid, _ = living(server, path := script(LIVING))
        os.kill(parent(pid), signal.SIGKILL)
        assert gone(pid)
        assert closed(process) == -signal.SIGKILL
        process, pid, child = living(server, path)
        assert not forked(pid)
        os.kill(child, signal.SIGKILL)
        assert closed(process) == 0


def test_a_worker_ends_with_its_raylet(server, script):
    """A Ray worker does not outlive the raylet that its environment names."""
    raylet = subprocess.Popen(["sleep", "600"])
    process, pid, _ = living(server, script(LIVING), env={**os.environ, "RAY_RAYLET_PID": str(raylet.pid)})
    raylet.kill()
    raylet.wait()
    assert gone(pid)
    assert closed(process) == 1


@pytest.mark.parametrize(
    ("preload", "said"),
    [
        ("import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()", "lose threads"),
        ("import no_such_module", "ModuleNotFoundError"),
        ("import os; os.dup2(os.open('/dev/null', os.O_RDONLY), 300)", "files [300] are held"),
    ],
)
def test_what_cannot_be_forked_is_plain_python(tmp_path, script, preload, said):
    """A preload that fails, starts a thread or keeps a file in the way: all runs, and the log says why it is slow."""
    (tmp_path / "bad.py").write_text(preload)
    path = script("import sys; print(sys.executable)")
    kept = os.dup2(2, 300)
    try:
        with serving(tmp_path, tmp_path, ["bad"]) as server:
            assert ran(server, path, pass_fds=[kept]).stdout.strip() == sys.executable
    finally:
        os.close(kept)
    assert said in server.log.read_text()


def test_an_interpreter_of_another_kind_is_plain_python(server, script):
    """What Python reads at its start cannot be told to a fork."""
    path = script("import sys; print(sys.executable, sys.flags.hash_randomization)")
    told = ran(server, path, env={**os.environ, "PYTHONHASHSEED": "0"})
    assert told.stdout.split() == [sys.executable, "0"]
    assert "PYTHONHASHSEED is '0' there" in server.log.read_text()


def test_a_worker_of_another_job_is_plain_python(monkeypatch):
    """Ray's library was loaded as that of a worker of the first job; where it is not loaded it does not matter."""
    monkeypatch.delitem(sys.modules, "ray._raylet", raising=False)
    assert forkserver_ray.differs({"RAY_JOB_ID": "02000000"}) == ""
    monkeypatch.setitem(sys.modules, "ray._raylet", object())
    assert forkserver_ray.differs({"RAY_JOB_ID": "01000000"}) == forkserver_ray.differs({}) == ""
    assert "job 02000000" in forkserver_ray.differs({"RAY_JOB_ID": "02000000"})


@pytest.mark.parametrize("sent", [b"", b"half", HEAD.pack(9) + b"{", HEAD.pack(1) + b"{"])
def test_a_client_that_goes_away(server, script, sent):
    """What is not a whole question is no reason to end."""
    client = socket.socket(socket.AF_UNIX)
    with short_path(str(server.python.parent)) as path:
        client.connect(path)
    client.sendall(sent)
    client.close()
    assert ran(server, script("import os; print(os.getppid())")).stdout.strip() != str(os.getpid())


def test_the_switch(tree, tmp_path, monkeypatch):
    """PORTTOOL_FORKSERVER=0: plain Python, and nothing is started."""
    monkeypatch.setenv("PORTTOOL_FORKSERVER", "0")
    with serving(tree, tmp_path, ["no_such_module"]) as server:
        assert server == forkserver.Server(Path(sys.executable))
    assert list(tmp_path.iterdir()) == []


def test_one_server_for_several(server, tree, tmp_path, monkeypatch):
    """Who is told of a server for the same tree and preload uses it, and leaves it running."""
    monkeypatch.setenv("PORTTOOL_PYTHON", server.environment()["PORTTOOL_PYTHON"])
    with serving(tree, tmp_path, ["decimal", "preloaded:prepare"]) as same:
        assert same == server
    assert ran(server, "-m", "this").returncode == 0
    with serving(tmp_path, tmp_path, ["decimal", "preloaded:prepare"]) as other:
        assert other != server
