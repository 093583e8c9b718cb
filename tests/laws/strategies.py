"""Generated layouts and trees, for the laws."""

from __future__ import annotations

from pathlib import Path

from hypothesis import assume
from hypothesis import strategies as st

from porttool.errors import LayoutError
from porttool.layout import Layout, Symbol, paths_renaming
from porttool.names import Pair, Renaming

FOLDERS = ("pkg", "pkg/sub", "lib")
STEMS = ("old", "util", "new", "conf")
WORDS = ("old", "util", "new", "conf", "Old", "New", "pkg", "sub", "lib", "x")

segment = st.sampled_from(STEMS)
file_path = st.builds(
    lambda f, s, e: f"{f}/{s}{e}", st.sampled_from(FOLDERS), segment, st.sampled_from((".py", ".yaml", ".md", ".sh"))
)
word = st.sampled_from(WORDS)
dotted = st.lists(word, min_size=1, max_size=3).map(".".join)


symbol = st.builds(
    Symbol,
    st.sampled_from(("Old", "old", "conf")),
    st.sampled_from(("New", "Fresh", "util")),
    scope=st.sampled_from(((), (), ("pkg/",), ("pkg/old.py",))),
    words=st.booleans(),
    one_way=st.sampled_from((False, False, True)),
)
GLOBS = ({}, {}, {}, {"pkg/*.md": "lib/*.md"}, {"lib/o*.py": "pkg/n*.py"})


def pairs(names):
    return tuple(Pair(tuple(old.split(".")), tuple(new.split("."))) for old, new in names.items())


@st.composite
def layouts(draw):
    """Layouts of all kinds of pairs whose names are partly in use, so that the domain matters."""
    paths = draw(st.dictionaries(st.one_of(file_path, st.sampled_from(FOLDERS)), file_path, max_size=2))
    paths = {old: new for old, new in paths.items() if Path(old).suffix == Path(new).suffix}
    try:
        return Layout(
            paths=paths_renaming(paths | draw(st.sampled_from(GLOBS))),
            extra_modules=pairs(draw(st.dictionaries(dotted, dotted, max_size=1))),
            symbols=tuple(draw(st.lists(symbol, max_size=2))),
            keys=Renaming("key", pairs(draw(st.dictionaries(dotted, dotted, max_size=2)))),
        )
    except LayoutError:
        assume(False)


python_line = st.one_of(
    dotted.map("import {}".format),
    st.tuples(dotted, word).map(lambda t: "from {} import {}".format(*t)),
    st.tuples(st.sampled_from((".", "..", ".util", "..sub")), word).map(lambda t: "from {} import {}".format(*t)),
    st.tuples(dotted, word, word).map(lambda t: "from {} import {}, {}".format(*t)),
    st.tuples(dotted, word, word).map(lambda t: "from {} import (\n    {},  # why\n    {},\n)".format(*t)),
    st.tuples(word, dotted).map(lambda t: "{} = {}".format(*t)),
    st.tuples(word, dotted).map(lambda t: "def {}(a):\n    return cfg.{}".format(*t)),
    dotted.map('call("{}")'.format),
    dotted.map("# see {}".format),
)
yaml_line = st.one_of(
    word.map("{}: 1".format),
    st.tuples(word, word).map(lambda t: "{}:\n  {}: 2".format(*t)),
    st.tuples(word, dotted).map(lambda t: "{}: ${{{}}}".format(*t)),
    dotted.map("# {}".format),
)
shell_line = st.one_of(
    dotted.map("python -m {}".format),
    st.tuples(dotted, dotted).map(lambda t: "python x.py {}=1 +{}=2".format(*t)),
    file_path.map("cat {}".format),
)
text_line = st.one_of(dotted, file_path, dotted.map("`{}=1`".format), st.text(alphabet="a.-/_ \t\r`\"'é", max_size=12))
LINES = {".py": python_line, ".yaml": yaml_line, ".sh": shell_line, ".md": text_line}


@st.composite
def trees(draw):
    """A few files of every language, with and without a final newline."""
    files = {}
    for path in draw(st.lists(file_path, min_size=1, max_size=4, unique=True)):
        lines = draw(st.lists(st.one_of(LINES[Path(path).suffix], text_line), max_size=6))
        eol = draw(st.sampled_from(("\n", "\n", "\r\n")))
        files[path] = (eol.join(lines) + draw(st.sampled_from(("", eol)))).encode()
    return files
