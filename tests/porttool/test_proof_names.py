"""The census of a proven branch, over real commits."""

from types import SimpleNamespace

import pytest

from porttool.plan import make_plan
from porttool.proof import verify
from porttool.proof_names import TreeFiles, mentions
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
    files = TreeFiles(opened, opened.commit(oid).tree)
    assert (dict(files), len(files)) == ({"a.txt": b"a\n"}, 1)


def row(*sources, touched=()):
    """A proven commit as the census sees it."""
    return SimpleNamespace(sources=sources, touched=touched)


def told(found):
    return [(one.path, one.line, one.name, one.state) for one in found]


KEYS = {"old/c.yaml": "rl:\n  rate: 1\n", "keep/c.yaml": "a: 1\n"}
READ = "x = config.rl.rate\n"


@pytest.fixture
def wide(repo):
    """A source and a target with old names, and names that lead nowhere, in files that no commit touches, too."""
    files = {"old/__init__.py": "", "old/core.py": "def hook(): ...\n", "old/use.py": lines(), "keep/b.py": "b = 1\n"}
    rig = Rig(repo, {**files, **KEYS, "keep/l": Link("b.py")})
    rig.layout["keys"] = {"rl": "remote"}
    rig.change({"keep/far.py": USE, "keep/read.py": READ})
    gone = {"new/place/core.py": "def other(): ...\n", "new/place/c.yaml": "remote:\n  more: 1\n"}
    new = {"keep/far.py": USE.replace("old", "new.place"), "keep/read.py": READ.replace("rl", "remote")}
    rig.drift({**gone, **new, "keep/b.py": new["keep/far.py"] + new["keep/read.py"], **dict.fromkeys(LEFT, "rl: 1\n")})
    return rig


LEFT = [f"keep/{name}.yaml" for name in "hgfedcba"]
STILL = [(path, 1, "rl", "unresolved") for path in sorted(LEFT)]
LOST = [("keep/b.py", 1, "unresolved-target", "unresolved"), ("keep/b.py", 2, "unresolved-key", "unresolved")]


def test_what_the_commits_wrote_is_asked(wide):
    """Mentions of the sources' files that T rewrote, and old names and lost ones in the files touched, by path."""
    one = wide.change({"keep/b.py": USE + READ, "old/use.py": None, "keep/l": Link("old/use.py")})
    two = wide.change({"keep/z.py": "z = 'old/z.py'\n"})
    plan = make_plan(wide.manifest(one, two))
    rows = [row("1" * 40, one, touched=("keep/b.py", "gone.py", "keep/l")), row(two, touched=LEFT), row()]
    found = mentions(plan, rows, plan.tip)
    rewritten = [("keep/b.py", 1, "old"), ("keep/b.py", 2, "rl"), ("keep/z.py", 1, "old")]
    assert told(found) == [*((*place, "rewritten") for place in rewritten), *STILL, *LOST]
    assert [one.reason for one in found[-2:]] == ["unresolved-target", "unresolved-key"]
    assert "leads to nothing in the new tree" in found[-2].text


def test_patches_alone_have_no_old_tree(wide):
    """Where no source commit is known nothing can be said to lead nowhere; what is left is told all the same."""
    plan = make_plan(wide.manifest(wide.change({"keep/q": "q\n"})))
    for sources in ((), ("1" * 40,)):
        assert told(mentions(plan, [row(*sources, touched=("keep/b.py", *LEFT))], plan.tip)) == STILL
    assert mentions(plan, [], plan.tip) == ()


def test_a_movement_asks_every_file(wide):
    """The whole old tree is rewritten and the whole new tree asked; commits after it count as they were made."""
    one = wide.change({"keep/b.py": USE + READ})
    wide.change({"keep/b.py": USE})
    to = {"repo": str(wide.repo.path), "ref": "source", "branch": "out"}
    plan = make_plan(wide.manifest(one, target=to))
    rewritten = [
        ("keep/b.py", 1, "old"),
        ("keep/far.py", 1, "old"),
        ("keep/read.py", 1, "rl"),
        ("old/c.yaml", 1, "rl"),
    ]
    lost = [LOST[0], ("keep/far.py", *LOST[0][1:]), LOST[1], ("keep/read.py", 1, *LOST[1][2:])]
    expected = [*((*place, "rewritten") for place in rewritten), *STILL, *lost]
    assert told(mentions(plan, [], wide.repo.git("rev-parse", "target"), moved=True)) == expected
    expected.insert(1, ("keep/b.py", 2, "rl", "rewritten"))
    assert told(mentions(plan, [row(one)], wide.repo.git("rev-parse", "target"), moved=True)) == expected
