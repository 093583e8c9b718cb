"""From what verl logs to the columns of a series."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# verl's names of what every series has.
NAMES: Mapping[str, str] = {
    "critic/score/mean": "score",
    "actor/loss": "loss",
    "actor/pg_loss": "pg_loss",
    "actor/ppo_kl": "ppo_kl",
    "actor/entropy": "entropy",
    "actor/grad_norm": "grad_norm",
    "actor/lr": "lr",
    "response_length/mean": "response_length",
    "perf/total_num_tokens": "tokens",
}
# Not compared: what a clock or the machine says differs between two runs of one tree.
MEASURED: Mapping[str, str] = {
    "timing_s/": "a clock",
    "timing_per_token_ms/": "a clock",
    "perf/time_per_step": "a clock",
    "perf/throughput": "tokens by a clock",
    "perf/mfu/": "operations by a clock",
    "perf/max_memory": "the machine",
    "perf/cpu_memory": "the machine",
}
VALIDATION = "val-"


def step_of(told: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of one step; `told` is a line of the trainer's process."""
    columns: dict[str, Any] = {}
    for name, value in told["metrics"].items():
        if not name.startswith((VALIDATION, *MEASURED)):
            columns[NAMES.get(name, name)] = value
    server = told["server"]
    columns["updates"] = server["updates"]
    if server["first_ratio"] is not None:
        columns["first_ratio"] = server["first_ratio"]
    columns["digest/weights"] = server["weights"]
    columns.update((f"digest/{name}", value) for name, value in told["digests"].items())
    return columns


def validation_of(told: Mapping[str, Any]) -> dict[str, Any]:
    """What verl's validation said, where the step had one."""
    return {name: value for name, value in told["metrics"].items() if name.startswith(VALIDATION)}


def seconds_of(told: Mapping[str, Any]) -> float:
    """What verl says the step took."""
    return float(told["metrics"]["timing_s/step"])
