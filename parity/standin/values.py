"""Values of the trainer stack as typed leaves; taking a leaf is a deep copy."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from parity.record import Key, Leaf, leaf, tensor_leaf

# What replaces a value that a JSON round trip would turn into null, until the recorder has seen it.
LOST = "\x00lost:"


def leaves(value: Any, key: Key, scrub: Callable[[str], str] = str) -> Iterator[tuple[Key, Leaf]]:
    """Every leaf below a value. What JSON cannot say keeps its type: tensors, numpy scalars, OmegaConf containers."""
    if isinstance(value, str):
        yield key, Leaf("null", None, True, value[len(LOST) :]) if value.startswith(LOST) else leaf(scrub(value))
    elif isinstance(value, torch.Tensor):
        yield key, of_tensor(value)
    elif isinstance(value, Mapping) and value:
        if type(value).__module__.startswith("omegaconf"):
            yield f"{key}#class", leaf(type(value).__name__)
        for name, inner in value.items():
            shown = name if isinstance(name, str) else f"<{type(name).__name__} {name!r}>"
            yield from leaves(inner, f"{key}.{shown}" if key else shown, scrub)
    elif isinstance(value, (list, tuple)) and value:
        for place, inner in enumerate(value):
            yield from leaves(inner, f"{key}[{place}]", scrub)
    elif value is None or isinstance(value, (bool, int, float, list, tuple, dict)):
        yield key, leaf(value)
    else:
        yield key, _foreign(value)


def of_tensor(tensor: torch.Tensor) -> Leaf:
    """dtype, shape and digest of a tensor; a nested one counts with the lengths of its rows."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    if tensor.is_nested:
        lengths = tensor.offsets().diff().tolist()
        return Leaf("nested", f"rows {lengths} {of_tensor(tensor.values()).value}")
    data = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return tensor_leaf(dtype, tuple(tensor.shape), data)


def _foreign(value: Any) -> Leaf:
    kind = f"{type(value).__module__.split('.')[0]}.{type(value).__qualname__}"
    if hasattr(value, "item") and hasattr(value, "dtype"):
        return Leaf(kind, leaf(value.item()).value)
    return Leaf(kind, "opaque")


def restore(value: Any) -> Any:
    """`value` with every mark of a lost value made None again, in place where it is a dict or a list."""
    if isinstance(value, dict):
        for name, inner in value.items():
            value[name] = restore(inner)
    elif isinstance(value, list):
        value[:] = [restore(inner) for inner in value]
    elif isinstance(value, str) and value.startswith(LOST):
        return None
    return value


class MarkLost:
    """While entered, a `json.dumps(..., default=)` whose default gives None marks the value instead.

    The adapter sends `json.loads(json.dumps(vars(config), default=...))`: on the wire a null that was sent as null
    and one that stands for an object nobody could serialise look the same.
    """

    def __enter__(self) -> None:
        self._dumps = json.dumps

        def dumps(value: Any, **kwargs: Any) -> str:
            default = kwargs.get("default")
            if default is not None:

                def marked(inner: Any) -> Any:
                    plain = default(inner)
                    return f"{LOST}{type(inner).__name__}" if plain is None else plain

                kwargs["default"] = marked
            return self._dumps(value, **kwargs)

        json.dumps = dumps  # type: ignore[assignment]

    def __exit__(self, *_: object) -> None:
        json.dumps = self._dumps
