"""The worker: an order in, one capture a job out, whatever happens."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from parity import worker
from parity.record import from_json, leaf
from parity.worker import Order, order_from_json
from tests.parity.test_capture import a_job


def run(tmp_path, *jobs, tree=None):
    order = Order(str(tree or tmp_path), str(tmp_path / "scratch"), tuple(j.to_json() for j in jobs), {"env.x": "1"})
    (tmp_path / "order.json").write_text(order.to_json(), encoding="utf-8")
    command = [sys.executable, worker.__file__, str(tmp_path / "order.json"), str(tmp_path)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)


def test_an_order_survives_its_json():
    """What a worker reads is what it was told."""
    order = Order("tree", "scratch", (a_job().to_json(),), {"ref": "main"})
    assert order_from_json(order.to_json()) == order


def test_a_job_that_cannot_start_leaves_its_last_lines(tmp_path):
    """The capture says why, keeps provenance, and the process tells by its status."""
    ended = run(tmp_path, a_job(), a_job(scenario="two"))
    assert ended.returncode == 1
    told = [from_json((tmp_path / f"{place}.json").read_text()) for place in (0, 1)]
    assert [one.scenario for one in told] == ["one", "two"]
    assert all("No module named" in one.crashed for one in told)
    assert all(one.provenance == {"env.x": "1", "seed": "1"} for one in told)


def test_the_tree_stands_first(tmp_path):
    """A package of the tree wins over one that is installed."""
    tree = tmp_path / "tree"
    (tree / "torch").mkdir(parents=True)
    (tree / "torch/__init__.py").write_text("raise SystemExit('the tree was first')\n")
    run(tmp_path, a_job(), tree=tree)
    assert "the tree was first" in from_json((tmp_path / "0.json").read_text()).crashed


@pytest.mark.parametrize("name", ["parity", "porttool"])
def test_a_harness_in_the_tree_is_not_asked(tmp_path, name):
    """A repository may hold porttool itself: what observes a side is never the side's own code."""
    (tmp_path / "d.py").write_text("def step(job, scratch):\n    return {'p': {'k': 1}}\n")
    tree = tmp_path / "tree"
    (tree / name).mkdir(parents=True)
    (tree / name / "__init__.py").write_text("raise SystemExit('the harness of the tree')\n")
    run(tmp_path, a_job(driver=f"{tmp_path}/d.py:step"), tree=tree)
    told = from_json((tmp_path / "0.json").read_text())
    assert (told.crashed, told.probes) == ("", {"p": {"k": leaf(1)}})


def test_its_own_folder_shadows_nothing(tmp_path):
    """`record` and `capture` of this package are not top-level modules of a worker."""
    code = f"import runpy, sys; sys.argv = ['worker.py']; sys.path.insert(0, {str(Path(worker.__file__).parent)!r})"
    check = (
        "\ntry:\n    runpy.run_path(sys.path[0] + '/worker.py', run_name='__main__')\nexcept TypeError:\n    pass\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code + check + "import importlib.util; print(importlib.util.find_spec('compare'))"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout.strip() == "None", ended.stderr
