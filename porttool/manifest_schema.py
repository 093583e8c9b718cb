"""The shape of a manifest, as one table: the loader reads by it and `porttool schema` prints it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias


class Format(NamedTuple):
    """What a scalar must look like; `plain` takes the characters as written, so that `8356216` is an id."""

    pattern: str
    told: str
    plain: bool = False


# Patterns keep to what Python's `re` and JSON Schema share.
# `.git` in any letter case, and the short name Windows gives it: git refuses to check such a path out.
_ESCAPES = r"(?!/)(?!(.*/)?\.\.?(/|$))(?!(.*/)?(\.[gG][iI][tT]|[gG][iI][tT]~[0-9]+)(/|$))"
_PATH = rf"{_ESCAPES}[^\x00-\x1f\\]+"
FORMATS: Mapping[str, Format] = {
    "text": Format(r"[\s\S]*", "text"),
    "line": Format(r"[^\x00\r\n]+", "one line of text"),
    "path": Format(rf"{_PATH}", "a path inside the repository: relative, `/` between segments, no `.` or `..`", True),
    "glob": Format(rf"{_PATH}", "a path or glob inside the repository: relative, no `.` or `..`", True),
    "root": Format(rf"(\.|{_PATH})", "a folder inside the repository, or `.` for its top", True),
    "patch": Format(rf"{_ESCAPES}[^\x00-\x1f\\]+\.patch", "a .patch file beside the manifest, without `..`", True),
    "repo": Format(r"(?!-)(?!\w+::)(?!\w+://-)[^\x00-\x1f]+", "a path or a URL of a git repository", True),
    "rev": Format(r"(?!-)[^\x00-\x20\x7f]+", "a ref, tag or commit; it may not begin with `-`", True),
    "branch": Format(
        r"(?![-/.]|HEAD$)(?!.*(\.\.|//|@\{|/\.|\.lock/))(?!.*(/|\.|\.lock)$)[^\x00-\x20\x7f~^:?*\[\\]+",
        "a branch name as git allows it; it may not begin with `-`",
        True,
    ),
    "range": Format(r"(?!-)(?!.*\.\.\.)[^\x00-\x20\x7f]+?\.\.(?![-.])[^\x00-\x20\x7f]+", "a range `a..b`", True),
    "commit": Format(
        r"([0-9a-fA-F]{7,40}|(?![0-9a-fA-F]*$)(?!-)[^\x00-\x20\x7f]+)",
        "a commit: an id of 7 to 40 hex digits, or a rev",
        True,
    ),
    "oid": Format(r"[0-9a-fA-F]{7,40}", "an object id of 7 to 40 hex digits", True),
    "module": Format(
        r"([^\W\d]\w*(\.[^\W\d]\w*)*|[A-Za-z0-9_][A-Za-z0-9_.@+-]*(/[A-Za-z0-9_][A-Za-z0-9_.@+-]*)+)",
        "a dotted module name, or one with slashes such as a Go import path",
        True,
    ),
    "symbol": Format(r"[^\W\d]\w*", "one identifier", True),
    "key": Format(r"[^.\s=:#]+(\.[^.\s=:#]+)*", "a dotted config key", True),
    "sibling": Format(r"[^\x00\r\n]*", "the key or definition before the fragment, or '' for the first place", True),
    "fragment": Format(
        rf"{_ESCAPES}[^\x00-\x1f\\#:]+(#[^\s#]*|::[^\W\d]\w*(\.[^\W\d]\w*)*)",
        "a fragment: path.yaml#key, path.yaml# or path.py::Class.method",
        True,
    ),
    "identity": Format(r"[^<>\x00-\x1f]*<[^<>\x00-\x1f]*>", "`Name <mail>`"),
}


@dataclass(frozen=True)
class Text:
    """A scalar of one format."""

    format: str = "line"


@dataclass(frozen=True)
class Word:
    """One of a few words; `or_format` also allows a free form."""

    words: tuple[str, ...]
    or_format: str = ""


@dataclass(frozen=True)
class Whole:
    """A whole number."""

    least: int
    most: int


@dataclass(frozen=True)
class Flag:
    """true or false."""


@dataclass(frozen=True)
class Seq:
    """A list; `least` items at the least."""

    of: Shape
    least: int = 0


@dataclass(frozen=True)
class Table:
    """A mapping whose keys the user chooses."""

    key: Text
    of: Shape


@dataclass(frozen=True)
class Key:
    """One known key of a record."""

    shape: Shape
    doc: str
    required: bool = False


@dataclass(frozen=True)
class Record:
    """A mapping of known keys."""

    keys: Mapping[str, Key] = field(hash=False)


@dataclass(frozen=True)
class ByKey:
    """Mappings told apart by the one key that only they have."""

    records: Mapping[str, Record] = field(hash=False)


@dataclass(frozen=True)
class ByKind:
    """A scalar, a list or a mapping, told apart by what is written."""

    shapes: tuple[Shape, ...]


@dataclass(frozen=True)
class Free:
    """Anything YAML can hold; a later step checks it."""


Shape: TypeAlias = Text | Word | Whole | Flag | Seq | Table | Record | ByKey | ByKind | Free

FLAG_ONE_WAY = Key(Flag(), "works forward only; what it touches is labelled one-way")


def _pairs(format: str) -> Table:
    to = {"to": Key(Text(format), "the new name", True), "one_way": FLAG_ONE_WAY}
    return Table(Text(format), ByKind((Text(format), Record(to))))


_SYMBOL = Record(
    {
        "to": Key(Text("symbol"), "the new name", True),
        "in": Key(Seq(Text("glob"), 1), "files (old side) that define or use it; default: everywhere"),
        "words": Key(Flag(), "also as a word inside camelCase and snake_case tokens"),
        "part": Key(Flag(), "anywhere inside an identifier, in exactly this case"),
        "one_way": FLAG_ONE_WAY,
    }
)
_FRAGMENT = Record(
    {
        "to": Key(Text("fragment"), "its home on the new side", True),
        "old_after": Key(Text("sibling"), "the sibling it stands behind on the old side; '' = first, unset = last"),
        "new_after": Key(Text("sibling"), "the sibling it stands behind on the new side; '' = first, unset = last"),
        "old_lead": Key(Text("text"), "literal text before it on the old side; it goes and comes with the fragment"),
        "new_lead": Key(Text("text"), "literal text before it on the new side; it goes and comes with the fragment"),
    }
)
LAYOUT = Record(
    {
        "roots": Key(Seq(Text("root"), 1), "import roots of both sides; default [.]"),
        "mounts": Key(Table(Text("glob"), Text("key")), "config key at which the root of a YAML file is mounted"),
        "keep": Key(Seq(Text("glob"), 1), "files (old side) whose content stays, such as porttool's own"),
        "paths": Key(_pairs("path"), "files and folders, old: new; one `*` may stand inside a segment"),
        "modules": Key(_pairs("module"), "modules that no path pair implies, dotted or (Go) with slashes, old: new"),
        "symbols": Key(Table(Text("symbol"), ByKind((Text("symbol"), _SYMBOL))), "identifiers, old: new"),
        "keys": Key(_pairs("key"), "config keys, old: new"),
        "fragments": Key(
            Table(Text("fragment"), ByKind((Text("fragment"), _FRAGMENT))), "parts of files with a home of their own"
        ),
    }
)
_WHY = Key(Text("text"), "the reason, or the review comment that it answers")
COMMITS: Mapping[str, Record] = {
    "pick": Record(
        {
            "pick": Key(Seq(Text("commit"), 1), "source commits that become this one commit, oldest first", True),
            "upstream": Key(Seq(Text("oid"), 1), "ids of the same commits in the original fork"),
            "subject": Key(Text("line"), "subject of the new commit; default: that of the first source commit"),
            "adapted": Key(Table(Text("path"), Text("text")), "path: why the result had to differ there"),
            "why": _WHY,
        }
    ),
    "new": Record(
        {
            "new": Key(Text("patch"), "a patch file, relative to the manifest; it has no source commit", True),
            "why": _WHY,
        }
    ),
    "range": Record(
        {
            "range": Key(Text("range"), "every commit of a..b on the source side, oldest first", True),
            "why": _WHY,
        }
    ),
}
_STYLE = Record({"width": Key(Whole(40, 1000), "widest added line; default 119")})
POLICY = Record(
    {
        "merges": Key(Word(("refuse", "first-parent", "evil")), "what a merge in the list means; default refuse"),
        "empty": Key(Word(("skip", "keep", "refuse")), "a commit that changes nothing on the target; default skip"),
        "committer": Key(
            Word(("author-date", "now"), "identity"),
            "committer and date: the author's date (default), now, or `Name <mail>` at the author's date",
        ),
        "signatures": Key(Word(("record", "drop", "refuse")), "signed source commits; default record"),
        "style": Key(_STYLE, "style of added lines"),
    }
)
_SOURCE = {
    "repo": Key(Text("repo"), "path (from the project's top) or URL of the repository", True),
    "ref": Key(Text("rev"), "branch, tag or commit", True),
}
MANIFEST = Record(
    {
        "version": Key(Whole(1, 1), "version of this format", True),
        "source": Key(Record(_SOURCE), "where commits come from", True),
        "target": Key(
            Record({**_SOURCE, "branch": Key(Text("branch"), "branch to create; it starts at ref")}),
            "where commits go",
            True,
        ),
        "layout": Key(LAYOUT, "the names that differ between source and target", True),
        "protected": Key(Seq(Text("glob")), "target paths that must come out untouched"),
        "commits": Key(
            ByKind((Seq(ByKey(COMMITS)), COMMITS["range"])), "what to port, in order: a list, or one range"
        ),
        "skip": Key(Table(Text("commit"), Text("text")), "source commits that are not ported, each with its reason"),
        "policy": Key(POLICY, "what to do with merges, empties, signatures, dates"),
        "parity": Key(Table(Text("line"), Free()), "scenarios and rules of the parity gate"),
    }
)


def fits(format: str, text: str) -> bool:
    """Whether `text` is of the format."""
    return re.fullmatch(FORMATS[format].pattern, text) is not None
