"""`vendor sync`: pinned packages become git repositories, the same on any machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from porttool import vendor
from porttool.errors import EnvironmentFault, ManifestError, RepositoryError, UsageError
from tests.support.packages import (
    FILES,
    Project,
    default_patches,
    line_diff,
    new_project,
    patch_text,
    refs,
    refused,
    sha256,
    sync,
    warm,
    write_series,
    write_wheel,
)


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


def test_sync_builds_base_branches_and_tags(cold: Project) -> None:
    """A sync gives the base branch, each branch with one commit per patch, and tags where they were put."""
    synced = sync(cold)
    assert synced.built
    assert set(synced.refs) == {"refs/heads/upstream/v1", "refs/heads/fixes", "refs/tags/half-way"}
    assert refs(cold.git) == dict(synced.refs)
    log = cold.git.text("log", "--format=%an|%ae|%aI|%cn|%cI|%s|%b", "fixes").splitlines()
    ann = "Ann Author|ann@example.invalid|2026-04-01T12:00:00-07:00|Ann Author|2026-04-01T12:00:00-07:00"
    assert log[0] == f"{ann}|second|"
    assert f"{ann}|first|Why five." in log
    assert cold.git.text("rev-parse", "fixes~1") == cold.git.text("rev-parse", "half-way")
    assert "changed five" in cold.git.text("show", "fixes:toy/core.py")


def test_base_is_the_package_without_its_packaging_records(project: Project) -> None:
    """The base commit holds the files of the wheel with their modes, and no dist-info."""
    sync(project)
    listed = project.git.text("ls-tree", "-r", "--format=%(objectmode) %(path)", "upstream/v1").splitlines()
    assert listed == ["100644 toy/__init__.py", "100644 toy/core.py", "100755 toy/run.sh"]


def test_base_names_the_file_and_its_hash(project: Project) -> None:
    """The message of the base commit says which file it is."""
    sync(project)
    message = project.git.text("log", "-1", "--format=%B", "upstream/v1")
    assert project.file.name in message and sha256(project.file) in message


def test_two_machines_give_the_same_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two syncs in different folders, with other identities, zones and git settings, give the same commit ids."""
    told = []
    for number, zone in enumerate(("UTC", "Asia/Tokyo")):
        made = new_project(tmp_path / str(number))
        warm(made)
        monkeypatch.setenv("TZ", zone)
        monkeypatch.setenv("GIT_AUTHOR_NAME", f"user {number}")
        monkeypatch.setenv("GIT_DEFAULT_HASH", ("sha1", "sha256")[number])
        config = tmp_path / f"config{number}"
        config.write_text("[core]\nautocrlf = true\n[apply]\nwhitespace = fix\n[diff]\nnoprefix = true\n" * number)
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
        told.append(sync(made).refs)
    assert told[0] == told[1]


def test_sync_of_an_sdist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An sdist is fetched and unpacked without its top folder and its packaging records; symlinks stay symlinks."""
    made = new_project(tmp_path, sdist=True)
    monkeypatch.setenv("PIP_FIND_LINKS", str(made.index))
    sync(made)
    listed = made.git.text("ls-tree", "-r", "--format=%(objectmode) %(path)", "upstream/v1").splitlines()
    files = ["toy/__init__.py", "toy/core.py", "toy/link.py", "toy/run.sh"]
    assert [line.split(" ")[1] for line in listed] == ["backend.py", "pyproject.toml", *files]
    assert "120000 toy/link.py" in listed and "100755 toy/run.sh" in listed


def test_worktree_holds_no_branch(project: Project) -> None:
    """The built worktree is clean and detached at the base, so that every branch may be moved."""
    sync(project)
    assert project.git.attempt("symbolic-ref", "--quiet", "HEAD").status == 1
    assert project.git.text("rev-parse", "HEAD") == project.git.text("rev-parse", "upstream/v1")
    assert project.git.text("status", "--porcelain") == ""


def test_right_repository_is_left_alone(project: Project) -> None:
    """A second sync builds nothing and needs no archive."""
    first = sync(project)
    for path in vendor.cache_folder().iterdir():
        path.unlink()
    project.file.unlink()
    second = sync(project)
    assert not second.built and second.refs == first.refs


def test_warm_cache_works_offline(project: Project) -> None:
    """Once fetched, a package is built again without any index."""
    first = sync(project)
    project.file.unlink()
    (project.root / "build").rename(project.root / "elsewhere")
    assert sync(project).refs == first.refs


def test_user_branches_survive(project: Project) -> None:
    """A sync with other patches moves our branches only; a port made there stays."""
    first = sync(project)
    project.git.run("branch", "port/mine", "fixes")
    write_series(project.series("fixes"), {"0001-first.patch": default_patches()["0001-first.patch"]})
    second = sync(project)
    assert second.built
    now = refs(project.git)
    assert now["refs/heads/port/mine"] == first.refs["refs/heads/fixes"]
    assert now["refs/heads/fixes"] == first.refs["refs/tags/half-way"]


def test_branch_no_longer_pinned_is_removed(project: Project) -> None:
    """A branch that leaves the pins leaves the repository."""
    sync(project)
    project.repin("    fixes:\n", "    mended:\n")
    assert "refs/heads/fixes" not in sync(project).refs
    assert "refs/heads/fixes" not in refs(project.git)


def test_deleted_branch_comes_back(project: Project) -> None:
    """A sync restores a branch of ours that was deleted."""
    first = sync(project)
    project.git.run("branch", "-D", "fixes")
    assert sync(project).built
    assert refs(project.git) == dict(first.refs)


def test_commits_on_our_branch_are_not_lost(project: Project) -> None:
    """A branch of ours that somebody committed on is refused, and stays where it is."""
    sync(project)
    project.git.run("checkout", "--quiet", "fixes")
    identity = ("-c", "user.name=U", "-c", "user.email=u@example.invalid")
    project.git.run(*identity, "commit", "--quiet", "--allow-empty", "--message", "mine")
    before = refs(project.git)
    fault = refused(project, RepositoryError)
    assert "refs/heads/fixes was moved by hand" in fault.message
    assert refs(project.git) == before


def test_checked_out_branch_is_not_moved(project: Project) -> None:
    """A branch that the pins would move is refused while it is checked out."""
    sync(project)
    project.git.run("checkout", "--quiet", "fixes")
    write_series(project.series("fixes"), {"0001-first.patch": default_patches()["0001-first.patch"]})
    before = refs(project.git)
    assert "is checked out" in refused(project, RepositoryError).message
    assert refs(project.git) == before


def test_foreign_folder_is_refused(project: Project) -> None:
    """A folder that sync did not make is not touched."""
    folder = project.root / "build" / "toy"
    folder.mkdir(parents=True)
    (folder / "precious").write_text("mine")
    assert "not built by vendor sync" in refused(project, RepositoryError).message
    assert (folder / "precious").read_text() == "mine"


def test_unknown_name(project: Project) -> None:
    """A name that is not pinned is a usage error that lists the pinned ones."""
    with pytest.raises(UsageError) as caught:
        vendor.sync(("tow",), root=project.root)
    assert caught.value.hint == "pinned: toy"


def test_broken_patch_leaves_no_repository(project: Project) -> None:
    """A patch that does not apply is named with its line; nothing appears under its final name."""
    write_series(project.series("fixes"), {"0001-first.patch": patch_text("first", line_diff(5, "x", old="other"))})
    fault = refused(project, ManifestError)
    assert fault.where == f"{project.series('fixes') / '0001-first.patch'}:10"
    assert [path.name for path in (project.root / "build").iterdir()] == [".toy.lock"]


def test_broken_patch_leaves_the_built_repository(project: Project) -> None:
    """A later patch that does not apply leaves every ref of the built repository."""
    sync(project)
    before = refs(project.git)
    write_series(project.series("fixes"), {"0001-first.patch": patch_text("first", line_diff(5, "x", old="other"))})
    refused(project, ManifestError)
    assert refs(project.git) == before


def test_tag_on_a_missing_patch(project: Project) -> None:
    """A tag that names a patch outside its branch is refused at its line."""
    project.repin("0001-first.patch", "0009-never.patch")
    assert "0009-never.patch" in refused_at(project)


def refused_at(project: Project) -> str:
    with pytest.raises(ManifestError) as caught:
        sync(project)
    assert caught.value.where.startswith(f"{project.pins}:")
    return caught.value.message


def test_wrong_hash_is_refused(cold: Project) -> None:
    """A file on the index that has not the pinned hash is not used, and not cached."""
    write_wheel(cold.index, {"toy/__init__.py": "evil\n"})
    fault = refused(cold, EnvironmentFault)
    assert "has not the pinned hash" in fault.message
    assert fault.where == f"{cold.pins}:1"
    assert not (vendor.cache_folder() / cold.file.name).exists()


def test_damaged_cache_is_fetched_again(cold: Project) -> None:
    """A cached file that has lost its hash is replaced."""
    cache = vendor.cache_folder()
    cache.mkdir(parents=True)
    (cache / cold.file.name).write_bytes(b"half a whe")
    sync(cold)
    assert sha256(cache / cold.file.name) == sha256(cold.file)


def test_missing_on_the_index(cold: Project) -> None:
    """A package the index does not have is an environment fault at its pin."""
    cold.file.unlink()
    fault = refused(cold, EnvironmentFault)
    assert fault.message == "pip cannot fetch toy==1.0" and fault.where == f"{cold.pins}:1"


def test_archive_that_leaves_its_folder(project: Project) -> None:
    """A wheel with a path that climbs out, or into .git, is refused."""
    for path in ("toy/../../evil.py", "/evil.py", "toy/.GIT/config"):
        write_wheel(project.index, {path: "evil\n"})
        warm(project)
        project.pins.write_text(
            "\n".join(
                f"  sha256: {sha256(project.file)}" if line.startswith("  sha256") else line
                for line in project.pins.read_text().splitlines()
            )
        )
        assert "outside its folder" in refused(project, EnvironmentFault).message


def test_progress_is_told(cold: Project) -> None:
    """Each step is told to the caller as a line."""
    lines: list[str] = []
    vendor.sync(root=cold.root, progress=lines.append)
    assert lines[0] == f"fetching {cold.file.name}"
    assert "applying 2 patches of fixes" in lines


def test_no_git(project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without git is told so."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refused(project, EnvironmentFault).message == "git is not installed"


def test_odd_file_names_are_kept(tmp_path: Path) -> None:
    """Quotes, backslashes, spaces and letters beyond ASCII in file names arrive in the tree."""
    made = new_project(tmp_path, {})
    names = ['toy/a "b".py', "toy/c\\d.py", "toy/e f.py", "toy/\u00e9.py"]
    old = sha256(made.file)
    made.repin(old, sha256(write_wheel(made.index, dict.fromkeys(names, ""))))
    warm(made)
    sync(made)
    listed = made.git.text("ls-tree", "-r", "-z", "--name-only", "upstream/v1").strip("\0").split("\0")
    assert sorted(listed) == sorted(names)


def test_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """PORTTOOL_CACHE wins over XDG_CACHE_HOME, which wins over the home folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert vendor.cache_folder() == Path("/x/porttool")
    monkeypatch.setenv("PORTTOOL_CACHE", "/p")
    assert vendor.cache_folder() == Path("/p")
    monkeypatch.delenv("PORTTOOL_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/h")
    assert vendor.cache_folder() == Path("/h/.cache/porttool")


def test_no_leftover_refs_of_the_import(project: Project) -> None:
    """The objects are imported without leaving a ref of ours that nobody pinned."""
    sync(project)
    assert not [name for name in refs(project.git) if name.startswith("refs/porttool")]


def test_branch_from_a_tag_with_two_series(project: Project) -> None:
    """A branch may start at a tag of another one, and takes its series one after the other."""
    write_series(project.series("more"), {"0001-third.patch": patch_text("third", line_diff(15, "fifteen"))})
    write_series(project.series("most"), {"0001-fourth.patch": patch_text("fourth", line_diff(18, "eighteen"))})
    told = project.pins.read_text() + "    more:\n      from: half-way\n      series: [toy/more, toy/most]\n"
    project.pins.write_text(told)
    sync(project)
    assert project.git.text("log", "--format=%s", "upstream/v1..more").split() == ["fourth", "third", "first"]


def test_new_base_moves_an_untouched_worktree(project: Project) -> None:
    """When the pinned file changes, a worktree that nobody touched follows to the new base."""
    sync(project)
    old = sha256(project.file)
    write_wheel(project.index, {**FILES, "toy/new.py": ""})
    project.repin(old, sha256(project.file))
    warm(project)
    sync(project)
    assert project.git.text("rev-parse", "HEAD") == project.git.text("rev-parse", "upstream/v1")
    assert (project.git.folder / "toy" / "new.py").exists() and project.git.text("status", "--porcelain") == ""


def test_branch_in_a_linked_worktree_is_not_moved(project: Project, tmp_path: Path) -> None:
    """A branch that is checked out in another worktree is refused like one in the main one."""
    sync(project)
    project.git.run("worktree", "add", "--quiet", str(tmp_path / "linked"), "fixes")
    write_series(project.series("fixes"), {"0001-first.patch": default_patches()["0001-first.patch"]})
    assert "is checked out" in refused(project, RepositoryError).message


def test_lenient_configuration_of_the_repository_is_not_heeded(project: Project) -> None:
    """A built repository set to ignore blanks in patches still refuses a patch whose blanks differ."""
    sync(project)
    project.git.run("config", "apply.ignoreWhitespace", "change")
    diff = line_diff(5, "changed", old="line  5")
    write_series(project.series("fixes"), {"0001-first.patch": patch_text("first", diff)})
    assert "does not apply" in refused(project, ManifestError).message
