"""The guard and what stands in a file's place: no link, move or submodule chooses what it is compared with."""

from __future__ import annotations

import copy
import os

import pytest

from parity.gate.guard_git import guarded
from parity.verdict import Verdict
from porttool.manifest import load
from tests.gate.pulls import BEFORE, FILES, dumped, put

WEAK = dumped({**BEFORE, "parity": {**BEFORE["parity"], "rules": {"*": {"expected": "all of it"}}}})
STEP = "def step(job): ...\n"
DRIVEN = {**BEFORE, "parity": {**BEFORE["parity"], "drivers": {"step": "drive.py:step"}, "packages": ["pyyaml"]}}


@pytest.fixture
def based(pull):
    """Makes more files part of the base, and of the branch, and of what is checked out."""

    def base(files):
        pull.repo.commit(files, branch="main", message="base\n")
        pull.repo.branch("change", "main")
        pull.repo.git("reset", "-q", "--hard")

    return base


def committed(pull, message="as it is"):
    """Everything as it is here becomes a commit."""
    pull.repo.git("add", "-A")
    pull.repo.git("commit", "-q", "-m", message)


def names(told):
    return [case.name for case in told.bad]


def linked(path, to):
    """A link in the place of whatever stands there."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    path.symlink_to(to)


def test_a_link_in_the_place_of_the_manifest(pull, based):
    """It leads to a manifest that was there already: what counts is what its name meant before."""
    based({"manifests/weak.yaml": WEAK})
    linked(pull.root / "manifests" / "m.yaml", "weak.yaml")
    told = names(pull.as_it_is())
    assert "manifest" in told and "parity.rules.wire.*.lr" in told and "captures.plain.source.json" in told


def test_a_folder_of_manifests_that_is_a_link(pull, based):
    """The same by a link above it."""
    based({"weak/m.yaml": WEAK})
    os.rename(pull.root / "manifests", pull.root / "strict")
    linked(pull.root / "manifests", "weak")
    assert "parity.rules.wire.*.lr" in names(pull.as_it_is())


def test_links_that_were_there_before(pull):
    """A manifest, its captures and its driver behind links measure as before, until what they lead to changes."""
    folder = pull.root / "manifests"
    os.rename(folder / "m.captures", pull.root / "kept")
    (folder / "real.yaml").write_text(dumped(DRIVEN))
    (pull.root / "lib.py").write_text(STEP)
    linked(folder / "m.yaml", "real.yaml")
    linked(folder / "real.captures", "../kept")
    linked(folder / "drive.py", "../lib.py")
    committed(pull)
    pull.repo.git("branch", "-f", "main")
    assert pull.as_it_is().verdict is Verdict.MATCH
    (pull.root / "kept" / "plain.source.json").write_text("{}\n")
    (pull.root / "lib.py").write_text(STEP + "more = 1\n")
    (folder / "real.yaml").write_text(dumped({**DRIVEN, "protected": ["base.py"]}))
    assert names(pull.as_it_is()) == ["protected.keep.py", "driver.drive.py", "captures.plain.source.json"]


def test_links_in_the_place_of_what_stands_beside(pull, based):
    """Captures and a driver that are links now are compared with what was there, not with where they lead."""
    based({"manifests/m.yaml": dumped(DRIVEN), "manifests/drive.py": STEP, "manifests/less.py": STEP + "less = 1\n",
           "weak/plain.source.json": "{}\n"})  # fmt: skip
    os.rename(pull.root / "manifests" / "m.captures", pull.root / "old")
    linked(pull.root / "manifests" / "m.captures", "../weak")
    linked(pull.root / "manifests" / "drive.py", "less.py")
    captures = ["captures.convergence.plain.json", "captures.plain.source.json"]
    assert names(pull.as_it_is()) == ["driver.drive.py", *captures]


@pytest.mark.parametrize("to", ["/nowhere", "../../out", "m.captures", "gone"])
def test_links_that_lead_nowhere(pull, to):
    """Captures behind a link out of the tree, or to itself, were none."""
    os.rename(pull.root / "manifests" / "m.captures", pull.root / "kept")
    linked(pull.root / "manifests" / "m.captures", to)
    committed(pull)
    pull.repo.git("branch", "-f", "main")
    assert pull.as_it_is().verdict is Verdict.MATCH
    (pull.root / "manifests" / "m.captures").unlink()
    os.rename(pull.root / "kept", pull.root / "manifests" / "m.captures")
    assert "captures.plain.source.json" in names(pull.as_it_is())


def test_captures_that_were_a_submodule(pull):
    """What a submodule held is not here: all that stands in its place is new, and no fault."""
    for path in FILES:
        if ".captures/" in path:
            pull.repo.git("rm", "-q", "--cached", path)
    pull.repo.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},manifests/m.captures")
    pull.repo.git("commit", "-q", "-m", "submodule")
    pull.repo.git("branch", "-f", "main")
    assert "captures.plain.source.json" in names(pull.as_it_is())


def test_a_manifest_that_moved(pull):
    """A reason for its new name is none for what else it says, nor for the files beside it."""
    for name in ("yaml", "captures"):
        pull.repo.git("mv", f"manifests/m.{name}", f"manifests/n.{name}")
    changed = copy.deepcopy(BEFORE)
    put(0.2, "parity", "rules", "wire.*.lr", "within")(changed)
    (pull.root / "manifests" / "n.yaml").write_text(dumped(changed))
    (pull.root / "manifests" / "n.captures" / "plain.source.json").write_text("{}\n")
    committed(pull, "move\n\nGate-Reason: manifest: a better name\n")
    told = pull.as_it_is("n.yaml")
    assert names(told) == ["parity.rules.wire.*.lr", "captures.plain.source.json", "resolutions.aa"]
    assert (told.cases[0].name, told.cases[0].verdict) == ("manifest", Verdict.MATCH)


def test_an_entry_behind_another_project(pull, based):
    """A pyproject.toml beside the manifest does not hide that the one above it names another manifest now."""
    entry = '[tool.porttool]\nmanifest = "manifests/{}.yaml"\n'
    based({"manifests/weak.yaml": WEAK, "pyproject.toml": entry.format("m")})
    (pull.root / "pyproject.toml").write_text(entry.format("weak"))
    (pull.root / "manifests" / "pyproject.toml").write_text("")
    assert names(pull.as_it_is("weak.yaml")) == ["manifest"]


def test_an_entry_in_other_letters(pull, based):
    """`./manifests/m.yaml` is the same file."""
    based({"pyproject.toml": '[tool.porttool]\nmanifest = "manifests/m.yaml"\n'})
    (pull.root / "pyproject.toml").write_text('[tool.porttool]\nmanifest = "./manifests/m.yaml"\n')
    assert pull.as_it_is().verdict is Verdict.MATCH


def test_a_base_that_holds_head_is_told(pull):
    """Compared with itself a commit changes nothing: whoever named such a base is told so."""
    pull(put([], "protected"))
    told = pull.as_it_is(base="change")
    assert told.verdict is Verdict.MATCH
    assert "which holds HEAD: only what is not committed was looked at" in told.told
    assert "holds HEAD" not in pull.as_it_is().told


def test_a_worktree_has_a_head_of_its_own(pull, tmp_path_factory):
    """Reasons are those of the commits that are checked out there, whatever the main worktree is at."""
    pull(put([], "protected"), message="x\n\nGate-Reason: protected: the target has no such file\n")
    pull.repo.git("switch", "-q", "--detach", "main")
    other = tmp_path_factory.mktemp("other") / "tree"
    pull.repo.git("worktree", "add", "-q", str(other), "change")
    told = guarded(load(other / "manifests" / "m.yaml"), "main")
    assert (told.verdict, len(told.cases)) == (Verdict.MATCH, 2)
