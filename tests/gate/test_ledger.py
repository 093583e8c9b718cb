"""The ledger: what differs after each commit, and what of it a commit closed, opened, narrowed or widened."""

from __future__ import annotations

from parity.gate.ledger import opened, point, with_steps
from parity.probes.pairs import VERBS, pair
from parity.record import Capture
from tests.parity.consumers_support import ENVIRONMENT, read, requested, scanned

SCAN = scanned(read("batch.input_ids", "index", ""), read("meta.k"), read("meta.a"))


def pairs(scenarios):
    """All verbs of these scenarios, each a pair of metas."""
    extra = {"contract": {"bind": {"x": True}}}
    return [
        pair(
            requested(left, scenario=name, extra=extra),
            requested(right, scenario=name, side="target", extra=extra),
            SCAN,
            verb,
        )
        for name, (left, right) in scenarios.items()
        for verb in VERBS
    ]


def walk(*stops):
    """The points of a history, each given by its scenarios."""
    found = []
    for number, scenarios in enumerate(stops):
        found.append(point(f"{number}" * 40, f"commit {number}", pairs(scenarios), found))
    return found


EQUAL = ({"k": 1, "a": 1}, {"k": 1, "a": 1})
K = ({"k": 1, "a": 1}, {"k": 2, "a": 1})
A = ({"k": 1, "a": 1}, {"k": 1, "a": 2})
WIRE = "wire.old.fwd_no_grad.meta."


def test_the_base_closes_and_opens_nothing():
    """There is nothing before it to compare with."""
    (base,) = walk({"plain": K})
    assert base.open.wire == {f"{WIRE}k"} and base.moves == ()


def test_what_a_commit_closes_and_opens():
    """A key that differs no more is closed, one that does for the first time is opened."""
    _, first, second = walk({"plain": K}, {"plain": A}, {"plain": EQUAL})
    assert first.moves == (("closes", (f"{WIRE}k",)), ("opens", (f"{WIRE}a",)))
    assert second.moves == (("closes", (f"{WIRE}a",)),) and not second.open.keys


def test_fewer_and_more_scenarios():
    """A key that differs in fewer scenarios is narrowed, not closed; in more, widened, not opened."""
    both, one, again = walk({"plain": K, "bold": K}, {"plain": K, "bold": EQUAL}, {"plain": K, "bold": K})
    assert len(both.cells) == 2
    assert one.moves == (("narrows", (f"{WIRE}k",)),)
    assert again.moves == (("widens", (f"{WIRE}k",)),)


def test_a_key_counts_once():
    """Distinct keys are counted, however many scenarios show them."""
    told = opened(pairs({"plain": K, "bold": K, "third": K}))
    assert (len(told.wire), len(told.config)) == (1, 0)


def test_ds_config_has_its_own_column():
    """The leaves of ds_config are told apart from the other configs."""
    left = requested(client={"lr": 1, "ds_config": {"x": 1}, "log_prob_ds_config": {"y": 1}})
    right = requested(client={"lr": 2, "ds_config": {"x": 2}, "log_prob_ds_config": {"y": 2}}, side="target")
    told = opened([pair(left, right, SCAN, "diff-config")])
    assert told.ds_config == {"config.client.ds_config.x", "config.client.log_prob_ds_config.y"}
    assert told.config == {"config.client.lr"}


def test_a_crash_closes_nothing():
    """After a commit that does not run nothing was seen, and the next one is compared with the last that was."""
    crashed = Capture("plain", "target", ENVIRONMENT, {}, "ValueError: no")
    base = point("0" * 40, "base", pairs({"plain": K}), [])
    lost = point("1" * 40, "lost", [pair(requested({"k": 1}), crashed, SCAN, "diff-meta")], [base])
    after = point("2" * 40, "after", pairs({"plain": EQUAL}), [base, lost])
    assert "ValueError: no" in lost.incomparable and lost.moves == ()
    assert after.moves == (("closes", (f"{WIRE}k",)),)


def test_steps_are_told_where_they_were_run():
    """Their sum, and which scenarios have any; a commit without training runs has no number, not zero."""
    told = with_steps(walk({"plain": K}, {"plain": EQUAL}), {"0" * 40: {"plain": 4, "bold": 2, "cold": 0}})
    assert [(one.steps, sorted(one.apart)) for one in told] == [(6, ["bold", "plain"]), (None, [])]
