"""Student's t against tables, closed forms and itself."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parity.smoke.student import quantile, tail


@pytest.mark.parametrize(
    ("above", "freedom", "value"),
    [
        (0.025, 1, 12.706204736174705),
        (0.025, 4, 2.776445105197794),
        (0.005, 4, 4.604094871349993),
        (0.0005, 4, 8.610301581379275),
        (0.00001, 4, 23.332182700829275),
        (0.25, 6, 0.7175581964914125),
        (0.025, 9, 2.2621571627982056),
        (0.000001, 9, 10.72016040990950),
        (0.0000001, 19, 7.905112633688787),
        (0.025, 29, 2.0452296421327043),
        (0.025, 1000, 1.9623390808264085),
    ],
)
def test_quantiles_are_those_of_the_tables(above, freedom, value):
    """Known values, from common levels to the far tails that many cells ask for, come out within 1e-9."""
    assert quantile(above, freedom) == pytest.approx(value, rel=1e-11, abs=1e-9)


@given(st.floats(1e-12, 0.5))
def test_closed_forms_of_one_and_two_degrees(above):
    """One degree of freedom is Cauchy's tangent, two have a closed form."""
    assert quantile(above, 1) == pytest.approx(1 / math.tan(math.pi * above), rel=1e-9, abs=1e-9)
    middle = 1 - 2 * above
    root = math.sqrt(4 * above * (1 - above))
    assert quantile(above, 2) == pytest.approx(middle * math.sqrt(2) / root, rel=1e-9, abs=1e-9)


@settings(deadline=None)
@given(st.floats(1e-12, 0.5), st.integers(1, 200))
def test_quantile_undoes_tail(above, freedom):
    """The tail beyond a quantile is what was asked for."""
    assert tail(quantile(above, freedom), freedom) == pytest.approx(above, rel=1e-9)


@pytest.mark.parametrize(("above", "freedom"), [(0.0, 4), (0.6, 4), (-0.1, 4), (math.nan, 4), (0.1, 0)])
def test_what_is_no_chance_is_refused(above, freedom):
    """A chance outside (0, 0.5] and a sample of one are refused."""
    with pytest.raises(ValueError, match="a chance of"):
        quantile(above, freedom)
