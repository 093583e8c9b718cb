"""Mutants that no test can notice, each with the sentence that says why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.mutants.mutate import Mutant

FILE = Path(__file__).with_name("equivalent.yaml")


class Explained:
    """The explanations of a file, and which of them a run has needed."""

    def __init__(self, file: Path = FILE) -> None:
        self._why: dict[Mutant, str] = {}
        self.wrong: list[str] = []
        for module, told in (yaml.safe_load(file.read_text(encoding="utf-8")) or {}).items():
            for one in told:
                for mutant in _mutants(module, one):
                    if not str(one.get("why") or "").strip():
                        self.wrong.append(f"no reason is given for {_told(mutant)}")
                    if mutant in self._why:
                        self.wrong.append(f"explained twice: {_told(mutant)}")
                    self._why[mutant] = one.get("why", "")

    def why(self, mutant: Mutant) -> str:
        """The sentence about a mutant, "" where there is none."""
        return self._why.get(mutant, "")

    def stale(self, modules: Sequence[str], mutants: Sequence[Mutant], survived: Sequence[Mutant]) -> Iterator[str]:
        """Explanations of mutants of some modules that are not there any more, or that a test kills."""
        there, alive = set(mutants), set(survived)
        for mutant in self._why:
            if mutant.module in modules and mutant not in there:
                yield f"explained, but not there: {_told(mutant)}"
            elif mutant.module in modules and mutant not in alive:
                yield f"explained, but killed: {_told(mutant)}"


def _mutants(module: str, told: dict[str, Any]) -> Iterator[Mutant]:
    changes = told["change"] if isinstance(told["change"], list) else [told["change"]]
    for change in changes:
        yield Mutant(module, told["function"], told["line"], change, told.get("number", 1))


def _told(mutant: Mutant) -> str:
    twin = f" (number {mutant.number})" if mutant.number > 1 else ""
    return f"{mutant.module} {mutant.function or 'at the top'}: {mutant.change}{twin}\n    {mutant.source}"
