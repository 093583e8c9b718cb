"""The figures of the benchmark and how they are judged."""

from __future__ import annotations

import json

import pytest

from porttool import bench
from porttool.bench_runs import CHERRY_PICK, COMMAND, PLAIN, REWRITING, Row, Took, WholeTree

TREE = WholeTree(files=434, size=4_000_000, read_write=0.1, forward=1.0, both=1.5, one_way=0)


def rows(**seconds: float) -> list[Row]:
    """Two sizes of tree; `plain=2.0` sets the time of apply on the small one, `plain_large` on the large one."""
    told = {"pick": 6.0, "plain": 1.0, "rewriting": 3.0, "command": 4.0, **seconds}
    names = {"pick": CHERRY_PICK, "plain": PLAIN, "rewriting": REWRITING, "command": COMMAND}
    made = []
    for files, suffix in ((1_000, ""), (50_000, "_large")):
        for key, what in names.items():
            took = told.get(key + suffix, told[key])
            made.append(Row(what, files, 60, took, took, (Took(took, took),)))
    return made


def unmet(tree: WholeTree = TREE, **seconds: float) -> list[str]:
    return [goal.promise for goal in bench.judge(rows(**seconds), tree) if not goal.met]


def test_all_goals_met() -> None:
    """Figures within every goal leave none unmet."""
    assert unmet() == []


@pytest.mark.parametrize(
    ("seconds", "promise"),
    [
        ({"plain": 2.1}, "apply: at least 3x as fast as git cherry-pick"),
        ({"rewriting": 6.1}, "apply, rewriting: at least 1x as fast as git cherry-pick"),
        ({"plain_large": 1.21}, "apply: 50,000 files cost at most 1.2x of 1,000 files"),
        ({"rewriting_large": 3.7}, "apply, rewriting: 50,000 files cost at most 1.2x of 1,000 files"),
    ],
)
def test_each_goal_can_fail(seconds: dict[str, float], promise: str) -> None:
    """A figure just outside its goal makes that goal, and no other, unmet."""
    assert unmet(**seconds) == [promise]


def test_whole_tree_goal_can_fail() -> None:
    """A whole tree that takes three seconds is unmet."""
    slow = WholeTree(434, 4_000_000, 0.1, 3.0, 3.5, 0)
    assert unmet(slow) == ["T over all 434 files of verl takes under 3 s"]


def test_the_worst_shape_counts() -> None:
    """A goal is judged by the shape where it does worst, and says which."""
    goal = bench.judge(rows(plain_large=1.1, pick_large=2.2), TREE)[0]
    assert not goal.met and goal.measured == "2.00x at worst (50,000 files, 60 commits)"


def test_table_and_json_agree() -> None:
    """The table and the JSON tell the same figures."""
    made = rows()
    goals = bench.judge(made, TREE)
    table = "\n".join(bench.as_table(made, TREE, goals))
    assert f"{1000 * 6.0 / 60:.2f}" in table and "6.00x" in table and table.count("NOT MET") == 0
    told = json.loads(json.dumps(bench.as_json(made, TREE, goals)))
    assert len(told["apply"]) == len(made) and told["apply"][0]["ms_per_commit"] == 100.0
    assert all(goal["met"] for goal in told["goals"])


def test_outside_a_project(tmp_path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder without pins is told so in three lines; nothing is measured."""
    monkeypatch.chdir(tmp_path)
    assert bench.main(["--quick"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 3
