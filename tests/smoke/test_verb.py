"""`porttool smoke` as a user sees it, on a trainer of a few lines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import run

__all__ = ["run"]


def told(ran) -> dict:
    return json.loads(ran.out)


def test_match(run, trained):
    """Without an argument: the project's manifest, both sides, every step; exit 0, and the page is written."""
    code, out, err = run("smoke")
    assert code == 0, err
    assert out.startswith("MATCH  plain: ")
    assert "recipe plain seed 1  step 3/3  score" in err and "port/x plain seed 1  done in" in err
    assert (trained.project.manifest.parent.parent / "build/smoke/m/index.html").is_file()


def test_differ_and_by_commit(run, trained):
    """Before the port the sides differ; --by-commit names the commits that bring them together."""
    assert run("smoke", "--ref", "main").code == 1
    code, out, err = run("smoke", "--by-commit")
    assert code == 0, err
    lines = out.splitlines()
    one, _, three = trained.port
    assert lines[-1] == (
        f"plain: commit 1 ({one[:8]} Nearer) narrows the gap: smaller differences in as many places; "
        f"commit 3 ({three[:8]} There) closes the gap"
    )


def test_json(run, trained):
    """The shape of every verb of the harness; keys begin with the scenario."""
    answer = told(run("smoke", "--ref", "main", "--json"))
    assert answer["verdict"] == answer["probes"]["convergence"]["verdict"] == "DIFFER"
    first = answer["probes"]["convergence"]["findings"][0]
    assert set(first) == {"key", "left", "right", "rule", "cause"}
    assert first["key"] == "plain/step[1].score"
    assert answer["provenance"]["left"]["ref"] == "recipe" and answer["provenance"]["right"]["ref"] == "main"


def test_a_folder_for_what_is_drawn(run, trained, tmp_path):
    """--out says where page and tables go; they are named on stderr, stdout is the answer."""
    code, out, err = run("smoke", "--out", tmp_path / "there", "--steps", "1", "--seeds", "4")
    assert code == 0 and "index.html" not in out
    names = {file.name for file in (tmp_path / "there").iterdir()}
    assert {"index.html", "tables.md"} <= names
    assert err.splitlines()[-1].startswith(f"written: {tmp_path / 'there' / 'index.html'}, ")
    assert "seed 4  step 1/1" in err


def test_a_second_time_nothing_is_run(run, trained):
    """What is kept is not run; --fresh runs it all the same."""
    run("smoke")
    assert run("smoke").err.splitlines()[0] == "0 training runs to make, 2 known already"
    assert run("smoke", "--fresh", "--jobs", "1").err.splitlines()[0] == "2 training runs to make, 1 at a time"


def test_aa(run, trained):
    """A/A prints its count of alarms; one is exit 1."""
    code, out, _ = run("smoke", "--aa", "2")
    assert (code, out) == (0, "MATCH  plain: 2 runs of the source against its own first run: 0 alarms\n")
    code, out, _ = run("smoke", "--aa", "1", "--noise", "free", "--json")
    assert code == 1
    answer = json.loads(out)
    assert answer["verdict"] == "DIFFER" and answer["probes"]["convergence"]["findings"]
    assert answer["provenance"]["scenarios"]["plain"]["alarms"] == 1


def test_measure(run, trained, monkeypatch):
    """Evidence: its file is named; CI may not write it."""
    code, out, _ = run("smoke", "--measure", "5", "--steps", "2")
    file = trained.project.manifest.parent / "m.captures" / "convergence.plain.json"
    assert (code, out) == (0, f"plain: 5 runs of 2 steps, seeds 1: {file}\n")
    assert told(run("smoke", "--measure", "5", "--steps", "2", "--json"))["measured"]["plain"]["file"] == str(file)
    monkeypatch.setenv("CI", "1")
    code, out, err = run("smoke", "--measure", "5")
    assert (code, out) == (2, "") and "--measure is refused in CI" in err


def test_what_a_run_left_is_told(run, trained):
    """A daemon that a driver forgot is named and ended; the numbers are as good as they are."""
    trained.section("{plain: [stray=1]}")
    code, _, err = run("smoke", "--steps", "1")
    assert code == 0
    port, recipe = sorted(line for line in err.splitlines() if " had left process " in line)
    assert port.startswith("port/x plain seed 1 had left") and recipe.startswith("recipe plain seed 1 had left")
    assert recipe.endswith("; it was ended")


def test_a_crash_is_incomparable(run, trained):
    """Exit 3, and the last lines of the side that died."""
    trained.section("{plain: [crash=1]}")
    code, out, err = run("smoke")
    assert code == 3
    first = "INCOMPARABLE  plain: the source side crashed after 0 steps: RuntimeError: the trainer broke"
    assert out.startswith(first)
    assert "crashed after 0 steps and" in err


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["--steps", "0"], "--steps is '0', which is not a whole number above 0", ""),
        (["--seeds", "1,1"], "--seeds is '1,1', which is no list of different whole numbers", "write --seeds 1,2,3"),
        (["--seeds", "a"], "--seeds is 'a', which is no list of different whole numbers", "write --seeds 1,2,3"),
        (["--aa", "2", "--measure", "5"], "--aa and --measure are two questions", "ask one at a time"),
        (["--measure", "3"], "--measure is 3", "an envelope needs at least 5 runs"),
        (["--noise", "dellays"], "argument --noise: invalid choice: 'dellays'", "delays"),
        (["--scenario", "plane"], "parity.convergence has no scenario 'plane'", "plain"),
        (["--sceanrio", "plain"], "unknown option '--sceanrio'", "--scenario"),
        (["--right=-x"], "--right is '-x', which is not a ref, tag or commit", ""),
    ],
)
def test_mistakes(run, trained, words, message, hint):
    """A mistake is exit 2, before anything runs: what, where, and the nearest thing that would do."""
    code, out, err = run("smoke", *words)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {message}") and hint in err
    assert "started" not in err


def test_help(run):
    """Every option with a word about it, and an example."""
    code, out, _ = run("smoke", "--help")
    assert code == 0 and "porttool smoke --scenario plain --steps 6 --seeds 1,2" in out and "--by-commit" in out


def test_interrupted(trained):
    """Ctrl-C: exit 130, one word, and nothing is left."""
    trained.section("{plain: [sleep=30, child=1]}")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    command = [sys.executable, "-m", "porttool", "smoke"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "port/x plain seed 1  started" in line:
                break
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 130
    assert rest == "interrupted\n"
