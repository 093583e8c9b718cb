"""`vendor_patches/pins.yaml`: which file of which package, and the branches its patch series make."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import yaml

from porttool.errors import ManifestError, UsageError
from porttool.vendor_patch import Person, person, raw_date

PINS = Path("vendor_patches/pins.yaml")


@dataclass(frozen=True)
class Branch:
    """One branch of the built repository: `start` is a branch or tag above it, `tags` name the patch they stand on."""

    name: str
    start: str
    series: tuple[str, ...]
    tags: Mapping[str, str]
    where: str


@dataclass(frozen=True)
class Pin:
    """One package file by name and hash, and the git repository made from it. `where` is `file:line`."""

    name: str
    version: str
    file: str
    sha256: str
    base: str
    author: Person
    date: str  # as git stores it: seconds and zone
    branches: tuple[Branch, ...]
    where: str

    def __str__(self) -> str:
        return f"{self.name}=={self.version}"

    @property
    def wheel(self) -> bool:
        return self.file.endswith(".whl")


def load_pins(path: Path) -> tuple[Pin, ...]:
    """Read the pins in file order. Raises ManifestError with `file:line` on anything unknown, missing or malformed."""
    try:
        # Every scalar stays text: a version such as 0.10 must not become a number.
        root = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
    except FileNotFoundError:
        raise ManifestError("there is no file of pins", str(path), "run this in the folder of the project") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ManifestError(f"not valid YAML: {error.problem}", f"{path}:{line}", "mend the file") from None
    reader = _Reader(str(path))
    return tuple(_pin(reader, name, node) for name, node in reader.mapping(root).items())


def chosen(pins: tuple[Pin, ...], names: tuple[str, ...], path: Path) -> tuple[Pin, ...]:
    """The pins of these names, or all of them where no name is given."""
    known = [pin.name for pin in pins]
    for name in names:
        if name not in known:
            raise UsageError(f"no package {name!r} is pinned", str(path), f"pinned: {', '.join(known)}")
    return tuple(pin for pin in pins if not names or pin.name in names)


class _Reader:
    """Reads composed nodes strictly; every refusal names `file:line`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._key_lines: dict[int, int] = {}

    def where(self, node: yaml.Node | None) -> str:
        """The line of the key a node belongs to, or its own."""
        own = node.start_mark.line if node is not None else 0
        return f"{self.path}:{self._key_lines.get(id(node), own) + 1}"

    def refuse(self, node: yaml.Node | None, message: str, hint: str) -> NoReturn:
        raise ManifestError(message, self.where(node), hint)

    def mapping(self, node: yaml.Node | None) -> dict[str, yaml.Node]:
        if not isinstance(node, yaml.MappingNode):
            self.refuse(node, "expected a mapping", "write `key: value` lines here")
        found: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = self.text(key)
            if name in found:
                self.refuse(key, f"key {name!r} is given twice", "keep one of the two")
            found[name] = value
            self._key_lines[id(value)] = key.start_mark.line
        return found

    def fields(self, node: yaml.Node, required: tuple[str, ...], optional: tuple[str, ...]) -> dict[str, yaml.Node]:
        found = self.mapping(node)
        known = required + optional
        for name, value in found.items():
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
                self.refuse(value, f"unknown key {name!r}", hint)
        for name in required:
            if name not in found:
                self.refuse(node, f"key {name!r} is missing", f"needed here: {', '.join(required)}")
        return found

    def text(self, node: yaml.Node, pattern: str = r".+", what: str = "text") -> str:
        if not isinstance(node, yaml.ScalarNode):
            self.refuse(node, f"expected {what}", "write one value here")
        value = str(node.value)
        if not re.fullmatch(pattern, value):
            self.refuse(node, f"{value!r} is not {what}", f"it must match {pattern}")
        return value

    def texts(self, node: yaml.Node, pattern: str, what: str) -> Iterator[str]:
        if not isinstance(node, yaml.SequenceNode):
            self.refuse(node, "expected a list", "write [one, two]")
        for item in node.value:
            yield self.text(item, pattern, what)


_NAME = r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?"
_REF = r"(?!.*(\.\.|//|@\{|/\.|\.lock(/|$)))[A-Za-z0-9_][A-Za-z0-9_.@+/-]*(?<![./])"
_SERIES = r"(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*"
_PATCH = r"\d{4}-[A-Za-z0-9._-]+\.patch"


def _pin(reader: _Reader, name: str, node: yaml.Node) -> Pin:
    if not re.fullmatch(_NAME, name):
        reader.refuse(node, f"{name!r} is not a package name", f"it must match {_NAME}")
    told = reader.fields(node, ("version", "file", "sha256", "base"), ("branches",))
    base = reader.fields(told["base"], ("branch", "author", "date"), ())
    author = person(reader.text(base["author"]))
    if author is None:
        reader.refuse(base["author"], "the author is not `Name <mail>`", "for instance Ann <ann@example.invalid>")
    date = raw_date(reader.text(base["date"]))
    if date is None:
        reader.refuse(base["date"], "the date is not ISO 8601 with a zone", "for instance 2026-03-16T05:34:00+00:00")
    first = reader.text(base["branch"], _REF, "a branch name")
    places = {first}
    branches = []
    for title, value in (reader.mapping(told["branches"]) if "branches" in told else {}).items():
        branches.append(_branch(reader, title, value, places))
    return Pin(
        name=name,
        version=reader.text(told["version"], r"[0-9][A-Za-z0-9.+!-]*", "a version"),
        file=reader.text(told["file"], r"[A-Za-z0-9_.+-]+\.(whl|tar\.gz|zip)", "a wheel or sdist file name"),
        sha256=reader.text(told["sha256"], r"[0-9a-f]{64}", "a sha256 in hex"),
        base=first,
        author=author,
        date=date,
        branches=tuple(branches),
        where=reader.where(node),
    )


def _branch(reader: _Reader, name: str, node: yaml.Node, places: set[str]) -> Branch:
    """Read one branch; `places` holds the branches and tags above it, where it may start, and gains its own."""
    if not re.fullmatch(_REF, name):
        reader.refuse(node, f"{name!r} is not a branch name", f"it must match {_REF}")
    told = reader.fields(node, ("from", "series"), ("tags",))
    start = reader.text(told["from"])
    if start not in places:
        known = f"known: {', '.join(sorted(places))}"
        reader.refuse(told["from"], f"{start!r} is no branch or tag above this one", known)
    tags = {}
    for tag, patch in (reader.mapping(told["tags"]) if "tags" in told else {}).items():
        if not re.fullmatch(_REF, tag):
            reader.refuse(patch, f"{tag!r} is not a tag name", f"it must match {_REF}")
        tags[tag] = reader.text(patch, _PATCH, "a patch file name")
    for place in (name, *tags):
        if place in places:
            reader.refuse(node, f"{place!r} is already a branch or tag of this package", "choose another name")
        places.add(place)
    series = tuple(reader.texts(told["series"], _SERIES, "a series folder under vendor_patches"))
    return Branch(name, start, series, tags, reader.where(node))
