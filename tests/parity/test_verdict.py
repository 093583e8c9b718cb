"""The verdict on one comparison, and the sentence that justifies it."""

import pytest

from parity.compare import Comparison, Finding
from parity.record import leaf
from parity.verdict import Judged, Verdict, judge

FOUND = tuple(Finding("wire", f"a{number}", leaf(1), None, "missing") for number in range(3))


@pytest.mark.parametrize(
    ("findings", "reason"),
    [
        (FOUND[:1], "wire.a0 is missing"),
        (FOUND[:2], "wire.a0 is missing and 1 more"),
        (FOUND, "wire.a0 is missing and 2 more"),
    ],
)
def test_a_difference_names_the_first_and_counts_the_others(findings, reason):
    """DIFFER says the first divergence, and how many more there are, if there are."""
    assert judge(Comparison(findings, (), 7, 0, ())) == Judged(Verdict.DIFFER, reason)


def test_incomparable_comes_first():
    """What cannot be compared is never judged by its findings."""
    assert judge(Comparison(FOUND, (), 7, 0, (), "why")) == Judged(Verdict.INCOMPARABLE, "why")


def test_a_match_counts_what_was_compared():
    """A declared difference fails nothing, and is not counted as equal."""
    assert judge(Comparison((), FOUND, 7, 1, ())) == Judged(Verdict.MATCH, "4 keys are equal")
