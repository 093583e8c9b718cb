"""plan, apply, resolution and status as a user sees them."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.projects import new_project


@pytest.fixture
def project(tmp_path, monkeypatch):
    made = new_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    return made


@pytest.fixture
def stopped(project):
    """A project whose first commit cannot be ported without a decision."""
    client = project.repo.files("main")["app/remote/client.py"]
    project.repo.commit({"app/remote/client.py": client.replace(b"return 1", b"return 9")}, message="other\n")
    return project


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
    ]
    assert err.splitlines()[-1] == "porting in memory"
    assert project.repo.refs() == before


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
    """plan says which commit would stop, and exits 1."""
    code, out, _ = run("plan")
    assert code == 1
    assert ids(out.splitlines()[0]) == "2 commits to port onto port/x; <12> would stop in conflict"


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
    assert "return 2" in run("resolution", "show", name).out
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
