"""Import roots: the directories whose packages the code imports by their first name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from porttool.infer_paths import Tree

_IMPORT = re.compile(rb"^[ \t]*(?:from|import)[ \t]+([A-Za-z_]\w*)", re.MULTILINE)
_COMMON_ROOTS = ("src", "lib", "python")


def import_roots(*trees: Tree) -> tuple[str, ...]:
    """`.` and each directory outside any package that holds a package (or module) other directories import.

    A directory is a root only where `.` does not explain its imports, and at least two files import from it.
    """
    found: Counter[str] = Counter()
    for tree in trees:
        found.update(_roots(tree))
    return (".", *sorted(root for root, n in found.items() if n))


def _roots(tree: Tree) -> Iterable[str]:
    packages = {path.rpartition("/")[0] for path in tree if path.endswith("/__init__.py")}
    tops: dict[str, set[str]] = {}
    for package in packages:
        parent, _, name = package.rpartition("/")
        if parent not in packages:
            tops.setdefault(name, set()).add(parent)
    wanted = {name: parents for name, parents in tops.items() if "" not in parents and len(parents) == 1}
    if not wanted:
        return
    used: Counter[str] = Counter()
    for path, blob in tree.items():
        if path.endswith(".py"):
            used.update({name for name in map(bytes.decode, set(_IMPORT.findall(blob))) if name in wanted})
    for name, count in used.items():
        root = min(wanted[name])
        if count >= 2 and (root.rpartition("/")[2] in _COMMON_ROOTS or _single(root, packages)):
            yield root


def _single(root: str, packages: set[str]) -> bool:
    """A root of any other name has to hold a real package, one with packages or several modules in it."""
    return sum(1 for package in packages if package.startswith(root + "/")) >= 2
