"""What a capture says was sent, dict by dict, under the names the server's code knows the dicts by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from parity.consumers_guards import OPAQUE, Place
from parity.record import Capture, Key, Leaf

# What a call carries: the three dicts of a request, or plain arguments that the client puts into one.
OPERATIONS = {
    "fwd_no_grad": ("batch", "meta", "processing"),
    "fwd_bwd": ("batch", "meta", "processing"),
    "sync_weights": ("args",),
}
PARTS = ("batch", "meta", "processing", "args")
# A field of the client's config, and the name its dict has in the job that the server gets.
CONFIGS = {
    "ds_config": "ds_config",
    "log_prob_ds_config": "log_prob_config",
    "ds_worker_config": "ds_worker_config",
    "training_config": "training_config",
    "vllm_config": "vllm_config",
    "arctic_inference_config": "arctic_inference_config",
}
# Fields that the client copies into a job, or leaves at their defaults.
FIELDS = ("full_determinism", "seed", "arctic_inference_config")
JOBS = ("training", "log_prob", "sampling")


@dataclass(frozen=True)
class Sent:
    """The dicts of one call. `keys` maps (dict, key) to the capture's key of its first leaf; `values` to its value.

    `call` is "client" for the configs of the jobs, else `phase.op`.
    """

    call: str
    operation: str
    keys: Mapping[Place, tuple[str, Key]] = field(hash=False)
    values: Mapping[Place, Any] = field(hash=False)
    dicts: frozenset[str]

    @property
    def phase(self) -> str:
        """The part of the step that the call belongs to; "" for the configs."""
        return "" if self.call == "client" else self.call.partition(".")[0]


def sent(capture: Capture) -> list[Sent]:
    """The client's configs, then every request in the order of the calls."""
    config = capture.probes.get("config", {})
    wire = capture.probes.get("wire", {})
    configs = _configs(config)
    found = [configs] if configs.keys else []
    for call in calls(capture):
        operation = call.rpartition(".")[2].partition("#")[0]
        if operation in OPERATIONS:
            rows = {
                name: {key: leaf for key, leaf in wire.items() if key.startswith(f"{call}.{name}.")}
                for name in OPERATIONS[operation]
            }
            if any(rows.values()):
                found.append(_request(call, operation, rows, configs))
    return found


def calls(capture: Capture) -> list[str]:
    """The names of all calls in order."""
    order = capture.probes.get("wire", {}).get("order")
    return str(order.value).split(" > ") if order is not None else []


def jobs(capture: Capture) -> list[str]:
    """The jobs the server was asked to start."""
    config = capture.probes.get("config", {})
    found = {key.split(".")[1] for key in config if key.startswith("server.")}
    gpus = {job: config.get(f"client.{job}_gpus") for job in JOBS}
    return [job for job in JOBS if job in found or ((held := gpus[job]) is not None and held.value)]


def _configs(config: Mapping[Key, Leaf]) -> Sent:
    keys: dict[Place, tuple[str, Key]] = {}
    values: dict[Place, Any] = {}
    dicts: set[str] = set()
    for name, label in CONFIGS.items():
        rows = {key: leaf for key, leaf in config.items() if key.startswith(f"client.{name}.")}
        if rows:
            values["job", label] = OPAQUE
            dicts.add(label)
            _spread(label, f"client.{name}", "config", rows, keys, values, dicts)
    for name in FIELDS:
        if f"client.{name}" in config:
            values["job", name] = value_of(config[f"client.{name}"])
            if config[f"client.{name}"].origin:
                keys["job", name] = ("config", f"client.{name}")
    return Sent("client", "initialize", keys, values, frozenset(dicts))


def _request(call: str, operation: str, rows: Mapping[str, Mapping[Key, Leaf]], configs: Sent) -> Sent:
    keys: dict[Place, tuple[str, Key]] = {}
    values: dict[Place, Any] = dict(configs.values)
    dicts: set[str] = set(rows)
    for label, held in rows.items():
        _spread(label, f"{call}.{label}", "wire", held, keys, values, dicts)
    return Sent(call, operation, keys, values, frozenset(dicts | configs.dicts))


def _spread(
    label: str,
    prefix: Key,
    probe: str,
    rows: Mapping[Key, Leaf],
    keys: dict[Place, tuple[str, Key]],
    values: dict[Place, Any],
    dicts: set[str],
) -> None:
    """Every key of a dict and of the dicts inside it."""
    for key, leaf in rows.items():
        held, rest = label, key[len(prefix) + 1 :]
        while True:
            name, nested, below = rest.partition(".")
            bare, _, place = name.partition("[")
            bare = bare.partition("#")[0]
            keys.setdefault((held, bare), (probe, key))
            if nested:
                values.setdefault((held, bare), OPAQUE)
                held, rest = f"{held}.{bare}", below
                dicts.add(held)
                continue
            if place:
                values.setdefault((held, bare), []).append(value_of(leaf))
            elif name == bare:
                values[held, bare] = value_of(leaf)
            break


def value_of(leaf: Leaf) -> Any:
    """The value of a leaf where a condition can judge it."""
    match leaf.type:
        case "float":
            return float.fromhex(leaf.value)
        case "bool" | "int" | "str" | "null":
            return leaf.value
        case "list" | "tuple" | "dict":
            return []
    return OPAQUE


def readings(capture: Capture) -> Iterator[tuple[str, Place, str]]:
    """What the stand-in noted: (call's phase or "", (dict, key), reader or "" where nobody read it)."""
    phases = {call.partition(".")[0] for call in calls(capture)}
    for key, leaf in capture.probes.get("reads", {}).items():
        whole, _, kind = key.rpartition(".")
        phase, _, rest = whole.partition(".")
        name = rest if phase in phases else whole
        label, _, last = name.rpartition(".")
        if kind in ("read_by", "unread"):
            yield (phase if phase in phases else ""), (label, last), str(leaf.value) if kind == "read_by" else ""
