"""Fragments: cut, rewritten for their new home, joined; and all of it undone."""

from __future__ import annotations

import pytest

from porttool.errors import LayoutError
from porttool.layout import paths_renaming
from porttool.names import renaming
from porttool.rewrite.fragments import group_of
from porttool.translate import Translator
from tests.laws.trees import EXECUTABLE, LINK, both_ways, carry
from tests.laws.trees import with_fragments as layout
from tests.support.cases import MemoryBlobs

BLOCK = "# Arctic RL\narctic:\n\n  # colocate\n  colocate: True\n  z:\n    stage: 1\n"
HOST = f"# top\ntrainer:\n  x: 1\n\n{BLOCK}\n# ray\nray: 2\n"
REST = "# top\ntrainer:\n  x: 1\n\n# ray\nray: 2\n"
FILE = "# licence\n\n\n# colocate\ncolocate: True\nz:\n  stage: 1\n"
TO_FILE = layout((("c/p.yaml#arctic", "trainer", "\n# Arctic RL\n"), ("c/rb/a.yaml#", None, "# licence\n\n")))


def test_a_block_becomes_a_file_and_comes_back():
    """The key's line goes, its body moves to column 0, each side's own lead stands in front."""
    both_ways(TO_FILE, {"c/p.yaml": HOST}, {"c/p.yaml": REST, "c/rb/a.yaml": FILE})


def test_the_rest_of_the_file_is_rewritten_too():
    """Keys of the host and of the fragment are renamed, each under its own prefix."""
    names = layout(
        (("p.yaml#arctic", "t"), "rb.yaml#"),
        keys=renaming("key", [("arctic", "remote"), ("arctic.use_z", "remote.z"), ("t.old", "t.new")]),
    )
    both_ways(
        names,
        {"p.yaml": "t:\n  old: 1\narctic:\n  use_z: ${t.old}\nu: ${arctic.use_z}\n"},
        {"p.yaml": "t:\n  new: 1\nu: ${remote.z}\n", "rb.yaml": "z: ${t.new}\n"},
    )


def test_the_fragment_is_first_or_last_in_its_mapping():
    """`after: ""` puts the block first, no `after` puts it last."""
    both_ways(
        layout((("p.yaml#a", ""), "a.yaml#")),
        {"p.yaml": "a:\n  x: 1\nb: 2\n"},
        {"p.yaml": "b: 2\n", "a.yaml": "x: 1\n"},
    )
    both_ways(
        layout(("p.yaml#a", "a.yaml#")), {"p.yaml": "b: 2\na:\n  x: 1\n"}, {"p.yaml": "b: 2\n", "a.yaml": "x: 1\n"}
    )


def test_a_nested_key_is_a_home():
    """Both ends may be keys at any depth; the block follows the depth and keeps its own steps."""
    names = layout((("p.yaml#a.b", "k", "\n"), ("q.yaml#c.d.e", "f")))
    both_ways(
        names,
        {
            "p.yaml": "a:\n  k: 1\n\n  b:\n    x: 1\n\n    y:\n      - 2\nz: 1\n",
            "q.yaml": "c:\n  d:\n    f: 1\n    g: 2\n",
        },
        {
            "p.yaml": "a:\n  k: 1\nz: 1\n",
            "q.yaml": "c:\n  d:\n    f: 1\n    e:\n      x: 1\n\n      y:\n        - 2\n    g: 2\n",
        },
    )


def test_the_host_moves_as_well():
    """A host file has its own place on the other side."""
    names = layout((("p.yaml#a", "b"), "a.yaml#"), paths=paths_renaming({"p.yaml": "conf/q.yaml"}))
    both_ways(names, {"p.yaml": "b: 1\na:\n  x: 1\n"}, {"conf/q.yaml": "b: 1\n", "a.yaml": "x: 1\n"})


def test_a_host_that_holds_nothing_else_exists_only_with_its_fragment():
    """No empty file is left behind or made."""
    both_ways(layout(("p.yaml#a", "a.yaml#")), {"p.yaml": "a:\n  x: 1\n"}, {"a.yaml": "x: 1\n"})


def test_two_fragments_of_one_file_follow_each_other():
    """A fragment may stand behind another one."""
    names = layout((("p.yaml#a", "k"), "a.yaml#"), (("p.yaml#b", "a", "\n"), "b.yaml#"))
    both_ways(
        names,
        {"p.yaml": "k: 1\na:\n  x: 1\n\nb:\n  y: 2\nz: 3\n"},
        {"p.yaml": "k: 1\nz: 3\n", "a.yaml": "x: 1\n", "b.yaml": "y: 2\n"},
    )


def test_a_fragment_inside_a_fragment():
    """The inner one is cut first and joined last."""
    names = layout((("p.yaml#a", "k"), "a.yaml#"), (("p.yaml#a.i", "x"), "i.yaml#"))
    both_ways(
        names,
        {"p.yaml": "k: 1\na:\n  x: 1\n  i:\n    y: 2\n  w: 3\n"},
        {"p.yaml": "k: 1\n", "a.yaml": "x: 1\nw: 3\n", "i.yaml": "y: 2\n"},
    )


def test_comments_indented_like_the_body_go_with_it_and_others_stay():
    """A comment deeper than the key belongs to the block, wherever a parser hangs it."""
    both_ways(
        layout((("p.yaml#a", "k"), "a.yaml#")),
        {"p.yaml": "k: 1\na:\n  x: 1\n\n  # y: 2\n\n# next\nn: 1\n"},
        {"p.yaml": "k: 1\n\n# next\nn: 1\n", "a.yaml": "x: 1\n\n# y: 2\n"},
    )


@pytest.mark.parametrize(
    "text", ["k: 1\na:\n  x: |\n    one\n\n      two\n  y: 2\nn: 1\n", "k: 1\na:\n  x: >-\n    one\nn: 1\n"]
)
def test_block_scalars_keep_their_text(text):
    """Text of a block scalar moves with its indentation."""
    ran = carry(layout((("p.yaml#a", "k"), "a.yaml#")), {"p.yaml": text.encode()})
    assert ran.one_way == []
    assert ran.back_files == {"p.yaml": text.encode()}


def test_a_last_line_without_newline_stays_without():
    """No final newline is added on either side."""
    both_ways(layout(("p.yaml#a", "a.yaml#")), {"p.yaml": "b: 2\na:\n  x: 1"}, {"p.yaml": "b: 2\n", "a.yaml": "x: 1"})


def test_crlf_stays():
    """The key's line and the leads follow the line endings of the file."""
    both_ways(
        TO_FILE,
        {"c/p.yaml": HOST.replace("\n", "\r\n")},
        {"c/p.yaml": REST.replace("\n", "\r\n"), "c/rb/a.yaml": FILE.replace("\n", "\r\n")},
    )


def test_a_file_without_the_key_has_nothing_to_move():
    """A commit from before the block existed is carried as it is."""
    both_ways(TO_FILE, {"c/p.yaml": REST}, {"c/p.yaml": REST})
    both_ways(TO_FILE, {"c/x.yaml": HOST}, {"c/x.yaml": HOST})


@pytest.mark.parametrize(
    "text", ["k: 1\na: {x: 1}\n", "k: 1\na: 5\n", "k: 1\na:\n", "k: 1\na: &anchor\n  x: 1\n", "k: 1\na:\n- 1\n"]
)
def test_what_is_not_a_block_mapping_stays_with_a_note(text):
    """A flow mapping, a scalar, a list or a key line that carries more is not moved, and the reason is given."""
    ran = carry(layout((("p.yaml#a", "k"), "a.yaml#")), {"p.yaml": text.encode()})
    assert ran.files == {"p.yaml": text.encode()}
    assert ran.notes == ["fragment p.yaml:2"]
    assert ran.one_way == []


def test_a_lead_that_is_not_there_says_what_it_would_have_to_be():
    """The move is still made, the group is one-way, and the culprit quotes the lead and the sibling."""
    ran = carry(layout((("p.yaml#a", "k"), "a.yaml#")), {"p.yaml": b"k: 1\n\n# hey\na:\n  x: 1\n"})
    assert ran.files == {"p.yaml": b"k: 1\n\n# hey\n", "a.yaml": b"x: 1\n"}
    culprit = ran.there.one_way[0]
    assert (culprit.path, culprit.line, culprit.kind) == ("p.yaml", 4, "fragment")
    assert "`after: 'k'` and `lead: '\\n# hey\\n'`" in culprit.text


def test_a_block_that_stands_elsewhere_says_behind_what():
    """A wrong sibling is named too, and the line is that of the untouched file."""
    names = layout((("p.yaml#a", "k"), "a.yaml#"), (("p.yaml#b", "k"), "b.yaml#"))
    ran = carry(names, {"p.yaml": b"k: 1\nb:\n  y: 1\nc: 1\na:\n  x: 1\n"})
    assert ran.files == {"p.yaml": b"k: 1\nc: 1\n", "a.yaml": b"x: 1\n", "b.yaml": b"y: 1\n"}
    told = [culprit for culprit in ran.there.one_way if culprit.kind == "fragment"]
    assert [(culprit.line, "`after: 'c'`" in culprit.text) for culprit in told] == [(5, True)]


def test_a_sibling_that_is_not_there_on_the_other_side_is_noted():
    """The part is put last instead, and the group comes back all the same."""
    ran = carry(layout(("a.yaml#", ("p.yaml#a", "k"))), {"a.yaml": b"x: 1\n", "p.yaml": b"n: 1\n"})
    assert ran.files == {"p.yaml": b"n: 1\na:\n  x: 1\n"}
    assert "p.yaml#a should stand behind 'k'" in ran.there.notes[0].text
    assert (ran.one_way, ran.back_files) == ([], {"a.yaml": b"x: 1\n", "p.yaml": b"n: 1\n"})


def test_a_line_left_of_the_body_is_one_way():
    """A comment at column 0 inside the block cannot be moved back."""
    ran = carry(layout((("p.yaml#a", "k"), "a.yaml#")), {"p.yaml": b"k: 1\na:\n# left\n  x: 1\n"})
    assert ran.files["a.yaml"] == b"# left\nx: 1\n"
    assert ran.one_way == ["p.yaml:3"]


def test_a_home_that_is_taken_is_refused_with_both_names():
    """The file a fragment would become exists already on the from-side."""
    files = {"c/p.yaml": HOST.encode(), "c/rb/a.yaml": b"x: 1\n"}
    with pytest.raises(LayoutError, match=r"c/p.yaml#arctic becomes c/rb/a.yaml#, but 'c/rb/a.yaml' holds that"):
        carry(TO_FILE, files)
    with pytest.raises(LayoutError, match=r"a.py::f becomes b.py::g, but 'b.py' holds that"):
        carry(layout(("a.py::f", "b.py::g")), {"a.py": b"def f(): pass\n", "b.py": b"def g(): pass\n"})


def test_a_home_below_a_key_that_does_not_exist_is_refused():
    """A fragment is never hung where there is nothing to hang it on."""
    with pytest.raises(LayoutError, match=r"there is no 'x' in 'q.yaml'"):
        carry(layout(("a.yaml#", "q.yaml#x.y")), {"a.yaml": b"k: 1\n", "q.yaml": b"z: 1\n"})


def test_the_mode_of_a_file_that_becomes_a_block_is_labelled():
    """A file's mode has no place in a block, so an executable one does not come back."""
    names = layout(("a.yaml#", "p.yaml#a"))
    ran = carry(names, {"a.yaml": b"x: 1\n", "p.yaml": b"n: 1\n"}, {"a.yaml": EXECUTABLE, "p.yaml": EXECUTABLE})
    assert ran.modes == {"p.yaml": EXECUTABLE}
    assert ran.one_way == ["a.yaml:0"]


def test_a_home_that_is_a_link_or_a_binary_is_carried_as_such():
    """Only text can hold a fragment; the rest of the group is carried as it is, and a taken path is refused."""
    ran = carry(TO_FILE, {"c/p.yaml": b"elsewhere.yaml"}, {"c/p.yaml": LINK})
    assert (ran.files, ran.one_way) == ({"c/p.yaml": b"elsewhere.yaml"}, [])
    assert carry(TO_FILE, {"c/p.yaml": b"\0arctic:\n"}).files == {"c/p.yaml": b"\0arctic:\n"}
    with pytest.raises(LayoutError, match=r"both become 'c/rb/a.yaml'"):
        carry(TO_FILE, {"c/p.yaml": HOST.encode(), "c/rb/a.yaml": b"x"}, {"c/rb/a.yaml": LINK})


def test_a_group_is_every_file_that_shares_a_fragment():
    """From-side names, through several fragments, both homes."""
    names = layout(("a.py::f", "b.py::f"), ("c.py::g", "b.py::g"), paths=paths_renaming({"old/b.py": "b.py"}))
    assert group_of(names, "a.py") == {"a.py", "old/b.py", "c.py"}
    translator = Translator(names, MemoryBlobs())
    assert translator.group("c.py") == {"a.py", "old/b.py", "c.py", ".gitattributes"}
    assert translator.group("d.py") == {"d.py", ".gitattributes"}
