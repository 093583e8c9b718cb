"""Laws of T over generated layouts and trees."""

from __future__ import annotations

import ast
import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from porttool.errors import LayoutError
from porttool.layout import Fragment, Layout, Symbol, fragment_end, paths_renaming
from porttool.names import Pair, Renaming
from porttool.repo import Entry
from porttool.rewrite import scan, touched
from porttool.translate import Translator
from tests.laws.strategies import LINES, layouts, trees
from tests.laws.trees import carry
from tests.support.cases import MemoryBlobs

EXAMPLES = settings(
    max_examples=int(os.environ.get("LAWS_EXAMPLES", "40")), deadline=None, suppress_health_check=list(HealthCheck)
)


@EXAMPLES
@given(layouts(), trees())
def test_round_trip(layout, files):
    """What T does not call one-way comes back byte for byte; what lies outside the domain is refused."""
    try:
        ran = carry(layout, files)
    except LayoutError:
        return
    culprits = {culprit.path for culprit in ran.there.one_way}
    for path, blob in files.items():
        if path not in culprits:
            assert ran.back_files[path] == blob


@EXAMPLES
@given(layouts(), trees())
def test_inverse_of_inverse(layout, files):
    """T of the layout undone twice is T; a one-way pair is in no inverse, so it is not in the second one."""
    assume(not any(symbol.one_way for symbol in layout.symbols))
    blobs = MemoryBlobs()
    entries = {path: Entry(0o100644, blobs.write(blob)) for path, blob in files.items()}
    try:
        there = Translator(layout, blobs).tree(entries)
    except LayoutError:
        return
    assert Translator(layout.inverse().inverse(), blobs).tree(entries).entries == there.entries


@EXAMPLES
@given(layouts(), trees())
def test_the_second_time_gives_the_same(layout, files):
    """Two translators that share nothing agree, whatever was asked before."""
    try:
        first = carry(layout, files)
    except LayoutError:
        return
    second = carry(layout, dict(reversed(files.items())))
    assert first.files == second.files
    assert sorted(first.one_way) == sorted(second.one_way)


@EXAMPLES
@given(layouts(), trees())
def test_what_is_not_looked_at_holds_no_old_name(layout, files):
    """The word search that saves most of the work never hides an edit."""
    for path, blob in files.items():
        names = layout.for_file(path)
        assert touched(blob, names) or not scan(blob, names).edits


@EXAMPLES
@given(trees())
def test_a_layout_without_pairs_changes_nothing(files):
    """The empty layout is the identity."""
    ran = carry(Layout(), files)
    assert (ran.files, ran.there.one_way, ran.there.notes) == (files, (), ())


def merged(tmp_path, base, ours, theirs):
    """git's own three-way merge of one file; None where it conflicts."""
    for name, blob in (("base", base), ("ours", ours), ("theirs", theirs)):
        (tmp_path / name).write_bytes(blob)
    done = subprocess.run(["git", "merge-file", "-p", "ours", "base", "theirs"], cwd=tmp_path, capture_output=True)
    return done.stdout if done.returncode == 0 else None


@EXAMPLES
@given(layouts(), trees(), st.data())
def test_the_square(layout, files, data):
    """Porting c onto T(c^) gives exactly T(c): the base is ours, so theirs wins, and no merge can interfere."""
    changed = dict(files)
    path = data.draw(st.sampled_from(sorted(files)))
    changed[path] = files[path] + data.draw(LINES[Path(path).suffix]).encode() + b"\n"
    try:
        before, after = carry(layout, files), carry(layout, changed)
    except LayoutError:
        return
    assert before.files.keys() == after.files.keys()
    touched = {name for name in after.files if after.files[name] != before.files[name]}
    assert touched <= {Translator(layout, MemoryBlobs()).layout.path(path)}


def test_port_then_back_through_git_merge_file(tmp_path):
    """A change ported onto a target that has moved on, and carried back, is the change as it was made."""
    layout = Layout(paths=paths_renaming({"pkg/old.py": "lib/new.py"}), symbols=(Symbol("Old", "New"),))
    filler = "".join(f"line_{n} = {n}\n" for n in range(9))
    parent = f"import pkg.old\n{filler}class Old: pass\n".encode()
    commit = parent.replace(b"class Old: pass", b"class Old(pkg.old.Base): pass")
    head = carry(layout, {"pkg/old.py": parent}).files["lib/new.py"] + b"# only on the target\n"
    base, theirs = (carry(layout, {"pkg/old.py": blob}).files["lib/new.py"] for blob in (parent, commit))
    ported = merged(tmp_path, base, head.replace(b"# only on the target\n", b""), theirs)
    assert ported == theirs
    onto = merged(tmp_path, base, b"# moved on\n" + b"\n" * 4 + base, theirs)
    assert onto == b"# moved on\n" + b"\n" * 4 + theirs
    assert carry(layout.inverse(), {"lib/new.py": ported}).files == {"pkg/old.py": commit}


@st.composite
def mappings(draw, depth=0):
    """Block mappings as text, with comments and blank lines."""
    lines = []
    for key in draw(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4, unique=True)):
        lines += draw(st.sampled_from(([], [""], ["# note"], ["", "# note"])))
        if depth < 2 and draw(st.booleans()):
            lines += [f"{key}:", *("  " + line if line else "" for line in draw(mappings(depth + 1)))]
        else:
            lines.append(f"{key}: {draw(st.sampled_from(('1', '[1, 2]', 'text', '{k: v}')))}")
    return lines


AFTERS = (None, "", "a", "b")
LEADS = (None, "\n", "\n# note\n")


@EXAMPLES
@given(mappings(), st.sampled_from(AFTERS), st.sampled_from(LEADS), st.sampled_from((None, "# top\n")))
def test_yaml_fragments(lines, after, lead, far_lead):
    """Cutting a block out and putting it back gives the file back, or the place that does not is named."""
    fragment = Fragment(fragment_end("p.yaml#c", after, lead), fragment_end("c.yaml#", None, far_lead))
    both_ways(Layout(fragments=(fragment,)), {"p.yaml": ("\n".join(lines) + "\n").encode()})


@EXAMPLES
@given(
    st.lists(st.sampled_from(("f", "g", "C", "x", "import")), min_size=1, max_size=4, unique=True),
    st.sampled_from(("f", "C.m")),
    st.sampled_from((None, "", "x", "g")),
    st.sampled_from((None, "\n")),
)
def test_python_fragments(parts, name, after, lead):
    """The same for definitions, at top level and in a class."""
    texts = {
        "f": '# about f\n@dec\ndef f():\n    """doc\n    more"""\n    # tail\n',
        "g": "def g():\n    def f(): pass\n",
        "C": "class C:\n    def g(self): pass\n\n    def m(self):\n        return 1\n",
        "x": "x = 1\n",
        "import": "import os\n",
    }
    source = "\n\n".join(texts[part] for part in parts)
    fragment = Fragment(fragment_end(f"a.py::{name}", after, lead), fragment_end("b.py::h", ""))
    both_ways(Layout(fragments=(fragment,)), {"a.py": source.encode(), "b.py": b"import sys\n\n\ndef z(): pass\n"})


@EXAMPLES
@given(mappings(), st.booleans(), st.sampled_from((0, 1)))
def test_what_a_culprit_asks_for_is_what_it_takes(lines, crlf, depth):
    """`after` and `lead` as the message gives them make the same file come back."""
    text = "".join(f"{line}\n" for line in lines)
    text = text.replace("\n", "\r\n") if crlf else text
    name = "c.a" if depth else "c"
    first = ask(f"p.yaml#{name}", None, None, text)
    if first is not None and "`after:" in first:
        after, lead = (ast.literal_eval(told) for told in re.findall(r"`(?:after|lead): ('(?:[^'\\]|\\.)*')`", first))
        assert ask(f"p.yaml#{name}", after, lead.replace("\r\n", "\n"), text) is None


def ask(end, after, lead, text):
    """What is said about a block that becomes a file; None where all is well."""
    layout = Layout(fragments=(Fragment(fragment_end(end, after, lead), fragment_end("c.yaml#")),))
    told = carry(layout, {"p.yaml": text.encode()}).there.one_way
    return told[0].text if told else None


def both_ways(layout, files):
    ran = carry(layout, files)
    if not ran.there.one_way:
        assert ran.back_files == files
    again = carry(layout.inverse(), ran.files)
    if not again.there.one_way:
        assert again.back_files == ran.files


@pytest.mark.parametrize("suffix", [".py", ".yaml", ".md", ".sh", ".txt"])
@EXAMPLES
@given(
    blob=st.one_of(
        st.binary(max_size=80), st.text(alphabet="old.pkg new:=@${}[]()'\"#\n \\*&!-<%", max_size=60).map(str.encode)
    )
)
def test_any_bytes_in_any_language(suffix, blob):
    """No crash on arbitrary bytes, and a file that holds no name of the layout is not touched."""
    layout = Layout(
        paths=paths_renaming({"pkg/old.py": "lib/new.py"}),
        symbols=(Symbol("old", "fresh"),),
        keys=Renaming("key", (Pair(("old", "pkg"), ("fresh", "pkg")),)),
    )
    ran = carry(layout, {"x" + suffix: blob})
    if b"old" not in blob:
        assert ran.files == {"x" + suffix: blob}
