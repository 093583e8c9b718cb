"""Where a finding stands: a line of the target, else of the manifest, never a path of this machine."""

from __future__ import annotations

import os
import re
from pathlib import Path

from parity.gate.result import Place
from parity.record import Leaf
from porttool.manifest import Manifest, is_url

# A driver may say anything: what no file can be called is no place.
_LINE = re.compile(r"([^\s:\ud800-\udc7f\udd00-\udfff][^:\0\n\ud800-\udc7f\udd00-\udfff]*):([0-9]{1,9})(?=\s|$)")


def of_origin(held: Leaf | None) -> Place | None:
    """The line that a leaf of the target comes from; None where its origin names none."""
    found = _LINE.match(held.origin) if held is not None else None
    if found is None or os.path.isabs(found[1]):
        return None
    return Place(found[1], max(1, int(found[2])))


def top(manifest: Manifest) -> Path:
    """The repository that holds the manifest, from which reports write paths; where there is none, the project."""
    folder = manifest.path.parent
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), manifest.root)


def in_manifest(manifest: Manifest, *at: str | int) -> Place:
    """The line of a place of the manifest, or of the nearest place around it."""
    return of_where(manifest, manifest.where(*at))


def of_where(manifest: Manifest, where: str) -> Place:
    """The `file:line` of a step or an error, where it is in the project; else the first line of the manifest."""
    path, _, line = where.rpartition(":")
    told = relative(Path(path), top(manifest)) if line.isdecimal() and path else ""
    if not told:
        return Place(relative(manifest.path, top(manifest)), 1, "project")
    return Place(told, max(1, int(line)), "project")


def relative(path: Path, root: Path) -> str:
    """A path below a root, with slashes; "" for the root itself and for one that is not below it."""
    whole = path.resolve()
    return whole.relative_to(root).as_posix() if whole != root and whole.is_relative_to(root) else ""


def roots(manifest: Manifest) -> dict[str, str]:
    """The folder of the target below the project's repository, "" for itself; nothing where it is elsewhere."""
    repo = manifest.repo(manifest.target)
    if is_url(repo):
        return {}
    folder, above = Path(repo).resolve(), top(manifest)
    told = relative(folder, above)
    return {"target": told} if told or folder == above else {}
