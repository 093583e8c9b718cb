"""The census of a proven branch, over real commits."""

import pytest

from porttool.proof import verify
from porttool.proof_names import TreeFiles
from porttool.repo import Repository
from tests.porttool.rig import Rig, lines
from tests.support.repos import Link, Submodule

USE = 'HOOK = "old.core.hook"\n'


@pytest.fixture
def rig(repo):
    return Rig(repo, {"old/__init__.py": "", "old/core.py": "def hook(): ...\n", "old/use.py": lines()})


def unresolved(manifest):
    return [(m.path, m.line, m.name) for m in verify(manifest).leftovers if m.state == "unresolved"]


def test_t58_a_rewritten_name_that_leads_somewhere_is_not_told(rig):
    """A dotted string that resolves in the target tree is a rewritten mention and nothing more."""
    oid = rig.change({"old/use.py": lines() + USE})
    assert rig.apply(oid).moved
    assert unresolved(rig.manifest(oid)) == []


def test_t58_a_rewritten_name_that_leads_to_nothing_is_told_at_its_line(rig):
    """Where the target has lost the definition, the port still lands, and the audit says what leads nowhere."""
    rig.drift({"new/place/core.py": "def other(): ...\n"})
    oid = rig.change({"old/use.py": lines() + USE})
    assert rig.apply(oid).moved
    assert unresolved(rig.manifest(oid)) == [("new/place/use.py", 13, "unresolved-target")]


def test_tree_files_holds_only_regular_files(repo):
    """The files of a tree by path, without links and submodules."""
    oid = repo.commit({"a.txt": "a\n", "b": Link("a.txt"), "c": Submodule("1" * 40)})
    opened = Repository.open(repo.path)
    assert dict(TreeFiles(opened, opened.commit(oid).tree)) == {"a.txt": b"a\n"}
