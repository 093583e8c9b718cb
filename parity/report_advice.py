"""What to do about a pair that does not match, from the kinds of its findings."""

from __future__ import annotations

from collections.abc import Iterator

from parity.compare import Finding
from parity.probes.pairs import Pair, verbs_of
from parity.verdict import Verdict

_ENVIRONMENT = "the environments differ"


def advice(one: Pair) -> Iterator[str]:
    """Steps, the most telling first."""
    if one.verdict is Verdict.INCOMPARABLE:
        yield from _incomparable(one)
        return
    findings = one.comparison.findings
    unknown = [finding for finding in findings if finding.key.startswith("override.")]
    if unknown:
        names = ", ".join(sorted(finding.key.partition(".")[2] for finding in unknown))
        yield f"add to the config of the side that lacks it: {names}; or port the commit that brings it"
    for kind, told in _KINDS:
        yield from (told(finding) for finding in findings if kind(finding))
    if one.of("contract") is Verdict.DIFFER:
        yield "make the call fit the vendor's signature on the side whose line above says it does not"
    if any(finding.kind in ("missing", "extra") for finding in findings):
        yield "`porttool status` says whether the commit that brings a key is ported"
    else:
        yield "`porttool verify` says which ported commit changed more than the layout"
    yield "a difference that is meant: declare it under parity.rules with its reason"


def _incomparable(one: Pair) -> Iterator[str]:
    crashed = [side.side for side in (one.left, one.right) if side.crashed]
    if crashed:
        yield f"make the {' and the '.join(crashed)} side run: its last lines are above"
    elif _ENVIRONMENT in one.judged.reason:
        yield "run both sides in one environment, with the packages of constraints.txt"
    elif not one.probes and any(side.probes for side in (one.left, one.right)):
        verbs = " and ".join(f"`porttool {verb}`" for verb in verbs_of(one.left, one.right))
        yield f"let the driver return one (docs/probe.md), or run {verbs}, which compares what it gives"
    else:
        yield "look at the scenario: it shows nothing that could be compared"


def _elsewhere(finding: Finding) -> bool:
    return finding.probe == "consumers" and "where it is not sent" in finding.cause


def _near(finding: Finding) -> bool:
    return finding.probe == "consumers" and finding.key.endswith(".unread") and "near name" in finding.cause


def _move(finding: Finding) -> str:
    key = finding.key.removesuffix(".unread")
    where = finding.cause.partition("the reader looks in ")[2].partition(" at ")[0]
    return f"send {key.rpartition('.')[2]} in {where}: {key.rpartition('.')[0]} is not where its reader looks"


def _rename(finding: Finding) -> str:
    near = finding.cause.partition("near name ")[2].partition(",")[0]
    return f"{finding.key.removesuffix('.unread')} is not what the server reads: send {near}"


_KINDS = ((_elsewhere, _move), (_near, _rename))
