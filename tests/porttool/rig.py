"""A source branch and a target branch in one repository, and manifests over them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from porttool.manifest import Manifest, load
from porttool.port import Run, apply
from tests.support.repos import Repo

MOVED = {"old": "new/place"}


class Rig:
    """`source` and `target` start at one tree in two layouts: what is under `old/` is under `new/place/` there."""

    def __init__(self, repo: Repo, files: Mapping[str, Any], moved: Mapping[str, str] | None = None) -> None:
        self.repo = repo
        self.layout: dict[str, Any] = {"paths": dict(MOVED if moved is None else moved)}
        self.base = repo.commit(files, branch="source", message="base\n")
        there = {self.to_target(path): self.told(content) for path, content in files.items()}
        self.tip = repo.commit(there, branch="target", message="base, moved\n", parents=[])
        self.folder = repo.path.parent / "project"
        self.folder.mkdir()
        (self.folder / "pyproject.toml").write_text("")

    def to_target(self, path: str) -> str:
        for old, new in self.layout["paths"].items():
            if path == old or path.startswith(old + "/"):
                return new + path[len(old) :]
        return path

    def told(self, content: Any) -> Any:
        """Text as the target tells it."""
        for old, new in self.layout["paths"].items() if isinstance(content, str) else ():
            content = content.replace(f"{old}/", f"{new}/")
        return content

    def change(self, files: Mapping[str, Any], **told: Any) -> str:
        """A commit on the source branch."""
        return self.repo.commit(files, branch="source", **told)

    def drift(self, files: Mapping[str, Any], **told: Any) -> str:
        """A commit on the target branch."""
        return self.repo.commit(files, branch="target", **told)

    def manifest(self, *commits: Any, name: str = "port", **told: Any) -> Manifest:
        """A manifest written to disk and loaded. A plain string is a pick; a mapping is an item as it is."""
        items = [{"pick": [item]} if isinstance(item, str) else item for item in commits]
        whole = {
            "version": 1,
            "source": {"repo": str(self.repo.path), "ref": "source"},
            "target": {"repo": str(self.repo.path), "ref": "target", "branch": "out"},
            "layout": self.layout,
            "commits": items,
            **told,
        }
        file = self.folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump(whole, sort_keys=False))
        return load(file)

    def apply(self, *commits: Any, **told: Any) -> Run:
        """Port commits; `told` goes into the manifest."""
        return apply(self.manifest(*commits, **told))

    @property
    def scratch(self) -> Path:
        """The scratch worktree of the conflict that is waiting."""
        (found,) = (self.repo.path / ".git/porttool").glob("*/scratch-*")
        return found


def lines(*changed: tuple[int, str], count: int = 12) -> str:
    """A file of numbered lines, some of them changed."""
    told = {number: f"line {number}" for number in range(1, count + 1)} | dict(changed)
    return "".join(f"{line}\n" for line in told.values())
