"""Proof -> Audit: what the branch holds, told to a reviewer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from porttool import style
from porttool.leftovers import Mention
from porttool.plan_census import census
from porttool.proof import Proof, Proven
from porttool.repo import Repository, is_binary
from porttool.report import Audit, Counted, Leftover, Place, Resolved, Row, Style
from porttool.resolutions_delta import delta

_FIRST = {"unresolved": 0, "kept": 1, "rewritten": 2}


def audit_of(proof: Proof) -> Audit:
    """The table of the pull request and all that belongs to it."""
    plan, manifest = proof.plan, proof.plan.manifest
    rows = tuple(_row(plan.repository, number, proven) for number, proven in enumerate(proof.commits, 1))
    # A line that only moved was not written here.
    written = [row.commit for row in rows if row.commit and not row.moves]
    return Audit(
        verdict=proof.verdict,
        source=manifest.source.ref,
        target=manifest.target.ref,
        branch=plan.ref.removeprefix("refs/heads/"),
        layout=plan.layout.digest,
        rows=rows,
        not_ported=proof.not_ported,
        census=tuple(Counted(told.kind, told.count, told.policy, told.places) for told in census(plan)),
        leftovers=tuple(sorted(map(_leftover, proof.leftovers), key=lambda left: _FIRST[left.state])),
        style=tuple(style_of(plan.repository, written, manifest.policy.width)),
        protected=proof.protected,
        warnings=proof.warnings,
        rederived=proof.rederived,
    )


def _row(repository: Repository, number: int, proven: Proven) -> Row:
    return Row(
        number=number,
        commit=proven.commit,
        author=proven.author,
        subject=proven.subject,
        sources=proven.sources,
        label=proven.label,
        upstream=proven.upstream,
        adapted=proven.adapted,
        resolved=tuple(
            Resolved(found.path, found.id, found.author, found.reason, delta(repository, found))
            for found in proven.resolved
        ),
        residual=tuple(Place(found.path, found.line, found.kind, found.text) for found in proven.residual),
        one_way=tuple(Place(found.path, found.line, found.kind, found.text) for found in proven.one_way),
        why=proven.why,
        moves=bool(proven.movement),
    )


def _leftover(mention: Mention) -> Leftover:
    return Leftover(Place(mention.path, mention.line, mention.name, mention.text), mention.state, mention.reason)


def style_of(repository: Repository, commits: Iterable[str], width: int) -> Iterator[Style]:
    """Findings on the lines that commits add."""
    for oid in commits:
        for path, found in _findings(repository, oid, width):
            yield Style(oid, Place(path, found.line, found.kind, found.text))


def _findings(repository: Repository, oid: str, width: int) -> Iterator[tuple[str, style.Finding]]:
    for change in repository.changes_of(repository.commit(oid)):
        if change.new is None or not change.new.is_regular:
            continue
        old = repository.read(change.old.oid) if change.old is not None and change.old.is_regular else b""
        new = repository.read(change.new.oid)
        if is_binary(new):
            continue
        for found in style.findings(change.path, style.added_lines(old, new), width):
            yield change.path, found
