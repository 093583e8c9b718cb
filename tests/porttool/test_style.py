"""Findings on added lines, and only on them."""

from __future__ import annotations

import pytest

from porttool.style import added_lines, comment_of, findings


def kinds(path: str, *lines: str, width: int = 119) -> list[tuple[int, str]]:
    return [(found.line, found.kind) for found in findings(path, list(enumerate(lines, 1)), width)]


def test_only_added_lines_count():
    """A wide line that was there already is not the commit's."""
    old, new = b"x" * 200 + b"\na\n", b"x" * 200 + b"\nb\na\n"
    assert added_lines(old, new) == [(2, "b")]
    assert added_lines(b"", b"a\nb") == [(1, "a"), (2, "b")]
    assert added_lines(b"a\n", b"") == []


def test_width():
    """The widest line allowed is not a finding; one more column is."""
    assert kinds("a.py", "x" * 119, "x" * 120) == [(2, "width")]
    assert kinds("a.md", "x" * 81, width=80) == [(1, "width")]


@pytest.mark.parametrize(
    "line",
    ["# see PR 12", "x = 1  # fixes #123", "# PR#4", "# pull/77", "// issue 9", "# MR 3", "# https://h/o/r/issues/5"],
)
def test_references_in_comments(line):
    """A pull request or issue named in a comment is found."""
    path = "a.go" if line.startswith("//") else "a.py"
    assert kinds(path, line) == [(1, "reference")]


@pytest.mark.parametrize("line", ["# see line 212", "# lines 3", "# worker.py:88 does it", "# L212"])
def test_line_numbers_in_comments(line):
    """A line number in a comment is found: it will be wrong tomorrow."""
    assert kinds("a.py", line) == [(1, "line-number")]


@pytest.mark.parametrize(
    "line",
    ['x = "#12"', "x = '# line 3'", "color = #12", "# step 3 of 4", "# 5 lines", "#!/bin/sh", "a#12", "# uses &#123;"],
)
def test_what_is_no_finding(line):
    """Strings, counts, and a mark inside a word are left alone."""
    if line == "color = #12":
        assert comment_of("a.md", line) is None
    else:
        assert kinds("a.py", line) == []


def test_density():
    """Many comments among few lines are one finding; a handful of lines says nothing."""
    dense = ["x", *["# a"] * 5, *["x"] * 6]
    assert kinds("a.py", *dense) == [(0, "comments")]
    assert kinds("a.py", *dense[:9]) == []
    assert kinds("a.py", "x", *["# a"] * 3, *["x"] * 8) == []


def test_a_licence_header_is_no_prose():
    """The comment block that opens a new file does not count as dense comments."""
    assert kinds("a.py", *["# Licensed"] * 12, "x", "y") == []
