"""The fewest pairs that put every name where it was found."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from porttool.infer_prefix import generalise
from porttool.names import Pair, Renaming


def segments(text):
    return tuple(text.split("/"))


def told(moves, unknown=()):
    prefixes = generalise({segments(o): segments(n) for o, n in moves.items()}, map(segments, unknown))
    return {"/".join(p.old): "/".join(p.new) for p in prefixes}


def test_many_files_make_a_directory_pair():
    """Two files that moved together are one directory pair."""
    assert told({"a/x.py": "b/x.py", "a/y.py": "b/y.py", "c.py": "c.py"}) == {"a": "b"}


def test_one_file_stays_a_file_pair():
    """One file says nothing about its directory."""
    assert told({"a/x.py": "b/x.py"}) == {"a/x.py": "b/x.py"}


def test_exceptions_are_pairs_of_their_own():
    """A file that went elsewhere, and one that stayed, are written next to the directory pair."""
    moves = {f"a/{n}.py": f"b/{n}.py" for n in range(5)} | {"a/odd.py": "c/odd.py", "a/home.py": "a/home.py"}
    assert told(moves) == {"a": "b", "a/odd.py": "c/odd.py", "a/home.py": "a/home.py"}


def test_a_few_leavers_do_not_move_the_directory():
    """Where most files stay, those that left are single pairs."""
    moves = {f"a/{n}.py": f"a/{n}.py" for n in range(5)} | {"a/x.py": "b/x.py", "a/y.py": "b/y.py"}
    assert told(moves) == {"a/x.py": "b/x.py", "a/y.py": "b/y.py"}


def test_depth_may_change():
    """A package moves under another directory, or up."""
    assert told({"p/x.py": "src/p/x.py", "p/q/y.py": "src/p/q/y.py"}) == {"p": "src/p"}
    assert told({"src/p/x.py": "p/x.py", "src/p/q/y.py": "p/q/y.py"}) == {"src/p": "p"}


def test_the_segment_that_differs_is_the_pair():
    """Not the deepest directory that holds the files, but the one whose name changed."""
    assert told({"r/old/s/x": "r/new/s/x", "r/old/s/y": "r/new/s/y"}) == {"r/old": "r/new"}


def test_renamed_file_in_a_moved_directory():
    """The file's own pair wins over its directory's."""
    moves = {"a/x": "b/x", "a/y": "b/y", "a/z": "b/other"}
    assert told(moves) == {"a": "b", "a/z": "b/other"}


def test_deleted_files_weigh_against_a_directory_pair():
    """Two files of twenty that are gone do not say that the twenty would have moved."""
    moves = {"a/x": "b/x", "a/y": "b/y"}
    assert told(moves, [f"a/{n}" for n in range(20)]) == moves
    assert told(moves, ["a/1", "a/2"]) == {"a": "b"}


def test_a_directory_merged_into_one_in_use_still_comes_back():
    """Names that live at the new place already are held there, or the files are pairs of their own."""
    moves = {f"a/{n}": f"b/{n}" for n in range(4)} | {"b/own": "b/own"}
    pairs = told(moves)
    renaming = Renaming("path", tuple(Pair(segments(o), segments(n)) for o, n in pairs.items()), "/")
    for old, new in moves.items():
        assert renaming.apply(segments(old)) == segments(new)


def test_swapped_directories():
    """Two directories that took each other's name are two pairs."""
    moves = {"a/1": "b/1", "a/2": "b/2", "b/3": "a/3", "b/4": "a/4"}
    assert told(moves) == {"a": "b", "b": "a"}


def test_two_directories_into_one():
    """Files of two directories meet in one: each still goes to its place and comes back."""
    moves = {"a/1": "c/1", "a/2": "c/2", "b/3": "c/3", "b/4": "c/4", "b/5": "c/5"}
    pairs = told(moves)
    renaming = Renaming("path", tuple(Pair(segments(o), segments(n)) for o, n in pairs.items()), "/")
    assert {"/".join(renaming.apply(segments(old))) for old in moves} == set(moves.values())


_NAME = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(tuple)


@st.composite
def _bijections(draw):
    olds = draw(st.lists(_NAME, unique=True, min_size=1, max_size=10))
    news = draw(st.lists(_NAME, unique=True, min_size=len(olds), max_size=len(olds)))
    moves = {}
    taken = set(olds)
    for old, new in zip(olds, news, strict=True):
        # A name is a file: nothing may lie below it on either side.
        stays = new in taken or any(other[: len(new)] == new or new[: len(other)] == other for other in moves.values())
        moves[old] = old if stays else new
    files = list(moves)
    clear = [o for o in files if not any(o != p and p[: len(o)] == o for p in files)]
    moves = {o: moves[o] for o in clear}
    places = list(moves.values())
    nested = {n for n in places for p in places if n != p and p[: len(n)] == n}
    return {o: n for o, n in moves.items() if places.count(n) == 1 and n not in nested}


@given(_bijections())
def test_every_name_goes_to_its_place_and_comes_back(moves):
    """Whatever moved where: the pairs give exactly the moves, and each name round-trips."""
    prefixes = generalise(moves)
    renaming = Renaming("path", tuple(Pair(p.old, p.new) for p in prefixes), "/")
    for old, new in moves.items():
        assert renaming.apply(old) == new
    assert len(prefixes) <= 2 * len(moves)
