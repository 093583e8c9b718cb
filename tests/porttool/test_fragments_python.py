"""Python fragments: functions, methods and classes with a home of their own on the other side."""

from __future__ import annotations

import pytest

from porttool.layout import paths_renaming
from tests.laws.trees import both_ways, carry
from tests.laws.trees import with_fragments as layout

A = '''import os
X = 1


# about f
@dec
def f(a):
    """doc
  odd
    """
    return 1
    # tail


class C:
    y = 1

    # m
    def m(self):
        return (
            1)

    def z(self):
        pass
'''
A_REST = """import os
X = 1


class C:
    y = 1

    def z(self):
        pass
"""


def test_a_function_moves_with_its_decorators_and_comments():
    """Top level to top level: nothing but the place and the name changes."""
    both_ways(
        layout((("a.py::f", "X"), ("b.py::g", "h"))),
        {"a.py": A, "b.py": "def h():\n    pass\n\n\ndef i():\n    pass\n"},
        {
            "a.py": A[: A.index("\n\n# about")] + A[A.index("\n\nclass C") :],
            "b.py": "def h():\n    pass\n\n\n"
            + A[A.index("# about") : A.index("\n\nclass")].replace("def f", "def g")
            + "\n\ndef i():\n    pass\n",
        },
    )


def test_a_function_becomes_a_method_and_its_strings_keep_their_bytes():
    """Lines move sideways, but not those inside a string."""
    both_ways(
        layout((("a.py::f", ""), ("b.py::D.n", "k"))),
        {
            "a.py": 'def f(a):\n    s = """x\n  y\n"""\n\n    return s\n',
            "b.py": "class D:\n    def k(self):\n        pass\n",
        },
        {
            "b.py": "class D:\n    def k(self):\n        pass\n"
            '\n    def n(a):\n        s = """x\n  y\n"""\n\n        return s\n'
        },
    )


def test_a_method_moves_to_a_method_of_another_class_in_another_file():
    """The same depth: every byte of the body stays."""
    both_ways(
        layout((("a.py::C.m", "y"), ("b.py::D.n", ""))),
        {"a.py": A, "b.py": "class D:\n    def k(self):\n        pass\n"},
        {
            "a.py": A[: A.index("\n    # m")] + A[A.index("\n    def z") :],
            "b.py": "class D:\n    # m\n    def n(self):\n        return (\n            1)\n"
            "    def k(self):\n        pass\n",
        },
    )


def test_an_async_and_a_one_line_definition_move():
    """Forms of a definition that are not a plain block."""
    both_ways(
        layout((("a.py::f", ""), "b.py::f"), (("a.py::g", "f", "\n"), ("b.py::g", "f"))),
        {"a.py": "async def f(): pass\n\ndef g(): pass\n\n\nx = 1\n", "b.py": "y = 2\n"},
        {"a.py": "\n\nx = 1\n", "b.py": "y = 2\n\n\nasync def f(): pass\n\n\ndef g(): pass\n"},
    )


def test_a_class_moves():
    """A definition is a function or a class."""
    both_ways(
        layout((("a.py::C", "f"), ("b.py::C2", None))),
        {"a.py": "def f(): pass\n\n\nclass C(B):\n    def m(self): pass\n", "b.py": "import x\n"},
        {"a.py": "def f(): pass\n", "b.py": "import x\n\n\nclass C2(B):\n    def m(self): pass\n"},
    )


@pytest.mark.parametrize(
    ("rest", "notes"),
    [
        ("y = f(1)\n", ["fragment a.py:5"]),
        ("y = map(f, z)\n", ["fragment a.py:5"]),
        ("y = x.f(g)\n", []),
        ("f2 = 'f'\n", []),
    ],
)
def test_a_use_of_a_function_in_the_file_it_leaves_is_told(rest, notes):
    """T adds no import, so whoever reads the audit has to know."""
    source = f"def f(): pass\n\n\nz = 1\n{rest}"
    ran = carry(layout((("a.py::f", ""), "b.py::f")), {"a.py": source.encode()})
    assert ran.notes == notes


@pytest.mark.parametrize(
    ("line", "notes"),
    [
        ("from pkg.a import f\n", 1),
        ("from .a import (\n    e,\n    f,\n)\n", 1),
        ("from ..pkg.a import f as g\n", 1),
        ("from .a import ff\n", 0),
        ("from .c import f\n", 0),
        ("from ..a import f\n", 0),
    ],
)
def test_a_file_that_will_import_a_function_from_itself_is_told(line, notes):
    """The import of a function that comes to live in the importing file is somebody else's to drop."""
    files = {"pkg/a.py": b"def f():\n    return 1\n", "pkg/b.py": line.encode()}
    ran = carry(layout((("pkg/a.py::f", ""), "pkg/b.py::f")), files)
    assert ran.notes == ["fragment pkg/b.py:1"] * notes
    assert ran.back_files == files


def test_a_name_that_is_no_definition_does_not_move():
    """An assignment of that name stays, with a note."""
    ran = carry(layout(("a.py::f", "b.py::f")), {"a.py": b"f = 1\n"})
    assert (ran.files, ran.notes) == ({"a.py": b"f = 1\n"}, ["fragment a.py:1"])


def test_default_leads_of_definitions():
    """Two blank lines before a function, one before a method; anything else is told."""
    ran = carry(layout((("a.py::f", "e"), "b.py::f")), {"a.py": b"def e(): pass\ndef f(): pass\n"})
    assert "`lead: ''`" in ran.there.one_way[0].text
    ran = carry(
        layout((("a.py::C.m", "e"), "b.py::f")),
        {"a.py": b"class C:\n    def e(self): pass\n\n    def m(self): pass\n"},
    )
    assert ran.one_way == []


def test_imports_of_the_file_tell_what_a_fragment_means_and_relative_ones_are_seen_from_its_new_home():
    """A fragment is read in the light of the file it comes from, and written for the place it goes to."""
    names = layout(
        (("pkg/a.py::f", ""), ("pkg/sub/b.py::f", "x")),
        paths=paths_renaming({"pkg/util.py": "pkg/tool.py"}),
    )
    both_ways(
        names,
        {
            "pkg/a.py": "from . import util\n\n\ndef f():\n    from . import util\n    from .x import y\n",
            "pkg/sub/b.py": "x = 1\n",
        },
        {
            "pkg/a.py": "from . import tool as util\n",
            "pkg/sub/b.py": "x = 1\n\n\ndef f():\n    from .. import tool as util\n    from ..x import y\n",
        },
    )


def test_broken_python_and_yaml_do_not_crash():
    """Files in the middle of a rebase are carried as far as they can be read."""
    for text in (b"def f(:\n  x", b"class C\n", b"\tdef f():\n", b"a:\n\t- b\n  c", b"a: [1\nb", b"{", b"a\n:", b"%"):
        carry(layout(("x.py::f", "y.py::f"), ("x.yaml#a", "y.yaml#")), {"x.py": text, "x.yaml": text})


def test_crlf_and_tabs_move_with_a_definition():
    """Line endings are those of each file; tabs stay where the depth stays."""
    both_ways(
        layout((("a.py::f", "e"), ("b.py::g", "h"))),
        {
            "a.py": "def e(): pass\r\n\r\n\r\ndef f():\r\n\tif 1:\r\n\t\treturn 1\r\n\r\n\r\nX = 1\r\n",
            "b.py": "def h(): pass\r\n",
        },
        {
            "a.py": "def e(): pass\r\n\r\n\r\nX = 1\r\n",
            "b.py": "def h(): pass\r\n\r\n\r\ndef g():\r\n\tif 1:\r\n\t\treturn 1\r\n",
        },
    )


def test_a_class_that_only_held_the_method_is_left_empty_and_that_is_one_way_or_exact():
    """Python needs a body, but T adds no `pass`; what cannot come back is named."""
    names = layout((("a.py::C.m", ""), ("b.py::f", "")))
    files = {"a.py": b"class C:\n    def m(self):\n        pass\n", "b.py": b"x = 1\n"}
    ran = carry(names, files)
    assert ran.files["a.py"] == b"class C:\n"
    assert ran.one_way or ran.back_files == files


def test_a_fragment_of_a_nested_class_follows_its_depth():
    """Names may have three segments."""
    both_ways(
        layout((("a.py::A.B.m", ""), ("b.py::f", ""))),
        {
            "a.py": "class A:\n    class B:\n        def m(self):\n            return 1\n\n        y = 2\n",
            "b.py": "x = 1\n",
        },
        {"a.py": "class A:\n    class B:\n\n        y = 2\n", "b.py": "def f(self):\n    return 1\nx = 1\n"},
    )


def test_a_file_that_only_mentions_the_function_keeps_its_name_bound():
    """An import elsewhere follows the function to its new home, and the local name stays."""
    ran = carry(
        layout((("pkg/a.py::f", ""), ("pkg/b.py::g", ""))),
        {"pkg/a.py": b"def f(): pass\n", "pkg/c.py": b"from pkg.a import f\n\nf()\n", "d.md": b"`pkg.a.f` does it\n"},
    )
    assert ran.files["pkg/c.py"] == b"from pkg.b import g as f\n\nf()\n"
    assert ran.files["d.md"] == b"`pkg.b.g` does it\n"
    assert ran.one_way == []
