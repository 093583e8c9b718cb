"""Random files that mention the names of a layout, on both sides and nearly, in every form T has a rule for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from porttool.layout import Layout
from tests.soak.layouts import CLASSES, FOLDERS, NEW, OLD
from tests.soak.pick import Pick

Files = dict[str, bytes]
_SLOT = re.compile(r"<([A-Za-z]+)>")

PYTHON = (
    "import <M>", "import <M> as <W>", "import <M>, os, <M> as <W>", "from <M> import *", "from <P> import <T>",
    "from <P> import <T>, <T>", "from <P> import <T> as <W>, <T>", "from <P> import (<T>, <T>, <W>,)  # why",
    "from <P> import (\n    <T>,  # one\n    <T> as <W>,\n    <W>,\n)", "from . import <T>",
    "from .. import <T>, <W>", "from .<T> import <S>", "from ...<T>.<T> import <S>, <T>",
    "from .<T> import (\n    <S>,\n)", "try:\n    import <M>\nexcept E:\n    pass",
    "if TYPE_CHECKING:\n    from <P> import <T>",
    "def f(<T>, x=<S>):\n    from <P> import <T>\n    return <T>.x(<M>.y)", '__all__ = ["<S>", "<T>"]',
    "<M>.run(<S>)", "<S> = <M>.<S>", "class <S>(<M>.<S>, <S>):\n    <T> = <T>", "x.<S>.<T>(<T>=1)",
    'mock.patch("<M>.<S>", autospec=True)', "import_module('<M>')", 'cfg = {"_target_": "<M>.<S>"}',
    'f"{<M>.x} <M>.y {x}<S>"', 'b"<M>" r"\\d<P>" "\\n<S>"', '"""Doc of <M>.\n\nSee <F> and `<K>=1`.\n"""',
    "# about <M>, <F>, <S>; `<K>`", "config.<K>", 'config["<k>"]["<k>"]', 'cfg.get("<k>").<k>',
    'OmegaConf.select(cfg, "<K>")', "with open_dict(config.<K>):\n    config.<K> = 1",
    "sub = config.<K>\nsub.<k>\nuse(sub.<k>.<k>)", "self.cfg = config.<k>\nself.cfg.<k>",
    "def g(self):\n    self.<k> = config.<K>", 'args = ["<K>=1", "+<K>.x=2", "~<K>"]',
    'run(f"python -m <M> <K>={<W>}")', "lambda <T>: <T>", "[<T> for <T> in <M>]", "def <T>(a):\n    return <M>",
    "@<M>.deco\nasync def <S>(self): ...", "class Alpha:\n    def <T>(self):\n        return <S>",
    "global <T>; del <M>", "match <T>:\n    case <M>.x: pass", "<T>: <S> = <M>",
    'print("<F>", "./<F>", "$H/<F>:12")', "<N>",
)  # fmt: skip
YAML = (
    "<k>: 1", "<k>:\n  <k>: 2  # <K>\n  <k>:\n    <k>: x", "<k>: {<k>: 1, <k>: {<k>: 2}}", "'<k>': &a\n  x: 1",
    "<W>: *a", "<W>:\n  <<: *a\n  <k>: 1", "<W>: ${<K>}", "<k>:\n  <k>: ${.<k>} ${..<k>}", "x: ${oc.select:<K>,1}",
    "defaults:\n  - <T>\n  - <k>@<K>: <T>\n  - _self_", "defaults:\n- /<T>/<T>: x\n- override <k>: <T>",
    "_target_: <M>.<S>", "path: <F>", '"<k>": "<M>"', "list:\n  - <k>: 1\n    <k>: 2\n  - <F>",
    "overrides: [<K>=1, +<K>.x=2, ~<K>]", "overrides:\n- <K>=1\n- '+<K>=2'", "# <K>: <M> <F> <S>", "? <k>\n: 1",
    "<K>: 1", "---", "<k>: |\n  python -m <M> <K>=1\n  <F>", "<k>:\n\n  # note\n\n  <k>: [1, 2]\n\n  <k>: 'x'",
    "<k>: !!str x", "# @package <K>", "<N>",
)  # fmt: skip
SHELL = (
    "python -m <M> <K>=1 \\\n  +<K>.x=2 \\\n  ~<K>", "python <F> <k>=1 '<K>=[1,2]' \"<K>=$X\"",
    "<k>=1; export <k>=2", "ARGS+=(<K>=1 \"<K>.x=$Y\")", "cat <F> ./<F> \"$HERE/<F>\"",
    "cat <<EOF\n<K>=1 <F> <M>\nEOF", "for x in <F>; do <T> \"$x\"; done", "<S>() { echo <M>; }", "# <K>=1 <F>",
    "<W>=\"$(python -c 'import <M>')\"", "torchrun -m <M> group@<K>=x", "if [ -f <F> ]; then <W>; fi",
    "hydra.<K>=${<k>} <K>='${<K>}'", "<N>",
)  # fmt: skip
TEXT = (
    "See <F> and `<K>`, or `<M>.<S>`.", "[<W>](<F>#<T>) <S>s", "```bash\npython -m <M> <K>=1 ~<K>\n```",
    "```python\nfrom <P> import <T>\n```", "```yaml\n<k>:\n  <k>: 1\n```", "- `<F>:12`, **<S>**, <M>:<S>",
    "https://x.org/o/r/blob/main/<F>", "python <F> --x <k>=1", "<F>/x.c <F>.bak un<F> <F>_x", "<T> <T>s my<T> <T>_y",
    "#include \"<F>\"", "import \"ex.org/alpha/x\"", "${<K>} $<k> {<K>}", "<M>\t<K>=x,<K>=y", "é<S> <S>é „<M>”",
    "<N>",
)  # fmt: skip
FORMS = {"py": PYTHON, "yaml": YAML, "sh": SHELL, "md": TEXT}
NOISE = (
    "", "", "x = 1", "    y", "\t", "'", '"""', "(", "]", "\\", "\f", "é", "\ufeff", "\u2028", "a: b: c", "%",
    "{{ x }}", "\x00", "\udcff", "\r", "&", "$(", "<<E",
)  # fmt: skip
WORDS = ("x", "self", "os", "config", *OLD)


class Words:
    """What fills the slots of a form under one layout: its old names, and with `both` the new ones too, so that
    most of what is written cannot be undone."""

    def __init__(self, layout: Layout, *, both: bool) -> None:
        modules = _sides(layout.modules, ".", both=both)
        keys = _sides(layout.keys, ".", both=both)
        paths = [path.replace("*", "a") for path in _sides(layout.paths, "/", both=both)]
        symbols = [name for symbol in layout.symbols for name in (symbol.old, symbol.new)[: 1 + both]]
        ends = [end for f in layout.fragments for end in (f.old, f.new)[: 1 + both]]
        last = [name.rpartition(".")[2] for name in modules]
        key_ends = [name for end in ends for name in end.name]
        self.slots: dict[str, Sequence[str]] = {
            "M": _unique(modules, [m + end for m in modules for end in (".sub", "_x")], ["pkg.alpha", "os.path"]),
            "P": _unique([m.rpartition(".")[0] for m in modules if "." in m], modules, ["pkg", "lib.core"]),
            "T": _unique(last, symbols, [name for end in ends for name in end.name], ["alpha", "core"]),
            "S": _unique(symbols, [f"{s}s" for s in symbols], [f"my_{s}" for s in symbols], CLASSES[:3]),
            "K": _unique(keys, [f"{k}.leaf" for k in keys], [f"{k}x" for k in keys], key_ends, ["alpha.beta"]),
            "k": _unique([part for key in keys for part in key.split(".")], key_ends, ["leaf"]),
            "F": _unique(paths, [f"{p}/x.py" for p in paths], [f"{p}x" for p in paths], ["pkg/alpha.py"]),
            "W": (*WORDS, *NEW) if both else WORDS,
            "N": NOISE,
        }

    def fill(self, pick: Pick, form: str) -> str:
        """A form with each slot filled at random."""
        return _SLOT.sub(lambda slot: pick.of(self.slots[slot[1]]), form)


def _sides(pairs, separator: str, *, both: bool = True) -> list[str]:
    return [separator.join(name) for pair in pairs for name in (pair.old, pair.new)[: 1 + both] if name]


def _unique(*lists: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(word for words in lists for word in words if word))


def language(path: str) -> str:
    """Which forms a file is made of."""
    suffix = path.rpartition(".")[2]
    return suffix if suffix in FORMS else "md"


def paths(pick: Pick, layout: Layout) -> str:
    """A path that a pair moves, one beside it, or any other."""
    near = [path.replace("*", "a") for path in _sides(layout.paths, "/")]
    homes = [end.path for fragment in layout.fragments for end in (fragment.old, fragment.new)]
    if pick.seldom(3):
        path = pick.of(FOLDERS) + "/" + pick.of((*OLD, "nova", "__init__")) + pick.of(_ENDS)
    else:
        path = pick.of(("README.md", *near, *homes, *homes))
    if "." not in path.rpartition("/")[2]:
        path += pick.of(("/core.py", "/__init__.py", "/conf.yaml", "/x.sh", "", ".py"))
    return path


_ENDS = (".py", ".py", ".yaml", ".md", ".sh", ".bin")


def contents(pick: Pick, layout: Layout, path: str) -> bytes:
    """A file made of forms and noise, with either line end, mixed ones or none at the end, and odd bytes."""
    words = Words(layout, both=pick.seldom(3))
    forms = FORMS[language(path)]

    def line() -> str:
        return words.fill(pick, pick.of(pick.of((forms,) * 12 + (TEXT, NOISY))))

    lines = pick.some(line, 6)
    if pick.seldom(10):
        lines = [line if n % 2 else "    " + line.replace("\n", "\n    ") for n, line in enumerate(lines)]
    text = "\n".join(lines) + pick.of(("\n", "\n", "\n\n", ""))
    end = pick.of(("\n",) * 6 + ("\r\n", "\r\n", "mixed", "\r"))
    if end == "mixed":
        text = text.replace("\n", "\r\n", text.count("\n") // 2)
    elif end != "\n":
        text = text.replace("\n", end)
    return text.encode("utf-8", "surrogateescape")


NOISY = ("<N>", "")


def trees(pick: Pick, layout: Layout, *, most: int = 4) -> Files:
    """A tree of such files, in which no file is a folder of another."""
    files: Files = {}
    for path in pick.some(lambda: paths(pick, layout), most, 1):
        if not any(path == other or path.startswith(f"{other}/") or other.startswith(f"{path}/") for other in files):
            files[path] = contents(pick, layout, path)
    return files
