"""Patch series: DEP-3 headers, one line of context, no fuzz and no offset, and export gives the commits back."""

from __future__ import annotations

from pathlib import Path

import pytest

from porttool import vendor_series
from porttool.errors import ManifestError, RepositoryError
from porttool.vendor_git import Git
from porttool.vendor_patch import iso_date, person, raw_date, read_patch
from porttool.vendor_series import apply_series, export, patch_files, read_series
from tests.support.packages import LINES, default_patches, line_diff, patch_text, write_series
from tests.support.repos import Link, Repo, Script


@pytest.fixture
def base(repo: Repo) -> str:
    return repo.commit({"toy/core.py": LINES})


def git(repo: Repo) -> Git:
    return Git(repo.path)


def apply_one(repo: Repo, base: str, folder: Path, diff: str) -> list[str]:
    write_series(folder, {"0001-first.patch": patch_text("first", diff)})
    return apply_series(git(repo), base, read_series(folder))


def refusal(repo: Repo, base: str, folder: Path, diff: str) -> ManifestError:
    with pytest.raises(ManifestError) as caught:
        apply_one(repo, base, folder, diff)
    assert len(str(caught.value).splitlines()) == 3
    assert caught.value.where == f"{folder / '0001-first.patch'}:10"
    return caught.value


def test_patch_applies_where_it_says(repo: Repo, base: str, tmp_path: Path) -> None:
    """A patch at its own lines becomes one commit, and no ref moves."""
    before = repo.refs()
    [made] = apply_one(repo, base, tmp_path / "s", line_diff(5, "five"))
    assert b"line 4\nfive\nline 6\n" in repo.files(made)["toy/core.py"]
    assert repo.refs() == before and not (repo.path / ".git" / "index").exists()


def test_t70_offset_is_refused(repo: Repo, base: str, tmp_path: Path) -> None:
    """A patch that git would move by two lines is refused: the same text may stand in two places."""
    moved = line_diff(5, "five").replace("@@ -4,3 +4,3 @@", "@@ -6,3 +6,3 @@")
    assert "only with an offset: hunk 1 by -2 lines" in refusal(repo, base, tmp_path / "s", moved).message


def test_t70_fuzz_is_refused(repo: Repo, base: str, tmp_path: Path) -> None:
    """A patch whose context line has changed since is refused, though patch(1) would apply it with fuzz."""
    changed = repo.commit({"toy/core.py": LINES.replace("line 4\n", "other 4\n")})
    fault = refusal(repo, changed, tmp_path / "s", line_diff(5, "five"))
    assert fault.message == "the patch does not apply at toy/core.py:4"


def test_t70_patch_that_is_already_in(repo: Repo, base: str, tmp_path: Path) -> None:
    """A patch whose change is already there is refused as such, not applied a second time."""
    [made] = apply_one(repo, base, tmp_path / "s", line_diff(5, "five"))
    fault = refusal(repo, made, tmp_path / "s", line_diff(5, "five"))
    assert fault.message.startswith("the patch is already in") and fault.hint == "drop it from the series"


def test_t70_added_block_is_not_added_twice(repo: Repo, tmp_path: Path) -> None:
    """A block that is already there and would fit a second time further down is refused."""
    block = "if x:\n    go()\n"
    twice = repo.commit({"toy/core.py": block + block + "end\n"})
    diff = (
        "diff --git a/toy/core.py b/toy/core.py\n--- a/toy/core.py\n+++ b/toy/core.py\n"
        "@@ -1,2 +1,4 @@\n if x:\n+    go()\n+if x:\n end\n"
    )
    refusal(repo, twice, tmp_path / "s", diff)


def test_patch_for_a_missing_file(repo: Repo, base: str, tmp_path: Path) -> None:
    """A patch for a file that is not there names that file."""
    fault = refusal(repo, base, tmp_path / "s", line_diff(5, "five", "toy/gone.py"))
    assert fault.message == "the patch does not apply at toy/gone.py"


def test_whitespace_is_kept(repo: Repo, base: str, tmp_path: Path) -> None:
    """Trailing blanks and carriage returns in a patch arrive as they are."""
    [made] = apply_one(repo, base, tmp_path / "s", line_diff(5, "five  \t\r"))
    assert b"five  \t\r\n" in repo.files(made)["toy/core.py"]


def wide(head: str = "", tail: str = "", middle: str = "") -> str:
    old = 2 + len(head.splitlines()) + len(tail.splitlines()) + len(middle.splitlines())
    return f"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,{old} +1,{old} @@\n{head}-a\n+b\n{middle}-c\n+d\n{tail}"


@pytest.mark.parametrize("told", [{"head": " x\n y\n"}, {"tail": " x\n y\n"}, {"middle": " x\n y\n z\n"}])
def test_wide_context_is_refused(told: dict[str, str]) -> None:
    """Two lines of context at an end, or three between changes, are refused at the line of the hunk."""
    with pytest.raises(ManifestError) as caught:
        read_patch(patch_text("first", wide(**told)).encode(), "p")
    assert (caught.value.message, caught.value.where) == ("the context is wider than one line", "p:13")


@pytest.mark.parametrize("told", [{}, {"head": " x\n", "tail": " y\n"}, {"middle": " x\n y\n"}])
def test_narrow_context_is_accepted(told: dict[str, str]) -> None:
    """One line at either end, and two between changes that share them, are what `git diff -U1` writes."""
    assert read_patch(patch_text("first", wide(**told)).encode(), "p").diff_line == 10


def test_changed_lines_that_look_like_hunks() -> None:
    """A removed line that reads as a hunk header is content, not a hunk."""
    diff = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-@@ -1,9 +1,9 @@\n+@@ -1,8 +1,8 @@\n"
    assert read_patch(patch_text("first", diff).encode(), "p").diff.decode() == diff


FIELDS = ["From", "Date", "Subject", "Origin", "Forwarded", "Applied-Upstream", "Last-Update"]


@pytest.mark.parametrize("field", FIELDS)
def test_missing_field(field: str) -> None:
    """Each DEP-3 field is demanded by name."""
    text = patch_text("first", line_diff(5, "five"))
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith(f"{field}: ")]
    with pytest.raises(ManifestError) as caught:
        read_patch("".join(lines).encode(), "p")
    assert caught.value.message == f"the DEP-3 field {field} is missing"


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("Date: 2026-04-01T12:00:00-07:00", "Date: 2026-04-01T12:00:00", 2, "Date is"),
        ("From: Ann Author <ann@example.invalid>", "From: Ann", 1, "From is"),
        ("Origin: vendor", "Origin: somewhere", 4, "Origin is"),
        ("Forwarded: not-needed", "Forwarded: maybe", 5, "Forwarded is"),
        ("Last-Update: 2026-04-01", "Last-Update: today", 7, "Last-Update is"),
        ("Last-Update: 2026-04-01", "Last-Updated: 2026-04-01", 7, "'Last-Updated: 2026-04-01' is no header field"),
        ("Origin: vendor", "Origin: vendor\nOrigin: vendor", 5, "'Origin' is given twice"),
        ("---\ndiff", "diff", 1, "no line `---`"),
    ],
)
def test_bad_header(old: str, new: str, line: int, message: str) -> None:
    """A field with a wrong value is refused at its line."""
    text = patch_text("first", line_diff(5, "five"))
    assert old in text
    with pytest.raises(ManifestError) as caught:
        read_patch(text.replace(old, new, 1).encode(), "p")
    assert message in caught.value.message and caught.value.where == f"p:{line}"


def test_origin_may_say_where_from() -> None:
    """`Origin: backport, <url>` is DEP-3's own form."""
    text = patch_text("first", line_diff(5, "five")).replace("Origin: vendor", "Origin: backport, https://x.invalid/1")
    assert read_patch(text.encode(), "p").fields["Origin"].startswith("backport, ")


@pytest.mark.parametrize(
    ("text", "raw"), [("2026-04-01T12:00:00-07:00", "1775070000 -0700"), ("1969-12-31T23:59:59+00:00", "-1 +0000")]
)
def test_dates_go_both_ways(text: str, raw: str) -> None:
    """A date in a header and as git stores it are the same moment in the same zone."""
    assert raw_date(text) == raw and iso_date(raw) == text


@pytest.mark.parametrize("text", ["", "2026-04-01", "2026-04-01T12:00:00Z", "2026-04-31T12:00:00+00:00", "12 +0000"])
def test_dates_without_a_zone_are_none(text: str) -> None:
    """Nothing is guessed about a date."""
    assert raw_date(text) is None


@pytest.mark.parametrize("text", ["Ann", "<a@b>", "Ann <a b>", "Ann <a>\nx", "Ann <>", "A<n <a@b>"])
def test_not_a_person(text: str) -> None:
    """Only `Name <mail>` is a person."""
    assert person(text) is None


def test_series_lists_its_files(tmp_path: Path) -> None:
    """The files come in the order of the list."""
    write_series(tmp_path, default_patches())
    assert [path.name for path in patch_files(tmp_path)] == ["0001-first.patch", "0002-second.patch"]


def test_missing_patch_file(tmp_path: Path) -> None:
    """A file that the list names and the folder lacks is named."""
    write_series(tmp_path, default_patches())
    (tmp_path / "0002-second.patch").unlink()
    with pytest.raises(ManifestError, match="a patch of the series is missing") as caught:
        patch_files(tmp_path)
    assert caught.value.where == str(tmp_path / "0002-second.patch")


def test_extra_patch_file(tmp_path: Path) -> None:
    """A file in the folder that the list does not name is named."""
    write_series(tmp_path, default_patches())
    (tmp_path / "0003-third.patch").write_text("")
    with pytest.raises(ManifestError, match="a file here is not in the series") as caught:
        patch_files(tmp_path)
    assert caught.value.where == str(tmp_path / "0003-third.patch")


@pytest.mark.parametrize("names", ["0002-second.patch\n0001-first.patch\n", "0001-first.patch\n\n", "../x\n"])
def test_misnumbered_list(tmp_path: Path, names: str) -> None:
    """Numbers and order agree, and no line leaves the folder."""
    write_series(tmp_path, default_patches())
    (tmp_path / "series").write_text(names)
    with pytest.raises(ManifestError, match="of its series"):
        patch_files(tmp_path)


def test_no_list(tmp_path: Path) -> None:
    """A folder without its list is not a series."""
    with pytest.raises(ManifestError, match="has no list"):
        patch_files(tmp_path)


def history(repo: Repo, base: str) -> str:
    """Commits of every shape a patch can hold; gives the tip."""
    repo.git("checkout", "-q", "--detach", base)
    repo.git("config", "user.name", "x")
    repo.commit({"toy/core.py": LINES.replace("line 9\n", "nine\n")}, message="one\n", zone="-0730")
    moved = LINES.replace("line 9\n", "nine\n").replace("line 10\n", "ten\n")
    repo.commit({"toy/core.py": None, "toy/moved.py": moved}, message="two\n\nA body.\n\n# with a hash line\n")
    repo.commit({"toy/run.sh": Script("#!/bin/sh\n"), "toy/link": Link("moved.py")}, message="three\nin two lines\n")
    repo.commit({"toy/bin": bytes(range(256))}, message="four\n\nUpstream-Commit: d597a2fd\n")
    repo.commit(
        {"toy/bin": bytes(range(255)), "toy/eol": "no end"}, message="f\u00fcnf: \u00e9\n", author="J\u00f6 <j@x>"
    )
    return repo.commit({"toy/crlf": "a\r\nb\r\n", "toy/run.sh": "#!/bin/sh\n"}, message="six\n")


def test_export_then_apply_gives_the_commits_back(repo: Repo, base: str, tmp_path: Path) -> None:
    """Trees, authors, dates and messages of exported commits come back; renames, modes, links and binaries too."""
    tip = history(repo, base)
    export(git(repo), f"{base}..{tip}", tmp_path / "s")
    made = apply_series(git(repo), base, read_series(tmp_path / "s"))
    told = git(repo).text("rev-list", "--reverse", f"{base}..{tip}").split()
    shown = "--format=%T%x00%an%x00%ae%x00%ad%x00%B"
    for ours, theirs in zip(made, told, strict=True):
        assert git(repo).run("log", "-1", "--date=raw", shown, ours) == git(repo).run(
            "log", "-1", "--date=raw", shown, theirs
        )


def test_export_twice_gives_the_same_files(repo: Repo, base: str, tmp_path: Path) -> None:
    """A series exported from the commits it makes is the same series, byte for byte."""
    first = export(git(repo), f"{base}..{history(repo, base)}", tmp_path / "one")
    made = apply_series(git(repo), base, read_series(tmp_path / "one"))
    second = export(git(repo), f"{base}..{made[-1]}", tmp_path / "two")
    assert [path.name for path in first] == [path.name for path in second]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_export_takes_trailers_into_the_header(repo: Repo, base: str, tmp_path: Path) -> None:
    """`Upstream-Commit:` at the end of a message is a field of the patch as well."""
    export(git(repo), f"{base}..{history(repo, base)}", tmp_path / "s")
    assert read_series(tmp_path / "s")[3].patch.fields["Upstream-Commit"] == "d597a2fd"


def test_export_keeps_fields_written_by_hand(repo: Repo, base: str, tmp_path: Path) -> None:
    """A second export keeps the origin of a patch of the same subject, and removes patches no longer there."""
    tip = history(repo, base)
    paths = export(git(repo), f"{base}..{tip}", tmp_path / "s")
    paths[0].write_bytes(paths[0].read_bytes().replace(b"Origin: vendor", b"Origin: backport, https://x.invalid/1"))
    export(git(repo), f"{base}..{tip}~4", tmp_path / "s")
    listed = read_series(tmp_path / "s")
    assert [item.patch.fields["Origin"] for item in listed] == ["backport, https://x.invalid/1", "vendor"]


def test_export_refuses_what_a_patch_cannot_hold(repo: Repo, base: str, tmp_path: Path) -> None:
    """Merges, empty commits, ranges that are options, and messages that a header would change are refused."""
    side = repo.commit({"a": "a"}, parents=[base], branch="side")
    merge = repo.commit({}, parents=[base, side], branch="merge")
    empty = repo.commit({}, parents=[base], branch="empty")
    bare = repo.commit({"b": "b"}, parents=[base], branch="bare", message="no end of line")
    rule = repo.commit({"b": "b"}, parents=[base], branch="rule", message="one\n\n---\ntwo\n")
    for commits in (f"{base}..{merge}", f"{base}..{bare}", f"{base}..{rule}", f"{base}..{empty}", "--all"):
        with pytest.raises(RepositoryError):
            export(git(repo), commits, tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_command_line(repo: Repo, base: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`export` prints the files it wrote, `apply` the commits it made; a branch moves where asked."""
    tip = history(repo, base)
    assert vendor_series.main(["export", str(repo.path), f"{base}..{tip}", str(tmp_path / "s")]) == 0
    assert capsys.readouterr().out.splitlines()[0] == str(tmp_path / "s" / "0001-one.patch")
    assert vendor_series.main(["apply", str(repo.path), base, str(tmp_path / "s"), "--branch", "made"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == repo.refs()["refs/heads/made"]


def test_command_line_error(repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A fault is three lines on stderr and its exit code."""
    assert vendor_series.main(["apply", str(repo.path), "nowhere", str(tmp_path)]) == 3
    assert len(capsys.readouterr().err.splitlines()) == 3
