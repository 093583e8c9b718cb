"""Names in code: chains rooted at an import, renamed symbols, strings and comments."""

from __future__ import annotations

import pytest

from porttool.layout import Symbol
from tests.porttool.python_support import both_ways, forth, layout, unchanged

AB = layout({"a/b.py": "c/d.py"})
SCOPED = layout({"pkg/mod.py": "pkg2/mod2.py"}, symbols=(Symbol("Symbol", "Symbol2", ("pkg/mod.py",)),))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import a.b\na.b.f(a.b.g.h)\n", "import c.d\nc.d.f(c.d.g.h)\n"),
        (
            ("import a.b\n@a.b.dec\ndef f(x: a.b.T = a.b.k) -> a.b.R[a.b.S]: ...\n"),
            ("import c.d\n@c.d.dec\ndef f(x: c.d.T = c.d.k) -> c.d.R[c.d.S]: ...\n"),
        ),
        ("import a.b\nclass C(a.b.D): x = a.b.y\n", "import c.d\nclass C(c.d.D): x = c.d.y\n"),
        ("import a.b\nx = f'{a.b.y!r:>{a.b.w}}'\n", "import c.d\nx = f'{c.d.y!r:>{c.d.w}}'\n"),
        ("import a.b\nmatch p:\n    case a.b.K(): pass\n", "import c.d\nmatch p:\n    case c.d.K(): pass\n"),
        ("import a.b\na.b.x = 1\ndel a.b.x\n", "import c.d\nc.d.x = 1\ndel c.d.x\n"),
        ("import a.b\ny = [a.b.f(i) for i in a.b.g]\n", "import c.d\ny = [c.d.f(i) for i in c.d.g]\n"),
        ("def g():\n    import a.b\n    return a.b.f\n", "def g():\n    import c.d\n    return c.d.f\n"),
    ],
)
def test_a_chain_rooted_at_an_imported_package_follows_it(old: str, new: str) -> None:
    """`a.b.f` is rewritten wherever `a` is the imported package."""
    both_ways(AB, old, new)


@pytest.mark.parametrize(
    "body",
    [
        "def f(a):\n    return a.b.x\n",
        "def f():\n    a = g()\n    return a.b.x\n",
        "x = lambda a: a.b.x\n",
        "y = [a.b.x for a in z]\n",
        "def f():\n    for a, q in z: a.b.x\n",
        "def f():\n    with z as a: a.b.x\n",
        "self.a.b.x\n",
        "f(a=1).a.b\n",
        "def f():\n    from q import a\n    a.b.x\n",
    ],
)
def test_a_same_named_local_is_never_a_module(body: str) -> None:
    """A parameter, a local, an attribute or another import called `a` is not the package `a`."""
    both_ways(AB, "import a.b\n" + body, "import c.d\n" + body)
    unchanged(AB, body)


def test_the_iterable_of_a_comprehension_belongs_outside() -> None:
    """`[a for a in a.b.g]` reads the package in its first iterable."""
    both_ways(AB, "import a.b\n[a for a in a.b.g]\n", "import c.d\n[a for a in c.d.g]\n")


def test_a_class_body_is_not_seen_from_its_methods() -> None:
    """A class attribute `a` hides the package in the class body only."""
    both_ways(
        AB,
        "import a.b\nclass C:\n    a = 1\n    def f(self): return a.b.x\n",
        "import c.d\nclass C:\n    a = 1\n    def f(self): return c.d.x\n",
    )


def test_another_module_of_the_package_keeps_its_name() -> None:
    """Of two modules of one package only the moved one changes."""
    both_ways(AB, "import a.b\nimport a.e\na.b.f(a.e.g)\n", "import c.d\nimport a.e\nc.d.f(a.e.g)\n")


def test_a_package_that_is_no_longer_imported_is_noted() -> None:
    """What the rewritten import does not bind any more is named, not repaired."""
    got, notes = forth(AB, b"import a.b\na.other.f()\n")
    assert got == b"import c.d\na.other.f()\n"
    assert [(note.kind, note.offset) for note in notes] == [("unresolved-target", 11)]


def test_a_chain_that_no_import_can_reach_is_noted() -> None:
    """`import a` does not bring `c`, so `a.b.f` is left and named."""
    got, notes = forth(AB, b"import a\na.b.f()\n")
    assert got == b"import a\na.b.f()\n"
    assert [note.kind for note in notes] == ["unresolved-target"]


def test_a_local_that_would_capture_the_new_root_is_noted() -> None:
    """A local called like the new package keeps the chain from being rewritten."""
    got, notes = forth(AB, b"import a.b\ndef f(c): return a.b.g(c)\n")
    assert got == b"import c.d\ndef f(c): return a.b.g(c)\n"
    assert [note.kind for note in notes] == ["unresolved-target"]


def test_a_one_segment_module_is_renamed_in_code() -> None:
    """A top-level module is renamed in imports and code, with a fallback, never in text."""
    at = layout({"a.py": "x/y.py", "k.py": "l.py"})
    both_ways(at, "import a\na.f(a)  # a\n", "import x.y\nx.y.f(x.y)  # a\n")
    both_ways(
        at,
        "try:\n    import k\nexcept ImportError:\n    k = None\nk.f('k')\n",
        "try:\n    import l\nexcept ImportError:\n    l = None\nl.f('k')\n",
    )


def test_a_fallback_keeps_its_variable_by_an_alias() -> None:
    """Where `a = None` stands in for a module whose new name is dotted, `import x.y as a` keeps `a`."""
    at = layout({"a.py": "x/y.py", "k.py": "l.py"})
    both_ways(
        at,
        "try:\n    import a\nexcept ImportError:\n    a = None\nif a: a.f()\n",
        "try:\n    import x.y as a\nexcept ImportError:\n    a = None\nif a: a.f()\n",
    )
    both_ways(
        layout(modules={"a": "x.a"}),
        "try: import a, q\nexcept ImportError: a = None\n",
        "try: import x.a as a, q\nexcept ImportError: a = None\n",
    )
    both_ways(at, "import k\ndef f():\n    l = k.compile(k.M)\n", "import l as k\ndef f():\n    l = k.compile(k.M)\n")
    both_ways(at, "import k\nk = wrap(k)\nk.f()\n", "import l as k\nk = wrap(k)\nk.f()\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "from pkg.mod import Symbol\nx = Symbol(Symbol.y)\n",
            "from pkg2.mod2 import Symbol2\nx = Symbol2(Symbol2.y)\n",
        ),
        ("from pkg.mod import Symbol as S\nS()\n", "from pkg2.mod2 import Symbol2 as S\nS()\n"),
        ("import pkg.mod as m\nm.Symbol(m.other)\n", "import pkg2.mod2 as m\nm.Symbol2(m.other)\n"),
        ("from pkg import mod\nmod.Symbol()\n", "from pkg2 import mod2 as mod\nmod.Symbol2()\n"),
        ("import pkg.mod\npkg.mod.Symbol()\n", "import pkg2.mod2\npkg2.mod2.Symbol2()\n"),
        ("from pkg.mod import Symbol\nf(Symbol=1).Symbol\n", "from pkg2.mod2 import Symbol2\nf(Symbol=1).Symbol\n"),
        (
            ("from pkg.mod import Symbol\ndef f(Symbol): return Symbol\n"),
            ("from pkg2.mod2 import Symbol2\ndef f(Symbol): return Symbol\n"),
        ),
        (
            "from pkg.mod import Symbol\ndef f(): return Symbol\n",
            "from pkg2.mod2 import Symbol2\ndef f(): return Symbol2\n",
        ),
        (
            ("def f():\n    from pkg.mod import Symbol\n    return Symbol\nSymbol = 1\n"),
            ("def f():\n    from pkg2.mod2 import Symbol2\n    return Symbol2\nSymbol = 1\n"),
        ),
        (
            ("try:\n    from pkg.mod import Symbol\nexcept ImportError:\n    Symbol = None\n"),
            ("try:\n    from pkg2.mod2 import Symbol2\nexcept ImportError:\n    Symbol2 = None\n"),
        ),
        (
            ("from pkg.mod import Symbol\ndef f():\n    global Symbol\n    Symbol = 1\n"),
            ("from pkg2.mod2 import Symbol2\ndef f():\n    global Symbol2\n    Symbol2 = 1\n"),
        ),
        ("from pkg.mod import *\nSymbol()\n", "from pkg2.mod2 import *\nSymbol2()\n"),
    ],
)
def test_a_scoped_symbol_follows_its_imports(old: str, new: str) -> None:
    """What an import binds is renamed where it is used; the same word bound otherwise stays."""
    both_ways(SCOPED, old, new)


@pytest.mark.parametrize(
    "source",
    ["from other import Symbol\nSymbol()\n", "class Symbol: ...\n", "x.Symbol\n", "from pkg.mod2 import Symbol\n"],
)
def test_a_scoped_symbol_of_another_home_stays(source: str) -> None:
    """Nothing but the declared symbol is renamed outside its scope."""
    unchanged(SCOPED, source)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "from pkg.mod import Symbol\nSymbol2 = 1\nSymbol()\n",
            ("from pkg2.mod2 import Symbol2 as Symbol\nSymbol2 = 1\nSymbol()\n"),
        ),
        (
            ("from pkg.mod import Symbol\ndef f(Symbol2): return Symbol\n"),
            ("from pkg2.mod2 import Symbol2 as Symbol\ndef f(Symbol2): return Symbol\n"),
        ),
        (
            ("try:\n    from pkg.mod import Symbol\nexcept ImportError:\n    from q import Symbol\nSymbol()\n"),
            (
                "try:\n    from pkg2.mod2 import Symbol2 as Symbol\nexcept ImportError:\n"
                "    from q import Symbol\nSymbol()\n"
            ),
        ),
        (
            "from pkg.mod import Symbol\nclass Symbol(Symbol): ...\n",
            ("from pkg2.mod2 import Symbol2 as Symbol\nclass Symbol(Symbol): ...\n"),
        ),
    ],
)
def test_an_alias_keeps_the_variable_where_a_rename_would_clash(old: str, new: str) -> None:
    """Where the new word is taken, or something else binds the old one, `as` keeps the variable."""
    both_ways(SCOPED, old, new)


@pytest.mark.parametrize(
    "symbol",
    [
        Symbol("Symbol", "Symbol2", ("pkg/*",)),
        Symbol("Symbol", "Symbol2", ("pkg/",)),
        Symbol("Symbol", "Symbol2", ("pkg/mod.py",), words=True),
        Symbol("Symbol", "Symbol2", ("pkg/mod.py",), part=True),
    ],
)
def test_a_scope_reaches_the_importers_of_its_files(symbol: Symbol) -> None:
    """A scope of several files, or a symbol that is no whole token, is followed through imports all the same."""
    both_ways(
        layout({"pkg/mod.py": "pkg2/mod2.py"}, symbols=(symbol,)),
        "from pkg.mod import Symbol\nimport pkg.mod as m\nSymbol(m.Symbol, q.Symbol, Symbol=1)\n",
        "from pkg2.mod2 import Symbol2\nimport pkg2.mod2 as m\nSymbol2(m.Symbol2, q.Symbol, Symbol=1)\n",
    )


def test_inside_its_scope_a_symbol_is_every_token() -> None:
    """Definitions, attributes, keyword names, strings and comments of the home file are renamed, whole tokens only."""
    both_ways(
        SCOPED,
        (
            'class Symbol(Base):\n    """Symbol of Symbols."""\n'
            "f(Symbol=self.Symbol)  # Symbol, MySymbol\nSymbolic = 1\n"
        ),
        (
            'class Symbol2(Base):\n    """Symbol2 of Symbols."""\n'
            "f(Symbol2=self.Symbol2)  # Symbol2, MySymbol\nSymbolic = 1\n"
        ),
        "pkg/mod.py",
    )


def test_re_exports_and_all_follow() -> None:
    """An `__init__` that re-exports a renamed symbol says so in `__all__` too."""
    at = layout({"pkg/mod.py": "pkg/mod2.py"}, symbols=(Symbol("Symbol", "Symbol2", ("pkg/mod.py",)),))
    both_ways(
        at,
        'from .mod import Symbol, other\n\n__all__ = ["Symbol", "other"]\n__all__ += ("Symbol",)\nx = "Symbol"\n',
        'from .mod2 import Symbol2, other\n\n__all__ = ["Symbol2", "other"]\n__all__ += ("Symbol2",)\nx = "Symbol"\n',
        "pkg/__init__.py",
    )


def test_a_module_named_in_an_import_is_no_symbol() -> None:
    """A symbol that is spelled like a module leaves the module of an import alone."""
    both_ways(
        layout(symbols=(Symbol("worker", "actor"),)),
        "import worker.x\nfrom worker import y\nworker = 1\n",
        "import worker.x\nfrom worker import y\nactor = 1\n",
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('mocker.patch("a.b.f")\n', 'mocker.patch("c.d.f")\n'),
        ("importlib.import_module('a.b')\n", "importlib.import_module('c.d')\n"),
        ('"""See a.b.f and a/b.py.\n\na.bc stays.\n"""\n', '"""See c.d.f and c/d.py.\n\na.bc stays.\n"""\n'),
        ("x = 1  # a.b.f, a.b2\n", "x = 1  # c.d.f, a.b2\n"),
        ('x = "q\\na.b.f\\ta.b"\n', 'x = "q\\nc.d.f\\tc.d"\n'),
        ('x = f"{p}/a/b.py {a.b} {{a.b.c}}"\n', 'x = f"{p}/c/d.py {a.b} {{c.d.c}}"\n'),
        ('x = rb"a.b.f" B"a.b" "a." "b"\n', 'x = rb"c.d.f" B"c.d" "a." "b"\n'),
        ('x = {"_target_": "a.b.Cls", "e": "a.b:main"}\n', 'x = {"_target_": "c.d.Cls", "e": "c.d:main"}\n'),
    ],
)
def test_t55_names_in_strings_and_comments_are_text(old: str, new: str) -> None:
    """Patch targets, docstrings, f-strings, byte strings and comments follow; escapes shift nothing."""
    both_ways(AB, old, new)


def test_a_name_that_an_interpolation_continues_is_partial() -> None:
    """`a.b{x}` is not the module `a.b`."""
    unchanged(AB, 'x = f"a.b{y}" f"{y}za.b"\n')


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"import a.b\r\nx = a.b.f\r\n", b"import c.d\r\nx = c.d.f\r\n"),
        (b"import a.b", b"import c.d"),
        (b"\xef\xbb\xbfimport a.b\n", b"\xef\xbb\xbfimport c.d\n"),
        (
            (b"# -*- coding: latin-1 -*-\n# caf\xe9 a.b.f\nx = 'caf\xe9 a.b.f'\nimport a.b\n"),
            (b"# -*- coding: latin-1 -*-\n# caf\xe9 c.d.f\nx = 'caf\xe9 c.d.f'\nimport c.d\n"),
        ),
        (b"\x0cimport a.b\n\x0c\nclass A:\n\tx = a.b.f\n", b"\x0cimport c.d\n\x0c\nclass A:\n\tx = c.d.f\n"),
        ("import a.b\nné = a.b.é\n".encode(), "import c.d\nné = c.d.é\n".encode()),
    ],
)
def test_bytes_that_are_not_names_are_kept(old: bytes, new: bytes) -> None:
    """CRLF, a missing final newline, BOM, latin-1, form feeds and tabs survive."""
    both_ways(AB, old, new)


def test_a_broken_file_is_handled_outside_the_error() -> None:
    """A syntax error is noted, and what parses around it is rewritten."""
    got, notes = forth(AB, b"import a.b\nx = ((\ndef f(: pass\ny = 1\n\nimport a.b\n")
    assert got.startswith(b"import c.d\n")
    assert [note.kind for note in notes] == ["unparsable"]


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"\x00",
        b"import",
        b"from",
        b"from . import",
        b"import a.",
        b"from a import b,",
        b"(" * 3000 + b"a.b",
        b"a.b" + b".c" * 3000,
        b"\xff\xfe a.b",
        b"f'{a.b",
        b"'a.b",
        b'"""a.b',
    ],
)
def test_no_input_crashes(source: bytes) -> None:
    """Anything at all gives edits that can be spliced."""
    forth(AB, source)
    forth(SCOPED, source.replace(b"a.b", b"Symbol"))
