"""Copies of the rehearsal: a project folder and a repository of its own, before and after the port."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from porttool.manifest import Manifest, load
from porttool.port import Run, apply
from tests.support.repos import Content, Repo, Script

ROOT = Path(__file__).resolve().parents[2]
PORT, RECIPE, SHARE = "port/rl_correctness", "recipe/rl-correctness", "arctic_rl_share_v0.7.1"


@dataclass(frozen=True)
class Rehearsal:
    """A project folder; `repo` is its `build/verl`."""

    folder: Path
    repo: Repo

    def file(self, name: str = "rl_correctness") -> Path:
        return self.folder / "manifests" / f"{name}.yaml"

    def manifest(self, name: str = "rl_correctness") -> Manifest:
        return load(self.file(name))

    def tree(self, rev: str) -> str:
        return self.repo.git("rev-parse", f"{rev}^{{tree}}")


def changed(repo: Repo, old: str, new: str) -> dict[str, Content]:
    """What `new` holds where it differs from `old`; None where a file is gone."""
    found: dict[str, Content] = {}
    for line in repo.git("diff-tree", "-r", "--no-renames", old, new).splitlines():
        told, _, path = line.partition("\t")
        mode, _, oid, kind = told.split()[1:]
        content = None if kind == "D" else repo.git_repo[oid].data
        found[path] = Script(content) if mode == "100755" and content is not None else content
    return found


def copy_of(folder: Path, to: Path) -> Rehearsal:
    shutil.copytree(folder, to, symlinks=True)
    return Rehearsal(to, Repo(to / "build" / "verl"))


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as it is shipped, with a `build/verl` of its own made from what `vendor sync verl` has fetched."""
    folder = tmp_path_factory.mktemp("rehearsal") / "project"
    for name in ("manifests", "vendor_patches"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "pyproject.toml").write_text('[tool.porttool]\nmanifest = "manifests/rl_correctness.yaml"\n')
    environment = {**os.environ, "PIP_NO_INDEX": "1", "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", "porttool", "vendor", "sync", "verl"]
    made = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"build/verl cannot be made: {made.stderr.strip()}")
    return folder


@pytest.fixture(scope="session")
def after(pristine: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    """The project after `apply`."""
    there = copy_of(pristine, tmp_path_factory.mktemp("ported") / "project")
    return there.folder, apply(there.manifest())


@pytest.fixture
def rehearsal(pristine: Path, tmp_path: Path) -> Rehearsal:
    """A copy of its own, before the port."""
    return copy_of(pristine, tmp_path / "rehearsal")


@pytest.fixture
def ported(after: tuple[Path, Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rehearsal:
    """A copy of its own, after the port; the test runs in its folder."""
    made = copy_of(after[0], tmp_path / "rehearsal")
    monkeypatch.chdir(made.folder)
    return made
