"""Whether the entries of a tree can stand side by side after they have been renamed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from porttool.errors import LayoutError


def check_clashes(origin: Mapping[str, str]) -> None:
    """Raise LayoutError for the first of `clashes`."""
    for _, text in clashes(origin):
        raise LayoutError(text, hint="give each of the two a path of its own")


def clashes(origin: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """New paths that are a folder of another one, or that come to differ from another one in case only; each with
    the old path it is found at and a sentence that names both. `origin` tells where each new path comes from."""
    seen: dict[str, tuple[str, str]] = {}
    known: set[str] = set()
    for new_path, path in origin.items():
        for name in (*_folders(new_path, known), new_path):
            if name != new_path and name in origin:
                yield path, f"{origin[name]!r} becomes the file {name!r}, which {path!r} needs as a folder"
            spelt, first = seen.setdefault(name.casefold(), (name, new_path))
            if spelt != name and not _alike_before(origin, (first, spelt), (new_path, name)):
                yield path, f"{origin[first]!r} and {path!r} become {spelt!r} and {name!r}, which differ in case only"


def _alike_before(origin: Mapping[str, str], first: tuple[str, str], second: tuple[str, str]) -> bool:
    """Whether what comes to differ in case only did so before it was renamed."""
    return _before(origin, *first).casefold() == _before(origin, *second).casefold()


def _before(origin: Mapping[str, str], new_path: str, folder: str) -> str:
    """The old name of a folder of a new path (or of the path itself), counted from the path's end."""
    below = new_path.count("/") - folder.count("/")
    return origin[new_path].rsplit("/", below)[0]


def _folders(path: str, known: set[str]) -> list[str]:
    """The folders above a path that were not met before, the innermost first."""
    found = []
    while (path := path.rpartition("/")[0]) and path not in known:
        known.add(path)
        found.append(path)
    return found
