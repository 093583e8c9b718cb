"""Who may import whom, how long things may be, and what nobody does."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("porttool", "parity")
FILES = sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
MAX_FILE, MAX_FUNCTION, MAX_WIDTH = 400, 60, 119

BELOW_PORT = {"errors", "edits", "names", "layout", "manifest", "repo", "translate", "plan", "resolutions"}
# A part is a module with its `_` companions (`repo` and `repo_*`), or a package. Each may import those it lists.
PARTS: dict[str, set[str]] = {
    "errors": set(),
    "edits": set(),
    "nearest": set(),
    "names": {"errors"},
    "layout": {"errors", "names"},
    "manifest": {"errors", "edits", "nearest", "names", "layout"},
    "schema": {"manifest"},
    "rewrite": {"errors", "edits", "names", "layout"},
    "repo": {"errors"},
    "translate": {"errors", "edits", "names", "layout", "rewrite", "repo"},
    "leftovers": {"errors", "edits", "names", "layout", "rewrite", "repo", "translate"},
    "plan": {"errors", "names", "layout", "manifest", "repo", "translate", "leftovers"},
    "resolutions": {"errors", "edits", "names", "layout", "manifest", "repo", "translate", "plan"},
    "port": {"errors", "edits", "names", "layout", "manifest", "repo", "translate", "plan", "resolutions"},
    "restructure": BELOW_PORT | {"port"},
    "proof": BELOW_PORT | {"leftovers", "port", "restructure"},
    "infer": {"errors", "edits", "names", "layout", "rewrite", "repo", "translate", "manifest"},
    "init": {"errors", "names", "layout", "repo", "infer"},
    "status": BELOW_PORT | {"rewrite", "port", "proof", "infer"},
    "vendor": {"errors", "manifest", "repo"},
    "style": set(),
    "report": BELOW_PORT | {"leftovers", "port", "proof", "status", "style"},
    "screen": BELOW_PORT | {"leftovers", "port", "proof", "status", "restructure", "report"},
    "audit": BELOW_PORT | {"leftovers", "port", "proof", "report", "style"},
}  # fmt: skip
# The surface: may import all.
JOINS = {"cli", "arguments", "completion", "crash", "verbs", "bench", "__main__", "__init__"}
PRINTS = {"cli", "verbs", "bench", "crash"}
OWN_COMMAND = {"vendor_series.py"}  # a maintainer's tool, run as `python -m`
TRAINER = {"torch", "deepspeed", "verl", "ray", "omegaconf", "transformers", "tensordict", "arctic_platform"}
GIT = {"git", "pygit2", "gitdb"}


def part_of(module: str) -> str:
    """The part of a dotted module below porttool: `repo_merge` is of `repo`, `rewrite.text` of `rewrite`."""
    first = module.split(".")[0]
    if first in PARTS or first in JOINS:
        return first
    known = [part for part in (*PARTS, *JOINS) if first.startswith(f"{part}_")]
    return max(known, key=len, default=first)


def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"), str(file))


def imports(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Absolute names that a module imports, each with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import"
            module = node.module or ""
            submodules = module == "porttool"
            yield from ((f"{module}.{a.name}" if submodules else module, node.lineno) for a in node.names)


def own_part(file: Path) -> str:
    parts = file.relative_to(ROOT / "porttool").with_suffix("").parts
    return part_of(".".join(parts))


def forbidden_imports(part: str, tree: ast.AST) -> list[str]:
    """What a part imports and may not."""
    found = []
    for name, line in imports(tree):
        top, _, rest = name.partition(".")
        if top == "parity" and part not in JOINS:
            found.append(f"line {line}: the engine imports {name}")
        elif top == "porttool" and rest and rest != "__version__" and part not in JOINS:
            other = part_of(rest)
            if other != part and other not in PARTS[part]:
                found.append(f"line {line}: {part} imports {other}")
        elif top in TRAINER:
            found.append(f"line {line}: the engine imports {name}")
        elif top in GIT and part != "repo":
            found.append(f"line {line}: {part} imports {name}")
    return found


def broad_handlers(tree: ast.AST) -> list[int]:
    """Lines of `except:`, `except Exception` and `except BaseException`."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            names = {name.id for name in caught if isinstance(name, ast.Name)}
            if node.type is None or names & {"Exception", "BaseException"}:
                found.append(node.lineno)
    return found


def long_functions(tree: ast.AST) -> list[str]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    spans = [(n.name, (n.end_lineno or 0) - n.lineno + 1) for n in ast.walk(tree) if isinstance(n, kinds)]
    return [f"{name}: {length} lines" for name, length in spans if length > MAX_FUNCTION]


def prints(tree: ast.AST) -> list[int]:
    """Lines that print or write to a standard stream."""
    found = []
    for node in ast.walk(tree):
        call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
        if call or (isinstance(node, ast.Attribute) and ast.unparse(node) in ("sys.stdout", "sys.stderr")):
            found.append(node.lineno)
    return found


def undocumented(tree: ast.Module) -> list[str]:
    """Public functions, classes and the module itself without a docstring."""
    found = [] if ast.get_docstring(tree) else ["the module"]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            found += [] if ast.get_docstring(node) else [node.name]
    return found


names = pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
engine = pytest.mark.parametrize(
    "file", [f for f in FILES if f.is_relative_to(ROOT / "porttool")], ids=lambda file: str(file.relative_to(ROOT))
)


@engine
def test_imports(file):
    """A module imports only what its place in the table allows."""
    assert forbidden_imports(own_part(file), tree_of(file)) == []


@pytest.mark.parametrize(
    "file", [f for f in FILES if f.is_relative_to(ROOT / "parity")], ids=lambda file: str(file.relative_to(ROOT))
)
def test_the_harness_is_light(file):
    """What compares, judges and reports needs no trainer stack; only probes and the stand-in touch it."""
    heavy = file.relative_to(ROOT / "parity").parts[0] in ("probes", "standin")
    found = [name for name, _ in imports(tree_of(file)) if name.partition(".")[0] in TRAINER]
    assert heavy or found == []


@pytest.mark.parametrize("file", [*FILES, *TESTS], ids=lambda file: str(file.relative_to(ROOT)))
def test_ceilings(file):
    """No file is longer than 400 lines or wider than 119 columns, no function longer than 60 lines."""
    lines = file.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MAX_FILE
    assert [number for number, line in enumerate(lines, 1) if len(line) > MAX_WIDTH] == []
    assert long_functions(tree_of(file)) == []


@names
def test_no_broad_except(file):
    """Faults are caught by name; only the last line of defence in the command line catches all."""
    allowed = 1 if file == ROOT / "porttool" / "cli.py" else 0
    assert len(broad_handlers(tree_of(file))) == allowed


@engine
def test_only_the_surface_prints(file):
    """The engine returns values; the command line alone writes to the terminal."""
    if own_part(file) not in PRINTS and file.name not in OWN_COMMAND:
        assert prints(tree_of(file)) == []


@names
def test_public_names_are_documented(file):
    """Each public name says what it is."""
    if file.parent.name != "verbs":
        assert undocumented(tree_of(file)) == []


@names
def test_annotations_are_postponed(file):
    """Modules with code start with the same future import."""
    if len(tree_of(file).body) > 2:
        assert "from __future__ import annotations" in file.read_text(encoding="utf-8")


def test_the_table_is_a_hierarchy():
    """No two parts may import each other."""
    done: set[str] = set()
    while ready := [part for part in PARTS if part not in done and PARTS[part] <= done]:
        done.update(ready)
    assert done == set(PARTS)


def test_every_module_has_a_place():
    """A new module is put into the table, or into the part it belongs to by its name."""
    known = {*PARTS, *JOINS}
    assert [file.name for file in FILES if file.parent.name == "porttool" and own_part(file) not in known] == []


@pytest.mark.parametrize(
    ("part", "code"),
    [
        ("names", "from porttool.layout import Layout"),
        ("layout", "from porttool import repo"),
        ("rewrite", "import porttool.translate"),
        ("plan", "import pygit2"),
        ("port", "from git import Repo"),
        ("translate", "import torch"),
        ("plan", "def f():\n    from omegaconf import OmegaConf"),
        ("repo", "import parity.gate"),
    ],
)
def test_the_import_check_sees(part, code):
    """Each kind of forbidden import is found, wherever it stands."""
    assert forbidden_imports(part, ast.parse(code))


def test_the_other_checks_see():
    """Each check finds what it is for."""
    assert broad_handlers(ast.parse("try:\n    pass\nexcept (OSError, Exception):\n    pass")) == [3]
    assert broad_handlers(ast.parse("try:\n    pass\nexcept:\n    pass")) == [3]
    assert broad_handlers(ast.parse("try:\n    pass\nexcept OSError:\n    pass")) == []
    assert long_functions(ast.parse("def f():\n" + "    x = 1\n" * 60)) == ["f: 61 lines"]
    assert prints(ast.parse("print(1)\nimport sys\nsys.stderr.write('x')")) == [1, 3]
    assert undocumented(ast.parse("def f(): pass\ndef _g(): pass\n")) == ["the module", "f"]


def test_no_workplace_in_the_sources():
    """No machine path, session word or registry host in what we ship."""
    word = re.compile(r"/work/|/root/|\bpyenv\b|pypi\.org|files\.pythonhosted|\bClaude\b|\bAI-generated\b")
    shipped = [*FILES, *TESTS, ROOT / "pyproject.toml", ROOT / "Makefile", ROOT / ".ci" / "run"]
    me = Path(__file__).resolve()
    assert [f for f in shipped if f.resolve() != me and word.search(f.read_text(encoding="utf-8"))] == []
