"""Gates as small as a test needs them."""

from __future__ import annotations

from parity.gate.result import Case, Found, Gate, Open, Place, Point, Probe
from parity.verdict import Verdict

MATCH, DIFFER, INCOMPARABLE = Verdict.MATCH, Verdict.DIFFER, Verdict.INCOMPARABLE
AT = Place("m.yaml", 7, "project")
LINE = Place("app/remote/client.py", 12)
SIDES = ("recipe", "port/x")
NASTY = "\x00\x1b[31mred\u202e <b>&\"']]>\ufffe\udc80|`@someone #12"


def found(key="plain/meta.lr", left="1 (int)", right="2 (int)", rule="exact", cause="read by srv.py", **rest):
    """A finding on the target's own line."""
    return Found(key, left, right, rule, cause, rest.pop("place", LINE), **rest)


def case(name="plain", verdict=DIFFER, *told, reason="", compared=5):
    """A case; one that differs has a finding unless others are given."""
    told = told or ((found(f"{name}/meta.lr"),) if verdict is DIFFER else ())
    words = {MATCH: "5 keys are equal", DIFFER: "meta.lr has another value", INCOMPARABLE: "the target side crashed"}
    return Case(name, verdict, reason or words[verdict], tuple(told), compared, AT)


def probe(name="wire", *cases, tier="static", told="2 scenarios, 10 keys", seconds=0.5):
    """A probe; it matches where no cases are given."""
    return Probe(name, tier, cases or (case(verdict=MATCH), case("bold", MATCH)), told, seconds)


PROOF = probe(
    "proof", case("1234abcd Fix the run", MATCH, reason="layout-only"), tier="proof", told="1 commit (1 layout-only)"
)


def gate(*probes, **rest):
    """A gate of a target that is the project itself."""
    told = {
        "roots": {"target": ""},
        "seconds": 1.5,
        "provenance": {"left": {"ref": "recipe"}, "tier": "static"},
        **rest,
    }
    return Gate(SIDES, "manifests/m.yaml", probes or (PROOF, probe()), **told)


def differing(**rest):
    """The proof holds, two scenarios differ in one key, and one key is shared."""
    shared = found("plain/meta.dead", "old", "old", "shared", "nobody reads it", counts=False)
    both = case("plain", DIFFER, found(), shared), case("bold", DIFFER)
    return gate(PROOF, probe("wire", *both), probe("contract"), **rest)


def incomparable(**rest):
    """One side crashed."""
    return gate(PROOF, probe("wire", case(verdict=MATCH), case("bold", INCOMPARABLE)), **rest)


LR, ORDER, A = "wire.meta.lr", "wire.order", "config.a"
BASE = Point("a" * 40, "the base, main", Open(wire=frozenset({LR, ORDER})))
FIRST = Point("b" * 40, "Fix the run", Open(wire=frozenset({LR})), closes=(ORDER,), narrows=(LR,))
SECOND = Point("c" * 40, "Name the worker", Open(wire=frozenset({LR}), config=frozenset({A})), opens=(A,))
LEDGER = (BASE, FIRST, SECOND)
LOST = Point("d" * 40, "Train from labels", incomparable="the target side crashed: ModuleNotFoundError: 'pipe.train'")
