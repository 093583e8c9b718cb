"""Tests that notice every change of the sample."""

import pytest

from tests.mutants.sample.parcel import last, price, unused


def test_price():
    """At the limit, below it and above it."""
    assert [price(0), price(3), price(10)] == [0, 6, 20]
    assert [price(0, fast=True), price(3, fast=True)] == [5, 11]
    with pytest.raises(ValueError, match="too heavy"):
        price(11)


def test_the_others():
    """Both of them."""
    items = [1, 2, 3]
    assert (last(items), items, unused(1)) == (3, [], 2)
