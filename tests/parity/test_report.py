"""Pairs on a terminal and as JSON: the first line is the answer, and what it says is said in order."""

from __future__ import annotations

import io
import json
import re

import pytest

from parity.compare import Rule
from parity.probes.pairs import pair, worst
from parity.report import screen
from parity.report_json import pairs_json
from parity.report_table import TableRow, table
from parity.store import Store
from parity.verdict import Verdict
from porttool.screen import console
from tests.parity.consumers_support import captured, read, requested, scanned

INPUT = read("batch.input_ids", "index", "")
SCAN = scanned(INPUT, read("meta.k"))
NAMES = ("recipe", "port")


def paired(left, right, scan=SCAN, verb="diff-meta", **rest):
    """Both sides compared."""
    return pair(left, right, scan, verb, **rest)


def printed(*pairs, width=80, **rest):
    """The lines of the screen."""
    out = io.StringIO()
    shown = console(out, colour=False)
    shown.width = width
    screen(pairs, shown, names=NAMES, **rest)
    return out.getvalue().splitlines()


def both(left, right, **rest):
    """A pair of requests with these metas."""
    return paired(requested(left), requested(right, side="target"), **rest)


def test_a_clean_scenario_is_one_line():
    """Nothing to say takes one line, also for several scenarios."""
    assert printed(both({"k": 1}, {"k": 1})) == ["MATCH  plain: 6 keys are equal"]
    assert len(printed(both({"k": 1}, {"k": 1}), both({"k": 2}, {"k": 2}))) == 2


def test_order_of_the_screen():
    """Verdict, first differing key with both values and the cause, table, what to do."""
    lines = printed(both({"k": 1, "a": 3}, {"k": 2, "a": 3}))
    assert lines[0] == "DIFFER  plain: wire.old.fwd_no_grad.meta.k has another value"
    assert lines[1:4] == ["first: wire.old.fwd_no_grad.meta.k", "  recipe: 1 (int)", "  port: 2 (int)"]
    assert lines[4] == "  cause: read by srv/batch.py:split:1"
    assert lines[5] == "wire.meta.k in old.fwd_no_grad"
    assert "what to do" in lines


def test_wide_screen_has_a_table():
    """On a wide screen the columns stand side by side, and no line ends in spaces."""
    lines = printed(both({"k": 1}, {"k": 2}), width=200)
    head = next(line for line in lines if line.lstrip().startswith("key"))
    assert re.split(r" {2,}", head.strip()) == ["key", "recipe", "port", "comes from", "read by"]
    assert all(line == line.rstrip() for line in lines)
    assert max(map(len, lines)) <= 200


def test_a_cause_is_no_reader():
    """What is in no dict of the server has a cause in the place of a reader, and is not said to be read by it."""
    read = TableRow("meta.k", "1", "2", "", "srv/batch.py:split:1", is_read=True)
    caused = TableRow("order", "3 calls", "4 calls", "", "another order", is_read=False)

    def lines(*rows, width):
        out = io.StringIO()
        shown = console(out, colour=False)
        shown.width = width
        table(shown, NAMES, rows)
        return out.getvalue().splitlines()

    narrow = lines(read, caused, width=80)
    assert narrow[3] == "    read by: srv/batch.py:split:1" and narrow[-1] == "    cause: another order"
    heads = [lines(*rows, width=200)[0].rstrip() for rows in ((read,), (caused,), (read, caused))]
    assert [re.split(r" {2,}", head)[-1] for head in heads] == ["read by", "cause", "read by or cause"]


def test_a_finding_without_a_reader_has_its_cause():
    """Without a scan nobody is known to read a key."""
    lines = printed(paired(requested({"k": 1}), requested({"k": "1"}, side="target"), scan=None))
    assert "    cause: int on the left, str on the right" in lines and not any("read by" in line for line in lines)


def test_the_answer_stands_above_several():
    """With more than one scenario a bad one is named in the first line."""
    lines = printed(both({"k": 1}, {"k": 1}), both({"k": 1}, {"k": 2}))
    assert lines[0] == "DIFFER  1 of 2 scenarios: plain"
    assert lines[1].startswith("MATCH") and lines[2].startswith("DIFFER")


def test_missing_extra_type_and_lost():
    """Each kind of difference is said in words."""
    told = both({"k": 1, "a": 1, "b": 1}, {"k": 1.0, "b": 1, "c": 2})
    causes = {finding.key.rpartition(".")[2]: finding.cause for finding in told.comparison.findings}
    assert causes["a"].startswith("the right side does not have it")
    assert causes["c"].startswith("the left side does not have it")
    assert causes["k"].startswith("int on the left, float on the right")


def test_first_divergence_follows_the_calls():
    """The first finding is in the call that was made first, whatever its name."""
    request = {"meta": {"k": 1}, "batch": {"input_ids": 1}, "processing": {"post": []}}
    other = {**request, "meta": {"k": 2}}
    sides = [
        {"order": "zz.fwd_no_grad > aa.fwd_bwd", "zz": {"fwd_no_grad": one}, "aa": {"fwd_bwd": one}}
        for one in (request, other)
    ]
    told = paired(captured(wire=sides[0]), captured(wire=sides[1]))
    assert [finding.key.partition(".")[0] for finding in told.comparison.findings] == ["zz", "aa"]


def test_order_of_calls_is_explained():
    """Where the sequences part is said in words."""
    left = captured(wire={"order": "a.x > b.y"})
    right = captured(wire={"order": "a.x > b.y > c.z"})
    (finding,) = paired(left, right).comparison.findings
    assert finding.cause == "the right side also calls c.z after b.y"


def test_shared():
    """What nobody reads on either side does not differ; it is counted, listed on demand, and told in JSON."""
    told = both({"k": 1, "dead": 1}, {"k": 1, "dead": 1})
    assert told.verdict is Verdict.MATCH
    assert printed(told) == ["MATCH  plain: 7 keys are equal; shared: 1 key without a reader or a sender"]
    assert printed(told, shared=True)[1] == (
        "  shared  meta.dead.unread: sent in meta; nobody reads it  [old.fwd_no_grad]"
    )
    (finding,) = pairs_json([told])["probes"]["consumers"]["findings"]
    assert (finding["key"], finding["rule"]) == ("plain/meta.dead.unread", "shared")


def test_shared_names_that_are_near():
    """A likely misspelling is named in the one line of a clean scenario."""
    meta = {"k": 1, "zorro_load_balancer": True}
    told = both(meta, meta, scan=scanned(INPUT, read("meta.k"), read("meta.load_balancer")))
    first, second = printed(told, told)
    assert first.endswith("(meta.zorro_load_balancer is sent, meta.load_balancer is read)")
    assert second.endswith("without a reader or a sender")


def test_shared_fails_where_the_manifest_says_so():
    """A glob under parity.shared turns a shared defect into a difference."""
    meta = {"k": 1, "dead": 1}
    told = both(meta, meta, failing=["consumers.meta.dead.*"])
    assert told.verdict is Verdict.DIFFER
    assert [finding.rule for finding in told.comparison.findings] == ["shared"]
    assert len(pairs_json([told])["probes"]["consumers"]["findings"]) == 1


WRONG = {"old": {"agrees": False, "cause": "rows [1] are wrong"}}


def test_laws_that_both_sides_break():
    """Two sides that are wrong alike match, but the line says so; the manifest can make it fail."""
    sides = [requested(extra={"oracle": WRONG}, side=side) for side in ("source", "target")]
    told = paired(*sides)
    assert printed(told) == ["MATCH  plain: 8 keys are equal; wrong on both sides: oracle"]
    assert printed(told, shared=True)[1] == "  shared  oracle, oracle.old.agrees: rows [1] are wrong"
    (finding,) = pairs_json([told])["probes"]["oracle"]["findings"]
    assert (finding["rule"], finding["cause"]) == ("shared", "oracle: rows [1] are wrong")
    failed = paired(*sides, failing=["laws.oracle"])
    assert printed(failed)[0] == "DIFFER  plain: oracle.old.agrees is wrong on both sides"
    assert len(pairs_json([failed])["probes"]["oracle"]["findings"]) == 1


def test_a_law_that_one_side_breaks_is_the_cause():
    """A difference that is a broken law says which."""
    right = requested(extra={"oracle": WRONG}, side="target")
    told = paired(requested(extra={"oracle": {"old": {"agrees": True, "cause": ""}}}), right)
    assert {finding.key: finding.cause for finding in told.comparison.findings}["old.agrees"] == "rows [1] are wrong"


def test_mismatch_on_one_side():
    """A key that loses its reader on one side differs, with the dict its reader looks in, and what to do."""
    scan = scanned(INPUT, read("meta.k"), read("ds_worker_config.x", "get", "'none'", "initialize"))
    left = requested({"k": 1, "x": 2}, client={"ds_worker_config": {"x": 2}})
    right = requested({"k": 1, "x": 2}, client={"ds_worker_config": {"y": 2}}, side="target")
    told = paired(left, right, scan)
    assert [finding.key for finding in told.comparison.findings] == ["meta.x.unread"]
    lines = printed(told)
    assert any("the reader looks in ds_worker_config" in line and "where it is not sent" in line for line in lines)
    assert any(line.startswith("  send x in ds_worker_config") for line in lines)


def test_verbs_take_their_probes():
    """diff-meta compares requests, diff-config configs, contract the calls; mismatches go where they belong."""
    left = requested({"k": 1}, client={"ds_config": {"a": 1}}, extra={"contract": {"x": 1}})
    right = requested({"k": 2}, client={"ds_config": {"a": 2}}, extra={"contract": {"x": 2}}, side="target")
    probes = {
        verb: {finding.probe for finding in paired(left, right, SCAN, verb).comparison.findings}
        for verb in ("diff-meta", "diff-config", "contract")
    }
    assert probes == {"diff-meta": {"wire"}, "diff-config": {"config"}, "contract": {"contract"}}


def test_rules():
    """A declared difference is no finding; it is counted in the line, and a rule that fits nothing is told."""
    rules = (Rule("wire.*.meta.k", "expected", "meant"), Rule("wire.nothing", "expected", "meant"))
    told = both({"k": 1}, {"k": 2}, rules=rules)
    lines = printed(told)
    assert lines[0] == "MATCH  plain: 5 keys are equal; 1 differ as declared"
    assert lines[1] == "warning: the rule 'wire.nothing' fitted nothing"
    assert pairs_json([told])["probes"]["wire"]["findings"][0]["rule"] == "expected"


def test_a_crash_is_incomparable():
    """A side that died is no match; its last lines are shown, and which side to mend."""
    told = paired(requested(), captured(side="target", crashed="Traceback\nValueError: no such key"))
    lines = printed(told)
    assert told.verdict.exit_code == 3
    assert lines[0] == "INCOMPARABLE  plain: the target side crashed: ValueError: no such key"
    assert "  target: ValueError: no such key" in lines
    assert "  make the target side run: its last lines are above" in lines


def test_other_environments_are_incomparable():
    """Different packages are not compared."""
    right = requested(side="target", provenance={"env.python": "3.12"})
    told = paired(requested(), right)
    assert told.verdict is Verdict.INCOMPARABLE
    assert any("one environment" in line for line in printed(told))


def test_json_shape():
    """Exactly verdict, probes and provenance; a finding has exactly five words."""
    told = pairs_json([both({"k": 1}, {"k": 2})])
    assert set(told) == {"verdict", "probes", "provenance"}
    assert told["verdict"] == "DIFFER"
    assert all(set(probe) == {"verdict", "findings"} for probe in told["probes"].values())
    (finding,) = told["probes"]["wire"]["findings"]
    assert finding == {
        "key": "plain/old.fwd_no_grad.meta.k",
        "left": "1 (int)",
        "right": "2 (int)",
        "rule": "exact",
        "cause": "read by srv/batch.py:split:1",
    }
    assert told["provenance"]["left"]["env.python"] == "3.11"
    assert told["provenance"]["scenarios"]["plain"]["verdict"] == "DIFFER"
    json.dumps(told)


def test_stored(tmp_path):
    """A side that is not as its file says differs; a file of another environment is told and fails nothing."""
    store = Store(tmp_path / "port.yaml")
    store.update(requested({"k": 1}), {})
    clean = both({"k": 1}, {"k": 1})
    moved = store.held(requested({"k": 2}))
    lines = printed(clean, stored=[moved])
    assert lines[0] == "DIFFER  both sides agree, but 1 are not as stored"
    assert lines[2].startswith("DIFFER  port.captures/plain.source.json")
    assert pairs_json([clean], [moved])["verdict"] == "DIFFER"
    other = store.held(requested({"k": 1}, provenance={"env.torch": "3"}))
    assert printed(clean, stored=[other])[1].startswith("port.captures/plain.source.json is not compared")
    assert pairs_json([clean], [other])["verdict"] == "MATCH"


def test_no_scenario_is_no_match():
    """Nothing compared is not a pass."""
    assert worst([]) is Verdict.INCOMPARABLE
    assert pairs_json([])["verdict"] == "INCOMPARABLE"


@pytest.mark.parametrize("width", [80, 200])
def test_nothing_is_cut(width):
    """A long value stands whole on any width."""
    long = "x" * 150
    lines = printed(both({"k": long}, {"k": "y"}), width=width)
    assert long in "".join(line.strip() for line in lines)
