"""What one training run says about itself: the metrics of each step, exact to the bit, and the validation after it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parity.record import Key, Leaf, leaf

# The names a reader knows, in the order in which they are shown. A trainer's other metrics stand beside them.
SHOWN = (
    "score",  # mean reward of the step's responses
    "loss",
    "pg_loss",
    "ppo_kl",
    "entropy",
    "grad_norm",  # before clipping
    "lr",  # after the step
    "first_ratio",  # mean of exp(new - old log-prob) before the step's first update
    "response_length",  # tokens
    "tokens",  # of the whole batch
    "updates",  # optimizer steps of this training step
)


@dataclass(frozen=True)
class Series:
    """One run of one side. `steps[k]` holds the metrics of training step k+1; `seconds[k]` its time (not compared).

    `variance` is the variance of the rewards of each step: where it is 0 in all steps, nothing was learnt and
    nothing can be compared. `crashed` holds the last lines of a run that did not finish.
    """

    scenario: str
    side: str
    seed: int
    provenance: Mapping[str, str]
    steps: tuple[Mapping[Key, Leaf], ...]
    validation: Mapping[Key, Leaf]
    variance: tuple[float, ...] = ()
    seconds: tuple[float, ...] = ()
    crashed: str = ""

    def column(self, name: Key) -> list[float | None]:
        """One metric over the steps; None where a step does not have it, or it is no number."""
        return [step[name].number() if name in step else None for step in self.steps]

    def names(self) -> tuple[Key, ...]:
        """Every metric of any step: those that are shown first, the others in the order of their names."""
        found = {name for step in self.steps for name in step}
        return (*(name for name in SHOWN if name in found), *sorted(found.difference(SHOWN)))

    def digest(self) -> str:
        """sha256 over every bit that is compared: steps and validation."""
        told = [_plain(step) for step in self.steps], _plain(self.validation)
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def leaves(values: Mapping[str, Any]) -> dict[Key, Leaf]:
    """Metrics as leaves. Raises TypeError on what is no mapping of names to scalars."""
    if not isinstance(values, Mapping):
        raise TypeError(f"metrics are {type(values).__name__}; wanted is {{name: value}}")
    odd = next((name for name in values if not isinstance(name, str)), None)
    if odd is not None:
        raise TypeError(f"a metric is called {odd!r}, which is not a string")
    return {name: leaf(value) for name, value in values.items()}


class Writer:
    """A run writes its steps as it goes, `steps.jsonl`, and itself at the end, `series.json`: whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._steps: list[Mapping[Key, Leaf]] = []
        self._variance: list[float] = []
        self._seconds: list[float] = []

    @property
    def count(self) -> int:
        """Steps told so far."""
        return len(self._steps)

    def step(self, values: Mapping[str, Any], *, variance: float, seconds: float) -> None:
        """One finished training step; who watches the run reads it from the file at once.

        Raises TypeError on a value that is no scalar, and ValueError on a step that says nothing.
        """
        told = leaves(values)
        if not told:
            raise ValueError(f"step {len(self._steps) + 1} has no metric")
        variance, seconds = float(variance), float(seconds)
        self._steps.append(told)
        self._variance.append(variance)
        self._seconds.append(seconds)
        line = json.dumps({"step": _plain(told), "variance": variance.hex(), "seconds": seconds})
        with open(self.folder / "steps.jsonl", "a", encoding="utf-8") as file:
            file.write(line + "\n")

    def done(self, about: Series, validation: Mapping[str, Any]) -> Series:
        """The whole run, written: `about` gives all but what was told step by step."""
        told = Series(
            about.scenario,
            about.side,
            about.seed,
            about.provenance,
            tuple(self._steps),
            leaves(validation),
            tuple(self._variance),
            tuple(self._seconds),
        )
        write(told, self.folder / "series.json")
        return told


def write(told: Series, file: Path) -> None:
    """Write a series whole or not at all."""
    partial = file.with_name(f".{file.name}.{os.getpid()}.part")
    partial.write_text(to_json(told), encoding="utf-8")
    partial.replace(file)


def to_json(told: Series) -> str:
    """A stable, diffable text: one step a line."""
    rows: Sequence[str] = [json.dumps(_plain(step), sort_keys=True) for step in told.steps]
    head = {"scenario": told.scenario, "side": told.side, "seed": told.seed, "crashed": told.crashed}
    lines = ["{", *(f"  {json.dumps(name)}: {json.dumps(value)}," for name, value in head.items())]
    lines += [f'  "provenance": {json.dumps(dict(sorted(told.provenance.items())), indent=1)},']
    lines += ['  "steps": [', ",\n".join(f"    {row}" for row in rows), "  ],"]
    lines += [f'  "validation": {json.dumps(_plain(told.validation), sort_keys=True)},']
    lines += [f'  "variance": {json.dumps([value.hex() for value in told.variance])},']
    lines += [f'  "seconds": {json.dumps(list(told.seconds))}', "}", ""]
    return "\n".join(lines)


def from_json(text: str) -> Series:
    """The series that `to_json` wrote. Raises ValueError on anything else."""
    try:
        told = json.loads(text)
        return Series(
            str(told["scenario"]),
            str(told["side"]),
            int(told["seed"]),
            dict(told["provenance"]),
            tuple(_leaves(step) for step in told["steps"]),
            _leaves(told["validation"]),
            tuple(float.fromhex(value) for value in told["variance"]),
            tuple(float(value) for value in told["seconds"]),
            str(told["crashed"]),
        )
    except (AttributeError, KeyError, TypeError, IndexError, OverflowError, RecursionError) as error:
        raise ValueError(f"not a series: {error!r}") from error


def steps_so_far(folder: Path) -> list[Mapping[Key, Leaf]]:
    """The steps that a running or interrupted run has finished; a half-written last line is not one."""
    file = folder / "steps.jsonl"
    if not file.is_file():
        return []
    lines = file.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]
    found: list[Mapping[Key, Leaf]] = []
    for line in lines:
        try:
            found.append(_leaves(json.loads(line)["step"]))
        except (AttributeError, KeyError, TypeError, IndexError, ValueError):  # not a line of ours
            break
    return found


def _plain(values: Mapping[Key, Leaf]) -> dict[Key, list[Any]]:
    return {name: [value.type, value.value] for name, value in values.items()}


def _leaves(values: Mapping[str, Sequence[Any]]) -> dict[Key, Leaf]:
    found = {name: Leaf(row[0], row[1]) for name, row in values.items()}
    for held in found.values():
        held.number()  # what is called a number is one
    return found
