"""What a resolution changes beyond the port: a diff from what T of the source gives alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from porttool.repo import Entry, Repository
from porttool.resolutions import Resolution, Sides
from porttool.resolutions_delta import delta

BASE = b"".join(b"line %d\n" % n for n in range(9))


def changed(**lines: str) -> bytes:
    """The base with some lines replaced: `changed(l4="x")`."""
    told = BASE.splitlines(keepends=True)
    for name, text in lines.items():
        told[int(name[1:])] = text.encode() + b"\n"
    return b"".join(told)


@pytest.fixture
def told(repo):
    here = Repository.open(repo.path)

    def entry(text: bytes | Entry | None) -> Entry | None:
        return text if text is None or isinstance(text, Entry) else Entry(0o100644, here.write(text))

    def ask(base, ours, theirs, result) -> list[str]:
        sides = Sides(entry(base), entry(ours), entry(theirs))
        return list(delta(here, Resolution("a" * 40, "d/f", sides, entry(result), "Me <m@x>", "why", Path("r"))))

    ask.entry = entry
    return ask


def test_the_delta_is_what_the_port_alone_would_not_have_written(told):
    """The clean part of the merge is no delta, nor is the source's line: what the hand added to it is."""
    ours, theirs = changed(l0="target", l4="target"), changed(l4="source", l8="source")
    assert told(BASE, ours, theirs, changed(l0="target", l4="source, after target", l8="source")) == [
        "--- ported/d/f", "+++ resolved/d/f", "@@ -2,7 +2,7 @@",
        " line 1", " line 2", " line 3", "-source", "+source, after target", " line 5", " line 6", " line 7",
    ]  # fmt: skip


def test_taking_the_source_as_it_is_adds_nothing(told):
    """The delta is empty where the hand only chose the port."""
    ours, theirs = changed(l4="target"), changed(l4="source")
    assert told(BASE, ours, theirs, theirs) == []
    found = told(BASE, ours, theirs, ours)
    assert [line for line in found[2:] if line[0] in "+-"] == ["-source", "+target"]


@pytest.mark.parametrize(
    ("sides", "result", "lines"),
    [
        ((BASE, None, changed(l1="s")), None, ["(the file goes)"]),
        ((BASE, changed(l1="t"), None), changed(l1="t"), ["(the file stays)"]),
        ((BASE, changed(l1="t"), None), None, []),
        ((BASE, None, changed(l1="s")), changed(l1="s"), []),
        ((BASE, BASE, BASE), BASE, []),
    ],
)
def test_files_that_come_and_go(told, sides, result, lines):
    """A file that the port would leave or take away is told as such."""
    assert told(*sides, result) == lines


def test_binaries_and_modes(told):
    """What has no lines is told by its id; a mode by its digits."""
    one, two = b"\0one", b"\0two"
    found = told(b"\0", one, two, one)
    assert found == [f"{told.entry(two).oid[:12]} -> {told.entry(one).oid[:12]}"]
    script = Entry(0o100755, told.entry(changed(l4="source")).oid)
    assert told(BASE, changed(l4="target"), changed(l4="source"), script) == ["mode 100644 -> 100755"]


def test_a_change_outside_the_conflict_is_shown(told):
    """A line that neither side touched and the hand changed is in the delta."""
    ours, theirs = changed(l4="target"), changed(l4="source")
    assert "+by hand" in told(BASE, ours, theirs, changed(l0="by hand", l4="source"))
