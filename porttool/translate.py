"""T: a Layout lifted to blobs and trees."""

from __future__ import annotations

import posixpath
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache, cached_property, partial
from itertools import groupby
from typing import TYPE_CHECKING, Protocol

from porttool.edits import Note, line_of
from porttool.errors import LayoutError
from porttool.layout import Layout
from porttool.rewrite import is_binary, rewrite
from porttool.rewrite.fragments import carry_group, group_of
from porttool.translate_attributes import NAME as ATTRIBUTES
from porttool.translate_attributes import attribute_files, called_binary
from porttool.translate_tree import check_clashes

if TYPE_CHECKING:
    from porttool.repo import Entry


class Blobs(Protocol):
    """Where blobs are read and written, by object id."""

    def read(self, oid: str) -> bytes: ...

    def write(self, data: bytes) -> str: ...


@dataclass(frozen=True)
class Culprit:
    """A place on the from-side, `path:line`, and what is wrong or worth knowing there; line 0 is the file itself."""

    path: str
    line: int
    kind: str
    text: str


Check = Callable[[], tuple[Culprit, ...]]
_Key = tuple[str, str, int, str]  # layout digest, path, kind of entry, object id


@dataclass(frozen=True)
class Translated:
    """Tree entries in the other layout, and the notes of the rewriters."""

    entries: dict[str, Entry]
    notes: tuple[Culprit, ...] = ()
    checks: tuple[Check, ...] = field(default=(), repr=False, compare=False)

    @cached_property
    def one_way(self) -> tuple[Culprit, ...]:
        """The places that do not come back. Found when first asked for: the way back costs what the way there does."""
        return tuple(culprit for check in self.checks for culprit in check())


@dataclass(frozen=True)
class _Carried:
    oid: str
    notes: tuple[Culprit, ...] = ()


@dataclass(frozen=True)
class _Group:
    """Entries by new path, each with the from-side path it comes from (its own where only fragments made it)."""

    files: dict[str, tuple[Entry, str]]
    checks: tuple[Check, ...] = ()
    notes: tuple[Culprit, ...] = ()


class Translator:
    """T for one layout over one store of blobs. Results are kept by layout digest, path and object id."""

    def __init__(self, layout: Layout, blobs: Blobs) -> None:
        self.layout = layout
        self._blobs = blobs
        self._known: dict[_Key, _Carried] = {}
        self._checked: dict[_Key, tuple[Culprit, ...]] = {}
        self._groups: dict[tuple[object, ...], _Group] = {}
        kinds = (layout.paths, layout.extra_modules, layout.extra_imports, layout.symbols, layout.keys)
        self._idle = not any((*kinds, layout.fragments))

    def inverse(self) -> Translator:
        """T of the inverse layout, sharing what is already known."""
        other = Translator(self.layout.inverse(), self._blobs)
        other._known, other._checked, other._groups = self._known, self._checked, self._groups
        return other

    def without_one_way(self) -> Translator | None:
        """T without the pairs that are declared one-way; None where none is."""
        other = self.inverse().inverse()
        return other if other.layout.digest != self.layout.digest else None

    def group(self, path: str) -> frozenset[str]:
        """The from-side files that are translated together with `path`: because they share a fragment, or because
        they tell whether it is binary."""
        if self._idle:
            return frozenset((path,))
        return self._sharing(path).union(attribute_files(path))

    def _sharing(self, path: str) -> frozenset[str]:
        return group_of(self.layout, path) if self.layout.fragments else frozenset((path,))

    def entries(self, entries: Mapping[str, Entry]) -> Translated:
        """T over a set of entries that holds whole groups. Raises LayoutError where a path does not round-trip."""
        return self._all(entries)[0]

    def tree(self, entries: Mapping[str, Entry]) -> Translated:
        """T over a whole tree. Raises LayoutError where two entries cannot stand side by side, naming both."""
        translated, origin = self._all(entries)
        check_clashes(origin)
        return translated

    def _all(self, entries: Mapping[str, Entry]) -> tuple[Translated, dict[str, str]]:
        if self._idle:
            return Translated(dict(entries)), {path: path for path in entries}
        carried: dict[str, Entry] = {}
        origin: dict[str, str] = {}
        checks: list[Check] = []
        notes: list[Culprit] = []
        grouped: set[str] = set()
        binary = self._called_binary(entries)
        for path, entry in entries.items():
            if path in grouped:
                continue
            mates = self._sharing(path) if path in self._shared else ()
            members = [name for name in mates if name in entries and name not in binary]
            if path in binary:
                found = _Group({self.layout.path(path): (entry, path)})
            elif members:
                grouped.update(members)
                found = self._carry_group({name: entries[name] for name in sorted(members)})
            else:
                found = self._carry_alone(path, entry)
            for new_path, (new_entry, source) in found.files.items():
                other = origin.setdefault(new_path, source)
                if new_path in carried:
                    raise LayoutError(f"{other!r} and {source!r} both become {new_path!r}", hint=_OWN_PATH)
                carried[new_path] = new_entry
            checks += found.checks
            notes += found.notes
        return Translated(carried, tuple(notes), tuple(checks)), origin

    def _called_binary(self, entries: Mapping[str, Entry]) -> frozenset[str]:
        files = {path: entry for path, entry in entries.items() if path.rpartition("/")[2] == ATTRIBUTES}
        said = {path: self._blobs.read(entry.oid) for path, entry in files.items() if stat.S_ISREG(entry.mode)}
        if not said:
            return frozenset()
        return frozenset(path for path in entries if called_binary(path, said))

    @cached_property
    def _shared(self) -> frozenset[str]:
        """The from-side files that hold or receive a fragment."""
        homes = (fragment.old.path for fragment in self.layout.fragments)
        return frozenset(name for home in homes for name in self._sharing(home))

    def _carry_alone(self, path: str, entry: Entry) -> _Group:
        new_path = self.layout.path(path)
        found = self._carry(path, new_path, entry)
        check = partial(self._check, path, new_path, entry, found.oid)
        return _Group({new_path: (entry._replace(oid=found.oid), path)}, (check,), found.notes)

    def _carry_group(self, entries: dict[str, Entry]) -> _Group:
        key = (self.layout.digest, *entries.items())
        found = self._groups.get(key)
        if found is None:
            texts = {path: self._blobs.read(e.oid) for path, e in entries.items() if stat.S_ISREG(e.mode)}
            texts = {path: blob for path, blob in texts.items() if not is_binary(blob)}
            joined = self._join(entries, texts)
            rest = [self._carry_alone(path, entry) for path, entry in entries.items() if path not in texts]
            found = self._groups[key] = _merged([joined, *rest])
        return found

    def _join(self, entries: dict[str, Entry], texts: dict[str, bytes]) -> _Group:
        there = carry_group(self.layout, texts)
        any_entry = next(iter(entries.values()))
        files = {}
        for new_path, blob in there.files.items():
            source = there.origin.get(new_path)
            entry = entries[source] if source else any_entry._replace(mode=_PLAIN)
            same = source is not None and texts[source] == blob
            files[new_path] = (entry if same else entry._replace(oid=self._blobs.write(blob)), source or new_path)
        notes = tuple(Culprit(r.path, r.line, r.kind, r.text) for r in there.remarks if not r.one_way)
        told = [Culprit(r.path, r.line, r.kind, r.text) for r in there.remarks if r.one_way]
        lost = texts.keys() - there.origin.values()
        modes = [
            Culprit(path, 0, "one-way", f"mode {entries[path].mode:o} does not come back")
            for path in sorted(lost)
            if entries[path].mode != _PLAIN
        ]
        old = {path: entries[path].oid for path in texts}
        new = {new_path: entry.oid for new_path, (entry, _) in files.items()}
        return _Group(files, (cache(partial(self._check_group, tuple(modes), tuple(told), old, new)),), notes)

    def _check_group(
        self, modes: tuple[Culprit, ...], told: tuple[Culprit, ...], old: Mapping[str, str], new: Mapping[str, str]
    ) -> tuple[Culprit, ...]:
        sides = ({path: self._blobs.read(oid) for path, oid in side.items()} for side in (old, new))
        lasting = _group_culprits(self.layout, *sides)
        # What a fragment foretells counts only where the files do not come back.
        return (*told, *modes, *lasting) if lasting else modes

    def _key(self, path: str, entry: Entry) -> _Key:
        return (self.layout.digest, path, stat.S_IFMT(entry.mode), entry.oid)

    def _carry(self, path: str, new_path: str, entry: Entry) -> _Carried:
        key = self._key(path, entry)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._carried(path, new_path, entry)
        return found

    def _carried(self, path: str, new_path: str, entry: Entry) -> _Carried:
        if stat.S_IFMT(entry.mode) == _GITLINK:
            return _Carried(entry.oid)
        blob = self._blobs.read(entry.oid)
        new_blob, notes = _rewritten(self.layout, path, new_path, entry.mode, blob)
        return _Carried(entry.oid if new_blob == blob else self._blobs.write(new_blob), noted(path, blob, notes))

    def _check(self, path: str, new_path: str, entry: Entry, new_oid: str) -> tuple[Culprit, ...]:
        """Where an entry does not come back."""
        key = self._key(path, entry)
        found = self._checked.get(key)
        if found is None:
            paths, name = self.layout.inverse().paths, tuple(new_path.split("/"))
            back = "/".join(paths.map(name))
            told = f"comes back as {back!r}" if back != path else "is refused on the way back" * (name not in paths)
            found = (Culprit(path, 0, "one-way", f"{new_path!r} {told}"),) if told else ()
            if stat.S_IFMT(entry.mode) != _GITLINK:
                found += self._check_content(path, new_path, entry, new_oid, to_path=not found)
            self._checked[key] = found
        return found

    def _check_content(
        self, path: str, new_path: str, entry: Entry, new_oid: str, *, to_path: bool
    ) -> tuple[Culprit, ...]:
        """Where its content does not come back; `to_path`: its path does."""
        inverse = self.layout.inverse()
        key = (inverse.digest, new_path, stat.S_IFMT(entry.mode), new_oid)
        known = self._known.get(key) if to_path else None
        if known is not None and known.oid == entry.oid:
            return ()
        blob, new_blob = self._blobs.read(entry.oid), self._blobs.read(new_oid)
        back, notes = _rewritten(inverse, new_path, path, entry.mode, new_blob)
        if back == blob:
            if to_path:
                self._known[key] = _Carried(entry.oid, noted(new_path, new_blob, notes))
            return ()
        if stat.S_ISLNK(entry.mode):
            told, shown = (text.decode("utf-8", "surrogateescape") for text in (blob, back))
            return (Culprit(path, 1, "one-way", f"link {told!r} comes back as {shown!r}"),)
        return differing(path, blob, back)


def _rewritten(layout: Layout, path: str, new_path: str, mode: int, blob: bytes) -> tuple[bytes, tuple[Note, ...]]:
    names = layout.for_file(path)
    if stat.S_ISLNK(mode) and not names.kept:
        target = carry_link(blob.decode("utf-8", "surrogateescape"), path, new_path, layout)
        return target.encode("utf-8", "surrogateescape"), ()
    done = rewrite(blob, names)
    return done.blob, done.notes


def _group_culprits(layout: Layout, texts: Mapping[str, bytes], there: Mapping[str, bytes]) -> list[Culprit]:
    try:
        back = carry_group(layout.inverse(), there)
    except LayoutError as fault:
        return [Culprit(min(texts), 0, "one-way", fault.message)]
    found: list[Culprit] = []
    for path in sorted({*texts, *back.files}):
        if path not in texts:
            found.append(Culprit(path, 0, "one-way", "is not there before, but is after coming back"))
        elif path not in back.files:
            found.append(Culprit(path, 0, "one-way", "does not come back"))
        elif texts[path] != back.files[path]:
            found += differing(path, texts[path], back.files[path])
    return found


def _merged(groups: list[_Group]) -> _Group:
    files: dict[str, tuple[Entry, str]] = {}
    for group in groups:
        for new_path, found in group.files.items():
            if new_path in files:
                raise LayoutError(f"{files[new_path][1]!r} and {found[1]!r} both become {new_path!r}", hint=_OWN_PATH)
            files[new_path] = found
    checks = tuple(check for group in groups for check in group.checks)
    return _Group(files, checks, tuple(culprit for group in groups for culprit in group.notes))


_OWN_PATH = "give each of the two a path of its own"
_ALIGNED = 4_000_000
_GITLINK = 0o160000
_PLAIN = 0o100644


def carry_link(target: str, path: str, new_path: str, layout: Layout) -> str:
    """The target of a symlink at `path`, seen from `new_path`: it points at the same thing, under its new name."""
    if not target or target.startswith("/"):
        return target
    meant = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    new_meant = "/".join(layout.paths.map(tuple(meant.split("/"))))
    folder = posixpath.dirname(new_path)
    if posixpath.normpath(posixpath.join(folder, target)) == new_meant:
        return target
    # Deep enough that a target outside the tree has a name.
    top = "/r" * (1 + new_meant.count(".."))
    return posixpath.relpath(posixpath.join(top, new_meant), posixpath.join(top, folder))


def differing(path: str, blob: bytes, back: bytes) -> tuple[Culprit, ...]:
    """The lines of `blob` that do not come back."""
    before, after = blob.split(b"\n"), back.split(b"\n")
    head = _alike(before, after)
    tail = _alike(before[head:][::-1], after[head:][::-1])
    before, after = before[head : len(before) - tail], after[head : len(after) - tail]
    found = []
    for low, high, low2, high2 in _changed(before, after):
        text = f"{_shown(before[low:high])} comes back as {_shown(after[low2:high2])}"
        found.append(Culprit(path, head + low + 1, "one-way", text))
    return tuple(found)


def _changed(before: list[bytes], after: list[bytes]) -> Iterator[tuple[int, int, int, int]]:
    """Runs of lines that differ. Aligning is quadratic: only where lines came or went, and there are not too many."""
    if len(before) == len(after):
        for differs, run in groupby(range(len(before)), lambda at: before[at] != after[at]):
            lines = list(run)
            if differs:
                yield lines[0], lines[-1] + 1, lines[0], lines[-1] + 1
    elif len(before) * len(after) > _ALIGNED:
        yield 0, len(before), 0, len(after)
    else:
        for tag, *span in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
            if tag != "equal":
                yield span[0], span[1], span[2], span[3]


def _alike(before: list[bytes], after: list[bytes]) -> int:
    """How many leading lines are the same."""
    pairs = zip(before, after, strict=False)
    return next((i for i, (one, other) in enumerate(pairs) if one != other), min(len(before), len(after)))


def noted(path: str, blob: bytes, notes: Iterable[Note]) -> tuple[Culprit, ...]:
    """Notes with their byte offsets turned into lines."""
    return tuple(Culprit(path, line_of(blob, note.offset), note.kind, note.message) for note in notes)


def _shown(lines: list[bytes]) -> str:
    text = b"\n".join(lines[:3]).decode("utf-8", "backslashreplace").strip()
    return repr(text if len(text) <= 120 else text[:117] + "...") if lines else "nothing"
