"""Captures of a side: its tree in a scratch folder, a worker process of its own, and a cache by content."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path

from parity.driver import shown
from parity.record import Capture, from_json, to_json
from parity.scenario import Job
from parity.trees import Trees, altered, without_folders, write_tree
from parity.worker import Order
from porttool.errors import EnvironmentFault
from porttool.repo import Repository
from porttool.resolutions import write_atomic

HERE = Path(__file__).resolve().parent
# What runs beside a side's tree; two captures compare only where all of it agrees.
PACKAGES = (
    "torch",
    "verl",
    "deepspeed",
    "arctic-platform",
    "transformers",
    "tensordict",
    "ray",
    "numpy",
    "hydra-core",
)
_KEPT_ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
TAIL_LINES = 12
# Under this name the provenance of a cached capture says which key it is of.
_KEY = "key"
# Seconds: imports on a busy machine, and a job with an engine. A worker that waits for ever must not hold a gate.
LIMIT, EACH = 600, 120
_LOOK = 0.5  # how often is looked what is done
# What runs in a worker, beside the stand-in.
_OBSERVING = ("driver.py", "record.py", "scenario.py", "worker.py")


@dataclass(frozen=True)
class Checkout:
    """One side's commit, taken out of its repository into a folder named by its tree."""

    side: str
    ref: str
    commit: str
    tree: str
    folder: Path


@dataclass(frozen=True)
class Stack:
    """The Python that has the trainer packages, and their versions."""

    python: str
    packages: Mapping[str, str] = field(hash=False)

    def provenance(self) -> dict[str, str]:
        """What must agree for two captures to be comparable."""
        told = {f"env.{name}": number for name, number in self.packages.items()}
        return {**told, "env.device": "cpu"}


def stack(python: str = sys.executable) -> Stack:
    """The trainer stack of a Python. Raises EnvironmentFault naming what it lacks."""
    found = _own_versions() if python == sys.executable else _versions_of(python)
    missing = [name for name in PACKAGES if name not in found]
    if missing:
        raise EnvironmentFault(
            f"the trainer stack is not complete: {', '.join(missing)}", python, "pip install 'porttool[parity]'"
        )
    return Stack(python, found)


def driver_stack(packages: Sequence[str]) -> Stack:
    """This Python with what another trainer's driver runs on. Raises EnvironmentFault naming what it lacks."""
    found = _versions(tuple(packages))
    missing = [name for name in packages if name not in found]
    if missing:
        told = f"parity.packages names what is not installed: {', '.join(missing)}"
        # A word that is only mistyped is not to be installed from wherever it leads.
        here = [name for held in distributions() if (name := held.metadata["Name"])]
        near = [found for name in missing for found in get_close_matches(name, here, 1, 0.7)]
        hint = f"did you mean {near[0]!r}?" if near else f"pip install {' '.join(missing)}"
        raise EnvironmentFault(told, sys.executable, hint)
    return Stack(sys.executable, found)


@lru_cache
def _own_versions() -> dict[str, str]:
    return _versions(PACKAGES)


def _versions(packages: tuple[str, ...]) -> dict[str, str]:
    found = {"python": ".".join(map(str, sys.version_info[:2]))}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@lru_cache
def _versions_of(python: str) -> dict[str, str]:
    told = subprocess.run([python, "-c", _ASK_VERSIONS, *PACKAGES], capture_output=True, text=True, check=False)
    if told.returncode:
        raise EnvironmentFault(f"cannot run {python}: {told.stderr.strip().splitlines()[-1:]}", python)
    return dict(json.loads(told.stdout))


_ASK_VERSIONS = """
import json, sys
from importlib.metadata import PackageNotFoundError, distributions, version
found = {"python": ".".join(map(str, sys.version_info[:2]))}
for name in sys.argv[1:]:
    try:
        found[name] = version(name)
    except PackageNotFoundError:
        pass
print(json.dumps(found))
"""


def checkout(repo: str, ref: str, side: str, cache: Path) -> Checkout:
    """The tree of a ref, extracted once per tree id. The repository and its work tree are only read.

    What a run has written there would count as the side's own code from then on: such a folder is made anew.
    """
    repository = Repository.open(repo)
    commit = repository.resolve(ref)
    tree = repository.commit(commit).tree
    folder = cache / "checkouts" / tree
    if folder.is_dir() and altered(repository, tree, folder):
        with tempfile.TemporaryDirectory(dir=folder.parent) as aside:
            _move_in(folder, Path(aside) / "tree")
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as partial:
            into = Path(partial) / "tree"
            write_tree(repository, tree, into)
            _move_in(into, folder)
    return Checkout(side, ref, commit, tree, folder)


def folder_checkout(folder: Path, side: str) -> Checkout:
    """A folder as it stands, for faults and for trees nobody has committed; it is known by its contents."""
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".yaml") and path.is_file()):
        digest.update(f"{file.relative_to(folder)}\0".encode() + file.read_bytes() + b"\0")
    return Checkout(side, str(folder), "", digest.hexdigest(), folder)


def _move_in(made: Path, place: Path) -> None:
    """Rename into place; another process that was first has the same content."""
    try:
        made.rename(place)
    except OSError:
        if not place.exists():
            raise


@lru_cache
def harness_digest(standin: bool = True) -> str:
    """Of the code that observes: a capture made by other code is not looked up. A driver needs no stand-in."""
    digest = hashlib.sha256()
    files = [*(HERE / "standin").rglob("*.py")] if standin else []
    for file in sorted([*files, *(HERE / name for name in _OBSERVING)]):
        digest.update(f"{file.relative_to(HERE)}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()


def cache_key(side: Checkout, job: Job, stack: Stack) -> str:
    """What a capture depends on: tree, job (scenario and probes), packages, and the observing code."""
    observing = harness_digest(standin=False) if job.driver else harness_digest()
    told = [side.tree, job.digest(), sorted(stack.packages.items()), observing]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def capture(
    wanted: Sequence[tuple[Checkout, Sequence[Job]]],
    stack: Stack,
    cache: Path,
    *,
    layout: str = "",
    fresh: bool = False,
    report: Callable[[str], None] | None = None,
) -> list[list[Capture]]:
    """The captures of each side's jobs, in order. Sides run at the same time; what the cache holds is not run.

    A job that crashed is a capture that says so; it is not kept in the cache. `fresh` runs everything; `report` is
    told of each job that is done.
    """
    answers: list[list[Capture | None]] = []
    running: list[_Running] = []
    for side, jobs in wanted:
        keys = [cache_key(side, job, stack) for job in jobs]
        here = {"ref": side.ref, "commit": side.commit, "layout": layout}
        held = [None if fresh else _cached(cache, key, here) for key in keys]
        answers.append(held)
        todo = [place for place, found in enumerate(held) if found is None]
        # One worker runs one drive: an engine changes the process it runs in.
        for drive in dict.fromkeys(jobs[place].drive for place in todo):
            places = [place for place in todo if jobs[place].drive == drive]
            running.append(_Running.start(side, jobs, places, keys, stack, cache, layout, len(answers) - 1))
    guarded = Trees(process.side.folder for process in running)
    done = _Done(running, report or (lambda line: None))
    try:
        for process in running:
            for place, found in process.finish(done):
                why = process.told(found.crashed) or guarded.altered()
                told = replace(found, crashed=why) if why else found
                answers[process.row][place] = told
                if not told.crashed:
                    keep(cache, process.keys[place], told)
    finally:
        for process in running:
            process.end()
    return [[told for told in row if told is not None] for row in answers]


@dataclass(frozen=True)
class _Running:
    """A worker process and where its answers go."""

    process: subprocess.Popen[bytes]
    folder: tempfile.TemporaryDirectory[str]
    side: Checkout
    jobs: Sequence[Job]
    places: Sequence[int]
    keys: Sequence[str]
    row: int
    provenance: Mapping[str, str]

    @classmethod
    def start(
        cls,
        side: Checkout,
        jobs: Sequence[Job],
        places: Sequence[int],
        keys: Sequence[str],
        stack: Stack,
        cache: Path,
        layout: str,
        row: int,
    ) -> _Running:
        cache.mkdir(parents=True, exist_ok=True)
        folder = tempfile.TemporaryDirectory(prefix="run-", dir=cache)
        there = Path(folder.name)
        provenance = {
            **stack.provenance(),
            "ref": side.ref,
            "commit": side.commit,
            "tree": side.tree,
            "layout": layout,
        }
        driver = jobs[places[0]].driver
        provenance["harness"] = harness_digest(standin=not driver)[:16]
        provenance |= {"driver": shown(driver)} if driver else {}
        told = tuple(jobs[place].to_json() for place in places)
        order = Order(str(side.folder), str(there / "scratch"), told, provenance)
        (there / "order.json").write_text(order.to_json(), encoding="utf-8")
        (there / "cwd").mkdir()
        command = [stack.python, str(HERE / "worker.py"), str(there / "order.json"), str(there)]
        with open(there / "log", "wb") as log:
            process = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=there / "cwd",
                env=clean_environment(),
                start_new_session=True,
            )
        return cls(process, folder, side, jobs, places, keys, row, provenance)

    def finish(self, done: _Done) -> Iterable[tuple[int, Capture]]:
        """The answers, and for a job without one what the worker wrote last."""
        code: int | str | None = None
        until = time.monotonic() + LIMIT + EACH * len(self.places)
        while code is None:
            try:
                code = self.process.wait(max(min(_LOOK, until - time.monotonic()), 0))
            except subprocess.TimeoutExpired:
                if time.monotonic() >= until:
                    self._kill()
                    code = "it was ended: it took too long"
            done.look()
        with suppress(ProcessLookupError, PermissionError):  # it is over: what it left behind would go on writing
            os.killpg(self.process.pid, signal.SIGKILL)
        there = Path(self.folder.name)
        log = (there / "log").read_text(encoding="utf-8", errors="replace")
        for number, place in enumerate(self.places):
            job, answer = self.jobs[place], _read(there / f"{number}.json")
            if answer is not None:
                yield place, answer
                continue
            tail = "\n".join(log.strip().splitlines()[-TAIL_LINES:]) or "it wrote nothing"
            crashed = f"{tail}\nthe worker gave no answer; its status: {code}"
            yield place, Capture(job.scenario, job.side, self.provenance, {}, crashed)

    def told(self, crashed: str) -> str:
        """The last lines of a job without the folders it ran in."""
        return without_folders(
            crashed, {str(self.side.folder): "<tree>", self.folder.name: "<run>", str(HERE.parent): "<porttool>"}
        )

    def end(self) -> None:
        """Stop the worker and what it forked, and take its folder away; harmless where both are gone."""
        self._kill()
        self.folder.cleanup()

    def _kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class _Done:
    """Tells of each job once its answer is there, whichever worker it is of."""

    def __init__(self, running: Sequence[_Running], report: Callable[[str], None]) -> None:
        self._left = [(one, number) for one in running for number in range(len(one.places))]
        self._report = report

    def look(self) -> None:
        there = [(one, number) for one, number in self._left if Path(one.folder.name, f"{number}.json").is_file()]
        for one, number in there:
            self._left.remove((one, number))
            self._report(f"captured {one.jobs[one.places[number]].scenario} of {one.side.ref}")


def import_seconds(side: Checkout, job: Job, stack: Stack) -> float:
    """How long a fresh process of the side takes to import its own trainer module: what a capture is measured by."""
    trainer = job.subject["trainer"].rpartition(".")[0]
    command = [stack.python, "-c", _IMPORT, str(side.folder), str(HERE.parent), trainer]
    with tempfile.TemporaryDirectory() as cwd:
        began = time.perf_counter()
        ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=clean_environment())
        took = time.perf_counter() - began
    if ended.returncode:
        raise EnvironmentFault(f"{trainer} does not import: {ended.stderr.strip().splitlines()[-1]}", str(side.folder))
    return took


_IMPORT = """
import sys
sys.path[:0] = sys.argv[1:3]
from parity.standin.absent import prepare
prepare()
__import__(sys.argv[3])
"""


def clean_environment() -> dict[str, str]:
    """What a worker sees of ours: where to find programs, nothing that steers Python, CUDA, Ray or a proxy."""
    kept = {name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0", "PYTHONNOUSERSITE": "1"}


def _cached(cache: Path, key: str, here: Mapping[str, str]) -> Capture | None:
    """The capture of that key; it says by which ref and commit it was asked for this time."""
    told = _read(cache / "captures" / f"{key}.json")
    if told is None:
        return None
    provenance = dict(told.provenance)
    # A file that was copied to another's name is no capture of this key.
    return replace(told, provenance={**provenance, **here}) if provenance.pop(_KEY, "") == key else None


def _read(file: Path) -> Capture | None:
    """The capture in a file; half a file, or one that a driver spoilt, is none."""
    try:
        return from_json(file.read_text(encoding="utf-8")) if file.is_file() else None
    except ValueError:
        return None


def keep(cache: Path, key: str, told: Capture) -> None:
    """Put a capture into the cache, whole or not at all."""
    text = to_json(replace(told, provenance={**told.provenance, _KEY: key}))
    write_atomic(cache / "captures" / f"{key}.json", text.encode())
