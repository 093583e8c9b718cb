"""A YAML fragment: a key and its block, or a whole file."""

from __future__ import annotations

from dataclasses import dataclass

from porttool.layout import FileNames, FragmentEnd, Layout
from porttool.names import Name
from porttool.rewrite.fragments_blocks import Body, Item


@dataclass(frozen=True)
class PartNames(FileNames):
    """A layout as seen from a part of a YAML file: its root is mounted where the fragment hangs."""

    part_mount: Name = ()
    part_new_mount: Name = ()

    @property
    def mount(self) -> Name:
        return self.part_mount

    @property
    def new_mount(self) -> Name:
        return self.part_new_mount


def part_names(layout: Layout, old: FragmentEnd, new: FragmentEnd) -> PartNames:
    """The names a fragment's block is rewritten with, wherever its two homes are."""
    mount = layout.key_mount(old.path) + old.name
    new_mount = layout.inverse().key_mount(new.path) + new.name
    return PartNames(layout, old.path, new.path, mount, new_mount)


def unfit(source: bytes, item: Item) -> str:
    """Why the block under a key cannot leave its file, or an empty string."""
    value = item.node.child_by_field_name("value")
    kinds = [child.type for child in value.named_children] if value is not None else []
    if not item.movable:
        return "its key does not start its line"
    if value is None or value.type != "block_node" or "block_mapping" not in kinds:
        return "only a block mapping can move"
    if _key_line(source, item).rstrip() != b":":
        return "the line of its key carries more than the key"
    return ""


def block(source: bytes, item: Item) -> tuple[bytes, int]:
    """The lines under a key at column 0, and how much deeper than the key they stood."""
    lines = source[source.find(b"\n", item.node.start_byte) + 1 : item.end].splitlines(keepends=True)
    first = next(line for line in lines if line.strip() and not line.lstrip().startswith(b"#"))
    width = _indent(first)
    return b"".join(line[width:] if line.strip() and _indent(line) >= width else line for line in lines), (
        width - item.column
    )


def hung(part: bytes, key: str, column: int, step: int, eol: bytes) -> bytes:
    """A key at `column` with a block `step` deeper; lines without content stay as they are."""
    head = b" " * column + key.encode("utf-8", "surrogateescape") + b":" + eol
    lines = part.splitlines(keepends=True)
    return head + b"".join(b" " * (column + step) + line if line.strip() else line for line in lines)


def step_of(source: bytes, body: Body) -> int:
    """How deep the file indents: that of the first block under a sibling, else 2."""
    for item in body.items:
        if not unfit(source, item):
            return block(source, item)[1]
    return 2


def _key_line(source: bytes, item: Item) -> bytes:
    key = item.node.child_by_field_name("key")
    end = source.find(b"\n", item.node.start_byte) + 1
    return source[key.end_byte : end] if key is not None else b""


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip(b" "))
