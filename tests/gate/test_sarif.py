"""SARIF: what a code host needs of it, read back with a real parser."""

from __future__ import annotations

import copy
import json

import pytest

from parity.gate.result import Place
from parity.gate.sarif import sarif
from tests.gate.support import (
    DIFFER,
    INCOMPARABLE,
    MATCH,
    NASTY,
    case,
    differing,
    found,
    gate,
    incomparable,
    probe,
)


def problems(told) -> list[str]:
    """What the required properties of SARIF 2.1.0, and of hosts that show it, would refuse."""
    bad = [] if told.get("version") == "2.1.0" and "sarif-2.1.0" in told.get("$schema", "") else ["version"]
    for run in told.get("runs", [{}]):
        driver = run.get("tool", {}).get("driver", {})
        bad += [] if driver.get("name") else ["tool name"]
        rules = [rule.get("id") for rule in driver.get("rules", [])]
        bad += ["two rules of one id"] * (len(set(rules)) < len(rules))
        bad += ["rule without description"] * any(
            not r.get("shortDescription", {}).get("text") for r in driver["rules"]
        )
        bad += [] if all("executionSuccessful" in one for one in run.get("invocations", [{}])) else ["invocation"]
        for result in run.get("results", []):
            index = result.get("ruleIndex", -1)
            bad += [] if 0 <= index < len(rules) and rules[index] == result.get("ruleId") else ["rule of a result"]
            bad += [] if result.get("message", {}).get("text") else ["message"]
            bad += [] if result.get("level") in ("none", "note", "warning", "error") else ["level"]
            bad += [] if result.get("partialFingerprints") else ["fingerprint"]
            for place in result.get("locations") or [{}]:
                physical = place.get("physicalLocation", {})
                artifact = physical.get("artifactLocation", {})
                uri = artifact.get("uri", "/")
                bad += ["uri"] * (uri.startswith("/") or "\\" in uri or ":" in uri or " " in uri)
                bad += [] if artifact.get("uriBaseId") in run.get("originalUriBaseIds", {}) else ["base of a uri"]
                bad += [] if physical.get("region", {}).get("startLine", 0) >= 1 else ["line"]
    return bad


def read(told):
    """The document, read back."""
    return json.loads(sarif(told))


def results(told):
    return read(told)["runs"][0]["results"]


@pytest.mark.parametrize(
    "told", [gate(), differing(), incomparable(), gate(fault="no disk"), differing(roots={}), gate(warnings=("w",))]
)
def test_valid(told):
    """Every kind of gate is a valid document."""
    assert problems(read(told)) == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda told: told.update(version="2"),
        lambda told: told["runs"][0]["tool"]["driver"].update(name=""),
        lambda told: told["runs"][0]["results"][0].pop("message"),
        lambda told: told["runs"][0]["results"][0].update(ruleIndex=9),
        lambda told: told["runs"][0]["results"][0].update(level="fatal"),
        lambda told: told["runs"][0]["results"][0].pop("partialFingerprints"),
        lambda told: told["runs"][0].update(originalUriBaseIds={}),
        lambda told: told["runs"][0]["results"][0].pop("locations"),
        lambda told: told["runs"][0]["invocations"][0].pop("executionSuccessful"),
        lambda told: told["runs"][0]["tool"]["driver"]["rules"].append(told["runs"][0]["tool"]["driver"]["rules"][0]),
    ],
)
def test_the_check_sees(spoil):
    """The check of this file finds each kind of broken document."""
    told = copy.deepcopy(read(differing()))
    spoil(told)
    assert problems(told)


def test_a_finding_stands_at_the_line_of_the_target():
    """One result for all scenarios, at the target's file and line, under a rule of its probe."""
    (one,) = results(differing())
    assert one["ruleId"] == "wire/exact" and one["level"] == "error"
    place = one["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "app/remote/client.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 12}
    assert "in plain, bold" in one["message"]["text"] and "read by srv.py" in one["message"]["text"]


def test_a_target_below_the_project_has_a_root_of_its_own():
    """The target's folder is relative to the project; a target elsewhere has a root without an address."""
    told = read(differing(roots={"target": "build/verl"}))["runs"][0]
    assert told["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uriBaseId"] == "TARGETROOT"
    assert told["originalUriBaseIds"]["TARGETROOT"]["uri"] == "build/verl/"
    assert told["originalUriBaseIds"]["TARGETROOT"]["uriBaseId"] == "%SRCROOT%"
    assert "uri" not in read(differing(roots={}))["runs"][0]["originalUriBaseIds"]["TARGETROOT"]


def test_without_a_line_the_manifest_is_the_place():
    """A finding that no line is known for stands at the manifest's."""
    one = gate(probe("wire", case("plain", DIFFER, found(place=None))))
    place = results(one)[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "manifests/m.yaml" and place["region"]["startLine"] == 1


def fingerprint(told):
    return results(told)[0]["partialFingerprints"]


def test_fingerprints_are_stable():
    """The same key in the same file is the same alert, whatever its line and values; another key is another one."""
    first = gate(probe("wire", case("plain", DIFFER, found())))
    moved = gate(
        probe("wire", case("bold", DIFFER, found("bold/meta.lr", "5", "6", place=Place("app/remote/client.py", 99))))
    )
    other = gate(probe("wire", case("plain", DIFFER, found("plain/meta.other"))))
    probed = gate(probe("config", case("plain", DIFFER, found())))
    assert fingerprint(first) == fingerprint(moved)
    assert len({str(fingerprint(one)) for one in (first, other, probed)}) == 3


def test_what_cannot_be_compared_is_a_result_and_a_failed_run():
    """INCOMPARABLE is no success, and stands at the scenario's line of the manifest."""
    told = read(incomparable())["runs"][0]
    assert told["invocations"][0]["executionSuccessful"] is False
    assert told["results"][0]["ruleId"] == "wire/incomparable"
    assert told["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] == 7


def test_a_match_is_empty_and_successful():
    """Nothing to see: no result, no rule."""
    told = read(gate())["runs"][0]
    assert (told["results"], told["tool"]["driver"]["rules"]) == ([], [])
    assert told["invocations"][0]["executionSuccessful"] is True


def test_what_fails_nothing_is_no_result():
    """Shared and declared differences raise no alert."""
    assert results(gate(probe("wire", case("plain", MATCH, found(rule="expected", counts=False))))) == []


def test_warnings_and_what_was_not_checked_are_notifications():
    """They are told with the invocation, not silently left out."""
    told = read(gate(warnings=("a rule fitted nothing",), unchecked={"guard": "no base"}, fault="no disk"))
    notes = told["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert [(note["level"], note["message"]["text"]) for note in notes] == [
        ("warning", "a rule fitted nothing"),
        ("note", "guard was not checked: no base"),
        ("error", "no disk"),
    ]


def test_odd_paths_and_names():
    """Spaces, percent signs, bytes that are no text and control characters come out as a URI and plain text."""
    odd = Place("a b/%20\udcff#x.py", 3)
    one = gate(probe("wire", case("plain", DIFFER, found(f"plain/{NASTY}", place=odd))))
    assert problems(read(one)) == []
    uri = results(one)[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "a%20b/%2520%FF%23x.py"
    assert "\x1b" not in sarif(one) and "\u202e" not in results(one)[0]["message"]["text"]


@pytest.mark.parametrize("verdict", [DIFFER, INCOMPARABLE])
def test_a_case_without_findings_still_has_a_result(verdict):
    """Nothing that fails is without an alert."""
    from parity.gate.result import Case

    one = gate(probe("wire", Case("plain", verdict, "it is wrong", (), 0, None)))
    assert "it is wrong" in results(one)[0]["message"]["text"]


def test_a_cause_that_is_not_known():
    """It is said in words: no sentence is empty."""
    (one,) = results(gate(probe("wire", case("plain", DIFFER, found(cause="")))))
    assert one["message"]["text"].endswith("port/x has 2 (int). cause: not known.")
