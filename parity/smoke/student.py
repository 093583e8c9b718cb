"""Student's t distribution: the tail and its inverse, to about twelve digits, for any number of degrees of freedom."""

from __future__ import annotations

import math
from functools import lru_cache

_MOST_TERMS = 10_000


def tail(t: float, freedom: float) -> float:
    """The chance that a Student variable exceeds t >= 0. Accurate relative to itself, however small it is."""
    square = t * t
    # Each form of the fraction converges fast on its own side of the mean; in the far tail only the second is exact.
    if square * (freedom + 2) < 3 * freedom:
        return 0.5 * (1.0 - _beta(0.5, freedom / 2, square / (freedom + square)))
    return 0.5 * _beta(freedom / 2, 0.5, freedom / (freedom + square))


@lru_cache(maxsize=256)
def quantile(above: float, freedom: float) -> float:
    """The t that is exceeded with the chance `above` (0 < above <= 0.5)."""
    if not 0 < above <= 0.5 or freedom <= 0:
        raise ValueError(f"a chance of {above} with {freedom} degrees of freedom")
    low, high = 0.0, 1.0
    while tail(high, freedom) > above:
        low, high = high, 2 * high
    while True:
        middle = (low + high) / 2
        if not low < middle < high:
            return high
        if tail(middle, freedom) > above:
            low = middle
        else:
            high = middle


def _beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), for x below its mean."""
    if x <= 0:
        return 0.0
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(scale) * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, forwards; below the mean no denominator nears 0."""
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1.0 / (1.0 + term * d)
            c = 1.0 + term / c
            value *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return value
