"""Runs made up for the tests of the comparison."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import lru_cache

from parity.smoke.series import SHOWN, Series, leaves

PLAIN = {
    "score": 0.25,
    "loss": 0.125,
    "pg_loss": 0.0625,
    "ppo_kl": 0.001,
    "entropy": 0.19,
    "grad_norm": 1.5,
    "lr": 1e-3,
    "first_ratio": 1.0,
    "response_length": 4.5,
    "tokens": 96,
    "updates": 1,
}
assert tuple(PLAIN) == SHOWN


def run(*changes, side="source", seed=1, steps=4, scenario="plain", env="1", crashed="", variance=0.25):
    """A run whose metrics move a little.

    `changes` are (step from 1, metric, value): step 0 is the validation, the value None removes.
    """
    moving = ("score", "entropy", "grad_norm")
    table = [
        {name: value + 0.01 * step if name in moving else value for name, value in PLAIN.items()}
        for step in range(steps)
    ]
    told = {"reward": 0.5, "answered": 8}
    for step, name, value in changes:
        place = table[step - 1] if step else told
        if value is None:
            del place[name]
        else:
            place[name] = value
    spread = variance if isinstance(variance, tuple) else (variance,) * steps
    environment = {"env.torch": env, "commit": side}
    return Series(scenario, side, seed, environment, tuple(map(leaves, table)), leaves(told), spread, (), crashed)


def target(*changes, **told):
    """A run of the other side."""
    return run(*changes, side="target", **told)


def noisy(rng: random.Random, *, side="source", seed=1, steps=4, shift=0.0, metrics=("loss", "entropy", "grad_norm")):
    """A run with normal noise of deviation 0.01 in some metrics; `shift` is added to the entropy."""
    still = {name: PLAIN[name] + (shift if name == "entropy" else 0.0) for name in metrics}
    plain = _still(side, seed, steps)
    rows = [
        {**row, **leaves({name: value + rng.gauss(0, 0.01) for name, value in still.items()})} for row in plain.steps
    ]
    return replace(plain, steps=tuple(rows))


@lru_cache
def _still(side, seed, steps):
    return run(side=side, seed=seed, steps=steps)


def noisy_runs(count=5, start=0, **told):
    """A/A runs of the source."""
    rng = random.Random(start)
    return [noisy(rng, **told) for _ in range(count)]
