"""Batches in child processes, one law after the other, until the time is over."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from tests.soak.cases import Case, Law, read, told
from tests.soak.child import EXAMPLE
from tests.soak.reduce import reduced
from tests.soak.tries import HANGS, Problem, Tally

ROOT = Path(__file__).resolve().parents[2]
BATCH = 20.0  # seconds
Tell = Callable[[str], None]


@dataclass
class Found:
    """Everything that a run saw: totals by law, and problems."""

    folder: Path
    totals: dict[str, Tally] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    crashes: list[Problem] = field(default_factory=list)

    def add(self, tally: Tally) -> None:
        """Count a batch, and write its problems down."""
        whole = self.totals.setdefault(tally.law, Tally(tally.law))
        whole.checked += tally.checked
        whole.refused += tally.refused
        whole.seconds += tally.seconds
        whole.slowest = max(whole.slowest, tally.slowest)
        for problem in tally.problems:
            self.problems.append(problem)
            self.write(problem)

    def write(self, problem: Problem) -> Path:
        """The file that shows a problem; `--example` tries it again."""
        digest = hashlib.sha1(problem.example.encode("utf-8", "surrogateescape")).hexdigest()[:10]
        file = self.folder / f"{problem.law}-{digest}.txt"
        head = f"{problem.law}: {problem.origin} (seen {problem.count} times)\n\n"
        text = f"{head}{problem.text}{EXAMPLE}{problem.example}\n"
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
        return file

    @property
    def table(self) -> list[str]:
        """Lines for people: examples by law."""
        rows = [f"{'law':12}{'checked':>10}{'refused':>10}{'problems':>10}{'slowest':>10}{'seconds':>10}"]
        for law, whole in self.totals.items():
            bad = sum(problem.count for problem in (*self.problems, *self.crashes) if problem.law == law)
            rows.append(
                f"{law:12}{whole.checked:>10}{whole.refused:>10}{bad:>10}{whole.slowest:>9.2f}s{whole.seconds:>10.0f}"
            )
        every = self.totals.values()
        rows.append(f"{'all':12}{sum(w.checked for w in every):>10}{sum(w.refused for w in every):>10}")
        return rows


def child(*arguments: str, seconds: float) -> subprocess.CompletedProcess[bytes]:
    """Run a child; one that does not end in time is killed, and has the exit code of that."""
    command = [sys.executable, "-m", "tests.soak.child", *arguments]
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as over:
        return subprocess.CompletedProcess(command, -9, over.stdout or b"", over.stderr or b"")


def batch(law: Law, seed: int, seconds: float, examples: int, mark: Path, found: Found, lock: Lock) -> None:
    """One batch of a law in a child of its own."""
    # Shrinking goes on after the time is over, for five minutes at most.
    ran = child(law.name, str(seed), str(seconds), str(examples), str(mark), seconds=seconds + 420 + HANGS)
    if ran.returncode == 0:
        told_ = json.loads(ran.stdout)
        problems = [Problem(**problem) for problem in told_.pop("problems")]
        with lock:
            found.add(Tally(**told_, problems=problems))
        return
    problem = _crashed(law, ran, mark)
    with lock:
        found.totals.setdefault(law.name, Tally(law.name))
        found.crashes.append(problem)
        found.write(problem)


def _crashed(law: Law, ran: subprocess.CompletedProcess[bytes], mark: Path) -> Problem:
    """What a child that ended early was at, cut down as far as children still crash."""
    text = ran.stderr[-6000:].decode("utf-8", "replace")
    raw = mark.read_bytes() if mark.exists() else b""
    if not raw:
        return Problem(law.name, f"exit {ran.returncode} before any example", text, "")
    case = read(raw.decode("utf-8"))
    probe = mark.with_suffix(".probe")

    def crashes(other: Case) -> bool:
        probe.write_text(told(other))
        again = child(law.name, "--example", str(probe), seconds=HANGS)
        return again.returncode < 0 or b"Fatal Python error" in again.stderr

    if crashes(case):
        case = reduced(case, crashes, seconds=60)
    return Problem(law.name, f"exit {ran.returncode}", text, told(case))


def run(laws: Sequence[Law], seed: int, minutes: float, workers: int, folder: Path, tell: Tell) -> Found:
    """Rounds of batches over all laws, each with seeds of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    found, lock = Found(folder), Lock()
    end = time.monotonic() + minutes * 60
    batch_number = 0

    def work(worker: int) -> None:
        nonlocal batch_number
        mark = folder / f"worker-{worker}.mark"
        while (left := end - time.monotonic()) > 0:
            with lock:
                number, batch_number = batch_number, batch_number + 1
            law = laws[number % len(laws)]
            batch(law, seed * 1_000_003 + number * 1000, min(BATCH, left), 10**9, mark, found, lock)
            with lock:
                whole = found.totals[law.name]
                bad = f"{len(found.problems)} problems, {len(found.crashes)} crashes"
                tell(f"{law.name}: {whole.checked} checked, {whole.refused} refused; in all {bad}")
        mark.unlink(missing_ok=True)
        mark.with_suffix(".probe").unlink(missing_ok=True)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, range(workers)))
    return found
