"""One value of both sides, judged: by its bits, or against the evidence."""

from __future__ import annotations

import math
import struct

from parity.record import Leaf
from parity.smoke.envelope import Cell, Envelope
from parity.smoke.outcome import Side
from porttool.report import counted

# Beyond this a count of floats says nothing to a reader.
_COUNTED = 1_000_000
Both = tuple[Leaf | None, Leaf | None]


def difference(both: Both, names: tuple[str, str]) -> str:
    """How two values differ; "" where their types and bits are equal."""
    one, other = both
    if one == other:
        return ""
    if one is None or other is None:
        return f"the {names[0] if one is None else names[1]} side does not have it"
    if one.type != other.type:
        return f"the types differ: {names[0]}: {one}, {names[1]}: {other}"
    ours, theirs = one.number(), other.number()
    if ours is None or theirs is None:
        return f"{names[0]}: {one}, {names[1]}: {other}"
    apart = ulps(one, other)
    near = f", {counted(apart, 'ULP')}" if apart is not None and apart <= _COUNTED else ""
    return f"{names[0]}: {ours!r}, {names[1]}: {theirs!r}, difference {theirs - ours:+.3g}{near}"


def strays(both: Both, names: tuple[str, str], evidence: Envelope, cell: Cell, m: int) -> tuple[Side, str]:
    """Which side is not where the evidence puts it, if m cells are compared, and how; "" twice where both are."""
    ours, theirs = (_outside(evidence, cell, one, m) for one in both)
    if ours and theirs:
        return "", f"{names[0]}: {ours}; {names[1]}: {theirs}"
    if ours:
        return "left", f"the {names[0]} side: {ours}"
    return ("right", f"the {names[1]} side: {theirs}") if theirs else ("", "")


def _outside(evidence: Envelope, cell: Cell, told: Leaf | None, m: int) -> str:
    spread = evidence.spreads.get(cell)
    if told is None:
        return "it is missing" if spread else ""
    if spread is None:
        return "the evidence does not have it"
    if spread.only is not None:
        return "" if told == spread.only else f"{told} where all {len(evidence.runs)} A/A runs hold {spread.only}"
    if told.type != spread.type:
        return f"{told} is no {spread.type}"
    bounds, value = evidence.bounds(cell, m), told.number()
    if bounds is None or value is None or bounds.low <= value <= bounds.high:
        return ""
    return f"{value!r} is outside {bounds.low:.6g} to {bounds.high:.6g}"


def ulps(one: Leaf, other: Leaf) -> int | None:
    """How many floats two floats are apart; None where either is no float, or a NaN."""
    if one.type != "float" or other.type != "float":
        return None
    first, second = float.fromhex(one.value), float.fromhex(other.value)
    return None if math.isnan(first) or math.isnan(second) else abs(_place(first) - _place(second))


def _place(number: float) -> int:
    """Floats in their order as whole numbers; both zeros are 0."""
    bits: int = struct.unpack("<q", struct.pack("<d", number))[0]
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF)
