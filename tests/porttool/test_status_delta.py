"""What a commit does, in the names of the source layout."""

from __future__ import annotations

import pytest

from porttool.layout import Layout, paths_renaming
from porttool.repo import Repository
from porttool.status_delta import EMPTY, told
from porttool.translate import Translator
from tests.support.repos import Link, Script, Submodule

LAYOUT = Layout(paths=paths_renaming({"old/": "new/"}))


def delta(repo, oid, *, back=False):
    repository = Repository.open(repo.path)
    return told(repository, oid, Translator(LAYOUT, repository).inverse() if back else None).delta


def test_items_are_signed_lines_per_file(repo):
    """Added lines count up, removed ones down; a line that stayed is not there."""
    repo.commit({"a": "x\ny\n", "b": "1\n"})
    found = delta(repo, repo.commit({"a": "x\nz\nz\n"}))
    assert found.items == {("a", b"y\n"): -1, ("a", b"z\n"): 2}
    assert found.paths == {"a"}


def test_a_missing_final_newline_is_content(repo):
    """Only the newline went: that is what the commit does."""
    repo.commit({"a": "x\n"})
    assert delta(repo, repo.commit({"a": "x"})).items == {("a", b"x\n"): -1, ("a", b"x"): 1}


def test_target_commits_are_told_in_source_names(repo):
    """The same change in the other layout has the same signature, and only through the translation."""
    repo.commit({"old/a.py": "import old.b\n", "old/b.py": ""}, branch="s")
    repo.commit({"new/a.py": "import new.b\n", "new/b.py": ""}, branch="t")
    source = repo.commit({"old/a.py": "import old.b\nprint('old/a.py')\n"}, branch="s")
    target = repo.commit({"new/a.py": "import new.b\nprint('new/a.py')\n"}, branch="t")
    assert delta(repo, source).signature == delta(repo, target, back=True).signature
    assert delta(repo, source).signature != delta(repo, target).signature


def test_a_target_path_that_no_source_path_becomes_stays_apart(repo):
    """A file outside the layout's domain pairs with nothing on the source side, and does not stop the others."""
    repo.commit({"new/a.py": "a\n"}, branch="t")
    found = delta(repo, repo.commit({"new/a.py": "b\n", "old/a.py": "c\n"}, branch="t"), back=True)
    assert found.paths == {"old/a.py", "/old/a.py"}


@pytest.mark.parametrize(
    ("before", "after"),
    [("x\n", Script("x\n")), ("x\n", Link("x\n")), (b"\0a", b"\0b"), ("a\nb\n", "b\na\n"), (None, ""), ("x\n", None)],
)
def test_changes_without_changed_lines_are_changes(repo, before, after):
    """Modes, links, binaries, order, empty files and deletions all have an identity."""
    repo.commit({"keep": "1\n", "f": before} if before is not None else {"keep": "1\n"})
    found = delta(repo, repo.commit({"f": after}))
    assert found.items
    assert found.signature != EMPTY.signature


def test_submodules_are_told_by_their_commit(repo):
    """Two bumps to different commits differ."""
    one = repo.commit({"x": "1"})
    two = repo.commit({"x": "2"})
    repo.commit({"m": Submodule(one)})
    first = delta(repo, repo.commit({"m": Submodule(two)}))
    assert first.items == {("m", b"\0commit " + one.encode()): -1, ("m", b"\0commit " + two.encode()): 1}


def test_signatures_add_up(repo):
    """Two commits together are one whose signature is the sum, whatever the second undoes of the first."""
    repo.commit({"a": "1\n"})
    first = delta(repo, repo.commit({"a": "1\n2\n3\n"}))
    second = delta(repo, repo.commit({"a": "1\n3\n4\n"}))
    both = delta(repo, repo.commit({"a": "1\n3\n4\n"}, branch="x", parents=[repo.git("rev-parse", "main~2")]))
    assert (first + second).signature == both.signature
    assert (first + second).items == both.items


def test_likeness(repo):
    """1 for the same, 0 for nothing in common, a little less than the share for the same lines elsewhere."""
    repo.commit({"a": ""})
    one = delta(repo, repo.commit({"a": "some line\nother line\n"}))
    two = delta(repo, repo.commit({"b": "some line\nother line\n"}))
    assert one.likeness(one) == 1.0
    assert 0.8 < one.likeness(two) <= 0.9
    assert one.likeness(EMPTY) == 0.0


def test_trailers_and_authors_are_read(repo):
    """Who wrote it, whose work it names, and the commits it says it comes from."""
    message = "port\n\nPorted-From: origin@abcdef1\nCo-authored-by: Bob <bob@example.invalid>\n"
    found = told(Repository.open(repo.path), repo.commit({"a": "1"}, message=message))
    assert found.sources == ("abcdef1",)
    assert found.co_authors == ("Bob <bob@example.invalid>",)
    assert found.author == "Ann Author <ann@example.invalid>"
    assert found.author_date.endswith(b" +0000")
