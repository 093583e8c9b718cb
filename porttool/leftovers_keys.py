"""Config keys that code reads under a new name and no config of the new tree holds."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from porttool.edits import line_of
from porttool.layout import Layout
from porttool.names import Name
from porttool.rewrite import is_binary, language
from porttool.rewrite.yaml_tree import Entry, documents
from porttool.translate import Culprit

Files = Mapping[str, bytes]

_STEP = rb"(?:\.get\(\s*[\"'][\w.\-]+[\"'][^()]*\)|\.[A-Za-z_]\w*|\[\s*[\"'][\w.\-]+[\"']\s*\])"
_READ = re.compile(rb"\b(?:\w*_)?(?:config|cfg|conf)(?P<steps>%s+)(?P<call>\()?" % _STEP)
_SELECT = re.compile(rb"\bselect\(\s*[\w.]+\s*,\s*[\"'](?P<key>\w[\w.\-]*)[\"']")
_NAME = re.compile(rb"\.get\(\s*[\"']([\w.\-]+)|[\"']([\w.\-]+)|\.([A-Za-z_]\w*)")
_MOUNTED = re.compile(rb"^\s*-\s*(?:(?:override|optional)\s+)*([\w/]+)@([\w.]+)\s*:", re.M)


def unresolved_keys(
    layout: Layout, source: Files, result: Files, only: Collection[str] | None = None
) -> tuple[Culprit, ...]:
    """Every read, in the code of the new tree, of a renamed key that no YAML file of that tree holds, unless the
    configs of the old tree do not hold its old name either."""
    keys = layout.inverse().keys
    if not keys or not (known := _known_keys(layout.inverse(), result)):
        return ()
    before = _known_keys(layout, source)
    found = []
    for path in result if only is None else sorted(only):
        blob = result[path]
        if is_binary(blob) or language(path, blob) != "python" or layout.inverse().for_file(path).kept:
            continue
        for at, name in _reads(blob):
            if keys.match(name) and _lacks(known, name) and not _lacks(before, keys.map(name)):
                text = f"{'.'.join(name)!r} is read here, and no config of the new tree holds it"
                found.append(Culprit(path, line_of(blob, at), "unresolved-key", text))
    return tuple(found)


def _reads(blob: bytes) -> Iterator[tuple[int, Name]]:
    for hit in _READ.finditer(blob):
        steps = [next(filter(None, step.groups())).decode() for step in _NAME.finditer(hit.group("steps"))]
        if hit.group("call"):
            steps.pop()
        yield hit.start(), tuple(segment for step in steps for segment in step.split("."))
    for hit in _SELECT.finditer(blob):
        yield hit.start(), tuple(hit.group("key").decode().split("."))


def _lacks(known: dict[Name, bool], name: Name) -> bool:
    """Whether no config holds `name`; what stands behind a leaf is read from its value."""
    return name not in known and not any(known.get(name[:depth]) for depth in range(1, len(name)))


def _known_keys(layout: Layout, files: Files) -> dict[Name, bool]:
    """The keys of all configs of a from-side tree, at every place where a file may be mounted; True for a leaf."""
    configs = {path: blob for path, blob in files.items() if path.endswith((".yaml", ".yml"))}
    packages: dict[str, set[Name]] = {}
    for blob in configs.values():
        for group, package in _MOUNTED.findall(blob):
            packages.setdefault(group.decode(), set()).add(tuple(package.decode().split(".")))
    known: dict[Name, bool] = {}
    places: set[Name] = set()
    for path, blob in configs.items():
        folder = path.rpartition("/")[0].split("/") if "/" in path else []
        mounts = {tuple(folder[start:]) for start in range(len(folder) + 1)} | {layout.key_mount(path)}
        for group, named in packages.items():
            if "/".join(folder).endswith(group):
                mounts |= named
        places.update(mount[:depth] for mount in mounts for depth in range(1, len(mount) + 1))
        for document in documents(blob) or ():
            for name, leaf in _keys(document):
                known.update((mount + name, leaf and known.get(mount + name, True)) for mount in mounts)
    for place in places:
        known.setdefault(place, False)
    return known


def _keys(entries: tuple[Entry, ...]) -> Iterator[tuple[Name, bool]]:
    for entry in entries:
        if not entry.is_item:
            yield (entry.key,), not entry.mapping
            for name, leaf in _keys(entry.children):
                yield (entry.key, *name), leaf
