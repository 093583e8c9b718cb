"""One sentence on why a finding is there, from what is known about readers, types and conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import SequenceMatcher

from parity.compare import Finding
from parity.consumers import Consumers
from parity.probes.scale import scaled
from parity.record import Key

_LOST = "a null that stands for an object nobody could serialise; the other side sends a real null or a value"


def caused(finding: Finding, readers: tuple[Consumers, Consumers] | None, laws: Mapping[Key, str]) -> Finding:
    """The finding with its cause, unless it has one; `laws` are the causes of broken ones by `probe.key`."""
    if finding.cause:
        return finding
    law = laws.get(f"{finding.probe}.{finding.key}", "")
    return replace(finding, cause=law or _cause(finding, readers))


def _cause(finding: Finding, readers: tuple[Consumers, Consumers] | None) -> str:
    if finding.probe == "consumers":
        return _mismatch(finding)
    if finding.key.startswith("override."):
        side = "left" if finding.left is not None else "right"
        return f"the {side} side's config has no such key, so the scenario's override is left out there"
    if finding.key == "order" and finding.left is not None and finding.right is not None:
        return _calls(str(finding.left.value).split(" > "), str(finding.right.value).split(" > "))
    parts = [_difference(finding)]
    if readers is not None and finding.probe in ("wire", "config"):
        parts += [scaled(finding, readers[0].capture), *_reading(finding, readers)]
    return "; ".join(part for part in parts if part)


def _calls(left: list[str], right: list[str]) -> str:
    """Where two sequences of calls part."""
    parts = []
    for kind, at, to, there, until in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        ours, theirs = " > ".join(left[at:to]), " > ".join(right[there:until])
        after = f" after {left[at - 1]}" if at else ""
        if kind == "delete":
            parts.append(f"the right side does not call {ours}{after}")
        elif kind == "insert":
            parts.append(f"the right side also calls {theirs}{after}")
        elif kind == "replace":
            parts.append(f"the left side calls {ours}, the right side {theirs}{after}")
    return "; ".join(parts)


def _mismatch(finding: Finding) -> str:
    if finding.left is None or finding.right is None:
        side, held = ("right", finding.right) if finding.left is None else ("left", finding.left)
        return f"only on the {side} side: {held.value if held else ''}"
    left, right = parted(f"{finding.left.value}", f"{finding.right.value}")
    return f"left: {left}; right: {right}"


def parted(left: str, right: str) -> tuple[str, str]:
    """Two causes without the parts that they share."""
    ours, theirs = left.split("; "), right.split("; ")
    return "; ".join(part for part in ours if part not in theirs), "; ".join(
        part for part in theirs if part not in ours
    )


def _difference(finding: Finding) -> str:
    left, right = finding.left, finding.right
    if left is None or right is None:
        side = "left" if left is None else "right"
        return f"the {side} side does not have it"
    if finding.kind == "lost":
        return _LOST
    if finding.kind == "type":
        return f"{left.type} on the left, {right.type} on the right"
    if left.type == "tensor" and str(left.value).split(" ")[0] == str(right.value).split(" ")[0]:
        return "same dtype and shape, other numbers"
    return ""


def _reading(finding: Finding, readers: tuple[Consumers, Consumers]) -> list[str]:
    has = readers[1] if finding.left is None else readers[0]
    lacks = readers[0] if finding.left is None else readers[1]
    dead = has.dead(finding.probe, finding.key)
    if dead:
        return [dead]
    who = has.reader(finding.probe, finding.key)
    silent = next(
        (row.cause for row in lacks.rows if row.kind == "unsent" and _same(row.dict, row.key, finding.key)), ""
    )
    if silent and (finding.left is None or finding.right is None):
        return [silent]
    return [f"read by {who}"] if who else []


def _same(label: str, name: str, key: str) -> bool:
    dotted = f".{key}."
    return f".{label}.{name}." in dotted.replace("log_prob_ds_config", "log_prob_config")
