"""What a probe observed, as typed leaves under dotted keys: readable, stable, and exact to the bit."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Key = str
_FLOAT = re.compile(r"nan|-?(inf|0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4})")


@dataclass(frozen=True)
class Leaf:
    """One observed value. `type` is part of it: 8, 8.0, True and "8" are four different leaves.

    `value` is its JSON form; a float is kept as hex (`float.hex`), so equal means equal bits. A tensor is
    `dtype[shape]` plus the sha256 of its bytes. `lost` marks a null that stands for something unserialisable.
    `origin` (file:line or config key) says where the value comes from; it is shown, never compared.
    """

    type: str
    value: Any
    lost: bool = False
    origin: str = field(default="", compare=False)

    def __str__(self) -> str:
        if self.lost:
            return "null (was not serialisable)"
        if self.type == "float":
            return f"{float.fromhex(self.value)!r} (float)"
        if self.type == "null":
            return "null"
        return f"{self.value!r} ({self.type})"

    @property
    def sound(self) -> bool:
        """Whether the value has the form that its type has here: a driver, or a file, may hold anything."""
        if not isinstance(self.type, str) or not isinstance(self.origin, str):
            return False
        if self.type == "float":
            return isinstance(self.value, str) and _FLOAT.fullmatch(self.value) is not None
        plain = {"null": type(None), "bool": bool, "int": int, "str": str}.get(self.type)
        return type(self.value) is plain if plain else type(self.value) in (str, int, bool, type(None))

    def number(self) -> float | None:
        """The value as a float where it is a number; None where it is not."""
        if self.type == "float":
            return float.fromhex(self.value)
        if self.type != "int":
            return None
        try:
            return float(self.value)
        except OverflowError:  # it is compared as it stands; no curve goes there
            return None


def leaf(value: object, origin: str = "") -> Leaf:
    """The leaf of one plain value. Raises TypeError on anything that is not a JSON scalar or an empty container."""
    if value is None:
        return Leaf("null", None, origin=origin)
    if isinstance(value, bool):
        return Leaf("bool", value, origin=origin)
    if isinstance(value, int):
        return Leaf("int", int(value), origin=origin)
    if isinstance(value, float):
        return Leaf("float", _hex(value), origin=origin)
    if isinstance(value, str):
        return Leaf("str", str(value), origin=origin)
    if isinstance(value, (list, tuple, dict, Mapping)) and not value:
        return Leaf("dict" if isinstance(value, Mapping) else type(value).__name__, "empty", origin=origin)
    raise TypeError(f"cannot record a {type(value).__name__}")


def tensor_leaf(dtype: str, shape: tuple[int, ...], data: bytes) -> Leaf:
    """The leaf of a tensor from its dtype name, its shape and its contiguous little-endian bytes."""
    return Leaf("tensor", f"{dtype}{list(shape)} sha256:{hashlib.sha256(data).hexdigest()[:16]}")


def flatten(value: object, key: Key = "") -> Iterator[tuple[Key, Leaf]]:
    """Every leaf below `value`, keys joined by dots and list places as `[i]`; leaves pass through as they are.

    Raises TypeError on a value that cannot be recorded, and ValueError on a mapping key that is not a string.
    """
    if isinstance(value, Leaf):
        yield key, value
    elif isinstance(value, Mapping) and value:
        for name, inner in value.items():
            if not isinstance(name, str):
                raise ValueError(f"{key or 'the record'} has the key {name!r}, which is not a string")
            yield from flatten(inner, f"{key}.{name}" if key else name)
    elif isinstance(value, (list, tuple)) and value:
        for place, inner in enumerate(value):
            yield from flatten(inner, f"{key}[{place}]")
    else:
        yield key, leaf(value)


@dataclass(frozen=True)
class Capture:
    """One side of one scenario: leaves by probe, and the provenance that makes them comparable.

    `crashed` holds the last lines of a run that did not finish; such a capture can be compared with nothing.
    """

    scenario: str
    side: str
    provenance: Mapping[str, str]
    probes: Mapping[str, Mapping[Key, Leaf]]
    crashed: str = ""

    def digest(self) -> str:
        """sha256 over everything that was observed (not over provenance)."""
        told = {probe: {k: _plain(v) for k, v in sorted(keys.items())} for probe, keys in sorted(self.probes.items())}
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def to_json(capture: Capture) -> str:
    """A stable, diffable text: sorted keys, one leaf a line."""
    lines = ["{"]
    head = {"scenario": capture.scenario, "side": capture.side, "crashed": capture.crashed}
    lines += [f"  {json.dumps(name)}: {json.dumps(value)}," for name, value in head.items()]
    lines.append(f'  "provenance": {json.dumps(dict(sorted(capture.provenance.items())), indent=1)},')
    lines.append('  "probes": {')
    blocks = []
    for probe, keys in sorted(capture.probes.items()):
        rows = [f"      {json.dumps(key)}: {json.dumps(_plain(keys[key], shown=True))}" for key in sorted(keys)]
        blocks.append(f"    {json.dumps(probe)}: {{\n" + ",\n".join(rows) + "\n    }")
    return "\n".join([*lines, ",\n".join(blocks), "  }", "}", ""])


def from_json(text: str) -> Capture:
    """The capture that `to_json` wrote. Raises ValueError on anything else."""
    told = json.loads(text)
    try:
        probes = {
            probe: {key: Leaf(row[0], row[1], *_rest(row)) for key, row in keys.items()}
            for probe, keys in told["probes"].items()
        }
        found = Capture(told["scenario"], told["side"], dict(told["provenance"]), probes, told["crashed"])
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        raise ValueError(f"not a capture: {error!r}") from error
    named = (found.scenario, found.side, found.crashed, *found.provenance.values())
    if not all(isinstance(text, str) for text in named):
        raise ValueError("not a capture: what it says of itself is no text")
    odd = next((key for keys in probes.values() for key, held in keys.items() if not held.sound), None)
    if odd is not None:
        raise ValueError(f"not a capture: the value of {odd!r} has not the form of its type")
    return found


def _rest(row: list[Any]) -> tuple[bool, str]:
    return bool(row[2]) if len(row) > 2 else False, row[3] if len(row) > 3 else ""


def _plain(value: Leaf, *, shown: bool = False) -> list[Any]:
    row = [value.type, value.value, value.lost, *([value.origin] if shown else [])]
    while len(row) > 2 and not row[-1]:
        row.pop()
    return row


def _hex(value: float) -> str:
    return "nan" if math.isnan(value) else value.hex()
