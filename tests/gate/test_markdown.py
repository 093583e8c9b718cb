"""Markdown for a comment: the answer first, never too long, nothing in it that acts."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from parity.gate.markdown import markdown
from parity.gate.result import Place
from tests.gate.support import (
    DIFFER,
    FIRST,
    INCOMPARABLE,
    LEDGER,
    LOST,
    MATCH,
    NASTY,
    PROOF,
    case,
    differing,
    found,
    gate,
    incomparable,
    probe,
)

LIMIT = 60_000


def titles(text):
    return re.findall(r"(?m)^### ([^(\n]+?)(?: \(\d+\))?$", text)


def test_a_match_is_short():
    """The answer, a table of probes, and where it ran; nothing else."""
    text = markdown(gate())
    assert text.splitlines()[0].startswith("## ✅ MATCH: recipe and port/x: 1 commit")
    assert titles(text) == []
    assert "| wire | ✅ MATCH | 2 scenarios, 10 keys | 0.5 |" in text
    assert len(text) < 1000


def test_a_difference_says_why():
    """First divergence, both values, cause, line, and the commit that the ledger names."""
    text = markdown(differing(ledger=LEDGER))
    assert text.startswith("## ❌ DIFFER: wire: plain: meta.lr has another value\n")
    for line in (
        "- first: `meta.lr`",
        "- recipe: `1 (int)`",
        "- port/x: `2 (int)`",
        "- cause: read by srv.py",
        "- line: `app/remote/client.py:12`",
        "- commit: `aaaaaaaaaa` the base, main",
    ):
        assert line in text.splitlines()
    assert titles(text)[:3] == ["Why", "Findings", "What still differs after each commit"]


def test_the_table_of_findings():
    """A finding is a row with the scenarios it was seen in."""
    row = "| `meta.lr` | `1 (int)` | `2 (int)` | read by srv.py | `app/remote/client.py:12` | plain, bold |"
    assert row in markdown(differing()).splitlines()


def test_the_ledger():
    """A line for each commit with its counts, and what it closes and opens by name."""
    lines = markdown(differing(ledger=LEDGER)).splitlines()
    assert "| commit | subject | wire | config | closes | opens |" in lines
    assert "| `bbbbbbbbbb` | Fix the run | 1 | 0 | 1 | 0 |" in lines
    assert "- `bbbbbbbbbb` closes `wire.order`" in lines and "- `cccccccccc` opens `config.a`" in lines
    lost = next(line for line in markdown(differing(ledger=(*LEDGER, LOST))).splitlines() if "dddddddddd" in line)
    assert "Train from labels (the target side crashed" in lost and lost.endswith("| - | - | 0 | 0 |")


def test_what_cannot_be_compared():
    """INCOMPARABLE has its own mark and its reason."""
    text = markdown(incomparable())
    assert text.startswith("## ⚠️ INCOMPARABLE: wire: bold: the target side crashed")
    assert "**wire** bold: the target side crashed" in text


def test_what_was_not_checked_is_a_row():
    """A stage that was left out is told in the table of probes."""
    assert "| guard | not checked | no base |  |" in markdown(gate(unchecked={"guard": "no base"})).splitlines()


def test_declared_and_shared():
    """What is declared is listed with its reason; what both sides have wrong alike is folded away."""
    told = [
        found(rule="expected", cause="it is meant", counts=False),
        found("plain/meta.dead", rule="shared", counts=False),
    ]
    text = markdown(gate(probe("wire", case("plain", MATCH, *told))))
    assert "- wire `meta.lr`: it is meant" in text.splitlines()
    assert "<summary>Wrong on both sides alike (1)</summary>" in text


def big(keys, length=200):
    """A gate with this many differing keys, each with long values."""
    many = [
        found(f"plain/meta.k{place}", f"{place}" * length, "x" * length, cause="y" * length) for place in range(keys)
    ]
    shared = [
        found(f"plain/meta.s{place}", rule="shared", cause=f"z{place}" * 50, counts=False) for place in range(keys)
    ]
    return gate(
        PROOF, probe("wire", case("plain", DIFFER, *many, *shared)), ledger=LEDGER, warnings=("w" * 500,) * keys
    )


@pytest.mark.parametrize("keys", [1, 20, 80, 400, 3000])
def test_never_too_long(keys):
    """Whatever there is to tell, it fits; the answer and the line of each probe stay."""
    text = markdown(big(keys))
    assert len(text) <= LIMIT
    assert text.startswith("## ❌ DIFFER: wire: plain") and "| wire | ❌ DIFFER |" in text
    assert "| --- |" in text and text.count("<details>") == text.count("</details>")


def test_what_a_reader_misses_least_goes_first():
    """Shared defects are shortened before findings, and what is left out is counted with a note above."""
    text = markdown(big(80))
    assert "Shortened to 60000 characters" in text
    shared, findings = text.count("- wire `meta.s"), text.count("| `meta.k")
    assert 0 < shared <= findings <= 80
    assert f"and {80 - shared} more" in text
    assert 30_000 < len(text) <= LIMIT
    assert "- first: `meta.k0`" in text


def test_what_is_long_is_shortened_wherever_it_stands():
    """One name of a megabyte, such as a key, takes the place of nothing else."""
    long = "k" * 1_000_000
    told = found(f"plain/{long}", long, long, cause=long, place=Place(long, 1))
    shared = found(f"plain/{long}", long, long, "shared", long, counts=False)
    many = probe(long, case(long, DIFFER, told, shared, reason=long)), probe("contract", told=long)
    text = markdown(gate(PROOF, *many, warnings=(long,), ledger=(replace(FIRST, subject=long, incomparable=long),)))
    assert len(text) <= LIMIT
    assert "### Why" in text and "### Findings" in text and "| contract | ✅ MATCH |" in text
    assert "### Warnings (1)" in text and "### What still differs" in text and "- first: `kkk" in text


@pytest.mark.parametrize("limit", [200, 500, 2000, 8000, 20_000])
def test_any_limit_is_kept(limit):
    """A smaller limit is kept too."""
    assert len(markdown(big(300), limit)) <= limit


def test_nothing_is_cut_in_the_middle():
    """Every row of every table has as many cells as its head, at every size."""
    for keys in (3, 80, 400):
        for block in re.findall(r"(?m)(^\|.*\n\| ---.*\n(?:\|.*\n)*)", markdown(big(keys))):
            lines = block.splitlines()
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1, lines[:3]


def test_nothing_acts():
    """Names with markup, mentions, references, links or control characters come out as code."""
    told = found(
        f"plain/{NASTY} https://example.invalid <img src=x>", NASTY, "a|b", cause=f"{NASTY}\n# title\n- [x](y)"
    )
    text = markdown(gate(probe("wire", case(NASTY, DIFFER, told, reason=NASTY)), warnings=(NASTY,)))
    bare = re.sub(r"(`+) ?.*?[^`]\1(?!`)", "", text)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]|@someone|<b>|<img|#12|https:|\]\(", bare)
    assert "# title" not in text.splitlines()


def test_a_cause_that_is_not_known():
    """It is said in words, where the first divergence is told and in the table."""
    lines = markdown(gate(probe("wire", case("plain", DIFFER, found(cause=""))))).splitlines()
    assert "- cause: not known" in lines
    assert "| `meta.lr` | `1 (int)` | `2 (int)` | not known | `app/remote/client.py:12` | plain |" in lines


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("port/rl_correctness: 6 commits", "`port/rl_correctness`: 6 commits"),
        ("a_b, c_d; e", "`a_b`, `c_d`; e"),
        ("rows [1, 2, 3 ... 7] differ", "rows `[1, 2, 3 ... 7]` differ"),
        ("at rows=[1, 2]: x", "at `rows=[1, 2]`: x"),
        ("[open and #1", "`[open` and `#1`"),
        ("moves [[1, 2], [3]] here", "moves `[[1, 2], [3]]` here"),
        ("run `porttool audit`, then `a_b`.", "run `porttool audit`, then `a_b`."),
        ("a `b c", "a `` `b `` c"),
        ("say `a|b`", "say `a|b`"),
        ("``", "``` `` ```"),
        ("@:", "`@`:"),
    ],
)
def test_a_code_span_holds_the_word_alone(text, shown):
    """Punctuation of the sentence stands behind the span; what is quoted, and a list in brackets, is one span."""
    assert f"- {shown}" in markdown(gate(warnings=(text,))).splitlines()


def test_a_stage_is_not_named_twice():
    """A case named like its probe is the probe."""
    text = markdown(gate(probe("guard", case("guard", INCOMPARABLE, reason="the base is not here"), tier="guard")))
    assert text.startswith("## ⚠️ INCOMPARABLE: guard: the base is not here\n")
    assert "**guard** the base is not here" in text.splitlines()
