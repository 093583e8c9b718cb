"""Laws of renamings, exhaustively on small universes."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from porttool.errors import LayoutError
from porttool.names import Pair, Renaming

SEGMENTS = ("a", "b")
NAMES = [name for depth in (1, 2, 3) for name in product(SEGMENTS, repeat=depth)]
SMALL = [name for depth in (1, 2) for name in product(SEGMENTS, repeat=depth)]


def renamings():
    """Every renaming of up to two pairs over names of one or two segments."""
    pairs = [Pair(old, new) for old in SMALL for new in SMALL if old != new]
    for count in (0, 1, 2):
        for chosen in combinations(pairs, count):
            try:
                yield Renaming("name", chosen)
            except LayoutError:
                continue


ALL = list(renamings())


def test_the_universe_is_worth_testing():
    """Most pairs of pairs are renamings."""
    assert len(ALL) > 300


def test_round_trip_or_refusal():
    """`apply` gives a name that comes back, or refuses; it never gives one that does not."""
    for names in ALL:
        for name in NAMES:
            if name in names:
                assert names.inverse().apply(names.apply(name)) == name
            else:
                with pytest.raises(LayoutError):
                    names.apply(name)


def test_the_inverse_of_the_inverse_renames_alike():
    """Swapping twice changes nothing."""
    for names in ALL:
        twice = names.inverse().inverse()
        assert twice == names
        assert all(twice.map(name) == names.map(name) for name in NAMES)


def test_no_two_names_of_the_domain_become_one():
    """`apply` is injective."""
    for names in ALL:
        inside = [name for name in NAMES if name in names]
        assert len({names.apply(name) for name in inside}) == len(inside)


def test_the_domain_of_the_inverse_is_the_image():
    """What `apply` gives is in the domain of the inverse."""
    for names in ALL:
        assert all(names.apply(name) in names.inverse() for name in NAMES if name in names)


def test_a_longer_name_is_renamed_like_its_prefix_unless_a_longer_pair_says_otherwise():
    """Renaming works on prefixes: what stands behind the pair is kept."""
    for names in ALL:
        for name in NAMES:
            found = names.match(name)
            if found is not None:
                pair, new = found
                assert new == pair.new + name[len(pair.old) :]
                assert name[: len(pair.old)] == pair.old
