"""verify, audit and back as a user sees them."""

from __future__ import annotations

import hashlib
import json

import pytest

from tests.support.projects import LAYOUT, new_project


@pytest.fixture
def project(tmp_path, monkeypatch, run):
    """A project whose port is done."""
    made = new_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert run("apply").code == 0
    return made


def spoiled(project, message: str | None = None) -> None:
    """Change a line of the last commit of the port behind porttool's back."""
    tip = project.repo.git("rev-parse", "port/x")
    main = project.repo.files("port/x")["lib/main.py"]
    raw = project.repo.raw(tip)
    text = raw.split(b"\n\n", 1)[1]
    author = raw.split(b"author ", 1)[1].split(b"\n")[0]
    parent = project.repo.git("rev-parse", "port/x~1")
    files = {"lib/main.py": main + b"EXTRA = 1  # see PR 12\n", "conf.yaml": project.repo.files("port/x")["conf.yaml"]}
    project.repo.commit(files, message=text, author_line=author, parents=[parent], branch="port/x")


def test_verify(run, project):
    """Nothing but the layout changed: exit 0, and the first line says so."""
    code, out, err = run("verify")
    assert code == 0
    assert out.splitlines()[0] == "layout-only: 2 commits changed nothing but the layout"
    assert out.splitlines()[1].endswith("porting again gives the same ids")
    assert err == "proving\n"


def test_verify_json(run, project):
    """The contract of design: verdict, commits, leftovers, protected."""
    told = json.loads(run("verify", "--json").out)
    assert told["verdict"] == "layout-only"
    assert [commit["sources"] for commit in told["commits"]] == [[pick] for pick in project.picks]
    assert [commit["label"] for commit in told["commits"]] == ["layout-only", "layout-only"]
    assert "landed" not in told


def test_verify_of_nothing(run, project):
    """Without a port branch there is nothing to prove: a fault, with what to do."""
    code, out, err = run("verify", "--branch", "no/such")
    assert (code, out) == (3, "")
    assert "`porttool apply` makes it" in err


def test_an_undeclared_line_fails(run, project):
    """A line nobody declared: exit 1, with its path and line."""
    spoiled(project)
    code, out, _ = run("verify")
    assert code == 1
    assert out.splitlines()[0] == "undeclared: 1 place of 2 commits changed beyond the layout"
    assert "lib/main.py:9" in out
    told = json.loads(run("verify", "--json").out)
    assert told["verdict"] == "undeclared"
    assert told["commits"][1]["residual"][0]["path"] == "lib/main.py"
    assert told["rederived"] is False


def test_protected_paths(run, project):
    """Each protected path is listed as untouched."""
    first = project.picks[0]
    project.write(f"- {{pick: [{first}]}}\n", extra="protected: [base.py]\n")
    assert run("apply").code == 0
    told = json.loads(run("verify", "--json").out)
    assert told["protected"] == [{"path": "base.py", "untouched": True}]


def test_a_pair_that_matches_nothing_fails_verify(run, project):
    """What plan warns of, verify refuses."""
    layout = LAYOUT.replace("paths: {", "paths: {no/x.py: any/y.py, ")
    project.write(f"- {{pick: [{project.picks[0]}]}}\n", layout=layout)
    assert run("apply").code == 0
    code, out, _ = run("verify")
    assert code == 1
    assert out.splitlines()[0].startswith("not proven: 1 warning")
    assert "no/x.py" in out


def test_landed(run, project):
    """--landed tells whether every commit arrived, and whether a squash lost its authors."""
    project.repo.branch("merged", "port/x")
    code, out, _ = run("verify", "--landed", "merged")
    assert code == 0
    assert "landed on merged: 2 of 2 commits" in out
    files = project.repo.files("port/x")
    main = project.repo.git("rev-parse", "main")
    project.repo.commit(files, parents=[main], branch="squashed", message="all at once\n", author="Boss <boss@x>")
    code, out, _ = run("verify", "--landed", "squashed")
    assert code == 1
    assert "lost their authors" in out
    told = json.loads(run("verify", "--landed", "squashed", "--json").out)
    assert told["landed"]["lost_authors"]


def test_audit(run, project):
    """The table, the census and the mentions of old names."""
    code, out, _ = run("audit")
    assert code == 0
    assert "none: merges" in out
    told = json.loads(run("audit", "--json").out)
    assert ("lib/client.py", 4, "rewritten") in {(m["path"], m["line"], m["state"]) for m in told["leftovers"]}


def test_audit_finds_style(run, project):
    """A reference in a comment on an added line is found, in the commit that adds it."""
    spoiled(project)
    told = json.loads(run("audit", "--json").out)
    assert [(found["path"], found["kind"]) for found in told["style"]] == [("lib/main.py", "reference")]


def test_audit_markdown(run, project, tmp_path):
    """--markdown writes the text of the pull request; what does not fit goes beside it, named by its digest."""
    file = tmp_path / "pr.md"
    assert run("audit", "--markdown", file).code == 0
    assert file.read_text().startswith("## layout-only: 2 commits changed nothing but the layout\n")
    assert not (tmp_path / "pr.full.md").exists()


def test_audit_markdown_overflow(run, project, tmp_path, monkeypatch):
    """Where the text must be shortened, the whole audit is beside it and its sha256 in the text."""
    from porttool import report_markdown

    whole = report_markdown.markdown
    monkeypatch.setattr(report_markdown, "markdown", lambda audit, artefact: whole(audit, artefact, limit=700))
    file = tmp_path / "pr.md"
    assert run("audit", "--markdown", file).code == 0
    full = (tmp_path / "pr.full.md").read_bytes()
    assert hashlib.sha256(full).hexdigest() in file.read_text()
    assert len(file.read_text()) <= 700


def test_back(run, project):
    """A commit made on the target comes back in the old layout, with its author; ported ones are already there."""
    tip = project.repo.git("rev-parse", "port/x")
    client = project.repo.files("port/x")["app/remote/client.py"]
    changed = client.replace(b"class NewWorker:", b"class NewWorker:\n    KEY = 'remote.lr'\n")
    project.repo.commit({"app/remote/client.py": changed}, branch="port/x", parents=[tip], message="routing key\n")
    code, out, _ = run("back")
    assert code == 0, out
    assert out.splitlines()[0].startswith("1 commit on back/recipe")
    assert out.count("already there") == 2
    assert b"class OldWorker:\n    KEY = " in project.repo.files("back/recipe")["lib/client.py"]
    assert project.repo.git("rev-parse", "back/recipe~1") == project.repo.git("rev-parse", "recipe")


def test_back_of_a_range(run, project):
    """A range may be named, with or without the manifest; nothing new is an answer."""
    code, out, _ = run("back", "main..port/x")
    assert code == 0
    assert out.splitlines()[0] == "nothing to port: 2 commits named, none of them to be made"
    assert run("back", project.manifest, "main..port/x", "--dry-run").code == 0
    assert run("back", "--by", "upstream").code == 2
    assert run("back", project.manifest, "main...port/x").code == 2


def test_verify_after_nothing_was_to_port(run, project):
    """Where everything is left out no branch is made: that is the answer, not a fault that apply would mend."""
    left = ", ".join(f"{pick}: superseded" for pick in project.picks)
    project.write("- {range: main~1..recipe}\n", extra=f"skip: {{{left}}}\n", branch="port/none")
    assert run("apply").out.startswith("nothing to port")
    code, out, err = run("verify")
    assert (code, out.splitlines()[0]) == (0, "nothing to verify: nothing was to port")
    assert "porttool apply" not in out + err
    code, out, _ = run("verify", "--landed", "main")
    assert code == 0 and "landed on main: 0 of 0 commits" in out
    assert json.loads(run("verify", "--json").out)["commits"] == []
