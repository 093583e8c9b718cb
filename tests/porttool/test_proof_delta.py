"""Residuals, place by place: what is told where a result is not what T of its source gives."""

from __future__ import annotations

import pytest

from porttool.proof_delta import Residual, entry_residual, resolved_residual, shown, tree_residual
from porttool.repo import MODE_EXECUTABLE, MODE_FILE, MODE_GITLINK, MODE_LINK, Entry, Repository
from porttool.resolutions import Sides


@pytest.fixture
def here(repo) -> Repository:
    return Repository.open(repo.path)


@pytest.fixture
def blob(here):
    """A file with some text, or an entry of another mode."""

    def made(text, mode=MODE_FILE):
        return Entry(mode, here.write(text.encode()))

    return made


def test_a_residual_says_nothing_it_is_not_told():
    """The text is empty where there is none."""
    assert Residual("a", 0, "mode") == Residual("a", 0, "mode", "")


def test_a_whole_file_that_is_missing_or_extra(here, blob):
    """One place, of the file and not of a line."""
    some = blob("x\n")
    assert list(entry_residual(here, "a", some, None)) == [Residual("a", 0, "missing file")]
    assert list(entry_residual(here, "a", None, some)) == [Residual("a", 0, "extra file")]


def test_a_mode_is_told_beside_the_lines(here, blob):
    """Both modes in octal; the same content says nothing more, another one its lines."""
    told = Residual("a", 0, "mode", "100755 and not 100644")
    assert list(entry_residual(here, "a", blob("x\n"), blob("x\n", MODE_EXECUTABLE))) == [told]
    assert list(entry_residual(here, "a", blob("x\n"), blob("y\n", MODE_EXECUTABLE))) == [
        told,
        Residual("a", 1, "missing", "x"),
        Residual("a", 1, "extra", "y"),
    ]
    assert list(entry_residual(here, "a", blob("x\n"), blob("x\n"))) == []


def test_what_is_no_file_is_told_by_its_ids(here, blob):
    """Links and submodules have no lines, on either side."""
    one, other = blob("one", MODE_LINK), blob("other", MODE_LINK)
    assert list(entry_residual(here, "a", one, other)) == [
        Residual("a", 0, "content", f"{other.oid[:12]} and not {one.oid[:12]}")
    ]
    for left, right in ((one, blob("y")), (blob("y"), one), (Entry(MODE_GITLINK, "1" * 40), one)):
        kinds = [residual.kind for residual in entry_residual(here, "a", left, right)]
        assert kinds == ["mode", "content"]


def test_a_binary_has_no_lines(here, blob):
    """Either side is enough."""
    for one, other in (("x\n", "x\0\n"), ("x\0\n", "x\n"), ("\0", "\0\0")):
        assert list(entry_residual(here, "a", blob(one), blob(other))) == [
            Residual("a", 0, "content", "a binary that is not the source's")
        ]


def test_where_the_trees_differ(repo, here):
    """Every path of either tree, in order."""
    trees = [
        repo.tree(files) for files in ({"a": "1\n", "b": "1\n", "c": "1\n"}, {"a": "2\n", "b": "2\n", "d": "1\n"})
    ]
    told = [(found.path, found.kind) for found in tree_residual(here, *trees)]
    assert told == [("a", "missing"), ("a", "extra"), ("b", "missing"), ("b", "extra"), ("c", "missing file"),
                    ("d", "extra file")]  # fmt: skip


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "result", "told"),
    [
        # The same change, around which the files differ.
        ("1\n2\n3\n", "0\n1\n2\n3\n", "1\ntwo\n3\n", "0\n1\ntwo\n3\n", []),
        ("1\n2\n", "1\n2\n", "1\nx\n", "1\nx\n", []),
        # Less than the change, and more than it.
        ("1\n2\n3\n", "0\n1\n2\n3\n", "1\ntwo\n3\n", "0\n1\n2\n3\n", [(2, "missing", "-2"), (2, "missing", "+two")]),
        ("1\n2\n3\n", "0\n1\n2\n3\n", "1\ntwo\n3\n", "0\n1\ntwo\n", [(4, "extra", "-3")]),
        ("1\n2\n", "1\n2\n", "1\nx\n", "1\ny\n", [(2, "missing", "+x"), (2, "extra", "+y")]),
        ("1\n", "1\n", "1\n", "1\nmore\n", [(2, "extra", "+more")]),
        # A change that is there already, in another order.
        ("1\n", "1\n", "1\na\nb\n", "1\nb\na\n", [(2, "extra", "+b"), (3, "missing", "+b")]),
        # Whole files.
        (None, None, "x\n", None, [(0, "missing file", ""), (1, "missing", "+x")]),
        ("x\n", "y\n", None, "y\n", [(0, "extra file", ""), (1, "missing", "-x")]),
        ("x\n", "x\n", None, None, []),
        (None, "y\n", "x\n", "y\nx\n", []),
        (None, "y\n", "x\n", "x\n", [(1, "extra", "-y")]),
    ],
)
def test_a_resolution_is_told_by_what_it_does_beyond_the_source(here, blob, base, ours, theirs, result, told):
    """Both changes as lines taken out and put in: what one has and the other has not, numbered in its own file."""
    entries = [None if text is None else blob(text) for text in (base, ours, theirs, result)]
    found = resolved_residual(here, "a", Sides(*entries[:3]), entries[3])
    assert [(one.line, one.kind, one.text) for one in found] == told
    assert {one.path for one in found} <= {"a"}


@pytest.mark.parametrize(
    ("modes", "told"),
    [
        ((MODE_FILE, MODE_FILE, MODE_EXECUTABLE, MODE_FILE), [Residual("a", 0, "mode", "100644")]),
        ((MODE_FILE, MODE_FILE, MODE_FILE, MODE_EXECUTABLE), [Residual("a", 0, "mode", "100755")]),
        ((MODE_FILE, MODE_FILE, MODE_EXECUTABLE, MODE_EXECUTABLE), []),
        ((MODE_FILE, MODE_EXECUTABLE, MODE_FILE, MODE_EXECUTABLE), []),
        ((MODE_EXECUTABLE, MODE_EXECUTABLE, MODE_EXECUTABLE, MODE_EXECUTABLE), []),
    ],
)
def test_a_mode_is_changed_where_the_source_changes_it(here, blob, modes, told):
    """Only a change of mode that one of the two makes alone is told."""
    texts = ("1\n2\n", "0\n1\n2\n", "1\nx\n", "0\n1\nx\n")
    *sides, result = (blob(text, mode) for text, mode in zip(texts, modes, strict=True))
    assert resolved_residual(here, "a", Sides(*sides), result) == told


def test_modes_are_asked_of_files_that_are_there(here, blob):
    """A file that is new on one side has no mode to change."""
    script = blob("x\n", MODE_EXECUTABLE)
    plain = blob("x\n")
    assert resolved_residual(here, "a", Sides(None, None, plain), script) == []
    assert resolved_residual(here, "a", Sides(None, plain, script), script) == [Residual("a", 1, "missing", "+x")]
    assert resolved_residual(here, "a", Sides(plain, None, script), script) == [Residual("a", 1, "extra", "+x")]


@pytest.mark.parametrize("place", range(4))
def test_a_resolution_without_lines_is_told_by_its_entry(here, blob, place):
    """Where any side is a binary or a link, the result is held against what T gives."""
    for odd in (blob("odd\0"), blob("odd", MODE_LINK)):
        entries = [blob(text) for text in ("1\n", "2\n", "3\n", "4\n")]
        entries[place] = odd
        sides = Sides(*entries[:3])
        expected = list(entry_residual(here, "a", sides.theirs, entries[3]))
        assert resolved_residual(here, "a", sides, entries[3]) == expected != []


def test_a_result_that_is_the_source_has_no_residual(here, blob):
    """Where nothing differed before, and nothing does after, links too."""
    old, new = blob("old", MODE_LINK), blob("new", MODE_LINK)
    assert resolved_residual(here, "a", Sides(old, old, new), new) == []
    assert resolved_residual(here, "a", Sides(old, new, new), old) != []
    assert resolved_residual(here, "a", Sides(old, old, new), old) != []


def test_a_deletion_that_the_source_makes_too_is_no_residual(here, blob):
    """Also of what has no lines, whatever the target had there."""
    one, other = blob("one\0"), blob("other\0")
    assert list(entry_residual(here, "a", None, None)) == []
    assert resolved_residual(here, "a", Sides(one, one, None), None) == []
    assert resolved_residual(here, "a", Sides(one, other, None), None) == []


def test_many_equal_lines_are_compared_all_the_same(here, blob):
    """No line is passed over for being frequent."""
    more = "same\n" * 299
    sides = Sides(blob("top\n"), blob("0\ntop\n"), blob("top\nsame\n" + more))
    found = resolved_residual(here, "a", sides, blob("0\ntop\nother\n" + more))
    assert [(one.kind, one.text) for one in found] == [("extra", "+other"), ("missing", "+same")]


def test_a_line_for_people():
    """Without its end, with odd bytes escaped, and not longer than is read."""
    assert shown(b"x \n\n") == "x "
    assert shown(b"\xff") == "\\xff"
    assert (shown(b"x" * 200), shown(b"x" * 201)) == ("x" * 200, "x" * 200)
