"""The rules a manifest declares."""

from __future__ import annotations

import pytest

from parity.compare import Rule
from parity.probes.rules import failing, rules
from porttool.errors import ManifestError


def test_kinds():
    """Each kind in its form, in the order written."""
    told = {
        "wire.a": "exact",
        "wire.b": {"expected": "meant"},
        "wire.c": {"volatile": "a clock"},
        "wire.d": {"within": 1e-3, "evidence": "runs.json"},
    }
    assert rules({"rules": told}) == (
        Rule("wire.a", "exact"),
        Rule("wire.b", "expected", "meant"),
        Rule("wire.c", "volatile", "a clock"),
        Rule("wire.d", "within", tolerance=1e-3, evidence="runs.json"),
    )
    assert rules({}) == ()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("near", "wants `exact` or a mapping"),
        ({"expected": ""}, "needs a reason"),
        ({"expected": 3}, "wants a reason"),
        ({"within": 0.1}, "needs a finite tolerance above 0 and the evidence"),
        ({"within": float("inf"), "evidence": "x"}, "needs a finite tolerance"),
        ({"within": True, "evidence": "x"}, "wants a number"),
        ({"within": "0.1", "evidence": "x"}, "wants a number"),
        ({"sloppy": 1}, "unknown key 'sloppy'"),
        ({"expected": "a", "volatile": "b"}, "wants one of"),
        ({}, "wants one of"),
    ],
)
def test_refused(body, message):
    """A rule without what makes it honest is refused, with its place."""
    with pytest.raises(ManifestError, match=message) as told:
        rules({"rules": {"wire.a": body}}, "m.yaml:3")
    assert "parity.rules.wire.a" in str(told.value) and told.value.where == "m.yaml:3"


def test_sections_of_the_wrong_kind():
    """A list of rules, or a mapping of shared defects, is refused."""
    with pytest.raises(ManifestError, match="mapping from key glob"):
        rules({"rules": []})
    with pytest.raises(ManifestError, match="list of key globs"):
        failing({"shared": {"a": 1}})
    assert failing({"shared": ["consumers.*"]}) == ("consumers.*",)
