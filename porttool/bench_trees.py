"""Synthetic repositories for the benchmark: any number of files, the same bytes every time."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from porttool.vendor_git import Git

SEED = 7
FOLDER = 50  # files in a folder
HOT = 200  # files that commits touch
TOUCHED = 3  # files of one commit
FUNCTIONS = 19

LAYOUT = """\
  paths: {pkg/core/: lib/engine/core/, pkg/train/: lib/loop/}
  symbols: {Widget: Gadget}
  keys: {train.rate: loop.optimizer.rate}
"""


@dataclass(frozen=True)
class Names:
    """How the same code is called on one side."""

    core: str
    train: str
    widget: str
    rate: str


OLD = Names("pkg/core", "pkg/train", "Widget", "train.rate")
NEW = Names("lib/engine/core", "lib/loop", "Gadget", "loop.optimizer.rate")


@dataclass
class Code:
    """The state of a code base: for each file by number, one constant per function, and its first line."""

    files: int
    constants: dict[int, list[int]] = field(default_factory=dict)
    titles: dict[int, str] = field(default_factory=dict)

    def path(self, number: int, names: Names) -> str:
        """A fifth of the hot files lies in folders that the layout moves."""
        folder, place = divmod(number, FOLDER)
        if number < HOT and number % 5 == 0:
            return f"{names.train if number % 10 else names.core}/m{number:05}.py"
        return f"pkg/d{folder // 32:02}/e{folder % 32:02}/m{place:02}.py"

    def text(self, number: int, names: Names) -> bytes:
        """A Python module as those of verl are: some 145 lines; every other one speaks of what the layout renames."""
        lines = [f'"""{self.titles.get(number, f"Module {number}.")}"""', "", "import os", ""]
        speaks = number % 2 == 0
        if speaks:
            core, neighbour = names.core.replace("/", "."), f"m{10 * (number % 20):05}"
            lines += [f"from {core} import {neighbour}", f"from {core}.{neighbour} import {names.widget}", ""]
        for index, constant in enumerate(self.constants.get(number, [0] * FUNCTIONS)):
            lines += ["", f"def step_{index}(config, value):", f"    shift = {constant}"]
            if speaks and index == 3:
                lines += [
                    f"    # See {names.core}/{neighbour}.py.",
                    f"    value = {names.widget}(config.{names.rate})",
                ]
            lines += ["    if value is None:", '        raise ValueError(f"{os.name}: no value")']
            lines += ["    return [one + shift for one in value]", ""]
        return "\n".join(lines).encode() + b"\n"

    def commit(self, number: int) -> list[int]:
        """Change some functions; the same files and constants for the same commit number."""
        chance = random.Random(f"{SEED}:{number}")
        touched = sorted(chance.sample(range(HOT), TOUCHED))
        for file in touched:
            self.constants.setdefault(file, [0] * FUNCTIONS)[chance.randrange(1, FUNCTIONS)] = number + 1
        return touched


def diverge(code: Code) -> list[int]:
    """What the target has of its own: other first lines in a fifth of the hot files, so that contents are merged."""
    changed = list(range(1, HOT, 5))
    for number in changed:
        code.titles[number] = f"Module {number}, as the target has it."
    return changed


def build(folder: Path, files: int, commits: int) -> Git:
    """A repository with `source` (base and commits), `same` and `moved` (the target in the old and the new layout)."""
    folder.mkdir(parents=True)
    git = Git(folder)
    git.run("init", "--quiet", "--template=", "--object-format=sha1", "--initial-branch=main")
    for name, value in (("gc.auto", "0"), ("user.name", "Bench"), ("user.email", "bench@example.invalid")):
        git.run("config", name, value)
    git.run("fast-import", "--quiet", "--date-format=raw", stdin=b"".join(_stream(files, commits)))
    git.run("checkout", "--quiet", "--detach", "same", "--")
    return git


def _stream(files: int, commits: int) -> Iterator[bytes]:
    for branch, names in (("moved", NEW), ("same", OLD)):
        code = Code(files)
        everything = range(files)
        yield _commit(branch, 0, "base", b"", b"".join(_modify(code, n, names) for n in everything))
        if names is OLD:
            yield b"reset refs/heads/base\nfrom refs/heads/same\n\n"
        changed = b"".join(_modify(code, n, names) for n in diverge(code))
        yield _commit(branch, 1, "of the target's own", b"", changed)
    code = Code(files)
    start = b"from refs/heads/base\n"
    for number in range(commits):
        touched = code.commit(number)
        changes = b"".join(_modify(code, n, OLD) for n in touched)
        yield _commit("source", number + 2, f"change {number}", start, changes)
        start = b""


def _commit(branch: str, tick: int, subject: str, start: bytes, changes: bytes) -> bytes:
    who = f"Bench Author <author@example.invalid> {1_700_000_000 + 60 * tick} +0000"
    message = f"{subject}\n\nWhat it does and why, in a line or two.\n".encode()
    head = f"commit refs/heads/{branch}\nauthor {who}\ncommitter {who}\ndata {len(message)}\n".encode()
    return head + message + start + changes + b"\n"


def _modify(code: Code, number: int, names: Names) -> bytes:
    text = code.text(number, names)
    return f"M 100644 inline {code.path(number, names)}\ndata {len(text)}\n".encode() + text + b"\n"


def expected(files: int, commits: int, names: Names) -> dict[str, bytes]:
    """The hot files as they must stand on a target after that many commits were ported to it."""
    code = Code(files)
    diverge(code)
    for number in range(commits):
        code.commit(number)
    return {code.path(number, names): code.text(number, names) for number in range(HOT)}
