"""The tool that asks whether tests notice changes: it finds what weak tests miss, and takes no stale excuse."""

from __future__ import annotations

import ast
import itertools
import subprocess
import sys

import pytest

from tests.mutants.__main__ import file_of
from tests.mutants.judge import ROOT
from tests.mutants.known import Explained
from tests.mutants.mutate import Mutated
from tests.mutants.targets import TARGETS

SAMPLE = "tests.mutants.sample.parcel"
RUN = """\
import sys
from pathlib import Path
from tests.mutants.__main__ import main
from tests.mutants.judge import Target
sys.exit(main(sys.argv[3:], [Target(("tests.mutants.sample.parcel",), (sys.argv[1],))], Path(sys.argv[2])))
"""


@pytest.fixture
def mutants(tmp_path):
    """Run the tool on the sample, with some tests and some explanations."""

    def run(tests, explained="{}", *words):
        file = tmp_path / "equivalent.yaml"
        file.write_text(explained)
        command = [sys.executable, "-c", RUN, f"tests/mutants/sample/{tests}.py", str(file), *words]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    return run


def changes(tmp_path, source):
    file = tmp_path / "module.py"
    file.write_text(source)
    return [mutant.change for mutant in Mutated("module", file).mutants]


def test_strong_tests_kill_every_mutant(mutants):
    """Limits, defaults, constants and endless loops are all noticed: nothing is printed but the table."""
    told = mutants("strong")
    assert (told.returncode, told.stderr) == (0, "")
    head, row, seconds = told.stdout.splitlines()
    name, every, killed, explained, survived = row.split()
    assert head.split() == ["module", "mutants", "killed", "explained", "survived"] and seconds.endswith(" s")
    assert (name, every, explained, survived) == (SAMPLE, killed, "0", "0") and int(every) > 20


WEAK = """\
tests.mutants.sample.parcel:
  - function: price
    line: if weight > LIMIT
    change: weight > LIMIT => weight >= LIMIT
    why: nobody sends that much
  - function: ""
    line: LIMIT = 10
    change: 10 => 9
    why: ""
  - function: last
    line: items.pop(0)
    change: items.pop(0) => pass
    why: it is as good
"""


def test_survivors_of_weak_tests_are_told_and_can_be_explained(mutants):
    """Each at its line, run or not; so is what is explained and gone, killed, or given no reason. With a sentence for
    each survivor the exit code is 0, however many run at a time.
    """
    told = mutants("weak", WEAK)
    assert told.returncode == 1
    assert f"{SAMPLE}:10 price: weight > LIMIT => weight >= LIMIT\n    if weight > LIMIT:\n" in told.stdout
    assert f"{SAMPLE}:5 at the top: 10 => 11\n    LIMIT = 10\n" in told.stdout
    assert " unused: count + 1 => count - 1\n    return count + 1\n" in told.stdout
    assert f"\nexplained, but not there: {SAMPLE} price: weight > LIMIT => weight >= LIMIT\n" in told.stdout
    assert f"\nexplained, but killed: {SAMPLE} last: items.pop(0) => pass\n    items.pop(0)\n" in told.stdout
    assert f"\nno reason is given for {SAMPLE} at the top: 10 => 9\n" in told.stdout
    lines = told.stdout.splitlines()
    survived = [
        (first.split(" ", 1)[1], second.strip())
        for first, second in itertools.pairwise(lines)
        if first.startswith(f"{SAMPLE}:")
    ]
    explained = [f"{SAMPLE}:"]
    for change, line in survived:
        function, _, change = change.partition(": ")
        change, _, number = change.partition(" (number ")
        function = "" if function == "at the top" else function
        explained.append(f"  - {{function: {function!r}, line: {line!r}, change: {change!r}, why: it is a sample")
        explained[-1] += f", number: {number.rstrip(')')}}}" if number else "}"
    found = mutants("weak", "\n".join(explained), "--jobs", "2")
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.splitlines()[1].split()[3:] == [str(len(survived)), "0"]


def test_tests_that_fail_as_they_are_judge_nothing(mutants):
    """Red tests would kill everything: that is an answer of its own."""
    told = mutants("broken")
    assert (told.returncode, told.stdout) == (2, "")
    assert "broken.py::test_nothing fails" in told.stderr


def test_mutants_are_named_without_the_numbers_of_their_lines(tmp_path):
    """Lines put above a function change the place of its mutants and nothing else; twins are counted."""
    source = "def f(a):\n    g(a)\n    g(a)\n    return a + 1\n"
    found = []
    for text in (source, f"import os\n\n\n{source}"):
        (tmp_path / "module.py").write_text(text)
        found.append(Mutated("module", tmp_path / "module.py").mutants)
    assert found[0] == found[1] and len(set(found[0])) == len(found[0])
    assert [mutant.line + 3 for mutant in found[0]] == [mutant.line for mutant in found[1]]
    twins = [mutant for mutant in found[0] if mutant.change == "g(a) => pass"]
    assert [mutant.key.get("number") for mutant in twins] == [None, 2]


@pytest.mark.parametrize(
    ("source", "change"),
    [
        ("a < b", "a < b => a <= b"),
        ("a < b", "a < b => a >= b"),
        ("a is None", "a is None => a is not None"),
        ("a and b and c", "a and b and c => a or b or c"),
        ("a and b and c", "a and b and c => a and c"),
        ("a or b", "a or b => a"),
        ("not a", "not a => a"),
        ("-a", "-a => a"),
        ("a + 1.5", "a + 1.5 => a - 1.5"),
        ("a + 1.5", "1.5 => 0.5"),
        ("a or True", "True => False"),
        ("f('x')", "'x' => ''"),
        ("f('')", "'' => '?'"),
        ("f([a, b])", "[a, b] => []"),
        ("f({a})", "{a} => set()"),
        ("f({a: b})", "{a: b} => {}"),
        ("min(a, b)", "min(a, b) => max(a, b)"),
        ("any(a)", "any(a) => all(a)"),
        ("sorted(a, key=f)", "sorted(a, key=f) => list(a)"),
        ("sorted(a, key=f)", "sorted(a, key=f) => sorted(a)"),
        ("a.startswith(b)", "a.startswith(b) => a.endswith(b)"),
        ("a.get(b, c)", "a.get(b, c) => a.get(b)"),
        ("a.strip()", "a.strip() => a"),
        ("abs(a)", "abs(a) => a"),
        ("a[b:]", "b: =>"),
        ("a[1]", "1 => 2"),
        ("b if a else c", "b if a else c => b if not a else c"),
        ("f'{a + b} more'", "a + b => a - b"),
    ],
)
def test_each_kind_of_change_of_an_expression(tmp_path, source, change):
    """Operators, constants, calls, slices: each gives its mutants."""
    assert change in [one.strip(" :") for one in changes(tmp_path, f"def f(a, b, c):\n    x = {source}\n")]


@pytest.mark.parametrize(
    ("source", "change"),
    [
        ("g(a)", "g(a) => pass"),
        ("yield a", "yield a => pass"),
        ("raise a", "raise a => pass"),
        ("a += b", "a += b => pass"),
        ("a += b", "a += b => a -= b"),
        ("a[b] = c", "a[b] = c => pass"),
        ("return a", "return a => return None"),
        ("for x in a: continue", "continue => break"),
        ("for x in a: break", "break => pass"),
        ("for x in a: g(x)", "for x in a => in ()"),
        ("if a: g(b)", "if a => if not a"),
        ("while a: g(b)", "while a => while not a"),
        ("x = [y for y in a if y]", "for y in a if y => for y in a"),
    ],
)
def test_each_kind_of_change_of_a_statement(tmp_path, source, change):
    """Statements are taken out, tests turned round, loops and filters emptied."""
    assert change in [" ".join(one.split()) for one in changes(tmp_path, f"def f(a, b, c):\n    {source}\n")]


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring."""',
        "from __future__ import annotations",
        "__all__ = ['f']",
        "A = Literal['x', 'y']",
        "A = dict[str, int]",
        "def f(a: 'x') -> 'y': ...",
        "@dataclass(frozen=True)\nclass A(B): ...",
        "def f(a):\n    assert a is not None",
    ],
)
def test_what_no_test_could_notice_is_not_changed(tmp_path, source):
    """Docstrings, imports, annotations, decorators, and what only the type checker asks."""
    assert changes(tmp_path, source + "\n") == []


def test_every_mutant_of_a_module_compiles_and_leaves_the_tree_as_it_was(tmp_path):
    """One change at a time, of this tool itself."""
    mutated = Mutated("tests.mutants.mutate", ROOT / "tests/mutants/mutate.py")
    before = ast.dump(mutated.tree)
    for mutant in mutated.mutants:
        mutated.code(mutant)
    assert ast.dump(mutated.tree) == before and len(mutated.mutants) > 100


def test_what_is_explained_is_there():
    """Each explanation names a mutant of a module as it is now, and says in a sentence why it changes nothing."""
    modules = [name for target in TARGETS for name in target.modules]
    mutants = [mutant for name in modules for mutant in Mutated(name, file_of(name)).mutants]
    explained = Explained()
    assert [*explained.wrong, *explained.stale(modules, mutants, mutants)] == []
