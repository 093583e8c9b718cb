"""A slice of the long fuzz, and the fuzz itself: it finds what is wrong, cuts it down and goes on."""

from __future__ import annotations

import os
import signal
from threading import Lock

import pytest

from porttool.errors import LayoutError
from porttool.layout import Layout, Symbol
from tests.soak import batches, child, corpus, reduce
from tests.soak.cases import CHECKED, REFUSED, Blob, Law, Raw, Tree, Violation, read, refusing, told
from tests.soak.laws import LAWS
from tests.soak.pick import Pick, shrunk, strategy
from tests.soak.tries import Batch


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_a_slice_of_the_fuzz(law):
    """Some examples of each law, always the same: nothing is found, and nearly all of them are worth checking."""
    tally = Batch(law).run(1, seconds=8, examples=law.slice_)
    assert [(problem.origin, problem.text, problem.example) for problem in tally.problems] == []
    assert tally.checked > 0


def holding(word: bytes) -> Law:
    """A law that no content holds `word`."""

    def make(pick: Pick) -> Raw:
        return Raw("", b"".join(pick.some(lambda: pick.of((b"x", b"a\n", b"long line\n", b"bad", b"worse")), 30)))

    def check(case: Raw) -> str:
        if word in case.content:
            raise Violation("holds", f"{case.content!r}")
        if b"worse" in case.content:
            raise ValueError("worse")
        return CHECKED

    return Law("toy", "", check, make)


def test_every_problem_is_kept_as_small_as_it_gets():
    """Two kinds of problems in one batch: each is cut down to what makes it, and the batch goes on behind them."""
    tally = Batch(holding(b"bad")).run(1, seconds=60, examples=200)
    found = {problem.origin.split()[0]: problem.example for problem in tally.problems}
    assert found == {"Violation": told(Raw("", b"bad")), "ValueError": told(Raw("", b"worse"))}
    assert tally.checked > 10


def test_hypothesis_goes_on_behind_a_problem():
    """What it has shrunk often enough is counted, and no longer stops a block."""
    law = holding(b"bad")
    drawn = Law("toy", "", law.check, cases=strategy(law.make))
    tally = Batch(drawn).run(1, seconds=60, examples=60)
    assert told(Raw("", b"bad")) in [problem.example for problem in tally.problems]
    assert sum(problem.count for problem in tally.problems) > len(tally.problems)


def test_a_slow_example_is_a_problem():
    """Processor time counts, not what else the machine does."""
    law = Law("toy", "", lambda case: str(sum(range(10**6))), lambda pick: Raw("", b""), seconds=0.0001)
    assert {problem.origin for problem in Batch(law).run(1, seconds=60, examples=3).problems} == {"slow"}


def test_a_refusal_is_an_answer():
    """A PortError is counted apart."""

    def refuse(case):
        raise LayoutError("no")

    tally = Batch(Law("toy", "", refusing(refuse), lambda pick: Raw("", b""))).run(1, seconds=60, examples=3)
    assert (tally.checked, tally.refused, tally.problems) == (0, 3, [])
    assert refusing(refuse)(Raw("", b"")) == REFUSED


def ran(code: int, out: bytes = b"", err: bytes = b""):
    return batches.subprocess.CompletedProcess([], code, out, err)


def test_a_crash_of_the_process_is_a_problem_with_its_example(tmp_path, monkeypatch):
    """The example it was at is cut down in further children."""
    mark, case = tmp_path / "mark", Raw("", b"one\ntwo\nkill\nthree\n" * 9)

    def run_child(*arguments, seconds):
        if arguments[1] == "--example":
            probe = read((tmp_path / "mark.probe").read_text())
            return ran(-signal.SIGSEGV if b"kill" in probe.content else 0)
        mark.write_text(told(case))
        return ran(-signal.SIGSEGV, err=b"Fatal Python error: Segmentation fault")

    monkeypatch.setattr(batches, "child", run_child)
    found = batches.Found(tmp_path)
    batches.batch(LAWS[0], 1, 1, 1, mark, found, Lock())
    (problem,) = found.crashes
    assert (problem.example, problem.origin) == (told(Raw("", b"kill")), "exit -11")
    assert "Segmentation fault" in found.write(problem).read_text()


def test_a_child_that_is_killed_does_not_end_the_run():
    """A real child process, and a real exit code."""
    assert batches.child("names", "1", "0", "1", os.devnull, seconds=60).returncode == 0
    assert batches.child("no law of this name", "1", "0", "1", os.devnull, seconds=60).returncode == 1
    assert batches.child("names", "1", "9", "99999999", os.devnull, seconds=0.2).returncode == -9


def test_a_run_adds_up_and_says_so(tmp_path, monkeypatch):
    """Totals over all batches; each problem is a file that can be tried again."""
    told_ = b'{"law": "names", "checked": 5, "refused": 2, "slowest": 0.5, "seconds": 1, "problems": [%s]}'
    problem = b'{"law": "names", "origin": "x y:1", "text": "bad", "example": "Raw(\'\', b\'\')", "count": 3}'
    outs = [told_ % problem, told_ % b""]
    monkeypatch.setattr(batches, "child", lambda *arguments, seconds: ran(0, outs.pop() if outs else told_ % b""))
    monkeypatch.setattr(batches, "BATCH", 0.01)
    lines: list[str] = []
    found = batches.run(LAWS[:1], 1, 0.0005, 1, tmp_path / "found", lines.append)
    assert found.totals["names"].checked % 5 == 0 and found.totals["names"].checked >= 10
    assert ["names", str(found.totals["names"].checked)] in [line.split()[:2] for line in found.table]
    (file,) = (tmp_path / "found").glob("names-*.txt")
    assert file.read_text().endswith(f"{child.EXAMPLE}Raw('', b'')\n") and lines


def test_an_example_reads_back():
    """What a report shows is an expression that gives the example again."""
    layout = Layout(symbols=(Symbol("A", "B", ("x/",)),))
    for case in (Tree(layout, {"a": b"\xff"}, {"a": 0o120000}), Blob(layout, "p\udcff", b""), Raw("layout", b"x")):
        assert read(told(case)) == case


def test_fewer_and_smaller_choices():
    """Shrinking keeps what fails, and nothing else."""
    assert shrunk([5, 9, 3, 7, 7, 1], lambda choices: 7 in choices) == [7]
    assert shrunk([50], lambda choices: bool(choices) and choices[0] >= 12) == [12]


def test_bytes_are_cut_down():
    """By lines, then by bytes; of a tree also by files."""
    layout = Layout()
    blob = b"".join(b"line %d\n" % n for n in range(50))
    assert reduce.reduced(Blob(layout, "x", blob), lambda case: b"4" in case.content).content == b"4"
    tree = Tree(layout, {"a": blob, "b": blob, "c": b"keep"})
    small = reduce.reduced(tree, lambda case: b"17" in case.files.get("b", b""))
    assert small.files == {"b": b"17"}


def test_a_broken_file_is_always_broken_alike():
    """A seed gives one example."""
    for make in (corpus.mutated_blob, corpus.mutated_tree, corpus.mutated_manifest):
        assert told(make(Pick(7))) == told(make(Pick(7)))
