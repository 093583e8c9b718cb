"""What a user can get wrong: one three-line error, and nothing has changed."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.support.projects import LAYOUT, new_project


@pytest.fixture
def project(tmp_path, monkeypatch):
    made = new_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    return made


@pytest.fixture
def refused(run, project):
    """Runs a verb that must be refused with `code`; gives stderr. Refs, worktree and objects must be as before."""

    def check(*words: object, code: int, verb: str = "apply") -> str:
        before = (project.repo.refs(), _files(project.repo.path), project.repo.git("count-objects"))
        ran = run(verb, *words)
        errors = [line for line in ran.err.splitlines() if line != "porting"]
        assert (ran.code, ran.out) == (code, ""), ran
        assert errors[0].startswith("error: ")
        assert len(errors) <= 3
        assert (project.repo.refs(), _files(project.repo.path), project.repo.git("count-objects")) == before
        return "\n".join(errors)

    return check


def _files(folder) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if ".git/objects" not in str(path))


def pick(project) -> str:
    return f"- {{pick: [{project.picks[0]}]}}\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("commits:", "comits:", "did you mean 'commits'?"),
        ("version: 1", "version: x", "version must be 1"),
        ("lib/client.py: app", "../lib/client.py: app", "a path inside the repository"),
        ("branch: port/x", "branch: -x", "may not begin with `-`"),
        ("ref: recipe", "ref: --exec=touch", "may not begin with `-`"),
        ("keys: {old_rl: remote}", "keys: {old_rl: remote, other_rl: remote}", "is the target of both"),
        ("  paths", "  paths: {}\n  paths", "is written twice"),
    ],
)
def test_manifest(refused, project, old, new, message):
    """A manifest that is not valid: its file and line, and the nearest known key."""
    text = project.manifest.read_text()
    assert old in text
    project.manifest.write_text(text.replace(old, new, 1))
    said = refused(code=2)
    assert message in said
    assert "m.yaml:" in said


@pytest.mark.parametrize("side", ["recipe", "main,"])
def test_missing_ref(refused, project, side):
    """A ref that is not there is named, with the line that asks for it."""
    text = project.manifest.read_text()
    project.manifest.write_text(text.replace(f"ref: {side}", f"ref: nowhere{side.strip('recipman')}", 1))
    said = refused(code=3)
    assert "nowhere" in said
    assert "m.yaml:" in said


def test_missing_commit(refused, project):
    """A commit that is not there is named, with its line."""
    project.write(f"- {{pick: [{'ab' * 20}]}}\n")
    assert "m.yaml:9" in refused(code=3)


def test_no_repository(refused, project):
    """A repository path that leads nowhere."""
    project.manifest.write_text(project.manifest.read_text().replace("repo: repo", "repo: nothing"))
    assert "no repository" in refused(code=3)


def test_two_files_to_one_in_the_trees(run, project):
    """A pair whose new path is in use on the source side is found by plan, which names both; nothing moves."""
    project.write(pick(project), layout="  paths: {lib/client.py: lib/main.py}\n")
    ran = run("plan")
    assert ran.code == 1
    assert "'lib/client.py'" in ran.out
    assert "'lib/main.py'" in ran.out
    before = project.repo.refs()
    assert run("apply").code == 1
    assert project.repo.refs() == before


def test_pair_that_matches_nothing(run, project):
    """A pair that matches nothing is a warning under plan, and a failure under verify."""
    project.write(pick(project), layout=LAYOUT.replace("paths: {", "paths: {no/such.py: any/where.py, "))
    ran = run("plan")
    assert ran.code == 0
    assert "no/such.py" in ran.out


def test_shallow(refused, project, tmp_path):
    """A shallow repository is refused with the command that completes it."""
    url = f"file://{project.repo.path}"
    project.repo.git("clone", "-q", "--depth", "1", "--no-single-branch", url, str(tmp_path / "s"))
    project.manifest.write_text(project.manifest.read_text().replace("repo: repo", "repo: s"))
    said = refused(code=3)
    assert "shallow" in said
    assert "--unshallow" in said


def test_bare(refused, project, tmp_path):
    """A bare repository is refused."""
    project.repo.git("clone", "-q", "--bare", str(project.repo.path), str(tmp_path / "b"))
    project.manifest.write_text(project.manifest.read_text().replace("repo: repo", "repo: b"))
    assert "bare" in refused(code=3)


def test_sha256(refused, project, tmp_path):
    """A sha256 repository is refused."""
    subprocess.run(["git", "init", "-q", "--object-format=sha256", str(tmp_path / "s256")], check=True)
    project.manifest.write_text(project.manifest.read_text().replace("repo: repo", "repo: s256"))
    assert "sha256" in refused(code=3)


def test_branch_checked_out_elsewhere(refused, project, tmp_path):
    """A branch that a worktree has checked out is not moved under its feet."""
    project.repo.branch("port/x", "main")
    project.repo.git("worktree", "add", "-q", str(tmp_path / "w"), "port/x")
    said = refused(code=3)
    assert "port/x" in said


def test_branch_like_an_option(refused):
    """--branch is held to the rules of the manifest."""
    assert "may not begin with `-`" in refused("--branch=-x", code=2)


def test_repository_like_a_command(refused, tmp_path):
    """No word of the manifest or the command line reaches a shell, and no transport that runs commands is taken."""
    mark = tmp_path / "ran"
    assert "a path or a URL" in refused(f"--source-repo=ext::sh -c 'touch {mark}'", code=2)
    assert "a path or a URL" in refused("--source-repo=--upload-pack=touch", code=2)
    assert not mark.exists()


def test_shell_words_in_a_manifest_stay_words(run, project, tmp_path):
    """Text with shell marks in it is only text."""
    mark = tmp_path / "ran"
    project.write(f'- {{pick: [{project.picks[0]}], subject: "x; touch {mark} $(touch {mark}) `touch {mark}`"}}\n')
    assert run("apply").code == 0
    assert not mark.exists()
    assert f"touch {mark}" in project.repo.git("log", "-1", "--format=%s", "port/x")


def test_nothing_named(run, tmp_path):
    """Without a manifest anywhere, the error says how to name one."""
    code, _, err = run("apply", cwd=tmp_path)
    assert code == 2
    assert "no manifest is named" in err


def test_read_only_disk(run, project, monkeypatch):
    """A disk that refuses is a fault of the machine; the branch is as it was."""
    before = project.repo.refs()
    real = os.replace

    def full(source, target, **more):
        raise OSError(28, os.strerror(28), str(target))

    monkeypatch.setattr(os, "replace", full)
    ran = run("apply")
    monkeypatch.setattr(os, "replace", real)
    assert ran.code in (0, 3)
    if ran.code:
        assert project.repo.refs() == before
