"""YAML files as keys with values and lines, and where a Hydra config mounts them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import yaml

from porttool.infer_paths import Tree
from porttool.names import Name, split

_PACKAGE = re.compile(rb"^#[ \t]*@package[ \t]+(\S+)", re.MULTILINE)
_GROUP = re.compile(r"^(?:(?:optional|override)\s+)*/?([\w/]+?)(?:@([\w.]+))?$")


@dataclass(frozen=True)
class Keys:
    """The mappings of one YAML document: leaf key -> (value, line), and mapping key -> its children in order."""

    leaves: dict[Name, tuple[str, int]]
    children: dict[Name, tuple[str, ...]]

    def below(self, name: Name) -> dict[Name, tuple[str, int]]:
        """The leaves under a key, named from there."""
        return {leaf[len(name) :]: told for leaf, told in self.leaves.items() if leaf[: len(name)] == name}

    @cached_property
    def by_line(self) -> dict[int, Name]:
        return {line: name for name, (_, line) in self.leaves.items()}


def read_keys(blob: bytes) -> Keys | None:
    """The keys of a file that is one mapping; None for anything else, templates included."""
    try:
        root = yaml.compose(blob.decode("utf-8"), Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError):
        return None
    if not isinstance(root, yaml.MappingNode):
        return None
    leaves: dict[Name, tuple[str, int]] = {}
    children: dict[Name, tuple[str, ...]] = {}
    todo: list[tuple[Name, yaml.MappingNode]] = [((), root)]
    while todo:
        name, node = todo.pop()
        children[name] = tuple(str(key.value) for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        for key, value in node.value:
            below = (*name, str(key.value))
            if isinstance(value, yaml.MappingNode) and value.value:
                todo.append((below, value))
            else:
                told = value.value if isinstance(value, yaml.ScalarNode) else yaml.serialize(value)
                leaves[below] = (told, key.start_mark.line + 1)
    return Keys(leaves, children)


def is_yaml(path: str) -> bool:
    """Whether a file is YAML by its name."""
    return path.endswith((".yaml", ".yml"))


def mounts(tree: Tree) -> dict[str, Name]:
    """YAML path -> the key its root is mounted at, for each file that a Hydra `defaults` list reaches."""
    found: dict[str, Name] = {}
    primary = [path for path in sorted(tree) if is_yaml(path) and re.search(rb"^defaults:", tree[path], re.MULTILINE)]
    for path in primary:
        folder = path.rpartition("/")[0]
        for group, package, choice in _defaults(tree[path]):
            for target in _choices(tree, folder, group, choice):
                header = _PACKAGE.search(tree[target])
                told = header.group(1).decode() if header else package or group.replace("/", ".")
                found.setdefault(target, () if told == "_global_" else split(told))
    return found


def _defaults(blob: bytes) -> Iterable[tuple[str, str, str]]:
    try:
        told = yaml.load(blob.decode("utf-8"), Loader=yaml.CSafeLoader)["defaults"]
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError):
        return
    for entry in told if isinstance(told, list) else ():
        for key, choice in entry.items() if isinstance(entry, dict) else ():
            match = _GROUP.match(str(key))
            if match:
                yield match.group(1), match.group(2) or "", str(choice)


def _choices(tree: Tree, folder: str, group: str, choice: str) -> Iterable[str]:
    """The chosen file of a group, or, where the list leaves it open, every file of the group."""
    stem = f"{folder}/{group}/" if folder else f"{group}/"
    chosen = stem + choice.removesuffix(".yaml") + ".yaml"
    if chosen in tree:
        return [chosen]
    return [path for path in tree if path.startswith(stem) and is_yaml(path) and "/" not in path[len(stem) :]]
