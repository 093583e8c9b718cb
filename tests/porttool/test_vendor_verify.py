"""`vendor verify`: each way of not being as pinned is found, and named with the file and the pin."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from porttool.errors import ManifestError
from porttool.vendor import cache_folder, sync
from porttool.vendor_verify import Problem, verify
from tests.support.packages import (
    FILES,
    Project,
    default_patches,
    line_diff,
    new_project,
    patch_text,
    record_line,
    sha256,
    warm,
    write_series,
)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = new_project(tmp_path)
    warm(made)
    sync(root=made.root)
    return made


def problems(project: Project, site: Path | None = None) -> list[Problem]:
    return verify(root=project.root, installed=[] if site is None else [str(site)])


def only(project: Project, site: Path | None = None) -> Problem:
    """The one problem, which must be three lines long and name the pin."""
    [problem] = problems(project, site)
    lines = str(problem).splitlines()
    assert len(lines) == 3 and lines[0].startswith("error: toy==1.0: ")
    return problem


def install(site: Path, version: str = "1.0", origin: object = None) -> Path:
    """An installed toy, as pip leaves it; gives its dist-info."""
    info = site / f"toy-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: toy\nVersion: {version}\n")
    (info / "RECORD").write_text("".join(record_line(*file) for file in FILES.items()) + "toy/core.pyc,,\n")
    for name, text in FILES.items():
        (site / name).parent.mkdir(exist_ok=True)
        (site / name).write_text(text)
    if origin is not None:
        (info / "direct_url.json").write_text(json.dumps(origin))
    return info


def test_all_as_pinned(project: Project, tmp_path: Path) -> None:
    """A synced project with a clean install has no problems."""
    install(tmp_path / "site")
    assert problems(project, tmp_path / "site") == []


def test_nothing_changes(project: Project) -> None:
    """Verifying writes nothing into the project or the cache."""

    def seen() -> dict[str, int]:
        roots = (project.root, cache_folder())
        return {str(path): path.stat().st_mtime_ns for root in roots for path in root.rglob("*")}

    before = seen()
    problems(project)
    assert seen() == before


def test_wrong_hash(project: Project) -> None:
    """A cached file whose hash is wrong is named, with the pin's line and both hashes."""
    file = cache_folder() / project.file.name
    good = sha256(file)
    file.write_bytes(b"evil")
    problem = only(project)
    assert problem.where == str(file) and f"{project.pins}:1" in problem.message
    assert good in problem.message and sha256(file) in problem.message


def test_not_in_the_cache(project: Project) -> None:
    """A file that was never fetched cannot be verified, and that is said."""
    (cache_folder() / project.file.name).unlink()
    problem = only(project)
    assert "is not in the cache" in problem.message and problem.hint == "run `porttool vendor sync toy`"


def test_not_built_yet(project: Project) -> None:
    """Pins and patches can be verified before anything is built."""
    (project.root / "build" / "toy").rename(project.root / "elsewhere")
    assert problems(project) == []


def edit(*, first: Callable[[str], str]) -> Callable[[Project], None]:
    def change(project: Project) -> None:
        patches = default_patches()
        patches["0001-first.patch"] = first(patches["0001-first.patch"])
        write_series(project.series("fixes"), patches)

    return change


BROKEN = {
    "does not apply at toy/core.py:4": edit(first=lambda text: text.replace("-line 5", "-line 55")),
    "only with an offset": edit(first=lambda text: text.replace("@@ -4,3 +4,3 @@", "@@ -6,3 +6,3 @@")),
    "wider than one line": edit(
        first=lambda text: text.replace("@@ -4,3 +4,3 @@", "@@ -3,4 +3,4 @@").replace(
            " line 4\n", " line 3\n line 4\n"
        )
    ),
    "the DEP-3 field Origin is missing": edit(first=lambda text: text.replace("Origin: vendor\n", "")),
    "a patch of the series is missing": lambda project: (project.series("fixes") / "0001-first.patch").unlink(),
    "a file here is not in the series": lambda project: (project.series("fixes") / "x.orig").write_text(""),
    "a patch series has no list": lambda project: (project.series("fixes") / "series").unlink(),
}


@pytest.mark.parametrize("message", BROKEN)
def test_broken_series(project: Project, message: str) -> None:
    """Each way in which a patch series is broken is found, at the file in question."""
    BROKEN[message](project)
    problem = only(project)
    assert message in problem.message and str(project.series("fixes")) in problem.where


def test_patch_already_in(project: Project) -> None:
    """A patch that is in the series twice is found."""
    patches = default_patches()
    write_series(project.series("fixes"), {**patches, "0003-again.patch": patches["0001-first.patch"]})
    assert "the patch is already in" in only(project).message


def test_unused_series(project: Project) -> None:
    """A series that no branch names is found."""
    write_series(project.series("forgotten"), default_patches())
    [problem] = problems(project)
    assert problem.message == "no branch uses this series"


def test_repository_of_other_patches(project: Project) -> None:
    """A repository built before the patches changed is found."""
    write_series(project.series("fixes"), {"0001-first.patch": patch_text("first", line_diff(5, "changed otherwise"))})
    assert "built from other pins or patches" in only(project).message


def test_branch_moved_by_hand(project: Project) -> None:
    """A branch of the built repository that is not what the patches give is found."""
    project.git.run("branch", "--force", "fixes", "upstream/v1")
    assert "refs/heads/fixes is" in only(project).message


def test_foreign_repository(project: Project) -> None:
    """A folder that sync did not build is found."""
    (project.git.folder / ".git" / "porttool-vendor.json").unlink()
    assert "was not built by vendor sync" in only(project).message


def test_editable_install(project: Project, tmp_path: Path) -> None:
    """An editable install is found, with the folder it stands for."""
    install(tmp_path / "site", origin={"url": "file:///src/toy", "dir_info": {"editable": True}})
    problem = only(project, tmp_path / "site")
    assert "an editable install" in problem.message and problem.where == "file:///src/toy"
    assert f"{project.pins}:1" in problem.message


def test_install_without_record(project: Project, tmp_path: Path) -> None:
    """A develop install of an old setup.py has no record, and is found."""
    info = install(tmp_path / "site")
    (info / "RECORD").unlink()
    assert "without a record" in only(project, tmp_path / "site").message


def test_dirty_install(project: Project, tmp_path: Path) -> None:
    """A file that was edited where it is installed is found."""
    install(tmp_path / "site")
    (tmp_path / "site" / "toy" / "core.py").write_text("print('debug')\n")
    problem = only(project, tmp_path / "site")
    assert "was changed" in problem.message and problem.where == str(tmp_path / "site" / "toy" / "core.py")


def test_file_missing_from_an_install(project: Project, tmp_path: Path) -> None:
    """A file that was deleted where it was installed is found."""
    install(tmp_path / "site")
    (tmp_path / "site" / "toy" / "run.sh").unlink()
    assert "is missing" in only(project, tmp_path / "site").message


def test_other_version_installed(project: Project, tmp_path: Path) -> None:
    """Another version than the pinned one is found."""
    install(tmp_path / "site", version="1.1")
    assert "version 1.1 is installed" in only(project, tmp_path / "site").message


def test_installed_from_another_file(project: Project, tmp_path: Path) -> None:
    """An install whose archive had another hash is found; one with the pinned hash is not."""
    for digest, count in (("0" * 64, 1), (sha256(project.file), 0)):
        site = tmp_path / digest
        install(site, origin={"url": "file:///toy.whl", "archive_info": {"hashes": {"sha256": digest}}})
        assert len(problems(project, site)) == count


def test_first_install_counts(project: Project, tmp_path: Path) -> None:
    """Of two installs the one that Python imports is judged."""
    install(tmp_path / "one")
    install(tmp_path / "two", version="1.1")
    assert verify(root=project.root, installed=[str(tmp_path / "one"), str(tmp_path / "two")]) == []


def test_problems_are_told_together(project: Project, tmp_path: Path) -> None:
    """One run tells of every problem, not of the first."""
    install(tmp_path / "site", version="1.1")
    (project.series("fixes") / "0001-first.patch").unlink()
    (cache_folder() / project.file.name).write_bytes(b"evil")
    assert len(problems(project, tmp_path / "site")) == 3


def test_bad_pins_are_a_fault(project: Project) -> None:
    """Pins that cannot be read are an error, not a list of problems."""
    project.pins.write_text("toy: 1\n")
    with pytest.raises(ManifestError):
        problems(project)
