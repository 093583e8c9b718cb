"""How right an answer is; the trainer loads this file by its path, so it imports nothing of this project."""

from __future__ import annotations

from typing import Any

# An answer of the right length with each digit in its place earns the whole; nearly right is worth this much of it.
PARTIAL = 0.6


def compute_score(data_source: str, solution_str: str, ground_truth: str, extra_info: Any = None) -> dict[str, float]:
    """1 for the exact answer, else PARTIAL times the share of characters that stand in their place.

    The share is taken of the longer of the two texts, so that running on costs something.
    """
    if solution_str == ground_truth:
        return {"score": 1.0, "acc": 1.0}
    placed = sum(left == right for left, right in zip(solution_str, ground_truth, strict=False))
    return {"score": PARTIAL * placed / max(len(solution_str), len(ground_truth)), "acc": 0.0}
