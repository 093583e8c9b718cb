"""The Hydra config of one side. An override its config does not know is told, not obeyed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from hydra import compose, initialize_config_module
from hydra.errors import ConfigCompositionException
from omegaconf import DictConfig, OmegaConf, open_dict

from parity.record import Key, Leaf, leaf


def composed(
    config: tuple[str, str], select: Sequence[str], overrides: Sequence[tuple[str, str]]
) -> tuple[DictConfig, dict[Key, Leaf]]:
    """The resolved config, and one leaf per scenario override: applied, or unknown on this side.

    The unported side of a port does not have the keys that the port brings; leaving an override out lets the run
    show what is missing on the wire, and the leaf keeps the override itself from passing unnoticed.
    """
    module, name = config
    with initialize_config_module(module, version_base=None):
        applied, told = list(overrides), {}
        while True:
            try:
                made = compose(name, [*select, *(text for _, text in applied)])
                break
            except ConfigCompositionException as error:
                unknown = _culprit(applied, error)
                if unknown is None:
                    raise
                applied.remove(unknown)
                told[f"override.{_key(unknown[0])}"] = leaf("this side has no such key")
        OmegaConf.resolve(made)
    return made, told


def _culprit(overrides: Sequence[tuple[str, str]], error: ConfigCompositionException) -> tuple[str, str] | None:
    """The override that Hydra refused because its key does not exist."""
    found = re.search(r"Could not override '([^']+)'", f"{error}")
    return next((pair for pair in overrides if found and _key(pair[1]) == found.group(1)), None)


def _key(text: str) -> str:
    return text.lstrip("+~").partition("=")[0]


@contextmanager
def replaced(config: DictConfig, values: Mapping[str, Any]) -> Iterator[None]:
    """The config with some keys at other values, while the block runs."""
    kept = {key: OmegaConf.select(config, key) for key in values}
    _set(config, values)
    try:
        yield
    finally:
        _set(config, kept)


def _set(config: DictConfig, values: Mapping[str, Any]) -> None:
    with open_dict(config):
        for key, value in values.items():
            OmegaConf.update(config, key, value)
