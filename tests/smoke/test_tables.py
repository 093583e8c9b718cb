"""The three tables of a pull request, exact, and short enough for it."""

import math
from dataclasses import replace

import pytest

from parity.smoke import tables
from parity.smoke.compare import Told
from parity.smoke.page_shown import Cause
from parity.smoke.tables import markdown
from parity.smoke.windows import Band
from tests.smoke.drawn import astray, differing, matching, run, shown, steps


def column(grid, name):
    """The cells of a column."""
    return [row[grid.head.index(name)] for row in grid.rows]


def test_per_step_has_both_sides():
    """Each step has a row a side, with every known metric, and whether they are equal."""
    grid = tables.steps(differing())
    assert grid.head[:6] == ("step", "side", "equal", "score", "loss", "pg_loss")
    assert column(grid, "step") == [f"{k}" for k in range(1, 7) for _ in "lr"]
    assert column(grid, "side") == ["source", "target"] * 6
    assert column(grid, "equal")[:4] == ["yes"] * 4
    assert column(grid, "equal")[4] == "no (3)"
    assert grid.wrong == frozenset(range(4, 12))
    assert {grid.head[place] for row, place in grid.bold if row == 4} == {"equal", "loss", "ppo_kl", "entropy"}
    assert column(grid, "seconds") == ["1.5"] * 12


def test_different_values_look_different():
    """Digits are added until two values that differ are told apart, even by one bit."""
    rows = steps()
    rows[2]["entropy"] = rows[2]["entropy"] * (1 + 2**-52)
    grid = tables.steps(shown(run(), run("target", rows)))
    left, right = column(grid, "entropy")[4:6]
    assert left != right and float(left) == pytest.approx(float(right), rel=1e-15)
    assert column(grid, "equal")[4] == "no (1)"


def test_metrics_that_have_no_column_count_too():
    """A step is equal only where every metric is, also those that there was no room for."""
    more = [{**row, **{f"other/{k}": 1.0 for k in range(5)}} for row in steps()]
    moved = [dict(row) for row in more]
    moved[3]["other/4"] = moved[4]["other/3"] = 2.0
    grid = tables.steps(shown(run(rows=more), run("target", moved)))
    assert "other/4" in grid.head and "other/3" not in grid.head  # the one that parts first gets the room
    assert column(grid, "equal")[6:10] == ["no (1)"] * 4
    assert grid.left_out == "5 other metrics left out"


def test_each_seed_has_its_steps():
    """With several seeds a row names its own."""
    runs = tuple(run(rows=steps(seed=seed), seed=seed) for seed in (1, 2))
    others = tuple(run("target", steps(seed=seed), seed=seed) for seed in (1, 2))
    grid = tables.steps(shown(runs, others))
    assert grid.head[:3] == ("seed", "step", "side") and column(grid, "seed") == ["1"] * 12 + ["2"] * 12


def test_a_shorter_side_has_no_values():
    """Steps that a side does not have are shown as such, and are not equal."""
    grid = tables.steps(shown(run(), run("target", steps()[:4])))
    assert column(grid, "score")[-1] == "-" and column(grid, "equal")[-1] == "no (12)"
    assert column(grid, "seconds")[-2:] == ["1.5", "-"]


def test_runs_without_steps_have_no_table():
    """Where no step was done there is nothing to tabulate by step, and the verdict says so."""
    nothing = shown(run(rows=[], crashed="boom"), run("target", rows=[], crashed="boom"))
    assert not any(made(nothing).rows for made in (tables.metrics, tables.steps, tables.windows, tables.schedule))
    assert "INCOMPARABLE" in markdown([nothing])


def test_windows_have_mean_and_range():
    """A row a window: mean and range of both sides, and what they are apart."""
    grid = tables.windows(differing())
    row = next(row for row in grid.rows if row[:2] == ("entropy", "4-6"))
    held = [(left["entropy"], right["entropy"]) for left, right in zip(steps()[3:], astray()[3:], strict=True)]
    means = [sum(side) / 3 for side in zip(*held, strict=True)]
    ranges = [max(side) - min(side) for side in zip(*held, strict=True)]
    assert [float(cell) for cell in row[2:4]] == pytest.approx(means, rel=1e-5)
    assert [float(cell) for cell in row[5:7]] == pytest.approx(ranges, rel=1e-5)
    assert float(row[4]) == pytest.approx(means[1] - means[0], rel=1e-2)
    assert column(grid, "steps")[:4] == ["1-3", "2-4", "3-5", "4-6"]
    assert grid.rows.index(row) in grid.wrong


def test_validation_is_compared():
    """A row a validation metric, with both values."""
    grid = tables.validation(differing())
    assert ("val/score", "0.5", "0.4375", "no") in grid.rows and ("val/length", "12", "12", "yes") in grid.rows


def test_differences_name_the_largest():
    """Only metrics that differ have a row: from which step, how far apart most, and where."""
    grid = tables.metrics(differing())
    assert column(grid, "metric") == ["loss", "ppo_kl", "entropy"]
    assert column(grid, "differs from step") == ["3"] * 3
    assert grid.rows[2][:5] == ("entropy", "2 of 6", "3", "0.2", "6")
    assert grid.left_out == "9 other metrics equal at each step"
    shorter = tables.metrics(shown(run(), run("target", steps()[:4])))
    assert [row[1:4] for row in shorter.rows] == [("4 of 6", "5", "-")] and "score, loss, pg_loss" in shorter.rows[0][
        0
    ]
    assert tables.metrics(matching()).left_out == "12 metrics equal at each step"


def test_ulps_are_shown_where_they_tell():
    """A difference of a few bits is counted in floats, a large one is not."""
    rows = steps()
    rows[0]["loss"] = math.nextafter(rows[0]["loss"], 1)
    rows[1]["entropy"] *= 2
    grid = tables.metrics(shown(run(), run("target", rows)))
    assert column(grid, "ulps") == ["1", "-"]


def test_bands_name_the_steps_outside():
    """A band shows both sides and where they left it, with its reason."""
    one = shown(run(), run("target", astray()), Told(bands={"entropy": Band(0.17, 0.21, "as the recipe has it")}))
    grid = tables.bands(one)
    assert column(grid, "steps outside") == ["none", "3, 4, 5, 6"] and grid.wrong == {1}
    assert set(column(grid, "why")) == {"as the recipe has it"}


def test_markdown_begins_with_the_answer():
    """Verdict first, then each scenario with its three tables."""
    text = markdown([matching(), differing()])
    assert text.startswith("## DIFFER in 1 of 2 scenarios: plain: ")
    assert text.count("#### Per step") == text.count("#### Windows") == text.count("#### Validation") == 2
    assert "First divergence: `step[3].loss`" in text and "| 3 | source | **no (3)** |" in text
    assert markdown([]).startswith("## INCOMPARABLE: nothing was run")


def test_markdown_names_the_cause():
    """The commit that opens the gap is in the text."""
    causes = (Cause("0123456789abcdef", "align log-probs", "opens the gap: entropy at step 3"),)
    assert "- `0123456789` `align log-probs`: opens the gap" in markdown([differing(causes=causes)])


def test_markdown_holds_no_markup_of_others():
    """A name cannot mention anybody, link, or break out of its cell."""
    rows = [{**row, "a|b @octocat #12 <img src=x>": 1.0} for row in steps()]
    moved = [{**row, "a|b @octocat #12 <img src=x>": 2.0} for row in steps()]
    text = markdown([shown(run(rows=rows), run("target", moved), names=("@team", "<b>"))])
    assert "@octocat" in text
    for line in text.splitlines():
        outside = "".join(line.split("`")[::2])
        assert "@" not in outside and "#12" not in outside and "<" not in outside.replace("\\<", "")
    heads = [line for line in text.splitlines() if line.startswith("| metric")]
    widths = {line.replace("\\|", "").count("|") for line in heads[:1]}
    body = next(line for line in text.splitlines() if line.startswith("| `a"))
    assert {body.replace("\\|", "").count("|")} == widths


@pytest.mark.parametrize("limit", [60_000, 20_000, 6_000, 2_000, 400])
def test_markdown_is_shortened_section_by_section(limit):
    """Never longer than the limit; the verdict stays, and what is left out is named."""
    results = [shown(run(rows=steps(80)), run("target", astray(80, 30))), matching()]
    text = markdown(results, limit)
    assert len(text) <= limit and text.startswith("## DIFFER")
    assert "left out" in text


def test_the_limit_is_met_to_the_letter():
    """What just fits is whole, with one character less it is shortened."""
    results = [differing()]
    whole = markdown(results, 10**9)
    assert markdown(results, len(whole)) == whole
    assert len(markdown(results, len(whole) - 1)) < len(whole)


def test_what_is_missed_least_goes_first():
    """With a little too much text only windows are shortened, the steps stay whole."""
    results = [shown(run(rows=steps(80)), run("target", astray(80, 30)))]
    whole = markdown(results, 10**9)
    text = markdown(results, len(whole) - 100)
    per_step = text[text.index("#### Per step") : text.index("#### Windows")]
    assert per_step == whole[whole.index("#### Per step") : whole.index("#### Windows")]
    assert text.count("\n| ") < whole.count("\n| ")


def test_short_levels_of_the_steps():
    """Equal sides in one row; then only the steps that differ; then their number."""
    one = differing()
    joined = tables.steps(one, 1)
    assert column(joined, "side") == ["both", "both", *["source", "target"] * 4]
    assert tables.steps(one, 2).left_out.startswith("2 steps left out") and len(tables.steps(one, 2).rows) == 8
    assert tables.steps(one, 3).left_out.startswith("6 steps left out") and not tables.steps(one, 3).rows


def test_long_names_do_not_head_columns():
    """Refs are longer than a column: the sides are called source and target, and the text says which is which."""
    one = replace(differing(), names=("recipe/rl-correctness", "port/rl_correctness"))
    assert set(column(tables.steps(one), "side")) == {"source", "target"}
    assert "source is recipe/rl-correctness, target is port/rl" in markdown([one]).replace("\\", "")
    assert replace(one, names=("main", "main")).sides == ("source", "target")
