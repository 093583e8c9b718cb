"""What a process of a training run is given before it imports anything: absent modules, and hooks after real ones.

Only the standard library is imported here: Ray's own processes pass through too.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.machinery
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from parity.standin import absent

# Where a process finds what the run is; it also marks every process that belongs to the run.
VARIABLE = "PARITY_TRAINING_RUN"
# What every Python process of a run begins with: a sitecustomize.py on its path.
SITE = "from parity.standin.trainer import inject\n\ninject.install()\n"
# Called with the module right after it was imported.
HOOKS: Mapping[str, str] = {
    # the real client, whose server state becomes an actor that needs no GPU
    "arctic_platform.rl.ray_client": "parity.standin.trainer.client:reach_stand_in",
    "arctic_platform.rl.http_client": "parity.standin.trainer.client:refuse_http",
    # verl unpads with flash_attn's helpers
    "verl.utils.attention_utils": "parity.standin.trainer.inject:plain_padding",
    # the two places that know what a step did
    "verl.trainer.ppo.ray_trainer": "parity.standin.trainer.told:watch_batches",
    "verl.utils.tracking": "parity.standin.trainer.told:watch_metrics",
}


_SET_DEATH_SIGNAL = 1


def install() -> None:
    """Make the hooks known to this process; a second call does nothing."""
    die_with_parent()
    absent.hide()
    if not any(isinstance(finder, _Hooked) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Hooked())


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent ends, however it ends: Ray's agents would stay a while."""
    ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)


def settings() -> dict[str, Any]:
    """What `fit` told this run: seed, noise, and the file that steps are told to.

    It is read when it is asked for: a process may have been started, or its modules imported, for another run.
    """
    told: dict[str, Any] = json.loads(os.environ[VARIABLE])
    return told


class _Hooked:
    """Finds the modules of HOOKS as Python would, and calls their hook once they are imported."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        hook = HOOKS.get(name)
        spec = importlib.machinery.PathFinder.find_spec(name, path) if hook else None
        if hook is None or spec is None or spec.loader is None:
            return None
        execute: Callable[[ModuleType], None] = spec.loader.exec_module

        def hooked(module: ModuleType) -> None:
            execute(module)
            where, _, what = hook.partition(":")
            getattr(importlib.import_module(where), what)(module)

        spec.loader.exec_module = hooked  # type: ignore[method-assign]
        return spec


def plain_padding(module: ModuleType) -> None:
    """verl ships the same helpers in plain torch, for a device that has no flash_attn either."""

    def functions() -> tuple[Any, ...]:
        plain = importlib.import_module("verl.utils.npu_flash_attn_utils")
        return tuple(getattr(plain, name) for name in ("index_first_axis", "pad_input", "rearrange", "unpad_input"))

    module._get_attention_functions = functions  # type: ignore[attr-defined]
