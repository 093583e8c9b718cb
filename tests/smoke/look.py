"""What is seen of a page: its elements, its plots, what it would fetch, and the ink on a screenshot."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable
from html.parser import HTMLParser
from itertools import accumulate

SOURCE, TARGET = (11, 92, 173), (230, 106, 0)


class Elements(HTMLParser):
    """Every element with its attributes, each closed in its turn."""

    VOID = ("meta", "br")

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def parsed(text):
    """The elements of a page; fails where they do not nest."""
    reader = Elements()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader.seen


def plots(text):
    """For each plot of a page its lines: `{"left": [(x, y), ...], "right": ...}`; rolling means are left out."""
    found = []
    for tag, told in parsed(text):
        kind = told.get("class", "")
        if tag == "svg" and kind == "panel":
            found.append({"left": [], "right": []})
        elif tag == "polyline" and kind in ("left", "right"):
            points = [tuple(map(float, pair.split(","))) for pair in told["points"].split()]
            found[-1][kind] += points
    return found


def fetched(text):
    """All that a browser would load for a page; links within it are not."""
    found = [
        value
        for _, told in parsed(text)
        for name, value in told.items()
        if name in ("src", "srcset", "href", "xlink:href", "data", "action", "poster") and not value.startswith("#")
    ]
    return found + re.findall(r"@import[^;]*|url\([^)]*\)", text)


def pixels(png):
    """Rows of `(r, g, b)` of an 8-bit PNG without interlacing."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, data = 8, b""
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at : at + 8])
        held = png[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", held)
            assert (depth, interlaced) == (8, 0) and colour in (2, 6)
        data += held if kind == b"IDAT" else b""
        at += 12 + size
    step = 4 if colour == 6 else 3
    return list(_rows(zlib.decompress(data), width, height, step))


def _rows(data, width, height, step):
    size = width * step
    above = bytearray(size)
    for place in range(height):
        kind, start = data[place * (size + 1)], place * (size + 1) + 1
        row = bytearray(data[start : start + size])
        _unfilter(kind, row, above, step)
        yield list(zip(row[0::step], row[1::step], row[2::step], strict=True))
        above = row


def _unfilter(kind, row, above, step):
    """PNG stores a row as the differences from its neighbours."""
    if kind == 1:
        for channel in range(step):
            row[channel::step] = bytes(accumulate(row[channel::step], lambda left, here: (left + here) & 255))
    elif kind == 2:
        row[:] = bytes((here + up) & 255 for here, up in zip(row, above, strict=True))
    elif kind:
        for k in range(len(row)):
            left, up = row[k - step] if k >= step else 0, above[k]
            corner = above[k - step] if k >= step else 0
            guess = (left + up) // 2 if kind == 3 else _paeth(left, up, corner)
            row[k] = (row[k] + guess) & 255


def _paeth(left, up, corner):
    to_left, to_up, to_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
    if to_left <= to_up and to_left <= to_corner:
        return left
    return up if to_up <= to_corner else corner


def drawn(rows, least=180):
    """Boxes `(left, top, right, bottom)` in which a plot has ink of both sides, and is so many pixels wide."""
    orange, blues = [_inked(row, TARGET) for row in rows], [_inked(row, SOURCE) for row in rows]
    boxes = []
    for top, bottom in _groups((y for y, row in enumerate(orange) if row), 25):
        for left, right in _groups(sorted({x for row in orange[top : bottom + 1] for x in row}), 50):
            blue = sum(left <= x <= right for row in blues[top : bottom + 1] for x in row)
            if right - left >= least and blue >= 20:
                boxes.append((left, top, right, bottom))
    return boxes


def _groups(places: Iterable[int], gap):
    """Runs of places that are at most `gap` apart, as first and last."""
    found: list[list[int]] = []
    for place in places:
        if found and place - found[-1][1] <= gap:
            found[-1][1] = place
        else:
            found.append([place, place])
    return found


def _inked(row, colour):
    """Where a row has nearly this colour."""
    near = {
        pixel for pixel in set(row) if all(abs(one - other) < 48 for one, other in zip(pixel, colour, strict=True))
    }
    return [x for x, pixel in enumerate(row) if pixel in near] if near else []
