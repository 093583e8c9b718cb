"""Reads and runs Markdown cases: a layout, files on the old side, the exact bytes wanted on the new side.

See tests/cases/README.md for the format.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from porttool.layout import Layout
from porttool.manifest import load_layout

CASES = Path(__file__).resolve().parent.parent / "cases"
_SIDES = ("old", "new", "both")
_FLAGS = ("crlf", "no-eol", "latin1", "exec", "link")
_FENCE = re.compile(r"^(`{3,}|~{3,})[ \t]*(.*?)[ \t]*$")


@dataclass
class Block:
    """One fenced block: its info words, its text, and the lines of the document that hold the text."""

    words: list[str]
    text: str
    first: int
    last: int

    @property
    def flags(self) -> set[str]:
        return {word for word in self.words if word in _FLAGS}

    @property
    def content(self) -> bytes:
        """The bytes that the block stands for."""
        text = self.text
        if self.flags & {"no-eol", "link"}:
            text = text.removesuffix("\n")
        if "crlf" in self.flags:
            text = text.replace("\n", "\r\n")
        return text.encode("latin1" if "latin1" in self.flags else "utf-8")

    @property
    def mode(self) -> int:
        return 0o120000 if "link" in self.flags else 0o100755 if "exec" in self.flags else 0o100644


@dataclass
class Case:
    """One case: files by path on both sides, and the culprits that must be named."""

    file: Path
    title: str
    layout: Block | None = None
    blocks: list[Block] = field(default_factory=list)
    one_way: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        slug = re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")
        return f"{self.file.parent.name}/{self.file.stem}:{slug}"

    def side(self, side: str) -> dict[str, tuple[int, bytes]]:
        """Mode and content by path on one side."""
        found: dict[str, tuple[int, bytes]] = {}
        for block in self.blocks:
            if block.words[0] in (side, "both"):
                path = block.words[1]
                assert path not in found, f"{self.file.name}: {side} {path} is given twice"
                found[path] = (block.mode, block.content)
        return found

    def read_layout(self) -> Layout:
        assert self.layout is not None, f"{self.file.name}: case {self.title!r} has no ```yaml layout block"
        return load_layout(self.layout.text.encode(), f"{self.file.name}:{self.layout.first}+")


def read_cases(file: Path) -> list[Case]:
    """The cases of a Markdown file. A case without a layout of its own takes that of the file's first part."""
    cases = [Case(file, file.stem)]
    for number, item in _parts(file.read_text(encoding="utf-8")):
        if isinstance(item, str):
            title = item.lstrip("#").strip()
            if item.startswith("# ") and number == 0:
                cases[0].title = title
            elif item.startswith("## "):
                cases.append(Case(file, title, layout=cases[0].layout))
        else:
            _add(cases[-1], item)
    return [case for case in cases if case.blocks]


def _add(case: Case, block: Block) -> None:
    kind = block.words[0] if block.words else ""
    if block.words[:2] == ["yaml", "layout"]:
        case.layout = block
    elif kind in _SIDES:
        unknown = [word for word in block.words[2:] if word not in _FLAGS]
        assert len(block.words) > 1 and not unknown, f"{case.file.name}:{block.first}: {' '.join(block.words)}"
        case.blocks.append(block)
    elif kind == "one-way":
        case.one_way += block.words[1:] + block.text.split()
    elif kind == "notes":
        case.notes += [line.strip() for line in block.text.splitlines() if line.strip()]


def _parts(text: str) -> Iterator[tuple[int, str | Block]]:
    """Headings and fenced blocks of a Markdown text, in order."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        found = _FENCE.match(lines[at])
        if not found:
            if lines[at].startswith("#"):
                yield at, lines[at]
            at += 1
            continue
        end = next((n for n in range(at + 1, len(lines)) if lines[n].rstrip() == found[1]), None)
        assert end is not None, f"the block opened on line {at + 1} is never closed"
        body = "".join(line + "\n" for line in lines[at + 1 : end])
        yield at, Block(found[2].split(), body, at + 1, end)
        at = end + 1


class MemoryBlobs:
    """The blob store of a case: a dictionary with git's ids."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}

    def read(self, oid: str) -> bytes:
        return self.held[oid]

    def write(self, data: bytes) -> str:
        oid = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        self.held[oid] = data
        return oid


@dataclass(frozen=True)
class Ran:
    """What a case gave: files by path, and the culprits as the case writes them."""

    files: dict[str, tuple[int, bytes]]
    one_way: list[str]
    notes: list[str]
    back: dict[str, tuple[int, bytes]]


def run_case(case: Case) -> Ran:
    """Translate the old side, then the result back."""
    from porttool.repo import Entry
    from porttool.translate import Translator

    blobs = MemoryBlobs()
    translator = Translator(case.read_layout(), blobs)

    def files(entries: dict[str, Entry]) -> dict[str, tuple[int, bytes]]:
        return {path: (entry.mode, blobs.read(entry.oid)) for path, entry in entries.items()}

    old = {path: Entry(mode, blobs.write(content)) for path, (mode, content) in case.side("old").items()}
    there = translator.tree(old)
    back = translator.inverse().tree(there.entries)
    one_way = sorted({f"{culprit.path}:{culprit.line}" for culprit in there.one_way})
    notes = sorted({f"{culprit.kind} {culprit.path}:{culprit.line}" for culprit in there.notes})
    return Ran(files(there.entries), one_way, notes, files(back.entries))


def check_case(case: Case) -> None:
    """Fails with the first difference where a case does not hold."""
    ran, wanted, old = run_case(case), case.side("new"), case.side("old")
    assert sorted(ran.files) == sorted(wanted), "the new side holds other files"
    for path in wanted:
        assert ran.files[path] == wanted[path], f"new {path}"
    assert ran.one_way == sorted(set(case.one_way)), "other places are one-way"
    assert ran.notes == sorted(set(case.notes)), "other notes"
    exempt = {culprit.rpartition(":")[0] for culprit in case.one_way}
    for path in old:
        if path not in exempt:
            assert ran.back.get(path) == old[path], f"back to old {path}"


def update_file(file: Path, run: Callable[[Case], Ran] = run_case) -> None:
    """Rewrite the `new` blocks of a file with what the cases give; `both` blocks that part become two."""
    lines = file.read_text(encoding="utf-8").split("\n")
    changes: list[tuple[int, int, list[str]]] = []
    for case in read_cases(file):
        result = dict(run(case).files)
        anchor = max(block.last for block in case.blocks)
        for block in case.blocks:
            path = block.words[1]
            if block.words[0] == "old":
                continue
            told = result.pop(path, None)
            if told == (block.mode, block.content):
                continue
            old = render_block("old", path, block.mode, block.content) if block.words[0] == "both" else []
            new = render_block("new", path, *told) if told else []
            changes.append((block.first - 1, block.last + 1, old + new))
        added = [line for path, told in result.items() for line in ["", *render_block("new", path, *told)]]
        changes.append((anchor + 1, anchor + 1, added))
    for first, last, put in sorted(changes, reverse=True, key=lambda change: change[:2]):
        lines[first:last] = put
    file.write_text("\n".join(lines), encoding="utf-8")


def render_block(side: str, path: str, mode: int, content: bytes) -> list[str]:
    """The lines of a block that stands for a file."""
    words = [side, path]
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = content.decode("latin1")
        words.append("latin1")
    if "\r\n" in text and text.count("\r\n") == text.count("\n"):
        text = text.replace("\r\n", "\n")
        words.append("crlf")
    words += {0o100755: ["exec"], 0o120000: ["link"]}.get(mode, [])
    if not text.endswith("\n") and mode != 0o120000:
        words.append("no-eol")
    fence = "```"
    while fence in text:
        fence += "`"
    body = text.removesuffix("\n").split("\n") if text else []
    return [fence + " ".join(words), *body, fence]
