"""What porttool runs on each side of the example: `step` for `porttool diff-meta`, `fit` for `porttool smoke`."""

import time
from pathlib import Path

import torch

from parity.driver import named
from parity.scenario import job_from_json

STEPS = 3
# One thread adds up in one order, on any machine.
torch.set_num_threads(1)
# The first optimizer of a process imports for a second. Each scenario starts from a copy of this process: pay once.
torch.optim.SGD([torch.zeros(1)], lr=0.1)


def step(job, scratch):
    """A few steps of the side's own trainer: its config, what it feeds the model, and the weights it ends with."""
    trainer, config = build(job, job.tree)
    batches, steps = [], []
    for number, (features, labels) in enumerate(named(job.subject["batches"])(config)):
        if number == STEPS:
            break
        batches.append({"features": features, "labels": labels})
        steps.append(trainer.step(features, labels))
    return {
        "config": {job.source_key(key): value for key, value in flat(config)},
        "batches": {"batch": batches},
        "steps": {"step": steps},
        "weights": trainer.net.state_dict(),
    }


def fit(order, writer):
    """The whole training, a step at a time; afterwards, how good it is on points it has not seen."""
    job = job_from_json(order.job)
    trainer, config = build(job, order.tree, steps=order.steps, seed=order.seed)
    for features, labels in named(job.subject["batches"])(config):
        began = time.perf_counter()
        told = trainer.step(features, labels)
        # Whether a point is put right is 0 or 1: that is the variance of the scores behind the mean.
        spread = told["score"] * (1 - told["score"])
        writer.step(told, variance=spread, seconds=time.perf_counter() - began)
    return {"accuracy": trainer.accuracy()}


def build(job, tree, **settings):
    """The side's trainer and config: every name is the side's own, carried over by the layout."""
    config = named(job.subject["read"])(Path(tree) / job.subject["config"], job.words)
    config.update(settings)
    return named(job.subject["trainer"])(config), config


def flat(config, above=""):
    """Every leaf of the config under its dotted key."""
    for name, value in config.items():
        if isinstance(value, dict):
            yield from flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value
