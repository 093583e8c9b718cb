"""Numbers that differ by a factor: which one, and whether the batch arithmetic knows it."""

from __future__ import annotations

import math

from parity.compare import Finding
from parity.record import Capture

STEPS = "client.ds_config.gradient_accumulation_steps"
# bf16 keeps 8 bits; a factor is a whole number, so that 1 % is enough to tell it.
CLOSE = 0.01


def scaled(finding: Finding, capture: Capture) -> str:
    """That one side's float is a whole multiple of the other's, with the accumulation steps where they say as much."""
    if finding.left is None or finding.right is None or (finding.left.type, finding.right.type) != ("float", "float"):
        return ""
    left, right = finding.left.number(), finding.right.number()
    if not left or not right or not (math.isfinite(left) and math.isfinite(right)):
        return ""
    factor, larger = (left / right, "left") if abs(left) > abs(right) else (right / left, "right")
    whole = round(factor)
    if whole < 2 or abs(factor - whole) > CLOSE * whole:
        return ""
    told = f"the {larger} side is {whole} times the other"
    steps = capture.probes.get("config", {}).get(STEPS)
    if steps is not None and steps.value == whole:
        told += ", as many as gradient_accumulation_steps: one side divides by it once more"
    return told
