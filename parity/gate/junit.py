"""A gate as JUnit XML: a suite for each probe, a test case for each scenario, commit or declaration."""

from __future__ import annotations

import re
import xml.etree.ElementTree as Xml
from datetime import datetime, timezone

from parity.gate.result import Case, Found, Gate, Probe
from parity.verdict import Verdict
from porttool.errors import visible

_LISTED = 50
# What XML 1.0 cannot hold even as a reference, beyond what `visible` escapes.
_NOT_XML = re.compile("[\ufffe\uffff]")


def junit(gate: Gate) -> str:
    """The document. A difference is a failure; what cannot be compared is an error; what was not run is skipped."""
    suites = [_suite(probe, gate) for probe in gate.probes]
    suites += [_lone(name, "skipped", why) for name, why in gate.unchecked.items()]
    if gate.fault:
        suites.append(_lone("gate", "error", gate.fault))
    whole = Xml.Element("testsuites", {"name": "porttool gate", **_counts(suites), "time": _time(gate.seconds)})
    when = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    for number, suite in enumerate(suites):
        # The common schema asks for these; which machine ran it is nobody's business.
        suite.attrib.update(id=str(number), package="porttool.gate", hostname="localhost", timestamp=when)
        whole.append(suite)
    Xml.indent(whole)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + Xml.tostring(whole, encoding="unicode") + "\n"


def _counts(suites: list[Xml.Element]) -> dict[str, str]:
    names = ("tests", "failures", "errors", "skipped")
    return {name: str(sum(int(suite.attrib[name]) for suite in suites)) for name in names}


def _suite(probe: Probe, gate: Gate) -> Xml.Element:
    made = [_case(probe, case) for case in probe.cases]
    suite = Xml.Element("testsuite", {"name": _text(probe.name), **_kinds(made), "time": _time(probe.seconds)})
    properties = Xml.SubElement(suite, "properties")
    told = {"verdict": probe.verdict.value, "left": gate.sides[0], "right": gate.sides[1], "counts": probe.told}
    for name, value in told.items():
        Xml.SubElement(properties, "property", {"name": name, "value": _text(value)})
    suite.extend(made)
    warnings = "\n".join(gate.warnings) if probe is gate.probes[-1] else ""
    Xml.SubElement(suite, "system-out").text = _text(warnings)
    Xml.SubElement(suite, "system-err")
    return suite


def _kinds(cases: list[Xml.Element]) -> dict[str, str]:
    def count(name: str) -> str:
        return str(sum(case.find(name) is not None for case in cases))

    return {
        "tests": str(len(cases)),
        "failures": count("failure"),
        "errors": count("error"),
        "skipped": count("skipped"),
    }


def _case(probe: Probe, case: Case) -> Xml.Element:
    named = {"name": _text(case.name), "classname": _text(f"gate.{probe.name}"), "time": "0"}
    made = Xml.Element("testcase", named)
    if case.verdict is Verdict.DIFFER:
        told = Xml.SubElement(made, "failure", {"message": _text(case.reason), "type": Verdict.DIFFER.value})
        told.text = _text(_listed(case))
    elif case.verdict is Verdict.INCOMPARABLE:
        told = Xml.SubElement(made, "error", {"message": _text(case.reason), "type": Verdict.INCOMPARABLE.value})
        told.text = _text(f"{case.place or ''} {case.reason}".strip())
    return made


def _lone(name: str, kind: str, why: str) -> Xml.Element:
    """A suite of one case that was not run, or that ended the run."""
    case = Xml.Element("testcase", {"name": name, "classname": f"gate.{name}", "time": "0"})
    extra = {"type": Verdict.INCOMPARABLE.value} if kind == "error" else {}
    Xml.SubElement(case, kind, {"message": _text(why), **extra})
    suite = Xml.Element("testsuite", {"name": name, **_kinds([case]), "time": "0"})
    Xml.SubElement(suite, "properties")
    suite.append(case)
    Xml.SubElement(suite, "system-out")
    Xml.SubElement(suite, "system-err")
    return suite


def _listed(case: Case) -> str:
    failing = case.failing
    lines = [line for one in failing[:_LISTED] for line in _lines(one)]
    more = [f"and {len(failing) - _LISTED} more"] if len(failing) > _LISTED else []
    return "\n".join([*lines, *more])


def _lines(one: Found) -> list[str]:
    held = ("nothing" if value is None else value for value in (one.left, one.right))
    both = [f"  {side}: {value}" for side, value in zip(("left", "right"), held, strict=True)]
    sides = both if (one.left, one.right) != (None, None) else []
    at = f" ({one.place})" if one.place else ""
    return [f"{one.name}{at}", *sides, f"  cause: {one.why}"]


def _text(text: str) -> str:
    return _NOT_XML.sub(lambda found: ascii(found[0])[1:-1], visible(text, lines=True))


def _time(seconds: float) -> str:
    return f"{seconds:.3f}"
