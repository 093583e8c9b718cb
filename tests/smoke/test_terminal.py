"""A smoke run on a terminal: the answer first, both sides as small plots, at 80 and 200 columns, without colour."""

import io

import pytest
from rich.console import Console

from parity.smoke.compare import Told
from parity.smoke.envelope import measured
from parity.smoke.page_shown import Cause
from parity.smoke.terminal import terminal
from porttool.screen import console
from tests.smoke.drawn import astray, differing, matching, run, shown, steps

BARS = set("▁▂▃▄▅▆▇█")


class Ascii(io.StringIO):
    """A stream that takes no other letters."""

    encoding = "ascii"


def told(results, width=80, stream=None):
    """The lines at so many columns, not a terminal, without colour."""
    stream = stream or io.StringIO()
    terminal(results, Console(file=stream, width=width, no_color=True, force_terminal=False, markup=False))
    return stream.getvalue().splitlines()


def row(lines, metric):
    """The words of a metric's row."""
    return next(line.split() for line in lines if line.split()[:1] == [metric])


@pytest.mark.parametrize("width", [80, 200])
def test_the_answer_stands_first(width):
    """The first word is the verdict, of one scenario and of several."""
    assert told([matching()], width)[0].startswith("MATCH  plain: 6 steps of 12 metrics")
    lines = told([matching(), differing()], width)
    assert lines[0].startswith("DIFFER  in 1 of 2 scenarios: plain: step[3].loss")
    assert [line.split()[0] for line in lines if line.split()[0].isupper()] == ["DIFFER", "MATCH", "DIFFER"]
    assert told([])[0].startswith("INCOMPARABLE  nothing was run")


@pytest.mark.parametrize("width", [80, 200])
def test_no_line_is_wider_than_the_screen(width):
    """Tables fit; sentences may be as long as they are and are wrapped by the terminal."""
    lines = told([matching(), differing(), shown(run(rows=steps(100)), run("target", astray(100, 40)))], width)
    assert max(len(line) for line in lines if BARS & set(line)) <= width


@pytest.mark.parametrize("width", [80, 200])
def test_columns_are_aligned(width):
    """Numbers end below the end of their heads, which stand over each other."""
    lines = told([differing()], width)
    at = next(place for place, line in enumerate(lines) if line.startswith("metric"))
    above, head = lines[at - 1 : at + 1]
    rows = [line for line in lines if BARS & set(line)]
    for heads in ("last target", "steps equal", "first apart", "largest diff", "at step"):
        over, name = heads.split()
        end = head.rindex(name) + len(name)
        assert above[:end].endswith(f" {over}")
        assert all(line[end - 1] != " " and line[end : end + 1] in ("", " ") for line in rows)


def test_both_sides_are_plotted_on_one_scale():
    """Equal sides look alike, and a target that goes away stands above its source."""
    lines = told([differing()])
    assert row(lines, "score")[1] == row(lines, "score")[2]
    source, target = row(lines, "entropy")[1:3]
    assert len(source) == len(target) == 6 and source[:2] == target[:2]
    assert set(source) == {"▁"} and target[-1] == "█"


def test_a_row_says_how_far_apart():
    """Equal steps, the first that differs, the largest difference and where."""
    assert row(told([differing()]), "entropy")[5:] == ["2/6", "3", "0.2", "6"]
    assert row(told([matching()]), "entropy")[5:] == ["6/6", "-", "-", "-"]


def test_the_first_divergence_and_its_cause_are_told():
    """Where, both values, the likely cause, and the commit."""
    causes = (Cause("0123456789abcdef", "align log-probs", "opens the gap: entropy at step 3"),)
    lines = told([differing(causes=causes)])
    place = lines.index("first divergence: step 3, loss")
    assert lines[place + 1].startswith("  source  -0.0097047") and lines[place + 2].startswith("  target  -0.0097047")
    assert lines[place + 3].startswith("  likely cause: ")
    assert lines[place + 4] == "  commit 0123456789  align log-probs: opens the gap: entropy at step 3"
    assert "validation val/score: 0.5 (float) | 0.4375 (float)" in lines


def test_an_envelope_counts_what_leaves_it():
    """Within an envelope a step is only told where a side leaves it."""
    noise = [run(rows=[{**row, "entropy": row["entropy"] * (1 + k / 300)} for row in steps()]) for k in range(8)]
    moved = astray()
    moved[0]["entropy"] *= 1.01
    lines = told([shown(noise[2], run("target", moved), Told(measured(noise)))])
    assert row(lines, "entropy")[5:7] == ["0/6", "3"]
    assert row(lines, "metric")[5:] == ["equal", "out", "diff", "step"]


def test_a_crash_shows_its_last_lines():
    """The last lines of the side that died, under its name; its plot ends where it died."""
    lines = told([shown(run(), run("target", steps()[:2], crashed="Traceback\nKeyError: 'x'"))])
    assert lines[0].startswith("INCOMPARABLE") and "  target, seed 1: KeyError: 'x'" in lines
    assert len(row(lines, "score")[2]) == 2


def test_seeds_are_told_apart():
    """With several seeds each has a row, and the divergence names its own."""
    runs = tuple(run(rows=steps(seed=seed), seed=seed) for seed in (1, 2))
    others = run("target", steps(), seed=1), run("target", astray(seed=2), seed=2)
    lines = told([shown(runs, others)])
    assert "first divergence: step 3, loss, seed 2" in lines
    assert [line.split()[:2] for line in lines if line.startswith("entropy")] == [["entropy", "#1"], ["entropy", "#2"]]


def test_long_names_are_explained_once():
    """Refs do not head columns: a line says which side is which."""
    lines = told([differing(names=("recipe/rl-correctness", "port/rl_correctness"))])
    assert "source is recipe/rl-correctness, target is port/rl_correctness" in lines
    assert row(lines, "metric")[1:3] == ["source", "target"]
    assert row(told([differing(names=("old", "new"))]), "metric")[1:3] == ["old", "new"]


def test_other_metrics_are_counted():
    """What there is no room for is counted, with how many of them are apart."""
    rows = [{**row, **{f"other/{k}": 1.0 for k in range(9)}} for row in steps()]
    moved = [{**row, "other/1": 2.0, "other/5": 2.0} for row in rows]
    assert "and 9 other metrics, 1 of them apart" in told([shown(run(rows=rows), run("target", moved))])


def test_nothing_but_ascii_where_nothing_else_can_be_written():
    """A stream that takes ASCII only gets its plots in ASCII."""
    lines = told([matching()], stream=Ascii())
    assert all(line.isascii() for line in lines) and row(lines, "entropy")[1].isascii()


def test_names_cannot_act_on_the_terminal():
    """Markup and escape codes in names are shown, not obeyed."""
    rows, moved = ([{**row, "[bold]x\x1b[31m": value} for row in steps()] for value in (1.0, 2.0))
    lines = told([shown(run(rows=rows, crashed="\x1b]0;x"), run("target", moved))])
    assert not any("\x1b" in line for line in lines) and any("[bold]x\\x1b[31m" in line for line in lines)


def test_a_long_run_fits():
    """A hundred steps are gathered into as many bars as there is room for, and none that sticks out is lost."""
    rows = steps(100)
    rows[57]["grad_norm"] = 900.0
    narrow, wide = (row(told([shown(run(rows=steps(100)), run("target", rows))], w), "grad_norm") for w in (80, 200))
    assert len(narrow[2]) == 7 and "█" in narrow[2] and set(narrow[1]) == {"▁"}
    assert len(wide[2]) == 32 and wide[2].count("█") == 1


def test_odd_numbers_are_seen():
    """A value that is not finite is an exclamation mark, and leaves the others their scale."""
    rows = steps()
    rows[3]["entropy"] = float("nan")
    assert row(told([shown(run(), run("target", rows))]), "entropy")[2][3] == "!"


def test_colour_only_where_it_is_wanted():
    """Without colour no escape code is written, with it the verdict has one."""
    for wanted in (False, True):
        stream = io.StringIO()
        out = console(stream, False)
        if wanted:
            out = Console(file=stream, force_terminal=True, color_system="standard", width=80)
        terminal([matching()], out)
        assert ("\x1b" in stream.getvalue()) == wanted
