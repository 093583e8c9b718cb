"""What a result says of itself, to the word and to the order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from parity.gate.result import TOLD, Case, Found, Gate, Open, Place, Point, Probe, Row, rows
from tests.gate.support import AT, DIFFER, LEDGER, LINE, MATCH, case, found, gate, probe


def test_nothing_is_said_that_was_not_told():
    """Places are of the target, findings count, nothing was compared and nothing took time."""
    assert Place("a", 1) == Place("a", 1, "target") and str(Place("a/b.py", 12)) == "a/b.py:12"
    assert Found("k", None, None, "exact", "") == Found("k", None, None, "exact", "", None, "", True)
    assert Case("c", MATCH, "r") == Case("c", MATCH, "r", (), 0, None)
    assert Probe("p", "static", ()) == Probe("p", "static", (), "", 0.0)
    assert Point("1", "s") == Point("1", "s", Open(), frozenset(), (), (), (), (), None, "", frozenset())
    empty = Gate(("a", "b"), "m")
    assert empty == Gate(("a", "b"), "m", (), (), {}, (), {}, {}, 0.0, "", ())
    assert (empty.answer, empty.roots, empty.unchecked) == ("nothing was checked", {}, {})
    assert hash(empty) == hash(Gate(("a", "b"), "m"))
    assert TOLD == ("expected", "shared", "declared")
    assert [found(cause=cause).why for cause in ("read by srv.py", "")] == ["read by srv.py", "not known"]


def test_the_curves_of_a_gate_are_neither_hashed_nor_printed():
    """They hold lists and thousands of numbers; what a gate is called by goes without them."""
    bare = Gate(("a", "b"), "m")
    curves = replace(bare, shown=([0.5],))
    assert hash(curves) == hash(bare) and repr(curves) == repr(bare) and curves != bare


@pytest.mark.parametrize(
    ("key", "name"), [("plain/meta.lr", "meta.lr"), ("plain/a/b", "a/b"), ("meta.lr", "meta.lr"), ("plain/", "plain/")]
)
def test_the_name_of_a_finding(key, name):
    """What stands behind the case in which it was seen."""
    assert found(key).name == name


def test_what_fails_of_a_probe():
    """Every finding that counts, case by case; and the cases that do not match."""
    first, second, told = found("a/x"), found("b/y"), found("a/z", counts=False)
    one = probe("wire", case("a", DIFFER, told, first), case("ok", MATCH), case("b", DIFFER, second))
    assert (one.failing, [bad.name for bad in one.bad]) == ((first, second), ["a", "b"])


def test_what_a_commit_did():
    """Each word with its keys, in this order; what it did not do is not said."""
    point = Point("1", "s", closes=("a",), opens=("b",), narrows=("c",), widens=("d", "e"))
    assert point.moves == (("closes", ("a",)), ("opens", ("b",)), ("narrows", ("c",)), ("widens", ("d", "e")))
    assert replace(point, closes=(), narrows=()).moves == (("opens", ("b",)), ("widens", ("d", "e")))
    assert Open(frozenset("a"), other=frozenset("b")).keys == {"a", "b"}


def test_what_was_not_seen_is_not_counted():
    """No keys of a side that ran are 0; where a scenario did not run only those of the others are known."""
    seen, lost = Point("1", "s", Open(frozenset("a"))), Point("1", "s", Open(frozenset("a")), incomparable="crashed")
    assert [seen.count("wire"), seen.count("config")] == ["1", "0"]
    assert [lost.count("wire"), lost.count("config")] == ["1", "-"]


def test_the_answer_is_of_the_first_bad_case_of_the_first_bad_probe():
    """All probes of the worst verdict are named."""
    bad = case("bold", DIFFER, reason="one"), case("plain", DIFFER, reason="two")
    told = gate(probe("proof"), probe("wire", case(verdict=MATCH), *bad), probe("config", case("odd", DIFFER)))
    assert told.answer == "wire, config: bold: one"
    whole = probe("guard", case("guard", DIFFER, reason="one"))
    assert gate(whole, probe("wire", case("odd", DIFFER))).answer == "guard, wire: one"


def test_the_answer_of_a_match_tells_every_tier():
    """What the guard and the proof say, how many scenarios the static probes share, what knobs and smoke say."""
    told = gate(
        probe("smoke", tier="smoke", told="6 steps"),
        probe("knobs", tier="knobs", told="4 knobs"),
        probe("wire", case("a", MATCH)),
        probe("config", case("a", MATCH), case("b", MATCH), case("c", MATCH)),
        probe("guard", tier="guard", told="0 changes"),
        probe("proof", tier="proof", told="1 commit"),
    )
    said = "0 changes; 1 commit; wire, config equal in 3 scenarios; 6 steps; 4 knobs"
    assert told.answer == f"recipe and port/x: {said}"
    one = gate(probe("wire", case("a", MATCH)))
    assert one.answer == "recipe and port/x: wire equal in 1 scenario"
    assert gate(probe("guard", tier="guard", told="0 changes")).answer == "recipe and port/x: 0 changes"


def test_a_point_that_was_not_seen_is_passed_over():
    """Those behind it still tell."""
    lost = replace(LEDGER[0], incomparable="it crashed")
    assert gate(ledger=(lost, LEDGER[1], LEDGER[2])).opened_by("wire", found()) is LEDGER[1]


def test_only_the_training_probe_itself_is_asked_by_its_steps():
    """Beside it, another probe still has its keys in the ledger."""
    both = gate(probe("wire"), probe("convergence", tier="smoke"), ledger=LEDGER)
    points = (*(replace(point, steps=0) for point in LEDGER[:2]), replace(LEDGER[2], steps=3, apart=PLAIN))
    assert both.opened_by("wire", found()) is LEDGER[0]
    assert replace(both, ledger=points).opened_by("convergence", found("plain/loss")) is points[2]


PLAIN = frozenset({"plain"})


def test_each_scenario_of_the_training_runs_has_its_own_commit():
    """What another scenario did since an earlier commit is not told of this one."""
    apart = (frozenset({"bold"}), frozenset({"bold", "plain"}), PLAIN)
    points = tuple(replace(point, steps=3, apart=names) for point, names in zip(LEDGER, apart, strict=True))
    told = gate(probe("convergence", tier="smoke"), ledger=points)
    assert told.opened_by("convergence", found("plain/step[1].actor/loss")) is points[1]
    assert told.opened_by("convergence", found("bold/step[1].loss")) is None


@pytest.mark.parametrize(
    ("rule", "whole"), [*dict.fromkeys(("residual", "protected", "unused"), True).items(), ("one-way", False)]
)
def test_whether_a_reason_is_the_whole_of_its_first_finding(rule, whole):
    """Of the proof it is, but for what does not come back; what fails nothing is not asked."""
    told = found(rule="exact" if whole else "residual", counts=False)
    assert case("a", DIFFER, told, found(rule=rule), found()).whole is whole
    assert case("a", MATCH, found(rule="residual", counts=False)).whole is False


def test_findings_are_one_row_where_all_that_is_told_is_the_same():
    """Values, rule, cause and a line of the target tell them apart; a line of the manifest does not."""
    cases = [
        case("a", DIFFER, found("a/k", place=LINE)),
        case("b", DIFFER, found("b/k", place=LINE), found("b/k", place=LINE)),
        case("c", DIFFER, found("c/k", place=replace_line(LINE))),
        case("d", DIFFER, found("d/k", place=AT)),
        case("e", DIFFER, found("e/k", place=replace_line(AT))),
        case("f", DIFFER, found("f/k", place=None)),
        case("g", DIFFER, found("g/k", place=None, rule="within")),
        case("h", DIFFER, found("h/k", place=None, cause="read elsewhere")),
        case("i", DIFFER, found("i/k", place=None, left="0 (int)")),
        case("j", DIFFER, found("j/other", place=None)),
    ]
    told = rows(probe("wire", *cases))
    assert [row.cases for row in told] == [("a", "b"), ("c",), ("d", "e", "f"), ("g",), ("h",), ("i",), ("j",)]
    assert told[0] == Row("wire", cases[0].found[0], ("a", "b"))


def replace_line(place):
    return place._replace(line=place.line + 1)


def test_what_fails_nothing_is_one_row_whatever_its_values():
    """It is told once for all; the findings may be given."""
    told = [(case(name, MATCH), found(f"{name}/k", left=name, counts=False)) for name in "ab"]
    assert [row.cases for row in rows(probe("wire"), told)] == [("a", "b")]
    assert rows(probe("wire", case("a", DIFFER)), []) == []
