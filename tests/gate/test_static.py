"""The static probes of a gate from given captures: the same answers as diff-meta, diff-config and contract give."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from parity.capture import Checkout, Stack
from parity.gate import static
from parity.gate.result import Place
from parity.probes.pairs import VERBS, pair, worst
from parity.record import Capture, flatten
from parity.scenario import Harness, Scenario
from parity.store import Store
from parity.verdict import Verdict, overall
from porttool.manifest import load
from tests.parity.consumers_support import ENVIRONMENT, read, requested, scanned
from tests.support.projects import new_project

SCAN = scanned(read("batch.input_ids", "index", ""), read("meta.k"))
SECTION = """\
parity:
  subject: {trainer: t.T, worker: w.W, rollout: r.R, adapter: a.A}
  rules: {wire.never.*: {expected: it never is}}
  scenarios:
    plain: []
    bold: [old_rl.lr=3]
"""


@dataclass(frozen=True)
class Setting:
    """What `static` asks of a setting."""

    manifest: Any


@pytest.fixture
def of(tmp_path):
    """A project with a parity section; the text of the section can be changed."""
    made = new_project(tmp_path)

    def setting(section=SECTION):
        made.write(f"  - {{pick: [{made.picks[0]}]}}\n")
        made.manifest.write_text(made.manifest.read_text() + section)
        return Setting(load(made.manifest))

    return setting


def both(left, right, scenario="plain", **rest):
    """Two captures of one scenario that send these metas."""
    extra = {"contract": {"bind": {"old.fwd_no_grad": True}}}
    sides = ((left, "source"), (right, "target"))
    return tuple(requested(meta, side=side, scenario=scenario, extra=extra, **rest) for meta, side in sides)


def probes(told):
    return {one.name: one for one in told.probes}


def test_a_match(of):
    """Every probe that saw something is there, with a case for each scenario."""
    told = static.static(of(), [both({"k": 1}, {"k": 1}), both({"k": 2}, {"k": 2}, "bold")], SCAN)
    assert [(one.name, one.verdict, len(one.cases)) for one in told.probes] == [
        ("wire", Verdict.MATCH, 2),
        ("config", Verdict.MATCH, 2),
        ("contract", Verdict.MATCH, 2),
        ("consumers", Verdict.MATCH, 2),
    ]


def test_a_difference(of):
    """The finding has its scenario, values, cause and the manifest's line; the other scenario matches."""
    told = probes(static.static(of(), [both({"k": 1}, {"k": 2}), both({"k": 2}, {"k": 2}, "bold")], SCAN))["wire"]
    assert [case.verdict for case in told.cases] == [Verdict.DIFFER, Verdict.MATCH]
    (one,) = told.failing
    assert (one.key, one.left, one.right) == ("plain/old.fwd_no_grad.meta.k", "1 (int)", "2 (int)")
    assert one.cause == "read by srv/batch.py:split:1"
    assert str(one.place).startswith("manifests/m.yaml:") and one.place.root == "project"
    assert told.cases[0].reason == "old.fwd_no_grad.meta.k has another value"


def with_origin(side, origin):
    """The same capture, whose leaf `k` comes from a line."""
    key = "old.fwd_no_grad.meta.k"
    wire = dict(side.probes["wire"])
    held = wire[key]
    wire[key] = type(held)(held.type, held.value, held.lost, origin)
    return Capture(side.scenario, side.side, side.provenance, {**side.probes, "wire": wire})


def test_the_line_of_the_target(of):
    """Where the target's leaf has an origin, that is the place; the source's own origin is no line of the target."""
    left, right = both({"k": 1}, {"k": 2})
    told = static.static(of(), [(left, with_origin(right, "app/remote/client.py:12 config.k"))], SCAN)
    assert probes(told)["wire"].failing[0].place == Place("app/remote/client.py", 12)
    told = static.static(of(), [(with_origin(left, "lib/client.py:9 config.k"), right)], SCAN)
    one = probes(told)["wire"].failing[0]
    assert one.place.root == "project" and one.origin == "lib/client.py:9 config.k"


@pytest.mark.parametrize(
    "origin",
    ["", "FSDPEngineConfig", "/usr/lib/x.py:3 a", "x.py", "x.py:a", "\ud800.py:3", "x\n.py:3", "x.py:\u0663"],
)
def test_an_origin_that_is_no_line_of_the_target(of, origin):
    """A name, a path of the machine or a file without a line is no place."""
    left, right = both({"k": 1}, {"k": 2})
    told = static.static(of(), [(left, with_origin(right, origin))], SCAN)
    assert probes(told)["wire"].failing[0].place.root == "project"


def test_a_crash_is_incomparable(of):
    """A crashed side is told once for each verb, and matches nowhere."""
    left, right = both({"k": 1}, {"k": 1})
    crashed = Capture("plain", "target", right.provenance, {}, "ValueError: no")
    told = static.static(of(), [(left, crashed)], SCAN)
    assert {one.verdict for one in told.probes} == {Verdict.INCOMPARABLE}
    assert {"wire", "config", "contract"} <= {one.name for one in told.probes}
    assert all("ValueError: no" in case.reason for one in told.probes for case in one.cases)


def test_two_crashes_are_incomparable(of):
    """Where both sides crashed nothing was seen, and that is no match."""
    sides = tuple(Capture("plain", side, ENVIRONMENT, {}, "ValueError: no") for side in ("source", "target"))
    told = static.static(of(), [sides], SCAN)
    assert {one.verdict for one in told.probes} == {Verdict.INCOMPARABLE} and len(told.probes) == 3


def test_declared_and_shared_fail_nothing(of):
    """An expected difference and a mismatch of both sides are told beside a match."""
    setting = of(SECTION.replace("wire.never.*: {expected: it never is}", "wire.*.k: {expected: it is meant}"))
    told = probes(static.static(setting, [both({"k": 1, "dead": 1}, {"k": 2, "dead": 1})], SCAN))
    assert told["wire"].verdict is Verdict.MATCH and "1 differ as declared" in told["wire"].told
    assert [(one.rule, one.counts) for one in told["wire"].cases[0].found] == [("expected", False)]
    assert [(one.rule, one.counts) for one in told["consumers"].cases[0].found] == [("shared", False)]


def test_shared_fails_where_the_manifest_says_so(of):
    """`parity.shared` turns a shared mismatch into a difference, told once."""
    setting = of(SECTION + "  shared: [consumers.meta.dead.*]\n")
    told = probes(static.static(setting, [both({"k": 1, "dead": 1}, {"k": 1, "dead": 1})], SCAN))["consumers"]
    assert [(one.rule, one.counts) for one in told.cases[0].found] == [("shared", True)]
    assert told.cases[0].reason == "meta.dead.unread is wrong on both sides"


def test_a_rule_that_fits_nothing_is_a_warning(of):
    """Only a rule that no probe of any scenario used."""
    assert static.static(of(), [both({"k": 1}, {"k": 1})], SCAN).warnings == (
        "the rule 'wire.never.*' fitted nothing",
    )


def test_what_a_rule_swallows_is_loud(of):
    """What a glob lets differ is not counted as equal, has the rule's reason, and is a warning where it is much."""
    ruled = "wire.*.k: {expected: K}, wire.*: {expected: W}"
    section = SECTION.replace("wire.never.*: {expected: it never is}", ruled)
    sides = both({"k": 1, "a": 1, "b": 1}, {"k": 2, "a": 2, "b": 2})
    told = static.static(of(section), [sides, both({"k": 2}, {"k": 2}, "bold")], SCAN)
    wire = probes(told)["wire"]
    assert wire.verdict is Verdict.MATCH and wire.told.endswith("3 differ as declared")
    assert wire.cases[0].reason == f"{wire.cases[0].compared - 3} keys are equal, 3 differ as declared"
    assert sorted(one.cause for one in wire.cases[0].found) == ["K", "W", "W"]
    assert "the rule 'wire.*' lets 2 keys differ in 1 scenario: W" in told.warnings
    assert not any("wire.*.k" in text for text in told.warnings)


def test_what_is_not_compared_is_told(of):
    """Volatile keys are not among those that are equal."""
    section = SECTION.replace("wire.never.*: {expected: it never is}", "wire.*.k: {volatile: a clock}")
    plain = probes(static.static(of(), [both({"k": 1, "a": 1}, {"k": 1, "a": 1})], SCAN))["wire"].cases[0]
    wire = probes(static.static(of(section), [both({"k": 1, "a": 1}, {"k": 2, "a": 1})], SCAN))["wire"]
    assert (wire.verdict, wire.cases[0].compared) == (Verdict.MATCH, plain.compared - 1)
    assert wire.told.endswith("1 not compared as declared")


def test_a_stored_capture_is_held_to_every_key(of):
    """What may differ between the sides may not differ from what is stored of one of them."""
    setting = of(SECTION.replace("wire.never.*: {expected: it never is}", "wire.*.k: {expected: K}"))
    left, _ = both({"k": 1}, {"k": 2})
    Store(setting.manifest.path).update(left, {})
    told = probes(static.static(setting, [both({"k": 3}, {"k": 2})], SCAN))
    assert (told["wire"].verdict, told["stored"].verdict) == (Verdict.MATCH, Verdict.DIFFER)


def test_a_stored_capture_with_another_probe(of):
    """Where both sides lost a probe alike, what is stored of one still has it: that is no match."""
    setting = of()
    left, right = both({"k": 1}, {"k": 1})
    Store(setting.manifest.path).update(left, {})
    none = [replace(side, probes={name: keys for name, keys in side.probes.items() if name != "contract"})
            for side in (left, right)]  # fmt: skip
    stored = probes(static.static(setting, [tuple(none)], SCAN))["stored"]
    assert stored.verdict is Verdict.INCOMPARABLE and "contract" in stored.cases[0].reason


def test_stored_captures_of_a_manifest_at_the_top(of):
    """Their place is a path below the project, wherever the manifest lies."""
    setting = of()
    top = setting.manifest.path.parent.parent / "m.yaml"
    top.write_text(setting.manifest.path.read_text())
    left, _ = both({"k": 1}, {"k": 1})
    Store(top).update(left, {})
    told = probes(static.static(Setting(load(top)), [both({"k": 2}, {"k": 2})], SCAN))
    assert str(told["stored"].failing[0].place) == "m.captures/plain.source.json:1"


def test_stored_captures(of):
    """A side that is not as stored differs; a file of another environment is a warning, not a verdict."""
    setting = of()
    left, right = both({"k": 1}, {"k": 1})
    for side in (left, right):
        Store(setting.manifest.path).update(side, {})
    assert probes(static.static(setting, [(left, right)], SCAN))["stored"].verdict is Verdict.MATCH
    told = probes(static.static(setting, [both({"k": 2}, {"k": 2})], SCAN))
    assert (told["wire"].verdict, told["stored"].verdict) == (Verdict.MATCH, Verdict.DIFFER)
    assert str(told["stored"].failing[0].place) == "manifests/m.captures/plain.source.json:1"
    elsewhere = both({"k": 2}, {"k": 2}, provenance={"env.python": "3.99"})
    other = static.static(setting, [elsewhere], SCAN)
    assert "stored" not in probes(other)
    assert any("environments differ" in text for text in other.warnings)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"k": 1}, {"k": 1}),
        ({"k": 1}, {"k": 2}),
        ({"k": 1}, {}),
        ({"k": 1, "dead": 2}, {"k": 1}),
        ({"a": 1}, {"b": 1}),
    ],
)
def test_the_same_verdict_as_the_verbs(of, left, right):
    """Capturing once and comparing by probe gives what each verb gives on its own."""
    sides = both(left, right)
    verbs = [pair(*sides, SCAN, verb) for verb in VERBS]
    told = static.static(of(SECTION.replace("  rules", "  # rules")), [sides], SCAN)
    assert overall([one.verdict for one in told.probes]) is worst(verbs)
    wanted = {(one.scenario, f.probe, f.key) for one in verbs for f in one.comparison.findings}
    assert {(f.key.partition("/")[0], p.name, f.name) for p in told.probes for f in p.failing} == wanted


class Recorded:
    """Stands where workers are started."""

    def __init__(self, monkeypatch):
        self.calls: list[list[tuple[str, tuple[str, ...]]]] = []
        monkeypatch.setattr("parity.gate.static.capture", self)

    def __call__(self, wanted, stack, cache, *, layout="", report=None):
        self.calls.append([(side.side, tuple(job.scenario for job in jobs)) for side, jobs in wanted])
        return [[Capture(job.scenario, side.side, {}, {"wire": dict(flatten({"a": 1}))}) for job in jobs]
                for side, jobs in wanted]  # fmt: skip


@dataclass(frozen=True)
class Sides:
    """What `captured` asks of a setting."""

    manifest: Any
    harness: Harness
    left: Checkout
    right: Checkout
    stack: Stack
    cache: Path

    def jobs(self, scenarios, side):
        from parity.scenario import job

        return [job(self.harness, scenario, side, self.manifest.layout) for scenario in scenarios]


@pytest.fixture
def sides(of, tmp_path):
    subject = dict.fromkeys(("trainer", "worker", "rollout", "adapter"), "a.B")
    harness = Harness(subject, {"source": (), "target": ()})
    left, right = (Checkout(side, side, side, side, tmp_path) for side in ("source", "target"))
    return Sides(of().manifest, harness, left, right, Stack("python", {}), tmp_path / "cache")


def test_every_capture_is_made_once(sides, monkeypatch):
    """All probes share them; scenarios with an engine come after those without, and the order is kept."""
    recorded = Recorded(monkeypatch)
    scenarios = [Scenario("a", drive="engine"), Scenario("b"), Scenario("c", drive="engine"), Scenario("d")]
    told = static.captured(sides, scenarios, 2)
    assert [(left.scenario, right.side) for left, right in told] == [(name, "target") for name in "abcd"]
    assert recorded.calls == [
        [("source", ("a", "c")), ("target", ("a", "c"))],
        [("source", ("b", "d")), ("target", ("b", "d"))],
    ]


@pytest.mark.parametrize(("jobs", "hands"), [(1, 1), (2, 1), (4, 2), (9, 4), (64, 4)])
def test_more_cores_more_workers(sides, monkeypatch, jobs, hands):
    """With more cores a side's scenarios are dealt out, but not so few to a worker that imports cost more."""
    recorded = Recorded(monkeypatch)
    static.captured(sides, [Scenario(f"s{place}") for place in range(16)], jobs)
    (call,) = recorded.calls
    assert len(call) == 2 * hands


def test_what_is_missing_is_counted(sides, monkeypatch):
    """Only what is not kept is to be made."""
    from parity.capture import cache_key

    scenarios = [Scenario("a"), Scenario("b")]
    assert static.missing(sides, scenarios) == 4
    kept = sides.cache / "captures"
    kept.mkdir(parents=True)
    (job, _) = sides.jobs(scenarios, "source")
    (kept / f"{cache_key(sides.left, job, sides.stack)}.json").write_text("{}")
    assert static.missing(sides, scenarios) == 3


def test_provenance_is_what_all_captures_share():
    """A key that differs from capture to capture is not told for the side."""
    left = [requested(provenance={"ref": "a", "seed": str(seed)}) for seed in (1, 2)]
    told = static.provenance([(left[0], left[0]), (left[1], left[1])])
    assert told == {"left": {"ref": "a"}, "right": {"ref": "a"}}
