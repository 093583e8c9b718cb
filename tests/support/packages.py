"""Tiny wheels, sdists and projects with pins, for tests of vendoring; the package index is a local folder."""

from __future__ import annotations

import base64
import hashlib
import io
import shutil
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from porttool import vendor
from porttool.errors import PortError
from porttool.vendor_fetch import cache_folder
from porttool.vendor_git import Git

LINES = "".join(f"line {number}\n" for number in range(1, 21))
FILES = {"toy/__init__.py": "", "toy/core.py": LINES, "toy/run.sh": "#!/bin/sh\n"}


class Project(NamedTuple):
    """A folder with `vendor_patches/pins.yaml`, and the folder that stands for the package index."""

    root: Path
    index: Path
    file: Path

    @property
    def pins(self) -> Path:
        return self.root / "vendor_patches" / "pins.yaml"

    @property
    def git(self) -> Git:
        return Git(self.root / "build" / "toy")

    def series(self, name: str) -> Path:
        return self.root / "vendor_patches" / "toy" / name

    def repin(self, old: str, new: str) -> None:
        """Replace the one place of `old` in the pins."""
        text = self.pins.read_text()
        assert text.count(old) == 1, (old, text)
        self.pins.write_text(text.replace(old, new))


def write_wheel(folder: Path, files: Mapping[str, str] = FILES, version: str = "1.0") -> Path:
    """A pure Python wheel of the package toy; files named `*.sh` are executable."""
    info = f"toy-{version}.dist-info"
    told = dict(files)
    told[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: toy\nVersion: {version}\n"
    told[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    told[f"{info}/RECORD"] = "".join(record_line(path, text) for path, text in told.items()) + f"{info}/RECORD,,\n"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"toy-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in told.items():
            item = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
            item.external_attr = (0o100755 if name.endswith(".sh") else 0o100644) << 16
            archive.writestr(item, text)
    return path


def record_line(path: str, text: str) -> str:
    """The line of a RECORD for a file."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(text.encode())}\n"


BACKEND = """
import os
def prepare_metadata_for_build_wheel(folder, config_settings=None):
    os.mkdir(os.path.join(folder, "toy-1.0.dist-info"))
    with open(os.path.join(folder, "toy-1.0.dist-info", "METADATA"), "w") as out:
        out.write("Metadata-Version: 2.1\\nName: toy\\nVersion: 1.0\\n")
    return "toy-1.0.dist-info"
def build_wheel(*arguments): raise AssertionError("nobody builds a wheel")
def build_sdist(*arguments): raise AssertionError("nobody builds an sdist")
"""


def write_sdist(folder: Path) -> Path:
    """An sdist of toy with a build backend of its own, a symlink, a script and packaging records."""
    backend = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    told = {**FILES, "pyproject.toml": backend, "backend.py": BACKEND, "PKG-INFO": "Name: toy\n"}
    told["toy.egg-info/SOURCES.txt"] = "toy\n"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "toy-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in told.items():
            item = tarfile.TarInfo(f"toy-1.0/{name}")
            item.size, item.mode = len(text.encode()), 0o755 if name.endswith(".sh") else 0o644
            archive.addfile(item, io.BytesIO(text.encode()))
        link = tarfile.TarInfo("toy-1.0/toy/link.py")
        link.type, link.linkname = tarfile.SYMTYPE, "core.py"
        archive.addfile(link)
    return path


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


PINS = """\
toy:
  version: {version}
  file: {file}
  sha256: {sha256}
  base:
    branch: upstream/v1
    author: Toy Makers <toy@example.invalid>
    date: 2026-03-16T05:34:00+02:00
  branches:
    fixes:
      from: upstream/v1
      series: [toy/fixes]
      tags: {{half-way: 0001-first.patch}}
"""

HEADER = """\
From: Ann Author <ann@example.invalid>
Date: 2026-04-01T12:00:00-07:00
Subject: {subject}
Origin: vendor
Forwarded: not-needed
Applied-Upstream: no
Last-Update: 2026-04-01
"""


def patch_text(subject: str, diff: str, body: str = "") -> str:
    """A patch file by Ann."""
    return HEADER.format(subject=subject) + "\n" + (body + "\n" if body else "") + "---\n" + diff


def line_diff(number: int, new: str, path: str = "toy/core.py", old: str = "") -> str:
    """A diff that changes one line of `FILES["toy/core.py"]`."""
    return (
        f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -{number - 1},3 +{number - 1},3 @@\n"
        f" line {number - 1}\n-{old or f'line {number}'}\n+{new}\n line {number + 1}\n"
    )


def new_project(folder: Path, patches: Mapping[str, str] | None = None, *, sdist: bool = False) -> Project:
    """A project that pins toy, with the series `toy/fixes`: two patches unless told otherwise."""
    index = folder / "index"
    file = write_sdist(index) if sdist else write_wheel(index)
    root = folder / "project"
    project = Project(root, index, file)
    told = patches if patches is not None else default_patches()
    write_series(project.series("fixes"), told)
    project.pins.write_text(PINS.format(version="1.0", file=file.name, sha256=sha256(file)))
    if "0001-first.patch" not in told:
        project.repin("      tags: {half-way: 0001-first.patch}\n", "")
    return project


def warm(project: Project) -> None:
    """Put the package into the cache, as a fetch would."""
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    shutil.copy(project.file, cache)


def default_patches() -> dict[str, str]:
    return {
        "0001-first.patch": patch_text("first", line_diff(5, "changed five"), "Why five.\n"),
        "0002-second.patch": patch_text("second", line_diff(12, "changed twelve")),
    }


def write_series(folder: Path, patches: Mapping[str, str]) -> None:
    """Write patch files and their `series` list, in place of what was there."""
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.iterdir():
        left.unlink()
    for name, text in patches.items():
        (folder / name).write_text(text)
    (folder / "series").write_text("".join(f"{name}\n" for name in patches))


def sync(project: Project) -> vendor.Synced:
    """Build the one pinned package."""
    [synced] = vendor.sync(root=project.root)
    return synced


def refs(git: Git) -> dict[str, str]:
    """Every ref of a repository and its object."""
    lines = git.text("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return dict(line.split(" ") for line in lines)


def refused(project: Project, kind: type[PortError]) -> PortError:
    """The fault of a sync, which must be three lines long."""
    with pytest.raises(kind) as caught:
        sync(project)
    assert len(str(caught.value).splitlines()) == 3
    return caught.value
