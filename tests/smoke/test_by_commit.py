"""Which commit opens or closes a gap: by the count of what is wrong, then by its size."""

from __future__ import annotations

import io
import json

import pytest

from parity.record import leaf
from parity.smoke.by_commit import BASE, Distance, by_commit, caused, distance, effect_of
from parity.smoke.by_commit_screen import named, screen
from parity.smoke.compare import compared
from parity.smoke.outcome import Told
from parity.smoke.page_shown import Shown
from parity.smoke.run import Asked, Trainer
from parity.smoke.series import Series
from parity.smoke.setting import setting
from parity.smoke.watch import Lines
from porttool.errors import UsageError
from porttool.manifest import load
from porttool.screen import console
from tests.cli.conftest import run

__all__ = ["run"]

NOTHING, FAR, NEAR = Distance(False, 0, 0.0), Distance(False, 9, 4.0), Distance(False, 9, 3.0)
CRASHED = Distance(True, 0, 0.0)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (FAR, FAR, ""),
        (NOTHING, NOTHING, ""),
        (FAR, NOTHING, "closes the gap"),
        (NOTHING, FAR, "opens the gap"),
        (FAR, NEAR, "narrows the gap: smaller differences in as many places"),
        (NEAR, FAR, "widens the gap: larger differences in as many places"),
        (FAR, Distance(False, 4, 9.0), "narrows the gap: 9 to 4 findings"),
        (Distance(False, 4, 9.0), FAR, "widens the gap: 4 to 9 findings"),
        (CRASHED, FAR, "mends the run"),
        (CRASHED, NOTHING, "mends the run, and closes the gap"),
        (NOTHING, CRASHED, "breaks the run"),
    ],
)
def test_what_a_commit_does(before, after, told):
    """Each way from one distance to another has its words."""
    assert effect_of(before, after) == told


def series(side: str, *scores: float, crashed: str = "", **validation: float) -> Series:
    steps = tuple({"score": leaf(score)} for score in scores)
    shown = {name: leaf(value) for name, value in validation.items()}
    return Series("one", side, 1, {}, steps, shown, variance=(1.0,) * len(scores), crashed=crashed)


def away(*scores: float, **validation: float) -> Distance:
    source = series("source", 1.0, 2.0, 4.0, val=1.0)
    return distance(compared([source], [series("target", *scores, **validation)], Told()))


def test_distance():
    """What is equal is at none; more findings are further than larger ones; a lost step counts."""
    assert away(1.0, 2.0, 4.0, val=1.0) == NOTHING
    assert away(1.0, 2.0, 4.5, val=1.0) < away(1.0, 2.0, 9.0, val=1.0) < away(1.0, 2.5, 4.5, val=1.0)
    assert away(1.0, 2.0, val=1.0) > NOTHING
    assert away(float("nan"), 2.0, 4.0, val=1.0) > NOTHING
    assert distance(compared([series("source", 1.0)], [series("target", crashed="it broke")], Told())) == CRASHED
    assert CRASHED > FAR


def trainer(trained, right: str = "") -> Trainer:
    return Trainer(setting(load(trained.project.manifest), right=right), Asked())


def test_the_port_commit_by_commit(trained):
    """The base and each commit, first parents only; a commit that moves nothing is named by nobody."""
    lines: list[str] = []
    [walk] = by_commit(trainer(trained), Lines(lines.append))
    assert lines[0].startswith("5 training runs to make") and f"{trained.port[0][:8]} plain seed 1  started" in lines
    again: list[str] = []
    by_commit(trainer(trained), Lines(again.append))
    assert again == ["0 training runs to make, 5 known already"]
    assert [row.subject for row in walk.rows] == [BASE, "Nearer", "Explain", "There"]
    assert [row.equal for row in walk.rows] == ["0/3", "0/3", "0/3", "3/3"]
    assert [row.cells for row in walk.rows] == [7, 7, 7, 0]
    assert [row.first for row in walk.rows] == ["step[1].score"] * 3 + [""]
    assert [bool(row.told) for row in walk.rows] == [False, True, False, True]
    assert [cause.commit for cause in walk.causes] == [trained.port[0], trained.port[2]]
    assert named(walk).endswith(f"commit 3 ({trained.port[2][:8]} There) closes the gap")


def test_a_commit_that_breaks_the_run(trained):
    """It cannot be compared after it: the row says why, the commit is named."""
    trained.project.repo.commit({"rate.txt": "none"}, branch="port/x", message="Break\n")
    [walk] = by_commit(trainer(trained), Lines([].append))
    assert walk.rows[-1].told == "breaks the run"
    assert "could not convert string to float" in walk.rows[-1].why
    out = io.StringIO()
    screen([walk], console(out, False))
    assert "4 cannot be compared: the target side crashed after 0 steps: ValueError" in out.getvalue()
    assert walk.rows[-1].distance.incomparable


def test_nothing_is_ported(trained):
    """Without a commit after the base there is nothing to walk."""
    with pytest.raises(UsageError, match="there is no commit between main and main"):
        by_commit(trainer(trained, "main"), Lines([].append))


def test_nothing_to_walk_is_told_before_anything_is_trained(run, trained):
    """Not after minutes of it."""
    code, out, err = run("smoke", "--by-commit", "--ref", "main")
    assert (code, out) == (2, "") and "training run" not in err
    assert "hint: port first: porttool apply" in err


def test_causes_stand_beside_their_scenario(trained):
    """What is shown of a scenario gets the commits of its own walk."""
    [walk] = by_commit(trainer(trained), Lines([].append))
    both = compared([series("source", 1.0)], [series("target", 2.0)], Told())
    other = Shown(both, (), ())
    assert caused([other], [walk])[0].causes == ()


def test_screen_and_json(run, trained):
    """A row a commit, and the sentence that names those that count; the same in JSON."""
    code, out, _ = run("smoke", "--by-commit", "--ref", "port/x~1")
    assert code == 1
    lines = out.splitlines()
    table = lines.index("plain, commit by commit")
    assert "first divergence" in lines[table + 2]
    assert lines[-1].startswith("plain: commit 1 (")
    answer = json.loads(run("smoke", "--by-commit", "--json").out)
    rows = answer["provenance"]["by_commit"]["plain"]
    assert [row["verdict"] for row in rows] == ["DIFFER"] * 3 + ["MATCH"]
    assert rows[3]["cause"] == "closes the gap" and rows[3]["first"] is None
    causes = answer["provenance"]["scenarios"]["plain"]["causes"]
    assert [cause["subject"] for cause in causes] == ["Nearer", "There"]
