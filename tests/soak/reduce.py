"""Cutting down the bytes of an example while its problem stays: by lines, then by bytes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from tests.soak.cases import Blob, Case, Raw, Tree


class Budget:
    """Time that runs out."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def over(self) -> bool:
        return time.monotonic() > self._end


Fails = Callable[[Case], bool]


def reduced(case: Case, fails: Fails, seconds: float = 30) -> Case:
    """A smaller example that still fails, found in some time."""
    budget = Budget(seconds)
    if isinstance(case, Blob | Raw):
        content = _cut(case.content, lambda blob: fails(replace(case, content=blob)), budget)
        return replace(case, content=content)
    if isinstance(case, Tree):
        for path in sorted(case.files):
            without = replace(case, files={name: blob for name, blob in case.files.items() if name != path})
            if not budget.over and without.files and fails(without):
                case = without
        for path in sorted(case.files):
            tree = case

            def still(blob: bytes, path: str = path, tree: Tree = tree) -> bool:
                return fails(replace(tree, files={**tree.files, path: blob}))

            case = replace(case, files={**case.files, path: _cut(case.files[path], still, budget)})
    return case


def _cut(blob: bytes, fails: Callable[[bytes], bool], budget: Budget) -> bytes:
    pieces = [bytes((byte,)) for byte in blob] if len(blob) < 40 else blob.splitlines(keepends=True)
    found = b"".join(_fewer(pieces, lambda kept: fails(b"".join(kept)), budget))
    if len(blob) >= 40:
        found = b"".join(_fewer([bytes((b,)) for b in found], lambda kept: fails(b"".join(kept)), budget))
    return found


def _fewer(pieces: list[bytes], fails: Callable[[list[bytes]], bool], budget: Budget) -> list[bytes]:
    """Leave out runs of pieces, long ones first."""
    size = max(len(pieces) // 2, 1)
    while size and not budget.over:
        at = 0
        while at < len(pieces) and not budget.over:
            kept = pieces[:at] + pieces[at + size :]
            if fails(kept):
                pieces = kept
            else:
                at += size
        size //= 2
    return pieces
