"""One batch of examples of one law, in this process: what was tried, and each problem, as small as it gets."""

from __future__ import annotations

import contextlib
import faulthandler
import time
import traceback
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Flaky, UnsatisfiedAssumption

from tests.soak.cases import CHECKED, Case, Law, Violation, told
from tests.soak.pick import Pick, Rejected, shrunk
from tests.soak.reduce import reduced

BLOCK = 400  # examples of one call of hypothesis
ALIKE = 3  # problems of one origin that are shrunk and kept; the others are counted
HANGS = 120  # seconds of one example after which the process is ended


class TooSlow(AssertionError):
    """An example took more processor time than its law allows."""


@dataclass
class Problem:
    """An example for which a law does not hold, or which ends otherwise than it should."""

    law: str
    origin: str
    text: str
    example: str
    count: int = 1


@dataclass
class Tally:
    """What a batch saw: examples checked and refused, the slowest, and problems by origin."""

    law: str
    checked: int = 0
    refused: int = 0
    slowest: float = 0.0
    seconds: float = 0.0
    problems: list[Problem] = field(default_factory=list)

    def told(self) -> dict[str, Any]:
        return asdict(self)


class Batch:
    """Runs examples of one law until the time or their number is over; a problem does not stop it."""

    def __init__(self, law: Law, mark: Path | None = None) -> None:
        self.law = law
        self.tally = Tally(law.name)
        self._found: dict[str, Problem] = {}
        self._mark: IO[bytes] | None = open(mark, "w+b", buffering=0) if mark else None  # noqa: SIM115

    def run(self, first_seed: int, seconds: float, examples: int) -> Tally:
        """Blocks of examples with seeds from `first_seed` on."""
        started = time.monotonic()
        while self._done < examples and (left := seconds - (time.monotonic() - started)) > 0:
            # The first block tells how many fit.
            pace = (time.monotonic() - started) / self._done if self._done else 0.0
            fits = int(left / pace) + 1 if pace else 20
            block = self._drawn if self.law.make is None else self._made
            block(first_seed, min(BLOCK, fits, examples - self._done))
            for problem in self._found.values():
                self.tally.problems.append(problem)
            self._found = {}
            first_seed += 1
        self.tally.seconds = time.monotonic() - started
        faulthandler.cancel_dump_traceback_later()
        return self.tally

    @property
    def _done(self) -> int:
        return self.tally.checked + self.tally.refused

    def _made(self, block_seed: int, examples: int) -> None:
        """Examples made of choices; those of a problem are made fewer and smaller."""
        for number in range(examples):
            pick = Pick(block_seed * 1_000_003 + number)
            try:
                case = self._case(pick)
                if case is not None:
                    self._try(case)
            except Exception as fault:
                origin = origin_of(fault)
                fewer = shrunk(pick.made, lambda choices, o=origin: self._origin_of_choices(choices) == o)
                self._again(fewer)
                self.tally.problems += self._found.values()
                self._found = {}

    def _case(self, pick: Pick) -> Case | None:
        assert self.law.make is not None
        try:
            return self.law.make(pick)  # type: ignore[no-any-return]
        except Rejected:
            return None

    def _origin_of_choices(self, choices: list[int]) -> str:
        case = self._case(Pick(before=choices))
        return self._origin(case) if case is not None else ""

    def _again(self, choices: list[int]) -> None:
        """Try the smallest example once more, so that it is the one that is kept."""
        case = self._case(Pick(before=choices))
        with contextlib.suppress(Exception):
            if case is not None:
                self._try(case)

    def _drawn(self, block_seed: int, examples: int) -> None:
        """Examples drawn and shrunk by hypothesis."""
        told_ = settings(
            max_examples=max(examples, 1),
            deadline=None,
            database=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            print_blob=False,
        )

        @seed(block_seed)
        @told_
        @given(self.law.cases)
        def tried(case: Case) -> None:
            self._try(case)

        try:
            tried()
        except (KeyboardInterrupt, UnsatisfiedAssumption):
            raise
        except BaseException as fault:
            if not self._found or isinstance(fault, Flaky):
                self._keep(f"flaky {type(fault).__name__}", traceback.format_exc(), None)

    def _try(self, case: Case) -> None:
        if self._mark is not None:
            self._mark.seek(0)
            self._mark.truncate()
            self._mark.write(told(case).encode("utf-8", "surrogateescape"))
            faulthandler.dump_traceback_later(HANGS, exit=True)
        started = time.process_time()
        try:
            answer = self.law.check(case)
        except Exception as fault:
            origin = origin_of(fault)
            if self._known(origin):
                return
            self._keep(origin, "".join(traceback.format_exception(fault)[-12:]), self._reduced(case, origin))
            raise
        finally:
            spent = time.process_time() - started
            self.tally.slowest = max(self.tally.slowest, spent)
        self.tally.checked += answer == CHECKED
        self.tally.refused += answer != CHECKED
        if spent > self.law.seconds and not self._known("slow"):
            self._keep("slow", f"{spent:.1f} s of processor time", case)

    def _reduced(self, case: Case, origin: str) -> Case:
        return reduced(case, lambda other: self._origin(other) == origin) if self.law.make is not None else case

    def _origin(self, case: Case) -> str:
        try:
            self.law.check(case)
        except Exception as fault:
            return origin_of(fault)
        return ""

    def _known(self, origin: str) -> bool:
        """Whether enough examples of a problem are kept; counts it then."""
        alike = [problem for problem in self.tally.problems if problem.origin == origin]
        if len(alike) < ALIKE:
            return False
        alike[0].count += 1
        return True

    def _keep(self, origin: str, text: str, case: Case | None) -> None:
        """The last example that is kept of an origin is the one that hypothesis could not make any smaller."""
        problem = Problem(self.law.name, origin, text, told(case) if case is not None else "")
        if origin == "slow":
            self.tally.problems.append(problem)
        else:
            self._found[origin] = problem


def origin_of(fault: BaseException) -> str:
    """What makes two faults one problem: their kind and the line they come from."""
    rule = f" {fault.rule}" if isinstance(fault, Violation) else ""
    frame = traceback.extract_tb(fault.__traceback__)[-1]
    return f"{type(fault).__name__}{rule} {Path(frame.filename).name}:{frame.lineno}"


