"""Hydra's own words in a config file: the `# @package` header and the `defaults:` list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from porttool.edits import Edit
from porttool.layout import FileNames
from porttool.names import Name
from porttool.rewrite.overrides import below_config, decode, encode, map_group
from porttool.rewrite.yaml_tree import Entry

_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?(?:[ \t]*(?:#[^\n]*)?\r?\n)*?[ \t]*#[ \t]*@package[ \t]+(?P<package>[^\s#]+)")
_ITEM = re.compile(
    r"(?P<words>(?:(?:override|optional)\s+)*)(?P<group>/?[\w.\-]+(?:/[\w.\-]+)*)"
    r"(?:@(?P<package>[\w.\-]*)(?::(?P<to>[\w.\-]*))?)?"
)


class Mount(NamedTuple):
    """Where the root of a config file is in the whole config, on both sides, and what its header needs."""

    old: Name
    new: Name
    edits: list[Edit]


def mount(source: bytes, names: FileNames) -> Mount:
    """The mount of a file: its `# @package` header says it, else the layout does."""
    found = _HEADER.match(source)
    if found is None:
        return Mount(names.mount, names.new_mount, [])
    text = decode(found["package"])
    lead, old = _package(text, below_config(tuple(names.path.split("/")))[:-1])
    if lead == "_group_":
        return Mount(old, below_config(tuple(names.new_path.split("/")))[:-1] + _tail(text), [])
    new = names.layout.keys.map(old)
    written = ".".join(((lead,) if lead else ()) + new)
    edits = [Edit(*found.span("package"), encode(written))] if new != old else []
    return Mount(old, new, edits)


def _package(text: str, group: Name) -> tuple[str, Name]:
    """The keyword a package starts with, and the key it stands for."""
    lead = text.partition(".")[0]
    if lead == "_global_":
        return lead, _tail(text)
    if lead == "_group_":
        return lead, group + _tail(text)
    return "", tuple(text.split("."))


def _tail(text: str) -> Name:
    return tuple(text.split(".")[1:])


def defaults(source: bytes, names: FileNames, entry: Entry, at: Mount) -> Iterator[Edit]:
    """Edits for the items of a `defaults:` list."""
    for item in entry.children:
        if item.mapping and len(item.children) == 1:
            pair = item.children[0]
            yield from _item(source, names, (pair.key_start, pair.key_end), pair, at)
        elif not item.children and not item.alias:
            yield from _config(source, names, item)


def _item(source: bytes, names: FileNames, key: tuple[int, int], pair: Entry, at: Mount) -> Iterator[Edit]:
    """`group: choice`, `override /group@package: choice`, `optional group: [a, b]`."""
    found = _ITEM.fullmatch(decode(source[slice(*key)]))
    if found is None:
        return
    span = (pair.value_start, pair.value_end)
    choice = decode(source[slice(*span)]).strip("\"'") if not pair.children else None
    group, new_choice = _moved(names, found["group"], choice)
    if group != found["group"]:
        yield _edit(key, found, "group", group)
    if choice is not None and new_choice is not None and new_choice != choice:
        start = source.index(encode(choice), span[0])
        yield Edit(start, start + len(encode(choice)), encode(new_choice))
    for part in ("package", "to"):
        package = found[part]
        if package and not package.startswith("_"):
            there = names.layout.keys.map(at.old + tuple(package.split(".")))
            if there[: len(at.new)] == at.new and len(there) > len(at.new):
                new = ".".join(there[len(at.new) :])
                if new != package:
                    yield _edit(key, found, part, new)


def _edit(key: tuple[int, int], found: re.Match[str], part: str, text: str) -> Edit:
    start = key[0] + len(encode(found.string[: found.start(part)]))
    return Edit(start, start + len(encode(found[part])), encode(text))


def _config(source: bytes, names: FileNames, item: Entry) -> Iterator[Edit]:
    """`group/choice` as one string."""
    start, end = item.value_start, item.value_end
    text = decode(source[start:end]).strip("\"'")
    path, mark, package = text.partition("@")
    if "/" not in path.strip("/") or not re.fullmatch(r"[\w.\-/]+", path):
        return
    group, _, choice = path.rpartition("/")
    new_group, new_choice = _moved(names, group, choice)
    written = f"{new_group}/{new_choice}{mark}{package}"
    if written != text:
        at = source.index(encode(text), start, end)
        yield Edit(at, at + len(encode(text)), encode(written))


def _moved(names: FileNames, written: str, choice: str | None) -> tuple[str, str | None]:
    """A group and a choice as they are written in the file's new place."""
    own, new_own = (below_config(tuple(path.split("/")))[:-1] for path in (names.path, names.new_path))
    group = _resolved(written, own)
    stem, suffix = _suffix(choice)
    there, new_stem = map_group(names, group, stem)
    new_choice = new_stem + suffix if new_stem is not None else None
    if _resolved(written, new_own) == there:
        return written, new_choice
    if written.startswith("/"):
        return "/" + "/".join(there), new_choice
    shared = 0
    while shared < min(len(new_own), len(there) - 1) and new_own[shared] == there[shared]:
        shared += 1
    return "/".join((*[".."] * (len(new_own) - shared), *there[shared:])), new_choice


def _suffix(choice: str | None) -> tuple[str | None, str]:
    for suffix in (".yaml", ".yml"):
        if choice is not None and choice.endswith(suffix):
            return choice.removesuffix(suffix), suffix
    return choice, ""


def _resolved(written: str, own: Name) -> Name:
    """A group as a path from the config root."""
    found: list[str] = [] if written.startswith("/") else list(own)
    for part in written.strip("/").split("/"):
        if part == ".." and found:
            found.pop()
        elif part not in ("..", "."):
            found.append(part)
    return tuple(found)
