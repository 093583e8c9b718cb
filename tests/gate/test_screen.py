"""The screen: the first line is the answer, and a difference is explained in one screen at any width."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from parity.gate.screen import gate_screen
from porttool.screen import console
from tests.gate.support import (
    DIFFER,
    FIRST,
    INCOMPARABLE,
    LEDGER,
    LOST,
    NASTY,
    PROOF,
    case,
    differing,
    found,
    gate,
    incomparable,
    probe,
)


def printed(told, width=80, colour=False):
    """The lines of the screen."""
    out = io.StringIO()
    terminal = Console(file=out, force_terminal=True, color_system="standard", no_color=False, highlight=False)
    shown = terminal if colour else console(out, colour=False)
    shown.width = width
    gate_screen(told, shown)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 200])
def test_a_match(width):
    """The answer, a line for each probe with verdict, seconds and counts; nothing else."""
    assert printed(gate(), width) == [
        "MATCH  recipe and port/x: 1 commit (1 layout-only); wire equal in 2 scenarios",
        "  proof  MATCH           0.5 s  1 commit (1 layout-only)",
        "  wire   MATCH           0.5 s  2 scenarios, 10 keys",
    ]


@pytest.mark.parametrize("width", [80, 200])
def test_a_difference(width):
    """First divergence, both values, cause, line, commit, and what to do, in that order and in one screen."""
    lines = printed(differing(ledger=LEDGER), width)
    assert lines[0] == "DIFFER  wire: plain: meta.lr has another value"
    assert "  wire      DIFFER          0.5 s  2 of 2 differ; 2 scenarios, 10 keys" in lines
    at = lines.index("wire: plain: meta.lr has another value")
    assert lines[at + 1 : at + 7] == [
        "  first: meta.lr",
        "    recipe: 1 (int)",
        "    port/x: 2 (int)",
        "  cause: read by srv.py",
        "  line: app/remote/client.py:12",
        "  commit: aaaaaaaa the base, main",
    ]
    assert len(lines) <= 40
    assert all(line == line.rstrip() for line in lines)


def test_the_ledger():
    """A line for each commit with its counts, and what it closes and opens."""
    lines = printed(differing(ledger=LEDGER))
    at = lines.index("what still differs after each commit")
    assert lines[at + 1 : at + 8] == [
        "  commit    wire config",
        "  aaaaaaaa     2      0  the base, main",
        "  bbbbbbbb     1      0  Fix the run",
        "           closes 1: wire.order",
        "           narrows 1: wire.meta.lr",
        "  cccccccc     1      1  Name the worker",
        "           opens 1: config.a",
    ]


def test_a_commit_whose_side_does_not_run():
    """It is named, with the whole reason on a line of its own, and nothing of it is said to be 0 or equal."""
    lines = printed(differing(ledger=(FIRST, LOST)))
    at = lines.index("  dddddddd     -  Train from labels")
    assert lines[at + 1] == f"           {LOST.incomparable}"
    lines = printed(gate(ledger=(LOST,)))
    assert "what still differs after each commit" in lines
    assert "what still differs after each commit: nothing" in printed(gate(ledger=(replace(LOST, incomparable=""),)))


def test_without_the_ledger_it_is_named():
    """A difference without a commit says how to get it; with it, it does not."""
    assert any("--by-commit" in line for line in printed(differing()))
    assert not any("--by-commit" in line for line in printed(differing(ledger=LEDGER)))
    assert not any("--by-commit" in line for line in printed(gate()))


def test_what_cannot_be_compared():
    """The first line is the reason; the count stands with its probe."""
    lines = printed(incomparable())
    assert lines[0] == "INCOMPARABLE  wire: bold: the target side crashed"
    assert any("1 of 2 cannot be compared" in line for line in lines)


def test_what_was_not_checked_is_told():
    """Never silent: a line among the probes."""
    lines = printed(gate(unchecked={"guard": "no base is named"}))
    assert any(line.split() == ["guard", "not", "checked", "no", "base", "is", "named"] for line in lines)


def test_many_keys_fit_one_screen():
    """Four probes with a thousand keys each are told within 45 lines, the rest counted."""
    many = [found(f"plain/meta.k{place}") for place in range(1000)]
    told = gate(
        PROOF, *(probe(name, case("plain", DIFFER, *many)) for name in ("wire", "config", "contract", "oracle"))
    )
    lines = printed(told)
    assert len(lines) <= 45
    assert [line for line in lines if line.startswith("  and ")] == [
        f"  and {count} more: see --json, --markdown or --html" for count in (993, 993, 999, 999)
    ]


def test_nothing_acts_on_a_terminal():
    """Control characters of names are escaped, with colour and without."""
    told = gate(probe("wire", case(NASTY, DIFFER, found(f"plain/{NASTY}", NASTY, NASTY, cause=NASTY), reason=NASTY)),
                unchecked={"guard": NASTY}, warnings=(NASTY,))  # fmt: skip
    assert not any("\x1b" in line or "\u202e" in line for line in printed(told))
    coloured = "\n".join(printed(told, colour=True))
    assert "\x1b[1;31m" in coloured and "\x1b[31mred" not in coloured
    assert not any("\x1b" in line or "\u202e" in line for line in printed(gate(probe(NASTY, case("plain")))))


def test_colour_only_where_it_is_asked_for():
    """Without colour there is no escape at all."""
    assert "\x1b" not in "\n".join(printed(differing()))
    assert "\x1b[1;31mDIFFER" in "\n".join(printed(differing(), colour=True))


def test_long_lines_are_not_cut():
    """A value wider than the screen is printed whole: it can be copied."""
    long = "x" * 300
    assert any(long in line for line in printed(gate(probe("wire", case("plain", DIFFER, found(left=long))))))


def test_findings_of_one_name_are_all_told():
    """Several commits that are missing have one name: each is listed."""
    told = [found("missing/the commit", None, f"{oid} is not on the branch", "residual") for oid in "abc"]
    lines = printed(gate(probe("proof", case("missing x", DIFFER, *told), tier="proof")))
    assert [line for line in lines if line.startswith("  also ")] == [
        f"  also the commit: - / {oid} is not on the branch" for oid in "bc"
    ]


def test_a_cause_that_is_the_reason_is_told_once():
    """An unused rule is its own cause."""
    text = "layout.paths: nothing has the name lib/none.py"
    told = probe("proof", case("manifest", DIFFER, found(f"manifest/{text}", None, None, "unused", text), reason=text),
                 tier="proof")  # fmt: skip
    lines = printed(gate(told))
    assert lines[lines.index(f"proof: manifest: {text}") + 1] == "  line: app/remote/client.py:12"
    assert sum(text in line for line in lines) == 2


def test_a_stage_that_could_not_run_is_told_once():
    """A case named like its probe is not named twice, and what the first line says is not said again."""
    reason = "the base 'x' of the pull request is not here"
    told = gate(PROOF, probe("guard", case("guard", INCOMPARABLE, reason=reason), tier="guard"))
    lines = printed(told)
    assert lines[0] == f"INCOMPARABLE  guard: {reason}"
    assert sum(reason in line for line in lines) == 1
