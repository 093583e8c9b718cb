"""The learning rates that a run has to report, in closed form, and what a wrong series looks like.

The server builds DeepSpeed's scheduler from three facts: the kind, the warm-up ratio and the horizon (how many
optimizer steps the training has). With the warm-up `w = ratio * horizon` (not rounded) and `W = max(2, w)`:

- `cosine`: WarmupCosineLR, at any w; else, with w > 0: WarmupLR; else no scheduler, and the rate is the peak.
- A scheduler begins at rate 0. After optimizer step k its iteration is k - 1: the reported rate is `peak * (k-1)/W`
  below W, then the peak, or for cosine `peak * (m + (1-m) * (1 + cos(pi * (k-W)/(horizon-W))) / 2)`.

So a peak of 2e-6 with W = 2 is reported as 0, 1e-6, 2e-6, 2e-6. These functions do DeepSpeed's own float operations in
its own order, so a warm-up and a constant are held to equal bits. A cosine goes through the platform's `cos`, whose
last bit is its own: it is held to `COSINE_ULPS` of the peak.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from parity.smoke.series import Series

Kind = Literal["constant", "cosine"]
COSINE_ULPS = 2

_ACTOR = "actor_rollout_ref.actor."
_OPTIM = f"{_ACTOR}optim."


@dataclass(frozen=True)
class Schedule:
    """What a run's learning rate follows. `constant` means constant after the warm-up.

    `epochs` (trainer.total_epochs) and `trainer_steps` are horizons that a port may take by mistake.
    """

    kind: Kind
    peak: float
    warmup: float  # ratio of the horizon
    horizon: int  # optimizer steps of the whole training
    min_ratio: float = 0.0
    epochs: int = 0
    trainer_steps: int = 0

    def series(self, updates: Iterable[int]) -> list[float]:
        """The rate reported after each number of optimizer steps."""
        return expected(self.kind, self.peak, self.warmup, self.horizon, self.min_ratio, updates)


@dataclass(frozen=True)
class ScheduleRow:
    """One step of both sides: optimizer steps so far (of the left), the rate expected, and what each reported."""

    seed: int
    step: int
    updates: int
    expected: float
    left: float | None
    right: float | None
    left_ok: bool
    right_ok: bool


def expected(
    kind: Kind, peak: float, warmup: float, horizon: int, min_ratio: float, updates: Iterable[int]
) -> list[float]:
    """The rate reported after each of these numbers of optimizer steps, counted from the start of the training.

    NaN, which nothing equals, after the warm-up of a cosine that is all warm-up: DeepSpeed divides by zero there.
    """
    length = max(2, warmup * horizon)
    if kind == "cosine" and horizon > 0:
        return [peak * _cosine(done - 1, length, horizon, min_ratio) for done in updates]
    if warmup * horizon > 0:
        return [0.0 + (peak - 0.0) * _linear(done - 1, length) for done in updates]
    return [peak for _ in updates]


def _linear(iteration: int, length: float) -> float:
    return iteration / length if iteration < length else 1.0


def _cosine(iteration: int, length: float, horizon: int, min_ratio: float) -> float:
    if iteration < length:
        return 0.0 + iteration / length * (1.0 - 0.0)
    if horizon == length:
        return math.nan
    ratio = (1 + math.cos(math.pi * (iteration - length + 1) / (horizon - length))) / 2
    return max(0.0, min_ratio + (1.0 - min_ratio) * ratio)


def settings(words: Iterable[str]) -> dict[str, str]:
    """Hydra overrides (`a.b=1`, `+a.b=1`, `~a.b`) as a flat mapping; a later one wins."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.lstrip("+").partition("=")
        if equals and not word.startswith("~"):
            found[name] = value.strip("'\"")
        else:
            found.pop(name.lstrip("~"), None)
    return found


def of_config(config: Mapping[str, object]) -> Schedule:
    """The schedule of a flat config of verl. Raises ValueError where a number is missing or none."""
    kind = str(config.get(f"{_OPTIM}lr_scheduler_type", "constant"))
    if kind not in ("constant", "cosine"):
        raise ValueError(f"{_OPTIM}lr_scheduler_type is {kind!r}, not constant or cosine")
    return Schedule(
        "cosine" if kind == "cosine" else "constant",
        _number(config, f"{_OPTIM}lr", 1e-6),
        _number(config, f"{_OPTIM}lr_warmup_steps_ratio", 0.0),
        horizon(config),
        _number(config, f"{_OPTIM}min_lr_ratio", 0.0),
        int(_number(config, "trainer.total_epochs", 1)),
        _trainer_steps(config),
    )


def horizon(config: Mapping[str, object]) -> int:
    """Optimizer steps of the whole training: trainer steps, times epochs, times mini-batches of a batch."""
    return _trainer_steps(config) * updates_per_step(config)


def updates_per_step(config: Mapping[str, object]) -> int:
    """Optimizer steps of one training step."""
    rows = int(_number(config, "data.train_batch_size", 1024))
    mini = int(_number(config, f"{_ACTOR}ppo_mini_batch_size", 256))
    return int(_number(config, f"{_ACTOR}ppo_epochs", 1)) * (rows // mini)


def _trainer_steps(config: Mapping[str, object]) -> int:
    told = int(_number(config, f"{_OPTIM}total_training_steps", -1))
    if told <= 0:
        told = int(_number(config, "trainer.total_training_steps", -1))
    if told <= 0:
        raise ValueError("trainer.total_training_steps is not set, so the horizon depends on the length of the data")
    return told


def _number(config: Mapping[str, object], name: str, default: float) -> float:
    value = config.get(name, default)
    if value is None or value == "null":
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f"{name} is {value!r}, not a number")
    try:
        return float(value)
    except ValueError as error:
        raise ValueError(f"{name} is {value!r}, not a number") from error


def updates_so_far(series: Series) -> list[int]:
    """Optimizer steps done after each training step; one a step where the run does not count them."""
    done, found = 0, []
    for count in series.column("updates"):
        done += 1 if count is None else int(count)
        found.append(done)
    return found


def fits(told: float | None, value: float, schedule: Schedule) -> bool:
    """Whether a reported rate is the expected one: equal bits, or for a cosine within a few ULPs of the peak."""
    if told is None:
        return False
    if schedule.kind == "constant":
        return told == value and math.copysign(1, told) == math.copysign(1, value)
    return abs(told - value) <= COSINE_ULPS * math.ulp(schedule.peak)


def check(series: Series, schedule: Schedule) -> list[int]:
    """The steps (from 1) whose reported rate is not the schedule's."""
    values = schedule.series(updates_so_far(series))
    pairs = zip(series.column("lr"), values, strict=True)
    return [place for place, (told, value) in enumerate(pairs, 1) if not fits(told, value, schedule)]


def rows(left: Series, right: Series, schedule: Schedule) -> list[ScheduleRow]:
    """The rates of both sides beside those expected, each by the optimizer steps that it counted itself."""
    done, others = updates_so_far(left), updates_so_far(right)
    found = []
    told = schedule.series(done), schedule.series(others), left.column("lr"), right.column("lr")
    pairs = zip(done, *told, strict=False)
    for step, (so_far, value, other, ours, theirs) in enumerate(pairs, 1):
        ok = fits(ours, value, schedule), fits(theirs, other, schedule)
        found.append(ScheduleRow(left.seed, step, so_far, value, ours, theirs, *ok))
    return found


def collapsed(series: Series, schedule: Schedule) -> str:
    """Why a series does not fit: the first mistake that it does fit, or "" where it fits or no mistake explains it."""
    if not check(series, schedule):
        return ""
    for other, why in _mistakes(schedule):
        if not check(series, other):
            return why
    return ""


def blind(series: Series, schedule: Schedule) -> str:
    """Which mistakes a run of this length could not show, since they would report the same rates; "" where none."""
    done = updates_so_far(series)
    same = [other for other, _ in _horizons(schedule) if other.series(done) == schedule.series(done)]
    if not same or (schedule.kind == "constant" and schedule.warmup * schedule.horizon <= 0):
        return ""
    told = " or ".join(str(other.horizon) for other in same)
    return f"a horizon of {told} would report the same learning rates in these steps: they cannot show its collapse"


def _horizons(schedule: Schedule) -> list[tuple[Schedule, str]]:
    found: dict[int, str] = {}
    told = f"should be {schedule.horizon} optimizer steps"
    if schedule.epochs:
        found[schedule.epochs] = f"the horizon is {schedule.epochs}: trainer.total_epochs was taken, it {told}"
    if schedule.trainer_steps:
        steps = schedule.trainer_steps
        found.setdefault(steps, f"the horizon is {steps}: ppo_epochs and mini-batches are not counted, it {told}")
    found.setdefault(1, f"the horizon is 1: it {told}")
    return [(replace(schedule, horizon=n), why) for n, why in found.items() if n != schedule.horizon]


def _mistakes(schedule: Schedule) -> list[tuple[Schedule, str]]:
    found = _horizons(schedule)
    if schedule.warmup > 0:
        found.append((replace(schedule, warmup=0.0), "the warm-up is missing"))
    if schedule.kind == "cosine":
        found.append((replace(schedule, kind="constant"), "the decay is missing: after the warm-up it is constant"))
        found.append((replace(schedule, min_ratio=0.0), "the lowest rate (min_lr_ratio) is not forwarded"))
    found.append((replace(schedule, kind="constant", warmup=0.0), "there is no scheduler: it is always the peak"))
    return found
