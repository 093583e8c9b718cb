"""What a run is asked for: Hydra overrides written once, in the source's names, and the rows of its batch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from porttool.edits import splice
from porttool.errors import ManifestError
from porttool.layout import Layout
from porttool.names import split
from porttool.rewrite.overrides import scan_word

Side = Literal["source", "target"]
Drive = Literal["none", "engine"]
Order = Literal["adjacent", "interleaved"]
# The parts of a trainer that a run builds, each a dotted class name on the source side.
PARTS = ("trainer", "worker", "rollout", "adapter")


@dataclass(frozen=True)
class Rows:
    """The batch of a scenario: lengths are taken in turn; each prompt stands `rollout.n` times.

    `interleaved` puts the rows of one prompt apart; `repeat` uses the first prompt twice; `spelled` makes the first
    one the name of the end token, a token for each character: sent as text it is read as that one token.
    """

    prompt_lengths: tuple[int, ...] = (6, 3, 4, 2)
    response_lengths: tuple[int, ...] = (5, 2, 3, 1)
    order: Order = "adjacent"
    repeat: bool = False
    spelled: bool = False

    def __post_init__(self) -> None:
        lengths = (*self.prompt_lengths, *self.response_lengths)
        if not self.prompt_lengths or not self.response_lengths or min(lengths) < 1:
            raise ValueError("rows need prompts and responses of at least one token")


@dataclass(frozen=True)
class Scenario:
    """One run of both sides. `drive: engine` puts a real model behind the wire, `none` only records."""

    name: str
    overrides: tuple[str, ...] = ()
    rows: Rows = Rows()
    drive: Drive = "none"
    why: str = ""


@dataclass(frozen=True)
class Harness:
    """The manifest's `parity:` section: what is built, how each side is selected, and the scenarios."""

    subject: Mapping[str, str]
    select: Mapping[str, tuple[str, ...]]
    base: tuple[str, ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    gpus: tuple[str, ...] = ()
    config: tuple[str, str] = ("verl.trainer.config", "ppo_trainer")

    def scenario(self, name: str) -> Scenario:
        """The scenario of that name. Raises ManifestError naming those there are."""
        for scenario in self.scenarios:
            if scenario.name == name:
                return scenario
        known = ", ".join(scenario.name for scenario in self.scenarios)
        raise ManifestError(f"there is no scenario {name!r}", hint=f"one of {known}")


@dataclass(frozen=True)
class Job:
    """What one side's worker process is told, in that side's names. `overrides` pairs (as written, as applied)."""

    side: str
    scenario: str
    drive: str
    subject: Mapping[str, str]
    config: tuple[str, str]
    select: tuple[str, ...]
    overrides: tuple[tuple[str, str], ...]
    gpus: tuple[str, ...]
    rows: Rows
    seed: int = 1
    probes: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Its one JSON form; the cache key is taken from it."""
        return json.dumps(asdict(self), sort_keys=True)

    def digest(self) -> str:
        return hashlib.sha256(self.to_json().encode()).hexdigest()


def job_from_json(text: str) -> Job:
    """The job that `Job.to_json` wrote."""
    told: dict[str, Any] = json.loads(text)
    rows: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in told.pop("rows").items()}
    pairs = tuple((written, applied) for written, applied in told.pop("overrides"))
    lists: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in told.items()}
    return Job(**lists, overrides=pairs, rows=Rows(**rows))


def job(harness: Harness, scenario: Scenario, side: Side, layout: Layout) -> Job:
    """A scenario as one side is told it: names carried over by the layout where the side is the target."""
    there = side == "target"
    written = (*harness.base, *scenario.overrides)
    return Job(
        side=side,
        scenario=scenario.name,
        drive=scenario.drive,
        subject={part: _class(name, layout) if there else name for part, name in harness.subject.items()},
        config=harness.config,
        select=harness.select[side],
        overrides=tuple((text, override(text, layout) if there else text) for text in written),
        gpus=tuple(".".join(layout.keys.map(split(key))) if there else key for key in harness.gpus),
        rows=scenario.rows,
    )


def override(text: str, layout: Layout) -> str:
    """One Hydra override in the names of the layout's new side. Raises ManifestError where it cannot be carried."""
    raw = text.encode()
    found = scan_word(raw, layout.for_file(""), 0, len(raw))
    if found.notes:
        raise ManifestError(f"the override {text!r} cannot be translated: {found.notes[0].message}")
    return splice(raw, found.edits).decode()


def _class(name: str, layout: Layout) -> str:
    module, _, last = name.rpartition(".")
    moved = ".".join(layout.modules.map(split(name)))
    if moved.rpartition(".")[2] != last:
        return moved
    file = layout.for_file(module.replace(".", "/") + ".py")
    return f"{moved.rpartition('.')[0]}.{file.symbol(last) or last}"


@dataclass(frozen=True)
class _Reader:
    """Reads the raw section; every refusal names the place inside it."""

    where: str = ""
    at: str = "parity"

    def refuse(self, what: str, hint: str = "") -> ManifestError:
        return ManifestError(f"{self.at}: {what}", self.where, hint)

    def mapping(self, value: Any, allowed: Sequence[str]) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            raise self.refuse(f"wants a mapping, not {value!r}")
        for name in value:
            if name not in allowed:
                raise self.refuse(f"unknown key {name!r}", "known: " + ", ".join(allowed))
        return value

    def words(self, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            raise self.refuse(f"wants a list of strings, not {value!r}")
        return tuple(value)

    def below(self, name: str) -> _Reader:
        return _Reader(self.where, f"{self.at}.{name}")


# `rules` and what other verbs read stand in the same section; each reader takes its own keys.
SECTION = (
    "subject", "config", "select", "base", "gpus", "scenarios", "rules", "shared", "knobs", "engine", "convergence",
)  # fmt: skip


def read(section: Mapping[str, Any], where: str = "") -> Harness:
    """The harness that a manifest's `parity:` section describes. Raises ManifestError on anything it does not know."""
    reader = _Reader(where)
    reader.mapping(section, SECTION)
    subject = reader.below("subject").mapping(section.get("subject", {}), PARTS)
    missing = [part for part in PARTS if part not in subject]
    if missing:
        raise reader.refuse("subject does not name the " + ", ".join(missing), "each is a dotted class name")
    chosen = reader.below("select").mapping(section.get("select", {}), get_args(Side))
    module, _, name = str(section.get("config", "verl.trainer.config/ppo_trainer")).partition("/")
    return Harness(
        subject=dict(subject),
        select={side: reader.below(f"select.{side}").words(chosen.get(side, [])) for side in get_args(Side)},
        base=reader.below("base").words(section.get("base", [])),
        gpus=reader.below("gpus").words(section.get("gpus", [])),
        scenarios=tuple(_scenarios(section.get("scenarios", {}), reader.below("scenarios"))),
        config=(module, name),
    )


def _scenarios(told: Any, reader: _Reader) -> list[Scenario]:
    if not isinstance(told, Mapping):
        raise reader.refuse("wants a mapping from name to scenario")
    found = []
    for name, body in told.items():
        here = reader.below(str(name))
        plain = here.mapping({"overrides": body} if isinstance(body, list) else body, _SCENARIO)
        drive = plain.get("drive", "none")
        if drive not in get_args(Drive):
            raise here.refuse(f"drive is {drive!r}", "one of " + ", ".join(get_args(Drive)))
        rows = here.below("rows").mapping(plain.get("rows", {}), tuple(Rows.__dataclass_fields__))
        shaped: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in rows.items()
        }
        overrides = here.below("overrides").words(plain.get("overrides", []))
        found.append(Scenario(str(name), overrides, Rows(**shaped), drive, str(plain.get("why", ""))))
    return found


_SCENARIO = ("overrides", "rows", "drive", "why")
