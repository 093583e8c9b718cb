"""Another trainer's driver: what it may be, how it is run and compared. The trainer here is one line, no torch."""

from __future__ import annotations

import json

import pytest

from parity.capture import driver_stack
from parity.scenario import read
from porttool.errors import EnvironmentFault, ManifestError
from tests.support.repos import new_repo

STEP = """\
from train import CONFIG


def step(job, scratch):
    config = dict(CONFIG)
    for _, text in job.overrides:
        key, _, value = text.partition("=")
        config[key] = float(value)
    (scratch / "out").write_text(str(config))
    names = sorted(file.name for file in __import__("pathlib").Path(job.tree).iterdir())
    config = {job.source_key(key): value for key, value in config.items()}
    return {"config": config, "contract": {"ok": True}, "weights": {"w": [config[name] for name in config]}}
"""
COUNTING = """\
def step(job, scratch):
    with open("{log}", "a") as log:
        log.write("x")
    return {{"a": {{"b": {value}}}}}
"""
MANIFEST = """\
version: 1
source: {{repo: repo, ref: old}}
target: {{repo: repo, ref: new}}
layout:
  paths: {{train.py: app/train.py}}
  keys: {{optim.lr: optimizer.lr, optim: optimizer}}
commits: []
parity:
  drivers: {{step: {driver}}}
  packages: [pytest]
  base: [optim.lr=1]
  scenarios:
    plain: []
    hot: [optim.lr=3]
"""

OWN = {"drivers": {"step": "probe.py:step"}, "packages": []}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository with two layouts of a trainer, and a manifest with a driver beside it."""
    repo = new_repo(tmp_path / "repo")
    repo.commit({"train.py": 'CONFIG = {"optim.lr": 0.5}\n'}, branch="old")
    repo.commit(
        {"app/train.py": 'CONFIG = {"optimizer.lr": 0.5}\n', "train.py": "from app.train import *\n"}, branch="new"
    )
    (tmp_path / "manifests").mkdir()
    write(tmp_path, "probe.py:step")
    driver(tmp_path, STEP)
    (tmp_path / "pyproject.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder, driver):
    (folder / "manifests/m.yaml").write_text(MANIFEST.format(driver=driver))


def driver(folder, text):
    (folder / "manifests/probe.py").write_text(text)


def test_two_layouts_match(run, project):
    """Each side runs in a process of its own, its overrides in its own names; every scenario is compared."""
    code, out, err = run("diff-meta")
    assert (code, out) == (0, "MATCH  plain: 1 key is equal\nMATCH  hot: 1 key is equal\n"), err
    told = json.loads(run("diff-meta", "--json").out)
    assert set(told["probes"]) == {"weights"}
    assert told["provenance"]["left"]["driver"].startswith("probe.py:step ")
    assert "env.pytest" in told["provenance"]["left"] and "env.torch" not in told["provenance"]["left"]


def test_each_verb_takes_its_probes(run, project):
    """config and contract have verbs of their own; all else, whatever its name, is diff-meta's."""
    assert set(json.loads(run("diff-config", "--json").out)["probes"]) == {"config"}
    assert set(json.loads(run("contract", "--json").out)["probes"]) == {"contract"}


def test_a_fault_on_one_side_is_found(run, project):
    """A value that differs is a DIFFER with its key and both values."""
    repo = new_repo(project / "other")
    repo.commit({"train.py": 'CONFIG = {"optim.lr": 0.5, "beta": 1.0}\n'}, branch="old")
    repo.commit({"train.py": 'CONFIG = {"optimizer.lr": 0.5, "beta": 1}\n'}, branch="new")
    manifest = project / "manifests/m.yaml"
    manifest.write_text(manifest.read_text().replace("repo: repo", "repo: other"))
    code, out, _ = run("diff-meta", "--scenario", "plain")
    assert code == 1
    assert out.splitlines()[:4] == [
        "DIFFER  plain: weights.w[1] has another type",
        "first: weights.w[1]",
        "  old: 1.0 (float)",
        "  new: 1 (int)",
    ]
    assert "    cause: float on the left, int on the right" in out and "read by" not in out


def test_a_crash_is_incomparable_with_its_last_lines(run, project):
    """A driver that raises is an answer, not a fault of ours."""
    driver(project, "def step(job, scratch):\n    raise RuntimeError(f'no GPU for {job.side}')\n")
    code, out, _ = run("diff-meta", "--scenario", "plain")
    assert code == 3
    assert out.startswith("INCOMPARABLE  plain: the source side crashed: RuntimeError: no GPU for source\n")
    assert "  target: RuntimeError: no GPU for target" in out


def test_a_driver_that_kills_its_process(run, project):
    """So is one that takes the process with it; the other scenario still has its answer."""
    told = "def step(job, scratch):\n    if job.scenario == 'hot':\n        os.abort()\n    return {'a': {'b': 1}}\n"
    driver(project, f"import os\n\n\n{told}")
    code, out, _ = run("diff-meta")
    assert code == 3
    assert "MATCH  plain: 1 key is equal" in out
    assert "the worker gave no answer" in out


def test_an_import_that_fails_is_incomparable(run, project):
    """What the driver imports and the side lacks is named."""
    driver(project, "import no_such_trainer\n\n\ndef step(job, scratch):\n    return {}\n")
    code, out, _ = run("diff-meta", "--scenario", "plain")
    assert code == 3
    assert "ModuleNotFoundError: No module named 'no_such_trainer'" in out


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        ("None", "the driver returned NoneType"),
        ("{'a': 1}", "wanted is {probe: {key: value}}"),
        ("{'a': {'b': {'c': object()}}}", "a.b.c is a object"),
        ("{}", "the source side captured nothing"),
        ("{'a': {}}", "the source side captured nothing for a"),
    ],
)
def test_what_a_driver_may_return(run, project, returned, told):
    """Anything else than probes of recordable values is INCOMPARABLE, with the key."""
    driver(project, f"def step(job, scratch):\n    return {returned}\n")
    code, out, _ = run("diff-meta", "--scenario", "plain")
    assert code == 3
    assert told in out


def test_the_cache_sees_the_driver(run, project):
    """A capture is kept; another content of the driver file is another capture."""
    log = project / "runs"
    driver(project, COUNTING.format(log=log, value=1))
    for _ in range(2):
        assert run("diff-meta", "--scenario", "plain").code == 0
    assert log.read_text() == "xx"
    driver(project, COUNTING.format(log=log, value=2))
    assert run("diff-meta", "--scenario", "plain").code == 0
    assert log.read_text() == "xxxx"


def test_a_module_is_a_driver_too(run, project):
    """`module:function` is looked up in the side's tree first."""
    repo = new_repo(project / "other")
    files = {"tools/__init__.py": "", "tools/probe.py": "def step(job, scratch):\n    return {'wire': {'side': 1}}\n"}
    repo.commit(files, branch="old")
    repo.commit({**files, "b": ""}, branch="new")
    write(project, "tools.probe:step")
    manifest = project / "manifests/m.yaml"
    manifest.write_text(manifest.read_text().replace("repo: repo", "repo: other"))
    code, out, err = run("diff-meta", "--scenario", "plain")
    assert (code, out) == (0, "MATCH  plain: 1 key is equal\n"), err


@pytest.mark.parametrize(
    ("written", "told", "hint"),
    [
        ("probe.py", "'probe.py' is no driver", "module:function"),
        ("probe.py:a-b", "is no driver", "module:function"),
        ("no such:step", "'no such' is no module", "module:function"),
        ("prob.py:step", "there is no file prob.py", "did you mean 'probe.py'?"),
        ("probe.py:stpe", "probe.py has no function 'stpe'", "did you mean 'step'?"),
        ("broken.py:step", "broken.py is no Python", ""),
        ("[a]", "is no driver", "module:function"),
        ("gone/probe.py:step", "there is no file gone/probe.py", "has no Python file"),
    ],
)
def test_a_driver_that_is_none(run, project, written, told, hint):
    """Before anything runs: what is wrong, where, and the nearest known word."""
    (project / "manifests/broken.py").write_text("def step(:\n")
    write(project, written)
    code, out, err = run("diff-meta")
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == (3 if hint else 2)
    assert told in err and "m.yaml" in err + "m.yaml" * (not hint) and hint in err


@pytest.mark.parametrize(
    ("change", "told", "hint"),
    [
        ({"drivers": {"stpe": "probe.py:step"}}, "unknown key 'stpe'", "did you mean 'step'?"),
        ({"driver": {}}, "unknown key 'driver'", "did you mean 'drivers'?"),
        ({"drivers": {"step": "probe.py:step"}}, "a driver needs `packages`", "[torch]"),
        ({"drivers": {"step": "probe.py:step"}, "packages": "torch"}, "packages: wants a list", ""),
        ({**OWN, "subject": ["a.B"]}, "subject: wants a mapping", ""),
        ({**OWN, "scenarios": {"a": {"rows": {"prompt_lengths": [0]}}}}, "a.rows: rows need prompts", ""),
        ({**OWN, "scenarios": {"a": {"rows": {"prompt_lengths": ["x"]}}}}, "parity.scenarios.a.rows: ", ""),
    ],
)
def test_the_section_is_strict(project, change, told, hint):
    """What the section does not know is refused; packages must be named, be it none."""
    with pytest.raises(ManifestError) as caught:
        read(change, "m.yaml:1", project / "manifests")
    assert told in caught.value.message and hint in caught.value.hint


def test_with_a_driver_nothing_else_is_needed(project):
    """subject, select and config are the stand-in's; without a driver they are asked for."""
    told = read({"drivers": {"step": "probe.py:step"}, "packages": []}, "", project / "manifests")
    assert told.driver == f"{project / 'manifests/probe.py'}:step"
    with pytest.raises(ManifestError, match="subject does not name"):
        read({"drivers": {}}, "", project)


def test_a_package_that_is_missing_is_named(run, project):
    """Three lines: which package, in which Python, how to get it."""
    manifest = project / "manifests/m.yaml"
    manifest.write_text(manifest.read_text().replace("[pytest]", "[pytest, no-such-package]"))
    code, out, err = run("diff-meta")
    assert (code, out) == (3, "")
    lines = err.splitlines()
    assert len(lines) == 3
    assert lines[0] == "error: parity.packages names what is not installed: no-such-package"
    assert lines[2] == "hint: pip install no-such-package"
    with pytest.raises(EnvironmentFault):
        driver_stack(["no-such-package"])


def test_knobs_turn_a_drivers_keys(run, project):
    """A sweep works with a driver: what moves counts. Where no key is named it says so. A cluster has no such file."""
    manifest = project / "manifests/m.yaml"
    code, out, err = run("knobs", "--scenario", "plain")
    assert (code, out.splitlines()[0][:30]) == (3, "INCOMPARABLE  there is no knob")
    manifest.write_text(manifest.read_text() + "  knobs: {also: {optim.lr: 7}}\n")
    code, out, err = run("knobs", "--scenario", "plain")
    assert code == 0, err
    assert out.splitlines()[0] == "MATCH  plain: 1 knob moves the same on both sides"
    code, out, err = run("knobs", "--ray", "auto")
    assert code == 2 and "a file of this machine" in err


ONE = "def step(job, scratch):\n    return {%s}\n"


@pytest.mark.parametrize(
    ("verb", "given", "lacking", "others"),
    [
        ("contract", "'weights': {'w': 1}", "no contract probe: it gives weights", "`porttool diff-meta`"),
        ("diff-config", "'contract': {'a': 1}", "no config or consumers probe: it gives", "`porttool contract`"),
        ("diff-meta", "'config': {'a': 1}", "no wire or oracle or consumers probe", "`porttool diff-config`"),
    ],
)
def test_a_probe_that_the_driver_does_not_give(run, project, verb, given, lacking, others):
    """INCOMPARABLE, never an empty match: which probe there is none of, those there are, and what to do."""
    driver(project, ONE % given)
    code, out, err = run(verb, "--scenario", "plain")
    assert (code, "Traceback" in err) == (3, False)
    lines = out.splitlines()
    assert lines[0].startswith(f"INCOMPARABLE  plain: the driver has {lacking}")
    assert lines[1:3] == [
        "what to do",
        f"  let the driver return one (docs/probe.md), or run {others}, which compares what it gives",
    ]
    assert json.loads(run(verb, "--json").out)["verdict"] == "INCOMPARABLE"


def test_no_knob_to_turn(run, project):
    """Where neither the layout nor the manifest names a key: what to name, and nothing is run for it."""
    driver(project, "def step(job, scratch):\n    raise RuntimeError\n")
    code, out, err = run("knobs")
    assert (code, err) == (3, "")
    assert out.startswith("INCOMPARABLE  there is no knob to turn: no YAML block") and "parity.knobs.also" in out


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("", "the source side captured nothing"),
        ("'a': {}", "the source side captured nothing"),
        ("'a' if job.overrides[-1][1].endswith('7') else 'b': {'x': 1}", "no knob was seen to move: optim.lr=7"),
    ],
)
def test_knobs_of_a_driver_that_shows_nothing(run, project, given, told):
    """Where nothing is seen, no knob moves the same on both sides."""
    driver(project, ONE % given)
    manifest = project / "manifests/m.yaml"
    manifest.write_text(manifest.read_text() + "  knobs: {also: {optim.lr: 7}}\n")
    code, out, _ = run("knobs", "--scenario", "plain")
    assert code == 3 and out.startswith(f"INCOMPARABLE  {told}")
