"""The verdict of a gate is the worst of its probes, and its first line says where to look."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from parity.gate.result import Gate, Open, Probe, rows
from parity.verdict import Verdict
from tests.gate.support import (
    DIFFER,
    INCOMPARABLE,
    LEDGER,
    MATCH,
    PROOF,
    case,
    differing,
    found,
    gate,
    incomparable,
    probe,
)


def worst(verdicts):
    return next((one for one in (DIFFER, INCOMPARABLE) if one in verdicts), MATCH)


@pytest.mark.parametrize("verdicts", list(itertools.product(Verdict, repeat=3)))
def test_the_worst_probe_decides(verdicts):
    """DIFFER wherever any probe differs, else INCOMPARABLE wherever any is, else MATCH: every combination of three."""
    probes = [probe(f"p{place}", case(verdict=verdict)) for place, verdict in enumerate(verdicts)]
    assert gate(*probes).verdict is worst(verdicts)


def test_exit_codes():
    """MATCH 0, DIFFER 1, INCOMPARABLE 3."""
    assert [one.verdict.exit_code for one in (gate(), differing(), incomparable())] == [0, 1, 3]


def test_nothing_is_no_match():
    """A gate without probes, a probe without cases and a run that was ended early prove nothing."""
    assert Gate(("a", "b"), "m").verdict is INCOMPARABLE
    assert Probe("wire", "static", ()).verdict is INCOMPARABLE
    assert gate(fault="interrupted").verdict is INCOMPARABLE


def test_a_fault_does_not_hide_a_difference():
    """What was found before the run ended still counts."""
    assert differing(fault="no disk").verdict is DIFFER


def test_the_answer_names_probe_case_and_reason():
    """The first line says which probes, where first, and why."""
    assert differing().answer == "wire: plain: meta.lr has another value"
    assert incomparable().answer == "wire: bold: the target side crashed"
    told = gate(probe("wire", case()), probe("config", case()))
    assert told.answer.startswith("wire, config: plain")


def test_the_answer_of_a_match_says_what_it_rests_on():
    """A match names what was proven and compared."""
    assert gate().answer == "recipe and port/x: 1 commit (1 layout-only); wire equal in 2 scenarios"


def test_a_match_says_what_a_rule_let_differ():
    """Keys that are declared to differ are not equal: the first line counts each once, whatever the scenario."""
    told = [found(f"{name}/{key}", rule="expected", counts=False) for name in ("plain", "bold") for key in ("a", "b")]
    cases = case("plain", MATCH, *told[:2]), case("bold", MATCH, *told[2:])
    assert gate(probe("wire", *cases)).answer.endswith(
        "wire equal in 2 scenarios, but for 2 keys declared to differ"
    )
    both = found("plain/c", rule="shared", counts=False)
    one = gate(probe("wire", case("plain", MATCH, told[0], both)))
    assert one.answer.endswith("but for 1 key declared to differ")


def test_the_answer_of_a_fault():
    """Where only the run itself failed, the fault is the answer."""
    assert gate(PROOF, fault="the run ended early: no disk").answer == "the run ended early: no disk"


def test_equal_findings_are_one_row():
    """The same finding in several scenarios is told once, with the scenarios; other values are another row."""
    one = probe("wire", case("a"), case("b"), case("c", DIFFER, found("c/meta.lr", right="3 (int)")))
    assert [(row.found.right, row.cases) for row in rows(one)] == [("2 (int)", ("a", "b")), ("3 (int)", ("c",))]


def test_what_fails_nothing_is_no_row():
    """Shared and expected findings are not among those that fail."""
    shared = found(rule="shared", counts=False)
    assert rows(probe("wire", case("a", MATCH, shared))) == []


@pytest.mark.parametrize(
    ("name", "key", "commit"),
    [("wire", "meta.lr", "a"), ("config", "a", "c"), ("wire", "order", None), ("wire", "unknown", None)],
)
def test_which_commit_opened_a_key(name, key, commit):
    """A key that still differs is blamed on the point since which it does; a closed one on none."""
    point = gate(ledger=LEDGER).opened_by(name, found(f"plain/{key}"))
    assert (point and point.commit[0]) == commit


def test_a_key_that_was_closed_and_opened_again():
    """The last opening counts."""
    again = (*LEDGER, replace(LEDGER[0], commit="d" * 40))
    assert gate(ledger=again).opened_by("wire", found("plain/order")) is again[-1]


def test_a_point_that_was_not_seen_blames_nobody():
    """A commit after which nothing could be compared is neither the one that opened a key nor one that closed it."""
    lost = replace(LEDGER[1], open=Open(), incomparable="it crashed")
    assert gate(ledger=(LEDGER[0], lost, LEDGER[2])).opened_by("wire", found()) is LEDGER[0]


@pytest.mark.parametrize(
    ("steps", "commit"), [((3, 3, 3), "a"), ((3, 0, 2), "c"), ((3, None, 2), "a"), ((3, 2, 0), None)]
)
def test_since_which_commit_training_differs(steps, commit):
    """Training runs have no keys in the ledger: the steps that differ after each commit tell."""
    points = tuple(
        replace(point, steps=count, apart=frozenset(["plain"] * bool(count)))
        for point, count in zip(LEDGER, steps, strict=True)
    )
    point = gate(probe("convergence", tier="smoke"), ledger=points).opened_by("convergence", found("plain/loss"))
    assert (point and point.commit[0]) == commit
