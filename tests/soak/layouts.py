"""Random renamings and layouts of every kind, whose names are sometimes in use already."""

from __future__ import annotations

from porttool.errors import LayoutError
from porttool.layout import Fragment, Layout, Symbol, fragment_end
from porttool.names import Name, Pair, Renaming
from tests.soak.cases import Names
from tests.soak.pick import Pick, Rejected

# Names in which one is the beginning of the next, and names that occur on both sides.
OLD = ("alpha", "beta", "core", "conf", "alpha_x")
NEW = ("nova", "prime", "fresh", "fresh_x", "zeta")
FOLDERS = ("pkg", "pkg/sub", "lib", "src/pkg")
SUFFIXES = (".py", ".py", ".yaml", ".md", ".sh", ".txt", "")
CLASSES = ("Alpha", "AlphaWorker", "run_core", "BETA", "alpha", "é_core")
NEW_CLASSES = ("Nova", "NovaWorker", "run_prime", "ZETA", "nova", "ü_fresh")
SCOPES = ((), (), ("pkg/",), ("pkg/alpha.py",), ("lib/*.py", "pkg/sub/core.py"))
ROOTS = ((".",), (".",), ("src", "."), ("src",))
MOUNTS = ((), (), (("pkg/*.yaml", ("alpha",)),), (("lib/conf.yaml", ("core", "beta")),))
KEEPS = ((), (), (), ("pkg/",), ("lib/conf.yaml", "*.md"))
AFTERS = (None, None, "", "alpha", "core", "Other")
LEADS = (None, None, "", "\n", "\n\n", "# lead\n", "\n# lead\n")


def _new(pick: Pick) -> str:
    return pick.of(OLD) if pick.seldom(5) else pick.of(NEW)


def _path_pair(pick: Pick) -> tuple[str, str]:
    """A moved folder, a moved file, a module that becomes a package, or files that match a star."""
    shape = pick.of(("file", "file", "folder", "package", "star", "top"))
    old, new = pick.of(OLD), _new(pick)
    here, there = pick.of(FOLDERS), pick.of(FOLDERS)
    if shape == "top":
        return here.partition("/")[0], new
    if shape == "package":
        return f"{here}/{old}.py", f"{here}/{old}/__init__.py"
    if shape == "star":
        suffix = pick.of((".py", ".md"))
        return f"{here}/{old}_*{suffix}", f"{there}/*_{new}{suffix}"
    suffix = pick.of(SUFFIXES) if shape == "file" else ""
    deeper = f"/{_new(pick)}" if pick.seldom(3) else ""
    return f"{here}/{old}{suffix}", f"{there}{deeper}/{new}{suffix}"


def _dotted_pair(pick: Pick) -> tuple[Name, Name]:
    """Two dotted names of one to three segments, alike at their head or not at all."""
    head = pick.some(lambda: pick.of(OLD), 2)
    new_head = pick.some(lambda: _new(pick), 2) if pick.seldom(2) else head
    return (*head, pick.of(OLD)), (*new_head, _new(pick))


def _symbol(pick: Pick) -> Symbol:
    """A symbol: whole, as a word of tokens, or as any part of them; everywhere or in some files."""
    kind = pick.of(("whole", "whole", "whole", "words", "part"))
    old, new = pick.of(CLASSES), pick.of(CLASSES if pick.seldom(4) else NEW_CLASSES)
    return Symbol(old, new, pick.of(SCOPES), kind == "words", pick.seldom(), part=kind == "part")


def _fragment(pick: Pick) -> Fragment:
    """A block of YAML that becomes a file or moves to another one, or a definition that moves."""
    old, new = pick.of(OLD), _new(pick)
    ends = pick.of(
        (
            (f"lib/conf.yaml#{old}", f"lib/{new}.yaml#"),
            (f"lib/conf.yaml#alpha.{old}", f"pkg/{new}.yaml#"),
            (f"lib/conf.yaml#{old}", f"lib/core.yaml#{new}"),
            (f"lib/{old}.yaml#", f"lib/conf.yaml#{new}"),
            (f"pkg/alpha.py::{old}", f"lib/core.py::{new}"),
            (f"pkg/alpha.py::Alpha.{old}", f"lib/core.py::Nova.{new}"),
            (f"pkg/alpha.py::Alpha.{old}", f"pkg/alpha.py::{new}"),
        )
    )
    made = [fragment_end(end, pick.of(AFTERS), pick.of(LEADS)) for end in ends]
    return Fragment(made[0], made[1])


def _small_name(pick: Pick) -> Name:
    return tuple(pick.some(lambda: pick.of(("a", "b", "ab", "c")), 3, 1))


def names(pick: Pick) -> Names:
    """A renaming over a small universe, so that pairs meet (paths may hold stars), and names to rename."""
    pairs = pick.some(lambda: Pair(_small_name(pick), _small_name(pick), pick.seldom()), 4)
    separator = pick.of((".", "/"))
    if separator == "/" and pick.seldom(2):
        star, other = pick.of(("*", "a*", "*b", "a*b")), pick.of(("*", "c*", "*c", "a*", "x_*_y"))
        pairs.append(Pair((*_small_name(pick)[:1], star), (*_small_name(pick)[:1], other)))
    segments = ("a", "b", "ab", "c", "aXb", "x_a_y")
    told = pick.some(lambda: tuple(pick.some(lambda: pick.of(segments), 4)), 12)
    try:
        return Names(Renaming("name", tuple(pairs), separator), tuple(told))
    except LayoutError as fault:
        raise Rejected from fault


def layouts(pick: Pick) -> Layout:
    """A layout of some of the five kinds of pairs."""
    paths = dict(pick.some(lambda: _path_pair(pick), 3))
    one_way = pick.seldom()
    pairs = [Pair(tuple(old.split("/")), tuple(new.split("/"))) for old, new in paths.items()]
    if pairs and one_way:
        pairs[0] = Pair(pairs[0].old, pairs[0].new, True)
    go = (Pair(("ex.org", "alpha"), ("ex.org", "nova")),)
    try:
        made = Layout(
            paths=Renaming("path", tuple(pairs), "/"),
            extra_modules=tuple(pick.some(lambda: Pair(*_dotted_pair(pick), pick.seldom()), 1)),
            extra_imports=go if pick.seldom(4) else (),
            symbols=tuple(pick.some(lambda: _symbol(pick), 2)),
            keys=Renaming("key", tuple(pick.some(lambda: Pair(*_dotted_pair(pick), pick.seldom()), 3))),
            fragments=tuple(pick.some(lambda: _fragment(pick), 2)) if pick.seldom(2) else (),
            roots=pick.of(ROOTS),
            mounts=pick.of(MOUNTS),
            keep=pick.of(KEEPS),
        )
        made.inverse(), made.modules, made.inverse().modules, made.digest
    except LayoutError as fault:
        raise Rejected from fault
    return made
