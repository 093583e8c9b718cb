"""A Python fragment: a definition, top-level or a method, with its decorators and the comments directly above it."""

from __future__ import annotations

import re
from collections.abc import Callable

from porttool.edits import Edit, Found, splice
from porttool.layout import FileNames, Fragment, Layout
from porttool.names import Name
from porttool.rewrite.fragments_blocks import Item, parse, walk
from porttool.rewrite.parsing import GivenUp

_FROM = re.compile(
    rb"^[ \t]*from[ \t]+(?P<dots>\.*)(?P<module>[\w.]*)[ \t]+import\b(?P<names>[ \t]*\([^)]*\)|[^\n]*)", re.M
)
Scan = Callable[[bytes, FileNames], Found]


def in_place(source: bytes, items: dict[Fragment, Item], layout: Layout, scan: Scan) -> Found:
    """The edits of a file whose definitions go to different homes: those of a definition are found with the names
    of the place it goes to, in the light of all the imports of the file it comes from."""
    path = next(iter(items)).old.path
    whole = scan(source, layout.for_file(path))
    edits = [edit for edit in whole.edits if _innermost(items, edit.start) is None]
    notes = [note for note in whole.notes if _innermost(items, note.offset) is None]
    for fragment, item in items.items():
        found = scan(source, FileNames(layout, path, fragment.new.path))
        name = renamed(fragment, item)
        edits += [
            edit
            for edit in found.edits
            if _innermost(items, edit.start) is fragment and (edit.end <= name.start or edit.start >= name.end)
        ]
        notes += [note for note in found.notes if _innermost(items, note.offset) is fragment]
        edits.append(name)
    return Found(edits, notes)


def renamed(fragment: Fragment, item: Item) -> Edit:
    """The edit that gives a definition the name of its new home."""
    inner = item.node.child_by_field_name("definition") or item.node
    name = inner.child_by_field_name("name")
    assert name is not None
    return Edit(name.start_byte, name.end_byte, fragment.new.name[-1].encode())


def import_of(source: bytes, here: tuple[Name, bool] | None, module: Name, name: str) -> int | None:
    """Where the file whose module is `here` imports `name` from `module`; None where it does not."""
    for found in _FROM.finditer(source):
        dots, text = len(found["dots"]), found["module"].decode()
        base = here[0][: len(here[0]) - dots + here[1]] if here and dots else ()
        if base + tuple(filter(None, text.split("."))) == module and re.search(
            rb"\b%s\b" % name.encode(), found["names"]
        ):
            return found.start()
    return None


def reindented(part: bytes, column: int, new_column: int) -> bytes:
    """A definition moved sideways; the lines inside its multi-line strings keep their bytes."""
    if column == new_column:
        return part
    head = b"if 1:\n" if column else b""
    fixed = {at - len(head) for at in _string_lines(head + part)}
    edits = []
    at = 0
    for line in part.splitlines(keepends=True):
        if at not in fixed and line.strip() and not line[:column].strip(b" \t"):
            edits.append(Edit(at, at + column, b" " * new_column))
        at += len(line)
    return splice(part, edits)


def _string_lines(source: bytes) -> set[int]:
    """The offsets of the lines that begin inside a string."""
    found: set[int] = set()
    try:
        root = parse(source, "python")
    except GivenUp:  # a definition of a file that is no Python: nobody knows what is a string in it
        return found
    for node in walk(root):
        if node.type == "string" and node.start_point[0] != node.end_point[0]:
            at = source.find(b"\n", node.start_byte, node.end_byte)
            while at >= 0:
                found.add(at + 1)
                at = source.find(b"\n", at + 1, node.end_byte)
    return found


def _innermost(items: dict[Fragment, Item], offset: int) -> Fragment | None:
    inside = [(item.end - item.start, fragment) for fragment, item in items.items() if item.start <= offset < item.end]
    return min(inside, key=lambda one: one[0])[1] if inside else None
