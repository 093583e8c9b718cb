"""JUnit: what a CI system reads from it, checked with a real parser against the common schema's rules."""

from __future__ import annotations

import re
import xml.etree.ElementTree as Xml

import pytest

from parity.gate.junit import junit
from tests.gate.support import DIFFER, INCOMPARABLE, MATCH, NASTY, case, differing, found, gate, incomparable, probe

SUITE = {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname", "id", "package"}


def problems(text: str) -> list[str]:
    """What the common schema (Ant's, as Jenkins and GitLab read it) would refuse."""
    whole = Xml.fromstring(text.encode())
    found = [] if whole.tag == "testsuites" else [f"the root is {whole.tag}"]
    for suite in whole:
        found += [f"{suite.tag} among suites"] * (suite.tag != "testsuite")
        found += [f"suite lacks {name}" for name in SUITE - set(suite.attrib)]
        order = [child.tag for child in suite]
        cases = order.count("testcase")
        found += ["order of children"] * (order != ["properties", *["testcase"] * cases, "system-out", "system-err"])
        found += ["timestamp"] * (not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp", "")))
        found += ["tests"] * (suite.get("tests") != str(cases))
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            found += [name] * (suite.get(name) != str(len(suite.findall(f"testcase/{tag}"))))
        for one in suite.findall("testcase"):
            found += [f"testcase lacks {name}" for name in {"name", "classname", "time"} - set(one.attrib)]
            found += ["two outcomes"] * (len(one) > 1)
            found += ["outcome without type"] * any(c.tag != "skipped" and not c.get("type") for c in one)
    return found


ALL = [gate(), differing(), incomparable(), gate(unchecked={"guard": "no base"}), gate(fault="no disk")]


@pytest.mark.parametrize("told", ALL)
def test_valid(told):
    """Every kind of gate is a valid document."""
    assert problems(junit(told)) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('hostname="localhost"', ""),
        ("<properties>", "<x/><properties>"),
        ('tests="2"', 'tests="3"'),
        ('type="DIFFER"', ""),
        (' classname="gate.wire"', ""),
        ("<testsuites", "<suites"),
        ('failures="2"', 'failures="1"'),
        ("T0", "X0"),
    ],
)
def test_the_check_sees(old, new):
    """The check of this file finds each kind of broken document."""
    text = junit(differing())
    text = text.replace("</testsuites", "</suites") if "suites" in new else text
    broken = re.sub(r"T\d\d:", "X00:", text) if old == "T0" else text.replace(old, new)
    assert broken != text or old == "T0" or "suites" in new
    assert problems(broken)


def test_a_suite_for_each_probe_and_a_case_for_each_scenario():
    """Suites are probes, cases are scenarios or commits."""
    whole = Xml.fromstring(junit(differing()))
    assert [suite.get("name") for suite in whole] == ["proof", "wire", "contract"]
    assert [one.get("name") for one in whole[1].findall("testcase")] == ["plain", "bold"]
    assert whole[0].find("testcase").get("name") == "1234abcd Fix the run"


def test_a_difference_is_a_failure_with_its_cause():
    """A failing case names key, line, both values and the cause."""
    failure = Xml.fromstring(junit(differing())).find("testsuite[@name='wire']/testcase/failure")
    assert failure.get("message") == "meta.lr has another value"
    lines = [line.strip() for line in failure.text.splitlines()]
    assert lines == ["meta.lr (app/remote/client.py:12)", "left: 1 (int)", "right: 2 (int)", "cause: read by srv.py"]


def test_what_cannot_be_compared_is_an_error():
    """INCOMPARABLE is an error, not a failure, and no pass."""
    whole = Xml.fromstring(junit(incomparable()))
    assert (whole.get("failures"), whole.get("errors")) == ("0", "1")
    assert whole.find("testsuite/testcase/error").get("message") == "the target side crashed"


def test_what_was_not_checked_is_skipped():
    """A stage that was left out stands there as skipped, with the reason."""
    whole = Xml.fromstring(junit(gate(unchecked={"guard": "no base is named"})))
    assert whole.find("testsuite[@name='guard']/testcase/skipped").get("message") == "no base is named"


def test_a_run_that_was_ended_is_an_error():
    """The fault is a case of its own."""
    whole = Xml.fromstring(junit(gate(fault="the run ended early: no disk")))
    assert whole.find("testsuite[@name='gate']/testcase/error").get("message") == "the run ended early: no disk"


def test_names_that_act():
    """Control characters, lone surrogates, markup and marks that turn text around are escaped, not dropped."""
    told = found(f"plain/{NASTY}", NASTY, None, cause=NASTY)
    text = junit(gate(probe("wire", case(NASTY, DIFFER, told, reason=NASTY))))
    assert problems(text) == []
    one = Xml.fromstring(text.encode()).find("testsuite/testcase")
    assert one.get("name").startswith("\\x00\\x1b[31mred\\u202e <b>&\"']]>\\ufffe\\udc80")
    assert not re.search("[\x00-\x08\x0b-\x1f\ufffe\uffff]", text)


def test_a_probe_may_have_any_name():
    """A driver names its probes: what XML cannot hold is escaped there too."""
    text = junit(gate(probe(NASTY, case("plain"))))
    assert problems(text) == []
    assert Xml.fromstring(text.encode()).find("testsuite").get("name").startswith("\\x00\\x1b[31mred")


def test_long_cases_are_counted():
    """A case with a thousand keys lists the first and counts the rest."""
    many = [found(f"plain/meta.k{place}") for place in range(1000)]
    text = Xml.fromstring(junit(gate(probe("wire", case("plain", DIFFER, *many))))).find(".//failure").text
    assert text.endswith("and 950 more")


@pytest.mark.parametrize(("verdict", "tag"), [(MATCH, None), (DIFFER, "failure"), (INCOMPARABLE, "error")])
def test_one_outcome_for_each_verdict(verdict, tag):
    """Each verdict has its element."""
    one = Xml.fromstring(junit(gate(probe("wire", case(verdict=verdict))))).find("testsuite/testcase")
    assert [child.tag for child in one] == ([tag] if tag else [])


def test_a_side_that_has_nothing():
    """A value that one side lacks is told in words, as is a cause that is not known."""
    told = found("x/missing", None, "1 (int)", cause="")
    failure = Xml.fromstring(junit(gate(probe("wire", case("plain", DIFFER, told))))).find(".//failure")
    lines = [line.strip() for line in failure.text.splitlines()[1:]]
    assert lines == ["left: nothing", "right: 1 (int)", "cause: not known"]
