"""A small project to port in: a repository with a source branch, a target branch in another layout, and a manifest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.support.repos import Repo, new_repo

LAYOUT = """\
  paths: {lib/client.py: app/remote/client.py}
  symbols: {OldWorker: NewWorker}
  keys: {old_rl: remote}
"""
CLIENT = "import os\n\n\nclass OldWorker:\n    def run(self):\n        return 1\n"
MAIN = "from lib.client import OldWorker\n\n\ndef main():\n    return OldWorker().run()\n"
CONFIG = "old_rl:\n  lr: 1\nother: 2\n"


@dataclass(frozen=True)
class Project:
    """Where the parts are; `picks` are the source commits, oldest first."""

    repo: Repo
    manifest: Path
    picks: tuple[str, ...]

    def write(self, commits: str, *, layout: str = LAYOUT, extra: str = "", branch: str = "port/x") -> Path:
        """Write the manifest anew."""
        self.manifest.write_text(
            "version: 1\n"
            "source: {repo: repo, ref: recipe}\n"
            f"target: {{repo: repo, ref: main, branch: {branch}}}\n"
            f"layout:\n{layout}{extra}commits:\n{commits}"
        )
        return self.manifest


def new_project(folder: Path) -> Project:
    """Two branches with one ancestor: `recipe` has two fixes in the old layout, `main` moved everything."""
    repo = new_repo(folder / "repo")
    start = repo.commit({"lib/__init__.py": "", "lib/client.py": CLIENT, "lib/main.py": MAIN, "conf.yaml": CONFIG})
    moved = CLIENT.replace("OldWorker", "NewWorker")
    repo.commit(
        {
            "lib/client.py": None,
            "app/__init__.py": "",
            "app/remote/__init__.py": "",
            "app/remote/client.py": moved,
            "lib/main.py": "from app.remote.client import NewWorker\n\n\ndef main():\n    return NewWorker().run()\n",
            "conf.yaml": "remote:\n  lr: 1\nother: 2\n",
            "base.py": "KEEP = 1\n",
        },
        message="restructure\n",
    )
    repo.branch("recipe", start)
    first = repo.commit(
        {"lib/client.py": CLIENT.replace("return 1", "return 2")},
        branch="recipe",
        message="Fix the run\n\nIt was wrong.\n",
        author="Xiao Du <xiao@example.invalid>",
    )
    second = repo.commit(
        {"lib/main.py": MAIN + "\n\nWORKER = OldWorker\n", "conf.yaml": CONFIG.replace("lr: 1", "lr: 3")},
        branch="recipe",
        message="Name the worker\n",
        author="Stas Be <stas@example.invalid>",
    )
    (folder / "pyproject.toml").write_text("")
    (folder / "manifests").mkdir()
    project = Project(repo, folder / "manifests" / "m.yaml", (first, second))
    project.write(f"- {{pick: [{first}]}}\n- {{pick: [{second}], upstream: [{first[:8]}]}}\n")
    return project
