"""The likely cause of a finding, from the pattern of what differs first and what does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from parity.smoke.laws import UNALIGNED, WEIGHTS
from parity.smoke.outcome import Compared, Finding

_CELLS = ("exact", "envelope")
_LENGTHS = ("response_length", "tokens")
# Digests of a step's batch, which a driver may tell.
_RESPONSES, _SCORES, _OLD = "digest/responses", "digest/token_level_scores", "digest/old_log_probs"
_REFERENCE, _ADVANTAGES = "digest/ref_log_prob", "digest/advantages"


@dataclass(frozen=True)
class Pattern:
    """The first step of a seed at which anything differs: which metrics differ there, and which laws a side breaks."""

    step: int
    differ: frozenset[str]
    known: frozenset[str]
    broken: frozenset[str]

    def alone(self, *metrics: str) -> bool:
        """Whether nothing but some of these differs."""
        return bool(self.differ) and self.differ <= set(metrics)

    def same(self, *metrics: str) -> bool:
        """Whether these were recorded and do not differ."""
        return all(name in self.known and name not in self.differ for name in metrics)


def cause(finding: Finding, compared: Compared) -> str:
    """A short sentence, or "" where the pattern says nothing."""
    if finding.cause:
        return finding.cause
    if finding.rule == "steps":
        return "one side trains for another number of steps: total_training_steps, or the length of its data"
    if finding.rule not in _CELLS:
        return ""
    ended = next((one for one in compared.findings if one.rule == "steps" and one.seed == finding.seed), None)
    if ended and finding.step >= ended.step:
        return f"follows {ended.key}"
    pattern = _pattern(compared, finding.seed)
    if finding.metric == "lr" and pattern and "updates" not in pattern.differ:
        return _of_rate(compared, finding)
    if finding.step == 0 or pattern is None or finding.step > pattern.step:
        return _after(compared, finding, pattern)
    return next((told for test, told in _PATTERNS if test(pattern)), "")


def _pattern(compared: Compared, seed: int) -> Pattern | None:
    found = [one for one in compared.findings if one.seed == seed and one.step and one.rule in _CELLS]
    if not found:
        return None
    step = min(one.step for one in found)
    differ = frozenset(one.metric for one in found if one.step == step)
    known = frozenset(curve.metric for curve in compared.curves if curve.seed == seed)
    laws = [one for one in compared.findings if one.rule == "law" and one.seed == seed]
    # Weights that never came differ in one step and are seen to stand still in the next.
    late = {WEIGHTS: step + 1} if differ == {WEIGHTS} else {}
    broken = frozenset(one.metric for one in laws if one.step <= late.get(one.metric, step))
    return Pattern(step, differ, known, broken)


def _of_rate(compared: Compared, finding: Finding) -> str:
    """A rate follows from nothing else that is shown; the closed form may know more."""
    known = (one.cause for one in compared.findings if one.rule == "schedule" and one.key == finding.key)
    return next(known, "the schedule: horizon, warm-up or peak; every update after this one is another one")


def _after(compared: Compared, finding: Finding, pattern: Pattern | None) -> str:
    if pattern is None:
        return "the validation alone differs: its data, its sampling or its reward"
    first = next(one for one in compared.findings if one.seed == finding.seed and one.step == pattern.step)
    return f"follows {first.key}"


def _rollouts(pattern: Pattern) -> bool:
    """Whether the sampled tokens differ: by their digest, else by what is counted of them."""
    if _RESPONSES in pattern.known:
        return _RESPONSES in pattern.differ
    return bool(pattern.differ & {"score", *_LENGTHS})


def _reward(pattern: Pattern) -> bool:
    return bool(pattern.differ & {"score", _SCORES}) and pattern.same(_RESPONSES)


def _unsynced(pattern: Pattern) -> bool:
    return WEIGHTS in pattern.broken or (pattern.step > 1 and _rollouts(pattern) and pattern.same(WEIGHTS))


def _reference(pattern: Pattern) -> bool:
    terms = {name for name in pattern.differ if name == _REFERENCE or name.rpartition("/")[2].startswith("kl_")}
    return bool(terms) and pattern.alone("loss", "grad_norm", WEIGHTS, *terms)


# The first that holds is told: what comes earlier in a training step stands higher.
_PATTERNS: tuple[tuple[Callable[[Pattern], bool], str], ...] = (
    (
        lambda found: "updates" in found.differ,
        "the mini-batch loop or ppo_epochs: the sides do not take the same number of optimizer steps",
    ),
    (_unsynced, "the weights are not synced to the sampler after the update"),
    (
        lambda found: _rollouts(found) and found.step == 1,
        "the rollouts differ before any update: prompts, seed, sampling temperature, or the reward if only it differs",
    ),
    (
        lambda found: _rollouts(found) and WEIGHTS in found.known,
        "the sampler had equal weights and samples otherwise: seed, temperature, prompts or their order",
    ),
    (
        _rollouts,
        "the update before it was another one though its loss and norm were equal: clipping, optimizer (betas, weight "
        "decay), learning rate, or weights that are not synced",
    ),
    (_reward, "the reward: equal responses have other scores"),
    (lambda found: "first_ratio" in found.broken or _OLD in found.differ, UNALIGNED),
    (
        lambda found: _ADVANTAGES in found.differ,
        "the advantages: their computation, their grouping, or their place beside the tokens",
    ),
    (_reference, "the log-probs of the reference or the weight of the KL term: shift, temperature or coefficient"),
    (
        lambda found: WEIGHTS in found.differ and found.alone(WEIGHTS, "lr"),
        "the optimizer step: equal gradients make other weights; clipping, betas, weight decay or learning rate",
    ),
    (lambda found: found.alone("entropy"), "the entropy alone: its shift against the tokens, or its temperature"),
    (
        lambda found: found.alone("grad_norm", WEIGHTS),
        "the gradient with an equal loss: clipping, dtype of the gradient accumulation, or loss scale",
    ),
    (lambda found: "first_ratio" in found.differ, UNALIGNED),
    (
        lambda found: "loss" in found.differ and found.same("pg_loss"),
        "the terms of the loss beside pg_loss: KL or entropy coefficient, or loss scale",
    ),
    (
        lambda found: "pg_loss" in found.differ and found.same("score"),
        "the policy loss of equal rollouts: advantages, old log-probs (shift, temperature) or clip range",
    ),
    (
        lambda found: "entropy" in found.differ,
        "the log-probs of equal rollouts: shift, temperature or dtype of the logits",
    ),
)
