import math

import pytest

from parity.compare import Comparison, Finding, Rule, compare
from parity.record import Capture, Leaf, leaf
from parity.verdict import Verdict, judge, overall


def capture(side="left", scenario="s", env="1", crashed="", **probes):
    told = {
        probe: {k: v if isinstance(v, Leaf) else leaf(v) for k, v in keys.items()} for probe, keys in probes.items()
    }
    return Capture(scenario, side, {"env.torch": env, "commit": side}, told, crashed)


def findings(left, right, *rules):
    return [(f.probe, f.key, f.kind) for f in compare(left, right, rules).findings]


def test_equal_captures_match():
    """Two sides that observed the same are a MATCH, and say over how many keys."""
    judged = judge(compare(capture(wire={"a": 1}), capture("right", wire={"a": 1})))
    assert judged.verdict is Verdict.MATCH
    assert judged.reason == "1 key is equal"


@pytest.mark.parametrize(
    ("left", "right", "kind"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, "missing"),
        ({"a": 1}, {"a": 1, "b": 2}, "extra"),
        ({"b": 8}, {"b": "8"}, "type"),
        ({"b": 8}, {"b": 8.0}, "type"),
        ({"b": 0.3}, {"b": 0.1 + 0.2}, "value"),
        ({"b": None}, {"b": Leaf("null", None, lost=True)}, "lost"),
    ],
)
def test_each_kind_of_difference_is_a_finding(left, right, kind):
    """A key that is missing, extra, of another type, of another value, or lost on one side is found as that."""
    assert findings(capture(wire=left), capture("right", wire=right)) == [("wire", "b", kind)]


def test_the_first_finding_is_the_first_divergence():
    """Findings come in the order in which the sides recorded, not by name."""
    left, right = {"z": 1, "a": 1}, {"z": 2, "a": 2}
    assert [key for _, key, _ in findings(capture(wire=left), capture("right", wire=right))] == ["z", "a"]


def test_what_is_equal_is_counted():
    """Neither what differs nor what is declared to is equal."""
    told = compare(
        capture(wire={"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}),
        capture("right", wire={"a": 1, "b": 2, "c": 0, "d": 0, "e": 0}),
        [Rule("wire.e", "expected", reason="the target has its own")],
    )
    assert (told.compared, told.equal, len(told.findings), len(told.expected)) == (5, 2, 2, 1)


def test_within_accepts_up_to_the_tolerance_in_both_directions():
    """A tolerance is absolute, holds both ways and ends where it says; it never excuses a type."""
    rule = Rule("wire.*", "within", tolerance=0.5, evidence="20 A/A runs")
    for other, found in ((1.5, []), (0.5, []), (1.75, [("wire", "a", "value")]), (1, [("wire", "a", "type")])):
        assert findings(capture(wire={"a": 1.0}), capture("right", wire={"a": other}), rule) == found


def test_within_never_accepts_nan_or_infinity():
    """A NaN is not close to anything."""
    rule = Rule("wire.*", "within", tolerance=1e9, evidence="20 A/A runs")
    for bad in (float("nan"), float("inf")):
        assert findings(capture(wire={"a": 1.0}), capture("right", wire={"a": bad}), rule) == [("wire", "a", "value")]


def test_a_rule_without_its_evidence_or_reason_is_refused():
    """A tolerance without evidence and an exception without a reason do not exist."""
    for kind in ("within", "expected", "volatile"):
        with pytest.raises(ValueError, match="needs"):
            Rule("wire.*", kind)


def test_an_expected_difference_is_kept_apart_and_an_unused_rule_told():
    """A declared difference does not fail; a rule that excused nothing is named."""
    used, unused = Rule("wire.a", "expected", "new knob"), Rule("wire.q", "expected", "gone")
    told = compare(capture(wire={"a": 1, "b": 1}), capture("right", wire={"a": 2, "b": 1}), [used, unused])
    assert (told.findings, [f.key for f in told.expected], told.unused_rules) == ((), ["a"], (unused,))
    assert judge(told).verdict is Verdict.MATCH


def test_an_expected_difference_excuses_only_its_own_keys():
    """The same difference elsewhere is still found."""
    rule = Rule("wire.a", "expected", "new knob")
    assert findings(capture(wire={"a": 1, "b": 1}), capture("right", wire={"a": 2, "b": 2}), rule) == [
        ("wire", "b", "value")
    ]


@pytest.mark.parametrize(
    ("left", "right", "reason"),
    [
        (
            capture(wire={"a": 1}),
            capture("right", wire={"a": 1}, crashed="Traceback\nKeyError: arctic"),
            "right side crashed",
        ),
        (capture(), capture("right"), "captured nothing"),
        (
            capture(wire={"a": 1}, config={}),
            capture("right", wire={"a": 1}, config={"b": 1}),
            "captured nothing for config",
        ),
        (capture(wire={"a": 1}), capture("right", wire={"a": 1}, config={"b": 1}), "one side alone"),
        (capture(wire={"a": 1}), capture("right", env="2", wire={"a": 1}), "environments differ: env.torch"),
        (capture(wire={"a": 1}), capture("right", scenario="t", wire={"a": 1}), "two scenarios"),
    ],
)
def test_what_cannot_be_compared_is_incomparable(left, right, reason):
    """A crash, an empty capture, another environment or scenario never passes and never counts as a difference."""
    judged = judge(compare(left, right))
    assert judged.verdict is Verdict.INCOMPARABLE
    assert reason in judged.reason


def test_volatile_keys_are_counted_and_cannot_be_everything():
    """Keys declared volatile are left out by name; a comparison of nothing else is no match."""
    rule = Rule("wire.time*", "volatile", "seconds")
    told = compare(capture(wire={"time": 1.0, "a": 1}), capture("right", wire={"time": 2.0, "a": 1}), [rule])
    assert (told.findings, told.compared, told.volatile) == ((), 1, 1)
    assert compare(capture(wire={"time": 1.0}), capture("right", wire={"time": 2.0}), [rule]).incomparable


def test_a_probe_of_volatile_keys_alone_is_no_match():
    """That another probe is equal says nothing of one of which nothing was compared."""
    rule = Rule("wire.*", "volatile", "it moves")
    left, right = capture(wire={"a": 1}, config={"b": 1}), capture("right", wire={"a": 2, "c": 3}, config={"b": 1})
    assert compare(left, right, [rule]).incomparable.startswith("every key of wire is declared volatile")
    told = compare(left, right, [Rule("wire.a", "volatile", "it moves"), Rule("wire.c", "expected", "theirs")])
    assert (told.incomparable, told.volatile_in, told.compared, told.equal) == ("", ("wire",), 2, 1)


def test_a_rule_that_swallows_everything_leaves_no_match():
    """Where each key differs, and is declared to, nothing is equal: that is no evidence of anything."""
    rule = Rule("*", "expected", "all of it")
    left, right = capture(wire={"a": 1}, config={"b": 1}), capture("right", wire={"a": 2}, config={"b": 2})
    assert judge(compare(left, right, [rule])).verdict is Verdict.INCOMPARABLE
    told = compare(left, capture("right", wire={"a": 2}, config={"b": 1}), [rule])
    assert (told.incomparable, told.equal, [one.cause for one in told.expected]) == ("", 1, ["all of it"])


@pytest.mark.parametrize(
    ("verdicts", "worst"),
    [
        ([], Verdict.INCOMPARABLE),
        ([Verdict.MATCH], Verdict.MATCH),
        ([Verdict.MATCH, Verdict.INCOMPARABLE], Verdict.INCOMPARABLE),
        ([Verdict.INCOMPARABLE, Verdict.DIFFER, Verdict.MATCH], Verdict.DIFFER),
    ],
)
def test_the_worst_verdict_wins_and_none_is_not_a_match(verdicts, worst):
    """Only evidence passes: no verdict at all is INCOMPARABLE."""
    assert overall(verdicts) is worst
    assert overall(verdicts).exit_code == {"MATCH": 0, "DIFFER": 1, "INCOMPARABLE": 3}[worst.value]


def test_a_rule_and_a_finding_say_nothing_that_they_are_not_told():
    """What is left out is empty: no reason, no tolerance, no evidence, no cause; the default rule is `exact`."""
    assert Rule("wire.*", "exact") == Rule("wire.*", "exact", reason="", tolerance=0.0, evidence="")
    told = compare(capture(wire={"a": 1}), capture("right", wire={"a": 2}))
    assert told == Comparison(
        (Finding("wire", "a", leaf(1), leaf(2), "value", rule="exact", cause=""),), (), 1, 0, (), incomparable=""
    )
    assert Finding("wire", "a", None, leaf(2), "extra") == Finding("wire", "a", None, leaf(2), "extra", "exact", "")


@pytest.mark.parametrize(
    "told",
    [
        {"tolerance": 0.5},
        {"evidence": "20 A/A runs"},
        {"tolerance": 0, "evidence": "x"},
        {"tolerance": math.inf, "evidence": "x"},
        {"tolerance": math.nan, "evidence": "x"},
    ],
)
def test_a_tolerance_needs_both_a_width_and_its_evidence(told):
    """Either of them alone is refused, and so is a width of 0, or one without an end."""
    with pytest.raises(ValueError, match="needs a finite tolerance above 0 and the evidence"):
        Rule("wire.*", "within", **told)
    Rule("wire.*", "within", tolerance=0.25, evidence="20 A/A runs")


def test_within_measures_numbers_only():
    """Two texts under a tolerance are compared as they are; the widest tolerance accepts no infinity."""
    rule = Rule("wire.*", "within", tolerance=1e308, evidence="20 A/A runs")
    for ours, theirs, found in (
        ("x", "y", ["a"]),
        ("x", "x", []),
        (math.inf, 1.0, ["a"]),
        (1.0, -math.inf, ["a"]),
        (1.0, 1e300, []),
        (10**400, 10**400 + 1, []),
    ):
        assert [
            key for _, key, _ in findings(capture(wire={"a": ours}), capture("right", wire={"a": theirs}), rule)
        ] == found


def test_within_counts_whole_numbers_exactly():
    """Two that are one float are still one apart."""
    rule = Rule("wire.*", "within", tolerance=0.5, evidence="20 A/A runs")
    left, right = capture(wire={"a": 2**60}), capture("right", wire={"a": 2**60 + 1})
    assert findings(left, right, rule) == [("wire", "a", "value")]


def test_no_rule_but_within_excuses_a_distance():
    """Under `exact`, two zeros of different signs differ, whatever tolerance stands there."""
    rule = Rule("wire.*", "exact", tolerance=1.0, evidence="20 A/A runs")
    assert findings(capture(wire={"a": 0.0}), capture("right", wire={"a": -0.0}), rule) == [("wire", "a", "value")]


def test_which_rules_were_of_no_use():
    """A declared difference that is none is unused; a tolerance, and a key left out, are used by being looked at."""
    same, apart = Rule("wire.same", "expected", "new knob"), Rule("wire.apart", "expected", "new knob")
    near, time = Rule("wire.near", "within", tolerance=1.0, evidence="A/A"), Rule("wire.t", "volatile", "seconds")
    nowhere = Rule("wire.none", "within", tolerance=1.0, evidence="A/A")
    keys = {"same": 1, "apart": 1, "near": 1.0, "t": 1.0}
    left, right = capture(wire=keys), capture("right", wire={**keys, "apart": 2})
    assert compare(left, right, [same, apart, near, time, nowhere]).unused_rules == (same, nowhere)


def test_findings_come_by_probe():
    """Probes stand by name, whatever order the sides recorded them in, and a finding carries its rule."""
    names = ["wire", "oracle", "contract", "config", "b", "a", "z", "consumers"]
    told = compare(capture(**{n: {"k": 1} for n in names}), capture("right", **{n: {"k": 2} for n in names}))
    assert [(found.probe, found.rule) for found in told.findings] == [(name, "exact") for name in sorted(names)]
    assert told.compared == 8


KEYS = {"k": 1}


@pytest.mark.parametrize(
    ("left", "right", "reason"),
    [
        (
            capture(w=KEYS, crashed="Traceback\n  line\nKeyError: arctic\n \n"),
            capture("right", w=KEYS),
            "the left side crashed: KeyError: arctic",
        ),
        (capture(), capture("right", w=KEYS), "the left side captured nothing"),
        (capture(w=KEYS), capture("right", b={}, a={}, w=KEYS), "the right side captured nothing for a, b"),
        (
            capture(w=KEYS, **dict.fromkeys("hgfe", KEYS)),
            capture("right", w=KEYS, **dict.fromkeys("dcba", KEYS)),
            "one side alone was probed for a, b, c, d, e, f, g, h",
        ),
    ],
)
def test_incomparable_says_why_in_a_sentence_and_counts_nothing(left, right, reason):
    """The last line of a crash, the probes that are empty or alone, by name; and nothing was compared."""
    assert compare(left, right) == Comparison((), (), 0, 0, (), reason)


def test_only_the_environment_is_asked_and_the_first_name_told():
    """Provenance may differ in anything but `env.`; of several, the first by name is told with both its values."""
    left, right = (
        Capture("s", side, {f"env.{name}": side for name in "hgfedcba"} | {"a": side}, {"w": {"k": leaf(1)}}, "")
        for side in ("left", "right")
    )
    assert compare(left, right).incomparable == "the environments differ: env.a is 'left' and 'right'"
    alone = Capture("s", "left", {"env.a": "left", "commit": "1"}, left.probes, "")
    told = compare(alone, Capture("s", "right", {"commit": "2"}, left.probes, "")).incomparable
    assert told == "the environments differ: env.a is 'left' and None"


def test_nothing_but_volatile_keys_is_incomparable_and_says_how_many():
    """What was left out is counted; nothing was compared."""
    rule = Rule("wire.*", "volatile", "seconds")
    told = compare(capture(wire={"a": 1, "b": 2}), capture("right", wire={"a": 2, "b": 2}), [rule])
    assert told == Comparison((), (), 0, 2, (), "every key is declared volatile: nothing was compared")
