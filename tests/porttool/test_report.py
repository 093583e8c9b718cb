"""An audit reads right on a screen of any width, in Markdown within its limit, and as JSON."""

from __future__ import annotations

import hashlib
import io
import json
import re
from dataclasses import replace

import pytest
from rich.console import Console

from porttool.report import Audit, Counted, Leftover, Place, Resolved, Row, Style, counted
from porttool.report_json import audit_json, verify_json
from porttool.report_markdown import LIMIT, code, markdown, table_row
from porttool.screen import audit_screen, console


def oid(number: int) -> str:
    return hashlib.sha1(str(number).encode()).hexdigest()


def row(number: int, **changes) -> Row:
    made = Row(
        number=number,
        commit=oid(number),
        author=("Olatunji Ruwase", "Stas Bekman", "Mert Hidayetoglu")[number % 3],
        subject=f"ds_config format + ds_config passthru, part {number} of the series",
        sources=(oid(1000 + number),),
        label="layout-only",
        upstream=(oid(2000 + number)[:8],),
    )
    return replace(made, **changes)


ADAPTED = row(
    2,
    label="adapted",
    adapted={"verl/a.py": "the new worker has no forwarder"},
    residual=(Place("verl/a.py", 12, "changed"),),
)
RESOLVED = row(
    3,
    label="resolved",
    resolved=(
        Resolved("verl/b.py", "1f2e3d", "A B <a@b>", "kept ours"),
        Resolved("verl/c.py", "4c5b6a", "C D <c@d>", "both"),
    ),
)

SMALL = Audit(
    verdict="declared",
    source="recipe/rl-correctness",
    target="arctic_rl_share_v0.7.1",
    branch="port/rl_correctness",
    layout=oid(7) + oid(8)[:24],
    rows=(row(1), ADAPTED, RESOLVED, row(4, label="verbatim")),
    not_ported={oid(50): "only for the lab"},
    census=(Counted("merge", 1, "refuse", (oid(51),)), Counted("CRLF file", 2, "kept")),
    leftovers=(
        Leftover(Place("docs/x.md", 3, "module", "verl.old"), "unresolved"),
        Leftover(Place("CHANGELOG", 1, "path", "old.py"), "kept", "history"),
    ),
    style=(Style(oid(1), Place("verl/a.py", 5, "width", "130 columns, more than 119")),),
    protected={"verl/remote_backend/base.py": True},
)


def large(commits: int) -> Audit:
    """An audit of many commits, each with findings of every kind."""
    place = Place("verl/workers/remote_client/arctic_rl.py", 7, "changed", "self.engine.forward(batch)  # as before")
    rows = tuple(
        row(n, residual=(place,) * 3, one_way=(place,), adapted={place.path: "reason " * 8}, label="adapted")
        for n in range(commits)
    )
    style = tuple(Style(oid(n), place) for n in range(commits * 4))
    return replace(SMALL, rows=rows, style=style, leftovers=tuple(Leftover(place, "unresolved") for _ in style))


def screen(audit: Audit, width: int) -> str:
    out = io.StringIO()
    audit_screen(audit, Console(file=out, width=width, no_color=True, markup=False, emoji=False, highlight=False))
    return out.getvalue()


# the answer


@pytest.mark.parametrize(
    ("changes", "answer", "ok"),
    [
        ({}, "declared: 4 commits, 2 of which go beyond the layout, each with its reason", True),
        ({"verdict": "layout-only", "rows": (row(1),)}, "layout-only: 1 commit changed nothing but the layout", True),
        ({"rows": ()}, "nothing to verify: nothing was to port", True),
        (
            {"verdict": "undeclared", "rows": (replace(ADAPTED, label="undeclared"),)},
            "undeclared: 1 place of 1 commit changed beyond the layout",
            False,
        ),
        ({"protected": {"a": False, "b": True}}, "not proven: 1 protected path touched", False),
        ({"warnings": ("path pair a matched nothing",)}, "not proven: 1 warning; 4 commits declared", False),
    ],
)
def test_the_answer(changes, answer, ok):
    """One line says whether the port stands, and why not."""
    audit = replace(SMALL, **changes)
    assert audit.answer == answer
    assert audit.ok is ok
    assert screen(audit, 80).splitlines()[0] == answer
    assert markdown(audit).text.splitlines()[0].endswith(answer)
    assert audit_json(audit)["answer"] == answer


def test_t43_each_commit_says_how_far_it_was_touched():
    """T43: a reviewer sees which commits are clean, rewritten, adapted, new or resolved, and in which files."""
    touched = [made.touched for made in (*SMALL.rows, row(5, label="new"), row(6, label="one-way"))]
    assert touched == ["rewritten", "adapted", "resolved: verl/b.py, verl/c.py", "clean", "new", "rewritten"]
    assert "resolved: verl/b.py, verl/c.py" in markdown(SMALL).text
    assert "resolved: verl/b.py, verl/c.py" in screen(SMALL, 200)
    assert [told["touched"] for told in verify_json(SMALL)["commits"]] == touched[:4]


# the screen


@pytest.mark.parametrize("width", [80, 200])
def test_screen_fits_and_loses_nothing(width):
    """At 80 and at 200 columns no line of the table is wider, and every word of it is there."""
    shown = screen(SMALL, width)
    lines = shown.splitlines()
    start = next(n for n, line in enumerate(lines) if "subject" in line)
    end = next(n for n in range(start, len(lines)) if not lines[n].strip())
    assert all(len(line) <= width for line in lines[start:end])
    flat = re.sub(r"\s", "", "".join(lines[start:end]))
    for made in SMALL.rows:
        assert made.commit[:8] in flat
        assert made.label in flat
    joined = re.sub(r"\s+", " ", shown)
    assert "verl/b.py 1f2e3d by A B <a@b>: kept ours" in joined
    assert "verl/a.py: the new worker has no forwarder" in joined
    for part in ("only for the lab", "unresolved docs/x.md:3 verl.old", "1 merge (refuse)", "untouched"):
        assert part in joined


def test_screen_has_no_colour_and_takes_names_as_they_are():
    """Without colour there is no escape, and `[red]` or `:smile:` in a subject is only text."""
    out = io.StringIO()
    audit_screen(replace(SMALL, rows=(row(1, subject="[red]x[/red] :smile: \udcff"),)), console(out, colour=False))
    assert "\x1b" not in out.getvalue()
    assert "[red]x[/red] :smile:" in out.getvalue()


def test_screen_cuts_long_lists_with_their_count():
    """A list too long for a screen ends in how many more there are."""
    assert re.search(r"and \d+ more: see --markdown or --json", screen(large(30), 100))


# Markdown


def test_markdown_has_the_table_of_the_pull_request():
    """Number, new commit, author, subject, source commits, label and adaptation: one row per commit."""
    text = markdown(SMALL).text
    assert "| # | commit | author | subject | source commits | label | touched | adaptation |" in text
    assert len(enumerate_rows(text)) == len(SMALL.rows)
    made = next(line for line in text.splitlines() if line.startswith("| 2 "))
    for part in (ADAPTED.commit[:10], "Mert Hidayetoglu", ADAPTED.sources[0][:10], "adapted", "the new worker has no"):
        assert part in made
    assert markdown(SMALL).overflow is None


@pytest.mark.parametrize("commits", [1, 40, 400, 1500])
def test_t71_t72_markdown_stays_within_its_limit(commits):
    """T71, T72: however many commits, the text fits, counts what it leaves out, and names the artefact by digest."""
    made = markdown(large(commits), "audit.full.md")
    assert len(made.text) <= LIMIT
    if made.overflow is None:
        assert commits == 1
        return
    assert hashlib.sha256(made.overflow.encode()).hexdigest() in made.text
    assert "`audit.full.md`" in made.text
    assert len(made.overflow) > LIMIT
    for number in range(commits):
        assert oid(number)[:10] in made.overflow


def test_markdown_of_400_commits_keeps_every_row():
    """Details give way before the table does: 400 commits are all in it."""
    text = markdown(large(400)).text
    assert sum(line.startswith("| ") and oid(n)[:10] in line for n, line in enumerate_rows(text)) == 400


def enumerate_rows(text: str):
    rows = [line for line in text.splitlines() if re.match(r"\| \d+ \|", line)]
    return list(enumerate(rows))


def test_markdown_degrades_section_by_section():
    """Style goes before leftovers, leftovers before residuals; a shortened section keeps its count."""
    audit = large(40)
    seen = [markdown(audit, limit=limit).text for limit in (50_000, 35_000, 20_000, 9_000, 400)]
    assert [len(text) for text in seen] == sorted((len(text) for text in seen), reverse=True)
    for text, limit in zip(seen, (50_000, 35_000, 20_000, 9_000, 400), strict=True):
        assert len(text) <= limit
    assert "### Style of added lines (160)" in seen[1]
    assert "- and 140 more" in seen[1]
    assert "### Changed beyond the layout (120)" in seen[1]


@pytest.mark.parametrize(
    "text", ["a|b", "`x`", "@someone", "fix #12", "<script>", "**b**", "_x_ [y](z)", "``", "a\nb", "\udcff", ""]
)
def test_markdown_takes_no_markup_from_commits(text):
    """A subject or an author cannot open a link, a mention, a cell or a tag."""
    made = markdown(replace(SMALL, rows=(row(1, subject=text, author=text),))).text
    line = next(line for line in made.splitlines() if line.startswith("| 1 "))
    assert len(re.findall(r"(?<!\\)\|", line)) == 9
    outside = re.sub(r"(`+) ?.*? ?\1", "", line)
    assert not re.search(r"[@#<\[*]|\w_", outside)
    made.encode()


SPANS = {"a": "`a`", "a`b": "``a`b``", "`a`": "`` `a` ``", "a|b": "`a|b`"}


@pytest.mark.parametrize(("text", "span"), SPANS.items())
def test_code_spans(text, span):
    """A code span may hold any text."""
    assert code(text) == span


def test_a_sentence_stays_one():
    """Only its words that would act are code: a reason is read, and wraps in its cell."""
    made = markdown(replace(SMALL, not_ported={oid(50): "only `make lab` needs a_b, c"})).text
    assert "only `make lab` needs `a_b`, c" in made


@pytest.mark.parametrize(
    ("cell", "shown"), [("a", "a"), ("`a|b|`", r"`a\|b\|`"), (r"`a\|b`", r"`a\|b`"), (r"`a\\|b`", r"`a\\\|b`")]
)
def test_a_bar_ends_no_cell(cell, shown):
    """Nor one behind backslashes: an odd number of them escapes it already."""
    assert table_row([cell, "z"]) == f"| {shown} | z |"


def test_a_bar_in_a_list_is_as_it_is():
    """Only a table escapes it: elsewhere the backslash would be seen."""
    place = Place("run.sh", 3, "extra", "cat x | sort")
    made = markdown(replace(SMALL, rows=(row(1, label="undeclared", residual=(place,)),))).text
    assert "`cat x | sort`" in made


# JSON


def test_verify_json_is_the_contract():
    """The keys that scripts rely on, with their types; it is plain JSON."""
    told = json.loads(json.dumps(verify_json(SMALL)))
    assert list(told) == ["verdict", "commits", "leftovers", "protected", "warnings", "rederived"]
    assert told["verdict"] == "declared"
    first = told["commits"][1]
    assert list(first)[:7] == ["commit", "author", "subject", "sources", "label", "residual", "one_way"]
    assert first["residual"] == [{"path": "verl/a.py", "line": 12, "kind": "changed", "text": ""}]
    assert first["sources"] == [oid(1002)]
    assert told["protected"] == [{"path": "verl/remote_backend/base.py", "untouched": True}]
    assert told["leftovers"][1]["state"] == "kept"


def test_audit_json_holds_the_rest():
    """Census, style and what was not ported are in the audit's JSON."""
    told = json.loads(json.dumps(audit_json(SMALL)))
    assert told["census"][0] == {"kind": "merge", "count": 1, "policy": "refuse", "places": [oid(51)]}
    assert told["not_ported"] == [{"commit": oid(50), "reason": "only for the lab"}]
    assert told["style"][0]["kind"] == "width"


EVIL = "a\x1b]0;x\x07\x9b31m\x7f\r\u202e\u200b\u2060\ufeff\xadb"
SHOWN = r"a\x1b]0;x\x07\x9b31m\x7f\r\u202e\u200b\u2060\ufeff\xadb"


def evil() -> Audit:
    """An audit in which everything that a commit can choose is hostile."""
    place = Place(EVIL, 1, "residual", EVIL)
    found = Resolved(EVIL, "1f2e3d", EVIL, EVIL, (EVIL,))
    made = row(1, author=f"{EVIL} <a@b>", subject=EVIL, adapted={EVIL: EVIL}, resolved=(found,), residual=(place,))
    return replace(
        SMALL, rows=(made,), branch=EVIL, source=EVIL, target=EVIL, not_ported={oid(1): EVIL}, warnings=(EVIL,),
        census=(Counted(EVIL, 1, EVIL, (EVIL,)),), leftovers=(Leftover(place, "unresolved", EVIL),),
        protected={EVIL: True}, style=(Style(oid(1), place),),
    )  # fmt: skip


@pytest.mark.parametrize("width", [80, 300])
def test_no_control_byte_reaches_a_terminal(width):
    """ESC, BEL, CSI, DEL, CR, marks of direction and what has no width are escaped, wherever a commit put them."""
    shown = screen(evil(), width)
    assert not re.search(r"[^\x20-\x7e\n\u2500-\u257f]", shown)
    assert shown.count(SHOWN) >= 10


def test_no_control_byte_reaches_markdown():
    """The same in the text of a pull request, diffs included."""
    text = markdown(evil()).text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert text.count(SHOWN) >= 10


def test_one_commit_that_goes_beyond_goes():
    """The answer is grammatical for one."""
    assert replace(SMALL, rows=(row(1, label="adapted"),), verdict="declared").answer == (
        "declared: 1 commit, 1 of which goes beyond the layout, each with its reason"
    )


@pytest.mark.parametrize(
    ("number", "thing", "told"),
    [(1, "key", "1 key"), (2, "key", "2 keys"), (0, "entry", "0 entries"), (1, "entry", "1 entry")],
)
def test_counts_are_words(number, thing, told):
    """One of a thing, several of it."""
    assert counted(number, thing) == told
