"""`porttool init`: a manifest from two branches, all files or none, and what is there already stays."""

from __future__ import annotations

import json
import sys

import pytest

from porttool.infer import Draft, Drafted
from porttool.init import name_of
from porttool.init_driver import packages, subject
from porttool.init_files import named, with_manifest
from porttool.manifest import load
from tests.support.repos import new_repo

CLIENT = """\
import os


class OldWorker:
    def __init__(self, config):
        self.lr = config["old_rl"]["lr"]

    def run(self):
        return 1
"""
CONFIG = "old_rl:\n  lr: 1\n  steps: 2\nother: 2\n"
ENTRY = '[tool.porttool]\nmanifest = "manifests/recipe.yaml"\n'


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """A repository with `recipe` checked out and `main` in another layout, and no manifest."""
    repo = new_repo(tmp_path / "repo")
    start = repo.commit({"lib/__init__.py": "", "lib/client.py": CLIENT, "conf.yaml": CONFIG, "README": "read\n"})
    gone = {"lib/__init__.py": None, "lib/client.py": None, "conf.yaml": CONFIG.replace("old_rl", "remote")}
    moved = CLIENT.replace("OldWorker", "NewWorker").replace("old_rl", "remote")
    repo.commit({**gone, "app/__init__.py": "", "app/client.py": moved}, message="restructure\n")
    repo.branch("recipe", start)
    fixed = CLIENT.replace("return 1", "return 2")
    repo.commit(
        {"lib/client.py": fixed}, branch="recipe", message="Fix the run\n\nWhy.\n", author="Xiao Du <x@e.invalid>"
    )
    told = {"conf.yaml": CONFIG.replace("lr: 1", "lr: 3")}
    repo.commit(told, branch="recipe", message="Another rate\n", author="Stas Be <s@e.invalid>")
    repo.git("symbolic-ref", "HEAD", "refs/heads/recipe")
    monkeypatch.chdir(repo.path)
    return repo


def written(folder):
    return load(folder / "manifests/recipe.yaml")


def test_a_manifest_from_two_branches(run, fresh):
    """Layout, commits and branch are there; each pair stands under evidence, each commit beside its subject."""
    code, _, err = run("init", "--write")
    assert code == 0, err
    told = written(fresh.path)
    assert (told.source.ref, told.target.ref, told.target.branch) == ("recipe", "main", "port/recipe")
    assert told.repo(told.source) == str(fresh.path)
    assert [fresh.git("log", "-1", "--format=%s", *item.pick) for item in told.commits] == [
        "Fix the run",
        "Another rate",
    ]
    assert told.layout.for_file("lib/client.py").new_path == "app/client.py"
    assert told.layout.keep == ("manifests/",)
    lines = (fresh.path / "manifests/recipe.yaml").read_text().splitlines()
    assert [line.partition("  # ")[2] for line in lines if "pick:" in line] == [
        "Fix the run (Xiao Du)",
        "Another rate (Stas Be)",
    ]
    for number, line in enumerate(lines):
        if line.startswith("    ") and not line.startswith("    #"):
            assert lines[number - 1].startswith("    # ") and "confidence" in lines[number - 1]
    assert (fresh.path / "pyproject.toml").read_text() == ENTRY


def test_the_next_three_commands_work(run, fresh):
    """The last lines are commands; run as they stand, they end in a proven port."""
    out = run("init", "--write").out
    head, _, after = out.partition("next:\n")
    assert head.splitlines()[0] == "written: manifests/recipe.yaml, pyproject.toml"
    commands = [line.partition("  # ")[0].split() for line in after.splitlines()]
    assert [words[:2] for words in commands] == [["porttool", verb] for verb in ("plan", "apply", "verify")]
    for words in commands:
        code, out, err = run(*words[1:])
        assert code == 0, out + err
    assert out.startswith("layout-only: 2 commits")


def test_the_manifest_is_not_translated(run, fresh):
    """Committed on the source, it names both sides, and a restructure of that branch leaves it as it is."""
    run("init", "--write")
    manifest = fresh.path / "manifests/recipe.yaml"
    fresh.commit({"manifests/recipe.yaml": manifest.read_text()}, branch="recipe")
    manifest.write_text(manifest.read_text().replace("ref: main, branch: port/recipe", "ref: recipe, branch: moved"))
    told = run("restructure", str(manifest))
    assert told.code == 0, told.err
    assert fresh.files("moved")["manifests/recipe.yaml"] == fresh.files("recipe")["manifests/recipe.yaml"]
    assert "app/client.py" in fresh.files("moved")
    manifest.write_text(manifest.read_text().replace("keep: [manifests/]", "roots: [.]"))
    told = run("restructure", str(manifest))
    assert told.code == 2 and "manifests/recipe.yaml" in told.err and "`keep` in the layout" in told.err


def test_nothing_is_written_unless_asked(run, fresh):
    """Without --write the manifest is shown, and what would be written is named."""
    code, out, err = run("init")
    assert code == 0
    assert "version: 1\n" in out and "pick:" in out
    assert err.splitlines()[-1] == "nothing is written: --write makes manifests/recipe.yaml, pyproject.toml"
    assert sorted(file.name for file in fresh.path.iterdir()) == [".git"]


def test_what_is_shown_is_what_is_written(run, fresh):
    """The screen without --write and the file with it are the same text."""
    shown = run("init").out
    run("init", "--write")
    assert (fresh.path / "manifests/recipe.yaml").read_text() == shown


def test_a_manifest_is_not_overwritten(run, fresh):
    """Without --force a manifest or a driver that is there stays, and nothing else is written."""
    (fresh.path / "manifests").mkdir()
    for name, words in {"recipe.yaml": ["--write"], "recipe_driver.py": ["--write", "--driver"]}.items():
        file = fresh.path / "manifests" / name
        file.write_text("mine\n")
        code, out, err = run("init", *words)
        assert (code, out) == (2, "")
        assert err.splitlines()[:2] == ["error: the file exists already", f"  at: manifests/{name}"]
        assert [(file.name, file.read_text()) for file in (fresh.path / "manifests").iterdir()] == [(name, "mine\n")]
        assert not (fresh.path / "pyproject.toml").exists()
        assert run("init", *words, "--force").code == 0
        assert file.read_text() != "mine\n"
        for made in fresh.path.glob("manifests/*"):
            made.unlink()
        (fresh.path / "pyproject.toml").unlink()


def test_nothing_is_written_where_anything_fails(run, fresh):
    """A folder in the place of pyproject.toml: no manifest, no folder, no part of a file is left."""
    (fresh.path / "pyproject.toml").mkdir()
    code, out, err = run("init", "--write", "--driver")
    assert (code, out) == (3, "")
    assert "nothing was written" in err
    assert sorted(file.name for file in fresh.path.iterdir()) == [".git", "pyproject.toml"]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 has no TOML parser")
def test_a_broken_pyproject_stops_everything(run, fresh):
    """A file that is no TOML, or says the same in another form, is left for its owner."""
    for text in ("[tool\n", "[tool]\nporttool = {x = 1}\n"):
        (fresh.path / "pyproject.toml").write_text(text)
        code, _, err = run("init", "--write")
        assert code == 2
        assert "pyproject.toml cannot be edited" in err and "by hand" in err
        assert (fresh.path / "pyproject.toml").read_text() == text
        assert not (fresh.path / "manifests").exists()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[tool.porttool]\nmanifest = "m.yaml"\n'),
        ('[project]\nname = "x"\n', '[project]\nname = "x"\n\n[tool.porttool]\nmanifest = "m.yaml"\n'),
        ("[project]", '[project]\n\n[tool.porttool]\nmanifest = "m.yaml"\n'),
        ("[project]\r\n", '[project]\r\n\r\n[tool.porttool]\r\nmanifest = "m.yaml"\r\n'),
        ("[tool.porttool]\n[other]\n", '[tool.porttool]\nmanifest = "m.yaml"\n[other]\n'),
        ("[tool.porttool]  # ours\nx = 1\n", '[tool.porttool]  # ours\nmanifest = "m.yaml"\nx = 1\n'),
        ("[tool.porttool]\r\nx = 1\r\n", '[tool.porttool]\r\nmanifest = "m.yaml"\r\nx = 1\r\n'),
        ('[tool.porttool]\nmanifest = "other.yaml"\n', '[tool.porttool]\nmanifest = "other.yaml"\n'),
        ("[tool.porttool.x]\ny = 1\n", '[tool.porttool.x]\ny = 1\n\n[tool.porttool]\nmanifest = "m.yaml"\n'),
        ("# [tool.porttool]\n", '# [tool.porttool]\n\n[tool.porttool]\nmanifest = "m.yaml"\n'),
    ],
)
def test_the_entry_changes_nothing_else(before, after):
    """Every other byte of pyproject.toml stays, line ends too; an entry that is there is kept."""
    assert with_manifest(before, "m.yaml", "pyproject.toml") == after
    assert named(after) in ("m.yaml", "other.yaml")


def test_another_manifest_stays_the_projects(run, fresh):
    """Where pyproject names one already, the next commands name the new one."""
    (fresh.path / "pyproject.toml").write_text('[tool.porttool]\nmanifest = "manifests/first.yaml"\n')
    out = run("init", "--write").out
    assert out.splitlines()[0] == "written: manifests/recipe.yaml"
    assert "  porttool plan manifests/recipe.yaml " in out
    assert "first.yaml" in (fresh.path / "pyproject.toml").read_text()


def test_refs_that_leave_a_doubt(run, fresh):
    """Two branches that may be meant are named; so is a repository with no other branch."""
    fresh.branch("next", "main")
    code, _, err = run("init")
    assert code == 2
    assert "no target is named, and there are 2: main, next" in err and "--target REF" in err
    assert run("init", "--target", "main").code == 0
    fresh.git("branch", "-D", "next")
    fresh.branch("old", "recipe~1")
    fresh.branch("port/recipe", "main")
    assert run("init").code == 0, "a branch the source builds on and a ported one are no targets"
    fresh.git("branch", "-D", "main")
    assert "no branch has commits of its own" in run("init").err


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("--source", "recipe", "--target", "recipe"), 2, "recipe and recipe are the same commit"),
        (("--target", "mian"), 3, "mian"),
        (("--target=-x",), 2, "may not begin with `-`"),
        (("--repo", "nowhere"), 3, "nowhere"),
        (("--sorce", "x"), 2, "did you mean '--source'?"),
        (("manifest.yaml",), 2, "unknown argument"),
    ],
)
def test_mistakes(run, fresh, words, code, told):
    """Each is three lines at most, before anything is read or written."""
    ended = run("init", "--write", *words)
    assert (ended.code, ended.out) == (code, "")
    assert told in ended.err
    assert not (fresh.path / "manifests").exists()


def test_a_head_that_is_no_branch(run, fresh):
    """A source is asked for where none is checked out."""
    fresh.git("update-ref", "--no-deref", "HEAD", fresh.git("rev-parse", "recipe"))
    fresh.git("branch", "-D", "recipe")
    code, _, err = run("init", "--source", "HEAD", "--target", "main")
    assert code == 0, err


def test_unrelated_histories_with_a_common_tree(run, tmp_path, monkeypatch):
    """Where nothing is shared but a tree, the commits after that tree are the source's own."""
    repo = new_repo(tmp_path / "repo")
    start = {"lib/__init__.py": "", "lib/client.py": CLIENT}
    repo.commit({"x": "before\n"}, branch="recipe")
    repo.commit({**start, "x": None}, branch="recipe")
    repo.commit({"lib/client.py": CLIENT.replace("return 1", "return 2")}, branch="recipe", message="Fix\n")
    repo.commit(start, branch="main", message="import\n")
    repo.commit({"lib/client.py": None, "app/__init__.py": "", "app/client.py": CLIENT}, branch="main")
    monkeypatch.chdir(repo.path)
    told = json.loads(run("init", "--source", "recipe", "--target", "main", "--json").out)
    assert [commit["subject"] for commit in told["commits"]] == ["Fix"]
    assert {(pair["old"], pair["new"]) for pair in told["pairs"] if pair["kind"] == "path"} & {
        ("lib/client.py", "app/client.py"),
        ("lib/", "app/"),
    }


def test_unrelated_histories(run, tmp_path, monkeypatch):
    """Where nothing at all is shared, the list is empty and says why; the layout is drafted from the tips."""
    repo = new_repo(tmp_path / "repo")
    repo.commit({"lib/client.py": CLIENT}, branch="recipe")
    repo.commit({"app/client.py": CLIENT}, branch="main")
    monkeypatch.chdir(repo.path)
    out = run("init", "--source", "recipe", "--target", "main").out
    assert "commits: []\n# the histories are unrelated: write what to port as" in out
    assert "lib/client.py: app/client.py" in out or "lib/: app/" in out


@pytest.mark.parametrize(("there", "homeless"), [({}, ["lib/extra.py"]), ({"lib/kept.py": "import sys\n"}, [])])
def test_a_new_file_without_a_home_is_told(run, tmp_path, monkeypatch, there, homeless):
    """A new file beside files that went to several places is a comment, where the target has no such folder."""
    repo = new_repo(tmp_path / "repo")
    other = CLIENT.replace("os", "sys").replace("OldWorker", "Writer").replace("run", "write")
    start = repo.commit({"lib/client.py": CLIENT, "lib/out.py": other, "docs/a.md": "a\n"})
    gone = {"lib/client.py": None, "lib/out.py": None}
    repo.commit({**gone, "app/rl/client.py": CLIENT, "app/io/writer.py": other, **there})
    repo.branch("recipe", start)
    repo.commit({"lib/extra.py": "import os\n", "docs/new.md": "x\n", "top.py": "import os\n"}, branch="recipe")
    repo.git("symbolic-ref", "HEAD", "refs/heads/recipe")
    monkeypatch.chdir(repo.path)
    out = run("init", "--write").out
    lines = (repo.path / "manifests/recipe.yaml").read_text().splitlines()
    told = [f"  # new, and no pair of `paths` moves it or its folder: {path}" for path in homeless]
    assert [line for line in lines if "no pair of" in line] == told
    assert ("1 left to you, as comments" in out) is bool(homeless)
    assert written(repo.path).layout.for_file("lib/client.py").new_path == "app/rl/client.py"


def test_merges_are_comments(run, fresh):
    """A merge is no pick: its commits are in the list by themselves."""
    side = fresh.commit({"side": "1\n"}, branch="side", parents=[fresh.git("rev-parse", "recipe~1")], message="Side\n")
    fresh.git("update-ref", "refs/heads/recipe", "recipe")
    tip = fresh.git("rev-parse", "recipe")
    fresh.commit({"side": "1\n"}, branch="recipe", parents=[tip, side], message="Merge side\n")
    run("init", "--target", "main", "--write")
    told = written(fresh.path)
    assert len(told.commits) == 3
    text = (fresh.path / "manifests/recipe.yaml").read_text()
    assert "# a merge, whose commits stand here by themselves: " in text and "Merge side" in text
    assert run("plan").code == 0


def test_words_of_others_stay_words(run, fresh):
    """A subject or an author cannot add a line to the manifest, nor a ref break its YAML."""
    fresh.commit(
        {"z": "1\n"}, branch="recipe", message="a\rversion: 2\x1b[31m # b\n", author="x: [y <x@example.invalid>"
    )
    fresh.branch("we'ird{}", "recipe")
    code, _, err = run("init", "--source", "we'ird{}", "--target", "main", "--write")
    assert code == 0, err
    file = fresh.path / "manifests/we-ird.yaml"
    assert load(file).source.ref == "we'ird{}" and len(load(file).commits) == 3
    assert "\x1b" not in file.read_text() and "\r" not in file.read_bytes().decode()


def test_a_repository_elsewhere(run, fresh, tmp_path, monkeypatch):
    """The manifest stands in the project, and names the repository from its top."""
    monkeypatch.chdir(tmp_path)
    code, _, err = run("init", "--repo", "repo", "--target", "main", "--write", "--force")
    assert code == 0, err
    told = load(tmp_path / "manifests/recipe.yaml")
    assert (told.source.repo, told.repo(told.source)) == ("repo", str(fresh.path))


def test_the_driver_runs_as_it_is(run, fresh):
    """--driver writes a skeleton that compares both sides at once, and says so in the next commands."""
    out = run("init", "--write", "--driver").out
    assert out.splitlines()[0] == "written: manifests/recipe_driver.py, manifests/recipe.yaml, pyproject.toml"
    assert out.splitlines()[-1].split()[:2] == ["porttool", "diff-meta"]
    section = written(fresh.path).parity
    assert section["subject"] == {"config": "./conf.yaml", "old_worker": "lib.client.OldWorker"}
    assert run("apply").code == 0
    code, out, err = run("diff-meta")
    assert (code, out) == (0, "MATCH  plain: 1 key is equal\n"), out + err
    code, out, err = run("diff-config")
    assert code == 0, out + err
    before = run("diff-config", "--right", "main", "--scenario", "plain")
    assert before.code == 1 and before.out.startswith("DIFFER  plain: config.old_rl.lr has another value")


def test_a_driver_for_a_manifest_that_is_there(run, fresh):
    """The manifest stays to the byte; what it needs for the driver is printed, to be added by hand."""
    run("init", "--write")
    manifest = fresh.path / "manifests/recipe.yaml"
    corrected = manifest.read_text() + "# mine\n"
    manifest.write_text(corrected)
    told = run("init", "--driver", "--write")
    assert told.code == 0, told.err
    head, _, parity = told.out.partition("\n")
    assert head == "written: manifests/recipe_driver.py; manifests/recipe.yaml stays as it is, add to it:"
    assert manifest.read_text() == corrected and (fresh.path / "manifests/recipe_driver.py").is_file()
    manifest.write_text(corrected + parity)
    assert load(manifest).parity["drivers"] == {"step": "recipe_driver.py:step"}
    assert run("init", "--driver", "--write").code == 2


def test_the_packages_are_those_that_are_imported():
    """Installed ones alone, by the name they are installed by; what the tree or Python holds is no package."""
    tree = {
        "a/b.py": b"import os, yaml\nfrom pytest import mark\nimport a.c, no_such_thing\nfrom . import rich\n",
        "broken.py": b"def (",
        "notes.txt": b"import rich",
    }
    assert packages(tree) == ["pytest", "pyyaml"]


@pytest.mark.parametrize(
    ("ref", "name"),
    [("fixes", "fixes"), ("recipe/rl-correctness", "rl-correctness"), ("v1.0~2", "v1.0-2"), ("refs/heads/", "heads")],
)
def test_names(ref, name):
    """A manifest is called after the last part of its source."""
    assert name_of(ref) == name


def test_the_subject_is_named_in_words():
    """A definition is proposed under its name in snake case, classes before functions, no private ones."""
    old = {"a/b.py": b"def run(): ...\nclass ArcticPPOTrainer: ...\nclass _Own: ...\n", "c.yaml": b"optim: {lr: 1}\n"}
    pairs = (
        Drafted("path", "a/b.py", "x/y.py", 1, 1.0),
        Drafted("path", "c.yaml", "conf/c.yaml", 1, 1.0),
        Drafted("key", "optim", "optimizer", 1, 1.0),
    )
    assert list(subject(Draft(pairs), old).items()) == [
        ("config", "./c.yaml"),
        ("arctic_ppo_trainer", "a.b.ArcticPPOTrainer"),
        ("run", "a.b.run"),
    ]


def test_json(run, fresh):
    """The same as data: what differs, which commits, which files."""
    told = json.loads(run("init", "--json").out)
    assert told["files"] == ["manifests/recipe.yaml", "pyproject.toml"] and not told["written"]
    assert {pair["kind"] for pair in told["pairs"]} >= {"path", "symbol", "key"}
    assert len(told["commits"]) == 2 and told["base"]
    assert json.loads(run("init", "--json", "--write").out)["written"] and written(fresh.path)
