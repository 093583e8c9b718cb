"""What is told of runs while they go on."""

from __future__ import annotations

import io

from rich.console import Console

from parity.record import leaf
from parity.smoke.series import Series
from parity.smoke.watch import planned, watching
from tests.smoke.launching import a_run

DONE = Series("one", "source", 1, {}, ({}, {}), {})


def tell(watch, run):
    watch.waiting([run, run], [run], 2)
    watch.started(run)
    watch.step(run, 1, {"score": leaf(0.25)}, 40.0)
    watch.step(run, 2, {"other": leaf("x")}, 42.0)


def test_lines(tmp_path):
    """A line a step: side, scenario, step, score, seconds; then how it ended."""
    lines: list[str] = []
    run = a_run(tmp_path)
    with watching(None, lines.append) as watch:
        tell(watch, run)
        watch.ended(run, DONE, 50.0)
        watch.ended(a_run(tmp_path, sample=4), Series("one", "source", 1, {}, ({},), {}, crashed="trace\nwhy"), 3.0)
    assert lines == [
        "1 training run to make, 1 known already",
        "main one seed 1  started",
        "main one seed 1  step 1/3  score 0.25  40 s",
        "main one seed 1  step 2/3  42 s",
        "main one seed 1  done in 50 s",
        "main one seed 1 run 5  crashed after 1 step and 3 s: why",
    ]


def test_bars(tmp_path):
    """On a terminal a bar for each run: step, score, and what is left by the pace of its steps."""
    out, run = io.StringIO(), a_run(tmp_path)
    console = Console(file=out, force_terminal=True, width=120, color_system=None)
    with watching(console, print) as watch:
        tell(watch, run)
        watch._progress.refresh()
        watch.ended(run, DONE, 50.0)
    shown = out.getvalue()
    assert "main one seed 1" in shown and "2/3" in shown and "about 2 s left" in shown
    assert "main one seed 1  done in 50 s" in shown


def test_what_there_is_to_do(tmp_path):
    """Counts, and how many at a time."""
    runs = [a_run(tmp_path, seed=seed) for seed in range(4)]
    assert planned(runs, [], 2) == "4 training runs to make, 2 at a time"
    assert planned(runs, runs, 2) == "0 training runs to make, 4 known already"
