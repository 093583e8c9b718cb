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


def test_verify_proves_the_movement(run, project):
    """The commit that only moves is layout-only without any source, and says what it moved; alone, it is all."""
    manifest(project)
    run("restructure")
    told = json.loads(run("verify", "--json").out)
    assert (told["verdict"], told["rederived"], told["warnings"]) == ("layout-only", True, [])
    (row,) = told["commits"]
    assert (row["label"], row["touched"], row["sources"]) == ("layout-only", "moved", [])
    assert row["why"].startswith("pure movement: 1 moved, 3 rewritten; T of tree ")


def test_the_series_is_audited_with_its_reasons(run, project):
    """What follows the movement is new, each with its why; mentions of old names in the whole tree are told."""
    manifest(project, commits="- {new: trim.patch, why: they asked}\n")
    run("restructure")
    code, out, _ = run("audit")
    assert code == 0
    assert out.splitlines()[0].startswith("declared: 2 commits, 1 of which goes beyond the layout")
    assert "  2  they asked" in out
    told = json.loads(run("audit", "--json").out)
    assert [row["label"] for row in told["commits"]] == ["layout-only", "new"]
    assert {left["state"] for left in told["leftovers"]} == {"rewritten"}
    assert told["style"] == []


def test_a_movement_with_one_more_byte_is_undeclared(run, project):
    """Movement is told by the whole tree."""
    manifest(project)
    run("restructure")
    files = {"lib/__init__.py": "#\n"}
    above = project.repo.git("rev-parse", "recipe")
    tree = project.repo.tree(files, project.repo.git("rev-parse", "port/x"))
    made = project.repo.git("commit-tree", "-p", above, "-m", "move", tree)
    project.repo.git("update-ref", "refs/heads/port/x", made)
    code, out, _ = run("verify")
    assert code == 1 and out.startswith("undeclared: ")


def test_one_way_movement_is_labelled_so(run, project):
    """A pair that is declared one-way gives a movement that cannot be undone: the label and the places say so."""
    project.repo.commit({"lib/use.py": "WORKER_IN_USE = 1\n"}, branch="recipe")
    manifest(project, layout="  symbols: {OldWorker: {to: WORKER_IN_USE, one_way: true}}\n")
    run("restructure")
    (row,) = json.loads(run("verify", "--json").out)["commits"]
    assert row["label"] == "one-way" and row["one_way"][0]["path"] == "lib/client.py"


def test_back_leaves_the_movement_out(run, project):
    """Undoing the layout undoes the movement; the commit after it comes back in the old names."""
    manifest(project, commits="- {new: trim.patch}\n")
    run("restructure")
    code, out, _ = run("back")
    assert code == 0 and out.startswith("1 commit on back/recipe")
    assert project.repo.files("back/recipe")["conf.yaml"] == b"old_rl:\n  lr: 1\n"


def test_status_tells_the_patches_with_the_source(run, project):
    """The commits of the series are found on the branch by the patch files that made them."""
    manifest(project, commits="- {new: trim.patch}\n")
    run("restructure")
    told = json.loads(run("status", "--json").out)
    assert [(row["commit"], row["state"]) for row in told["source"]] == [("trim.patch", "ported")]
    assert [row["subject"] for row in told["target"] if row["state"] == "only there"] == [
        "Restructure: 1 moved, 3 rewritten"
    ]


def test_plan_of_a_restructure(run, project):
    """plan moves in memory: it lists the series, or every place at which the movement could not be undone."""
    manifest(project, commits="- {new: trim.patch}\n")
    code, out, _ = run("plan")
    assert code == 0 and out.startswith("1 commit to port onto port/x\n")
    project.repo.commit({"lib/use.py": "WORKER_IN_USE = 1\n"}, branch="recipe")
    manifest(project, layout="  symbols: {OldWorker: WORKER_IN_USE}\n")
    before = project.repo.refs()
    code, out, _ = run("plan")
    assert code == 1 and "lib/use.py:1" in out.partition("Not undoable in recipe")[2]
    assert project.repo.refs() == before
