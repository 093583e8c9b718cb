"""The manifest's `parity.rules` and `parity.shared`: how keys are compared, and which shared defects fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast, get_args

from parity.compare import Rule, RuleKind
from porttool.errors import ManifestError
from porttool.nearest import nearest

_KNOWN = (*(kind for kind in get_args(RuleKind) if kind != "exact"), "evidence")


def rules(section: Mapping[str, Any], where: str = "") -> tuple[Rule, ...]:
    """Rules in the order written; the first glob that fits a `probe.key` counts.

    `glob: {expected: reason}`, `glob: {volatile: reason}`, or `glob: {within: tolerance, evidence: where from}`.
    """
    told = section.get("rules", {})
    if not isinstance(told, Mapping):
        raise ManifestError("parity.rules: wants a mapping from key glob to rule", where)
    return tuple(_rule(str(glob), body, where) for glob, body in told.items())


def failing(section: Mapping[str, Any], where: str = "") -> tuple[str, ...]:
    """Globs that fail even where both sides share the defect: `consumers.<key>`, `laws.<law>`, `knobs.<key>`."""
    told = section.get("shared", [])
    if not isinstance(told, list) or not all(isinstance(glob, str) for glob in told):
        raise ManifestError("parity.shared: wants a list of key globs", where)
    return tuple(told)


def _rule(glob: str, body: Any, where: str) -> Rule:
    at = f"parity.rules.{glob}"
    if body == "exact":
        return Rule(glob, "exact")
    if not isinstance(body, Mapping):
        raise ManifestError(f"{at}: wants `exact` or a mapping, not {body!r}", where, f"known: {', '.join(_KNOWN)}")
    unknown = [name for name in body if name not in _KNOWN]
    kinds = [name for name in body if name in _KNOWN and name != "evidence"]
    if unknown or len(kinds) != 1:
        wrong = f"unknown key {unknown[0]!r}" if unknown else "wants one of expected, volatile, within"
        hint = nearest(str(unknown[0]), _KNOWN) if unknown else f"known: {', '.join(_KNOWN)}"
        raise ManifestError(f"{at}: {wrong}", where, hint)
    kind, value = cast(RuleKind, kinds[0]), body[kinds[0]]
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if number != (kind == "within"):
        raise ManifestError(
            f"{at}: {kind} wants {'a number' if kind == 'within' else 'a reason'}, not {value!r}", where
        )
    told = {"tolerance": float(value)} if kind == "within" else {"reason": str(value)}
    try:
        return Rule(glob, kind, evidence=str(body.get("evidence", "")), **told)
    except ValueError as error:
        raise ManifestError(f"{at}: {error}", where) from error
