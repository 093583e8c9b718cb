"""The likely cause, from what differs first and what does not."""

from __future__ import annotations

import pytest

from parity.smoke.compare import Told, cause, compared
from parity.smoke.laws import ROUNDED, UNALIGNED
from parity.smoke.schedule import Schedule
from tests.smoke.runs import run, target

DIGESTS = ("responses", "token_level_scores", "old_log_probs", "ref_log_prob", "advantages", "weights")


def digested(*changes, side=run):
    """A run that tells digests of its batch and weights, the same in each step but for the changes."""
    told = [(step, f"digest/{name}", f"{name}{step}") for step in range(1, 5) for name in DIGESTS]
    return side(*told, (1, "actor/kl_loss", 0.5), *changes)


def causes(*changes, plain=False, told=None):
    """The cause of the first finding of a target with these changes."""
    left, right = (run(), target(*changes)) if plain else (digested(), digested(*changes, side=target))
    return compared([left], [right], told or Told()).first.cause


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([(1, "updates", 4), (1, "loss", 1.0), (1, "lr", 0.0)], "the mini-batch loop or ppo_epochs"),
        ([(1, "digest/responses", "x"), (1, "score", 0.9)], "the rollouts differ before any update"),
        ([(3, "digest/responses", "x"), (3, "digest/weights", "y")], "the sampler had equal weights"),
        ([(3, "digest/responses", "x"), (3, "score", 0.9)], "the weights are not synced"),
        (
            [(1, "score", 0.9), (1, "digest/token_level_scores", "x"), (1, "digest/advantages", "x")],
            "the reward: equal",
        ),
        ([(1, "digest/old_log_probs", "x"), (1, "loss", 0.9), (1, "first_ratio", 0.5)], UNALIGNED),
        ([(1, "first_ratio", 0.5), (1, "loss", 0.9)], UNALIGNED),
        ([(1, "first_ratio", 1.0005), (1, "loss", 0.9)], UNALIGNED),
        ([(1, "digest/advantages", "x"), (1, "loss", 0.9), (1, "pg_loss", 0.9)], "the advantages"),
        (
            [(1, "digest/ref_log_prob", "x"), (1, "actor/kl_loss", 0.9), (1, "loss", 0.9)],
            "the log-probs of the reference",
        ),
        ([(1, "actor/kl_loss", 0.9), (1, "loss", 0.9), (1, "grad_norm", 2.0)], "the log-probs of the reference"),
        ([(3, "digest/weights", "x")], "the optimizer step: equal gradients make other weights"),
        ([(1, "entropy", 0.9)], "the entropy alone"),
        ([(1, "grad_norm", 9.0), (1, "digest/weights", "x")], "the gradient with an equal loss"),
        ([(1, "grad_norm", 9.0)], "the gradient with an equal loss"),
        ([(1, "loss", 9.0), (1, "grad_norm", 9.0)], "the terms of the loss beside pg_loss"),
        ([(1, "loss", 9.0), (1, "pg_loss", 9.0)], "the policy loss of equal rollouts"),
        ([(1, "entropy", 9.0), (1, "ppo_kl", 9.0)], "the log-probs of equal rollouts"),
        ([(1, "lr", 9.0)], "the schedule: horizon, warm-up or peak"),
        ([(0, "reward", 9.0)], "the validation alone differs"),
        ([(1, "num_turns", 9)], ""),
    ],
)
def test_each_pattern_has_its_cause(changes, words):
    """What differs first, and what does not, names the likely cause; an unknown pattern names none."""
    told = causes(*changes)
    assert told.startswith(words)
    assert bool(told) == bool(words)


def test_without_digests_the_metrics_are_the_pattern():
    """A driver that tells no digests still gets the cause that its metrics allow."""
    assert causes((1, "tokens", 90), plain=True).startswith("the rollouts differ before any update")
    assert causes((3, "tokens", 90), plain=True).startswith("the update before it was another one")
    assert causes((2, "loss", 90.0), plain=True).startswith("the terms of the loss beside pg_loss")


def test_weights_that_are_equal_and_samples_that_are_not():
    """Scores that part from step 2 on while the weights stay equal: the sampler does not have them."""
    left = run((1, "digest/weights", "a"), (2, "digest/weights", "b"))
    right = target((1, "digest/weights", "a"), (2, "digest/weights", "b"), (2, "score", 0.9))
    assert compared([left], [right], Told()).first.cause.startswith("the weights are not synced")


def test_weights_that_never_came():
    """Weights that differ alone and then stand still on one side were not synced, from the first step on."""
    rates = [(step, "lr", 1e-3) for step in range(1, 5)]
    still = [(step, "digest/weights", "as they began") for step in range(1, 5)]
    left, right = digested(*rates), digested(*rates, *still, side=target)
    assert compared([left], [right], Told()).first.cause.startswith("the weights are not synced")
    moving = digested(*rates, (1, "digest/weights", "others"), side=target)
    assert compared([left], [moving], Told()).first.cause.startswith("the optimizer step")


def test_what_comes_later_follows_the_first():
    """A later finding names the first one instead of a cause of its own."""
    told = compared(
        [digested()], [digested((1, "entropy", 0.9), (3, "loss", 0.9), (0, "reward", 1.0), side=target)], Told()
    )
    assert [one.cause for one in told.findings[1:]] == ["follows step[1].entropy"] * 2


def test_a_law_broken_later_is_not_the_cause():
    """What goes wrong after the first difference does not explain it."""
    assert causes((1, "entropy", 0.9), (3, "first_ratio", 0.5)).startswith("the entropy alone")


def test_each_seed_has_a_pattern_of_its_own():
    """What is first in one seed says nothing about another."""
    left = [run(seed=1), run(seed=2)]
    right = [target((1, "entropy", 0.9), seed=1), target((2, "grad_norm", 9.0), seed=2)]
    told = compared(left, right, Told())
    assert told.findings[0].cause.startswith("the entropy alone")
    assert told.findings[1].cause.startswith("the gradient with an equal loss")


def test_a_ratio_that_rounding_explains():
    """A ratio a few thousandths off is put down to rounding; far off, to tokens or temperature."""
    for ratio, told in ((0.997, ROUNDED), (0.9, UNALIGNED)):
        changes = [(1, "first_ratio", ratio)]
        assert compared([run(*changes)], [target(*changes)], Told()).shared[0].cause == told


def test_a_schedule_names_its_own_cause():
    """The closed form knows more than the pattern; the difference itself is put down to the schedule too."""
    told = Told(schedule=Schedule("constant", 1e-3, 0.0, 80))
    left, right = (one(*((k, "lr", rate) for k in range(1, 5))) for one, rate in ((run, 1e-3), (target, 2e-3)))
    found = compared([left], [right], told).findings
    assert [one.rule for one in found[:2]] == ["exact", "schedule"]
    assert all(one.cause.startswith("the schedule: ") for one in found[:2])


def test_weights_that_another_rate_made():
    """Weights that differ from the step on in which the rate does are put down to the update, not to nothing."""
    found = compared(
        [digested()], [digested((1, "lr", 9.0), (1, "digest/weights", "x"), side=target)], Told()
    ).findings
    assert [one.metric for one in found] == ["lr", "digest/weights"]
    assert found[1].cause.startswith("the optimizer step")


def test_a_rate_never_follows_from_another_metric():
    """A rate that differs later than the rest still has a cause of its own: the closed form's, where there is one."""
    told = Told(schedule=Schedule("constant", 1e-3, 0.5, 6, 0.0, 1, 6))
    right = [(1, "entropy", 0.9), *((k, "lr", rate) for k, rate in enumerate((0.0, 5e-4, 1e-3, 1e-3), 1))]
    left = [(k, "lr", rate) for k, rate in enumerate(told.schedule.series(range(1, 5)), 1)]
    for how, words in ((told, "the horizon is 1: trainer.total_epochs was taken"), (Told(), "the schedule: ")):
        found = compared([run(*left)], [target(*right)], how).findings
        assert next(one for one in found if one.metric == "lr").cause.startswith(words)
    more = [*right, (1, "updates", 2)]
    found = compared([run(*left)], [target(*more)], Told()).findings
    assert next(one for one in found if one.metric == "lr").cause == "follows step[1].entropy"


def test_cause_can_be_asked_again():
    """The cause of a finding is a function of what was compared."""
    told = compared([run()], [target((1, "entropy", 0.9))], Told())
    assert cause(told.first, told) == told.first.cause
