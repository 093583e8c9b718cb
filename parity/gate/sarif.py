"""A gate as SARIF 2.1.0: what fails, at the line of the target that it comes from, else at the manifest's."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from parity.gate.result import Case, Found, Gate, Place, Probe, rows
from parity.verdict import Verdict
from porttool import __version__
from porttool.errors import visible

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
# The repository that holds the manifest; code hosts know it by this name.
PROJECT, TARGET = "%SRCROOT%", "TARGETROOT"
_TELLS = {
    "guard": "What the gate measures by is changed only with a reason.",
    "proof": "A ported commit changes nothing but the layout, and what else it changes is declared.",
    "wire": "Both sides send the same requests.",
    "config": "Both sides build the same configs.",
    "contract": "Every call fits the vendor's client.",
    "oracle": "The server's log-probs are those of the model.",
    "consumers": "What is sent is read where it is sent.",
    "stored": "A side is as it is stored beside the manifest.",
    "knobs": "A knob moves the same on both sides.",
    "convergence": "Both sides train alike, step by step.",
}


def sarif(gate: Gate) -> str:
    """The document; findings that are the same in several scenarios are one result."""
    results = [result for probe in gate.probes for result in _results(probe, gate)]
    if gate.fault:
        results.append(_result(gate, "gate/fault", "gate", gate.fault, Place(gate.manifest, 1, "project")))
    rules = list(dict.fromkeys(result["ruleId"] for result in results))
    for result in results:
        result["ruleIndex"] = rules.index(result["ruleId"])
    driver = {
        "name": "porttool",
        "semanticVersion": __version__,
        "rules": [_rule(name) for name in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": _roots(gate),
        "invocations": [_invocation(gate)],
        "results": results,
        "properties": {"verdict": gate.verdict.value, "left": gate.sides[0], "right": gate.sides[1]},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _invocation(gate: Gate) -> dict[str, Any]:
    told = [("warning", text) for text in gate.warnings]
    told += [("note", f"{name} was not checked: {why}") for name, why in gate.unchecked.items()]
    told += [("error", gate.fault)] * bool(gate.fault)
    notes = [{"level": level, "message": {"text": _text(text)}} for level, text in told]
    ran = not gate.fault and gate.verdict is not Verdict.INCOMPARABLE
    return {"executionSuccessful": ran, "toolExecutionNotifications": notes}


def _roots(gate: Gate) -> dict[str, Any]:
    found: dict[str, Any] = {PROJECT: {"description": {"text": "the repository that holds the manifest"}}}
    folder = gate.roots.get("target")
    if folder != "":
        told: dict[str, Any] = {"description": {"text": "the repository of the target"}}
        found[TARGET] = told if folder is None else {"uri": f"{quote(folder)}/", "uriBaseId": PROJECT, **told}
    return found


def _rule(name: str) -> dict[str, Any]:
    probe = name.partition("/")[0]
    told = _TELLS.get(probe, f"Both sides are the same to the probe {probe}.")
    return {
        "id": name,
        "name": "".join(word.capitalize() for word in name.replace("-", "/").split("/")),
        "shortDescription": {"text": told},
        "fullDescription": {"text": told},
        "defaultConfiguration": {"level": "error"},
    }


def _results(probe: Probe, gate: Gate) -> Iterable[dict[str, Any]]:
    for row in rows(probe):
        seen = _seen(probe, row.cases)
        yield _result(gate, f"{probe.name}/{row.found.rule}", row.found.name, _words(row.found, seen, gate),
                      row.found.place)  # fmt: skip
    silent = [case for case in probe.cases if case.verdict is Verdict.INCOMPARABLE or _bare(case)]
    for case in silent:
        kind = "incomparable" if case.verdict is Verdict.INCOMPARABLE else "case"
        told = f"{case.verdict.value}: {case.name}: {case.reason}"
        yield _result(gate, f"{probe.name}/{kind}", case.name, told, case.place)


def _bare(case: Case) -> bool:
    return case.verdict is Verdict.DIFFER and not case.failing


def _seen(probe: Probe, cases: tuple[str, ...]) -> str:
    if probe.tier in ("guard", "proof"):
        return ""
    more = f" and {len(cases) - 3} more" if len(cases) > 3 else ""
    return f" in {', '.join(cases[:3])}{more}"


def _words(one: Found, seen: str, gate: Gate) -> str:
    sides = ""
    if (one.left, one.right) != (None, None):
        left, right = ("nothing" if held is None else held for held in (one.left, one.right))
        sides = f": {gate.sides[0]} has {left}, {gate.sides[1]} has {right}" if one.rule != "guard" else ""
    origin = f" The source's value comes from {one.origin}." if one.origin and one.right is None else ""
    return f"{one.name}{seen}{sides}. {one.cause or 'cause: not known'}.{origin}"


def _result(gate: Gate, rule: str, name: str, told: str, place: Place | None) -> dict[str, Any]:
    at = place or Place(gate.manifest, 1, "project")
    key = f"{rule}\0{name}\0{at.path}".encode("utf-8", "surrogatepass")
    line = {"artifactLocation": _artifact(gate, at), "region": {"startLine": at.line}}
    return {
        "ruleId": rule,
        "level": "error",
        "message": {"text": _text(told)},
        "locations": [{"physicalLocation": line}],
        # Neither the line nor the values: an alert stays the same one while code around it moves.
        "partialFingerprints": {"porttoolKey/v1": hashlib.sha256(key).hexdigest()},
    }


def _artifact(gate: Gate, at: Place) -> dict[str, str]:
    base = TARGET if at.root == "target" and gate.roots.get("target") != "" else PROJECT
    return {"uri": quote(at.path.encode("utf-8", "surrogateescape")), "uriBaseId": base}


def _text(text: str) -> str:
    return visible(text, lines=True)
