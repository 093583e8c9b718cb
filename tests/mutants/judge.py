"""One mutant after the other, each in a fork of a process that has collected the tests and found them green.

A mutant inside a function takes the place of that function's code in the fork, so nothing is imported again, and only
the tests that run its lines are run. One at the top of a module needs a fork in which the project is not imported yet.
"""

from __future__ import annotations

import gc
import importlib
import importlib.abc
import importlib.util
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NoReturn

import pytest

from tests.mutants.mutate import Mutant, Mutated

ROOT = Path(__file__).resolve().parents[2]
# How much more processor time than all the tests together a mutant may take, and what it may take in any case.
_PATIENCE, _FLOOR_S = 5.0, 0.5
_AT_THE_TOP_S = 300.0
_MEMORY = 4 << 30
_OURS = ("porttool", "parity", "tests")
_SURVIVED, _KILLED, _FOREIGN = 0, 1, 2
_OPTIONS = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header")


class Unfit(Exception):
    """The tests cannot judge: they fail without any mutant."""


@dataclass(frozen=True)
class Target:
    """Modules, and the test files that have to notice every change of them."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


Say = Callable[[int, Any], None]


def judge(target: Target, mutated: Mapping[str, Mutated], mutants: Sequence[Mutant], jobs: int = 1) -> Iterator[int]:
    """The places of the mutants that survive. Raises Unfit where the tests fail as they are."""
    places = range(len(mutants))
    parts = [part for part in (places[job::jobs] for job in range(jobs)) if part]
    for answers in [_forked(partial(_judge, target, mutated, mutants, part)) for part in parts]:
        for place, why in answers:
            if place < 0:
                raise Unfit(f"the tests of {', '.join(target.modules)} cannot judge: {why}")
            yield place


def _judge(
    target: Target, mutated: Mapping[str, Mutated], mutants: Sequence[Mutant], part: Sequence[int], say: Say
) -> None:
    for name in target.modules:
        importlib.import_module(name)
    _forget()
    inside = [place for place in part if mutants[place].first]
    if inside:
        chosen = [mutants[place] for place in inside]
        for number, why in _forked(partial(_session, target, mutated, chosen)):
            say(inside[number] if number >= 0 else number, why)
            if number < 0:
                return
    for place in part:
        if not mutants[place].first and not _killed_at_the_top(target, mutated, mutants[place]):
            say(place, "")


def _forked(work: Callable[[Say], None]) -> Iterator[tuple[int, Any]]:
    """What a forked process says, from now on, to be read when there is time for it."""
    reads, writes = os.pipe()
    child = os.fork()
    if child:
        os.close(writes)
        return _answers(reads, child)
    # Whatever happens, it may not go on as the process that it was forked from.
    try:
        os.close(reads)
        with os.fdopen(writes, "w", buffering=1) as pipe:
            work(lambda place, why: print(json.dumps([place, why]), file=pipe, flush=True))
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _answers(reads: int, child: int) -> Iterator[tuple[int, Any]]:
    with os.fdopen(reads) as pipe:
        for line in pipe:
            yield tuple(json.loads(line))
    if os.waitpid(child, 0)[1]:
        yield -1, "their process was ended"


def _session(target: Target, mutated: Mapping[str, Mutated], mutants: Sequence[Mutant], say: Say) -> None:
    with tempfile.TemporaryDirectory(prefix="porttool-mutants-") as folder:
        _quiet()
        loop = _Loop(mutated, mutants, Path(folder), say)
        code = _pytest(target, Path(folder), [loop])
        if not loop.judged:
            say(-1, f"{loop.failed} fails" if loop.failed else f"pytest ends with {code}")


def _pytest(target: Target, folder: Path, plugins: list[object], *more: str) -> int:
    options = (*_OPTIONS, f"--rootdir={ROOT}", f"--basetemp={folder / 'tmp'}", *more)
    os.chdir(ROOT)
    return int(pytest.main([*options, *(str(ROOT / test) for test in target.tests)], plugins))


@dataclass(eq=False)
class _Loop:
    """Stands in place of pytest's loop over the tests: first all as they are, then some for each mutant."""

    mutated: Mapping[str, Mutated]
    mutants: Sequence[Mutant]
    folder: Path
    say: Say
    failed: str = ""
    judged: bool = False
    _in_fork: int = -1
    _answers: int = -1
    _ran: dict[int, set[tuple[str, int]]] = field(default_factory=dict)
    _cost: dict[int, float] = field(default_factory=dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and self._in_fork >= 0:
            os.write(self._answers, self._in_fork.to_bytes(4, "little"))
            os._exit(_KILLED)
        if report.failed:
            self.failed = self.failed or report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid or str(report.longrepr)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if self.failed or not session.items:
            return True
        # Drawn examples would kill a mutant on one day and not on the next.
        session.items[:] = [item for item in session.items if not _draws(item)]
        before = os.times()
        self._run_all(session.items)
        after = os.times()
        if self.failed:
            return True
        used = sum(after[:4]) - sum(before[:4])
        functions = _functions({mutated.file for mutated in self.mutated.values()})
        seconds = _PATIENCE * used + _FLOOR_S
        gc.freeze()
        killers: dict[tuple[str, int], list[int]] = {}
        for number, mutant in enumerate(self.mutants):
            file = self.mutated[mutant.module].file
            tests = [test for test, ran in self._ran.items() if any((file, line) in ran for line in mutant.lines)]
            known = killers.setdefault((file, mutant.first), [])
            # What killed a mutant of this function is likely to kill the next; then the short ones.
            tests.sort(key=lambda test: (known.index(test) if test in known else len(known), self._cost[test]))
            killer = self._fork(mutant, functions.get((file, mutant.first), []), session.items, tests, seconds)
            if killer is not None and killer in tests:
                known[:] = [killer, *(one for one in known if one != killer)]
            if killer is None:
                self.say(number, "")
        self.judged = True
        return True

    def _run_all(self, items: Sequence[pytest.Item]) -> None:
        files = {mutated.file for mutated in self.mutated.values()}
        for number, item in enumerate(items):
            ran = self._ran.setdefault(number, set())
            following = items[number + 1] if number + 1 < len(items) else None
            start = time.process_time()
            with _traced(files, ran):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            self._cost[number] = time.process_time() - start

    def _fork(
        self,
        mutant: Mutant,
        functions: Sequence[FunctionType],
        items: Sequence[pytest.Item],
        tests: Sequence[int],
        seconds: float,
    ) -> int | None:
        """The number of the test that killed a mutant, -1 where it died of itself; None where it survived."""
        if not tests:
            return None
        reads, writes = os.pipe()
        child = os.fork()
        if not child:
            self._answers = writes
            self._try(mutant, functions, items, tests, seconds)
        os.close(writes)
        with os.fdopen(reads, "rb") as pipe:
            told = pipe.read()
        status = os.waitpid(child, 0)[1]
        for left in (self.folder / "tmp").glob("*"):
            shutil.rmtree(left, ignore_errors=True) if not left.is_symlink() else left.unlink()
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == _FOREIGN:
            raise Unfit(f"no code was found to put {mutant} in")
        if status == 0:
            return None
        return int.from_bytes(told, "little") if told else -1

    def _try(
        self,
        mutant: Mutant,
        functions: Sequence[FunctionType],
        items: Sequence[pytest.Item],
        tests: Sequence[int],
        seconds: float,
    ) -> NoReturn:
        _limit(seconds)
        code = _code_at(self.mutated[mutant.module].code(mutant), mutant.first)
        if not functions or code is None:
            os._exit(_FOREIGN)
        for function in functions:
            function.__code__ = code
        for place, test in enumerate(tests):
            self._in_fork = test
            following = items[tests[place + 1]] if place + 1 < len(tests) else None
            items[test].config.hook.pytest_runtest_protocol(item=items[test], nextitem=following)
        os._exit(_SURVIVED)


def _killed_at_the_top(target: Target, mutated: Mapping[str, Mutated], mutant: Mutant) -> bool:
    """Whether tests fail where a module is imported with a mutant outside its functions."""
    folder = tempfile.mkdtemp(prefix="porttool-mutants-")
    child = os.fork()
    if not child:
        _quiet()
        _limit(_AT_THE_TOP_S)
        sys.meta_path.insert(0, _Finder(mutated[mutant.module], mutant))
        os._exit(_SURVIVED if _pytest(target, Path(folder), [], "-x") == 0 else _KILLED)
    status = os.waitpid(child, 0)[1]
    shutil.rmtree(folder, ignore_errors=True)
    return status != 0


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module with one change."""

    def __init__(self, mutated: Mutated, mutant: Mutant) -> None:
        self._mutated = mutated
        self._mutant = mutant

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> Any:
        if fullname != self._mutated.module:
            return None
        return importlib.util.spec_from_file_location(fullname, self._mutated.file, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(self._mutated.code(self._mutant), module.__dict__)


@dataclass(frozen=True)
class _traced:  # noqa: N801 - used as a word
    """Notes the lines of some files that are run."""

    files: set[str]
    ran: set[tuple[str, int]]

    def _call(self, frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename not in self.files:
            return None
        self.ran.add((frame.f_code.co_filename, frame.f_lineno))
        return self._call

    def __enter__(self) -> None:
        threading.settrace(self._call)
        sys.settrace(self._call)

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]


def _draws(item: pytest.Item) -> bool:
    return bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))


def _functions(files: set[str]) -> dict[tuple[str, int], list[FunctionType]]:
    found: dict[tuple[str, int], list[FunctionType]] = {}
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__.co_filename in files:
            found.setdefault((one.__code__.co_filename, one.__code__.co_firstlineno), []).append(one)
    return found


def _code_at(code: CodeType, first: int) -> CodeType | None:
    """The code of the function that starts at a line, in its module or in a class of it."""
    for constant in code.co_consts:
        if not isinstance(constant, CodeType):
            continue
        if constant.co_firstlineno == first and constant.co_name[0] != "<" and constant.co_flags & 2:
            return constant
        found = _code_at(constant, first)
        if found is not None:
            return found
    return None


def _forget() -> None:
    """Unload the project, so that a fork imports it anew; what it is built on stays."""
    for name in list(sys.modules):
        if name.partition(".")[0] in _OURS:
            del sys.modules[name]


def _quiet() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _limit(seconds: float) -> None:
    """A mutant that runs for ever, or eats all memory, is ended and counts as killed."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
