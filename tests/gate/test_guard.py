"""The guard: a change of what the gate measures by is a finding until it has a reason of its own."""

from __future__ import annotations

import json

import pytest
import yaml

from parity.gate.guard import changed, measures
from parity.verdict import Verdict
from tests.gate.pulls import BEFORE, RESOLUTION, drop, more, put, reorder

# One of each kind: what is changed, and the name under which it is found.
RED = {
    "a tolerance": (put(0.2, "parity", "rules", "wire.*.lr", "within"), "parity.rules.wire.*.lr"),
    "a rule's kind": (
        put({"volatile": "the target has its own"}, "parity", "rules", "config.a"),
        "parity.rules.config.a",
    ),
    "a rule taken away": (drop("parity", "rules", "config.b"), "parity.rules.config.b"),
    "the order of rules": (reorder, "parity.rules"),
    "an exact rule before a glob": (put("exact", "parity", "rules", "wire.*.lr"), "parity.rules.wire.*.lr"),
    "a shared glob taken away": (
        lambda told: told["parity"]["shared"].remove("laws.oracle"),
        "parity.shared.laws.oracle",
    ),
    "a shared glob added": (more("laws.steps", "parity", "shared"), "parity.shared.laws.steps"),
    "a protected path taken away": (lambda told: told["protected"].remove("keep.py"), "protected.keep.py"),
    "a protected path added": (more("other.py", "protected"), "protected.other.py"),
    "the words of all scenarios in another order": (
        lambda told: told["parity"]["base"].reverse(),
        "parity.base",
    ),
    "a patch without a source": (more({"new": "0001.patch"}, "commits"), "commits.0001.patch"),
    "a commit taken away": (lambda told: told["commits"][1]["pick"].remove("3456789a"), "commits.3456789a"),
    "an adaptation taken away": (drop("commits", 0, "adapted"), "adapted.1234567.a.py"),
    "a pair that is one-way": (
        put({"to": "D", "one_way": True}, "layout", "symbols", "C"),
        "layout.symbols.C.one_way",
    ),
    "a pair one-way no more": (put("B", "layout", "symbols", "A"), "layout.symbols.A.one_way"),
    "the source": (put("port/x", "source", "ref"), "source.ref"),
    "the target before the port": (put("change", "target", "ref"), "target.ref"),
    "a skip taken away": (drop("skip", "7654321"), "skip.7654321"),
    "a policy": (put("drop", "policy", "signatures"), "policy.signatures"),
    "a scenario taken away": (drop("parity", "scenarios", "bold"), "parity.scenarios.bold"),
    "a scenario's overrides": (put([], "parity", "scenarios", "bold"), "parity.scenarios.bold"),
    "what all scenarios start from": (more("x.y=1", "parity", "base"), "parity.base.x.y=1"),
    "the subject": (put("o.O", "parity", "subject", "trainer"), "parity.subject"),
    "the knobs that are swept": (put([], "parity", "knobs", "scenarios"), "parity.knobs.scenarios"),
    "a knob": (drop("parity", "knobs", "also", "x.lr"), "parity.knobs.also.x.lr"),
    "the steps of a training run": (put(1, "parity", "convergence", "steps"), "parity.convergence.steps"),
    "the seeds": (put([2], "parity", "convergence", "seeds"), "parity.convergence.seeds"),
    "how runs are compared": (
        put({"envelope": {"alpha": 0.001}}, "parity", "convergence", "compare"),
        "parity.convergence.compare",
    ),
    "a band": (put(0.3, "parity", "convergence", "bands", "entropy", "high"), "parity.convergence.bands.entropy"),
}


@pytest.mark.parametrize(("change", "name"), RED.values(), ids=RED)
def test_a_change_without_a_reason_is_red(pull, change, name):
    """Each kind of change is a finding of the rule `guard`, at its line, and says what to write."""
    told = pull(change)
    assert told.verdict is Verdict.DIFFER
    assert [case.name for case in told.bad] == [name]
    (one,) = told.failing
    assert (one.key, one.rule) == (f"guard/{name}", "guard")
    assert f"Gate-Reason: {name}: why" in one.cause
    assert one.place.path == "manifests/m.yaml" and one.place.line >= 1


@pytest.mark.parametrize(("change", "name"), RED.values(), ids=RED)
def test_a_reason_in_a_commit_message_makes_it_green(pull, change, name):
    """The same change with a `Gate-Reason` line is told with its reason, and fails nothing."""
    told = pull(change, message=f"Change it\n\nGate-Reason: {name}: measured again\n")
    assert told.verdict is Verdict.MATCH
    (one,) = [found for case in told.cases for found in case.found]
    assert (one.rule, one.counts) == ("declared", False)
    assert "measured again" in one.cause


FILED = {
    "a golden changed": ({"manifests/m.captures/plain.source.json": '{"a": 2}\n'}, "captures.plain.source.json"),
    "a golden added": ({"manifests/m.captures/bold.source.json": "{}\n"}, "captures.bold.source.json"),
    "a golden taken away": ({"manifests/m.captures/plain.source.json": None}, "captures.plain.source.json"),
    "evidence changed": (
        {"manifests/m.captures/convergence.plain.json": '{"runs": [9], "why": "measured in May"}\n'},
        "captures.convergence.plain.json",
    ),
    "a resolution's content": ({"manifests/m.resolutions/aa.content": "x = 2\n"}, "resolutions.aa"),
    "a resolution's key": (
        {"manifests/m.resolutions/aa.json": json.dumps({**RESOLUTION, "path": "b.py"})},
        "resolutions.aa",
    ),
    "a resolution without a reason": (
        {"manifests/m.resolutions/bb.json": json.dumps({**RESOLUTION, "reason": "resolved by hand"})},
        "resolutions.bb",
    ),
    "a resolution taken away": (
        {"manifests/m.resolutions/aa.json": None, "manifests/m.resolutions/aa.content": None},
        "resolutions.aa",
    ),
}


@pytest.mark.parametrize(("files", "name"), FILED.values(), ids=FILED)
def test_files_beside_the_manifest(pull, files, name):
    """Goldens, evidence and the ledger of resolutions are measures too; a reason makes each green."""
    red = pull(files=files)
    assert [case.name for case in red.bad] == [name]
    assert red.failing[0].place.path.startswith("manifests/m.")
    kept = {path: text for path, text in files.items() if text is not None}
    green = pull(files=kept, message=f"again\n\nGate-Reason: {name}: the trainer changed\n")
    assert green.verdict is Verdict.MATCH


# The same kinds with a reason in the field that stands next to the change.
OWN = {
    "a rule": put({"expected": "since June"}, "parity", "rules", "config.a"),
    "a new rule": put({"expected": "since June"}, "parity", "rules", "wire.new"),
    "a tolerance with its evidence": put(
        {"within": 0.2, "evidence": "7 runs of June"}, "parity", "rules", "wire.*.lr"
    ),
    "a patch": more({"new": "0001.patch", "why": "new wiring"}, "commits"),
    "an adaptation": put("must differ there", "commits", 0, "adapted", "b.py"),
    "a skip": put("not wanted", "skip", "7777777"),
    "a scenario": put({"overrides": [], "why": "no such key any more"}, "parity", "scenarios", "bold"),
    "a band": put(
        {"low": 0, "high": 9, "why": "seen in June"},
        "parity",
        "convergence",
        "bands",
        "entropy",
    ),
}


@pytest.mark.parametrize("change", OWN.values(), ids=OWN)
def test_a_reason_next_to_the_change(pull, change):
    """A reason in the field made for it, new in this pull request, is enough."""
    assert pull(change).verdict is Verdict.MATCH


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (put({"within": 9, "evidence": "5 runs of May"}, "parity", "rules", "wire.*.lr"), "parity.rules.wire.*.lr"),
        (put({"low": 0, "high": 9, "why": "seen in May"}, "parity", "convergence", "bands", "entropy"),
         "parity.convergence.bands.entropy"),
    ],
)  # fmt: skip
def test_an_old_reason_is_none(pull, change, name):
    """A reason that was there before was not given for this change."""
    told = pull(change)
    assert [case.name for case in told.bad] == [name]
    assert "is the one it had before" in told.failing[0].cause


def test_a_new_resolution_with_a_reason(pull):
    """A recorded resolution brings its own reason."""
    told = pull(
        files={"manifests/m.resolutions/cc.json": json.dumps({**RESOLUTION, "reason": "the target has no flag"})}
    )
    assert told.verdict is Verdict.MATCH
    assert "the target has no flag" in told.cases[0].found[0].cause


@pytest.mark.parametrize(
    "change",
    [
        lambda told: None,
        put([], "parity", "scenarios", "third"),
        put(3, "parity", "knobs", "also", "x.wd"),
        put([], "parity", "convergence", "scenarios", "zorro"),
        put("because", "commits", 0, "why"),
        more({"pick": ["4567890"]}, "commits"),
        put(["23456789ab", "3456789"], "commits", 1, "pick"),
        put("port/y", "target", "branch"),
    ],
)
def test_what_weakens_nothing_needs_no_reason(pull, change):
    """More to compare, a word of explanation, another branch: no change of the measure."""
    told = pull(change)
    assert told.verdict is Verdict.MATCH
    assert told.cases[0].reason == "nothing that the gate measures by was changed"


def test_a_commit_that_is_skipped_is_told_once(pull):
    """Its reason stands in `skip`; that it is on the list no more is the same news."""
    told = pull(lambda told: told["skip"].update({told["commits"][1]["pick"].pop(): "upstream has it"}))
    assert [(case.name, case.verdict) for case in told.cases] == [("skip.3456789a", Verdict.MATCH)]


def test_a_commit_that_is_not_the_one_skipped(pull):
    """A skip of another commit accounts for nothing."""

    def other(told):
        told["commits"][1]["pick"].pop()
        told["skip"]["3456789b"] = "upstream has it"

    assert [case.name for case in pull(other).bad] == ["commits.3456789a"]


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        (["main~1", "main~12"], ["main~12"], "commits.main~1"),
        (["fix", "fix-2"], ["fix-2"], "commits.fix"),
        (["1234567", "v1"], ["1234567abc"], "commits.v1"),
        (["ABCDEF1"], ["abcdef123"], ""),
    ],
)
def test_a_name_that_begins_as_another_does(before, after, name):
    """Only of an id there may be more digits, in any letter case: of two names each is a commit of its own."""

    def listed(picks):
        return measures({"commits": [{"pick": [pick]} for pick in picks]}, {})

    assert [one.name for one in changed(listed(before), listed(after), {})] == [name] * bool(name)


def test_a_name_that_is_skipped():
    """A commit that is called by a tag is accounted for by a skip of that tag."""
    before, after = ({"commits": [{"pick": ["v1"]}]}, {"skip": {"v1": "upstream has it"}})
    assert [one.name for one in changed(measures(before, {}), measures(after, {}), {})] == ["skip.v1"]


@pytest.mark.parametrize("listed", [False, True])
def test_a_range_that_is_another(listed):
    """Which commits a range holds is not known here: another one needs a reason, also on its own."""

    def told(text):
        return measures({"commits": [{"range": text}] if listed else {"range": text}}, {})

    assert [one.name for one in changed(told("a..c"), told("b..c"), {})] == ["commits.a..c"]
    assert changed(told("a..c"), told("a..c"), {}) == []


@pytest.mark.parametrize("name", ["expected", "volatile", "why", "reason", "evidence"])
def test_a_subject_may_have_any_name(name):
    """Another trainer's subject names what it likes: none of it is taken for a reason."""

    def told(value):
        return measures({"parity": {"subject": {name: value}}}, {})

    (one,) = changed(told("a.B"), told("a.C"), {})
    assert (one.name, one.reason) == ("parity.subject", "")


@pytest.mark.parametrize("name", ["also", "bands", "scenarios"])
def test_a_scenario_may_have_any_name(name):
    """A scenario that is called like a table is one: what it asks for besides is no new scenario."""

    def told(body):
        return measures({"parity": {"scenarios": {name: body}}}, {})

    more = changed(told({"overrides": []}), told({"overrides": [], "rows": {"repeat": True}}), {})
    assert [one.name for one in more] == [f"parity.scenarios.{name}"]


def test_a_new_wording_of_a_reason_is_no_change(pull):
    """The reason of an expected difference may be said better."""
    told = pull(put("said better", "parity", "rules", "config.a", "expected"))
    assert told.cases[0].name == "measure"


def test_the_style_of_the_text_does_not_matter(pull):
    """The manifest is compared as what it means: comments and flow style are no change."""
    text = "# a comment\n" + yaml.safe_dump(BEFORE, sort_keys=False, default_flow_style=True)
    assert pull(files={"manifests/m.yaml": text}).verdict is Verdict.MATCH


def test_several_changes_are_several_findings(pull):
    """One reason explains one change, not its neighbours."""

    def change(told):
        told["protected"].remove("keep.py")
        told["parity"]["rules"]["wire.*.lr"]["within"] = 5

    told = pull(change, message="x\n\nGate-Reason: protected.keep.py: it is gone\n")
    assert [case.name for case in told.bad] == ["parity.rules.wire.*.lr"]


@pytest.mark.parametrize(
    ("what", "verdict"),
    [
        ("parity.rules", Verdict.MATCH),
        ("parity.rules.wire.*.lr", Verdict.MATCH),
        ("parity", Verdict.DIFFER),
        ("*", Verdict.DIFFER),
        ("parity.rules.wire", Verdict.MATCH),
        ("parity.rules.wir", Verdict.DIFFER),
    ],
)
def test_how_far_a_reason_reaches(pull, what, verdict):
    """A reason may be for a whole section of the measure, never for all of it, and whole words count."""
    told = pull(RED["a tolerance"][0], message=f"x\n\nGate-Reason: {what}: measured\n")
    assert told.verdict is verdict


@pytest.mark.parametrize(
    "message",
    ["x\n\nGate-Reason: parity.rules.wire.*.lr:\n", "x\n\nGate-Reason: parity.rules.wire.*.lr\n", "Gate-Reason\n"],
)
def test_an_empty_reason_is_none(pull, message):
    """A line without a why explains nothing."""
    assert pull(RED["a tolerance"][0], message=message).verdict is Verdict.DIFFER
