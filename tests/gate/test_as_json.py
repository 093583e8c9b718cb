"""`gate --json` has exactly the shape that scripts rely on."""

from __future__ import annotations

import json

from parity.gate.as_json import gate_json
from tests.gate.support import DIFFER, LEDGER, NASTY, case, differing, found, gate, incomparable, probe

FINDING = {"key": str, "left": (str, type(None)), "right": (str, type(None)), "rule": str, "cause": str}


def problems(told) -> list[str]:
    """Where a document is not of the contract."""
    bad = [] if set(told) == {"verdict", "probes", "provenance"} else ["keys"]
    bad += [] if told["verdict"] in ("MATCH", "DIFFER", "INCOMPARABLE") else ["verdict"]
    for one in told["probes"].values():
        bad += [] if set(one) == {"verdict", "findings"} else ["keys of a probe"]
        bad += [] if one["verdict"] in ("MATCH", "DIFFER", "INCOMPARABLE") else ["verdict of a probe"]
        for finding in one.get("findings", ()):
            right = set(finding) == set(FINDING) and all(isinstance(finding[k], kind) for k, kind in FINDING.items())
            bad += [] if right else ["finding"]
    return bad


def test_the_contract():
    """Verdict, probes with verdict and findings, provenance; nothing renamed, dropped or added."""
    for told in (gate(), differing(ledger=LEDGER), incomparable(), gate(fault="no disk")):
        assert problems(json.loads(json.dumps(gate_json(told)))) == []


def test_the_check_sees():
    """Each kind of change of the shape is seen."""
    for spoil in (
        lambda told: told.pop("provenance"),
        lambda told: told.update(more=1),
        lambda told: told["probes"]["wire"].pop("findings"),
        lambda told: told["probes"]["wire"].update(verdict="FINE"),
        lambda told: told["probes"]["wire"]["findings"][0].pop("cause"),
        lambda told: told["probes"]["wire"]["findings"][0].update(left=1),
    ):
        told = gate_json(differing())
        spoil(told)
        assert problems(told)


def test_findings():
    """A finding has its scenario in its key; what fails nothing is told by its rule."""
    wire = gate_json(differing())["probes"]["wire"]["findings"]
    assert [(one["key"], one["rule"]) for one in wire] == [
        ("plain/meta.lr", "exact"),
        ("plain/meta.dead", "shared"),
        ("bold/meta.lr", "exact"),
    ]


def test_provenance_holds_the_rest():
    """Sides, cases, warnings, what was not checked and the ledger stand in the provenance."""
    told = gate_json(differing(ledger=LEDGER, warnings=("w",), unchecked={"guard": "no base"}))["provenance"]
    assert told["sides"] == ["recipe", "port/x"] and told["left"] == {"ref": "recipe"}
    assert told["cases"]["wire"]["plain"]["verdict"] == "DIFFER"
    assert (told["warnings"], told["unchecked"]) == (["w"], {"guard": "no base"})
    assert [(one["wire"], one["config"], one["closes"], one["opens"]) for one in told["ledger"]] == [
        (2, 0, [], []),
        (1, 0, ["wire.order"], []),
        (1, 1, [], ["config.a"]),
    ]


def test_names_that_are_not_text():
    """Odd names survive a round trip."""
    told = gate(probe("wire", case("plain", DIFFER, found(f"plain/{NASTY}"))))
    read = json.loads(json.dumps(gate_json(told)))
    assert read["probes"]["wire"]["findings"][0]["key"] == f"plain/{NASTY}"
