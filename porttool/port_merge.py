"""One source commit onto one tree: merge3(base = T(c^), ours = h, theirs = T(c)), file by file on what c touches."""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from porttool.repo import EMPTY_TREE, MODE_GITLINK, MODE_LINK, MODE_TREE, Commit, Entry, Labels, Repository, is_binary
from porttool.resolutions import Decision, Ledger, Sides
from porttool.translate import Culprit, Translated, Translator

Edits = dict[str, Entry | None]


@dataclass(frozen=True)
class Conflict:
    """A path on which a commit cannot be ported without a decision.

    `kind`: content, binary, missing, deleted, added, mode, link, submodule, directory, unmapped or protected.
    `shown` is what the scratch worktree holds there; `source` is the commit being ported.
    """

    path: str
    kind: str
    source: str
    sides: Sides
    shown: Entry | None
    hint: str = ""


@dataclass(frozen=True)
class Delta:
    """What one source commit is in target names: base and theirs of every path that it touches."""

    base: Mapping[str, Entry]
    theirs: Mapping[str, Entry]
    notes: tuple[Culprit, ...] = ()
    renamed: bool = False  # whether T changed a path or a byte of it
    sides: tuple[Translated, ...] = field(default=(), repr=False, compare=False)

    @cached_property
    def one_way(self) -> tuple[Culprit, ...]:
        """The places on either side that do not come back; found when first asked for."""
        return tuple(dict.fromkeys(culprit for side in self.sides for culprit in side.one_way))

    @property
    def paths(self) -> list[str]:
        """Paths that change, in order."""
        every = self.base.keys() | self.theirs.keys()
        return sorted(path for path in every if self.base.get(path) != self.theirs.get(path))


@dataclass(frozen=True)
class Ported:
    """The edits that port one commit, and the paths on which they could not be found."""

    edits: Edits
    conflicts: tuple[Conflict, ...] = ()
    decisions: tuple[Decision, ...] = ()
    touched: tuple[str, ...] = ()
    delta: Delta = field(default_factory=lambda: Delta({}, {}))


def _commit_name(commit: Commit) -> str:
    subject = "".join(letter if letter.isprintable() else " " for letter in commit.subject[:60])
    return f"{commit.oid[:12]} ({subject})"


def delta_of(repository: Repository, translator: Translator, base_tree: str, tree: str) -> Delta:
    """T of the change between two source trees. Whole groups go through T, so that fragments are never halved."""
    changes = repository.changes(base_tree, tree)
    before = {change.path: change.old for change in changes if change.old}
    after = {change.path: change.new for change in changes if change.new}
    paths = {change.path for change in changes}
    for path in sorted(frozenset().union(*map(translator.group, paths)) - paths):
        if mate := repository.file(tree, path):
            before[path] = after[path] = mate
    old, new = translator.entries(before), translator.entries(after)
    seen = set(old.notes)
    fresh = tuple(note for note in new.notes if note not in seen)
    renamed = (old.entries, new.entries) != (before, after)
    return Delta(old.entries, new.entries, fresh, renamed, (old, new))


def is_protected(path: str, globs: Iterable[str]) -> str | None:
    """The glob that protects a path, or None."""
    held = (glob for glob in globs if fnmatch.fnmatchcase(path, glob) or path.startswith(glob.rstrip("/") + "/"))
    return next(held, None)


class Porting:
    """Ports single commits of one plan: the repository, T, the recorded decisions and the protected paths."""

    def __init__(
        self, repository: Repository, translator: Translator, decisions: Ledger, protected: Iterable[str]
    ) -> None:
        self.repository = repository
        self.translator = translator
        self.decisions = decisions
        self.protected = tuple(protected)

    def labels(self, source: Commit, head: str) -> Labels:
        """The commit names that the markers of a conflict carry."""
        ours = _commit_name(self.repository.commit(head))
        return Labels(ours, f"parent of {source.oid[:12]}", _commit_name(source))

    def port(self, source: Commit, base_tree: str, onto: str, labels: Labels) -> Ported:
        """Port the change from `base_tree` to the source's tree onto a tree."""
        repository = self.repository
        delta = delta_of(repository, self.translator, base_tree, source.tree)
        edits: Edits = {}
        conflicts: list[Conflict] = []
        decisions: list[Decision] = []
        paths = dict.fromkeys((*delta.paths, *sorted(self.decisions.extra(source.oid))))
        for path in paths:
            sides = Sides(delta.base.get(path), repository.file(onto, path), delta.theirs.get(path))
            decided = self.decisions.decide(source.oid, path, sides)
            found: Entry | Conflict | None
            if decided is not None:
                decisions.append(decided)
                found = decided.result
            else:
                found = self.merge(source.oid, path, sides, labels)
            found = self._guarded(source, base_tree, onto, path, sides, found)
            if isinstance(found, Conflict):
                conflicts.append(found)
            elif found != sides.ours:
                edits[path] = found
        conflicts += self._misplaced(source.oid, onto, edits, delta)
        for conflict in conflicts:
            edits.pop(conflict.path, None)
        return Ported(edits, tuple(conflicts), tuple(decisions), tuple(delta.paths), delta)

    def merge(self, source: str, path: str, sides: Sides, labels: Labels) -> Entry | Conflict | None:
        """Merge the three sides of one path."""
        base, ours, theirs = sides
        if ours == theirs or base == theirs:
            return ours
        if ours == base:
            return theirs
        kind = _kind(sides)
        if kind == "content" and base is not None and ours is not None and theirs is not None:
            return self._merge_files(source, path, Sides(base, ours, theirs), labels)
        shown = theirs if ours is None else ours
        if kind == "added" and ours is not None and theirs is not None:
            contents = [self.repository.read(entry.oid) for entry in (ours, theirs)]
            merged = self.repository.merge3(None, contents[0], contents[1], labels)
            if merged.content is not None and not merged.clean:
                shown = Entry(ours.mode, self.repository.write(merged.content))
        return Conflict(path, kind, source, sides, shown, _HINTS.get(kind, ""))

    def _merge_files(self, source: str, path: str, sides: Sides, labels: Labels) -> Entry | Conflict:
        base, ours, theirs = sides
        assert base is not None and ours is not None and theirs is not None
        mode = theirs.mode if ours.mode == base.mode else ours.mode
        if ours.oid == theirs.oid or base.oid == theirs.oid:
            return Entry(mode, ours.oid)
        if ours.oid == base.oid:
            return Entry(mode, theirs.oid)
        contents = [self.repository.read(entry.oid) for entry in (base, ours, theirs)]
        merged = self.repository.merge3(contents[0], contents[1], contents[2], labels)
        assert merged.content is not None
        shown = Entry(mode, self.repository.write(merged.content))
        if merged.clean:
            return shown
        kind = "binary" if any(map(is_binary, contents)) else "content"
        return Conflict(path, kind, source, sides, shown, _HINTS.get(kind, ""))

    def _guarded(
        self, source: Commit, base_tree: str, onto: str, path: str, sides: Sides, found: Entry | Conflict | None
    ) -> Entry | Conflict | None:
        if isinstance(found, Conflict) or found == sides.ours:
            return found
        if glob := is_protected(path, self.protected):
            hint = f"`protected` holds {glob!r}: keep the target's file, and say why under `adapted`"
            return Conflict(path, "protected", source.oid, sides, sides.ours, hint)
        if sides.base is None and sides.ours is None and self._homeless(base_tree, onto, path):
            folder = posixpath.dirname(path)
            hint = f"nothing of {folder!r} is on the target: map the folder under `layout.paths`"
            return Conflict(path, "unmapped", source.oid, sides, sides.theirs, hint)
        return found

    def _homeless(self, base_tree: str, onto: str, path: str) -> bool:
        """Whether a new file would land in a folder the source has and the target knows under no name."""
        folder = posixpath.dirname(path)
        paths = self.translator.layout.paths
        if not folder or paths.inverse().match(tuple(path.split("/"))):
            return False
        there = self.repository.entry(onto, folder)
        here = self.repository.entry(base_tree, folder)
        if here is None or here.mode != MODE_TREE or (there is not None and there.mode == MODE_TREE):
            return False
        siblings = (tuple(f"{folder}/{name}".split("/")) for name in self.repository.entries(here.oid))
        return not any(self.repository.entry(onto, "/".join(paths.map(sibling))) for sibling in siblings)

    def _misplaced(self, source: str, onto: str, edits: Edits, delta: Delta) -> list[Conflict]:
        """Files that would stand where the target has a directory, or below one of its files."""
        found = []
        for path, entry in edits.items():
            if entry is None:
                continue
            ours = self.repository.entry(onto, path)
            above = path.rpartition("/")[0]
            blocked = ours is not None and ours.mode == MODE_TREE and not self._emptied(ours.oid, path, edits)
            # Above what is there already, there are directories.
            while above and not blocked and ours is None:
                held = self.repository.entry(onto, above)
                blocked = held is not None and held.mode != MODE_TREE and edits.get(above, held) is not None
                above = above.rpartition("/")[0]
            if blocked:
                sides = Sides(delta.base.get(path), ours, delta.theirs.get(path))
                hint = "a file and a directory claim one name on the target"
                found.append(Conflict(path, "directory", source, sides, None, hint))
        return found

    def _emptied(self, tree: str, path: str, edits: Edits) -> bool:
        return all(edits.get(f"{path}/{name}", ...) is None for name in self.repository.entries(tree))


def _kind(sides: Sides) -> str:
    """Why a path with three different sides is no plain merge of contents."""
    base, ours, theirs = sides
    modes = {side.mode for side in sides if side is not None}
    if theirs is None:
        return "deleted"
    if ours is None:
        return "missing"
    if MODE_GITLINK in modes:
        return "submodule"
    if MODE_LINK in modes:
        return "link"
    return "content" if base is not None else "added"


_HINTS = {
    "binary": "both sides changed a binary file: put the right one in place",
    "deleted": "the commit deletes a file that the target has changed: delete it, or keep it",
    "missing": "the target has no such file: map the path to where it went, or decide by hand",
    "added": "both sides added this file with different content",
    "submodule": "both sides moved the submodule",
    "link": "both sides changed the link",
}


def automerged(repository: Repository, merge: Commit) -> str:
    """The tree a merge would have had on its own: what its author did by hand is the difference to its tree.

    A path on which its parents conflict counts as the first parent's, for the hand's work there is all of it.
    """
    ours, theirs = (repository.commit(parent) for parent in merge.parents)
    base_oid = repository.merge_base(*merge.parents)
    base = repository.commit(base_oid).tree if base_oid else EMPTY_TREE
    edits: Edits = {}
    for change in repository.changes(base, theirs.tree):
        sides = Sides(change.old, repository.entry(ours.tree, change.path), change.new)
        if sides.ours == sides.base:
            edits[change.path] = sides.theirs
        elif sides.base and sides.ours and sides.theirs and all(side.is_regular for side in sides if side):
            contents = [repository.read(side.oid) for side in sides if side]
            merged = repository.merge3(contents[0], contents[1], contents[2], Labels())
            if merged.clean and merged.content is not None:
                mode = sides.theirs.mode if sides.ours.mode == sides.base.mode else sides.ours.mode
                edits[change.path] = Entry(mode, repository.write(merged.content))
    return repository.edit_tree(ours.tree, edits)
