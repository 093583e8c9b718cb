"""A sweep of knobs and training runs as probes of a gate."""

from __future__ import annotations

from typing import Any

import pytest

from parity.gate import knobs, smoke
from parity.knobs import Moved, Sweep, Turned
from parity.knobs_leaves import Knob
from parity.record import leaf
from parity.smoke.by_commit import Distance, Row, Walk
from parity.smoke.outcome import Compared, Finding
from parity.smoke.page_shown import Shown
from parity.verdict import Verdict
from porttool.manifest import load
from tests.support.projects import new_project

ALIVE = Moved("alive", ("client.lr",))
OTHER = Moved("alive", ("client.lr", "client.wd"))
DEAD = Moved("dead", cause="it moves nothing")


@pytest.fixture
def manifest(tmp_path):
    made = new_project(tmp_path)
    made.manifest.write_text(made.manifest.read_text() + "parity:\n  convergence:\n    scenarios: {plain: []}\n")
    return load(made.manifest)


def knob(key):
    told: dict[str, Any] = dict.fromkeys(Knob.__dataclass_fields__, "")
    return Knob(**{**told, "key": key, "was": "1", "now": "2"})


def turned(key, left, right, scenario="plain"):
    return Turned(scenario, knob(key), left, right)


def test_knobs_that_move_the_same(manifest):
    """One case for each scenario; knobs that are dead on both sides are told and fail nothing."""
    told = Sweep((turned("lr", ALIVE, ALIVE), turned("x", DEAD, DEAD), turned("lr", ALIVE, ALIVE, "zorro")), (), ())
    one = knobs.probe(manifest, told, 0)
    assert (one.verdict, [case.name for case in one.cases]) == (Verdict.MATCH, ["plain", "zorro"])
    assert one.told == "2 knobs, 1 dead on both sides"
    assert [(found.name, found.rule, found.counts) for case in one.cases for found in case.found] == [
        ("x", "shared", False)
    ]


@pytest.mark.parametrize(
    ("left", "right", "cause"),
    [
        (ALIVE, OTHER, "moves something else on each side"),
        (ALIVE, DEAD, "is alive on the left, dead on the right"),
    ],
)
def test_a_knob_that_differs(manifest, left, right, cause):
    """A knob that moves one side only, or the sides apart, differs."""
    one = knobs.probe(manifest, Sweep((turned("lr", left, right),), (), ()), 0)
    assert one.verdict is Verdict.DIFFER
    assert one.failing[0].cause.startswith(cause) and "1 -> 2" in one.failing[0].cause


def test_a_knob_that_moves_one_key_to_two_values(manifest):
    """The same keys move on both sides, and what they become differs: that is not the same."""
    one = knobs.probe(manifest, Sweep((Turned("plain", knob("lr"), ALIVE, ALIVE, ("client.lr",)),), (), ()), 0)
    assert one.verdict is Verdict.DIFFER
    assert one.failing[0].cause == "moves client.lr to another value on each side (1 -> 2)"


def test_a_knob_that_crashes_both_sides(manifest):
    """Nothing was seen of it: it is told, and not among those that move the same."""
    lost = Moved("crashed", cause="ValueError: no")
    one = knobs.probe(manifest, Sweep((turned("lr", ALIVE, ALIVE), turned("x", lost, lost)), (), ()), 0)
    assert (one.verdict, one.told) == (Verdict.MATCH, "2 knobs, 1 crashed on both sides")
    assert one.cases[0].reason == "1 knob moves the same"
    assert [(found.name, found.rule, found.counts) for found in one.cases[0].found] == [("x", "shared", False)]
    assert one.cases[0].found[0].cause.startswith("is crashed on both sides")


def test_a_dead_knob_fails_where_the_manifest_says_so(manifest):
    """What `parity.shared` names fails although both sides share it."""
    bad = turned("x", DEAD, DEAD)
    one = knobs.probe(manifest, Sweep((bad,), (), (), "", (bad,)), 0)
    assert (one.verdict, one.failing[0].rule) == (Verdict.DIFFER, "shared")


@pytest.mark.parametrize("told", [Sweep((), (), ()), Sweep((turned("x", DEAD, DEAD),), (), (), "a side crashed")])
def test_nothing_swept_is_incomparable(manifest, told):
    """No knob, or a side that crashed: no match."""
    assert knobs.probe(manifest, told, 0).verdict is Verdict.INCOMPARABLE


def shown(verdict, *findings, shared=(), equal=6):
    told = Compared("plain", "exact", (1,), 6, verdict, "a reason", findings, shared, equal_steps=equal, of_steps=6)
    return Shown(told, (), (), ("recipe", "port/x"))


WRONG = Finding("step[2].loss", leaf(1.0), leaf(2.0), "exact", "the left has another loss", step=2, metric="loss")


def test_training_runs_that_match(manifest):
    """A case for each scenario, with the steps that are equal."""
    one = smoke.probe(manifest, [shown(Verdict.MATCH)], 0)
    assert (one.name, one.verdict, one.cases[0].compared) == ("convergence", Verdict.MATCH, 6)
    assert one.told == "1 scenario, 6 of 6 training steps equal bit for bit"
    assert one.cases[0].place.path == "manifests/m.yaml" and one.cases[0].place.line > 1


def test_training_runs_that_differ(manifest):
    """The first step that differs is the first finding; a law that both break is told, and fails nothing."""
    law = Finding("law.ratio", None, None, "law", "the ratio is not 1", "both")
    one = smoke.probe(manifest, [shown(Verdict.DIFFER, WRONG, shared=(law,), equal=1)], 0)
    assert one.verdict is Verdict.DIFFER
    assert [(f.key, f.rule, f.counts) for f in one.cases[0].found] == [
        ("plain/step[2].loss", "exact", True),
        ("plain/law.ratio", "shared", False),
    ]
    assert one.failing[0].left == "1.0 (float)"


def test_training_runs_that_cannot_be_compared(manifest):
    """Rewards that never vary, or a side that died: INCOMPARABLE with the reason."""
    one = smoke.probe(manifest, [shown(Verdict.INCOMPARABLE, equal=0)], 0)
    assert (one.verdict, one.cases[0].reason) == (Verdict.INCOMPARABLE, "a reason")


def test_steps_after_a_run_that_was_lost():
    """After a commit whose run cannot be compared, none are counted: nobody knows."""
    told = shown(Verdict.INCOMPARABLE, equal=0).compared
    rows = tuple(Row(name, "subject", told, Distance(name == "a", 1, 0.0), 0) for name in "ab")
    assert set(smoke.differing([Walk("plain", rows)])) == {"b"}


def test_steps_by_commit():
    """Steps that differ are counted by commit and scenario."""

    def row(commit, equal):
        return Row(commit, "subject", shown(Verdict.DIFFER, equal=equal).compared, Distance(False, 0, 0.0), 0)

    walks = [Walk("plain", (row("a", 0), row("b", 6))), Walk("zorro", (row("a", 4), row("b", 6)))]
    assert smoke.differing(walks) == {"a": {"plain": 6, "zorro": 2}, "b": {"plain": 0, "zorro": 0}}
