"""The proof of a branch as a probe: one case for each ported commit."""

from __future__ import annotations

import time
from collections.abc import Iterator

from parity.gate.places import in_manifest, of_where
from parity.gate.result import Case, Found, Place, Probe
from parity.verdict import Verdict
from porttool.audit import audit_of
from porttool.manifest import Manifest
from porttool.plan import make_plan
from porttool.port import apply
from porttool.proof import Proof, Proven, prove, verify
from porttool.report import Audit, Row, counted


def proven(manifest: Manifest, right: str = "") -> Proof:
    """The proof of the port branch; with `right`, of that ref of the target."""
    named = manifest.target.branch
    if named and not right:
        return verify(manifest)
    # Without a branch the target itself is what a port would start from.
    plan = make_plan(manifest, branch=named or "unnamed")
    head = plan.repository.resolve(right or manifest.target.ref)
    if head == plan.tip and apply(manifest, dry_run=True, plan=plan).nothing:
        return prove(plan, plan.tip)
    return prove(plan, head)


def probe(manifest: Manifest, proof: Proof, began: float) -> Probe:
    """`layout-only` and `declared` match; what nobody declared, a touched protected path or an unused rule differs."""
    audit = audit_of(proof)
    cases = [_case(manifest, row, proven) for row, proven in zip(audit.rows, proof.commits, strict=True)]
    cases += _protected(manifest, audit)
    cases += [
        Case("manifest", Verdict.DIFFER, text, (_warning(manifest, text),), place=in_manifest(manifest))
        for text in audit.warnings
    ]
    if not cases:
        cases = [Case("manifest", Verdict.MATCH, "nothing was to port", place=in_manifest(manifest))]
    return Probe("proof", "proof", tuple(cases), _told(audit), time.monotonic() - began)


def _told(audit: Audit) -> str:
    if not audit.rows:
        return "nothing was to port"
    labels = [row.label for row in audit.rows]
    kinds = ", ".join(f"{labels.count(label)} {label}" for label in dict.fromkeys(labels))
    return f"{counted(len(audit.rows), 'commit')} ({kinds})"


def _case(manifest: Manifest, row: Row, proven: Proven) -> Case:
    name = f"{row.commit[:8] or 'missing'} {row.subject}"
    at = of_where(manifest, proven.step.where) if proven.step else in_manifest(manifest, "commits")
    declared = row.label in ("adapted", "resolved", "new")
    found = list(_residual(row, at, declared))
    bad = proven.undeclared
    if row.label == "one-way":
        found += [
            Found(f"{row.commit[:8]}/{place}", place.text or None, None, "one-way" if bad else "expected",
                  "this does not come back when the port is undone", Place(place.path, place.line or 1), counts=bad)
            for place in row.one_way
        ]  # fmt: skip
    if not bad:
        return Case(name, Verdict.MATCH, _reason(row), tuple(found), 1, at)
    return Case(name, Verdict.DIFFER, _wrong(row), tuple(found), 1, at)


def _residual(row: Row, at: Place, declared: bool) -> Iterator[Found]:
    for place in row.residual:
        reason = row.adapted.get(place.path, row.why if declared else "")
        left, right = (place.text, None) if place.kind.startswith("missing") else (None, place.text)
        cause = reason or _CAUSES.get(place.kind, f"the {place.kind} is not that of the source commit")
        yield Found(
            f"{row.commit[:8] or 'missing'}/{place}",
            left,
            right,
            "expected" if declared else "residual",
            cause,
            Place(place.path, place.line or 1) if place.path else at,
            counts=not declared,
        )


_CAUSES = {
    "extra": "a line that the source commit does not have",
    "missing": "a line of the source commit is not there",
    "extra file": "a file that the source commit does not have",
    "missing file": "a file of the source commit is not there",
    "protected": "a protected path was changed",
    "commit": "it was dropped, or never ported: `porttool apply` makes it",
    "source": "it was not made by `porttool apply`, or from commits that are not here",
}


def _reason(row: Row) -> str:
    return f"{row.label}: {row.adaptation}" if row.adaptation else row.label


def _wrong(row: Row) -> str:
    if row.label == "one-way":
        return "one-way: it does not come back, and no pair that is declared one-way is to blame"
    first = row.residual[0] if row.residual else None
    if first is None:
        return "undeclared: it is not what its source commit gives"
    rest = len(row.residual) - 1
    more = f", and {rest} more place{'s' * (rest > 1)}" if rest else ""
    if not first.path:
        return f"undeclared: {first.text or first.kind}{more}"
    told = f" {first.text.strip()!r}" if first.text else ""
    return f"undeclared: {first}, {first.kind}{told}{more}"


def _protected(manifest: Manifest, audit: Audit) -> Iterator[Case]:
    for path, untouched in audit.protected.items():
        if not untouched:
            told = Found(f"protected/{path}", None, None, "protected", "a protected path was touched", Place(path, 1))
            yield Case(f"protected {path}", Verdict.DIFFER, f"{path} was touched", (told,), 1,
                       in_manifest(manifest, "protected"))  # fmt: skip


def _warning(manifest: Manifest, text: str) -> Found:
    return Found(f"manifest/{text}", None, None, "unused", text, in_manifest(manifest))
