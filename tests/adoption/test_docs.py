"""The documents: every command in them exists, every link leads somewhere, and the worked example is what happens."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from porttool.arguments import Parser
from porttool.cli import VERBS, load_verb
from porttool.errors import UsageError

ROOT = Path(__file__).resolve().parent.parent.parent
TEXTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]
SHELL_ENDS = re.compile(r"\s(?:>|>>|\||\|\||&&|2>|#)(?:\s|$)|\s*;(?:\s|$)")
# In code a command begins a line or stands behind a shell's own words; in prose it is inline code.
IN_CODE = re.compile(r"(?:^(?:[\w.-]+: |sh ')?|\$\(|[$;&|] |: )porttool((?: .*)?)")
IN_PROSE = re.compile(r"`porttool((?:\s[^`]*)?)`")


def commands(text: str) -> Iterator[tuple[int, str]]:
    """Each command line of porttool in a Markdown text, with its line; what a shell does with it is cut off."""
    for at, line, code in parts(text):
        found = IN_CODE.search(line.strip()) if code else None
        told = [found] if found else [] if code else IN_PROSE.finditer(line)
        for one in told:
            command = SHELL_ENDS.split(" ".join(one[1].split()))[0].strip()
            if command:
                yield at, command.removesuffix('"').removesuffix(")") if "$(" in one[0] else command


def parts(text: str) -> Iterator[tuple[int, str, bool]]:
    """Lines of code, and whole paragraphs of prose: where each begins, and which of the two it is."""
    prose: list[str] = []
    fenced = False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        fence = line.lstrip().startswith("```")
        code = fenced or line.startswith(("    ", "\t"))
        if (code or fence or not line) and prose:
            yield number - len(prose), "\n".join(prose), False
            prose = []
        fenced = fenced != fence
        if code:
            yield number, line, True
        elif line and not fence:
            prose.append(line)


def refused(told: str) -> str:
    """Why the real parser does not take a command; "" where it does. `a|b` means either, `[x]` may be left out."""
    try:
        words = shlex.split(told.replace("'", '"') if told.count("'") % 2 else told)
    except ValueError as error:
        return str(error)
    words = [word for word in (re.sub(r"^\[|[\],.:;]+$", "", word) for word in words) if word not in ("...", "")]
    if words[0].isupper() or words[0] in ("--version", "--help"):
        return ""
    if words[0] not in VERBS:
        return f"{words[0]!r} is no verb"
    for one in alternatives(words):
        if why := _refused(one):
            return f"{' '.join(one)}: {why}"
    return ""


def alternatives(words: list[str]) -> list[list[str]]:
    """A command line for each word of a choice such as `static|smoke|all`."""
    for at, word in enumerate(words):
        if "|" in word:
            return [[*words[:at], one, *words[at + 1 :]] for one in word.split("|")]
    return [words]


def _refused(words: list[str]) -> str:
    verb = load_verb(words[0])
    parser = Parser(f"porttool {words[0]}", VERBS[words[0]], verb.EXAMPLE)
    verb.arguments(parser)
    if len(words) == 1 or (len(words) == 2 and words[1] in parser.steps()):
        return ""  # the verb is named, not run
    if words[-1] == "--help":
        return ""
    try:
        parser.read(words[1:])
    except UsageError as error:
        return f"{error.message} ({error.hint})"
    return ""


@pytest.mark.parametrize("file", TEXTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_command_exists(file):
    """Each `porttool VERB --option` in the documents is taken by the verb's own parser."""
    told = [(line, command, refused(command)) for line, command in commands(file.read_text())]
    assert [(line, command, why) for line, command, why in told if why] == []


def test_commands_are_found():
    """Blocks, inline code, continuations of a shell and alternatives are all looked at."""
    text = (
        "    porttool plan --json > x.json   # why\n"
        "text `porttool apply --dry-run` and `porttool back MANIFEST [RANGE]`.\n"
        '    eval "$(porttool completion bash)"\n'
        "    $ git x && porttool verify | head -1\n"
        "```sh\nporttool status\n```\n"
        "porttooling is no command\n"
        "porttool knows no such verb, but `porttool\nschema --json` is one\n"
    )
    assert [command for _, command in commands(text)] == [
        "plan --json", "apply --dry-run", "back MANIFEST [RANGE]", "completion bash", "verify", "status",
        "schema --json",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("aply", "is no verb"),
        ("apply --dryrun", "unknown option '--dryrun'"),
        ("plan --by left|pick", "invalid choice"),
        ("resolution list --path x", "unknown option"),
        ("vendor snyc verl", "invalid choice"),
        ("infer a b c d", "unknown argument"),
    ],
)
def test_wrong_commands_are_seen(command, why):
    """A verb, an option, a choice or a word too many that the parser does not take is found."""
    assert why in refused(command)


def links(file: Path) -> Iterator[tuple[str, str]]:
    """Links to files of the project: the file, and the heading in it."""
    for target in re.findall(r"\]\(([^)\s]+)\)", file.read_text()):
        if not re.match(r"[a-z]+:", target):
            path, _, heading = target.partition("#")
            yield path or file.name, heading


def headings(file: Path) -> set[str]:
    """The anchors of a Markdown file, as code hosts make them."""
    titles = re.findall(r"(?m)^#+ (.*)$", file.read_text())
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("file", TEXTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_links(file):
    """Each link leads to a file, and to a heading where it names one."""
    for path, heading in links(file):
        there = (file.parent / path).resolve()
        assert there.exists(), path
        assert not heading or heading in headings(there), f"{path}#{heading}"


def test_broken_links_are_seen(tmp_path):
    """A link to no file, and one to no heading, are told apart from good ones."""
    file = tmp_path / "a.md"
    file.write_text("# One title, of two\n[x](b.md) [y](#one-title-of-two) [z](https://example.invalid/a)\n")
    assert list(links(file)) == [("b.md", ""), ("a.md", "one-title-of-two")]
    assert headings(file) == {"one-title-of-two"}


# The worked example


def steps(text: str) -> Iterator[tuple[str, str]]:
    """The commands of the console blocks of a text, each with what it prints."""
    for block in re.findall(r"(?ms)^```console\n(.*?)^```$", text):
        for part in re.split(r"(?m)^\$ ", block)[1:]:
            lines = part.splitlines()
            more = [line.removeprefix(">").removeprefix(" ") for line in lines[1:] if line.startswith(">")]
            shown = [line for line in lines[1:] if not line.startswith(">")]
            yield "\n".join([lines[0], *more]), "\n".join(shown)


def same_ids(text: str) -> str:
    """Ids of objects and spaces at line ends are not part of the promise."""
    return re.sub(r"(?m)\s+$", "", re.sub(r"\b[0-9a-f]{7,40}\b", lambda found: "x" * len(found[0]), text))


def test_the_example_of_the_proof(tmp_path, monkeypatch):
    """docs/proof.md, command by command: it prints what the page shows."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "porttool").write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m porttool "$@"\n')
    (tools / "porttool").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ann")
    folder = tmp_path / "example"
    folder.mkdir()
    ran = list(steps((ROOT / "docs" / "proof.md").read_text()))
    assert len(ran) > 10
    for command, shown in ran:
        done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
        assert same_ids(done.stdout) == same_ids(shown), f"{command}\n{done.stdout}{done.stderr}"


def test_steps_are_read():
    """A block gives its commands with their lines that go on, and what each prints."""
    text = "```console\n$ cat <<END\n> a\n>   b\n> END\na\n  b\n$ true\n```\n"
    assert list(steps(text)) == [("cat <<END\na\n  b\nEND", "a\n  b"), ("true", "")]


def table(text: str, heading: str) -> dict[str, str]:
    """The first two columns of a table, without their code marks."""
    rows = text.partition(f"| {heading} |")[2].partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip().strip("`") for cell in row.strip("|").split("|")] for row in rows]
    return {row[0]: row[1] for row in cells}


def test_the_inputs_of_the_action_are_explained():
    """The how-to lists each input of action.yml with its default, and no other."""
    inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    told = table((ROOT / "docs" / "howto.md").read_text(), "input")
    assert set(told) == set(inputs)
    for name, spec in inputs.items():
        assert told[name] == spec["default"] or spec["default"] == "", name


def test_the_page_of_limits_names_the_stand_ins():
    """What the training runs replace is on the page of limits, where a reader looks for it."""
    text = (ROOT / "docs" / "limits.md").read_text()
    for word in ("vLLM", "NCCL", "one rank", "tiny", "CPU", "seeded sampler", "CUDA", "shared", "INCOMPARABLE"):
        assert word in text


@pytest.mark.parametrize("name", [".ci/demo", "README.md", "docs/howto.md", "porttool/verbs/apply.py"])
def test_the_proof_comes_before_the_audit(name):
    """Every text that leads through a port has one order: an audit is read of what is proven."""
    text = (ROOT / name).read_text(encoding="utf-8")
    first, then = (re.search(rf"\b(?:port|porttool) {verb}\b", text) for verb in ("verify", "audit"))
    assert first.start() < then.start()
