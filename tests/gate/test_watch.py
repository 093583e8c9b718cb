"""Progress says what is done and, once it was timed, how long is left."""

from __future__ import annotations

import json

import pytest

from parity.gate.watch import Watch, lasting

STAGES = ("proof", "capture", "compare")


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still unless it is moved."""
    now = [0.0]
    monkeypatch.setattr("parity.gate.watch.time.monotonic", lambda: now[0])
    return now


def run(watch, clock, *seconds):
    for name, took in zip(STAGES, seconds, strict=True):
        with watch.stage(name, f"doing {name}"):
            clock[0] += took


def test_the_first_run_knows_no_times(clock, tmp_path):
    """Nothing is guessed: a stage that was never timed has no time left."""
    lines: list[str] = []
    run(Watch(STAGES, lines.append, tmp_path / "t" / "s.json"), clock, 2, 40, 1)
    assert lines == ["1/3 proof: doing proof", "2/3 capture: doing capture", "3/3 compare: doing compare"]


def test_later_runs_say_how_long_is_left(clock, tmp_path):
    """What a stage took before, by its units of work, is what is left of it."""
    file, lines = tmp_path / "s.json", []
    first = Watch(STAGES, lines.append, file)
    first.expect("capture", 10)
    run(first, clock, 2, 40, 1)
    first.keep()
    lines.clear()
    second = Watch(STAGES, lines.append, file)
    second.expect("capture", 5)
    run(second, clock, 2, 20, 1)
    assert lines == [
        "1/3 proof: doing proof (about 23 s left)",
        "2/3 capture: doing capture (about 21 s left)",
        "3/3 compare: doing compare (a moment left)",
    ]


def test_nothing_to_do_takes_no_time(clock, tmp_path):
    """A stage without work is not timed, and is expected to take none."""
    file = tmp_path / "s.json"
    file.write_text('{"proof": 1, "capture": 100, "compare": 1}')
    watch = Watch(STAGES, lambda _: None, file)
    watch.expect("capture", 0)
    assert watch.left("proof") == 2
    run(watch, clock, 1, 0.5, 1)
    watch.keep()
    assert json.loads(file.read_text())["capture"] == 100


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"proof": "x"}'])
def test_a_broken_file_only_costs_the_times(clock, tmp_path, content):
    """Times are a courtesy: a file that cannot be read is as good as none."""
    file = tmp_path / "s.json"
    file.write_text(content)
    assert Watch(STAGES, lambda _: None, file).left("proof") is None


def test_what_a_stage_reports_stands_under_its_name(clock):
    """So that a lone line says of what it is."""
    lines: list[str] = []
    with Watch(STAGES, lines.append).stage("capture", "two sides") as report:
        report("1/4 done")
    assert lines == ["2/3 capture: two sides", "2/3 capture: 1/4 done"]


def test_times_that_cannot_be_kept_cost_nothing_else(clock, tmp_path):
    """The verdict of a gate is not lost with them, and no part of the file is left."""
    (tmp_path / "s.json").mkdir()
    Watch(STAGES, lambda _: None, tmp_path / "s.json").keep()
    assert [file.name for file in tmp_path.iterdir()] == ["s.json"]


def test_a_stage_that_fails_is_timed(clock):
    """What a stage took is known also where it ended in a fault, and is no guide for the next run."""
    watch = Watch(STAGES, lambda _: None)
    with pytest.raises(ValueError), watch.stage("proof", "x"):
        clock[0] += 3
        raise ValueError
    assert watch.seconds == {"proof": 3}
    assert watch.left("proof") is None


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "a moment"), (12.4, "about 12 s"), (89, "about 89 s"), (200, "about 3 min")]
)
def test_lengths_of_time(seconds, words):
    """Times are for people."""
    assert lasting(seconds) == words
