"""Real sources and damaged ones: nothing crashes, every edit fits, what parsed still parses, and it comes back."""

from __future__ import annotations

import ast
import sysconfig
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from porttool.edits import splice
from porttool.layout import Symbol
from porttool.rewrite.python import scan
from tests.porttool.python_support import forth, layout

STDLIB = Path(sysconfig.get_path("stdlib"))
MOVED = layout(
    {
        "asyncio/tasks.py": "asyncio/zcore/jobs.py",
        "logging": "zlumber/logs",
        "json/decoder.py": "json/zread.py",
        "email/mime": "email/zparts",
        "concurrent/futures/_base.py": "concurrent/zbase.py",
    },
    symbols=(Symbol("Future", "ZPromise", ("asyncio/futures.py",)), Symbol("OrderedDict", "ZSortedMap")),
)
SOURCES = [
    "asyncio/__init__.py",
    "asyncio/base_events.py",
    "asyncio/tasks.py",
    "asyncio/futures.py",
    "concurrent/futures/__init__.py",
    "concurrent/futures/_base.py",
    "concurrent/futures/thread.py",
    "email/mime/text.py",
    "json/__init__.py",
    "json/decoder.py",
    "logging/__init__.py",
    "logging/config.py",
    "collections/__init__.py",
    "inspect.py",
]
SNIPPETS = [
    b"from .. import x, (y)\n",
    b"from a import (x, b,\n",
    b"import a.b as c; a.b.f\n",
    b"config.k.j['x'].get('y')\n",
    b"def f(config):\n\tk = config.k\n\treturn k.j\n",
    b"f'{a.b:{config.k}}' b'\\na.b'\n",
    b"__all__ = ['S']\nfrom a.b import S\nclass S(S): S: S\n",
    b"match a.b:\n case a.b.S(): S\n",
    b"try: import t\nexcept E: t = None\n",
    b"'''a.b\r\n",
    b"\\\n",
    b"\xff",
    b"#a/b.py\r",
]
DAMAGED = layout(
    {"a/b.py": "c/d/e.py", "t.py": "u/v.py"},
    keys={"k.j": "m.n.o", "k": "m"},
    symbols=(Symbol("S", "S2", ("a/b.py",)),),
)


@pytest.mark.parametrize("name", SOURCES)
def test_a_library_source_goes_there_and_back(name: str) -> None:
    """A real file under a made-up layout parses afterwards and returns byte for byte."""
    source = (STDLIB / name).read_bytes()
    got, _ = forth(MOVED, source, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ast.parse(got)
    assert forth(MOVED.inverse(), got, MOVED.for_file(name).new_path)[0] == source


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(SNIPPETS), max_size=6), st.integers(0, 200), st.integers(0, 9), st.binary(max_size=3))
def test_damaged_sources_give_edits_that_fit(lines: list[bytes], at: int, cut: int, noise: bytes) -> None:
    """Whatever is cut out of a source or thrown into it, edits never overlap nor leave it."""
    source = b"".join(lines)
    source = source[:at] + noise + source[at + cut :]
    for path in ("a/b.py", "a/x/m.py", "use.py"):
        for side in (DAMAGED, DAMAGED.inverse()):
            splice(source, scan(source, side.for_file(path)).edits)
