"""Conditions on sent keys: met, not met, or open."""

from __future__ import annotations

import pytest

from parity.consumers_guards import OPAQUE, Guard, both, denied, holds

ON = ("meta", "on")
KNOWN = frozenset({"meta"})


@pytest.mark.parametrize(
    ("guard", "sent", "met"),
    [
        (Guard("truth", ON), {ON: True}, True),
        (Guard("truth", ON), {ON: 0}, False),
        (Guard("truth", ON), {}, False),
        (Guard("truth", ON, default=True), {}, True),
        (Guard("truth", ("other", "on")), {}, None),
        (Guard("truth", ON), {ON: OPAQUE}, None),
        (Guard("in", ON), {ON: None}, True),
        (Guard("in", ON), {}, False),
        (Guard("given", ON), {ON: None}, False),
        (Guard("given", ON), {ON: OPAQUE}, True),
        (Guard("given", ON, default="x"), {}, True),
        (Guard("equals", ON, "a"), {ON: "a"}, True),
        (Guard("equals", ON, "a", "a"), {}, True),
        (Guard("equals", ON, "a"), {ON: "b"}, False),
        (Guard("has", ON, "a"), {ON: ["b", "a"]}, True),
        (Guard("has", ON, "a"), {}, False),
        (Guard("above", ON, 0), {ON: 3}, True),
        (Guard("above", ON, 0, 0), {}, False),
        (Guard("const", default=False), {}, False),
        (Guard("const", default=True), {}, True),
    ],
)
def test_holds(guard, sent, met):
    """What was sent, or the reader's default, decides; a dict nobody described in full decides nothing."""
    assert holds(guard, sent, KNOWN) is met
    assert holds(denied(guard), sent, KNOWN) is (None if met is None else not met)


@pytest.mark.parametrize(
    ("kind", "values", "met"),
    [
        ("all", (True, True), True),
        ("all", (True, False), False),
        ("all", (None, False), False),
        ("all", (None, True), None),
        ("any", (None, True), True),
        ("any", (False, False), False),
        ("any", (None, False), None),
    ],
)
def test_combined(kind, values, met):
    """An open part leaves the whole open unless another part decides."""
    open_or = {None: Guard("truth", ("other", "x")), True: Guard("const", default=True), False: Guard("const")}
    guard = Guard(kind, parts=tuple(open_or[value] for value in values))
    assert holds(guard, {}, KNOWN) is met


def test_words():
    """A condition reads as a sentence."""
    on, loss = Guard("truth", ON), Guard("equals", ("processing", "loss_fn"), "grpo")
    assert f"{denied(on)}" == "not meta.on"
    assert f"{denied(loss)}" == "processing.loss_fn is not 'grpo'"
    assert f"{both((on, denied(loss)))}" == "meta.on and (processing.loss_fn is not 'grpo')"
    assert f"{Guard('any', parts=(on, loss))}" == "meta.on or processing.loss_fn is 'grpo'"
    assert denied(denied(on)) == on
    assert both((on,)) == on
    assert both((on, denied(loss))).places() == [ON, ("processing", "loss_fn")]
