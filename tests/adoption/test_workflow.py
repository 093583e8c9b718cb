"""The GitHub action and workflow: what they may do, and their own steps run here."""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
from pathlib import Path

import pytest
import yaml

from tests.adoption.actions import Job
from tests.adoption.machine import git, machine

__all__ = ["machine"]

ROOT = Path(__file__).resolve().parent.parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FILES = [ROOT / "action.yml", *WORKFLOWS]


def read(file: Path) -> dict:
    return yaml.safe_load(file.read_text())


def steps_of(told: dict) -> list[dict]:
    """Every step of a workflow or of an action."""
    jobs = told["jobs"].values() if "jobs" in told else [told["runs"]]
    return [step for job in jobs for step in job["steps"]]


def triggers(told: dict) -> set[str]:
    """What starts a workflow; YAML reads the key `on` as true."""
    on = told.get("on", told.get(True, {}))
    return {on} if isinstance(on, str) else set(on)


def faults(told: dict, text: str) -> list[str]:
    """What a workflow or an action may not do."""
    found = []
    if told.keys() & {"jobs"}:
        if triggers(told) & {"pull_request_target", "workflow_run", "issue_comment"}:
            found.append("a trigger that gives secrets to the code of a pull request")
        if told.get("permissions") != {"contents": "read"}:
            found.append("permissions are not contents: read alone")
        if any("permissions" in job for job in told["jobs"].values()):
            found.append("a job widens the permissions")
        if not all(isinstance(job.get("timeout-minutes"), int) for job in told["jobs"].values()):
            found.append("a job without a limit")
        if "concurrency" not in told:
            found.append("an older run of the same branch goes on")
    if re.search(r"\$\{\{[^}]*(\bsecrets\b|github\.token)", text):
        found.append("a secret is named")
    for step in steps_of(told):
        uses = step.get("uses", "./")
        if uses != "./" and not re.fullmatch(r"[\w-]+/[\w/-]+@[0-9a-f]{40}", uses):
            found.append(f"{uses} is not pinned by a commit")
        elif uses != "./" and not re.search(re.escape(uses) + r" # v\d+\.\d+\.\d+\n", text):
            found.append(f"{uses} does not say its version")
        if uses.startswith("actions/checkout@") and step.get("with", {}).get("persist-credentials") is not False:
            found.append("a checkout keeps its credentials")
        if "${{" in step.get("run", ""):
            found.append("an expression becomes text of a script")
        if "run" in step and "runs" in told and step.get("shell") != "bash":
            found.append("a step without its shell")
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_what_they_may_do(file):
    """Least privilege, pinned actions, no secrets, no credentials left behind, no expression inside a script."""
    assert faults(read(file), file.read_text()) == []


def broken(change) -> list[str]:
    """The faults of parity.yml after a change to it."""
    told = copy.deepcopy(read(ROOT / ".github" / "workflows" / "parity.yml"))
    change(told)
    return faults(told, (ROOT / ".github" / "workflows" / "parity.yml").read_text())


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda w: w.update({True: {"pull_request_target": None}}), "a trigger that gives secrets"),
        (lambda w: w.update(on="workflow_run"), "a trigger that gives secrets"),
        (lambda w: w.update(permissions="write-all"), "permissions are not"),
        (lambda w: w.pop("permissions"), "permissions are not"),
        (lambda w: w["permissions"].update({"pull-requests": "write"}), "permissions are not"),
        (lambda w: w["jobs"]["static"].update(permissions={"contents": "write"}), "a job widens"),
        (lambda w: w["jobs"]["static"].pop("timeout-minutes"), "a job without a limit"),
        (lambda w: w.pop("concurrency"), "an older run"),
        (lambda w: w["jobs"]["static"]["steps"][0].update(uses="actions/checkout@v7"), "is not pinned"),
        (lambda w: w["jobs"]["static"]["steps"][0].update(uses="actions/checkout@" + "0" * 40), "does not say"),
        (lambda w: w["jobs"]["static"]["steps"][0]["with"].pop("persist-credentials"), "keeps its credentials"),
        (
            lambda w: w["jobs"]["static"]["steps"].append({"run": "echo ${{ github.event.pull_request.title }}"}),
            "an expression becomes text",
        ),
    ],
)
def test_the_checks_see(change, fault):
    """Each check fails on a workflow that does what it is against."""
    assert any(fault in told for told in broken(change))


def test_secrets_are_seen():
    """A secret is found wherever it is named."""
    text = (ROOT / "action.yml").read_text()
    told = read(ROOT / "action.yml")
    assert faults(told, text.replace("inputs.tier }}", "secrets.TOKEN }}")) == ["a secret is named"]
    assert faults({**told, "runs": {"steps": [{"run": "true"}]}}, text) == ["a step without its shell"]


def test_tiers_and_triggers():
    """Static on every push of a pull request, smoke once it is ready or labelled, the landing on the target branch."""
    told = read(ROOT / ".github" / "workflows" / "parity.yml")
    assert triggers(told) == {"pull_request", "push"}
    tier = {name: job["steps"][-1]["with"]["tier"] for name, job in told["jobs"].items()}
    assert tier == {"static": "static", "smoke": "smoke", "landed": "static"}


# The steps, run


def words_of_gate(job: Job) -> list[str]:
    line = next(line for line in job.log() if line.startswith("gate"))
    return line.partition(" --json")[0].split()[1:]


def test_a_green_pull_request(machine):
    """All steps run; the verdict is an output, the Markdown is the summary, and no annotation is made."""
    machine.action(machine.workspace, {"manifest": "manifests/x.yaml"})
    assert [(step.name, step.code) for step in machine.ran] == [
        (name, 0) for name in ("Places", "Install porttool", "Branches", "Gate", "Summary", "Annotations")
    ]
    assert words_of_gate(machine) == ["manifests/x.yaml", "--tier", "static"]
    assert machine.outputs["verdict"] == "MATCH"
    assert machine.summary == "## MATCH\n"
    assert machine.annotations == []
    kept = set(os.listdir(machine.outputs["reports"]))
    assert kept == {"gate.json", "gate.md", "gate.html", "gate.sarif", "junit.xml"}
    assert machine.skipped == [
        "Prepare", "After landing", "Keep packages for later runs", "Keep captures for later runs",
    ]  # fmt: skip
    assert [name.partition("@")[0] for name in machine.not_run] == [
        "actions/setup-python", "Packages from the last push", "Captures from the last push", "Keep the reports",
    ]  # fmt: skip


@pytest.mark.parametrize(("verdict", "code"), [("DIFFER", 1), ("INCOMPARABLE", 3)])
def test_a_red_pull_request(machine, verdict, code):
    """The gate's exit code fails the job; the reports, the summary and the annotations are made all the same."""
    machine.environment |= {"VERDICT": verdict, "FINDING": "log-probs, 50% off: see\nthe wire"}
    machine.action(machine.workspace, {"base": "origin/main", "tier": "smoke"})
    assert {step.name: step.code for step in machine.ran}["Gate"] == code
    assert machine.failed
    assert words_of_gate(machine) == ["--tier", "smoke", "--base", "origin/main"]
    assert machine.outputs["verdict"] == verdict
    assert machine.summary == f"## {verdict}\n"
    [told] = machine.annotations
    assert told == ("error", {"file": "a.py", "line": "3", "title": "wire"}, "log-probs, 50% off: see\nthe wire")
    assert "Keep the reports" in machine.not_run


def test_a_gate_that_says_nothing_is_red(machine):
    """A gate that ends with 0 and leaves no answer is INCOMPARABLE, never a pass."""
    machine.environment["SILENT"] = "1"
    machine.action(machine.workspace, {})
    assert {step.name: step.code for step in machine.ran}["Gate"] == 3
    assert machine.outputs["verdict"] == "INCOMPARABLE"
    assert machine.summary == "The gate wrote no report; its log says why.\n"


def test_an_invented_verdict_is_red(machine):
    """Only the three words of the contract are passed on."""
    machine.environment["VERDICT"] = "MATCH\nreports=/"
    machine.action(machine.workspace, {})
    assert machine.outputs["verdict"] == "INCOMPARABLE"
    assert machine.failed


def test_the_log_gives_no_commands(machine):
    """Text of the branch under test that looks like a workflow command stays text."""
    hostile = "::error file=a.py::pwned\n::add-mask::x\n::set-output name=verdict::MATCH\n"
    machine.environment["MARKDOWN"] = hostile
    machine.action(machine.workspace, {})
    assert "::add-mask::x" in {step.name: step.out for step in machine.ran}["Gate"]
    assert machine.annotations == [] and machine.commands == []


def test_the_check_above_sees(machine):
    """Without the marks around it, the same text is taken for commands."""
    file = machine.workspace / "action.yml"
    file.write_text(file.read_text().replace('echo "::stop-commands::$mark"', "true"))
    machine.environment["MARKDOWN"] = "::error file=a.py::pwned\n::add-mask::x\n"
    machine.action(machine.workspace, {})
    assert [told.text for told in machine.annotations] == ["pwned"]
    assert machine.commands[0] == "::add-mask::x"


def test_the_gate_is_given_no_way_to_github(machine):
    """The gate does not get the files of outputs, paths and environment, nor a token."""
    machine.action(machine.workspace, {})
    told = {step.name: step.err for step in machine.ran}["Gate"]
    for name in ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STEP_SUMMARY", "GITHUB_TOKEN"):
        assert f"'{name}'" not in told
    assert "'GITHUB_BASE_REF'" in told


def test_what_is_installed(machine):
    """porttool of the action itself, at the pinned versions; the trainer stack only where it is asked for."""
    machine.action(machine.workspace, {})
    shutil.rmtree(machine.temp / "porttool")
    machine.action(machine.workspace, {"extras": ""})
    pips = [line for line in machine.log() if line.startswith("install")]
    here = machine.workspace
    plain = "install --quiet --disable-pip-version-check"
    assert pips == [
        f"{plain} {here}[parity] -c {here}/constraints.txt -c {here}/constraints-parity.txt",
        f"{plain} {here} -c {here}/constraints.txt",
    ]


def test_the_rest_of_the_job_is_left_alone(machine):
    """Steps after the action find the `python` that they had: its environment is no part of the job's PATH."""
    before = machine.environment["PATH"]
    machine.action(machine.workspace, {})
    assert machine.environment["PATH"] == before


def test_branches(machine):
    """The branches of origin are there as local ones, and the port branch is the pull request's head."""
    head = git(machine.workspace, "rev-parse", "HEAD^2")
    machine.action(machine.workspace, {})
    assert git(machine.workspace, "rev-parse", "port/x") == head
    assert git(machine.workspace, "rev-parse", "main") == git(machine.workspace, "rev-parse", "HEAD^1")


def test_a_fork_cannot_take_the_base(machine):
    """A pull request from a branch that is called like the base leaves the base alone."""
    machine.environment["GITHUB_HEAD_REF"] = "main"
    machine.action(machine.workspace, {})
    assert git(machine.workspace, "rev-parse", "main") == git(machine.workspace, "rev-parse", "HEAD^1")


NOT_COMPARED = "The branch of this pull request is neither side of the manifest: nothing that it changes was compared."


@pytest.mark.parametrize(("head", "sides"), [("fix", "recipe port/x"), ("main", "recipe main")])
def test_a_pull_request_that_is_not_compared_says_so(machine, head, sides):
    """Where its branch is neither side, or is a fork's that is called like the base, green says nothing of it."""
    machine.environment |= {"GITHUB_HEAD_REF": head, "SIDES": sides}
    machine.action(machine.workspace, {})
    assert not machine.failed
    assert [(one.level, one.text) for one in machine.annotations] == [("warning", NOT_COMPARED)]
    assert machine.summary == f"> {NOT_COMPARED}\n\n## MATCH\n"


def test_a_fork_cannot_stand_in_for_a_branch(machine):
    """A pull request whose branch has the name of another one here is refused: neither would be the right one."""
    git(machine.workspace, "update-ref", "refs/remotes/origin/port/x", "HEAD^1")
    machine.action(machine.workspace, {})
    assert machine.failed and "Gate" in machine.skipped
    assert "rename it" in {step.name: step.err for step in machine.ran}["Branches"]


@pytest.mark.parametrize("name", ["$(touch pwned)", "`touch pwned`", "x;touch pwned", '"; touch pwned; "'])
def test_hostile_names_stay_names(machine, name):
    """A branch, a manifest or a base is text to every step, whatever it is called."""
    machine.environment["GITHUB_HEAD_REF"] = name
    machine.action(machine.workspace, {"manifest": name, "base": name, "tier": name})
    assert not list(machine.workspace.rglob("pwned")) and not list(machine.temp.rglob("pwned"))


def test_prepare_runs_before_the_gate(machine):
    """The workflow's own commands see porttool, and stop the job where one fails."""
    machine.action(machine.workspace, {"prepare": "porttool vendor sync verl\nporttool apply\n"})
    verbs = [line.split()[0] for line in machine.log() if not line.startswith("install")]
    assert verbs == ["vendor", "apply", "gate"]
    machine.environment["CODE"] = "2"
    shutil.rmtree(machine.temp / "porttool")
    machine.action(machine.workspace, {"prepare": "porttool vendor sync verl\nporttool apply\n"})
    assert machine.failed
    assert "Gate" in machine.skipped


def landing(**counts: int) -> str:
    source = [{}] * sum(counts.values())
    told = {"ported": 0, "missing": 0} | counts
    return json.dumps({"verdict": "layout-only", "landed": {"counts": told, "source": source}})


@pytest.mark.parametrize(
    ("code", "told", "ends"),
    [(0, landing(ported=2), 0), (1, landing(missing=2), 0), (1, landing(ported=1, missing=1), 1), (3, "", 3)],
)
def test_after_landing(machine, code, told, ends):
    """Arrived whole, or not at all yet: green. Arrived in part, or a fault: red, with verify's exit code."""
    machine.github |= {"event_name": "push", "ref": "refs/heads/main"}
    machine.environment |= {"LANDED_CODE": str(code), "LANDING": told, "GITHUB_HEAD_REF": "", "GITHUB_BASE_REF": ""}
    machine.action(machine.workspace, {"landed": "main", "manifest": "manifests/x.yaml"})
    assert "verify manifests/x.yaml --landed main --json" in machine.log()
    assert {step.name: step.code for step in machine.ran}["After landing"] == ends
    assert machine.failed == bool(ends)
    assert ("Keep captures for later runs" in machine.not_run) != machine.failed


@pytest.mark.parametrize(
    ("event", "draft", "labels", "jobs"),
    [
        ("pull_request", True, [], {"static"}),
        ("pull_request", True, ["smoke"], {"static", "smoke"}),
        ("pull_request", False, [], {"static", "smoke"}),
        ("push", None, [], {"landed"}),
    ],
)
def test_which_jobs_run(machine, event, draft, labels, jobs):
    """A draft gets the static tier alone; a label or being ready adds the training runs; a push checks the landing."""
    workflow = read(ROOT / ".github" / "workflows" / "parity.yml")
    pull = {"draft": draft, "labels": [{"name": name} for name in labels]}
    machine.github |= {"event_name": event, "event": {"pull_request": pull} if draft is not None else {}}
    ran = set()
    for name in workflow["jobs"]:
        machine.job(workflow, name)
        if name not in machine.skipped:
            ran.add(name)
        shutil.rmtree(machine.temp / "porttool", ignore_errors=True)
    assert ran == jobs
    tiers = [line.split()[line.split().index("--tier") + 1] for line in machine.log() if line.startswith("gate")]
    assert tiers == ["static", "smoke"][: len(jobs)]
