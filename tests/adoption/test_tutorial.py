"""Part 1 of the tutorial, run as it stands: every command, and what it prints where that is the same everywhere."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
TUTORIAL = ROOT / "docs" / "tutorial.md"


def sessions(text):
    """(command, lines that it should print) of each `console` block of part 1, in order."""
    part = text.partition("## Part 1")[2].partition("## Part 2")[0]
    found = []
    for block in re.findall(r"(?ms)^```console\n(.*?)^```$", part):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def plain(line):
    """A line without what differs between machines and versions: ids, digests, broken numbers, widths."""
    line = re.sub(r"\b[0-9a-f]{7,40}\b", "<id>", line)
    line = re.sub(r"\d+\.\d+(e-?\d+)?", "<n>", line)
    return re.sub(r"\s+", " ", line).strip()


def fits(shown, printed):
    """Whether output is what the tutorial shows: `...` stands for any lines, at a line's end for its rest."""
    pattern = ""
    for line in map(plain, shown):
        if line == "...":
            pattern += r"(?:[^\n]*\n)*?"
        elif line.endswith(" ..."):
            pattern += re.escape(line[:-4]) + r"[^\n]*\n"
        else:
            pattern += re.escape(line) + r"\n"
    text = "".join(f"{plain(line)}\n" for line in printed.splitlines())
    return re.fullmatch(pattern, text) is not None


@pytest.fixture
def shell(tmp_path):
    """A shell in a fresh checkout whose `porttool` and `python` are those of this test; it keeps its folder."""
    checkout, tools = tmp_path / "porttool", tmp_path / "bin"
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "examples", checkout / "examples", ignore=skipped)
    tools.mkdir()
    for name, words in (("python", ""), ("porttool", " -m porttool")):
        (tools / name).write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable}{words} "$@"\n')
        (tools / name).chmod(0o755)
    told = {"PATH": f"{tools}:{os.environ['PATH']}", "PORTTOOL_CACHE": str(tmp_path / "cache"), "COLUMNS": "100"}
    # As on a machine whose git knows nobody yet.
    known = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_AUTHOR", "GIT_COMMITTER"))}
    where = tmp_path / "where"
    where.write_text(str(checkout))

    def run(command):
        cwd = where.read_text().strip()
        script = f"{command}\nstatus=$?; pwd > {where}; exit $status"
        return subprocess.run(
            ["sh", "-c", script], cwd=cwd, env={**known, **told}, capture_output=True, text=True, check=False
        )

    return run


@pytest.mark.slow
def test_word_for_word(shell):
    """A fresh repository with two layouts of something that is not an RL trainer gets to a green gate."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("the example trains with torch, which is not installed")
    told = sessions(TUTORIAL.read_text(encoding="utf-8"))
    for command, shown in told:
        ended = shell(command)
        assert ended.returncode == 0, f"$ {command}\n{ended.stdout}{ended.stderr}"
        assert fits(shown, ended.stdout), f"$ {command}\n{ended.stdout}\n--- the tutorial shows\n" + "\n".join(shown)


def test_it_leads_from_init_to_the_gate():
    """The commands are there: init, the port, its proof, a gate that says yes and one that says no."""
    told = sessions(TUTORIAL.read_text(encoding="utf-8"))
    verbs = [command.split()[1] for command, _ in told if command.startswith("porttool ")]
    assert verbs[0] == "init" and {"plan", "apply", "verify", "diff-meta", "smoke", "gate"} <= set(verbs)
    gates = [shown for command, shown in told if command.startswith("porttool gate")]
    assert [(shown[0].split()[0], shown[-1]) for shown in gates] == [
        ("MATCH", "exit 0"),
        ("DIFFER", "exit 1"),
        ("MATCH", "exit 0"),
    ]


@pytest.mark.parametrize(
    ("shown", "printed", "answer"),
    [
        (["a b"], "a   b\n", True),
        (["a"], "a\nb\n", False),
        (["a", "..."], "a\nb\nc\n", True),
        (["...", "c"], "a\nb\nc\n", True),
        (["...", "d"], "a\nb\nc\n", False),
        (["at 0123456789ab"], "at ba9876543210\n", True),
        (["took 1.5 s"], "took 22.75 s\n", True),
        (["3 keys"], "4 keys\n", False),
        (["MATCH ..."], "MATCH  all of it\n", True),
        (["MATCH ..."], "DIFFER  all of it\n", False),
        (["exit 0"], "exit 1\n", False),
        ([], "anything\n", False),
    ],
)
def test_the_comparison_sees(shown, printed, answer):
    """Ids and broken numbers may differ, words and whole numbers may not, and nothing may be missing or extra."""
    assert fits(shown, printed) is answer


def test_commands_are_found():
    """A command is a line behind `$ ` in a console block of part 1, with the lines up to the next."""
    block = "```console\n$ one\nout\n\nmore\n$ two\n```\n"
    text = f"$ no\n## Part 1\n{block}```sh\n$ no\n```\n## Part 2\n{block}"
    assert sessions(text) == [("one", ["out", "", "more"]), ("two", [])]
