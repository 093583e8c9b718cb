"""The proof as a probe: its verdict is that of `verify`, and what nobody declared stands at its line."""

from __future__ import annotations

import time

import pytest

from parity.gate import proof
from parity.gate.result import Place
from parity.verdict import Verdict
from porttool.audit import audit_of
from porttool.errors import RepositoryError
from porttool.manifest import load
from porttool.port import apply
from tests.support.projects import new_project

MATCH, DIFFER = Verdict.MATCH, Verdict.DIFFER


@pytest.fixture
def project(tmp_path):
    made = new_project(tmp_path)
    made.write("".join(f"  - {{pick: [{pick}]}}\n" for pick in made.picks))
    apply(load(made.manifest))
    return made


def told(project, right=""):
    """The probe, whose verdict has to be that of `verify`."""
    manifest = load(project.manifest)
    found = proof.proven(manifest, right)
    one = proof.probe(manifest, found, time.monotonic())
    assert (one.verdict is MATCH) == audit_of(found).ok
    return one


def amend(project, files):
    """Other content in the last ported commit, and not a byte of it otherwise."""
    repo = project.repo
    tree = repo.tree(files, repo.git("rev-parse", "port/x"))
    raw = f"tree {tree}\n".encode() + repo.raw("port/x").split(b"\n", 1)[1]
    oid = repo.git("hash-object", "-t", "commit", "-w", "--stdin", input=raw)
    repo.git("update-ref", "refs/heads/port/x", oid)


def test_a_port_that_only_moves(project):
    """A case for each commit, with its label."""
    one = told(project)
    assert one.verdict is MATCH
    assert [case.reason for case in one.cases] == ["layout-only", "layout-only"]
    assert one.cases[0].name.endswith(" Fix the run")
    assert one.told == "2 commits (2 layout-only)"


def test_what_nobody_declared(project):
    """An extra line is a finding at its line of the target, and names the commit."""
    client = project.repo.files("port/x")["app/remote/client.py"]
    amend(project, {"app/remote/client.py": client + b"EXTRA = 1\n"})
    one = told(project)
    assert one.verdict is DIFFER
    bad = [found for found in one.failing if found.rule == "residual"]
    assert [(found.left, found.right, found.place) for found in bad] == [
        (None, "EXTRA = 1", Place("app/remote/client.py", client.count(b"\n") + 1))
    ]
    assert bad[0].cause == "a line that the source commit does not have"
    assert "undeclared: app/remote/client.py:" in one.bad[0].reason


def test_a_declared_residual(project):
    """The same with a reason in the manifest is told with it and fails nothing."""
    first, second = project.picks
    adapted = "adapted: {app/remote/client.py: the target wants it}"
    project.write(f"  - {{pick: [{first}]}}\n  - {{pick: [{second}], {adapted}}}\n")
    project.repo.git("branch", "-D", "port/x")
    apply(load(project.manifest))
    client = project.repo.files("port/x")["app/remote/client.py"]
    amend(project, {"app/remote/client.py": client + b"EXTRA = 1\n"})
    one = told(project)
    assert one.verdict is MATCH
    (found,) = one.cases[1].found
    assert (found.rule, found.counts, found.cause) == ("expected", False, "the target wants it")
    assert one.cases[1].reason == "adapted: app/remote/client.py: the target wants it"


def test_a_commit_that_is_missing(project):
    """A commit of the manifest that is not on the branch differs, at its line of the manifest."""
    project.repo.branch("port/x", "port/x~1")
    one = told(project)
    assert [case.name for case in one.bad][:1] == ["missing Name the worker"]
    assert one.bad[0].found[0].place.path == "manifests/m.yaml"


def test_a_commit_that_is_not_in_the_manifest(project):
    """A stray commit is a finding."""
    project.repo.commit({"x.py": "x = 1\n"}, branch="port/x", message="stray\n")
    assert told(project).verdict is DIFFER


def test_a_protected_path(project):
    """Touching one differs, whatever else holds."""
    project.write("".join(f"  - {{pick: [{pick}]}}\n" for pick in project.picks), extra="protected: [base.py]\n")
    amend(project, {"base.py": "KEEP = 2\n"})
    one = told(project)
    assert "protected base.py" in [case.name for case in one.bad]


def test_a_rule_that_matched_nothing(project):
    """What is a warning elsewhere fails a proof."""
    picks = "".join(f"  - {{pick: [{pick}]}}\n" for pick in project.picks)
    project.write(picks, layout="  paths: {lib/client.py: app/remote/client.py, lib/none.py: app/none.py}\n"
                  "  symbols: {OldWorker: NewWorker}\n  keys: {old_rl: remote}\n")  # fmt: skip
    one = told(project)
    assert any(found.rule == "unused" for found in one.failing)


def test_without_a_branch(project):
    """No branch, nothing proven: a fault, not a match."""
    project.repo.git("branch", "-D", "port/x")
    with pytest.raises(RepositoryError, match="no branch"):
        told(project)


def test_nothing_to_port(project):
    """A manifest without commits has nothing to prove, and says so."""
    project.repo.git("branch", "-D", "port/x")
    project.write("  []\n")
    one = told(project)
    assert (one.verdict, one.told) == (MATCH, "nothing was to port")


def test_another_ref(project):
    """--right proves that ref: the target before the port has none of the commits."""
    assert told(project, "port/x").verdict is MATCH
    before = told(project, "main")
    assert before.verdict is DIFFER
    assert [case.name for case in before.bad] == ["missing Fix the run", "missing Name the worker"]


def test_a_manifest_that_names_no_branch(project):
    """The target itself is proven: it lacks the commits, and a manifest without commits has nothing to prove."""
    text = project.manifest.read_text().replace(", branch: port/x", "")
    project.manifest.write_text(text)
    assert [case.name for case in told(project).bad] == ["missing Fix the run", "missing Name the worker"]
    assert told(project, "port/x").verdict is MATCH
    project.manifest.write_text(text.partition("commits:")[0])
    assert told(project).verdict is MATCH
