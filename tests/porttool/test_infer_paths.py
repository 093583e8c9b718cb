"""File pairs: equal blobs, unique best similarity, structure; never a guess between equals."""

from __future__ import annotations

from porttool.infer import _placed
from porttool.infer_paths import match_files


def body(word, lines=12):
    return "".join(f"{word} line {n} says {word * 2} {n * 31}\n" for n in range(lines)).encode()


def match(old, new):
    return match_files(old, new, lambda moves, paths: _placed(old, new, moves, paths))


def moves(old, new):
    return {move.old: move.new for move in match(old, new).moves}


def test_equal_blob_moves():
    """One blob that is gone here and new there is one file."""
    found = match({"a.py": body("x"), "k": b"k"}, {"b.py": body("x"), "k": b"k"})
    assert [(m.old, m.new, m.how, m.similarity) for m in found.moves] == [("a.py", "b.py", "same blob", 1.0)]
    assert found.kept == ("k",)


def test_two_equal_candidates_are_undecided():
    """The same content twice on the new side: no pair, and both candidates are told."""
    found = match({"a.py": body("x")}, {"b.py": body("x"), "c.py": body("x")})
    assert found.moves == ()
    assert [(u.old, u.new) for u in found.undecided] == [(("a.py",), ("b.py", "c.py"))]


def test_two_equally_similar_candidates_are_undecided():
    """The same distance to two files: no pair."""
    near = {"b.py": body("x") + b"tail of the b\n", "c.py": body("x") + b"tail of the c\n"}
    found = match({"a.py": body("x")}, near)
    assert found.moves == ()
    assert [(u.old, u.new) for u in found.undecided] == [(("a.py",), ("b.py", "c.py"))]


def test_a_file_name_alone_does_not_break_a_tie():
    """Equal content under the same base name and under another one: still no proof."""
    found = match({"d/a.py": body("x")}, {"e/a.py": body("x"), "e/b.py": body("x")})
    assert found.moves == ()
    assert len(found.undecided) == 1


def test_a_proven_directory_breaks_a_tie():
    """Where siblings prove the move of the directory, equal files follow it."""
    old = {"d/a": body("x"), "d/b": body("x"), "d/p": body("p"), "d/q": body("q")}
    assert moves(old, {name.replace("d/", "e/"): blob for name, blob in old.items()}) == {
        name: name.replace("d/", "e/") for name in old
    }


def test_empty_files_follow_their_directory():
    """Empty `__init__.py` files say nothing by themselves and go with their package."""
    old = {"p/__init__.py": b"", "p/a.py": body("a"), "p/b.py": body("b"), "q/__init__.py": b"", "q/c.py": body("c")}
    old["q/d.py"] = body("d")
    new = {f"src/{name}": blob for name, blob in old.items()}
    assert moves(old, new) == {name: f"src/{name}" for name in old}


def test_empty_files_alone_prove_nothing():
    """Two empty files that changed places are not followed."""
    assert moves({"a/__init__.py": b""}, {"b/__init__.py": b""}) == {}


def test_edited_file_is_found_by_its_lines():
    """Three quarters of the lines are enough; a third is not."""
    assert moves({"a": body("x")}, {"b": body("x", 9) + body("y", 3)}) == {"a": "b"}
    assert moves({"a": body("x")}, {"b": body("x", 4) + body("y", 8)}) == {}


def test_common_lines_do_not_decide():
    """A licence header that every file holds makes no two files alike."""
    header = b"".join(b"# licence line %d of a header everybody has\n" % n for n in range(20))
    old = {f"a/{n}.py": header + body(f"w{n}", 4) for n in range(6)}
    new = {f"b/{n + 10}.py": header + body(f"w{n}", 4) + b"one more\n" for n in range(6)}
    assert moves(old, new) == {f"a/{n}.py": f"b/{n + 10}.py" for n in range(6)}


def test_split_file_pairs_with_its_larger_part():
    """A module cut in two is paired with the part that is clearly most of it."""
    old = {"m.py": body("x", 12) + body("y", 3)}
    assert moves(old, {"m/x.py": body("x", 12), "m/y.py": body("y", 3)}) == {"m.py": "m/x.py"}


def test_module_cut_in_two_equal_halves_is_undecided_or_unpaired():
    """Two halves: neither is the file."""
    assert moves({"m.py": body("x", 8) + body("y", 8)}, {"m/x.py": body("x", 8), "m/y.py": body("y", 8)}) == {}


def test_path_in_use_on_both_sides_for_different_files():
    """A path that was vacated and taken by another file is two files."""
    old = {"a.py": body("old a", 40), "b.py": body("b", 40)}
    new = {"a.py": body("b", 40), "c.py": body("old a", 40)}
    assert moves(old, new) == {"a.py": "c.py", "b.py": "a.py"}


def test_binary_files_pair_by_content():
    """A binary that moved unchanged is paired; one of another content is not."""
    assert moves({"a.bin": b"\0\1" * 200}, {"b.bin": b"\0\1" * 200}) == {"a.bin": "b.bin"}
    assert moves({"a.bin": b"\0\1" * 200}, {"b.bin": b"\0\2" * 200}) == {}


def test_order_of_the_trees_does_not_matter():
    """The same trees in another order give the same answer."""
    old = {f"a/{n}": body(f"w{n}") for n in range(8)}
    new = {f"b/{n}": body(f"w{n}") + b"x\n" for n in range(8)}
    assert match(old, new) == match(dict(reversed(old.items())), dict(reversed(new.items())))
