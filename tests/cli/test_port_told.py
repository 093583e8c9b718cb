"""What plan, apply and back say, and what they leave unsaid."""

from __future__ import annotations

import json
import re
from pathlib import Path


def test_control_bytes_of_commits_stay_off_the_terminal(run, project):
    """Subject, author and path of a commit are shown escaped: in a plan, a run, a conflict, a status and an error."""
    evil = "\x1b[31m\x9b0m"
    made = {"message": f"Fix {evil}\n", "author": f"An{evil} <a@b>", "branch": "recipe"}
    one = project.repo.commit({f"d{evil}/f": "1\n"}, **made)
    two = project.repo.commit({f"d{evil}/f": "2\n"}, **made)
    project.write(f"- {{pick: [{one}]}}\n- {{pick: [{two}]}}\n")
    outs = [run(verb) for verb in ("plan", "apply", "status", "verify", "audit")]
    project.write(f"- {{pick: [{two}]}}\n", branch="port/y")
    outs += [run("apply"), run("resolution", "add", "--path", "none", "--delete", "--reason", "x")]
    words = ("resolution", "add", "--path", f"d{evil}/f", "--delete", "--reason", f"why{evil}", "--author", f"A{evil}")
    outs += [run(*words), run(*words), run("resolution", "list")]
    name = json.loads(run("resolution", "list", "--json").out)["resolutions"][0]["id"]
    outs += [run("resolution", "show", name), run("resolution", "drop", name), run("apply", "--branch", f"x{evil}")]
    for ran in outs:
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", ran.out + ran.err), ran
    shown = r"\x1b[31m\x9b0m"
    assert all(shown in outs[at].out for at in (0, 1, 2, 3, 4, 5, 7, 9, 10, 11)) and shown in outs[6].err


def test_a_replaced_branch_is_told(run, project):
    """A run that replaces an earlier port says where that one is kept; the first run and a rerun say nothing of it."""
    assert json.loads(run("apply", "--json").out)["replaced"] is None
    first = project.repo.git("rev-parse", "port/x")
    assert "kept as" not in run("apply").out
    project.write(f"- {{pick: [{project.picks[1]}]}}\n")
    kept = f"refs/porttool/replaced/port/x/{first[:12]}"
    assert "kept as" not in run("apply", "--dry-run").out
    assert f"The branch that was there before is kept as {kept}" in run("apply").out.splitlines()
    assert project.repo.git("rev-parse", kept) == first
    project.write(f"- {{pick: [{project.picks[0]}]}}\n")
    second = project.repo.git("rev-parse", "port/x")
    assert json.loads(run("apply", "--json").out)["replaced"] == f"refs/porttool/replaced/port/x/{second[:12]}"


def test_resolutions_of_the_other_direction_are_no_complaint(run, stopped, tmp_path):
    """`back` does not list what `apply` uses, nor `apply` and `verify` what `back` uses; one of no use is listed."""
    (tmp_path / "fixed.py").write_text("import os\n\n\nclass NewWorker:\n    def run(self):\n        return 2\n")
    words = ("resolution", "add", "--path", "app/remote/client.py", "--file", "fixed.py", "--reason", "simpler")
    assert run(*words).code == 0 and run("apply").code == 0
    (forward,) = json.loads(run("resolution", "list", "--json").out)["resolutions"]
    tip = stopped.repo.git("rev-parse", "port/x")
    client = stopped.repo.files("port/x")["app/remote/client.py"].replace(b"return 2", b"return 7")
    stopped.repo.commit({"app/remote/client.py": client}, branch="port/x", parents=[tip], message="seven\n")
    old = stopped.repo.files("recipe")["lib/client.py"].replace(b"return 2", b"return 3")
    stopped.repo.commit({"lib/client.py": old}, branch="recipe", message="three\n")
    stop = json.loads(run("back", "--json").out)
    (Path(stop["conflict"]["scratch"]) / "lib/client.py").write_bytes(old.replace(b"return 3", b"return 7"))
    ran = run("back", "--continue")
    assert ran.code == 0 and "nothing asked for" not in ran.out, ran
    assert json.loads(run("back", "--json").out)["unused_resolutions"] == []
    assert len(json.loads(run("resolution", "list", "--json").out)["resolutions"]) == 2
    ran = run("apply", "--dry-run", "--json")
    assert json.loads(ran.out)["unused_resolutions"] == []
    assert not [told for told in json.loads(run("verify", "--json").out)["warnings"] if "of no use" in told]
    stopped.write(f"- {{pick: [{stopped.picks[1]}]}}\n", branch="port/z")
    assert json.loads(run("apply", "--json").out)["unused_resolutions"] == [forward["id"]]


def test_a_plan_always_tells_its_census_and_whether_it_is_clean(run, project, stopped):
    """Nothing unusual is said too; and the last line says what would apply, where it would."""
    lines = run("plan").out.splitlines()
    assert "census: nothing unusual" in lines and not [line for line in lines if "cleanly" in line]
    project.write(f"- {{pick: [{project.picks[1]}]}}\n- {{pick: [{project.picks[0]}]}}\n")
    assert "would stop in conflict" in run("plan").out and "cleanly" not in run("plan").out
    project.repo.branch("main", "main~1")
    lines = run("plan").out.splitlines()
    assert "census: nothing unusual" in lines and lines[-1] == "would apply cleanly: 2 commits"
    odd = project.repo.commit({"a.txt": "1\r\n"}, branch="recipe")
    project.write(f"- {{pick: [{odd}]}}\n")
    lines = run("plan").out.splitlines()
    assert "census: nothing unusual" not in lines and "Census (1)" in lines
    assert lines[0].startswith("1 commit to port") and lines[-1] == "would apply cleanly: 1 commit"


def test_a_patch_that_is_not_there(run, project):
    """The file is named in the message, the manifest as the place, and the hint is one."""
    project.write("- {new: no.patch, why: x}\n")
    code, _, err = run("plan")
    assert code == 2
    error, at, hint = err.splitlines()[-3:]
    assert "cannot read the patch" in error and "no.patch" in error
    assert "m.yaml:" in at and hint.startswith("hint: put the file there")


def test_t26_what_does_not_come_back_is_in_the_json_of_apply(run, project):
    """Each commit lists the places of its source that the layout cannot bring back, with path and line."""
    odd = project.repo.commit({"use.py": "x = 1\n\nclass NewWorker: pass\n"}, branch="recipe")
    project.write(f"- {{pick: [{project.picks[0]}]}}\n- {{pick: [{odd}]}}\n")
    clean, marked = json.loads(run("apply", "--json").out)["commits"]
    assert clean["one_way"] == []
    assert [(place["path"], place["line"]) for place in marked["one_way"]] == [("use.py", 3)]
