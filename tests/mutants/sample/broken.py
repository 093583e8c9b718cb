"""A test that fails as it is."""


def test_nothing():
    """It fails."""
    raise AssertionError
