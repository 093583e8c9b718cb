"""A sweep of knobs as a probe: one case for each scenario."""

from __future__ import annotations

import time

from parity.gate.places import in_manifest
from parity.gate.result import Case, Found, Place, Probe
from parity.knobs import Sweep, Turned
from parity.verdict import Verdict
from porttool.manifest import Manifest
from porttool.report import counted


def probe(manifest: Manifest, told: Sweep, began: float) -> Probe:
    """Knobs that move the sides apart differ, and dead ones that `parity.shared` names; other dead ones are told."""
    at = in_manifest(manifest, "parity", "knobs")
    if told.verdict is Verdict.INCOMPARABLE:
        cases = [Case("knobs", Verdict.INCOMPARABLE, told.incomparable or "no knob was swept", place=at)]
    else:
        cases = [_case(told, name, at) for name in dict.fromkeys(one.scenario for one in told.turned)]
    dead = f", {len(told.dead)} dead on both sides" if told.dead else ""
    crashed = {one.knob.key for one in told.turned if one.crashed}
    dead += f", {len(crashed)} crashed on both sides" if crashed else ""
    count = len({one.knob.key for one in told.turned})
    return Probe("knobs", "knobs", tuple(cases), f"{count} knobs{dead}", time.monotonic() - began)


def _case(told: Sweep, scenario: str, at: Place) -> Case:
    turned = [one for one in told.turned if one.scenario == scenario]
    found = [_found(one, at, told) for one in turned if not one.same or one.left.state != "alive"]
    bad = [one for one in found if one.counts]
    if not bad:
        count = sum(one.left.state == "alive" for one in turned)
        same = f"{counted(count, 'knob')} move{'s' * (count == 1)} the same"
        return Case(scenario, Verdict.MATCH, same, tuple(found), len(turned), at)
    more = f", and {len(bad) - 1} more" if len(bad) > 1 else ""
    return Case(scenario, Verdict.DIFFER, f"{bad[0].name} {bad[0].cause}{more}", tuple(found), len(turned), at)


def _found(one: Turned, at: Place, told: Sweep) -> Found:
    counts = not one.same or one in told.failing
    rule = "exact" if not one.same else "shared"
    cause = f"is {one.left.state} on both sides" if one.same else "moves something else on each side"
    if one.apart and one.left.keys == one.right.keys:
        cause = f"moves {', '.join(one.apart[:3])} to another value on each side"
    if one.left.state != one.right.state:
        cause = f"is {one.left.state} on the left, {one.right.state} on the right"
    key = f"{one.scenario}/{one.knob.key}"
    return Found(key, f"{one.left}", f"{one.right}", rule, f"{cause} ({one.knob.was} -> {one.knob.now})", at,
                 counts=counts)  # fmt: skip
