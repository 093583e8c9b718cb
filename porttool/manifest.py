"""The manifest: which commits go from where to where, under which layout and policy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from porttool.errors import LayoutError, ManifestError
from porttool.layout import Fragment, Layout, Symbol, fragment_end
from porttool.manifest_nodes import Place, Reader, compose, read_file
from porttool.manifest_schema import LAYOUT, MANIFEST
from porttool.names import Pair, Renaming, split


@dataclass(frozen=True)
class Source:
    """Where commits come from: a repository (path or URL, as written) and a rev in it."""

    repo: str
    ref: str


@dataclass(frozen=True)
class Target:
    """Where commits go: they are built on `ref` and end on `branch` ("" = the command line names it)."""

    repo: str
    ref: str
    branch: str = ""


@dataclass(frozen=True)
class Pick:
    """One commit to make from one or more source commits, oldest first.

    `upstream` are the ids of the same commits in the original fork; `adapted` says why a path had to differ.
    """

    pick: tuple[str, ...]
    upstream: tuple[str, ...] = ()
    subject: str = ""
    adapted: Mapping[str, str] = field(default_factory=dict, hash=False)
    why: str = ""
    where: str = ""


@dataclass(frozen=True)
class NewPatch:
    """One commit from a patch file; it has no source commit. `new` is the path as written, `file` where it is."""

    new: str
    file: Path
    why: str = ""
    where: str = ""


@dataclass(frozen=True)
class Range:
    """Every commit of `a..b` on the source side, oldest first."""

    range: str
    why: str = ""
    where: str = ""


Item = Pick | NewPatch | Range


@dataclass(frozen=True)
class Policy:
    """What to do with merges, empty commits, signatures and dates; `width` is that of added lines."""

    merges: Literal["refuse", "first-parent", "evil"] = "refuse"
    empty: Literal["skip", "keep", "refuse"] = "skip"
    committer: str = "author-date"
    signatures: Literal["record", "drop", "refuse"] = "record"
    width: int = 119


@dataclass(frozen=True)
class Manifest:
    """A checked manifest. `root` is the project's top, from which repository paths are written."""

    path: Path
    root: Path
    source: Source
    target: Target
    layout: Layout
    protected: tuple[str, ...] = ()
    commits: tuple[Item, ...] = ()
    skip: Mapping[str, str] = field(default_factory=dict, hash=False)
    policy: Policy = Policy()
    parity: Mapping[str, Any] = field(default_factory=dict, hash=False)
    marks: Mapping[Place, str] = field(default_factory=dict, repr=False, compare=False)

    def where(self, *place: str | int) -> str:
        """`file:line` of a place such as `("commits", 2, "pick")`, or of the nearest place around it."""
        while place and place not in self.marks:
            place = place[:-1]
        return self.marks.get(place, str(self.path))

    def repo(self, side: Source | Target) -> str:
        """The repository of a side: a URL as written, a path made absolute from the project's top."""
        return side.repo if is_url(side.repo) else str((self.root / Path(side.repo).expanduser()).resolve())

    @property
    def resolutions(self) -> Path:
        """The folder beside the manifest that holds its recorded resolutions."""
        return self.path.with_name(f"{self.path.stem}.resolutions")


def load(path: str | Path) -> Manifest:
    """The manifest in a file. Raises ManifestError or LayoutError, each with its `file:line`."""
    path = Path(path)
    reader = Reader(str(path))
    told = reader.read(compose(read_file(path), str(path)), MANIFEST)
    return Manifest(
        path=path.resolve(),
        root=project_root(path),
        source=Source(**told["source"]),
        target=Target(**told["target"]),
        layout=_layout(told["layout"], reader, ("layout",)),
        protected=tuple(told.get("protected", ())),
        commits=_commits(told.get("commits", []), reader, path),
        skip=told.get("skip", {}),
        policy=_policy(told.get("policy", {})),
        parity=told.get("parity", {}),
        marks=reader.marks,
    )


def load_layout(source: bytes, name: str = "layout") -> Layout:
    """The layout in a YAML text that holds the `layout:` mapping alone."""
    reader = Reader(name)
    return _layout(reader.read(compose(source, name), LAYOUT), reader, ())


def is_url(repo: str) -> bool:
    """Whether a repository is written as a URL (or scp-like `host:path`), not as a path."""
    return re.match(r"\w[\w+.-]*://|[^/]+@[^/]+:|[\w.-]{2,}:(?!/?$)", repo) is not None


def project_root(path: Path) -> Path:
    """The nearest folder above a manifest that holds a pyproject.toml or a .git; else the manifest's own folder."""
    folder = path.resolve().parent
    for candidate in (folder, *folder.parents):
        if (candidate / "pyproject.toml").is_file() or (candidate / ".git").exists():
            return candidate
    return folder


def _layout(told: Mapping[str, Any], reader: Reader, at: Place) -> Layout:
    def pairs(section: str, separator: str, *, slashed: bool = True, dotted: bool = True) -> tuple[Pair, ...]:
        found = []
        for old, new in told.get(section, {}).items():
            if not (slashed if "/" in old else dotted):
                continue
            one_way = isinstance(new, dict) and new.get("one_way", False)
            ends = split(old, separator), split(_to(new), separator)
            where = reader.marks[(*at, section, old)]
            if section == "paths":
                _check_stars(old, _to(new), where)
            elif section == "modules" and ("/" in old) != ("/" in _to(new)):
                message = f"module pair {old!r}: {_to(new)!r} has slashes on one side only"
                raise ManifestError(message, where, "write both sides dotted, or both with slashes")
            found.append(Pair(*ends, one_way, where))
        return tuple(found)

    try:
        return Layout(
            paths=Renaming("path", pairs("paths", "/"), "/"),
            extra_modules=Renaming("module", pairs("modules", ".", slashed=False)).pairs,
            extra_imports=Renaming("import", pairs("modules", "/", dotted=False), "/").pairs,
            symbols=tuple(_symbol(o, n, reader.marks[(*at, "symbols", o)]) for o, n in _pairs_of(told, "symbols")),
            keys=Renaming("key", pairs("keys", ".")),
            fragments=tuple(
                _fragment(o, n, reader.marks[(*at, "fragments", o)]) for o, n in _pairs_of(told, "fragments")
            ),
            roots=tuple(told.get("roots", (".",))),
            mounts=tuple((glob, split(key)) for glob, key in _pairs_of(told, "mounts")),
            keep=tuple(told.get("keep", ())),
        )
    except LayoutError as error:
        raise LayoutError(error.message, error.where or reader.marks[at], error.hint) from error


def _pairs_of(told: Mapping[str, Any], section: str) -> list[tuple[str, Any]]:
    return list(told.get(section, {}).items())


def _to(new: Any) -> str:
    return str(new["to"] if isinstance(new, dict) else new)


def _check_stars(old: str, new: str, where: str) -> None:
    if old.count("*") > 1 or old.count("*") != new.count("*"):
        hint = "write one `*` on each side, or none"
        raise ManifestError(f"path pair {old!r}: {new!r} needs the same `*` on both sides", where, hint)


def _symbol(old: str, new: Any, where: str) -> Symbol:
    told = new if isinstance(new, dict) else {"to": new}
    scope, words, part = tuple(told.get("in", ())), told.get("words", False), told.get("part", False)
    if words and part:
        raise ManifestError(f"symbol {old!r} is matched both by `words` and by `part`", where, "keep one of the two")
    return Symbol(old, told["to"], scope, words, told.get("one_way", False), where, part)


def _fragment(old: str, new: Any, where: str) -> Fragment:
    told = new if isinstance(new, dict) else {"to": new}
    ends = (
        fragment_end(old, told.get("old_after"), told.get("old_lead")),
        fragment_end(told["to"], told.get("new_after"), told.get("new_lead")),
    )
    if ends[0].kind != ends[1].kind:
        raise ManifestError(f"fragment {old!r} is {ends[0].kind} on one side and {ends[1].kind} on the other", where)
    return Fragment(*ends, where)


def _commits(told: Any, reader: Reader, path: Path) -> tuple[Item, ...]:
    if isinstance(told, dict):
        return (Range(told["range"], told.get("why", ""), reader.marks[("commits",)]),)
    found: list[Item] = []
    for number, item in enumerate(told):
        where = reader.marks[("commits", number)]
        why = item.get("why", "")
        if "new" in item:
            found.append(NewPatch(item["new"], path.resolve().parent / item["new"], why, where))
        elif "range" in item:
            found.append(Range(item["range"], why, where))
        else:
            _no_repeats(item["pick"], where)
            plain = {key: item[key] for key in ("subject", "adapted") if key in item}
            found.append(Pick(tuple(item["pick"]), tuple(item.get("upstream", ())), **plain, why=why, where=where))
    return tuple(found)


def _no_repeats(pick: list[str], where: str) -> None:
    for oid in pick:
        if pick.count(oid) > 1:
            raise ManifestError(f"commit {oid} is picked twice", where, "write each source commit once")


def _policy(told: Mapping[str, Any]) -> Policy:
    plain = {key: value for key, value in told.items() if key != "style"}
    return Policy(**plain, width=told.get("style", {}).get("width", 119))
