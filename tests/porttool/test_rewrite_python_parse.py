"""Parsing again only what changed gives the tree that parsing everything gives."""

from __future__ import annotations

import argparse
import ast
import fractions
import inspect
import queue
import random
import textwrap
from collections.abc import Iterator

import pytest

from porttool.layout import Layout, Symbol
from porttool.rewrite.python import scan
from porttool.rewrite.python_parse import Recent, parse

SOURCES = [inspect.getsource(module).encode() for module in (ast, argparse, fractions, queue, textwrap)]
SCRAPS = (b" ", b"x", b"1", b'"', b'"""', b"#", b"\n", b":", b"(", b")", b"\\", b"\xc3\xa9", b"async ", b"    ")


def nodes(tree) -> Iterator[tuple[object, ...]]:
    """Everything that a reader of the tree can see."""
    left = [tree.root_node]
    while left:
        node = left.pop()
        yield (
            node.type,
            node.start_byte,
            node.end_byte,
            node.start_point,
            node.is_named,
            node.has_error,
            node.is_missing,
        )
        left.extend(node.children)


def changed(rng: random.Random, source: bytes) -> bytes:
    """A source with some lines put in, taken out, moved sideways, or a few bytes changed anywhere."""
    lines = source.split(b"\n")
    at = rng.randrange(len(lines))
    match rng.randrange(5):
        case 0:
            lines.insert(at, rng.choice(lines))
        case 1:
            del lines[at : at + rng.randrange(1, 4)]
        case 2:
            lines[at] = b"    " + lines[at]
        case 3:
            lines[at] = lines[at][4:]
        case _:
            at = rng.randrange(len(source))
            return source[:at] + rng.choice(SCRAPS) + source[at + rng.randrange(2) :]
    return b"\n".join(lines)


@pytest.mark.parametrize("seed", range(8))
def test_the_tree_is_that_of_a_fresh_parse(seed):
    """Along a line of edits, of which some break the file, each tree is the one without any memory."""
    rng, recent = random.Random(seed), Recent()
    source = rng.choice(SOURCES)
    for _ in range(12):
        after = source
        for _ in range(rng.randrange(1, 4)):
            after = changed(rng, after)
        tree = recent.parse(after, "a.py")
        assert list(nodes(tree)) == list(nodes(Recent().parse(after, "a.py")))
        if not tree.root_node.has_error or rng.random() < 0.2:
            source = after


def test_the_same_source_is_parsed_once():
    """A file looked at several times, as one with fragments is, has one tree."""
    recent = Recent()
    assert recent.parse(b"a = 1\n", "a.py") is recent.parse(b"a = 1\n", "a.py")
    assert recent.parse(b"a = 1\n", "a.py") is not recent.parse(b"a = 1\n", "b.py")


def test_a_broken_file_is_not_remembered():
    """How a parser gets over an error may depend on where it comes from, so it always comes from nowhere."""
    recent = Recent()
    assert recent.parse(b"a = (\n", "a.py") is not recent.parse(b"a = (\n", "a.py")
    assert not recent.parse(b"a = (1)\n", "a.py").root_node.has_error


def test_only_so_much_is_remembered():
    """The oldest trees go where all of them take more than their share; a file that is too big is never kept."""
    recent = Recent(kept=12)
    first = recent.parse(b"a = 1\n", "a.py")
    second = recent.parse(b"b = 1\n", "b.py")
    assert recent.parse(b"a = 1\n", "a.py") is first
    recent.parse(b"c = 1\n", "c.py")
    assert recent.parse(b"b = 1\n", "b.py") is not second
    big = b"d = 1\n" * 3
    assert recent.parse(big, "d.py") is not recent.parse(big, "d.py")


def test_bytes_that_are_no_text_keep_their_offsets():
    """A file in another encoding is parsed as one of the same length."""
    source = b"x = '\xe9'\ny = 1\n"
    tree = parse(source, Layout().for_file("a.py"))
    assert (tree.root_node.end_byte, tree.root_node.has_error) == (len(source), False)


def test_what_is_found_does_not_depend_on_what_was_scanned_before():
    """A file in many versions: the edits of each are those that a layout without memory finds."""
    rng = random.Random(1)
    told = tuple(Symbol(old, new) for old, new in (("parser", "reader"), ("Action", "Deed"), ("prog", "name")))
    source, remembering = SOURCES[1], Layout(symbols=told)
    for _ in range(30):
        source = changed(rng, source)
        found = scan(source, remembering.for_file("a.py"))
        assert found == scan(source, Layout(symbols=told).for_file("a.py"))
