"""Alignment of two versions of a file."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from porttool.infer_align import Block, blocks, difference, identifiers, swaps


@given(st.lists(st.sampled_from("abcd"), max_size=30), st.lists(st.sampled_from("abcd"), max_size=30))
def test_blocks_are_a_diff(old, new):
    """Outside the blocks the two are equal, so replacing the blocks turns one into the other."""
    made, at = [], 0
    for block in blocks(old, new):
        made += old[at : block.old_start] + new[block.new_start : block.new_end]
        at = block.old_end
    assert made + old[at:] == new


def test_long_files_are_cut_at_unique_lines():
    """Thousands of changed lines align through the ones that are unique."""
    old = [f"{n}" if n % 7 else "same" for n in range(4000)]
    new = [line + "x" if n % 5 == 0 and line != "same" else line for n, line in enumerate(old)]
    found = list(blocks(old, new))
    assert all(block.old_end - block.old_start == block.new_end - block.new_start for block in found)
    changed = sum(a != b for a, b in zip(old, new, strict=True))
    assert sum(block.old_end - block.old_start for block in found) == changed


def test_nothing_in_common():
    """Two long texts without a shared line are one block."""
    old, new = [f"a{n}" for n in range(1000)], [f"b{n}" for n in range(1000)]
    assert list(blocks(old, new)) == [Block(0, 1000, 0, 1000)]


def test_swaps_tell_chain_line_and_what_follows():
    """The whole dotted chain, where it stood on both sides, and the token behind it."""
    [swap] = swaps(b"a\nx = cfg.old.key\nb\n", b"new line\na\nx = cfg.key\nb\n")
    assert (swap.old, swap.new, swap.old_line, swap.new_line) == ("cfg.old.key", "cfg.key", 2, 3)
    [swap] = swaps(b"run a.b=1\n", b"run c.b=1\n")
    assert swap.follows == "="


def test_difference_counts_lines():
    """Lines that only one side has, wherever they are."""
    assert difference(b"a\nb\n", b"b\na\n") == 0
    assert difference(b"a\nb\n", b"a\nc\nd\n") == 3


def test_identifiers():
    """Whole tokens, of any language."""
    assert identifiers(b"foo.bar(x1) -> $BAZ") == {"foo", "bar", "x1", "BAZ"}
