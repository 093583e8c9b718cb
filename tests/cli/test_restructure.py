"""restructure makes one commit of pure movement, proves it, and lays the rest of the series on it."""

from __future__ import annotations

import json

import pytest

from tests.support.projects import CLIENT, CONFIG, LAYOUT, MAIN, new_project

PATCH = """\
From: Ann Author <ann@example.invalid>
Date: Tue, 14 Nov 2023 22:13:20 +0000
Subject: [PATCH] trim the config

---
diff --git a/conf.yaml b/conf.yaml
--- a/conf.yaml
+++ b/conf.yaml
@@ -1,3 +1,2 @@
 remote:
   lr: 1
-other: 2
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project whose manifest restructures `recipe`."""
    made = new_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    made.repo.branch("recipe", "recipe~2")
    (tmp_path / "manifests" / "trim.patch").write_text(PATCH)
    return made


def manifest(project, layout: str = LAYOUT, commits: str = "") -> None:
    project.write(commits, layout=layout)
    text = project.manifest.read_text().replace("ref: main", "ref: recipe")
    project.manifest.write_text(text if commits else text.replace("commits:\n", ""))


def test_pure_movement(run, project):
    """One commit on the branch: T of the old tree, which its inverse gives again; the screen says so first."""
    manifest(project)
    code, out, _ = run("restructure")
    assert code == 0
    assert out.splitlines()[0].startswith("pure movement: 1 file moved, 3 files rewritten in commit ")
    assert project.repo.git("rev-parse", "port/x~1") == project.repo.git("rev-parse", "recipe")
    assert project.repo.files("port/x") == {
        "app/remote/client.py": CLIENT.replace("Old", "New").encode(),
        "lib/__init__.py": b"",
        "lib/main.py": MAIN.replace("OldWorker", "NewWorker").replace("lib.client", "app.remote.client").encode(),
        "conf.yaml": CONFIG.replace("old_rl", "remote").encode(),
    }


def test_same_ids(run, project):
    """Again gives the same commit ids."""
    manifest(project)
    first = json.loads(run("restructure", "--json").out)
    assert json.loads(run("restructure", "--json").out) == first
    assert first["movement"]["commit"] == project.repo.git("rev-parse", "port/x")


def test_dry_run(run, project):
    """--dry-run moves no ref."""
    manifest(project)
    before = project.repo.refs()
    assert run("restructure", "--dry-run").code == 0
    assert project.repo.refs() == before


def test_the_series_follows(run, project):
    """What is not movement comes after it, in commits of its own."""
    manifest(project, commits="- {new: trim.patch, why: they asked}\n")
    code, out, _ = run("restructure")
    assert code == 0
    assert "1 commit on port/x" in out
    log = project.repo.git("log", "--format=%s", "recipe..port/x").splitlines()
    assert log == ["trim the config", "Restructure: 1 moved, 3 rewritten"]


def test_movement_that_does_not_come_back(run, project):
    """A new name that is in use already is refused with a place in the tree; nothing moves."""
    manifest(project, layout="  symbols: {OldWorker: WORKER_IN_USE}\n")
    project.repo.commit({"lib/use.py": "WORKER_IN_USE = 1\n"}, branch="recipe")
    before = project.repo.refs()
    code, out, err = run("restructure")
    assert (code, out) == (2, "")
    assert "cannot be undone" in err
    assert "lib/use.py:1" in err
    assert project.repo.refs() == before


def test_declared_one_way(run, project):
    """With the pair declared one_way the movement is made, and the first line says it cannot be undone."""
    manifest(project, layout="  symbols: {OldWorker: {to: WORKER_IN_USE, one_way: true}}\n")
    code, out, _ = run("restructure")
    assert code == 0
    assert "cannot be undone" in out.splitlines()[0]


def test_two_paths_to_one(run, project):
    """Two paths that would become one are refused, naming both."""
    manifest(project, layout="  paths: {lib/client.py: lib/main.py}\n")
    code, _, err = run("restructure")
    assert code == 2
    assert "lib/client.py" in err and "lib/main.py" in err
