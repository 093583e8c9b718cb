"""Messages, trailers and committers, byte for byte."""

from __future__ import annotations

import re
import subprocess

import pytest

from porttool.errors import UsageError
from porttool.plan_ported import ported_from
from porttool.port_message import (
    PORTER,
    committer_line,
    joined_message,
    public_remote,
    trailer,
    trailers_of,
    with_trailers,
)
from porttool.repo import Commit

OURS = [(b"Ported-From", b"r@" + b"1" * 40), (b"Layout", b"ff")]
TOLD = b"Ported-From: r@" + b"1" * 40 + b"\nLayout: ff"
MESSAGES = {
    "a subject": (b"s\n", b"\n"),
    "a body": (b"s\n\nbody\nmore\n", b"\n"),
    "t28 no final newline": (b"s\n\nbody", b"\n\n"),
    "t28 a subject without newline": (b"s", b"\n\n"),
    "nothing": (b"", b""),
    "t14 a trailer block": (b"s\n\nbody\n\nCo-authored-by: A <a@x>\nSigned-off-by: B <b@x>\n", b""),
    "t14 a block without newline": (b"s\n\nSigned-off-by: B <b@x>", b"\n"),
    "a folded trailer": (b"s\n\nAcked: one\n  two\n", b""),
    "a cherry-pick line": (b"s\n\n(cherry picked from commit 1234)\n", b""),
    "a subject like a trailer": (b"fix: it\n", b"\n"),
    "a body with one colon": (b"s\n\nNote: this\nis no trailer\n", b"\n"),
    "blank lines at the end": (b"s\n\nSigned-off-by: B\n\n\n", b""),
    "t1 comment lines": (b"# one\n\n#two\n# three\n", b"\n"),
    "CRLF": (b"s\r\n\r\nbody\r\n", b"\n"),
    "t29 latin1": (b"caf\xe9\n", b"\n"),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_the_source_message_is_a_prefix(name):
    """Whatever it is, its bytes come first; then the gap, then our trailers, ending as the source ends."""
    message, gap = MESSAGES[name]
    end = b"" if message and not message.endswith(b"\n") else b"\n"
    assert with_trailers(message, OURS) == message + gap + TOLD + end


@pytest.mark.parametrize("name", [name for name in MESSAGES if name not in ("nothing", "CRLF")])
def test_git_reads_our_trailers(name, tmp_path):
    """`git interpret-trailers` finds ours in the last block, after those of the source and in order."""
    whole = with_trailers(MESSAGES[name][0], OURS)
    if name == "t1 comment lines":
        return  # git takes its own comment lines out before it looks
    command = ["git", "interpret-trailers", "--parse"]
    told = subprocess.run(command, input=whole, capture_output=True, cwd=tmp_path, check=True)
    assert told.stdout.rstrip(b"\n").endswith(TOLD)


def test_t14_no_trailer_twice():
    """A trailer the message has already is not added; the order of the others stays."""
    message = b"s\n\nLayout: ff\nAcked: x\n"
    assert with_trailers(message, OURS) == message + TOLD.split(b"\n")[0] + b"\n"
    assert with_trailers(with_trailers(message, OURS), OURS) == with_trailers(message, OURS)


def commit(message=b"m\n", author=b"A <a@x> 5 +0100", encoding=None, oid="1" * 40, extra=()) -> Commit:
    return Commit("t", (), author, b"C <c@x> 9 +0000", message, encoding, extra, oid)


def test_trailers_can_be_read_back():
    """The sources a message names, and the values of each trailer, come back from the message."""
    message = with_trailers(b"s\n", trailers_of([commit(), commit(oid="2" * 40)], remote="a@b/c", digest="d"))
    assert ported_from(message) == ["1" * 40, "2" * 40] and trailer(message, "Layout") == ["d"]
    assert ported_from(b"no trailers\n") == []


def test_co_authors_are_those_who_are_not_the_author():
    """Each other author once, as their commits name them."""
    sources = [commit(author=line + b" +0000") for line in (b"A <a@x> 5", b"B <b@x> 6", b"A <a@x> 7", b"B <b@x> 8")]
    told = trailers_of(sources, remote="r", digest="d")
    assert [value for name, value in told if name == b"Co-authored-by"] == [b"B <b@x>"]


def test_reasons_are_in_the_encoding_of_the_message():
    """A reason with letters the encoding lacks is escaped, never mangled; it stays on one line."""
    told = dict(trailers_of([commit(encoding=b"latin1")], remote="r", digest="d", adapted=[("p", "caf\xe9\n\u4e2d")]))
    assert told[b"Adapted"] == b"p: caf\xe9 \\u4e2d"


def test_t29_messages_of_two_encodings_meet_in_the_first():
    """A second source is written in the first one's encoding; where it cannot be, that is said."""
    latin, utf = commit(b"caf\xe9\n", encoding=b"latin1"), commit("\xe9t\xe9\n".encode())
    assert joined_message([latin, utf], "") == b"caf\xe9\n\n\xe9t\xe9\n"
    with pytest.raises(UsageError, match="encoding"):
        joined_message([latin, commit("\u4e2d\n".encode())], "")


@pytest.mark.parametrize(
    ("message", "subject", "whole"),
    [
        (b"old\n\nbody\n", "", b"old\n\nbody\n"),
        (b"old\n\nbody\n", "new", b"new\n\nbody\n"),
        (b"old", "new", b"new"),
        (b"", "new", b"new"),
    ],
)
def test_a_subject_replaces_the_first_line_alone(message, subject, whole):
    """One source keeps every byte below its subject."""
    assert joined_message([commit(message)], subject) == whole


@pytest.mark.parametrize(
    ("author", "told"),
    [
        (b"A <a@x> 5 +0100", b" 5 +0100"),
        (b"A <a@x> -5 -0330", b" -5 -0330"),
        (b"A <a@x> 5 +051800", b" 5 +0000"),
        (b"nobody at all", b" 9 +0000"),
        (b" <> 5 +0000", b" 5 +0000"),
    ],
)
def test_t32_the_committer_date_is_readable(author, told):
    """The author's date where it can be read, else the source committer's; always with a zone git accepts."""
    assert committer_line("author-date", author, b"C <c@x> 9 +0000") == PORTER.encode() + told


def test_committer_policies():
    """A named committer has the author's date; `now` has the clock's and the user's name."""
    author = b"A <a@x> 5 +0100"
    assert committer_line("Bot <bot@x>", author) == b"Bot <bot@x> 5 +0100"
    assert committer_line("now", author, now=lambda: 77.9, me="Me <me@x>") == b"Me <me@x> 77 +0000"
    assert committer_line("author-date", b"x", b"y") == PORTER.encode() + b" 0 +0000"


@pytest.mark.parametrize("location", ["https://me:secret@h/o/r", "https://token@h/o/r", "/srv/me/r", "file:///srv/r"])
def test_no_secret_and_no_folder_reaches_a_message(location):
    """Credentials and machine paths stay out of commit messages, so ids are the same everywhere."""
    assert re.fullmatch(r"https://h/o/r|r", public_remote(location))
    assert public_remote("build/verl") == "build/verl" and public_remote("git@h:o/r") == "git@h:o/r"
