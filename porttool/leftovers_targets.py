"""Names in a new tree that lead to nothing there: dotted names, and config keys that code reads."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from porttool.edits import line_of
from porttool.layout import Layout
from porttool.names import Name
from porttool.rewrite import is_binary
from porttool.translate import Culprit

Files = Mapping[str, bytes]

_DOTTED = re.compile(rb"(?<![\w./\-])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?![\w/\-])")
_BINDINGS = (
    rb"^\s*(?:async\s+def|def|class|for)\s+NAME\b|^\s*NAME\s*[:=]|\bas\s+NAME\b|import\s+\*|__getattr__"
    rb"|^\s*(?:from\s+\S+\s+)?import\s*(?:\([^)]*|[^\n(]*)\bNAME\b"
)


def unresolved_targets(
    layout: Layout, source: Files, result: Files, only: Collection[str] | None = None
) -> tuple[Culprit, ...]:
    """Every dotted name in the new tree that starts with a renamed module and leads to nothing in that tree, unless
    its old name led to nothing in the old tree either."""
    there = layout.inverse()
    modules = there.modules
    before = Definitions(layout, source)
    firsts = {pair.old[0].encode("utf-8", "surrogateescape") for pair in modules if pair.old}
    tree = Definitions(layout, result)
    found = []
    for path in result if only is None else sorted(only):
        blob = result[path]
        if is_binary(blob) or not any(first in blob for first in firsts) or there.for_file(path).kept:
            continue
        for hit in _DOTTED.finditer(blob):
            name = tuple(hit.group().decode("ascii", "replace").split("."))
            if modules.match(name) and tree.lacks(name) and not before.lacks(modules.map(name)):
                text = f"{'.'.join(name)!r} leads to nothing in the new tree"
                found.append(Culprit(path, line_of(blob, hit.start()), "unresolved-target", text))
    return tuple(found)


class Definitions:
    """What the modules of a tree define, by a static look."""

    def __init__(self, layout: Layout, files: Files) -> None:
        self._files = files
        self._modules: dict[Name, str] = {}
        self._packages: set[Name] = set()
        for path in files:
            found = layout.module_of(path)
            if found is not None and path.endswith((".py", ".pyi")):
                self._modules[found[0]] = path
                self._packages.update(found[0][:depth] for depth in range(1, len(found[0]) + found[1]))

    def lacks(self, name: Name) -> bool:
        """Whether a dotted name cannot be found, though its top package is in the tree."""
        if name[:1] not in self._packages and name[:1] not in self._modules:
            return False
        for depth in range(len(name), 0, -1):
            if name[:depth] in self._modules:
                return depth < len(name) and not self._defines(self._modules[name[:depth]], name[depth])
            if name[:depth] in self._packages:
                return depth < len(name)
        return True

    def _defines(self, path: str, name: str) -> bool:
        blob = self._files[path]
        word = re.escape(name.encode())
        return re.search(_BINDINGS.replace(b"NAME", word), blob, re.M) is not None
