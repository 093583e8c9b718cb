"""`vendor sync` killed, interrupted, out of disk or run twice at once: nothing is half made, the next completes."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from porttool import vendor
from porttool.errors import EnvironmentFault
from tests.support.packages import Project, default_patches, new_project, refs, refused, sync, warm, write_series


@pytest.fixture
def cold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project whose package is on the index only."""
    made = new_project(tmp_path)
    monkeypatch.setenv("PIP_FIND_LINKS", str(made.index))
    return made


@pytest.fixture
def project(cold: Project) -> Project:
    """A project whose package is in the cache."""
    warm(cold)
    return cold


KILLED = """
import os, signal, sys
from pathlib import Path
from porttool import {module}, vendor
real = {module}.{name}
def then_die(*arguments, **options):
    {before}
    os.kill(os.getpid(), signal.SIGKILL)
{module}.{name} = then_die
vendor.sync(root=Path(sys.argv[1]))
"""


@pytest.mark.parametrize(
    ("module", "name", "before"),
    [
        ("vendor_fetch", "_download", "real(*arguments)"),
        ("vendor_build", "_base_commit", "real(*arguments)"),
        ("vendor_build", "apply_series", "real(*arguments)"),
        ("vendor", "build_objects", "real(*arguments)"),
        ("vendor", "_write_stamp", "pass"),
    ],
)
def test_killed_sync_resumes(cold: Project, module: str, name: str, before: str, tmp_path: Path) -> None:
    """A sync killed at any of its steps leaves nothing under the final name; the next one completes the same."""
    code = KILLED.format(module=module, name=name, before=before)
    ran = subprocess.run([sys.executable, "-c", code, str(cold.root)], cwd=Path(vendor.__file__).parent.parent)
    assert ran.returncode == -signal.SIGKILL
    assert not (cold.root / "build" / "toy").exists()
    synced = sync(cold)
    assert refs(cold.git) == dict(synced.refs)
    left = sorted(path.name for path in (cold.root / "build").iterdir())
    assert left == [".toy.lock", "toy"]


def test_killed_between_refs_and_stamp(project: Project) -> None:
    """A re-sync killed after its refs moved and before it noted so is recognised as done."""
    sync(project)
    write_series(project.series("fixes"), {"0001-first.patch": default_patches()["0001-first.patch"]})
    code = KILLED.format(module="vendor", name="_write_stamp", before="pass")
    subprocess.run([sys.executable, "-c", code, str(project.root)], cwd=Path(vendor.__file__).parent.parent)
    assert refs(project.git) == dict(sync(project).refs)


def test_full_disk_is_a_fault(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full is three lines, and the next sync completes."""

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device", "build/toy")

    with monkeypatch.context() as patched:
        patched.setattr(vendor, "build_objects", full)
        assert "No space left on device" in refused(project, EnvironmentFault).message
    assert sync(project).built


def test_interrupted_sync_leaves_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle of a build leaves no half of a repository."""

    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(vendor, "build_objects", interrupt)
    with pytest.raises(KeyboardInterrupt):
        sync(project)
    assert [path.name for path in (project.root / "build").iterdir()] == [".toy.lock"]


def test_two_syncs_at_once(project: Project) -> None:
    """Two syncs of one package at the same time both succeed, and one of them builds."""
    code = "import sys; from pathlib import Path; from porttool import vendor\n"
    code += "print([found.built for found in vendor.sync(root=Path(sys.argv[1]))])"
    words = [sys.executable, "-c", code, str(project.root)]
    home = Path(vendor.__file__).parent.parent
    running = [subprocess.Popen(words, cwd=home, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sorted(one.communicate()[0].strip() for one in running) == ["[False]", "[True]"]
