"""What the tool is tried on: a few lines, with tests that are good and tests that are not."""

from __future__ import annotations

LIMIT = 10


def price(weight: int, *, fast: bool = False) -> int:
    """2 for each whole kilogram, 5 more if it has to be fast."""
    if weight > LIMIT:
        raise ValueError("too heavy")
    return weight * 2 + (5 if fast else 0)


def last(items: list[int]) -> int:
    """Throws all others away; without that it never ends."""
    while len(items) > 1:
        items.pop(0)
    return items.pop()


def unused(count: int) -> int:
    """No test runs this."""
    return count + 1
