"""A patch series: a folder of patch files in the order of its `series` file. Read, apply and export it.

`python -m porttool.vendor_series export REPOSITORY RANGE FOLDER` writes one;
`python -m porttool.vendor_series apply REPOSITORY BASE FOLDER [--branch NAME]` commits one.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from porttool.errors import ManifestError, PortError, RepositoryError
from porttool.vendor_git import Git
from porttool.vendor_patch import OPTIONAL, REQUIRED, Patch, iso_date, read_patch, write_patch

ORDER = "series"
DIFF = ("-U1", "--binary", "--full-index", "-M", "--no-color", "--no-ext-diff", "--no-textconv")
DEFAULTS = {"Origin": "vendor", "Forwarded": "not-needed", "Applied-Upstream": "no"}


@dataclass(frozen=True)
class Listed:
    """A patch of a series, its file name and its path as told in errors."""

    file: str
    where: str
    patch: Patch


def patch_files(folder: Path) -> list[Path]:
    """The files of a series in order. Raises ManifestError for a missing, extra, doubled or misnumbered one."""
    order = folder / ORDER
    if not order.is_file():
        raise ManifestError("a patch series has no list", str(order), "it names the patch files, one a line, in order")
    names = order.read_text(encoding="utf-8").splitlines()
    for number, name in enumerate(names, 1):
        if not re.fullmatch(rf"{number:04}-[A-Za-z0-9._-]+\.patch", name):
            hint = f"a name such as {number:04}-what-it-does.patch belongs here"
            raise ManifestError(f"{name!r} is not patch {number} of its series", f"{order}:{number}", hint)
        if not (folder / name).is_file():
            raise ManifestError("a patch of the series is missing", str(folder / name), f"named by {order}:{number}")
    for path in sorted(folder.iterdir()):
        if path.name != ORDER and path.name not in names:
            raise ManifestError("a file here is not in the series", str(path), f"name it in {order}, or remove it")
    return [folder / name for name in names]


def read_series(folder: Path) -> list[Listed]:
    """All patches of a series, checked in form. Raises ManifestError with the file and line."""
    return [Listed(path.name, str(path), read_patch(path.read_bytes(), str(path))) for path in patch_files(folder)]


def apply_series(git: Git, base: str, patches: Iterable[Listed]) -> list[str]:
    """Commit each patch onto the commit `base`, with no fuzz and no offset; the new commits, oldest first.

    Neither the worktree nor the index nor any ref is touched. Raises ManifestError for a patch that does not apply.
    """
    tip, made = base, []
    with tempfile.TemporaryDirectory(prefix="porttool-") as scratch:
        own = git.with_index(Path(scratch) / "index")
        own.run("read-tree", base)
        for listed in patches:
            _apply(own, listed)
            tree = own.text("write-tree")
            tip = own.commit_object(tree, (tip,), listed.patch.author_line, listed.patch.message)
            made.append(tip)
    return made


def _apply(git: Git, listed: Listed) -> None:
    patch = listed.patch
    # The repository's own configuration may ask for leniency.
    words = ("apply", "--cached", "--verbose", "--whitespace=nowarn", "--no-ignore-whitespace", "-p1")
    done = git.attempt(*words, "-", stdin=patch.diff)
    told = done.err.decode("utf-8", "replace")
    if done.status == 0:
        moved = re.search(r"Hunk #(\d+) succeeded at \d+ \(offset (-?\d+) line", told)
        if moved:
            message = f"the patch applies only with an offset: hunk {moved[1]} by {moved[2]} lines"
            raise ManifestError(message, f"{listed.where}:{patch.diff_line}", _AGAIN)
        return
    failed = re.search(r"error: patch failed: (.+):(\d+)", told) or re.search(r"error: (.+?)(?::\d+)?: ", told)
    place = f" at {failed[1]}" + (f":{failed[2]}" if failed.lastindex == 2 else "") if failed else ""
    where = f"{listed.where}:{patch.diff_line}"
    if git.attempt(*words, "--check", "--reverse", "-", stdin=patch.diff).status == 0:
        raise ManifestError(f"the patch is already in{place}", where, "drop it from the series")
    reason = next((line for line in told.splitlines() if line.startswith(("error:", "fatal:"))), told.strip())
    raise ManifestError(f"the patch does not apply{place}", where, f"git says: {reason}")


_AGAIN = "write it again with vendor_series export: a patch must name the very lines it changes"


def export(git: Git, commits: str, folder: Path) -> list[Path]:
    """Write the commits of a git range as a series, replacing the one in `folder`; the files, in order.

    Author, date and message are kept. DEP-3 fields come from trailers of the message (`Upstream-Commit`), from the
    patch of the same subject already there, or from defaults. Raises RepositoryError for what a patch cannot hold.
    """
    if commits.startswith("-"):
        raise RepositoryError(f"{commits!r} is not a range", str(git.folder), "for instance upstream/v1..topic")
    known = _known_fields(folder)
    oids = git.text("rev-list", "--reverse", "--topo-order", commits, "--").split()
    written: dict[str, bytes] = {}
    for number, oid in enumerate(oids, 1):
        name, source = _exported(git, oid, number, known)
        written[name] = source
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.patch"):
        if path.name not in written:
            path.unlink()
    for name, source in written.items():
        (folder / name).write_bytes(source)
    (folder / ORDER).write_text("".join(f"{name}\n" for name in written), encoding="utf-8")
    return [folder / name for name in written]


def _exported(git: Git, oid: str, number: int, known: Mapping[str, Mapping[str, str]]) -> tuple[str, bytes]:
    head, _, message = git.run("cat-file", "commit", oid).partition(b"\n\n")
    lines = head.decode("utf-8", "surrogateescape").split("\n")
    parents = [line[7:] for line in lines if line.startswith("parent ")]
    author = next(line[7:] for line in lines if line.startswith("author "))
    if len(parents) != 1:
        raise RepositoryError("a root or merge commit cannot be a patch", oid, "give a linear range")
    diff = git.run("diff-tree", "-p", *DIFF, parents[0], oid)
    subject = message.partition(b"\n\n")[0].decode("utf-8", "surrogateescape").rstrip("\n")
    who, seconds, zone = author.rsplit(" ", 2)
    date = iso_date(f"{seconds} {zone}")
    fields = {**DEFAULTS, **known.get(subject, {}), **_trailers(message)}
    fields = {"From": who, "Date": date, "Last-Update": date[:10], **fields}
    source = write_patch(fields, message, diff)
    slug = re.sub(r"[^A-Za-z0-9]+", "-", subject.split("\n")[0].encode("ascii", "ignore").decode()).strip("-").lower()
    name = f"{number:04}-{slug[:52].rstrip('-') or 'patch'}.patch"
    try:
        read = read_patch(source, name)
    except ManifestError as error:
        raise RepositoryError("the commit cannot be a patch file", oid, error.message) from None
    if (read.message, read.author_line, read.diff) != (message, author.encode("utf-8", "surrogateescape"), diff):
        hint = "the message must end with one newline and hold no line `---`"
        raise RepositoryError("the commit does not survive as a patch file", oid, hint)
    return name, source


def _known_fields(folder: Path) -> dict[str, Mapping[str, str]]:
    """By subject, the DEP-3 fields of the patches already there that export does not make itself."""
    own = ("From", "Date", "Subject", "Last-Update")
    listed = read_series(folder) if (folder / ORDER).is_file() else []
    kept = (item.patch.fields for item in listed)
    return {fields["Subject"]: {name: text for name, text in fields.items() if name not in own} for fields in kept}


def _trailers(message: bytes) -> dict[str, str]:
    last = message.rstrip(b"\n").rpartition(b"\n\n")[2].decode("utf-8", "replace")
    pairs = (line.partition(": ") for line in last.split("\n"))
    return {name: text for name, _, text in pairs if text and name in (*REQUIRED[3:], *OPTIONAL)}


def main(words: list[str] | None = None) -> int:
    """The command line of this module; gives the exit code."""
    parser = argparse.ArgumentParser(prog="python -m porttool.vendor_series", description="patch series and git")
    verbs = parser.add_subparsers(dest="verb", required=True)
    out = verbs.add_parser("export", help="write the commits of a range as a series")
    out.add_argument("repository", type=Path)
    out.add_argument("range")
    out.add_argument("folder", type=Path)
    back = verbs.add_parser("apply", help="commit a series onto a base; prints the new commits")
    back.add_argument("repository", type=Path)
    back.add_argument("base")
    back.add_argument("folder", type=Path)
    back.add_argument("--branch", help="create or move this branch to the last commit")
    told = parser.parse_args(words)
    git = Git(told.repository)
    try:
        if told.verb == "export":
            for path in export(git, told.range, told.folder):
                print(path)
        else:
            base = git.text("rev-parse", "--verify", "--end-of-options", f"{told.base}^{{commit}}")
            made = apply_series(git, base, read_series(told.folder))
            print("\n".join(made))
            if told.branch:
                git.run("branch", "--force", "--", told.branch, made[-1] if made else base)
    except PortError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
