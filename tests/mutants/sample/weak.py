"""Tests that run nearly everything and ask nearly nothing."""

from tests.mutants.sample.parcel import last, price


def test_price():
    """It comes to something."""
    assert price(3)


def test_last():
    """It ends."""
    assert last([1, 2, 3])
