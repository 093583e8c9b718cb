"""One step of a plan -> one commit object."""

from __future__ import annotations

from collections.abc import Sequence

from porttool.errors import LayoutError, ManifestError, UsageError
from porttool.plan import Plan, Step
from porttool.port_merge import Ported, Porting, automerged, is_protected
from porttool.port_message import PORTER, committer_line, joined_message, public_remote, trailers_of, with_trailers
from porttool.port_needs import needed
from porttool.port_outcome import Applied, Conflicted, Empty
from porttool.port_patch import Patch, apply_patch, read_patch
from porttool.port_recipe import recipe
from porttool.repo import EMPTY_TREE, Commit, Repository
from porttool.resolutions import Ledger, Sides


class Maker:
    """Makes the commits of one plan. The same plan on the same refs gives the same ids, on any machine."""

    def __init__(self, plan: Plan, ledger: Ledger) -> None:
        self.plan = plan
        self.ledger = ledger
        self.repository = plan.repository
        self.translator = plan.translator
        self.porting = Porting(plan.repository, self.translator, ledger, plan.manifest.protected)
        self._remote = public_remote(plan.manifest.source.repo)
        self._me = (plan.repository.identity() or PORTER) if plan.manifest.policy.committer == "now" else PORTER

    def make(self, step: Step, head: str) -> Applied | Empty | Conflicted:
        """Make the commit of a step on top of `head`."""
        try:
            return self._ported(step, head) if step.sources else self._patched(step, head)
        except LayoutError as error:
            # Two names of one commit clash: the pair alone does not tell which commit of the list to look at.
            where = ", ".join(place for place in (error.where, f"commit {step.names[0][:12]}", step.where) if place)
            raise LayoutError(error.message, where, error.hint) from error

    def _ported(self, step: Step, head: str) -> Applied | Empty | Conflicted:
        repository = self.repository
        sources = [repository.commit(oid) for oid in step.sources]
        tree = onto = repository.commit(head).tree
        parts: list[Ported] = []
        for source in sources:
            base = base_tree(repository, source, self.plan.manifest.policy.merges)
            ported = self.porting.port(source, base, tree, self.porting.labels(source, head))
            if ported.conflicts:
                return self._conflicted(step, source, head, tree, ported)
            parts.append(ported)
            tree = repository.edit_tree(tree, ported.edits)
        touched = tuple(dict.fromkeys(path for part in parts for path in part.touched))
        if tree == onto:
            reason = "already there" if touched else _why_empty(sources)
            return self._empty(step, reason, self._source_commit(step, sources, head, tree))
        return Applied(
            step,
            repository.write_commit(self._source_commit(step, sources, head, tree)),
            touched,
            tuple(self.ledger.get(decision.id) for part in parts for decision in part.decisions),
            any(part.delta.renamed for part in parts),
            tuple(dict.fromkeys(note for part in parts for note in part.delta.notes)),
            tuple(part.delta for part in parts),
        )

    def _conflicted(self, step: Step, source: Commit, head: str, tree: str, ported: Ported) -> Conflicted:
        repository = self.repository
        shown = {found.path: found.shown for found in ported.conflicts if found.shown is not None}
        marked = repository.edit_tree(tree, {**ported.edits, **shown})
        sides = {path: Sides(None, repository.entry(tree, path), None) for path in step.adapted}
        base, theirs = ported.delta.base, ported.delta.theirs
        for path in ported.delta.paths:
            sides[path] = Sides(base.get(path), repository.file(tree, path), theirs.get(path))
        sides.update((found.path, found.sides) for found in ported.conflicts)
        return Conflicted(
            step,
            source.oid,
            source.subject,
            head,
            marked,
            ported.conflicts,
            sides,
            needed(self.plan, self.translator, source, ported.conflicts),
            recipe(repository, tree, ported, self.porting.labels(source, head)),
        )

    def _empty(self, step: Step, reason: str, commit: Commit) -> Empty:
        policy = self.plan.manifest.policy.empty
        if policy == "refuse":
            hint = "set `policy.empty` to skip or keep, or leave the commit out"
            raise UsageError(f"commit {step.names[0][:12]} is empty: {reason}", step.where, hint)
        return Empty(step, reason, self.repository.write_commit(commit) if policy == "keep" else None)

    def _source_commit(self, step: Step, sources: Sequence[Commit], head: str, tree: str) -> Commit:
        first, policy = sources[0], self.plan.manifest.policy
        return Commit(
            tree=tree,
            parents=(head,),
            author=first.author,
            committer=committer_line(policy.committer, first.author, first.committer, me=self._me),
            message=self.message(step, sources),
            encoding=first.encoding,
        )

    def message(self, step: Step, sources: Sequence[Commit]) -> bytes:
        """The whole message of the commit of a step."""
        trailers = trailers_of(
            sources,
            remote=self._remote,
            digest=self.plan.layout.digest,
            adapted=step.adapted.items(),
            upstream=step.upstream,
            signatures=self.plan.manifest.policy.signatures,
        )
        return with_trailers(joined_message(sources, step.subject), trailers)

    def patch_message(self, patch: Patch) -> bytes:
        """The whole message of a commit from a patch file."""
        name = patch.name.encode("utf-8", "surrogateescape")
        return with_trailers(patch.message, [(b"Patch", name), (b"Layout", self.plan.layout.digest.encode("ascii"))])

    def _patched(self, step: Step, head: str) -> Applied | Empty:
        assert step.patch is not None
        repository = self.repository
        patch = read_patch(step.patch, step.where)
        tree = repository.commit(head).tree
        edits = apply_patch(repository, tree, patch)
        for path in edits or ():
            if glob := is_protected(path, self.plan.manifest.protected):
                told = f"the patch changes {path}, which `protected` holds"
                raise ManifestError(told, str(step.patch), f"take it out of the patch, or {glob!r} out of `protected`")
        commit = Commit(
            tree=repository.edit_tree(tree, edits or {}),
            parents=(head,),
            author=patch.author,
            committer=committer_line(self.plan.manifest.policy.committer, patch.author, me=self._me),
            message=self.patch_message(patch),
        )
        if not edits:
            return self._empty(step, "already there", commit)
        return Applied(step, repository.write_commit(commit), tuple(sorted(edits)))


def base_tree(repository: Repository, source: Commit, merges: str) -> str:
    """The tree a source commit is a change to: its first parent's, or what its merge would have been on its own."""
    if len(source.parents) > 1 and merges == "evil":
        return automerged(repository, source)
    return repository.commit(source.parents[0]).tree if source.parents else EMPTY_TREE


def _why_empty(sources: Sequence[Commit]) -> str:
    merged = all(len(source.parents) > 1 for source in sources)
    return "a merge without changes of its own" if merged else "empty in the source"
