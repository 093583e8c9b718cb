"""The square and the way back, through real commits and the engine that ports them."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from porttool.errors import LayoutError
from porttool.layout import Fragment, Layout, fragment_end, paths_renaming
from porttool.port_merge import Porting
from porttool.repo import Repository
from porttool.resolutions import Ledger
from porttool.translate import Translator
from tests.laws.strategies import layouts, trees
from tests.support.repos import new_repo

EXAMPLES = settings(
    max_examples=int(os.environ.get("LAWS_EXAMPLES", "40")) // 2,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """One repository for all examples: objects are only ever added."""
    return new_repo(tmp_path_factory.mktemp("laws") / "repo")


def whole_tree(repository, translator, tree, empty):
    """T of a tree as a tree id, and whether all of it comes back."""
    done = translator.tree(repository.entries(tree))
    return repository.edit_tree(empty, done.entries), not done.one_way


def port(repository, translator, oid, base_tree, onto):
    """The tree that porting one commit gives."""
    porting = Porting(repository, translator, Ledger(repository, ()), ())
    commit = repository.commit(oid)
    ported = porting.port(commit, base_tree, onto, porting.labels(commit, oid))
    assert ported.conflicts == ()
    return repository.edit_tree(onto, ported.edits)


def square_and_back(store, layout, before, after):
    first = store.commit(before, parents=())
    second = store.commit({**dict.fromkeys(before), **after}, parents=(first,))
    repository = Repository.open(store.path)
    empty = store.tree({})
    old_tree, new_tree = (repository.commit(oid).tree for oid in (first, second))
    translator = Translator(layout, repository)
    base, base_returns = whole_tree(repository, translator, old_tree, empty)
    wanted, returns = whole_tree(repository, translator, new_tree, empty)
    assert port(repository, translator, second, old_tree, base) == wanted
    if base_returns and returns:
        there = store.commit(_files(repository, wanted), parents=())
        back = Translator(layout.inverse(), repository)
        assert repository.commit(there).tree == wanted
        assert port(repository, back, there, base, old_tree) == new_tree


def _files(repository, tree):
    return {path: repository.read(entry.oid) for path, entry in repository.entries(tree).items()}


@EXAMPLES
@given(layout=layouts(), before=trees(), after=trees(), keep=st.booleans())
def test_the_square_and_port_then_back(store, layout, before, after, keep):
    """Porting c onto T(c^) gives exactly T(c); carrying the result back gives c, whatever was added or deleted."""
    try:
        square_and_back(store, layout, before, {**before, **after} if keep else after)
    except LayoutError:
        assume(False)


FRAGMENTS = Layout(
    paths=paths_renaming({"a.py": "pkg/a2.py"}),
    fragments=(
        Fragment(fragment_end("p.yaml#blk", "k", "\n"), fragment_end("rb/blk.yaml#", None, "# top\n")),
        Fragment(fragment_end("a.py::f", ""), fragment_end("b.py::C.f", "m")),
    ),
)
HEAD, BLOCK, TAIL = "k: 1\n", "\nblk:\n  # note\n  x: 1\n", "\n# end\nz: 2\n"
BODY = "import os\n\n\ndef f(a):\n    return {}\n"
HOST = "class C:\n    def m(self):\n        return {}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"p.yaml": HEAD + BLOCK + TAIL}, {"p.yaml": HEAD + BLOCK.replace("1", "7") + TAIL}),
        ({"p.yaml": HEAD + BLOCK + TAIL}, {"p.yaml": HEAD + BLOCK.replace("1", "7") + TAIL.replace("2", "8")}),
        ({"p.yaml": HEAD + TAIL}, {"p.yaml": HEAD + BLOCK + TAIL}),
        ({"p.yaml": HEAD + BLOCK + TAIL}, {"p.yaml": HEAD + TAIL}),
        ({"p.yaml": HEAD + BLOCK}, {}),
        (
            {"a.py": BODY.format(1) + "\n\nX = 1\n", "b.py": HOST.format(1)},
            {"a.py": BODY.format(2) + "\n\nX = 2\n", "b.py": HOST.format(2)},
        ),
        ({"a.py": BODY.format(1), "b.py": HOST.format(1)}, {"a.py": BODY.format(2), "b.py": HOST.format(1)}),
        ({"b.py": HOST.format(1)}, {"a.py": BODY.format(1), "b.py": HOST.format(1)}),
    ],
)
def test_a_commit_that_touches_a_fragment_and_the_rest_of_its_file(store, before, after):
    """The same laws where files are taken apart: one side's file is changed, made or deleted with its fragment."""
    square_and_back(store, FRAGMENTS, before, after)
