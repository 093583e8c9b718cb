"""One commit of a branch against its sources."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from porttool.errors import LayoutError, ManifestError
from porttool.plan import Plan, Step
from porttool.plan_ported import ported_from
from porttool.port_make import Maker, base_tree
from porttool.port_merge import Conflict, Delta, Ported, Porting, is_protected
from porttool.port_message import joined_message
from porttool.port_patch import apply_patch, read_patch
from porttool.proof_delta import Residual, resolved_residual, tree_residual
from porttool.repo import Commit, Entry, Labels, Repository, line_changes
from porttool.resolutions import Ledger, Resolution, Sides
from porttool.translate import Culprit, Translator


@dataclass(frozen=True)
class Proven:
    """One commit and its label (see DESIGN.md). `step` is what the manifest says of it; None where it says nothing.

    `movement` tells what a commit of pure movement moved, and that it comes back. `declared_loss`: what does not come
    back of a one-way commit is lost to pairs that are declared so, and to nothing else.
    """

    commit: str
    author: str
    subject: str
    sources: tuple[str, ...]
    label: str
    step: Step | None = None
    residual: tuple[Residual, ...] = ()
    one_way: tuple[Culprit, ...] = ()
    resolved: tuple[Resolution, ...] = ()
    touched: tuple[str, ...] = ()
    movement: str = ""
    declared_loss: bool = False

    @property
    def undeclared(self) -> bool:
        """Whether a proof fails for it."""
        return self.label == "undeclared" or (self.label == "one-way" and not self.declared_loss)

    @property
    def adapted(self) -> Mapping[str, str]:
        return self.step.adapted if self.step else {}

    @property
    def upstream(self) -> tuple[str, ...]:
        return self.step.upstream if self.step else ()

    @property
    def why(self) -> str:
        return self.step.why if self.step else self.movement


@dataclass
class _Found:
    """What is known of a commit while it is being judged."""

    residual: list[Residual] = field(default_factory=list)
    resolved: list[Resolution] = field(default_factory=list)
    deltas: list[Delta] = field(default_factory=list)
    explained: set[str] = field(default_factory=set)
    empty: bool = False

    @property
    def touched(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(path for delta in self.deltas for path in delta.paths))


class Prover:
    """Judges the commits of one branch."""

    def __init__(self, plan: Plan, ledger: Ledger) -> None:
        self.plan = plan
        self.repository: Repository = plan.repository
        self.ledger = ledger
        self.maker = Maker(plan, ledger)
        self.translator: Translator = self.maker.translator
        self._forward = Porting(plan.repository, self.translator, ledger, ())
        self._plain = Ledger(plan.repository, ())

    def prove(self, commit: Commit, step: Step | None) -> Proven:
        """Label a commit. Without a step the sources are those its trailers name, and nothing is declared."""
        sources = step.sources if step else tuple(ported_from(commit.message))
        if step is not None and step.patch is not None:
            return self._patched(commit, step)
        gone = [oid for oid in sources if not self.repository.has(oid)]
        if gone or not sources or len(commit.parents) != 1:
            told = f"source {gone[0]} is not here" if gone else "names no source commit"
            kind, text = ("source", told) if gone or not sources else ("parents", f"has {len(commit.parents)} parents")
            return self._row(commit, step, sources, "undeclared", _Found([Residual("", 0, kind, text)]))
        commits = [self.repository.commit(oid) for oid in sources]
        found = _Found()
        found.residual += self._metadata(commit, step, commits)
        found.residual += self._changes(commit, commits, found)
        found.empty = commit.tree == self.repository.commit(commit.parents[0]).tree
        judged = found.residual or found.resolved or found.empty
        one_way, declared = ((), False) if judged else self._one_way(commit, commits, found)
        row = self._row(commit, step, sources, self._label(step, found, one_way), found, one_way)
        return replace(row, declared_loss=declared)

    def _row(
        self,
        commit: Commit,
        step: Step | None,
        sources: tuple[str, ...],
        label: str,
        found: _Found,
        one_way: tuple[Culprit, ...] = (),
    ) -> Proven:
        return Proven(
            commit.oid, commit.author_name, commit.subject, sources, label, step,
            tuple(found.residual), one_way, tuple(found.resolved), found.touched,
        )  # fmt: skip

    def _label(self, step: Step | None, found: _Found, one_way: tuple[Culprit, ...]) -> str:
        decided = {resolution.path for resolution in found.resolved}
        adapted = step.adapted if step else {}
        # A recorded resolution says what stands at its path to the byte, so a reason alone does not do there.
        explained = found.explained | (set(adapted) - decided)
        if any(residual.path not in explained for residual in found.residual):
            return "undeclared"
        if any(residual.kind == "protected" for residual in found.residual):
            return "undeclared"
        if any(residual.path in adapted for residual in found.residual):
            return "adapted"
        if found.resolved:
            return "resolved"
        if one_way:
            return "one-way"
        if found.empty:
            return "empty: already there"
        return "layout-only" if any(delta.renamed for delta in found.deltas) else "verbatim"

    def _metadata(self, commit: Commit, step: Step | None, sources: Sequence[Commit]) -> list[Residual]:
        """Author, encoding and message, byte for byte."""
        first = sources[0]
        found = []
        if commit.author != first.author:
            found.append(Residual("", 0, "author", f"{commit.author!r} and not {first.author!r}"))
        if commit.encoding != first.encoding:
            found.append(Residual("", 0, "encoding", f"{commit.encoding!r} and not {first.encoding!r}"))
        if not commit.message.startswith(joined_message(sources, step.subject if step else "")):
            found.append(Residual("", 0, "message", "the source's message is not the start of this one"))
        elif commit.message != self.maker.message(step or Step(tuple(c.oid for c in sources)), sources):
            found.append(Residual("", 0, "trailers", "the trailers are not those of this layout and manifest"))
        return found

    def _changes(self, commit: Commit, sources: Sequence[Commit], found: _Found) -> list[Residual]:
        """Where the tree is not its parent's with T of the sources on it."""
        repository, parent = self.repository, self.repository.commit(commit.parents[0])
        expected = parent.tree
        residual: list[Residual] = []
        by_hand: set[str] = set()
        for source in sources:
            base = base_tree(repository, source, self.plan.manifest.policy.merges)
            ported = self._forward.port(source, base, expected, Labels())
            found.deltas.append(ported.delta)
            found.resolved += [self.ledger.get(decision.id) for decision in ported.decisions]
            edits = dict(ported.edits)
            for _, path, result in ported.decisions:
                base_entry, theirs = ported.delta.base.get(path), ported.delta.theirs.get(path)
                sides = Sides(base_entry, repository.file(expected, path), theirs)
                residual += resolved_residual(repository, path, sides, result)
                found.explained.add(path)
            for conflict in ported.conflicts:
                path = conflict.path
                edits[path] = repository.file(commit.tree, path)
                residual += resolved_residual(repository, path, conflict.sides, edits[path])
                by_hand.add(path)
            expected = repository.edit_tree(expected, edits)
        rest = list(tree_residual(repository, expected, commit.tree))
        # What was recorded explains a path where the branch holds it to the byte, and a hand did nothing more there.
        found.explained -= by_hand | {found_there.path for found_there in rest}
        residual += rest
        globs = self.plan.manifest.protected
        for change in repository.changes(parent.tree, commit.tree):
            if is_protected(change.path, globs):
                residual.append(Residual(change.path, 0, "protected", "a protected path was changed"))
        return residual

    def _one_way(
        self, commit: Commit, sources: Sequence[Commit], found: _Found
    ) -> tuple[tuple[Culprit, ...], bool]:
        """Where the change does not come back, as inv(delta(result)) has to be delta(source); and whether only pairs
        that are declared one-way are to blame."""
        repository = self.repository
        parent = repository.commit(commit.parents[0])
        back = self.translator.inverse()
        start = base_tree(repository, sources[0], self.plan.manifest.policy.merges)
        wanted = self._on_source(sources, start)
        try:
            returned = Porting(repository, back, self._plain, ()).port(commit, parent.tree, start, Labels())
        except LayoutError as error:
            return (Culprit(found.touched[0], 0, "one-way", error.message),), self._declared(sources, found, set())
        if wanted is not None and self._comes_back(returned, start, wanted):
            return (), False
        culprits = tuple(dict.fromkeys(culprit for delta in found.deltas for culprit in delta.one_way))
        told = culprits or (Culprit(found.touched[0], 0, "one-way", "the change does not come back as it was"),)
        if wanted is None:
            return told, False
        made = repository.edit_tree(start, returned.edits)
        lost = {conflict.path for conflict in returned.conflicts}
        lost.update(change.path for change in repository.changes(made, wanted))
        return told, self._declared(sources, found, lost)

    def _declared(self, sources: Sequence[Commit], found: _Found, lost: Collection[str]) -> bool:
        """Whether these paths of the source are lost to pairs that are declared one-way, and to nothing else."""
        plain, paths = self.translator.without_one_way(), self.translator.layout.paths
        blamed = {culprit.path for delta in found.deltas for culprit in delta.one_way}
        images = blamed.union(map(self.translator.layout.path, blamed))
        if plain is None or not blamed or not images.issuperset(lost):
            return False
        # A file whose path is declared to go one way is declared as a whole.
        asked = {path for path in blamed if not paths.is_one_way(tuple(path.split("/")))}
        told = {name for path in asked for name in plain.group(path)}
        merges = self.plan.manifest.policy.merges
        for source in sources:
            for tree in (base_tree(self.repository, source, merges), source.tree):
                sides = {path: entry for path in told if (entry := self.repository.file(tree, path))}
                if not asked.isdisjoint(culprit.path for culprit in plain.entries(sides).one_way):
                    return False
        return True

    def _on_source(self, sources: Sequence[Commit], start: str) -> str | None:
        """The source tree with all sources on it: that of the last one, where they stand one on the other."""
        repository, tree = self.repository, start
        for source in sources:
            base = base_tree(repository, source, self.plan.manifest.policy.merges)
            if base == tree:
                tree = source.tree
                continue
            sides = ((change, repository.file(tree, change.path)) for change in repository.changes(base, source.tree))
            edits = {}
            for change, ours in sides:
                merged = self._forward.merge(source.oid, change.path, Sides(change.old, ours, change.new), Labels())
                if isinstance(merged, Conflict):
                    return None
                edits[change.path] = merged
            tree = repository.edit_tree(tree, edits)
        return tree

    def _comes_back(self, returned: Ported, start: str, wanted: str) -> bool:
        """Whether the change, carried back, makes the tree that its sources made; or else changes the same lines."""
        made = None if returned.conflicts else self.repository.edit_tree(start, returned.edits)
        return made == wanted or self._same_lines(returned.delta, start, wanted)

    def _same_lines(self, returned: Delta, start: str, wanted: str) -> bool:
        """Whether the change that comes back takes out and puts in the same lines of the same files."""
        repository = self.repository
        want = {change.path: (change.old, change.new) for change in repository.changes(start, wanted)}
        have = {path: (returned.base.get(path), returned.theirs.get(path)) for path in returned.paths}
        if want.keys() != have.keys():
            return False
        for path, sides in want.items():
            told = []
            for old, new in (sides, have[path]):
                modes = (old.mode if old else 0, new.mode if new else 0)
                texts = [_text(repository, side) for side in (old, new)]
                told.append((modes, [(change.sign, change.text) for change in line_changes(*texts)]))
            if told[0] != told[1]:
                return False
        return True

    def _patched(self, commit: Commit, step: Step) -> Proven:
        """A commit from a patch file: it is `new` where it is exactly what the patch makes of its parent."""
        assert step.patch is not None
        found = _Found()
        patch = read_patch(step.patch, step.where)
        parent = self.repository.commit(commit.parents[0])
        try:
            edits = apply_patch(self.repository, parent.tree, patch) or {}
        except ManifestError as error:
            found.residual.append(Residual("", 0, "source", error.message))
            return self._row(commit, step, (), "undeclared", found)
        found.residual += tree_residual(self.repository, self.repository.edit_tree(parent.tree, edits), commit.tree)
        if commit.author != patch.author:
            found.residual.append(Residual("", 0, "author", f"{commit.author!r} and not {patch.author!r}"))
        if commit.message != self.maker.patch_message(patch):
            found.residual.append(Residual("", 0, "message", "not the message of the patch file"))
        found.deltas.append(Delta({}, {path: entry for path, entry in edits.items() if entry}))
        empty = "empty: already there" if not edits else "new"
        return self._row(commit, step, (), "undeclared" if found.residual else empty, found)


def _text(repository: Repository, entry: Entry | None) -> bytes:
    """What is compared of an entry; of a link or a submodule where it leads."""
    if entry is None:
        return b""
    return repository.read(entry.oid) if entry.is_regular else entry.oid.encode()
