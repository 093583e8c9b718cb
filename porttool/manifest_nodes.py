"""Reads YAML by a shape: plain values out, and the `file:line` of everything that was written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from porttool.edits import line_of
from porttool.errors import ManifestError
from porttool.manifest_schema import (
    FORMATS,
    ByKey,
    ByKind,
    Flag,
    Free,
    Record,
    Seq,
    Shape,
    Table,
    Text,
    Whole,
    Word,
    fits,
)
from porttool.nearest import nearest

Place = tuple[str | int, ...]
_STANDARD = "tag:yaml.org,2002:"
_ALIASED = 100_000  # what aliases may make of a document: far more than any manifest, far less than a bomb
_DEEPEST = 60  # levels: several times what a manifest has, a fraction of what Python's stack holds
_KINDS = {
    "map": "a mapping",
    "seq": "a list",
    "str": "text",
    "int": "a number",
    "float": "a number",
    "bool": "true or false",
    "null": "nothing",
}


def compose(source: bytes, name: str) -> yaml.Node:
    """The YAML node tree of one document; raises ManifestError with the line where it is no YAML."""
    try:
        node = yaml.compose(source, yaml.SafeLoader)
    except yaml.reader.ReaderError as error:
        line = line_of(source, error.position)
        raise ManifestError(f"the file is not plain UTF-8 text: {error.reason}", f"{name}:{line}") from error
    except RecursionError as error:
        raise ManifestError("the file nests too deeply", name, "see `porttool schema`") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        told = f"not valid YAML: {error.problem or error.context}"
        raise ManifestError(told, f"{name}:{mark.line + 1 if mark else 1}", "see `porttool schema`") from error
    if node is None:
        raise ManifestError("the file is empty", f"{name}:1", "see `porttool schema` and the examples in manifests/")
    return node


def read_file(path: Path) -> bytes:
    """The bytes of a manifest; raises ManifestError where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        there = [file.name for file in path.parent.glob("*.y*ml")] if path.parent.is_dir() else []
        hint = nearest(path.name, there) if there else "start one with `porttool init`"
        raise ManifestError(f"cannot read the manifest: {error.strerror}", str(path), hint) from error


class Reader:
    """Checks nodes against shapes and remembers where each place of the document was written."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.marks: dict[Place, str] = {}
        self._open: list[yaml.Node] = []
        self._seen: set[int] = set()
        self._again = 0

    def read(self, node: yaml.Node, shape: Shape, at: Place = ()) -> Any:
        """The plain value of a node. Raises ManifestError at the first thing that does not fit."""
        self.marks.setdefault(at, self._where(node))
        if any(node is outer for outer in self._open):
            raise self._error(node, at, "holds an alias of itself")
        if len(self._open) > _DEEPEST:
            raise ManifestError("the file nests too deeply", self._where(node), "see `porttool schema`")
        self._again += id(node) in self._seen
        self._seen.add(id(node))
        if self._again > _ALIASED:
            raise ManifestError("the aliases of the file stand for too much", self._where(node), "write it out")
        self._open.append(node)
        try:
            return self._read(node, shape, at)
        finally:
            self._open.pop()

    def _read(self, node: yaml.Node, shape: Shape, at: Place) -> Any:
        match shape:
            case Record():
                return self._record(node, shape, at)
            case Table():
                return self._table(node, shape, at)
            case Seq():
                return self._seq(node, shape, at)
            case ByKey():
                return self._by_key(node, shape, at)
            case ByKind():
                return self._by_kind(node, shape, at)
            case Free():
                return self._free(node, at)
            case Text() | Word() | Whole() | Flag():
                return self._scalar(node, shape, at)

    def _where(self, node: yaml.Node) -> str:
        return f"{self.name}:{node.start_mark.line + 1}"

    def _error(self, node: yaml.Node, at: Place, told: str, hint: str = "") -> ManifestError:
        return ManifestError(f"{_place(at)} {told}", self._where(node), hint)

    def _wrong_kind(self, node: yaml.Node, at: Place, wanted: str) -> ManifestError:
        tag = node.tag.removeprefix(_STANDARD)
        have = _KINDS.get(tag, f"a {tag}")
        shown = f"{have} ({node.value})" if isinstance(node, yaml.ScalarNode) and node.value else have
        return self._error(node, at, f"must be {wanted}, not {shown}")

    def _items(self, node: yaml.Node, at: Place, wanted: str) -> list[tuple[str, yaml.Node, yaml.Node]]:
        if not isinstance(node, yaml.MappingNode):
            raise self._wrong_kind(node, at, wanted)
        self._plain_tag(node, at)
        seen: dict[str, yaml.Node] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self._error(key, at, "has a key that is not text")
            self._plain_tag(key, at)
            if key.value in seen:
                first = seen[key.value].start_mark.line + 1
                raise self._error(key, (*at, key.value), f"is written twice; the first is on line {first}")
            seen[key.value] = key
        return [(key.value, key, value) for key, value in node.value]

    def _plain_tag(self, node: yaml.Node, at: Place) -> None:
        if node.tag.removeprefix(_STANDARD) not in (*_KINDS, "timestamp", "merge", "value"):
            raise self._error(node, at, f"has the tag {node.tag!r}", "a manifest holds plain YAML, without tags")

    def _record(self, node: yaml.Node, record: Record, at: Place) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, key_node, value in self._items(node, at, f"a mapping with {_listed(record.keys)}"):
            if key not in record.keys:
                raise self._error(key_node, (*at, key), "is not a known key", nearest(key, record.keys))
            self.marks[(*at, key)] = self._where(key_node)
            found[key] = self.read(value, record.keys[key].shape, (*at, key))
        for key, told in record.keys.items():
            if told.required and key not in found:
                raise self._error(node, (*at, key), "is missing", f"{key}: {told.doc}")
        return found

    def _table(self, node: yaml.Node, table: Table, at: Place) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, key_node, value in self._items(node, at, f"a mapping from {FORMATS[table.key.format].told}"):
            self.read(key_node, table.key, (*at, key))
            found[key] = self.read(value, table.of, (*at, key))
        return found

    def _seq(self, node: yaml.Node, seq: Seq, at: Place) -> list[Any]:
        if not isinstance(node, yaml.SequenceNode):
            raise self._wrong_kind(node, at, "a list")
        self._plain_tag(node, at)
        if len(node.value) < seq.least:
            raise self._error(node, at, "must not be empty")
        return [self.read(item, seq.of, (*at, number)) for number, item in enumerate(node.value)]

    def _by_key(self, node: yaml.Node, shape: ByKey, at: Place) -> dict[str, Any]:
        written = self._items(node, at, f"a mapping with one of {_listed(shape.records)}")
        chosen = [key for key, _, _ in written if key in shape.records]
        if len(chosen) > 1:
            raise self._error(node, at, f"has both {chosen[0]!r} and {chosen[1]!r}", "write two commits")
        if chosen:
            return self._record(node, shape.records[chosen[0]], at)
        known = {key for record in shape.records.values() for key in record.keys}
        for key, key_node, _ in written:
            if key not in known:
                raise self._error(key_node, (*at, key), "is not a known key", nearest(key, known))
        raise self._error(node, at, f"needs one of {_listed(shape.records)}")

    def _by_kind(self, node: yaml.Node, by_kind: ByKind, at: Place) -> Any:
        for shape in by_kind.shapes:
            if isinstance(node, _node_type(shape)):
                return self._read(node, shape, at)
        wanted = {yaml.MappingNode: "a mapping", yaml.SequenceNode: "a list", yaml.ScalarNode: "text"}
        raise self._wrong_kind(node, at, " or ".join(wanted[_node_type(shape)] for shape in by_kind.shapes))

    def _scalar(self, node: yaml.Node, shape: Text | Word | Whole | Flag, at: Place) -> Any:
        wanted = _wanted(shape)
        if not isinstance(node, yaml.ScalarNode):
            raise self._wrong_kind(node, at, wanted)
        self._plain_tag(node, at)
        tag = node.tag.removeprefix(_STANDARD)
        match shape:
            case Flag():
                if tag != "bool":
                    raise self._wrong_kind(node, at, wanted)
                return node.value.lower() in ("true", "yes", "on")
            case Whole():
                if tag != "int" or not node.value.isdecimal() or not shape.least <= int(node.value) <= shape.most:
                    raise self._wrong_kind(node, at, wanted)
                return int(node.value)
            case Word():
                if node.value in shape.words or (shape.or_format and fits(shape.or_format, node.value)):
                    return node.value
                told = f"is {node.value!r}, which is not {wanted}"
                raise self._error(node, at, told, nearest(node.value, shape.words))
            case Text():
                form = FORMATS[shape.format]
                if tag == "null" or (tag != "str" and not form.plain):
                    raise self._wrong_kind(node, at, form.told)
                if not fits(shape.format, node.value):
                    raise self._error(node, at, f"is {node.value!r}, which is not {form.told}")
                return node.value

    def _free(self, node: yaml.Node, at: Place) -> Any:
        if isinstance(node, yaml.MappingNode):
            found = {}
            for key, key_node, value in self._items(node, at, "a mapping"):
                self.marks[(*at, key)] = self._where(key_node)
                found[key] = self.read(value, Free(), (*at, key))
            return found
        if isinstance(node, yaml.SequenceNode):
            return self._seq(node, Seq(Free()), at)
        self._plain_tag(node, at)
        try:
            return yaml.SafeLoader("").construct_object(node)
        except (ValueError, yaml.MarkedYAMLError) as error:
            raise self._error(node, at, f"cannot be read: {error}") from error


def _node_type(shape: Shape) -> type[yaml.Node]:
    if isinstance(shape, Record | Table | ByKey):
        return yaml.MappingNode
    return yaml.SequenceNode if isinstance(shape, Seq) else yaml.ScalarNode


def _listed(keys: Iterable[str]) -> str:
    return ", ".join(repr(key) for key in keys)


def _wanted(shape: Text | Word | Whole | Flag) -> str:
    match shape:
        case Flag():
            return "true or false"
        case Whole():
            return str(shape.least) if shape.least == shape.most else f"a whole number, {shape.least} to {shape.most}"
        case Word():
            free = f" or {FORMATS[shape.or_format].told}" if shape.or_format else ""
            return f"one of {', '.join(shape.words)}{free}"
        case Text():
            return FORMATS[shape.format].told


def _place(at: Place) -> str:
    """A place as a reader would point at it: `commits[2].pick`; keys that hold dots are quoted."""
    told = ""
    for step in at:
        if isinstance(step, int):
            told += f"[{step}]"
        elif step.isidentifier() or ("." not in step and "/" not in step):
            told += f".{step}" if told else step
        else:
            told += f"[{step!r}]"
    return told or "the manifest"
