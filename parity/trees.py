"""A commit's tree as files, byte for byte: no attribute leaves out or rewrites one, as `git archive` would."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from porttool.errors import RepositoryError
from porttool.repo import MODE_EXECUTABLE, MODE_GITLINK, MODE_LINK, Repository, blob_id

_NEVER = frozenset(("", ".", "..", ".git"))


def write_tree(repository: Repository, tree: str, folder: Path) -> None:
    """Write every file of a tree below `folder`, which is made. A submodule is an empty folder.

    Raises RepositoryError on a path that would leave the folder; git itself makes no such tree.
    """
    folder.mkdir(parents=True)
    links = []
    for path, entry in repository.entries(tree).items():
        if not _NEVER.isdisjoint(path.split("/")):
            raise RepositoryError(f"the tree holds the path {path!r}, which no checkout can have", tree)
        place = folder / path
        if entry.mode == MODE_GITLINK:
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if entry.mode == MODE_LINK:
            links.append((place, entry.oid))
            continue
        place.write_bytes(repository.read(entry.oid))
        if entry.mode == MODE_EXECUTABLE:
            place.chmod(0o755)
    # After all files: none of them can be written through a link.
    for place, oid in links:
        place.symlink_to(os.fsdecode(repository.read(oid)))


def altered(repository: Repository, tree: str, folder: Path) -> str:
    """The first path below a folder that is not as `write_tree` writes it; "" where all of it is."""
    entries = {path: entry for path, entry in repository.entries(tree).items() if entry.mode != MODE_GITLINK}
    for path, entry in entries.items():
        place = folder / path
        if place.is_symlink():
            content = os.fsencode(os.readlink(place)) if entry.mode == MODE_LINK else None
        else:
            content = place.read_bytes() if entry.mode != MODE_LINK and place.is_file() else None
        if content is None or blob_id(content) != entry.oid:
            return path
    return next((path for path in stamps(folder) if path not in entries), "")


def stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of every file below a folder: what is written there shows. Compiled modules are no content."""
    found: dict[str, tuple[int, int]] = {}
    for above, below, names in os.walk(folder):
        below[:] = [name for name in below if name != "__pycache__"]
        for name in (*names, *(name for name in below if os.path.islink(os.path.join(above, name)))):
            place = Path(above, name)
            told = place.lstat()
            found[place.relative_to(folder).as_posix()] = told.st_size, told.st_mtime_ns
    return found


class Trees:
    """Folders of sides while something runs in them. A run that writes there changes what is compared."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self._before = {folder: stamps(folder) for folder in dict.fromkeys(folders)}

    def altered(self) -> str:
        """What was written since, as the reason why nothing can be compared; "" where nothing was."""
        for folder, before in self._before.items():
            now = stamps(folder)
            path = next((name for name in {**before, **now} if before.get(name) != now.get(name)), "")
            if path:
                return f"a run wrote {path} into a side's own tree: what it compares is no longer what was committed"
        return ""


def without_folders(text: str, folders: Mapping[str, str]) -> str:
    """What a run wrote, for reports: folders of this machine by what they are, the innermost first."""
    for folder in sorted(folders, key=len, reverse=True):
        text = text.replace(folder, folders[folder])
    return text
