"""`porttool gate` as a user sees it: stages in order, one verdict, reports whatever happens."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as Xml
from pathlib import Path

import pytest

from porttool.errors import EnvironmentFault

ROOT = Path(__file__).resolve().parent.parent.parent
REPORTS = {"junit": "r/gate.xml", "sarif": "r/gate.sarif", "markdown": "r/gate.md", "html": "r/gate.html"}
WRITE = [word for name, file in REPORTS.items() for word in (f"--{name}", file)]


def verdicts(files=REPORTS):
    """The verdict that each report tells."""
    failures = Xml.parse(files["junit"]).getroot()
    sarif = json.loads(Path(files["sarif"]).read_text())["runs"][0]
    junit = (
        "DIFFER" if failures.get("failures") != "0" else "INCOMPARABLE" if failures.get("errors") != "0" else "MATCH"
    )
    markdown = Path(files["markdown"]).read_text().split(":")[0].split()[-1]
    page = next(
        word for word in ("INCOMPARABLE", "DIFFER", "MATCH") if f">{word}: " in Path(files["html"]).read_text()
    )
    return {junit, sarif["properties"]["verdict"], markdown, page}


def test_a_match(run, project, sent):
    """Proof and static parity, cheapest first; the first line is the answer; exit 0."""
    code, out, err = run("gate")
    assert code == 0, err
    lines = out.splitlines()
    assert lines[0] == (
        "MATCH  recipe and port/x: 2 commits (2 layout-only); wire, config, contract, consumers equal in 2 scenarios"
    )
    assert [line.split()[0] for line in lines[1:]] == [
        "proof", "wire", "config", "contract", "consumers", "captures", "guard",
    ]  # fmt: skip
    assert [line.split(":")[0] for line in err.splitlines()] == [
        "1/4 guard", "2/4 proof", "3/4 capture", "4/4 compare",
    ]  # fmt: skip


def test_a_commit_compared_with_itself_is_told(run, project, sent):
    """It matches whatever it is: whoever named one commit twice reads so."""
    _, out, _ = run("gate", "--left", "main", "--right", "main")
    assert "warning: both sides are the commit " in out and "it was compared with itself" in out
    assert "compared with itself" not in run("gate").out


def test_each_capture_is_told_under_its_stage(run, project, sent, monkeypatch):
    """The stage that takes minutes says how far it is."""
    made = sent.capture

    def capture(*words, report, **rest):
        report("captured plain of recipe")
        return made(*words, **rest)

    monkeypatch.setattr("parity.gate.static.capture", capture)
    assert "3/4 capture: captured plain of recipe" in run("gate").err.splitlines()


def test_captures_are_made_once(run, project, sent):
    """All static probes share them."""
    run("gate")
    assert sorted(sent.made) == ["port/x bold", "port/x plain", "recipe bold", "recipe plain"]


def test_a_difference(run, project, sent):
    """Exit 1; which probes, which key, both values, the cause."""
    sent.lr["target"] = 1
    code, out, _ = run("gate")
    assert code == 1
    lines = out.splitlines()
    assert lines[0].startswith("DIFFER  wire, config: plain: old.fwd_no_grad.meta.lr has another value")
    at = lines.index("  first: old.fwd_no_grad.meta.lr")
    assert lines[at + 1 : at + 3] == ["    recipe: 1 (int)", "    port/x: 2 (int)"]
    assert len(lines) < 40


def test_a_crash(run, project, sent):
    """A side that crashed is INCOMPARABLE, exit 3; the proof's own verdict still stands."""
    sent.crash.add("target")
    code, out, _ = run("gate")
    assert code == 3
    assert out.splitlines()[0].startswith("INCOMPARABLE  ") and "ValueError: no such thing" in out.splitlines()[0]
    assert any(line.split()[:2] == ["proof", "MATCH"] for line in out.splitlines())


def test_a_difference_and_a_crash(run, project, sent):
    """What differs is not hidden by what cannot be compared."""
    project.repo.branch("port/x", "port/x~1")
    sent.crash.add("source")
    assert run("gate").code == 1


def test_json(run, project, sent):
    """The contract of design: verdict, probes, provenance."""
    sent.lr["target"] = 1
    told = json.loads(run("gate", "--json").out)
    assert set(told) == {"verdict", "probes", "provenance"} and told["verdict"] == "DIFFER"
    assert {name: one["verdict"] for name, one in told["probes"].items()} == {
        "proof": "MATCH",
        "wire": "DIFFER",
        "config": "DIFFER",
        "contract": "MATCH",
        "consumers": "MATCH",
    }
    assert set(told["probes"]["wire"]["findings"][0]) == {"key", "left", "right", "rule", "cause"}
    assert told["provenance"]["left"]["ref"] == "recipe" and "guard" in told["provenance"]["unchecked"]


@pytest.mark.parametrize("spoil", ["nothing", "differ", "crash"])
def test_every_report_tells_the_verdict(run, project, sent, spoil):
    """Reports are written whatever the verdict is, and all tell the same one."""
    sent.lr["target"] = int(spoil == "differ")
    sent.crash |= {"target"} if spoil == "crash" else set()
    code, _, err = run("gate", *WRITE)
    wanted = {"nothing": ("MATCH", 0), "differ": ("DIFFER", 1), "crash": ("INCOMPARABLE", 3)}[spoil]
    assert (verdicts(), code) == ({wanted[0]}, wanted[1])
    assert err.splitlines()[-1] == "written: " + ", ".join(REPORTS.values())


def test_no_path_of_this_machine(run, project, sent, tmp_path):
    """Reports name files relative to the project: they are read elsewhere."""
    sent.lr["target"] = 1
    run("gate", *WRITE, "--by-commit")
    for file in REPORTS.values():
        assert str(tmp_path) not in Path(file).read_text()
    assert str(tmp_path) not in run("gate", "--json").out


@pytest.mark.parametrize("where", ["parity.gate.tiers.static.captured", "parity.gate.proof.verify"])
def test_a_bug_still_leaves_reports(run, project, sent, monkeypatch, where):
    """A probe that dies of a bug ends the run with 70; what is known is in the reports, and no match."""

    def crash(*args, **rest):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(where, crash)
    code, out, err = run("gate", *WRITE)
    assert (code, out) == (70, "") and "ZeroDivisionError: oh" in err
    assert verdicts() == {"INCOMPARABLE"}
    assert "ended early: ZeroDivisionError: oh" in Path(REPORTS["markdown"]).read_text()


def test_an_interruption_leaves_reports(run, project, sent, monkeypatch):
    """Ctrl-C ends with 130, and the reports say so."""

    def stop(*args, **rest):
        raise KeyboardInterrupt

    monkeypatch.setattr("parity.gate.tiers.static.captured", stop)
    code, _, err = run("gate", *WRITE)
    assert code == 130 and err.splitlines()[-1] == "interrupted"
    assert verdicts() == {"INCOMPARABLE"}


def test_a_manifest_that_cannot_be_read_leaves_reports(run, project, sent):
    """A mistake of the manifest is exit 2 and three lines; who waits for reports still gets them."""
    project.manifest.write_text("version: 1\nsourc: {}\n")
    code, out, err = run("gate", *WRITE)
    assert (code, out) == (2, "") and "did you mean 'source'?" in err
    assert verdicts() == {"INCOMPARABLE"}


def test_a_finding_of_the_proof_is_told_once(run, project, sent):
    """Its place and text stand in the sentence of its commit; below it only the cause, the line and what to run."""
    project.repo.commit({"base.py": "KEEP = 2\n"}, branch="port/x", message="Sneak in\n")
    lines = run("gate", "--markdown", "r.md", "--html", "r.html").out.splitlines()
    at = next(place for place, line in enumerate(lines) if line.startswith("proof: "))
    assert lines[at].endswith(" Sneak in: undeclared: names no source commit")
    assert [line.partition(":")[0] for line in lines[at + 1 :]] == [
        "  cause", "  line", "`porttool verify` shows every place that changed beyond the layout",
    ]  # fmt: skip
    assert "manifests/m.yaml:" in lines[at + 2]
    text = Path("r.md").read_text()
    assert "- first" not in text and "- cause: " in text and "- line: `manifests/m.yaml:" in text
    assert "first divergence" not in Path("r.html").read_text()


def test_a_mistake_in_the_parity_section(run, project, sent):
    """A wrong rule is a mistake of the manifest, not a difference: exit 2."""
    project.manifest.write_text(project.manifest.read_text() + "  rules: {wire.a: {expect: x}}\n")
    code, _, err = run("gate", *WRITE)
    assert code == 2 and "unknown key 'expect'" in err
    assert verdicts() == {"INCOMPARABLE"}


def test_reports_are_whole_or_not_there(run, project, sent):
    """A report is moved into place when it is finished; nothing else is left beside it."""
    Path("r").mkdir()
    Path("r/gate.md").write_text("old")
    run("gate", *WRITE)
    assert sorted(file.name for file in Path("r").iterdir()) == sorted(Path(file).name for file in REPORTS.values())
    assert "MATCH" in Path("r/gate.md").read_text()


def test_a_disk_that_refuses(run, project, sent):
    """A report that cannot be written is a fault, told with its file."""
    Path("r").write_text("a file where a folder should be")
    code, _, err = run("gate", "--junit", "r/gate.xml")
    assert (code == 3 and "r/gate.xml" in err) or code == 3


def test_without_the_stack(run, project, sent, monkeypatch):
    """The proof is judged all the same; static parity is INCOMPARABLE and says what to install."""

    def missing():
        raise EnvironmentFault("the trainer stack is not complete: torch", "python", "pip install 'porttool[parity]'")

    monkeypatch.setattr("parity.probes.run.stack", missing)
    code, out, _ = run("gate")
    assert code == 3
    assert out.splitlines()[0].startswith("INCOMPARABLE  static: capture: the trainer stack is not complete: torch")
    assert "pip install 'porttool[parity]'" in out
    assert any(line.split()[:2] == ["proof", "MATCH"] for line in out.splitlines())


def test_without_a_branch(run, project, sent):
    """No port branch: nothing is proven, and the target before the port is compared."""
    project.repo.git("branch", "-D", "port/x")
    code, out, _ = run("gate")
    assert code == 3 and "there is no branch 'port/x'" in out
    assert "main plain" in sent.made


def test_fail_fast(run, project, sent):
    """After a stage that does not match nothing else is run, and that is told."""
    project.repo.branch("port/x", "port/x~1")
    code, out, _ = run("gate", "--fail-fast")
    assert code == 1 and sent.made == []
    assert any(line.split()[:3] == ["capture", "not", "checked"] for line in out.splitlines())
    assert run("gate").code == 1 and sent.made


def test_other_refs(run, project, sent):
    """--left and --right name the sides; the proof is of the right one."""
    out = run("gate", "--left", "recipe~1", "--right", "main").out
    assert sorted(set(sent.made)) == ["main bold", "main plain", "recipe~1 bold", "recipe~1 plain"]
    assert any(line.split()[:2] == ["proof", "DIFFER"] for line in out.splitlines())


def test_by_commit(run, project, sent):
    """The ledger: what differs at the base and after each commit, and which closes and opens it."""
    base, first, second = (project.repo.git("rev-parse", f"port/x{back}") for back in ("~2", "~1", ""))
    sent.by_commit = {base: 5, second: 7}
    code, out, _ = run("gate", "--by-commit")
    assert code == 1
    lines = out.splitlines()
    at = lines.index("what still differs after each commit")
    told = [line.split()[:3] for line in lines[at + 2 :] if line.startswith("  ") and not line.startswith("   ")]
    assert told[:3] == [[base[:8], "1", "1"], [first[:8], "0", "0"], [second[:8], "1", "1"]]
    assert f"  commit: {second[:8]} Name the worker" in lines
    assert any(line.strip().startswith("closes 2:") for line in lines)
    ledger = json.loads(run("gate", "--by-commit", "--json").out)["provenance"]["ledger"]
    assert [one["commit"] for one in ledger] == [base, first, second]
    assert ledger[2]["opens"] == ["config.client.ds_config.lr", "wire.old.fwd_no_grad.meta.lr"]


def test_by_commit_where_a_commit_crashes(run, project, sent, monkeypatch):
    """A commit whose side does not run is told as such, and is not taken for one that closes everything."""
    base, first, _ = (project.repo.git("rev-parse", f"port/x{back}") for back in ("~2", "~1", ""))
    real = sent._one

    def one(side, job):
        sent.crash = {"target"} if side.commit == first else set()
        return real(side, job)

    monkeypatch.setattr(sent, "_one", one)
    sent.by_commit = {base: 5}
    ledger = json.loads(run("gate", "--by-commit", "--json").out)["provenance"]["ledger"]
    assert "ValueError: no such thing" in ledger[1]["incomparable"]
    assert ledger[1]["closes"] == []
    assert len(ledger[2]["closes"]) == 2


def test_by_commit_without_a_port(run, project, sent):
    """Without a branch there are no commits: told as not checked, beside the verdict of the rest."""
    project.repo.git("branch", "-D", "port/x")
    lines = run("gate", "--by-commit").out.splitlines()
    assert any(line.split()[:3] == ["ledger", "not", "checked"] for line in lines)


def test_by_commit_of_another_history(run, project, sent, monkeypatch):
    """What keeps the ledger from being made is told, and does not change the verdict."""

    def gone(*args):
        raise EnvironmentFault("the disk is full")

    monkeypatch.setattr("parity.gate.ledger.static.captured", gone)
    monkeypatch.setattr("parity.gate.tiers.ledger.stops", gone)
    monkeypatch.setattr("parity.gate.tiers.static.captured", lambda of, *_: _sides(of, sent))
    code, out, _ = run("gate", "--by-commit")
    assert code == 0 and any("ledger" in line and "the disk is full" in line for line in out.splitlines())


def _sides(of, sent):
    left, right = sent.capture(
        [(of.left, of.jobs(of.harness.scenarios, "source")), (of.right, of.jobs(of.harness.scenarios, "target"))],
        None,
        None,
    )
    return list(zip(left, right, strict=True))


def commit_project(project):
    """Put the project itself under git: the guard compares with its history."""
    for words in (("init", "-q", "-b", "main"), ("add", "manifests", "pyproject.toml"), ("commit", "-qm", "base")):
        subprocess.run(["git", "-C", str(project.manifest.parent.parent), *words], check=True)


def test_the_guard(run, project, sent):
    """A rule added in the same pull request is declared with its reason; without one it is red."""
    commit_project(project)
    sent.lr["target"] = 1
    rule = "  rules: {wire.*.lr: {expected: %s}, config.*.lr: {within: 5, evidence: seen}}\n"
    project.manifest.write_text(project.manifest.read_text() + rule % "it is meant")
    code, out, _ = run("gate", "--base", "main")
    assert code == 0, out
    assert any(line.split()[:2] == ["guard", "MATCH"] for line in out.splitlines())
    project.manifest.write_text(project.manifest.read_text().replace("    bold: [old_rl.lr=3]\n", ""))
    code, out, _ = run("gate", "--base", "main")
    assert code == 1
    assert (
        out.splitlines()[0]
        == "DIFFER  guard: parity.scenarios.bold: parity.scenarios.bold was removed without a reason"
    )
    assert "Gate-Reason: parity.scenarios.bold: why" in out


def test_the_base_of_ci(run, project, sent, monkeypatch):
    """In a pull request of CI the guard finds the base itself; one that is not here is no pass."""
    commit_project(project)
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    assert any(line.split()[:2] == ["guard", "MATCH"] for line in run("gate").out.splitlines())
    monkeypatch.setenv("GITHUB_BASE_REF", "release")
    code, out, _ = run("gate")
    assert code == 3 and "fetch-depth: 0" in out


def test_knobs_belong_to_all(run, project, sent, monkeypatch):
    """Tier `all` turns the knobs too."""
    monkeypatch.setattr("parity.gate.tiers.smoke.trainer", _no_runs)
    out = run("gate", "--tier", "all").out
    assert any(line.split()[0] == "knobs" for line in out.splitlines()[1:])
    assert any(line.split()[:2] == ["smoke", "INCOMPARABLE"] for line in out.splitlines())


def _no_runs(*args):
    raise EnvironmentFault("no training runs here")


def test_smoke_without_a_section(run, project, sent):
    """A tier that the manifest does not describe is a mistake, not a match."""
    code, _, err = run("gate", "--tier", "smoke")
    assert code == 2 and "parity.convergence" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--tier", "statc"], "did you mean 'static'?"),
        (["--jobs", "none"], "--jobs is 'none'"),
        (["--jobs", "0"], "--jobs is '0'"),
        (["--base=-x"], "--base is '-x'"),
        (["--lef", "x"], "did you mean '--left'?"),
    ],
)
def test_mistakes(run, project, sent, words, message):
    """A word that is none is exit 2 with the nearest one."""
    code, out, err = run("gate", *words)
    assert (code, out) == (2, "") and message in err


def test_the_parent_imports_no_trainer():
    """What a cached gate needs is light."""
    modules = "parity.gate.tiers, parity.gate.screen, parity.gate.write, parity.gate.as_json, porttool.verbs.gate"
    heavy = "{'torch', 'ray', 'transformers', 'deepspeed', 'verl', 'numpy', 'omegaconf', 'matplotlib'}"
    code = f"import sys, {modules}\nprint(sorted({heavy} & set(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_times_are_kept(run, project, sent):
    """The second run says how long is left."""
    run("gate")
    assert "left)" in run("gate").err
