"""plan, apply, resolution and status as a user sees them."""

from __future__ import annotations

import json
import re

from tests.support.projects import CLIENT, LAYOUT


def ids(text: str) -> str:
    """The text with every object id replaced by how long it is."""
    return re.sub(r"\b[0-9a-f]{8,40}\b", lambda found: f"<{len(found[0])}>", text)


def test_plan(run, project):
    """The plan names each commit with its author and source; nothing changes."""
    before = project.repo.refs()
    code, out, err = run("plan")
    assert code == 0
    assert ids(out).splitlines() == [
        "2 commits to port onto port/x",
        "recipe -> main, layout <12>",
        "",
        " #  author    subject          source",
        " ──────────────────────────────────────",
        " 1  Xiao Du   Fix the run      <8>",
        " 2  Stas Be   Name the worker  <8>",
        "",
        "census: nothing unusual",
        "",
        "would apply cleanly: 2 commits",
    ]
    assert err.splitlines()[-1] == "porting in memory"
    assert project.repo.refs() == before


def test_plan_names_what_the_layout_cannot_undo(run, project):
    """Two paths to one, a letter case, a file in a folder's place, a token and a key in use: each where it stands."""
    files = {"one.txt": "1\n", "two.txt": "2\n", "Up/f": "", "low.txt": "", "file": "", "docs/x.md": ""}
    files |= {"lib/use.py": "x = 1\n\nclass NewWorker: pass\n", "both.yaml": "old_rl:\n  a: 1\nremote:\n  a: 2\n"}
    project.repo.commit(files, branch="recipe")
    layout = LAYOUT.replace("paths: {", "paths: {one.txt: two.txt, low.txt: up/g, file: docs/x.md/y, ")
    project.write(f"- {{pick: [{project.picks[0]}]}}\n", layout=layout)
    before = project.repo.refs()
    code, out, _ = run("plan")
    assert code == 1 and project.repo.refs() == before
    lines = [line.strip() for line in out.partition("Not undoable in recipe (5)")[2].splitlines() if line]
    assert lines[:5] == [
        "two.txt  path 'two.txt' and 'one.txt' both become 'two.txt'",
        "file  'docs/x.md' becomes the file 'docs/x.md', which 'file' needs as a folder",
        "low.txt  'Up/f' and 'low.txt' become 'Up' and 'up', which differ in case only",
        "both.yaml:1  old_rl becomes remote, which no edit at this place can reach",
        "lib/use.py:3  'class NewWorker: pass' comes back as 'class OldWorker: pass'",
    ]
    told = json.loads(run("plan", "--json").out)["not_undoable"]
    assert [(place["side"], place["path"], place["line"]) for place in told[3:5]] == [
        ("source", "both.yaml", 1), ("source", "lib/use.py", 3),
    ]  # fmt: skip
    assert run("plan", "--json").code == 1


def test_plan_says_which_unported_commit_a_conflict_builds_on(run, project):
    """Before anything is written: the commit that is left out of the manifest, by id and subject."""
    second = project.repo.commit(
        {"lib/client.py": CLIENT.replace("return 1", "return 3")}, branch="recipe", message="Build on the fix\n"
    )
    project.write(f"- {{pick: [{second}]}}\n")
    code, out, _ = run("plan")
    assert code == 1
    assert f"It depends on commits that are not ported (1)\n  {project.picks[0][:12]}  Fix the run\n" in out
    assert json.loads(run("plan", "--json").out)["conflict"]["needs"] == [project.picks[0]]


def test_plan_json(run, project):
    """JSON alone on stdout."""
    told = json.loads(run("plan", "--json").out)
    assert told["verdict"] == "ready"
    authors = [step["author"] for step in told["steps"]]
    assert authors == ["Xiao Du <xiao@example.invalid>", "Stas Be <stas@example.invalid>"]
    assert told["steps"][1]["upstream"] == [project.picks[0][:8]]
    assert told["conflict"] is None


def test_apply(run, project):
    """The commits are on the branch, with authors and subjects; again gives the same ids."""
    code, out, err = run("apply")
    assert code == 0
    assert ids(out).splitlines()[0] == "2 commits on port/x, now at <12>"
    assert ids(out).splitlines()[4:] == [
        " 1  <8>  Xiao Du   Fix the run      <8>  rewritten",
        " 2  <8>  Stas Be   Name the worker  <8>  rewritten",
    ]
    assert "next: porttool verify" in err
    assert project.repo.git("log", "--format=%an|%s", "main..port/x") == "Stas Be|Name the worker\nXiao Du|Fix the run"
    first = project.repo.git("rev-parse", "port/x")
    assert run("apply").code == 0
    assert project.repo.git("rev-parse", "port/x") == first


def test_dry_run(run, project):
    """--dry-run says the same and changes nothing."""
    before = project.repo.refs()
    code, out, _ = run("apply", "--dry-run")
    assert code == 0
    assert out.splitlines()[0] == "dry run: 2 commits would be on port/x; nothing was changed"
    assert project.repo.refs() == before


def test_another_branch(run, project):
    """--branch names where the port ends."""
    assert run("apply", "--branch", "other/y").code == 0
    assert "refs/heads/other/y" in project.repo.refs()
    assert "refs/heads/port/x" not in project.repo.refs()


def test_by_upstream(run, project):
    """--by upstream picks the `upstream:` ids; a commit without them is refused at its line."""
    code, _, err = run("apply", "--by", "upstream")
    assert code == 2
    assert "no upstream ids" in err
    project.write(f"- {{pick: [{project.picks[1]}], upstream: [{project.picks[0][:8]}]}}\n")
    assert run("apply", "--by", "upstream").code == 0
    assert project.repo.git("log", "-1", "--format=%s", "port/x") == "Fix the run"


def test_other_repositories(run, project, tmp_path):
    """--source-repo and --target-repo run the same manifest elsewhere."""
    project.repo.git("clone", "-q", str(project.repo.path), str(tmp_path / "fork"))
    there = tmp_path / "fork"
    for branch in ("recipe", "main"):
        project.repo.git("-C", str(there), "update-ref", f"refs/heads/{branch}", f"origin/{branch}")
    assert run("apply", "--target-repo", "fork", "--source-repo", "repo").code == 0
    assert "refs/heads/port/x" not in project.repo.refs()
    assert project.repo.git("-C", str(there), "log", "-1", "--format=%s", "port/x") == "Name the worker"


def test_a_target_behind_a_url(run, project, tmp_path):
    """The branch is made in a clone of porttool's own, and the answer says how to publish it from there."""
    url = f"file://{project.repo.path}"
    code, _, err = run("apply", "--target-repo", url)
    assert code == 0 and "refs/heads/port/x" not in project.repo.refs()
    where = json.loads(run("apply", "--target-repo", url, "--json").out)["repository"]
    assert f"to publish it: git -C {where} push {url} port/x" in err
    project.repo.git("-C", where, "push", url, "port/x")
    assert project.repo.git("log", "-1", "--format=%s", "port/x") == "Name the worker"


def test_t9_nothing_to_port(run, project):
    """T9: where all commits are left out, the answer says so and why, one line each."""
    project.write("", extra="")
    first, second = project.picks
    project.manifest.write_text(
        project.manifest.read_text().replace("commits:\n", "commits: {range: main..recipe}\n")
        + f"skip: {{{first}: only for the lab, {second}: superseded}}\n"
    )
    code, out, _ = run("apply")
    assert code == 0
    assert out.splitlines()[0] == "nothing to port: 2 commits named, none of them to be made"
    assert f"  {first[:12]}  Fix the run  only for the lab" in out
    assert f"  {second[:12]}  Name the worker  superseded" in out
    assert f"  {first[:12]}  Fix the run  only for the lab" in run("plan").out


def test_conflict(run, stopped):
    """A conflict is an answer: exit 1, the paths, where to resolve them, and no ref moved."""
    before = stopped.repo.refs()
    code, out, _ = run("apply")
    assert code == 1
    lines = out.splitlines()
    assert ids(lines[0]) == "stopped: <12> is in conflict on 1 path; port/x is as it was"
    assert "  app/remote/client.py  content" in out
    assert "`porttool apply --continue`" in out
    assert "Waiting for it (1)" in out
    assert stopped.repo.refs() == before
    told = json.loads(run("apply", "--json").out)
    assert told["verdict"] == "conflict"
    assert told["conflict"]["paths"][0]["path"] == "app/remote/client.py"
    assert told["waiting"] == [stopped.picks[1]]


def test_plan_tells_a_conflict_beforehand(run, stopped):
    """plan says which commit would stop, and exits 1; it gives no recipe, for nothing that one names is stored."""
    code, out, _ = run("plan")
    assert code == 1
    assert ids(out.splitlines()[0]) == "2 commits to port onto port/x; <12> would stop in conflict"
    assert "with git alone" not in out
    assert json.loads(run("plan", "--json").out)["conflict"]["recipe"] == []
    assert "with git alone" in run("apply").out


def test_a_conflict_tells_the_words_that_go_on(run, stopped):
    """The command to go on with names the manifest and the branch that were named, so that it works as told."""
    out = run("apply", "manifests/m.yaml", "--branch", "port/y").out
    assert "`porttool apply manifests/m.yaml --branch=port/y --continue`" in out
    assert "`porttool apply manifests/m.yaml --branch=port/y --skip`" in out


def test_a_conflict_on_the_way_back_goes_on_the_way_back(run, project):
    """What is told after a conflict of `back` is `back` again, with its range."""
    assert run("apply").code == 0
    client = project.repo.files("port/x")["app/remote/client.py"]
    project.repo.commit({"app/remote/client.py": client.replace(b"return 2", b"return 9")}, branch="port/x")
    old = project.repo.files("recipe")["lib/client.py"]
    project.repo.commit({"lib/client.py": old.replace(b"return 2", b"return 3")}, branch="recipe")
    ran = run("back", "port/x~1..port/x")
    assert ran.code == 1
    assert "`porttool back 'port/x~1..port/x' --continue`" in ran.out


def test_status_reads_a_file_that_became_a_folder(run, project):
    """A path that is a file on one side of a commit and a folder on the other is paired like any other."""
    project.repo.commit({"keep": "a\n"}, branch="recipe")
    last = project.repo.commit({"keep": None, "keep/x": "a\n"}, branch="recipe")
    project.write(f"- {{pick: [{last}~1]}}\n- {{pick: [{last}]}}\n")
    assert run("apply").code == 0
    ran = run("status")
    assert (ran.code, ran.out.splitlines()[0][:34]) == (0, "4 source commits: 2 ported, 0 chan"), ran


def test_continue(run, stopped):
    """--continue takes the resolved file, records it beside the manifest, and finishes; a rerun replays it."""
    from pathlib import Path

    scratch = Path(json.loads(run("apply", "--json").out)["conflict"]["scratch"])
    file = scratch / "app" / "remote" / "client.py"
    assert run("apply", "--continue").code == 2  # markers are left
    file.write_text(file.read_text().split("<<<<<<<")[0] + "        return 2\n")
    assert run("apply", "--continue", "--reason", "ours was a stopgap").code == 0
    code, out, _ = run("resolution", "list")
    assert code == 0
    assert out.splitlines()[0].startswith("1 resolution in ")
    assert "ours was a stopgap" in out
    name = json.loads(run("resolution", "list", "--json").out)["resolutions"][0]["id"]
    shown = run("resolution", "show", name).out
    assert "reason   ours was a stopgap" in shown and "return 2" in shown
    assert "exactly what the port gives" in shown
    first = stopped.repo.git("rev-parse", "port/x")
    assert run("apply").code == 0
    assert stopped.repo.git("rev-parse", "port/x") == first
    assert run("resolution", "drop", name).out.startswith(f"dropped {name}")
    assert run("apply").code == 1


def test_skip_and_abort(run, stopped):
    """--abort forgets the stopped port; --skip leaves the commit out and accounts for it."""
    assert run("apply").code == 1
    assert run("apply", "--abort")[:2] == (0, "given up; every ref is as it was\n")
    assert run("apply", "--abort")[:2] == (0, "no port was waiting\n")
    assert run("apply", "--skip").code == 2
    assert run("apply").code == 1
    told = json.loads(run("apply", "--skip", "--json").out)
    assert [commit["subject"] for commit in told["commits"]] == ["Name the worker"]
    assert [left["source"] for left in told["skipped"]] == [stopped.picks[0]]


def test_resolution_add(run, stopped, tmp_path):
    """A resolution can be added before apply; the port then replays it and says so."""
    (tmp_path / "fixed.py").write_text("class NewWorker:\n    pass\n")
    words = ("resolution", "add", "--path", "app/remote/client.py", "--file", "fixed.py", "--reason", "simpler")
    assert run(*words, "--author", "A B <a@b>").code == 0
    told = json.loads(run("apply", "--json").out)
    assert told["commits"][0]["touched"] == "resolved"
    assert told["commits"][0]["resolved"][0]["path"] == "app/remote/client.py"
    assert run(*words).code == 2


def test_a_resolution_is_shown_with_what_it_changes_beyond_the_port(run, stopped, tmp_path):
    """Author, reason and the exact lines that are neither the target's nor the port's: in `show` and in the audit."""
    fixed = "import os\n\n\nclass NewWorker:\n    def run(self):\n        return 2  # and not 9\n"
    (tmp_path / "fixed.py").write_text(fixed)
    words = ("resolution", "add", "--path", "app/remote/client.py", "--file", "fixed.py", "--reason", "it was 9")
    assert run(*words, "--author", "A B <a@b>").code == 0
    name = json.loads(run("resolution", "list", "--json").out)["resolutions"][0]["id"]
    out = run("resolution", "show", name).out
    assert "author   A B <a@b>\nreason   it was 9\n" in out
    assert "-        return 2\n    +        return 2  # and not 9\n" in out
    told = json.loads(run("resolution", "show", name, "--json").out)
    assert told["delta"][-2:] == ["-        return 2", "+        return 2  # and not 9"]
    assert (told["stale"], told["content"]) == (None, fixed)
    assert run("apply").code == 0
    audit = run("audit").out
    assert f"app/remote/client.py  {name} by A B <a@b>: it was 9" in audit
    assert "+        return 2  # and not 9" in audit
    resolved = json.loads(run("audit", "--json").out)["commits"][0]["resolved"][0]
    assert (resolved["id"], resolved["delta"]) == (name, told["delta"])
    assert run("audit", "--markdown", tmp_path / "pr.md").code == 0
    text = (tmp_path / "pr.md").read_text()
    assert "  ```diff\n" in text and "\n  +        return 2  # and not 9\n  ```\n" in text


def test_a_stale_resolution_fails(run, stopped, tmp_path):
    """Once a side is another one, nothing is replayed: apply and verify fail and name it, and show says so too."""
    (tmp_path / "fixed.py").write_text("class NewWorker:\n    pass\n")
    words = ("resolution", "add", "--path", "app/remote/client.py", "--file", "fixed.py", "--reason", "simpler")
    assert run(*words).code == 0
    assert run("apply").code == 0
    name = json.loads(run("resolution", "list", "--json").out)["resolutions"][0]["id"]
    text = stopped.repo.files("main")["app/remote/client.py"].replace(b"return 9", b"return 10")
    stopped.repo.commit({"app/remote/client.py": text}, branch="main")
    code, _, err = run("apply")
    assert code == 2 and f"resolution {name} of app/remote/client.py is stale: ours changed" in err
    assert run("apply", "--branch", "fresh").code == 2
    out = run("resolution", "show", name).out
    assert f"Beyond the port: resolution {name}" in out and "simpler" in out


def test_resolution_add_of_another_path(run, stopped):
    """A path that is not in conflict is refused, with those that are."""
    code, _, err = run("resolution", "add", "--path", "conf.yaml", "--delete", "--reason", "x")
    assert code == 2
    assert "in conflict: app/remote/client.py" in err


def test_resolution_add_of_a_missing_file(run, stopped):
    """A file that cannot be read is the user's mistake."""
    code, _, err = run("resolution", "add", "--path", "app/remote/client.py", "--file", "none", "--reason", "x")
    assert code == 2
    assert "cannot read the resolved content" in err


def test_steps_exclude_each_other(run, project):
    """--continue, --skip, --abort and --dry-run are one choice."""
    code, _, err = run("apply", "--continue", "--abort")
    assert code == 2
    assert "not allowed with" in err


def test_status(run, project):
    """Before the port all is missing, after it all is ported."""
    assert run("status").out.splitlines()[0] == (
        "2 source commits: 0 ported, 0 changed since, 2 missing, 1 only there, 0 dropped"
    )
    run("apply")
    code, out, _ = run("status")
    assert code == 0
    assert out.splitlines()[0] == "2 source commits: 2 ported, 0 changed since, 0 missing, 1 only there, 0 dropped"
    told = json.loads(run("status", "--json").out)
    assert told["counts"] == {"ported": 2, "changed since": 0, "missing": 0, "only there": 1, "dropped": 0}
    assert [standing["mates"] for standing in told["source"]] == [
        [project.repo.git("rev-parse", "port/x~1")], [project.repo.git("rev-parse", "port/x")],
    ]  # fmt: skip
