"""Runs that look like a trainer's: six steps of eleven metrics, some of them going astray."""

from __future__ import annotations

import math
from dataclasses import replace

from parity.smoke.compare import Told, compared
from parity.smoke.page_shown import Shown
from parity.smoke.series import Series, leaves

PROVENANCE = {"env.torch": "2.9.0", "env.verl": "0.7.1", "env.device": "cpu"}


def steps(count=6, seed=1):
    """Metrics by step, as a small run has them."""
    found = []
    for k in range(count):
        wave = math.sin(1.7 * k + seed)
        found.append(
            {
                "score": round(0.25 + 0.5 * k / count + 0.06 * wave, 4),
                "loss": 0.0123 * wave + 0.002,
                "pg_loss": 0.0119 * wave,
                "ppo_kl": abs(0.00021 * wave) * (k > 0),
                "entropy": 0.2031 - 0.0042 * k + 0.0017 * wave,
                "grad_norm": 1.31 + 0.22 * wave,
                "lr": min(1.0, k / 2) * 2e-6,
                "first_ratio": 1.0,
                "response_length": 11.5 + 2 * wave,
                "tokens": 412 + 8 * k,
                "updates": 1,
                "clip_share": 0.01 * k,
            }
        )
    return found


def run(side="source", rows=None, *, scenario="plain", seed=1, score=0.5, crashed="", **provenance):
    """One run of a side."""
    rows = steps(seed=seed) if rows is None else rows
    about = {
        "ref": f"main-{side}",
        "commit": side[0].encode().hex() * 20,
        "tree": "0" * 40,
        **PROVENANCE,
        **provenance,
    }
    return Series(
        scenario,
        side,
        seed,
        about,
        tuple(leaves(row) for row in rows),
        leaves({"val/score": score, "val/length": 12}),
        (0.1,) * len(rows),
        (1.5,) * len(rows),
        crashed,
    )


def astray(count=6, start=3, seed=1):
    """The same metrics, entropy and KL going away from a step on."""
    rows = steps(count, seed)
    for k in range(start - 1, count):
        rows[k]["entropy"] += 0.05 * (k - start + 2)
        rows[k]["ppo_kl"] += 0.0004
        rows[k]["loss"] += 1e-9
    return rows


def shown(left=None, right=None, told=None, **more):
    """The comparison of two runs, or of several a side, as it is shown."""
    left = left if isinstance(left, tuple) else (left or run(),)
    right = right if isinstance(right, tuple) else (right or run("target"),)
    return Shown(compared(left, right, told or Told(windows=3)), left, right, **more)


def matching(**more):
    """Two equal runs."""
    return shown(**more)


def differing(**more):
    """Two runs that part at step 3."""
    return shown(run(), run("target", astray(), score=0.4375), **more)


def renamed(one, **more):
    """The same with something else about it."""
    return replace(one, **more)
