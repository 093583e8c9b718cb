"""Import statements: every form, spelled for the other side byte by byte, and back."""

from __future__ import annotations

import pytest

from porttool.layout import Symbol
from tests.porttool.python_support import both_ways, forth, layout, unchanged

AB = layout({"a/b.py": "c/d.py"})
DEEP = layout({"a/b/c.py": "x/y.py"})
KEEP = layout({"a/b.py": "c/b.py"})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import a.b\n", "import c.d\n"),
        ("import a.b as x\nx.f(1)\n", "import c.d as x\nx.f(1)\n"),
        ("import a.b, os\n", "import c.d, os\n"),
        ("import os,  a.b as q , sys  # noqa\n", "import os,  c.d as q , sys  # noqa\n"),
        ("import a.b.e\n", "import c.d.e\n"),
        ("import a . b\n", "import c.d\n"),
        ("from a.b import f\n", "from c.d import f\n"),
        ("from a.b import f as g, h\n", "from c.d import f as g, h\n"),
        ("from a.b import *\n", "from c.d import *\n"),
        ("from a.b import (f,)  # noqa\n", "from c.d import (f,)  # noqa\n"),
        ("from a.b import (\n    f,  # first\n    g,\n)\n", "from c.d import (\n    f,  # first\n    g,\n)\n"),
        ("from a import b\n", "from c import d as b\n"),
        ("from a import b as z\n", "from c import d as z\n"),
        ("from a import b as d\n", "from c import d\n"),
        ("from a import (b,)\n", "from c import (d as b,)\n"),
        ("\timport a.b;import os\n", "\timport c.d;import os\n"),
    ],
)
def test_an_import_names_the_new_module(old: str, new: str) -> None:
    """Every form of import changes only its dotted span."""
    if " . " in old:
        assert forth(AB, old.encode())[0] == new.encode()
    else:
        both_ways(AB, old, new)


@pytest.mark.parametrize(
    "source", ["import a.bc\n", "from a.b_ import f\n", "import xa.b\n", "from a import bb\n", "from . import b\n"]
)
def test_t44_a_prefix_inside_a_token_is_no_match(source: str) -> None:
    """A module whose name only begins like a moved one stays."""
    unchanged(AB, source)


def test_t44_fs_never_hits_fsdp_utils() -> None:
    """The pair for `verl.utils.fs` leaves `verl.utils.fsdp_utils` alone, in code, strings and comments."""
    at = layout({"verl/utils/fs.py": "verl/io/fs.py"})
    unchanged(
        at, "from verl.utils.fsdp_utils import f\nimport verl.utils.fsdp_utils\nx = 'verl.utils.fsdp_utils'  # offs\n"
    )
    both_ways(
        at, "from verl.utils import fsdp_utils, fs\n", "from verl.utils import fsdp_utils; from verl.io import fs\n"
    )


def test_t46_the_alias_of_an_import_is_kept() -> None:
    """`import a.b as x` keeps its alias."""
    both_ways(AB, "import a.b as x\n", "import c.d as x\n")


def test_t47_bytes_outside_the_names_stay() -> None:
    """A trailing comma, odd spacing and a comment are not touched."""
    both_ways(AB, "from  a.b  import  ( f ,\tg , )# c\n", "from  c.d  import  ( f ,\tg , )# c\n")


def test_t48_t54_imports_are_never_removed() -> None:
    """Imports in try, if and unused aliases stay where they are."""
    both_ways(
        AB,
        (
            "try:\n    import a.b as unused\nexcept ImportError:\n    unused = None\n"
            "if TYPE_CHECKING:\n    from a.b import T\n"
        ),
        (
            "try:\n    import c.d as unused\nexcept ImportError:\n    unused = None\n"
            "if TYPE_CHECKING:\n    from c.d import T\n"
        ),
    )


def test_t50_the_depth_of_a_module_may_change() -> None:
    """A long path becomes a short one, in the import and in the chains rooted at it."""
    both_ways(DEEP, "import a.b.c\na.b.c.f(a.b.c.g)\n", "import x.y\nx.y.f(x.y.g)\n")
    both_ways(
        layout(modules={"some.long.path": "short"}),
        "import some.long.path\nsome.long.path.f()\n",
        "import short\nshort.f()\n",
    )


def test_t51_an_import_in_a_function_stays_there() -> None:
    """A function-level import is not hoisted."""
    both_ways(
        AB, "def f():\n    from a import b\n    return b.x\n", "def f():\n    from c import d as b\n    return b.x\n"
    )


def test_t59_a_split_does_not_reindent() -> None:
    """Lines keep their indentation, whatever the length of what is inserted."""
    both_ways(
        KEEP,
        "if x:\n    from a import (\n        z,\n        b,\n    )\n",
        "if x:\n    from a import (\n        z,\n); from c import (\n        b,\n    )\n",
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("from a import x, b\n", "from a import x; from c import b\n"),
        ("from a import b, x\n", "from c import b; from a import x\n"),
        ("from a import x,b, y\n", "from a import x;from c import b; from a import y\n"),
        ("from a import x , b as q\n", "from a import x ; from c import b as q\n"),
        ("from a import x, \\\n    b\n", "from a import x; \\\n    from c import b\n"),
        ("from a import x, \\\r\n    b\r\n", "from a import x; \\\r\n    from c import b\r\n"),
        ("from a import (x, b)\n", "from a import (x, ); from c import (b)\n"),
        ("from a import (x, b,)  # noqa\n", "from a import (x, ); from c import (b,)  # noqa\n"),
        ("from a import (x,b, y)\n", "from a import (x,); from c import (b, ); from a import (y)\n"),
        (
            "from a import (\n    x,  # c1\n    b,  # c2\n)\n",
            "from a import (\n    x,  # c1\n); from c import (\n    b,  # c2\n)\n",
        ),
        (
            "from a import (\r\n    x,\r\n    b,\r\n)\r\n",
            "from a import (\r\n    x,\r\n); from c import (\r\n    b,\r\n)\r\n",
        ),
        (
            "from a import (\n    # first\n    x,\n\n    # second\n    b\n)\n",
            "from a import (\n    # first\n    x,\n\n    # second\n); from c import (\n    b\n)\n",
        ),
        ("from a import (x,\n    b)\n", "from a import (x,\n); from c import (\n    b)\n"),
        ("if z: from a import x, b", "if z: from a import x; from c import b"),
    ],
)
def test_names_that_part_ways_are_split_in_place(old: str, new: str) -> None:
    """A from-import whose names move to two modules is split so that the way back joins it byte for byte."""
    both_ways(KEEP, old, new)


def test_three_runs_are_split_and_joined() -> None:
    """Each run of names with one new home becomes a statement of its own."""
    at = layout({"p/a.py": "q/a.py", "p/b.py": "r/b.py"})
    both_ways(
        at, "from p import x, a, b, y\n", ("from p import x; from q import a; from r import b; from p import y\n")
    )


def test_two_modules_that_become_one_are_joined() -> None:
    """The way back of a split is the same rule read from the other side."""
    both_ways(KEEP.inverse(), "from a import x; from c import b\n", "from a import x, b\n")


def test_a_native_pair_of_statements_that_is_no_split_stays_two() -> None:
    """Two statements on one line whose modules do not meet are left apart."""
    both_ways(AB, "from a.b import x; from os import path\n", "from c.d import x; from os import path\n")
    both_ways(KEEP.inverse(), "from a import x;  from c  import b\n", "from a import x;  from a  import b\n")


RELATIVE = [
    # file moved
    ({"p/s/m.py": "p/m.py"}, "p/s/m.py", "from .x import y\n", "from .s.x import y\n"),
    ({"p/s/m.py": "p/m.py"}, "p/s/m.py", "from ..x import y\n", "from .x import y\n"),
    ({"p/s/m.py": "p/m.py"}, "p/s/m.py", "from . import x\n", "from .s import x\n"),
    ({"p/s/m.py": "p/m.py"}, "p/s/m.py", "from .. import x\n", "from . import x\n"),
    ({"p/m.py": "p/s/t/m.py"}, "p/m.py", "from .a.b import c\n", "from ...a.b import c\n"),
    ({"p/m.py": "p/s/m.py"}, "p/m.py", "from . import (\n    x,\n)\n", "from .. import (\n    x,\n)\n"),
    # target moved
    ({"p/x.py": "p/s/x.py"}, "p/m.py", "from .x import y\n", "from .s.x import y\n"),
    ({"p/x.py": "p/s/x.py"}, "p/m.py", "from . import x\n", "from .s import x\n"),
    ({"p/s/x.py": "p/x.py"}, "p/s/m.py", "from .x import y\n", "from ..x import y\n"),
    ({"p/x.py": "p/z.py"}, "p/m.py", "from . import x\n", "from . import z as x\n"),
    ({"p/x.py": "p/s/x.py"}, "p/m.py", "from . import w, x\n", "from . import w; from .s import x\n"),
    # both
    ({"p/s": "q/t"}, "p/s/m.py", "from .x import y\n", "from .x import y\n"),
    ({"p/s": "p/t/u"}, "p/s/m.py", "from ..x import y\n", "from ...x import y\n"),
    ({"p/m.py": "p/s/m.py", "p/x.py": "p/s/x.py"}, "p/m.py", "from .x import y\n", "from .x import y\n"),
    (
        {"p/m.py": "p/s/m.py", "p/x.py": "p/t/x.py"},
        "p/m.py",
        "from . import x, w\n",
        "from ..t import x; from .. import w\n",
    ),
    # a package's own file
    ({"p/x.py": "p/s/x.py"}, "p/__init__.py", "from .x import y\n", "from .s.x import y\n"),
    (
        {"p/s": "p/t"},
        "p/s/__init__.py",
        "from . import x\nfrom ..w import z\n",
        "from . import x\nfrom ..w import z\n",
    ),
    ({"p/s": "p/t/s"}, "p/s/__init__.py", "from ..w import z\n", "from ...w import z\n"),
    # more dots than needed
    ({"p/s/x.py": "p/s/z.py"}, "p/s/m.py", "from ..s.x import y\n", "from ..s.z import y\n"),
]


@pytest.mark.parametrize(("paths", "path", "old", "new"), RELATIVE)
def test_t53_a_relative_import_stays_relative_and_right(paths: dict[str, str], path: str, old: str, new: str) -> None:
    """Level and remainder follow both ends of a relative import."""
    both_ways(layout(paths), old, new, path)


def test_a_relative_import_across_top_packages_becomes_absolute() -> None:
    """Where no dots can reach the module any more, its full name is written."""
    at = layout({"p/s/m.py": "q/m.py"})
    assert (
        forth(at, b"from ..x import y\nfrom.z import w\n", "p/s/m.py")[0]
        == b"from p.x import y\nfrom p.s.z import w\n"
    )


def test_a_relative_import_beyond_the_top_package_is_left() -> None:
    """Dots that leave the top package mean nothing and are not guessed at."""
    unchanged(layout({"p/x.py": "q/x.py"}), "from ... import x\nfrom ...p import x\n", "p/m.py")


def test_glued_dots_keep_a_valid_statement() -> None:
    """`from .import x` gains the space it needs."""
    assert forth(layout({"p/x.py": "p/s/x.py"}), b"from .import x\n", "p/m.py")[0] == b"from .s import x\n"


def test_a_moved_module_that_a_symbol_renames_needs_no_alias() -> None:
    """Where a symbol renames the variable too, the import is written without `as`."""
    at = layout({"a/b.py": "c/d.py"}, symbols=(Symbol("b", "d"),))
    both_ways(at, "from a import b\nb.f()\n", "from c import d\nd.f()\n")


def test_words_rename_the_variable_with_its_module() -> None:
    """A symbol in words mode counts as well."""
    at = layout({"p/arctic_rl.py": "p/polar_rl.py"}, symbols=(Symbol("arctic", "polar", words=True),))
    both_ways(
        at, "from p import arctic_rl\nArcticFoo(arctic_rl.x)\n", "from p import polar_rl\nPolarFoo(polar_rl.x)\n"
    )


def test_a_moved_function_keeps_its_variable_by_an_alias() -> None:
    """A fragment that changes its name is imported under the old one."""
    at = layout(fragments={"a.py::f": "b.py::g"})
    both_ways(at, "from a import f, h\nf(h)\n", "from b import g as f; from a import h\nf(h)\n")


def test_a_star_that_no_longer_brings_a_moved_function_is_noted() -> None:
    """A star import cannot follow one name elsewhere; the place is named."""
    at = layout(fragments={"a.py::f": "b.py::f"})
    got, notes = forth(at, b"from a import *\nf()\n")
    assert got == b"from a import *\nf()\n"
    assert [note.kind for note in notes] == ["parts-ways"]


def test_an_import_root_is_not_part_of_the_module() -> None:
    """With a `src` root, modules are named from below it."""
    both_ways(layout({"src/a/b.py": "src/c/d.py"}, roots=("src",)), "import a.b\n", "import c.d\n", "src/use.py")
