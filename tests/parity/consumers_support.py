"""Captures and scans as small as a test needs them."""

from __future__ import annotations

from parity.consumers_static import Read, Scan
from parity.record import Capture, flatten

ENVIRONMENT = {"env.python": "3.11", "env.torch": "2"}


def captured(side="source", scenario="plain", provenance=ENVIRONMENT, crashed="", **probes):
    """A capture of nested plain values, one mapping a probe."""
    told = {name: dict(flatten(value)) for name, value in probes.items()}
    return Capture(scenario, side, provenance, told, crashed)


def requested(meta=None, batch=None, processing=None, client=None, extra=None, **rest):
    """A capture with one forward request and the client's configs."""
    request = {
        "meta": meta or {"k": 1},
        "batch": batch or {"input_ids": 1},
        "processing": processing or {"post": ["entropy"], "loss_fn": None},
    }
    wire = {"order": "old.fwd_no_grad", "old": {"fwd_no_grad": request}}
    return captured(wire=wire, config={"client": client or {"backend": "local"}}, **(extra or {}), **rest)


def read(place, how="get", default="None", operation="fwd_no_grad", guards=(), line=1):
    """A read of `dict.key`."""
    label, _, key = place.rpartition(".")
    return Read(label, key, operation, "srv/batch.py", "split", line, how, default, tuple(guards))


def scanned(*reads, writes=(), shelved=(), loops=()):
    """A scan of these reads."""
    return Scan(tuple(reads), tuple(writes), (), tuple(shelved), frozenset(loops))
