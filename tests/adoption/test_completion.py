"""The completion scripts, in the shells they are for."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from porttool.cli import VERBS, load_verb, main
from porttool.completion import ASKED, MANIFESTS, TEXT, grammar, kind_of
from porttool.completion_scripts import SCRIPTS
from tests.support.projects import new_project

ROOT = Path(__file__).resolve().parent.parent.parent
# What a user makes up; everything else has to be completed.
FREE = {"TEXT", "'NAME <MAIL>'", "PATH", "ADDRESS", "N", "N,N"}

ZSH = r"""
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'PS1=; fpath=('$1' $fpath); autoload -Uz compinit; compinit -u -D
compadd () {
    local -a hits
    builtin compadd -A hits "$@" 2>/dev/null
    [[ -n $hits ]] && print -rl -- ${hits/#/HIT:}
    builtin compadd "$@"
}
finish () { print DONE; zle kill-whole-line }
zle -N finish
bindkey "^I" complete-word
bindkey "^G" finish
print READY'
local line
while zpty -r z line; do [[ $line == *READY* && $line != *print* ]] && break; done
zpty -w -n z "$2"$'\t\007'
while zpty -r z line; do
    [[ $line == *HIT:* ]] && print -r -- ${line#*HIT:}
    [[ $line == *DONE* ]] && break
done
zpty -d z
"""

BASH = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_porttool
printf '%s\\n' "${COMPREPLY[@]}"
"""


def all_verbs():
    return grammar(VERBS, {verb: load_verb(verb) for verb in VERBS})


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """A project to complete in, and `porttool` on PATH."""
    project = new_project(tmp_path)
    folder = tmp_path / "bin"
    folder.mkdir()
    command = folder / "porttool"
    command.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m porttool "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return project


def script(folder: Path, name: str) -> Path:
    file = folder / f"_porttool.{name}"
    file.write_text(SCRIPTS[name](all_verbs()))
    return file


def ran(*words: object) -> list[str]:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return [line for line in (line.strip() for line in done.stdout.splitlines()) if line]


def bash(folder: Path, *words: str) -> list[str]:
    """What bash offers for the last of the words."""
    return ran("bash", "--norc", "--noprofile", "-c", BASH, "bash", script(folder, "bash"), "porttool", *words)


def zsh(folder: Path, *words: str) -> list[str]:
    """What zsh offers, asked at a terminal of its own."""
    functions = folder / "functions"
    functions.mkdir(exist_ok=True)
    script(folder, "zsh").replace(functions / "_porttool")
    (folder / "ask.zsh").write_text(ZSH)
    return ran("zsh", "-f", folder / "ask.zsh", functions, " ".join(("porttool", *words)))


def fish(folder: Path, *words: str) -> list[str]:
    """What fish offers, without the descriptions."""
    ask = f"source {script(folder, 'fish')}; complete -C {' '.join(('porttool', *words))!r}"
    return [line.partition("\t")[0] for line in ran("fish", "--no-config", "-c", ask)]


SHELLS = [
    pytest.param(ask, marks=pytest.mark.skipif(not shutil.which(ask.__name__), reason=f"{ask.__name__} is not here"))
    for ask in (bash, zsh, fish)
]
shells = pytest.mark.parametrize("ask", SHELLS, ids=lambda ask: ask.__name__)


@shells
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["ver"], ["verify"]),
        (["diff"], ["diff-config", "diff-meta"]),
        (["verify", "--la"], ["--landed"]),
        (["verify", "--landed", "r"], ["recipe"]),
        (["apply", "--branch", "m"], ["main"]),
        (["plan", ""], ["manifests/m.yaml"]),
        (["plan", "--by", ""], ["pick", "upstream"]),
        (["vendor", "s"], ["sync"]),
        (["resolution", "drop", "--mani"], ["--manifest"]),
        (["infer", "re"], ["recipe"]),
        (["back", "manifests/m.yaml", "ma"], ["main"]),
    ],
)
def test_offers(shell, tmp_path, monkeypatch, ask, words, offered):
    """Verbs, steps, options, values, manifests and refs, each where it belongs and nothing else."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert sorted(set(ask(tmp_path, *words))) == offered


@pytest.mark.parametrize("verb", VERBS)
def test_bash_offers_every_option(shell, tmp_path, verb):
    """After a verb and two dashes: exactly the options its parser takes."""
    for command in all_verbs().commands:
        if command.path[0] == verb:
            known = {name for option in command.options for name in option.names if name.startswith("--")}
            assert set(bash(tmp_path, *command.path, "--")) == known


def test_bash_offers_every_verb(shell, tmp_path):
    """The first word is a verb, or --help, or --version."""
    assert set(bash(tmp_path, "")) == {*VERBS, "--help", "--version"}


def test_bash_knows_an_equals_sign(shell, tmp_path):
    """bash breaks `--by=up` into three words; the value is completed all the same."""
    assert bash(tmp_path, "plan", "--by", "=", "up") == ["upstream"]
    assert bash(tmp_path, "plan", "--by", "=") == ["pick", "upstream"]


def test_bash_skips_the_value_of_an_option(shell, tmp_path):
    """A value is no positional: after it the manifest is still to come."""
    assert bash(tmp_path, "plan", "--branch", "main", "") == ["manifests/m.yaml"]
    assert bash(tmp_path, "apply", "--reason", "x", "manifests/m.yaml", "") == []


def test_a_ref_is_never_run(shell, tmp_path):
    """A branch may be called `$(...)`: it is offered quoted, and nothing of it runs."""
    hostile = "x$(touch${IFS}pwned)"
    shell.repo.branch(hostile, "main")
    offered = bash(tmp_path, "verify", "--landed", "x")
    assert not (tmp_path / "pwned").exists()
    # What is typed from it is the name again.
    echoed = subprocess.run(["bash", "-c", f"printf %s {offered[0]}"], capture_output=True, text=True, check=True)
    assert echoed.stdout == hostile
    assert not (tmp_path / "pwned").exists()


def test_the_check_above_sees(shell, tmp_path):
    """With compgen's own word list the same name would run."""
    shell.repo.branch("x$(touch${IFS}pwned)", "main")
    text = SCRIPTS["bash"](all_verbs())
    wrong = text.replace(
        '[[ $line == "$cur"* ]] && COMPREPLY+=("$(printf \'%q\' "$line")")',
        'COMPREPLY+=($(compgen -W "$line" -- "$cur"))',
    )
    assert wrong != text
    (tmp_path / "wrong").write_text(wrong)
    words = ["bash", "-c", BASH, "bash", tmp_path / "wrong", "porttool", "verify", "--landed", "x"]
    subprocess.run([str(word) for word in words], capture_output=True, check=True)
    assert (tmp_path / "pwned").exists()


@pytest.mark.parametrize("name", SCRIPTS)
def test_syntax(tmp_path, name):
    """Each script parses in its shell, warnings counted."""
    if not shutil.which(name):
        pytest.skip(f"{name} is not here")
    done = subprocess.run([name, "-n", script(tmp_path, name)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_syntax_errors_are_seen(tmp_path, name):
    """The check above fails on a script that is cut off."""
    if not shutil.which(name):
        pytest.skip(f"{name} is not here")
    file = script(tmp_path, name)
    file.write_text(file.read_text() + "\nfor x in ")
    assert subprocess.run([name, "-n", file], capture_output=True, check=False).returncode


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_verb_prints_the_script(capsys, name):
    """`porttool completion SHELL` prints it, and the same with --json."""
    assert main(["completion", name]) == 0
    out = capsys.readouterr().out
    assert out == SCRIPTS[name](all_verbs())
    assert main(["completion", name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"shell": name, "script": out}


def test_every_value_is_known():
    """Each option and word is completed, or is free text of a kind that is listed here."""
    words = [word for command in all_verbs().commands for word in (*command.options, *command.positionals)]
    assert {word.label for word in words if word.kind == TEXT} <= FREE


def test_kinds():
    """The name of an argument decides, then its metavar; what is unknown is free text."""
    assert kind_of("branch", "NAME", ()) == "refs"
    assert kind_of("x", "MANIFEST", ()) == MANIFESTS
    assert kind_of("x", "NAME", ()) == TEXT
    assert kind_of("branch", "NAME", ("a",)) == "choices"
    assert [kind_of("scenario", "NAME", (), verb) for verb in ("diff-meta", "smoke")] == ["scenarios", "trainings"]


# What the scripts ask


@pytest.fixture
def asked(capsys):
    def ask(*words: str) -> list[str]:
        assert main(["completion", "words", *words]) == 0
        return capsys.readouterr().out.split()

    return ask


def test_words(shell, tmp_path, asked):
    """Refs of both repositories, scenarios, trainings and resolutions; each an empty answer where there are none."""
    assert asked("refs") == ["main", "recipe"]
    assert asked("refs", "--manifest", "manifests/m.yaml") == ["main", "recipe"]
    assert asked("scenarios") == asked("trainings") == asked("resolutions") == []
    parity = "parity: {scenarios: {plain: [], zorro: []}, convergence: {scenarios: {short: []}}}\n"
    shell.write(f"- {{pick: [{shell.picks[0]}]}}\n", extra=parity)
    assert (asked("scenarios"), asked("trainings")) == (["plain", "zorro"], ["short"])
    assert set(ASKED) == {"refs", "scenarios", "trainings", "pins", "resolutions"}


def test_a_url_is_not_fetched(shell, asked):
    """Pressing a key reaches no network: refs of a repository named by URL are not listed."""
    shell.manifest.write_text(shell.manifest.read_text().replace("repo: repo", "repo: https://example.invalid/x"))
    assert asked("refs") == []


def test_refs_before_there_is_a_manifest(shell, tmp_path, asked, monkeypatch):
    """Where no manifest can be chosen, the refs of the repository one stands in."""
    shell.manifest.unlink()
    monkeypatch.chdir(shell.repo.path)
    assert asked("refs") == ["main", "recipe"]


def test_pins(asked, monkeypatch):
    """The pins of this project."""
    monkeypatch.chdir(ROOT)
    assert "verl" in asked("pins")


def test_a_broken_manifest_is_silent(shell, tmp_path):
    """A manifest that cannot be read offers nothing, and says nothing into the line that is typed."""
    shell.manifest.write_text("version: [")
    assert bash(tmp_path, "verify", "--landed", "") == []
