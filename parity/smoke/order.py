"""What the process of one training run is told. It imports nothing of a trainer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Noise = Literal["none", "delays", "free"]
# verl's trainer; another trainer names a driver of its own in the manifest.
DRIVER = "parity.standin.trainer.fit:fit"


@dataclass(frozen=True)
class FitOrder:
    """One training run of one side.

    `driver` is `module:function` or `file.py:function`; it is called as `function(order, writer)` in a process of its
    own whose `sys.path` begins with `tree`, works below `scratch` only, and tells each step to the writer; what it
    returns is the validation. `job` is `Job.to_json()` in the side's own names.

    `noise`: `none` fixes the order of requests; `delays` keeps that order while requests are held up at random, which
    must change nothing; `free` leaves the order to the trainer, as a source of run-to-run noise.
    """

    tree: str
    scratch: str
    out: str
    job: str
    steps: int
    seed: int = 1
    noise: Noise = "none"
    driver: str = DRIVER
    provenance: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        """What `from_json` reads."""
        return json.dumps(asdict(self), sort_keys=True, indent=1)


def from_json(text: str) -> FitOrder:
    """The order that `FitOrder.to_json` wrote."""
    told: dict[str, Any] = json.loads(text)
    return FitOrder(**told)
