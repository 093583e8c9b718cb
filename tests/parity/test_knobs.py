"""Turning knobs: what moved, on which side, and whether anybody reads it."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace

import pytest

from parity.knobs import Moved, Sweep, Turned, moved, spread, sweep
from parity.knobs_leaves import Knob
from parity.report_knobs import knobs_json, knobs_screen
from parity.scenario import Scenario
from parity.verdict import Verdict
from porttool.screen import console
from tests.parity.consumers_support import captured, read, requested, scanned

KNOB = Knob("rl.k", "1", "2")
SCAN = scanned(read("batch.input_ids", "index", ""), read("meta.k"))
ELSEWHERE = scanned(read("batch.input_ids"), read("ds_worker_config.k", "get", "'none'", "initialize"))


def test_alive():
    """A knob that moves a key with a reader is alive, and the key is named."""
    told = moved(requested({"k": 1}), requested({"k": 2}), KNOB, SCAN)
    assert told == Moved("alive", ("wire.old.fwd_no_grad.meta.k",))


def test_dead():
    """A knob that moves nothing is dead."""
    assert moved(requested(), requested(), KNOB, SCAN) == Moved("dead", cause="it moves nothing")


def test_dead_where_nobody_reads():
    """A knob that moves only what nobody reads is dead, with the dict in which its reader looks."""
    client = {"ds_worker_config": {"zorro": True}}
    told = moved(requested({"k": 1}, client=client), requested({"k": 2}, client=client), KNOB, ELSEWHERE)
    assert told.state == "dead"
    assert told.cause.startswith(
        "it moves only wire.old.fwd_no_grad.meta.k: sent in meta; the reader looks in ds_worker"
    )


def test_who_reads_is_no_effect():
    """The recorded reads alone do not make a knob alive."""
    after = requested(extra={"reads": {"old": {"meta": {"k": {"read_by": "b"}}}}})
    assert (
        moved(requested(extra={"reads": {"old": {"meta": {"k": {"read_by": "a"}}}}}), after, KNOB, SCAN).state
        == "dead"
    )


UNKNOWN = {"deepspeed": {"training": {"1": {"unknown": {"log_level": 1}}}}}


@pytest.mark.parametrize(
    ("config", "state"),
    [
        ({"client": {"backend": "other"}}, "alive"),
        ({"server": {"training": {"log_level": "x"}}, **UNKNOWN}, "dead"),
        ({"server": {"training": {"zero": 3}}}, "alive"),
    ],
)  # fmt: skip
def test_configs(config, state):
    """A field of the client counts, and a DeepSpeed key only where DeepSpeed asks for it."""
    base = {"client": {"backend": "local"}}
    before = captured(wire={"order": "x"}, config=base)
    assert moved(before, captured(wire={"order": "x"}, config={**base, **config}), KNOB, SCAN).state == state


def test_crashed_and_not_there():
    """A value that ends the run, and a side without the key, are told apart."""
    assert moved(requested(), captured(crashed="a\nValueError: no"), KNOB, SCAN) == Moved(
        "crashed", cause="ValueError: no"
    )
    lacking = captured(
        wire={"order": "x"}, config={"override": {"rl.k": "no such key"}, "client": {"backend": "local"}}
    )
    assert moved(requested(), lacking, KNOB, SCAN).state == "not there"


def test_a_side_that_cannot_be_compared_is_not_dead():
    """A knob that takes a probe away moves something, whatever it is."""
    after = captured(wire={"order": "x"})
    told = moved(captured(wire={"order": "x"}, config={"a": 1}), after, KNOB, None)
    assert told.state == "crashed" and "config" in told.cause


def turned(left, right, key="rl.k"):
    """One knob with these states."""
    return Turned("plain", Knob(key, "1", "2"), left, right)


ALIVE, DEAD = Moved("alive", ("wire.a",)), Moved("dead", cause="it moves nothing")


@pytest.mark.parametrize(
    ("left", "right", "verdict"),
    [
        (ALIVE, ALIVE, Verdict.MATCH),
        (DEAD, DEAD, Verdict.MATCH),
        (ALIVE, DEAD, Verdict.DIFFER),
        (ALIVE, Moved("alive", ("wire.b",)), Verdict.DIFFER),
        (ALIVE, Moved("crashed", cause="x"), Verdict.DIFFER),
    ],
)
def test_verdict(left, right, verdict):
    """Both sides must answer alike; a knob that is dead on both is shared."""
    assert Sweep((turned(left, right),), (), ()).verdict is verdict


def test_nothing_swept_is_no_match():
    """No knob, or a base that crashed, is incomparable."""
    assert Sweep((), (), ()).verdict is Verdict.INCOMPARABLE
    assert Sweep((turned(ALIVE, ALIVE),), (), (), "the target side crashed").verdict is Verdict.INCOMPARABLE
    assert Sweep((turned(DEAD, DEAD),), (), (), failing=(turned(DEAD, DEAD),)).verdict is Verdict.DIFFER


def printed(told):
    """The lines of the screen."""
    out = io.StringIO()
    knobs_screen(told, console(out, colour=False), ("recipe", "port"))
    return out.getvalue().splitlines()


def test_screen():
    """The answer first; then what differs, what is dead on both sides and why, and what was not swept."""
    unswept = (Knob("rl.path", "x", "", "no other valid value"),)
    told = Sweep((turned(ALIVE, DEAD), turned(DEAD, DEAD, "rl.dead"), turned(ALIVE, ALIVE, "rl.fine")), unswept, ())
    lines = printed(told)
    assert lines[0] == "DIFFER  plain: 1 of 3 knobs differ; 1 are dead on both sides; 1 not swept"
    assert lines[1:4] == [
        "differs  rl.k: 1 -> 2  [plain]",
        "    recipe: moves wire.a",
        "    port: dead: it moves nothing",
    ]
    assert "dead  rl.dead" in lines and "    plain, 1 -> 2: it moves nothing" in lines
    assert "not swept  rl.path: no other valid value" in lines


def test_clean_screen():
    """Nothing to tell is one line."""
    assert printed(Sweep((turned(ALIVE, ALIVE),), (), ())) == ["MATCH  plain: 1 knob moves the same on both sides"]


def test_json():
    """The shape of a probe; a knob dead on both sides is a shared finding; every knob is in the provenance."""
    told = knobs_json(Sweep((turned(ALIVE, DEAD), turned(DEAD, DEAD, "rl.dead")), (), ((captured(), captured()),)))
    assert set(told) == {"verdict", "probes", "provenance"} and set(told["probes"]["knobs"]) == {"verdict", "findings"}
    assert [(one["key"], one["rule"]) for one in told["probes"]["knobs"]["findings"]] == [
        ("plain/rl.k", "exact"),
        ("plain/rl.dead", "shared"),
    ]
    assert [one["key"] for one in told["provenance"]["knobs"]] == ["rl.k", "rl.dead"]
    json.dumps(told)


@pytest.mark.parametrize("cores", [1, 2, 4, 6, 64])
def test_spread(monkeypatch, cores):
    """However many workers share the jobs, each capture comes back in its own place."""
    monkeypatch.setattr("parity.knobs.os.cpu_count", lambda: cores)
    rows = []

    def capturer(wanted, stack):
        rows.extend(wanted)
        return [[f"{side}{job}" for job in jobs] for side, jobs in wanted]

    sides = [("l", list(range(7))), ("r", list(range(7)))]
    assert spread(sides, None, capturer) == [[f"l{n}" for n in range(7)], [f"r{n}" for n in range(7)]]
    assert len(rows) == min(14, max(2, 2 * (min(cores, 32) // 2)))
    assert all(jobs for _, jobs in rows)


RULED = SimpleNamespace(
    parity={"rules": {"wire.*.meta.free": {"expected": "theirs"}}}, where=lambda *at: "m.yaml:1"
)


@pytest.mark.parametrize(
    ("metas", "apart"),
    [
        ([{"k": 1}, {"k": 2}, {"k": 1}, {"k": 2}], ()),
        ([{"k": 1}, {"k": 2}, {"k": 1}, {"k": 3}], ("wire.old.fwd_no_grad.meta.k",)),
        ([{"k": 1, "a": 1}, {"k": 2, "a": 1}, {"k": 1, "a": 2}, {"k": 2, "a": 2}], ()),
        ([{"k": 1}, {"k": 2}, {"k": 2}, {"k": 3}], ()),
        ([{"k": 1, "free": 1}, {"k": 2, "free": 2}, {"k": 1, "free": 1}, {"k": 2, "free": 3}], ()),
    ],
)
def test_one_key_moved_to_two_values(metas, apart, monkeypatch):
    """What both sides move is compared as well, by the rules; what differs anyway is not the knob's doing."""
    wanted = iter(metas)

    def capturer(asked, stack):
        return [[requested(next(wanted), side=row[0][0], scenario=one.name) for _, one in row] for _, row in asked]

    def jobs(scenarios, side):
        return [(side, scenario) for scenario in scenarios]

    of = SimpleNamespace(left="l", right="r", jobs=jobs, stack=None, scan=lambda: SCAN, manifest=RULED)
    monkeypatch.setattr("parity.knobs.MOST_WORKERS", 2)
    (one,) = sweep(of, {Scenario("plain"): [KNOB]}, capturer).turned
    assert (one.left.keys, one.apart, one.same) == (one.right.keys, apart, not apart)


def test_sweep():
    """Each scenario is run as it is and once a knob, on both sides; knobs without another value are left out."""
    asked = []

    def jobs(scenarios, side):
        return [(side, scenario) for scenario in scenarios]

    def capturer(wanted, stack):
        def run(side, scenario):
            asked.append((side, scenario.name))
            k = 2 if "rl.k=2" in scenario.overrides and side == "source" else 1
            return requested({"k": k}, side=side, scenario=scenario.name)

        return [[run(*job) for job in row] for _, row in wanted]

    of = SimpleNamespace(left="l", right="r", jobs=jobs, stack=None, scan=lambda: SCAN, manifest=RULED)
    told = sweep(of, {Scenario("plain"): [KNOB, Knob("rl.path", "x", "")]}, capturer)
    assert sorted(set(asked)) == [(side, name) for side in ("source", "target") for name in ("plain", "plain+rl.k=2")]
    (one,) = told.turned
    assert (one.left.state, one.right.state, one.same) == ("alive", "dead", False)
    assert [knob.key for knob in told.unswept] == ["rl.path"]
    assert told.verdict is Verdict.DIFFER
