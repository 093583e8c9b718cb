"""What must hold in one capture, whatever the other side does: two sides that are wrong alike still match."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from parity.consumers_sent import calls
from parity.record import Capture, Key, Leaf, leaf

_ROWS = re.compile(r"\w+\[(\d+)")
ENGINES = ("training", "log_prob")


@dataclass(frozen=True)
class Broken:
    """A law that does not hold. `key` says where it was seen, with the probe first."""

    law: str
    key: Key
    cause: str


def broken(capture: Capture) -> tuple[Broken, ...]:
    """Every law that a capture breaks, in the order of the laws. A crashed capture breaks none: it shows nothing."""
    return () if capture.crashed else tuple(found for law in LAWS for found in law(capture))


def observed(capture: Capture) -> dict[Key, Leaf]:
    """The broken laws as a probe: one leaf for each, its cause as the value."""
    return {f"{found.law}.{found.key}": leaf(found.cause) for found in broken(capture)} or {"broken": leaf(0)}


def contract(capture: Capture) -> Iterator[Broken]:
    """Calls fit the vendor's signatures and are awaited, nothing raises, prompts arrive, and the server stops once."""
    for key, told in capture.probes.get("contract", {}).items():
        kind = key.partition(".")[0].partition("[")[0]
        if kind == "bind" and told.value is not True:
            yield Broken("signature", f"contract.{key}", f"the vendor's client refuses the call: {told.value}")
        elif kind == "raises":
            yield Broken("raises", f"contract.{key}", str(told.value))
        elif kind == "never_awaited":
            yield Broken("awaited", f"contract.{key}", str(told.value))
        elif key == "shutdowns" and told.value != 1:
            yield Broken(
                "one_shutdown", f"contract.{key}", f"destroy was asked for repeatedly: {told.value} shutdowns"
            )
        elif key == "fresh_process.adapter_known" and told.value is not True:
            cause = "a process that imports the worker alone, as a Ray child does, does not know the adapter"
            yield Broken("registry", f"contract.{key}", cause)
        elif key == "prompt_tokens_kept" and told.value is not True:
            cause = "the prompt is sent as text; tokenised again it is not the tokens it was made of"
            yield Broken("prompt", f"contract.{key}", cause)


def disjoint(capture: Capture) -> Iterator[Broken]:
    """Batch and meta share no key: the server passes both to the model as keyword arguments."""
    wire = capture.probes.get("wire", {})
    for call in calls(capture):
        batch, meta = (_names(wire, f"{call}.{part}.") for part in ("batch", "meta"))
        for name in sorted(batch & meta):
            cause = f"{name} is sent in batch and in meta: got multiple values for keyword argument {name!r}"
            yield Broken("disjoint", f"wire.{call}.batch.{name}", cause)


def batch_sizes(capture: Capture) -> Iterator[Broken]:
    """train_batch_size == micro batch x accumulation steps x ranks, where GPUs that share a sequence are one rank.

    Asked of the training engine alone: for a forward-only one the server keeps nothing but the micro batch.
    """
    config = capture.probes.get("config", {})
    names = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
    train, micro, steps = (_int(config, f"client.ds_config.{name}") for name in names)
    gpus = _int(config, "client.training_gpus")
    if not (train and micro and steps and gpus):
        return
    shared = _int(config, "client.ds_config.sequence_parallel_size") or 1
    ranks = gpus // shared
    if train == micro * steps * ranks:
        return
    cause = f"{train} rows a step are not {micro} a micro batch x {steps} steps x {ranks} ranks"
    if shared > 1:
        cause += f": {gpus} GPUs with sequence_parallel_size {shared} are {ranks} ranks"
    elif train % (micro * gpus):
        cause += f": {micro} x {gpus} does not divide {train}, and the steps are rounded"
    yield Broken("batch_sizes", "config.client.ds_config.gradient_accumulation_steps", cause)


def accepted(capture: Capture) -> Iterator[Broken]:
    """DeepSpeed takes the config at the number of GPUs it is meant for, if that is one it was asked about."""
    config = capture.probes.get("config", {})
    for engine in ENGINES:
        key = f"deepspeed.{engine}.{_int(config, f'client.{engine}_gpus')}.refused"
        if key in config:
            yield Broken("accepted", f"config.{key}", str(config[key].value))


def steps(capture: Capture) -> Iterator[Broken]:
    """An update takes one optimizer step for each mini-batch of each epoch, as the learning rate horizon counts."""
    wire = capture.probes.get("wire", {})
    backward = next((call for call in calls(capture) if call.startswith("update_actor.fwd_bwd")), "")
    size = _int(wire, f"{backward}.meta.global_batch_size")
    epochs = _int(wire, f"{backward}.meta.actor_config.ppo_epochs")
    rows = _rows(wire.get("returned.old_log_prob.old_log_probs"))
    if not (size and epochs and rows):
        return
    due = epochs * (rows // size)
    taken = sum(call.partition("#")[0] == "update_actor.step" for call in calls(capture))
    if taken != due:
        cause = f"{rows} rows in mini-batches of {size}, {epochs} epochs: the learning rate horizon counts {due} "
        cause += f"optimizer steps an update, {taken} {'is' if taken == 1 else 'are'} taken"
        yield Broken("steps", "wire.order", cause)


def entropy(capture: Capture) -> Iterator[Broken]:
    """A loss that weighs entropy asks for it; the server leaves it out otherwise, and the bonus is 0."""
    wire = capture.probes.get("wire", {})
    for call in calls(capture):
        weight = wire.get(f"{call}.meta.actor_config.entropy_coeff")
        asked = wire.get(f"{call}.meta.calculate_entropy")
        if weight is not None and weight.number() and asked is not None and asked.value is not True:
            cause = f"entropy_coeff is {weight.number()!r}, but calculate_entropy is {asked.value}: the bonus is 0"
            yield Broken("entropy", f"wire.{call}.meta.calculate_entropy", cause)


def oracle(capture: Capture) -> Iterator[Broken]:
    """The server's log-probs are those of a dense forward, row by row."""
    told = capture.probes.get("oracle", {})
    for key, agrees in told.items():
        if key.endswith(".agrees") and agrees.value is not True:
            cause = told.get(f"{key.removesuffix('.agrees')}.cause")
            yield Broken("oracle", f"oracle.{key}", str(cause.value) if cause else "the log-probs are not the model's")


LAWS: tuple[Callable[[Capture], Iterator[Broken]], ...] = (
    contract,
    disjoint,
    batch_sizes,
    accepted,
    steps,
    entropy,
    oracle,
)


def _names(told: Mapping[Key, Leaf], prefix: str) -> set[str]:
    return {re.split(r"[.\[#]", key[len(prefix) :])[0] for key in told if key.startswith(prefix)}


def _int(told: Mapping[Key, Leaf], key: Key) -> int | None:
    held = told.get(key)
    return int(held.value) if held is not None and held.type == "int" else None


def _rows(held: Leaf | None) -> int:
    """The first dimension of a recorded tensor; 0 where there is none."""
    found = _ROWS.match(str(held.value)) if held is not None and held.type == "tensor" else None
    return int(found.group(1)) if found else 0
