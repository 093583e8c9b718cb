"""A commit's tree as files, byte for byte: no attribute leaves out or rewrites one, as `git archive` would."""

from __future__ import annotations

import os
from pathlib import Path

from porttool.errors import RepositoryError
from porttool.repo import MODE_EXECUTABLE, MODE_GITLINK, MODE_LINK, Repository

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
