"""T over entries and trees: paths, modes, links, binaries, clashes, what does not come back."""

from __future__ import annotations

import pytest

from porttool.errors import LayoutError
from porttool.layout import Layout, Symbol, paths_renaming
from porttool.names import Pair, Renaming, renaming
from porttool.repo import Entry
from porttool.translate import Translator, carry_link, differing
from porttool.translate_attributes import called_binary
from tests.laws.trees import EXECUTABLE, GITLINK, LINK, carry
from tests.support.cases import MemoryBlobs

MOVE = Layout(paths=paths_renaming({"pkg/old.txt": "lib/new.txt", "pkg/sub/": "lib/sub/deep/"}))


def back_is_exact(layout, files, modes=None):
    ran = carry(layout, files, modes)
    assert ran.one_way == []
    assert ran.back_files == dict(files)
    assert ran.back_modes == {path: (modes or {}).get(path, 0o100644) for path in files}
    return ran


def test_t5_t6_a_mapped_path_is_carried_and_its_content_too():
    """A file whose path is mapped arrives at the mapped path with the names in it renamed, and comes back."""
    ran = back_is_exact(MOVE, {"pkg/old.txt": b"see pkg/sub/x.c and pkg/old.txt\n", "pkg/sub/x.c": b"int x;\n"})
    assert ran.files == {"lib/new.txt": b"see lib/sub/deep/x.c and lib/new.txt\n", "lib/sub/deep/x.c": b"int x;\n"}


def test_t3_a_thousand_moves_need_no_similarity():
    """Paths are mapped by the layout alone, however many move and however much they change."""
    files = {f"pkg/sub/{n}.bin": b"%d\0" % n for n in range(1000)}
    assert set(back_is_exact(MOVE, files).files) == {f"lib/sub/deep/{n}.bin" for n in range(1000)}


def test_t7_a_path_no_pair_matches_stays_where_it_is():
    """Nothing is guessed: a sibling that is not mapped keeps its path and its bytes."""
    files = {"pkg/old.txt.bak": b"x", "pkg/subset/a": b"y", "other/pkg/old": b"z"}
    assert back_is_exact(MOVE, files).files == files


def test_t7_a_path_that_is_in_use_already_is_refused_with_both_names():
    """A from-side file that sits on a target path is outside the domain."""
    with pytest.raises(LayoutError, match=r"'lib/new.txt' and 'pkg/old.txt' both become 'lib/new.txt'"):
        carry(MOVE, {"lib/new.txt": b"", "pkg/old.txt": b""})


def test_two_paths_to_one_by_a_one_way_pair_are_refused_with_both_names():
    """A one-way pair may lose a name, but never a file."""
    layout = Layout(paths=Renaming("path", (Pair(("a.txt",), ("b.txt",), one_way=True),), "/"))
    with pytest.raises(LayoutError, match=r"'a.txt' and 'b.txt' both become 'b.txt'"):
        carry(layout, {"a.txt": b"", "b.txt": b""})


def test_a_one_way_path_is_labelled():
    """What a one-way path pair touches is a culprit, named with the path it comes back as."""
    layout = Layout(paths=Renaming("path", (Pair(("a.txt",), ("b.txt",), one_way=True),), "/"))
    ran = carry(layout, {"a.txt": b"1"})
    assert ran.files == {"b.txt": b"1"}
    assert ran.one_way == ["a.txt:0"]


def test_a_file_where_another_needs_a_folder_is_refused_with_both_names():
    """A path cannot be a file and a folder at once."""
    layout = Layout(paths=paths_renaming({"a": "x", "b": "x/y"}))
    with pytest.raises(LayoutError, match=r"'a' becomes the file 'x', which 'b' needs as a folder"):
        carry(layout, {"a": b"", "b": b""})


def test_a_path_that_is_a_file_on_one_side_and_a_folder_on_the_other_works():
    """`util` the file becomes `util/core`, and back, when nothing else claims `util`."""
    layout = Layout(paths=paths_renaming({"util.c": "util.c/core.c"}))
    assert back_is_exact(layout, {"util.c": b"1"}).files == {"util.c/core.c": b"1"}


def test_a_case_only_rename_works():
    """`Readme` to `README` is a rename like any other."""
    layout = Layout(paths=paths_renaming({"Readme": "README", "Lib/": "lib/"}))
    assert set(back_is_exact(layout, {"Readme": b"", "Lib/a": b""}).files) == {"README", "lib/a"}


@pytest.mark.parametrize(
    ("pairs", "paths"),
    [({"a.txt": "Read"}, ["a.txt", "read"]), ({"src/": "LIB/"}, ["src/a", "lib/b"])],
)
def test_two_paths_that_come_to_differ_in_case_only_are_refused(pairs, paths):
    """A checkout on a disk that ignores case would lose one of the two."""
    with pytest.raises(LayoutError, match="differ in case only"):
        carry(Layout(paths=paths_renaming(pairs)), dict.fromkeys(paths, b""))


def test_paths_that_differed_in_case_before_may_still():
    """A pair of files that the source already holds is not this layout's doing."""
    layout = Layout(paths=paths_renaming({"net/": "drivers/net/"}))
    files = {"net/xt_MARK.c": b"", "net/xt_mark.c": b"", "net/A/x": b"", "net/a/y": b""}
    assert set(back_is_exact(layout, files).files) == {f"drivers/{path}" for path in files}


def test_t34_t36_binaries_pass_by_object_id():
    """A blob with a NUL in git's window keeps its bytes whatever words stand in it."""
    blob = b"\0pkg/old.txt\r\n\xff"
    ran = back_is_exact(MOVE, {"pkg/old.txt": blob, "b.png": blob})
    assert ran.files == {"lib/new.txt": blob, "b.png": blob}


def test_t21_line_endings_and_missing_newlines_stay():
    """CRLF, a lone CR and a missing final newline are bytes like any other."""
    ran = back_is_exact(MOVE, {"doc.md": b"pkg/old.txt\r\nx\rpkg/old.txt"})
    assert ran.files == {"doc.md": b"lib/new.txt\r\nx\rlib/new.txt"}


def test_bytes_that_are_not_utf8_stay():
    """Latin-1 text around a name is kept byte for byte."""
    assert back_is_exact(MOVE, {"d.txt": b"caf\xe9 pkg/old.txt \xff\n"}).files == {
        "d.txt": b"caf\xe9 lib/new.txt \xff\n"
    }


def test_paths_that_are_not_utf8_are_mapped():
    """A path is bytes to git; surrogates carry them through."""
    odd = b"pkg/sub/\xff\xe9".decode("utf-8", "surrogateescape")
    assert list(back_is_exact(MOVE, {odd: b"1"}).files) == ["lib/sub/deep/" + odd[-2:]]


def test_modes_are_kept():
    """An executable stays one."""
    assert back_is_exact(MOVE, {"pkg/old.txt": b"1"}, {"pkg/old.txt": EXECUTABLE}).modes == {"lib/new.txt": EXECUTABLE}


def test_t37_a_gitlink_passes_by_id_and_its_path_is_mapped():
    """A submodule's commit is never looked into."""
    commit = b"1" * 40
    ran = back_is_exact(MOVE, {"pkg/sub/vendor": commit}, {"pkg/sub/vendor": GITLINK})
    assert ran.files == {"lib/sub/deep/vendor": commit}


def test_gitmodules_follows_the_gitlink():
    """The `path =` of a submodule is a path like any other."""
    text = b'[submodule "v"]\n\tpath = pkg/sub/vendor\n'
    assert back_is_exact(MOVE, {".gitmodules": text}).files == {
        ".gitmodules": text.replace(b"pkg/sub", b"lib/sub/deep")
    }


@pytest.mark.parametrize(
    ("path", "target", "new_path", "new_target"),
    [
        ("link", "pkg/old.txt", "link", "lib/new.txt"),
        ("pkg/sub/link", "../old.txt", "lib/sub/deep/link", "../../new.txt"),
        ("pkg/sub/a/link", "../b", "lib/sub/deep/a/link", "../b"),
        ("pkg/link", "sub", "pkg/link", "../lib/sub/deep"),
        ("pkg/sub/link", "/etc/hosts", "lib/sub/deep/link", "/etc/hosts"),
        ("pkg/sub/link", "../../../out", "lib/sub/deep/link", "../../../../out"),
        ("pkg/sub/link", "../../../../a/b", "lib/sub/deep/link", "../../../../../a/b"),
        ("pkg/out", "../../out", "pkg/out", "../../out"),
        ("pkg/sub/link", "../other", "lib/sub/deep/link", "../../../pkg/other"),
        ("here", "./README", "here", "./README"),
    ],
)
def test_a_symlink_target_is_a_path_name(path, target, new_path, new_target):
    """A link that is relative points at the same place afterwards, inside the tree or outside."""
    ran = back_is_exact(MOVE, {path: target.encode()}, {path: LINK})
    assert ran.files == {new_path: new_target.encode()}
    assert ran.modes == {new_path: LINK}


def test_a_symlink_written_in_a_roundabout_way_is_one_way():
    """A target that has to change and is not in its shortest form cannot be spelt the same on the way back."""
    assert carry(MOVE, {"link": b"./pkg/old.txt"}, {"link": LINK}).one_way == ["link:1"]


def test_a_link_to_the_root_is_a_path_name():
    """A link from a moved folder to the top of the tree keeps pointing there."""
    assert carry_link("../..", "pkg/sub/top", "lib/sub/deep/top", MOVE) == "../../.."


def test_t26_a_blob_that_uses_a_target_name_is_one_way_at_its_line():
    """A word of the other side in the source cannot come back, and the line is named."""
    layout = Layout(symbols=(Symbol("Old", "New"),))
    ran = carry(layout, {"a.txt": b"1\nOld\n3\nNew\nOld New\n"})
    assert ran.files == {"a.txt": b"1\nNew\n3\nNew\nNew New\n"}
    assert ran.one_way == ["a.txt:4", "a.txt:5"] or ran.one_way == ["a.txt:4"]


def test_a_blob_that_only_uses_target_names_is_one_way():
    """Not touched going forward, but changed coming back: reported all the same."""
    assert carry(Layout(symbols=(Symbol("Old", "New"),)), {"a.txt": b"x\nNew\n"}).one_way == ["a.txt:2"]


def test_the_culprit_says_what_comes_back_as_what():
    """The text of a culprit shows both forms of the line."""
    (culprit,) = differing("f", b"a\nNew\nb\n", b"a\nOld\nb\n")
    assert (culprit.line, culprit.text) == (2, "'New' comes back as 'Old'")


@pytest.mark.parametrize(("blob", "back", "lines"), [(b"a\nb", b"a", [2]), (b"", b"x", [1]), (b"a\na\n", b"a\n", [2])])
def test_culprits_of_texts_that_grow_or_shrink(blob, back, lines):
    """Lines that are only on one side are culprits too."""
    assert [culprit.line for culprit in differing("f", blob, back)] == lines


def test_culprits_of_a_long_file_are_found_at_once():
    """Thousands of lines that do not come back are told line by line, or as one run where lines came or went."""
    blob, back = (b"".join(b"%d %s\n" % (n % 7, w) for n in range(9000)) for w in (b"a", b"b"))
    assert len(differing("f", blob, back)) == 1
    assert [culprit.line for culprit in differing("f", blob, b"b\n" + back)] == [1]


def test_a_one_way_symbol_works_forward_and_labels_the_line():
    """Two names to one is allowed where declared, and what it touches is labelled."""
    layout = Layout(symbols=(Symbol("A1", "B"), Symbol("A2", "B", one_way=True)))
    ran = carry(layout, {"a.txt": b"A1\nA2\n"})
    assert ran.files == {"a.txt": b"B\nB\n"}
    assert ran.one_way == ["a.txt:2"]


def test_entries_may_be_a_few_of_a_tree():
    """A commit's own files are enough; the rest of the tree is not needed."""
    blobs = MemoryBlobs()
    entry = Entry(0o100644, blobs.write(b"pkg/old.txt"))
    assert list(Translator(MOVE, blobs).entries({"pkg/sub/a": entry}).entries) == ["lib/sub/deep/a"]


class CountingBlobs(MemoryBlobs):
    reads = 0

    def read(self, oid):
        self.reads += 1
        return super().read(oid)


def test_a_blob_is_read_once():
    """The second translation of the same blob at the same path is answered from memory, and so is each way back."""
    blobs = CountingBlobs()
    entries = {"pkg/sub/a": Entry(0o100644, blobs.write(b"pkg/old.txt"))}
    translator = Translator(MOVE, blobs)
    first = translator.tree(entries)
    assert translator.tree(entries) == first
    assert blobs.reads == 1
    for _ in range(2):
        assert translator.inverse().tree(first.entries).entries == entries
    assert translator.tree(entries).one_way == ()
    assert blobs.reads == 2


def test_the_way_back_is_gone_when_somebody_asks():
    """Translating reads no blob twice; what does not come back is found at the first question, and remembered."""
    blobs = CountingBlobs()
    layout = Layout(symbols=(Symbol("Old", "New"),))
    entries = {"a": Entry(0o100644, blobs.write(b"Old\nNew\n"))}
    translator = Translator(layout, blobs)
    done = translator.entries(entries)
    assert blobs.reads == 1
    assert [(culprit.path, culprit.line) for culprit in done.one_way] == [("a", 2)]
    reads = blobs.reads
    assert translator.entries(entries).one_way == done.one_way
    assert blobs.reads == reads


def test_a_way_back_that_was_checked_is_remembered():
    """The check answers the translation back, too."""
    blobs = CountingBlobs()
    entries = {"pkg/sub/a": Entry(0o100644, blobs.write(b"pkg/old.txt"))}
    there = Translator(MOVE, blobs).tree(entries)
    translator = Translator(MOVE, blobs)
    assert translator.tree(entries).one_way == ()
    reads = blobs.reads
    assert translator.inverse().tree(there.entries).entries == entries
    assert blobs.reads == reads


def test_a_layout_without_pairs_reads_nothing():
    """Where nothing is renamed, entries are themselves and no blob is opened."""
    blobs = CountingBlobs()
    entries = {
        "a.py": Entry(0o100644, blobs.write(b"x = 1\n")),
        ".gitattributes": Entry(0o100644, blobs.write(b"* -diff")),
    }
    translator = Translator(Layout(), blobs)
    done = translator.tree(entries)
    assert (done.entries, done.one_way, done.notes, blobs.reads) == (entries, (), (), 0)
    assert translator.group("pkg/a.py") == {"pkg/a.py"}


def test_the_cache_tells_paths_apart():
    """The same blob means other things in other places."""
    blobs = MemoryBlobs()
    entry = Entry(0o100644, blobs.write(b"pkg.sub\n"))
    layout = Layout(symbols=(Symbol("pkg", "lib", scope=("a/",)),))
    found = Translator(layout, blobs).tree({"a/x": entry, "b/x": entry}).entries
    assert blobs.read(found["a/x"].oid) == b"lib.sub\n"
    assert found["b/x"] == entry


def test_an_unchanged_blob_is_not_written_again():
    """Most of a tree keeps its object ids."""
    blobs = MemoryBlobs()
    entry = Entry(0o100644, blobs.write(b"nothing here"))
    blobs.write = None
    assert Translator(MOVE, blobs).tree({"x": entry}).entries == {"x": entry}


def test_a_group_is_one_file_without_fragments():
    """Files are translated alone unless they share a fragment."""
    group = Translator(MOVE, MemoryBlobs()).group("b/c/a.py")
    assert group == {"b/c/a.py", ".gitattributes", "b/.gitattributes", "b/c/.gitattributes"}


@pytest.mark.parametrize(
    ("attributes", "path", "binary"),
    [
        ("*.svg binary", "x.svg", True),
        ("*.svg binary", "a/b/x.svg", True),
        ("*.svg -diff", "x.svg", True),
        ("*.svg text eol=lf", "x.svg", False),
        ("*.svg -text", "x.svg", False),
        ("# *.svg binary", "x.svg", False),
        ("*.svg binary\nx.svg diff", "x.svg", False),
        ("*.svg binary\nx.svg !binary", "x.svg", False),
        ("*.svg binary", "x.svgz", False),
        ("a/*.svg binary", "a/x.svg", True),
        ("a/*.svg binary", "a/b/x.svg", False),
        ("a/**/x.svg binary", "a/b/c/x.svg", True),
        ("a/**/x.svg binary", "a/x.svg", True),
        ("/a/** binary", "a/b/x", True),
        ("a/** binary", "b/a/x", False),
        ("x.[st]vg binary", "x.tvg", True),
        ("x.[!s]vg binary", "x.svg", False),
        ("x.?vg binary", "x.svg", True),
        ("[ binary", "x", False),
        ("x[z-a] binary", "xz", False),
    ],
)
def test_t34_gitattributes_say_what_is_binary(attributes, path, binary):
    """Patterns as git reads them; the last line that matches counts."""
    assert called_binary(path, {".gitattributes": attributes.encode()}) is binary


def test_t34_the_attributes_of_a_folder_are_read_after_those_above_it():
    """A nearer file has the last word, for paths below its own folder."""
    said = {".gitattributes": b"*.svg binary", "a/.gitattributes": b"/x.svg diff"}
    assert [called_binary(path, said) for path in ("x.svg", "a/x.svg", "a/b/x.svg")] == [True, False, True]


def test_t34_a_file_that_gitattributes_call_binary_is_moved_and_not_looked_at():
    """Its path is mapped and its bytes pass by object id, though they are text."""
    files = {
        ".gitattributes": b"*.lock binary\n",
        "pkg/sub/a.lock": b"pkg/old.txt\n",
        "pkg/sub/a.txt": b"pkg/old.txt\n",
    }
    assert back_is_exact(MOVE, files).files == {
        ".gitattributes": b"*.lock binary\n",
        "lib/sub/deep/a.lock": b"pkg/old.txt\n",
        "lib/sub/deep/a.txt": b"lib/new.txt\n",
    }


def test_inverse_pairs_of_keys_and_paths_share_a_layout():
    """Several kinds of pairs work on one file."""
    layout = Layout(paths=paths_renaming({"a/b.md": "c/d.md"}), keys=renaming("key", [("x.y", "z.w")]))
    ran = back_is_exact(layout, {"a/b.md": b"run `x.y=1`, see a/b.md\n"})
    assert ran.files == {"c/d.md": b"run `z.w=1`, see c/d.md\n"}
