"""Byte-span edits."""

from __future__ import annotations

import pytest

from porttool.edits import Edit, apart, line_of, splice


@pytest.mark.parametrize(
    ("edits", "result"),
    [
        ([], b"abcdef"),
        ([Edit(1, 3, b"X")], b"aXdef"),
        ([Edit(4, 6, b""), Edit(0, 1, b"YY")], b"YYbcd"),
        ([Edit(2, 2, b"-")], b"ab-cdef"),
        ([Edit(0, 0, b"<"), Edit(6, 6, b">")], b"<abcdef>"),
        ([Edit(1, 2, b"1"), Edit(2, 3, b"2")], b"a12def"),
        ([Edit(2, 4, b"X"), Edit(2, 2, b"+")], b"ab+Xef"),
    ],
)
def test_splice_replaces_spans_and_keeps_the_rest(edits, result):
    """Edits come in any order; bytes outside their spans stay."""
    assert splice(b"abcdef", edits) == result


@pytest.mark.parametrize("edits", [[Edit(0, 2, b""), Edit(1, 3, b"")], [Edit(3, 2, b"")], [Edit(5, 7, b"")]])
def test_splice_refuses_what_overlaps_or_leaves_the_source(edits):
    """Two rewriters that claim one byte are a bug, and it is found at once."""
    with pytest.raises(ValueError, match="overlaps"):
        splice(b"abcdef", edits)


def test_line_of_counts_newlines_before_the_offset():
    """Lines start at 1; a newline belongs to the line that it ends."""
    assert [line_of(b"a\nb\n", at) for at in range(5)] == [1, 1, 2, 2, 3]


def test_the_earlier_kind_wins_where_edits_overlap():
    """What can be spliced is kept: neighbours that only touch, and insertions at either end."""
    first, second = [Edit(4, 8, b"x")], [Edit(2, 5, b"y"), Edit(8, 9, b"z"), Edit(4, 4, b"<"), Edit(5, 5, b"!")]
    assert apart(first, second) == [Edit(4, 4, b"<"), Edit(4, 8, b"x"), Edit(8, 9, b"z")]
    assert apart([Edit(0, 9, b"")], [Edit(1, 2, b"a")], [Edit(9, 10, b"b")]) == [Edit(0, 9, b""), Edit(9, 10, b"b")]
