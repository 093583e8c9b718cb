"""The guard and git: what belongs to a pull request, how far a reason reaches, and what cannot be checked."""

from __future__ import annotations

import copy

import pytest

from parity.gate.guard import trailers
from parity.gate.guard_git import BASES, base_of, guarded
from parity.verdict import Verdict
from porttool.errors import RepositoryError
from porttool.manifest import load
from tests.gate.pulls import BEFORE, dumped, put

TOLERANCE = put(0.2, "parity", "rules", "wire.*.lr", "within")


def test_reasons_of_the_base_do_not_count(pull):
    """A reason in a commit that was merged before is not this pull request's."""
    name = "parity.rules.wire.*.lr"
    pull.repo.commit({"x": "1"}, branch="main", message=f"x\n\nGate-Reason: {name}: once\n")
    pull.repo.branch("change", "main")
    assert pull(TOLERANCE).verdict is Verdict.DIFFER


def test_a_merge_of_the_base_brings_no_change(pull):
    """What the base itself changed since is not this pull request's: the merge base counts."""
    changed = copy.deepcopy(BEFORE)
    changed["protected"] = ["base.py"]
    pull.repo.commit({"manifests/m.yaml": dumped(changed)}, branch="main", message="main goes on\n")
    assert pull().verdict is Verdict.MATCH


def test_a_file_that_is_not_committed_counts(pull):
    """The gate goes by the files as they are here, and so does the guard."""
    pull()
    path = pull.root / "manifests" / "m.yaml"
    path.write_text(path.read_text().replace("- keep.py\n", ""))
    assert [case.name for case in pull.as_it_is().bad] == ["protected.keep.py"]


def test_another_manifest_is_a_change(pull):
    """A pull request that brings a manifest of its own measures by something else: that needs a reason."""
    pull.repo.commit({"manifests/other.yaml": dumped(BEFORE)}, branch="change", message="mine\n")
    assert [case.name for case in pull.guarded("other.yaml").bad] == ["manifest"]
    pull.repo.commit({"x": "1"}, branch="change", message="x\n\nGate-Reason: manifest: a second port\n")
    assert pull.guarded("other.yaml").verdict is Verdict.MATCH


def test_the_project_goes_by_another_of_its_manifests(pull):
    """A manifest that was there already, named in pyproject.toml from now on, is another measure too."""
    weak = {"manifests/weak.yaml": dumped({**BEFORE, "parity": {"rules": {"*": {"expected": "all of it"}}}})}
    named = {"pyproject.toml": '[tool.porttool]\nmanifest = "manifests/m.yaml"\n'}
    pull.repo.commit({**weak, **named}, branch="main", message="two\n")
    pull.repo.branch("change", "main")
    switched = {"pyproject.toml": '[tool.porttool]\nmanifest = "manifests/weak.yaml"\n'}
    pull.repo.commit(switched, branch="change", message="the other\n")
    told = pull.guarded("weak.yaml")
    assert [case.name for case in told.bad] == ["manifest"]
    assert (told.failing[0].left, told.failing[0].right) == ("manifests/m.yaml", "manifests/weak.yaml")
    pull.repo.commit({"x": "1"}, branch="change", message="x\n\nGate-Reason: manifest: the first port is merged\n")
    assert pull.guarded("weak.yaml").verdict is Verdict.MATCH


def test_the_entry_of_the_only_manifest_is_no_change(pull):
    """To name in pyproject.toml what was taken before measures by the same."""
    named = {"pyproject.toml": '[tool.porttool]\nmanifest = "manifests/m.yaml"\n'}
    assert pull(files=named).verdict is Verdict.MATCH


def test_a_manifest_that_could_not_be_read_before(pull):
    """A base whose manifest was none says nothing about what was changed: all of it is new."""
    pull.repo.commit({"manifests/m.yaml": "version: 1\ncommits: [x]\n"}, branch="main", message="broken\n")
    pull.repo.branch("change", "main")
    told = pull()
    assert [case.name for case in told.bad] == ["manifest"]
    assert told.failing[0].left == "one that cannot be read"


DRIVEN = {**BEFORE, "parity": {**BEFORE["parity"], "drivers": {"step": "drive.py:step"}, "packages": ["torch"]}}


def test_the_driver_is_a_measure(pull):
    """What observes another trainer decides what is seen: another content of its file needs a reason."""
    start = {"manifests/m.yaml": dumped(DRIVEN), "manifests/drive.py": "def step(job): ...\n"}
    pull.repo.commit(start, branch="main", message="base\n")
    pull.repo.branch("change", "main")
    assert pull.guarded().verdict is Verdict.MATCH
    pull.repo.commit({"manifests/drive.py": "def step(job): return {}\n"}, branch="change", message="see less\n")
    told = pull.guarded()
    assert [case.name for case in told.bad] == ["driver.drive.py"]
    assert str(told.failing[0].place) == "manifests/drive.py:1"
    reason = "x\n\nGate-Reason: driver.drive.py: it saw a time\n"
    pull.repo.commit({"x": "1"}, branch="change", message=reason)
    assert pull.guarded().verdict is Verdict.MATCH


def test_line_ends_of_a_checkout_are_no_change(pull):
    """A checkout that writes CRLF changes no golden."""
    pull()
    file = pull.root / "manifests" / "m.captures" / "plain.source.json"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert pull.as_it_is().verdict is Verdict.MATCH


def test_a_base_that_is_not_here(pull):
    """A base that was not fetched is a fault that says what to do, never a pass."""
    with pytest.raises(RepositoryError, match=r"the base 'nowhere' of the pull request is not here") as raised:
        pull(base="nowhere")
    assert "fetch-depth" in raised.value.hint


def test_a_manifest_in_no_repository(pull, tmp_path_factory):
    """There is nothing to compare it with, and no path of the machine is told in the report."""
    pull()
    alone = tmp_path_factory.mktemp("alone") / "m.yaml"
    alone.write_bytes((pull.root / "manifests" / "m.yaml").read_bytes())
    with pytest.raises(RepositoryError, match="lies in no git repository") as raised:
        guarded(load(alone), "main")
    assert "/" not in raised.value.message


def test_a_shallow_clone_is_a_fault(pull, tmp_path_factory):
    """Without history nothing can be said about what a pull request changed."""
    pull()
    clone = tmp_path_factory.mktemp("shallow") / "clone"
    pull.repo.git("clone", "-q", "--depth", "1", f"file://{pull.root}", str(clone))
    with pytest.raises(RepositoryError, match="shallow"):
        guarded(load(clone / "manifests" / "m.yaml"), "main")


def test_the_remote_branch_counts_before_a_local_one(pull):
    """In CI a local branch of the base's name may be stale."""
    old = pull.repo.refs()["refs/heads/main"]
    changed = copy.deepcopy(BEFORE)
    changed["protected"] = ["base.py"]
    pull.repo.commit({"manifests/m.yaml": dumped(changed)}, branch="main", message="main\n")
    pull.repo.git("update-ref", "refs/remotes/origin/main", "main")
    pull.repo.branch("change", "main")
    pull.repo.branch("main", old)
    assert pull(lambda told: told.update(protected=["base.py"])).verdict is Verdict.MATCH


@pytest.mark.parametrize("name", BASES)
def test_ci_systems_name_the_base(name):
    """Each CI system's variable is read; the command line comes first; none is none."""
    assert base_of("", {name: "refs/heads/main"}) == "main"
    assert base_of("mine", {name: "main"}) == "mine"
    assert base_of("", {name: ""}) == "" and base_of("", {}) == ""


def test_trailers():
    """Only whole lines count, in any letter case, and the last one about a thing."""
    told = ["x\n\nGate-Reason: a.b: one\n", "y\n\ngate-reason:  a.b: two: more\n", "no Gate-Reason: c: d\n"]
    assert trailers(told) == {"a.b": "two: more"}
