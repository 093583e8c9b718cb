"""`porttool gate --tier smoke`: training runs by a few lines of Python, behind the proof and the static probes."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from parity.probes.run import cache_folder
from porttool.manifest import load
from porttool.port import apply
from tests.gate.conftest import PARITY
from tests.support.projects import new_project

DRIVER = Path(__file__).resolve().parent.parent / "smoke" / "fake_driver.py"
TRAINING = """\
  packages: []
  convergence: {steps: 3, driver: fake_driver.py:fit, scenarios: {plain: []}}
"""


@pytest.fixture
def trained(tmp_path, monkeypatch, sent):
    """`trained(rate)` is a project whose source trains at rate 0.5 and whose target trains at that one."""
    monkeypatch.chdir(tmp_path)
    made = new_project(tmp_path)

    def project(rate):
        made.repo.commit({"rate.txt": "0.5"}, branch="recipe", message="rate\n")
        made.repo.commit({"rate.txt": rate}, branch="main", message="rate\n")
        made.write("".join(f"  - {{pick: [{pick}]}}\n" for pick in made.picks))
        apply(load(made.manifest))
        made.manifest.write_text(made.manifest.read_text() + PARITY + TRAINING)
        (made.manifest.parent / "fake_driver.py").write_bytes(DRIVER.read_bytes())
        return made

    return project


def test_sides_that_train_alike(run, trained):
    """Training runs come last; a match says how many steps are equal; the page shows their curves."""
    trained("0.5")
    code, out, err = run("gate", "--tier", "smoke", "--html", "gate.html")
    assert code == 0, out + err
    assert "1 scenario, 3 of 3 training steps equal bit for bit" in out.splitlines()[0]
    assert any(line.split()[:2] == ["convergence", "MATCH"] for line in out.splitlines())
    assert "<svg" in Path("gate.html").read_text()


def test_sides_that_train_apart(run, trained):
    """What no static probe sees, training does: the first step and metric that differ, and after which commit."""
    trained("0.7")
    code, out, _ = run("gate", "--tier", "smoke", "--by-commit", "--json")
    told = json.loads(out)
    wrong = {name for name, one in told["probes"].items() if one["verdict"] != "MATCH"}
    assert (code, wrong) == (1, {"convergence"})
    assert told["probes"]["convergence"]["findings"][0]["key"].startswith("plain/")
    assert [one["steps"] for one in told["provenance"]["ledger"]] == [3, 3, 3]
    _, out, _ = run("gate", "--tier", "smoke", "--by-commit")
    first = out.partition("\nconvergence: ")[2].partition("what still differs")[0]
    assert re.search(r"(?m)^  commit: \w{8} the base, main$", first)


def test_static_trains_nothing(run, trained):
    """The default tier leaves the runs alone."""
    trained("0.7")
    code, out, _ = run("gate")
    assert code == 0 and "convergence" not in out


def test_times_are_of_a_manifest_and_of_runs_that_were_made(run, trained):
    """Runs that are kept from before say nothing of how long one takes, nor does another project's gate."""
    made = trained("0.5")
    run("gate", "--tier", "smoke")
    (file,) = (cache_folder() / "gate").rglob("*.json")
    took = json.loads(file.read_text())["smoke"]
    assert took > 0
    run("gate", "--tier", "smoke")
    assert json.loads(file.read_text())["smoke"] == took
    other = shutil.copy(made.manifest, made.manifest.with_name("other.yaml"))
    run("gate", str(other), "--tier", "static")
    assert len(list((cache_folder() / "gate").rglob("*.json"))) == 2
