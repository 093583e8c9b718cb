"""The guard, part by part: what a manifest measures by, what of it changed, and how that is told."""

from __future__ import annotations

import pytest

from parity.gate.guard import Changed, Measure, changed, given, measures, probe, trailers
from parity.gate.result import Place
from parity.verdict import Verdict

MANIFEST = Place("m.yaml", 1, "project")
TOLD = {
    "source": {"repo": "r", "branch": "b"},
    "target": {"ref": "t"},
    "layout": {
        "paths": {"a": "b", "c": {"to": "d", "in": ["x"]}, "e": {"to": "f", "one_way": True}},
        "roots": ["src"],
        "keep": ["manifests/"],
    },
    "protected": ["base.py"],
    "skip": {"7654321": "not needed"},
    "policy": {"merges": "linear"},
    "commits": [
        {"pick": ["1234567890abcd", "2345678"], "adapted": {"a.py": "older API"}},
        {"new": "p.patch", "why": "wiring", "adapted": {"b.py": "as it was"}},
        {"pick": ["3456789"]},
        {"new": "q.patch"},
    ],
    "parity": {
        "rules": {"wire.*": {"within": 1, "evidence": "5 runs"}, "config": {"volatile": "why not", "why": "second"}},
        "base": ["x=1", "y=2"],
        "shared": ["laws", "wire"],
        "scenarios": {"plain": ["x=1"], "bold": {"overrides": [], "why": "bolder"}},
        "knobs": {"also": {"x.lr": 2}, "scenarios": []},
        "convergence": {
            "steps": 3,
            "scenarios": {"zorro": []},
            "bands": {"entropy": {"high": 1, "why": "as measured"}},
        },
        "subject": {"trainer": "t.T"},
    },
}
UNITS = {
    "source.repo": ("r", "", ("source", "repo")),
    "target.ref": ("t", "", ("target", "ref")),
    "protected.base.py": ("base.py", "", ("protected", 0)),
    "skip.7654321": ("not ported", "not needed", ("skip", "7654321")),
    "policy.merges": ("linear", "", ("policy", "merges")),
    "layout.paths.e.one_way": (True, "", ("layout", "paths", "e")),
    "layout.keep.manifests/": ("not translated", "", ("layout", "keep")),
    "commits.1234567890abcd": ("ported", "", ("commits", 0)),
    "commits.2345678": ("ported", "", ("commits", 0)),
    "adapted.1234567890ab+2345678.a.py": ("adapted", "older API", ("commits", 0, "adapted", "a.py")),
    "commits.p.patch": ("a patch of the port's own", "wiring", ("commits", 1)),
    "adapted..b.py": ("adapted", "as it was", ("commits", 1, "adapted", "b.py")),
    "commits.3456789": ("ported", "", ("commits", 2)),
    "commits.q.patch": ("a patch of the port's own", "", ("commits", 3)),
    "parity.rules.wire.*": ({"within": 1}, "5 runs", ("parity", "rules", "wire.*")),
    "parity.rules.config": ({"volatile": "volatile"}, "why not", ("parity", "rules", "config")),
    "parity.rules": (["wire.*", "config"], "", ("parity", "rules")),
    "parity.base.x=1": ("x=1", "", ("parity", "base", 0)),
    "parity.base.y=2": ("y=2", "", ("parity", "base", 1)),
    "parity.base": (["x=1", "y=2"], "", ("parity", "base")),
    "parity.shared.laws": ("laws", "", ("parity", "shared", 0)),
    "parity.shared.wire": ("wire", "", ("parity", "shared", 1)),
    "parity.scenarios.plain": (["x=1"], "", ("parity", "scenarios", "plain")),
    "parity.scenarios.bold": ({"overrides": []}, "bolder", ("parity", "scenarios", "bold")),
    "parity.knobs.also.x.lr": (2, "", ("parity", "knobs", "also", "x.lr")),
    "parity.knobs.scenarios": ([], "", ("parity", "knobs", "scenarios")),
    "parity.convergence.steps": (3, "", ("parity", "convergence", "steps")),
    "parity.convergence.scenarios.zorro": ([], "", ("parity", "convergence", "scenarios", "zorro")),
    "parity.convergence.bands.entropy": ({"high": 1}, "as measured", ("parity", "convergence", "bands", "entropy")),
    "parity.subject": ({"trainer": "t.T"}, "", ("parity", "subject")),
}


def line(number):
    return Place("m.yaml", number, "project")


def test_everything_that_a_manifest_measures_by():
    """Each with its value, the reason next to it, and its own line."""
    lines = {at: line(number) for number, (_, _, at) in enumerate(UNITS.values(), 2)}
    told = measures(TOLD, lines)
    assert told == {name: Measure(value, reason, lines[at]) for name, (value, reason, at) in UNITS.items()}
    assert list(told) == list(UNITS)


def test_the_line_is_that_of_the_nearest_place_around():
    """A place without a line has that of what it stands in; with none around it, no line."""
    told = measures(TOLD, {("parity",): line(5), ("parity", "rules"): line(7), ("commits", 0): line(9)})
    assert told["parity.rules.wire.*"].place == line(7)
    assert told["parity.subject"].place == line(5)
    assert told["adapted.1234567890ab+2345678.a.py"].place == line(9)
    assert told["source.repo"].place is None


def test_what_says_nothing_measures_nothing():
    """An empty manifest, empty sections, a single rule and a single word that have no order."""
    assert measures({}, {}) == {}
    assert measures(dict.fromkeys(TOLD), {}) == {}
    assert measures({"commits": [], "parity": {"rules": {"a": "exact"}, "base": ["x=1"]}}, {}) == {
        "parity.rules.a": Measure("exact"),
        "parity.base.x=1": Measure("x=1"),
    }
    assert measures({"parity": {"rules": None, "knobs": None, "convergence": {"bands": None}}}, {}) == {
        "parity.rules": Measure(None),
        "parity.knobs": Measure(None),
        "parity.convergence.bands": Measure(None),
    }
    assert measures({"commits": {"range": "main..fixes"}}, {}) == {"commits.main..fixes": Measure("ported")}


def test_a_reason_is_no_part_of_the_value():
    """Whatever it is called, and the first of several counts."""
    for name in ("expected", "volatile"):
        told = measures({"parity": {"rules": {"one": {name: "because", "reason": "more", "within": 1}}}}, {})
        assert told == {"parity.rules.one": Measure({name: name, "within": 1}, "because")}
    for name in ("reason", "why", "evidence"):
        told = measures({"parity": {"rules": {"one": {name: "because", "within": 1}}}}, {})
        assert told == {"parity.rules.one": Measure({"within": 1}, "because")}


HINT = "a line `Gate-Reason: a: why` in a commit message of the pull request"
WAS, NOW = line(1), line(2)


@pytest.mark.parametrize(
    ("was", "now", "reason", "place", "hint"),
    [
        (Measure(1, "old", WAS), None, "", WAS, f"give it a reason: {HINT}"),
        (None, Measure(2, "", NOW), "", NOW, f"give it a reason: {HINT}"),
        (Measure(1, "", WAS), Measure(2, "", None), "", WAS, f"give it a reason: {HINT}"),
        (Measure(1, "", WAS), Measure(2, "new", NOW), "new", NOW, None),
        (Measure(1, "", None), Measure(2, " new ", None), "new", None, None),
        (None, Measure(2, "new", NOW), "new", NOW, None),
        (
            Measure(1, "old", WAS),
            Measure(2, "old", NOW),
            "",
            NOW,
            f"the reason next to it is the one it had before: write a new one there, or {HINT}",
        ),
        (
            Measure(1, "old", WAS),
            Measure(2, "resolved by hand ", NOW),
            "",
            NOW,
            f"the reason next to it says nothing: write a new one there, or {HINT}",
        ),
        (None, Measure(2, " ", NOW), "", NOW, f"the reason next to it says nothing: write a new one there, or {HINT}"),
    ],
)
def test_a_change(was, now, reason, place, hint):
    """What it was and is, its reason if it has a new one, where it stands, and what to write where it has none."""
    before, after = ({"a": one} if one else {} for one in (was, now))
    (told,) = changed(before, after, {})
    assert (told.was, told.now) == ("1" if was else "", "2" if now else "")
    assert (told.reason, told.place) == (reason, place)
    assert told.explained is bool(reason) and (hint is None or told.hint == hint)


def test_a_reason_in_a_message_counts_before_one_that_says_nothing():
    """And before the one next to the change."""
    (told,) = changed({"a": Measure(1)}, {"a": Measure(2, "resolved by hand")}, {"a": "from the message"})
    assert told.reason == "from the message"


def test_what_needs_no_reason_hides_nothing_behind_it():
    """After something equal, new to compare, or accounted for, the next change is still told."""
    before = {
        "same": Measure(1),
        "parity.rules": Measure(["a", "b"]),
        "commits.1234567": Measure("ported"),
        "parity.scenarios.old": Measure([]),
        "z": Measure(1),
    }
    after = {
        "same": Measure(1),
        "parity.rules": Measure(["a"]),
        "skip.1234567": Measure("not ported"),
        "parity.scenarios.new": Measure([]),
        "commits.2345678": Measure("ported"),
        "parity.scenarios.old": Measure(["x=1"]),
        "z": Measure(2),
    }
    assert [one.name for one in changed(before, after, {})] == ["parity.scenarios.old", "z", "skip.1234567"]


def test_a_patch_accounts_for_nothing_else():
    """Though it has the name of a section."""
    after = {"commits.parity.rules.a": Measure("ported")}
    assert [one.name for one in changed({"parity.rules.a": Measure(1)}, after, {})] == ["parity.rules.a"]


def test_a_commit_in_place_of_a_patch_is_a_change():
    """And a new patch of the port's own, which has no source that it could be held to, is one."""
    was, now = {"commits.p": Measure("a patch of the port's own")}, {"commits.p": Measure("ported")}
    assert [one.name for one in changed(was, now, {})] == ["commits.p"]
    assert [one.name for one in changed({}, was, {})] == ["commits.p"]
    assert changed({}, now, {}) == []


@pytest.mark.parametrize(
    ("after", "accounted"),
    [
        ({}, False),
        ({"commits.23456789ab": "ported"}, True),
        ({"commits.2345678": "ported"}, True),
        ({"skip.2345678": "not ported"}, True),
        ({"skip.23456789ab": "not ported", "commits.9": "ported"}, True),
        ({"skip.2345679": "not ported"}, False),
        ({"commits.12345678": "ported"}, False),
        ({"x.23456789": 1}, False),
        ({"23456789.commits.": 1, "23456789.skip.": 1}, False),
        ({"commits.p.2345678": "ported"}, False),
        ({"commits.234567": "ported"}, False),
        ({"commits.23456789ABCD": "ported"}, True),
    ],
)
def test_a_commit_off_the_list(after, accounted):
    """It is accounted for where the list or a skip names it, by the same or by fewer or more digits."""
    told = changed({"commits.23456789": Measure("ported")}, {name: Measure(one) for name, one in after.items()}, {})
    assert ("commits.23456789" not in [one.name for one in told]) is accounted


@pytest.mark.parametrize(
    ("what", "after", "accounted"),
    [
        ("main~12", "main~1", False),
        ("main~1", "main~12", False),
        ("main~1", "main~1", True),
        ("23456789ABCD", "23456789abcd", True),
        ("23456789ABCDEF", "23456789abcd", True),
        ("23456789ABCD", "23456789abcdef", True),
        ("2345678x", "2345678", False),
        ("2345678", "2345678x", False),
    ],
)
def test_names_of_commits_are_whole(what, after, accounted):
    """Only ids may be shortened, in either case of their letters."""
    told = changed({f"commits.{what}": Measure("ported")}, {f"commits.{after}": Measure("ported")}, {})
    assert (told == []) is accounted


def test_a_name_may_be_skipped():
    """A commit that is named by a ref is accounted for by a skip of that ref."""
    told = changed({"commits.topic": Measure("ported")}, {"skip.topic": Measure("not ported", "upstream has it")}, {})
    assert [one.name for one in told] == ["skip.topic"]


@pytest.mark.parametrize("name", ["parity.rules", "parity.base"])
@pytest.mark.parametrize(
    ("was", "now", "news"),
    [
        (["a", "b"], ["b", "a"], True),
        (["a", "b"], ["a", "c", "b"], False),
        (["a", "c", "b"], ["a", "b"], False),
        (["a", "c", "b"], ["b", "a"], True),
        (None, ["a", "b"], False),
        (["a", "b"], None, False),
    ],
)
def test_the_order_counts(name, was, now, news):
    """Of rules and of base, and only of what is there before and after; what came or went is told by itself."""
    before, after = ({name: Measure(one)} if one else {} for one in (was, now))
    assert bool(changed(before, after, {})) is news


@pytest.mark.parametrize(
    ("what", "name", "fits"),
    [
        ("parity.rules", "parity.rules.a", True),
        ("parity.rules", "parity.rules", True),
        ("parity.rule", "parity.rules.a", False),
        ("parity", "parity.rules.a", False),
        ("layout", "layout.paths.a.one_way", False),
        ("captures", "captures.a", True),
        ("parity.rules.a", "parity.rules", False),
    ],
)
def test_what_a_reason_is_for(what, name, fits):
    """The thing itself or what is below it; all of a section that holds the measures themselves never."""
    assert given(name, {"other": "no", what: "why"}) == ("why" if fits else "")


def test_trailers_are_lines():
    """Any case, any blanks; the last of a commit's, and of the later commits', counts."""
    text = "Subject\n\nGate-Reason: a: one\ngate-reason:  b.c:  two: three\nGate-Reason: d:\nno Gate-Reason: e: f\n"
    assert trailers([text, "x\n\nGate-Reason: a: two\n"]) == {"a": "two", "b.c": "two: three"}


def test_a_probe_of_changes():
    """A case each: red without a reason, green with one; and what is told of it."""
    changes = [
        Changed("a", "1", "2", "", NOW, "do this"),
        Changed("b", "", "2", "because", None),
        Changed("c", "1", "", "", None, "do that"),
    ]
    told = probe(changes, "main (1234)", MANIFEST, 2.5)
    assert (told.name, told.tier, told.seconds) == ("guard", "guard", 2.5)
    assert told.told == "3 changes of the measure itself since main (1234)"
    assert [(case.name, case.verdict, case.reason, case.place) for case in told.cases] == [
        ("a", Verdict.DIFFER, "a was changed without a reason", NOW),
        ("b", Verdict.MATCH, "b is new: because", MANIFEST),
        ("c", Verdict.DIFFER, "c was removed without a reason", MANIFEST),
    ]
    assert changes[1].hint == ""
    assert [case.compared for case in told.cases] == [1, 1, 1]
    found = [case.found for case in told.cases]
    assert [(one.key, one.left, one.right, one.rule, one.cause, one.place, one.counts) for (one,) in found] == [
        ("guard/a", "1", "2", "guard", "was changed without a reason; do this", NOW, True),
        ("guard/b", None, "2", "declared", "is new in this pull request: because", MANIFEST, False),
        ("guard/c", "1", None, "guard", "was removed without a reason; do that", MANIFEST, True),
    ]


def test_a_probe_of_none():
    """One case that matches, so that it is seen that somebody looked."""
    told = probe([], "main", MANIFEST)
    assert told.seconds == 0
    assert told.told == "0 changes of the measure itself since main"
    assert [(case.name, case.verdict, case.found, case.compared, case.place) for case in told.cases] == [
        ("measure", Verdict.MATCH, (), 0, MANIFEST)
    ]
    assert told.cases[0].reason == "nothing that the gate measures by was changed"
    assert probe([Changed("a", "1", "2", "", NOW)], "main", MANIFEST).told.startswith("1 change of")
