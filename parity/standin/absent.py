"""Lets `arctic_platform.rl` import where vLLM's side of it is not installed, and keeps builds and GPUs out."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import types
from collections.abc import Sequence
from typing import Any

# arctic_inference imports vLLM at its top; arctic_platform imports names of it and uses none before a job starts.
ABSENT = ("arctic_inference",)
ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": "",
    "DS_ACCELERATOR": "cpu",
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
# What verl's Worker reads where Ray would have set it.
ONE_WORKER = {
    "WORLD_SIZE": "1",
    "RANK": "0",
    "LOCAL_RANK": "0",
    "LOCAL_WORLD_SIZE": "1",
    "RAY_LOCAL_WORLD_SIZE": "1",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "29500",
    "WG_PREFIX": "parity",
    "WG_BACKEND": "ray",
}


class _Inert(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every module below an absent package; its names are empty classes."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> Any:
        if name.split(".")[0] not in ABSENT:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = types.ModuleType(spec.name)
        module.__path__ = []
        module.__getattr__ = _empty_class  # type: ignore[method-assign]
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def _empty_class(name: str) -> type:
    if name.startswith("__"):
        raise AttributeError(name)
    # A model of nothing: what is sent to the sampling engine is recorded before it gets here.
    return type(name, (), {"model_fields": {}, "__init__": lambda self, *args, **kwargs: self.__dict__.update(kwargs)})


def prepare() -> None:
    """Set the environment and the import hook; before the first import of the trainer stack."""
    os.environ.update(ENVIRONMENT)
    for name, value in ONE_WORKER.items():
        os.environ.setdefault(name, value)
    hide()


def hide() -> None:
    """Let absent packages import as empty ones; a second call does nothing."""
    if all(importlib.util.find_spec(name) is None for name in ABSENT):
        sys.meta_path.append(_Inert())
