"""A sweep of knobs on a terminal and as JSON. The first line is the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from parity.knobs import Sweep, Turned
from parity.knobs_leaves import Knob
from porttool.report import counted


def knobs_screen(told: Sweep, out: Console, names: tuple[str, str]) -> None:
    """Verdict; knobs that differ; knobs that are dead on both sides, with the cause; what was not swept."""
    out.print(f"{told.verdict.value}  {_answer(told)}", soft_wrap=True)
    differing = [one for one in told.turned if not one.same]
    for one in differing:
        _turned(one, out, names)
    for key in told.dead:
        out.print(f"dead  {key}", soft_wrap=True)
        causes: dict[str, list[str]] = {}
        for one in told.turned:
            if one.knob.key == key:
                text = f"{one.knob.was} -> {one.knob.now}: {one.left.cause}"
                causes.setdefault(text, []).append(one.scenario)
        for text, scenarios in causes.items():
            out.print(f"    {', '.join(scenarios)}, {text}", soft_wrap=True)
    for knob in told.unswept:
        out.print(f"not swept  {knob.key}: {knob.why}", soft_wrap=True)
    if differing or told.dead:
        out.print("what to do")
    if differing:
        out.print("  let both sides use the knob alike, or port the commit that brings it", soft_wrap=True)
    if told.dead:
        out.print(
            "  a dead knob: send it where its reader looks, under the name that is read, or drop it", soft_wrap=True
        )


def _answer(told: Sweep) -> str:
    if told.incomparable:
        return told.incomparable
    if not told.turned:
        return "no knob was swept"
    keys = list(dict.fromkeys(one.knob.key for one in told.turned))
    scenarios = ", ".join(dict.fromkeys(one.scenario for one in told.turned))
    differing = list(dict.fromkeys(one.knob.key for one in told.turned if not one.same))
    same = f"{counted(len(keys), 'knob')} move{'s' * (len(keys) == 1)} the same on both sides"
    parts = [f"{len(differing)} of {len(keys)} knobs differ" if differing else same]
    parts += [f"{len(told.dead)} are dead on both sides"] * bool(told.dead)
    crashed = {one.knob.key for one in told.turned if one.crashed}
    parts += [f"{len(crashed)} crash on both sides"] * bool(crashed)
    parts += [f"{len(told.failing)} of those fail by parity.shared"] * bool(told.failing)
    parts += [f"{len(told.unswept)} not swept"] * bool(told.unswept)
    return f"{scenarios}: {'; '.join(parts)}"


def _turned(one: Turned, out: Console, names: tuple[str, str]) -> None:
    out.print(f"differs  {_shown(one.knob)}  [{one.scenario}]", soft_wrap=True)
    for name, side in zip(names, (one.left, one.right), strict=True):
        out.print(f"    {name}: {side}", soft_wrap=True)
    if one.left.state == one.right.state == "alive":
        only = (sorted(set(one.left.keys) - set(one.right.keys)), sorted(set(one.right.keys) - set(one.left.keys)))
        for name, keys in zip(names, only, strict=True):
            if keys:
                out.print(f"    only on {name}: {', '.join(keys[:6])}", soft_wrap=True)
        if one.apart:
            out.print(f"    to another value on each side: {', '.join(one.apart[:6])}", soft_wrap=True)


def _shown(knob: Knob) -> str:
    return f"{knob.key}: {knob.was} -> {knob.now}"


def knobs_json(told: Sweep) -> dict[str, Any]:
    """As `gate --json` tells a probe; every knob stands in the provenance with what it moved."""
    findings = [_finding(one, "exact") for one in told.turned if not one.same]
    findings += [_finding(one, "shared") for one in told.turned if one.dead]
    probe = {"verdict": told.verdict.value, "findings": findings}
    return {"verdict": told.verdict.value, "probes": {"knobs": probe}, "provenance": _provenance(told)}


def _finding(one: Turned, rule: str) -> dict[str, Any]:
    cause = one.left.cause if one.dead else f"{one.knob.key}: {one.knob.was} -> {one.knob.now}"
    return {
        "key": f"{one.scenario}/{one.knob.key}",
        "left": f"{one.left}",
        "right": f"{one.right}",
        "rule": rule,
        "cause": cause,
    }


def _provenance(told: Sweep) -> dict[str, Any]:
    sides: Sequence[Any] = told.bases[0] if told.bases else ()
    found = {name: dict(side.provenance) for name, side in zip(("left", "right"), sides, strict=False)}
    knobs = [
        {
            "key": one.knob.key,
            "scenario": one.scenario,
            "was": one.knob.was,
            "now": one.knob.now,
            "left": {"state": one.left.state, "moves": list(one.left.keys)},
            "right": {"state": one.right.state, "moves": list(one.right.keys)},
        }
        for one in told.turned
    ]
    unswept = [{"key": knob.key, "why": knob.why} for knob in told.unswept]
    return {**found, "knobs": knobs, "unswept": unswept}
