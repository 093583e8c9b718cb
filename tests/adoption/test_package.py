"""The source archive and the wheel: what is in them, and that they work on a machine that has nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.projects import new_project

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = ("porttool/", "parity/")

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only a checkout is packaged")]


def tracked() -> set[str]:
    """Files that git knows or would take, and that are here."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    told = subprocess.run(words, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    return {name for name in told if name and (ROOT / name).is_file()}


class Dist(NamedTuple):
    """What was built, and from which files: others may change the checkout meanwhile."""

    archive: Path
    wheel: Path
    files: set[str]


def built(folder: Path) -> Dist:
    """The archive of a copy of the checkout, and the wheel made from that archive alone."""
    files = tracked()
    for name in files:
        target = folder / "tree" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    words = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist", folder / "tree"]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    warned = [line for line in done.stderr.splitlines() if "Deprecat" in line or "no files found" in line]
    assert warned == []
    [archive], [wheel] = (folder / "dist").glob("*.tar.gz"), (folder / "dist").glob("*.whl")
    return Dist(archive, wheel, files)


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    return built(tmp_path_factory.mktemp("package"))


def test_the_archive_has_all(dist):
    """Everything that is tracked is in the source archive, so that it can be tested and rehearsed."""
    with tarfile.open(dist.archive) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert dist.files - held == {".gitignore"}
    assert not [name for name in held if name.startswith("build/") or "__pycache__" in name]


def test_the_wheel_has_the_packages(dist):
    """Every file of both packages is in the wheel, the markers of typed packages and all data files too, no other."""
    with zipfile.ZipFile(dist.wheel) as wheel:
        held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == {name for name in dist.files if name.startswith(PACKAGES)}
    assert {f"{package}py.typed" for package in PACKAGES} <= held


def test_the_metadata(dist):
    """Name, license as an expression with its file, and the light dependencies alone without an extra."""
    with zipfile.ZipFile(dist.wheel) as wheel:
        [file] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        told = wheel.read(file).decode()
        assert wheel.read(file.replace("METADATA", "licenses/LICENSE")) == (ROOT / "LICENSE").read_bytes()
    lines = told.partition("\n\n")[0].splitlines()
    assert "License-Expression: Apache-2.0" in lines and "License-File: LICENSE" in lines
    assert "Requires-Python: >=3.10" in lines
    needs = {Requirement(line.partition(": ")[2]).name for line in lines
             if line.startswith("Requires-Dist: ") and "extra ==" not in line}  # fmt: skip
    assert needs == {"gitpython", "hydra-core", "pygit2", "pyyaml", "rich", "tree-sitter", "tree-sitter-bash",
                     "tree-sitter-python", "tree-sitter-yaml"}  # fmt: skip


# A machine that has nothing else: the wheel, and the distributions its metadata ask for, of this Python's own.


def closure(names: set[str]) -> set[str]:
    """Distributions that are needed, directly or not, without extras."""
    found: set[str] = set()
    waiting = sorted(names)
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in found:
            continue
        try:
            held = distribution(name)
        except PackageNotFoundError:
            continue  # a marker that this Python does not meet
        found.add(name)
        for line in held.requires or ():
            need = Requirement(line)
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                waiting.append(need.name)
    return found


def link(names: set[str], site: Path) -> None:
    """Make installed distributions importable from another environment, and nothing beside them."""
    for name in names:
        held = distribution(name)
        tops = {file.parts[0] for file in held.files or () if file.parts[0] not in ("..", "__pycache__")}
        for top in tops:
            if not (site / top).exists():
                (site / top).symlink_to(Path(str(held.locate_file(top))).resolve())


@pytest.fixture(scope="module")
def clean(dist, tmp_path_factory):
    """The `bin` folder of an environment with the wheel and its dependencies."""
    folder = tmp_path_factory.mktemp("clean")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    words = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "--quiet", "--no-index",
             "--no-deps", "--disable-pip-version-check", dist.wheel]  # fmt: skip
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [site] = folder.glob("lib/python*/site-packages")
    needs = {Requirement(line) for line in distribution("porttool").requires or ()}
    link(closure({need.name for need in needs if need.marker is None}), site)
    return folder / "bin"


def ran(clean: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """An installed command; its surroundings hold no path of this checkout."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run([str(clean / words[0]), *words[1:]], cwd=folder, env=environment, capture_output=True,
                          text=True, check=False)  # fmt: skip


def test_it_works_without_extras(clean, tmp_path):
    """`--version`, `plan`, `apply`, `verify` and `audit` on a small repository."""
    project = new_project(tmp_path)
    told = ran(clean, tmp_path, "porttool", "--version")
    assert (told.returncode, told.stderr) == (0, "")
    for verb in ("plan", "apply", "verify", "audit"):
        done = ran(clean, tmp_path, "porttool", verb)
        assert done.returncode == 0, done.stderr
    assert project.repo.files("port/x")["app/remote/client.py"].count(b"return 2") == 1


def test_it_is_the_wheel_that_ran(clean, tmp_path):
    """The command imports nothing of this checkout, and the trainer stack is not there to be imported."""
    code = "import porttool, parity, sys; print(porttool.__file__, parity.__file__)"
    told = ran(clean, tmp_path, "python", "-c", code)
    assert all(Path(file).is_relative_to(clean.parent) for file in told.stdout.split())
    assert ran(clean, tmp_path, "python", "-c", "import torch").returncode == 1


def test_every_module_of_the_engine_imports(clean, tmp_path):
    """Each module of the engine imports with the declared dependencies alone; one that needs more fails here."""
    code = (
        "import importlib, pkgutil, porttool\n"
        "names = [found.name for found in pkgutil.walk_packages(porttool.__path__, 'porttool.')]\n"
        "for name in names: name.endswith('__main__') or importlib.import_module(name)\n"
        "print(len(names))"
    )
    done = ran(clean, tmp_path, "python", "-c", code)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 60


def test_a_missing_dependency_is_seen(clean, tmp_path):
    """The environment above holds nothing that was not asked for: pytest, which is installed here, is not in it."""
    done = ran(clean, tmp_path, "python", "-c", "import pytest")
    assert "ModuleNotFoundError" in done.stderr
    assert distribution("pytest")


def test_the_harness_says_what_it_lacks(clean, tmp_path):
    """Without the extra, parity ends with the fault of a machine and says what to install; it is no crash."""
    project = new_project(tmp_path)
    project.write(f"- {{pick: [{project.picks[0]}]}}\n", extra=(
        "parity:\n  subject: {trainer: lib.main.main, worker: lib.main.main, rollout: lib.main.main,"
        " adapter: lib.main.main}\n  config: conf/x\n  select: {source: [], target: []}\n  scenarios: {plain: []}\n"
    ))  # fmt: skip
    done = ran(clean, tmp_path, "porttool", "diff-meta")
    assert done.returncode == 3, done.stderr
    assert "porttool[parity]" in done.stderr
