"""What a run is asked for: Hydra overrides written once, in the source's names, and the rows of its batch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from parity import driver as drivers
from porttool.edits import splice
from porttool.errors import ManifestError
from porttool.layout import Layout
from porttool.names import Pair, Renaming, split
from porttool.nearest import nearest
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
    """The manifest's `parity:` section: what is built, how each side is selected, and the scenarios.

    `driver` is another trainer's, resolved; "" = the stand-in. `packages` are what it runs on. `where` is `file:line`.
    """

    subject: Mapping[str, str]
    select: Mapping[str, tuple[str, ...]]
    base: tuple[str, ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    gpus: tuple[str, ...] = ()
    config: tuple[str, str] = ("verl.trainer.config", "ppo_trainer")
    driver: str = ""
    packages: tuple[str, ...] = ()
    where: str = ""

    def scenario(self, name: str) -> Scenario:
        """The scenario of that name. Raises ManifestError naming those there are."""
        for scenario in self.scenarios:
            if scenario.name == name:
                return scenario
        known = [scenario.name for scenario in self.scenarios]
        raise ManifestError(f"there is no scenario {name!r}", self.where, nearest(name, known))


@dataclass(frozen=True)
class Job:
    """What one side's worker process is told, in that side's names. `overrides` pairs (as written, as applied).

    `driver` is another trainer's, resolved; for it `keys` pairs (prefix of a config key here, in the source's names).
    `tree`, the folder that holds the side, is known in the worker alone.
    """

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
    driver: str = ""
    keys: tuple[tuple[str, str], ...] = ()
    tree: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """What sets the config of this run, in this side's names: the side's own choice, then the overrides."""
        return (*self.select, *(applied for _, applied in self.overrides))

    def source_key(self, key: str) -> str:
        """A config key of this side in the source's names, so that both sides observe it under one name."""
        pairs = tuple(Pair(split(here), split(there)) for here, there in self.keys)
        return ".".join(Renaming("key", pairs).map(split(key)))

    def to_json(self) -> str:
        """Its one JSON form."""
        return json.dumps(asdict(self), sort_keys=True)

    def digest(self) -> str:
        """What a capture depends on: all of it, with the content of the driver in place of its path."""
        told = {**asdict(self), "driver": drivers.digest(self.driver) if self.driver else ""}
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def job_from_json(text: str) -> Job:
    """The job that `Job.to_json` wrote."""
    told: dict[str, Any] = json.loads(text)
    rows: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in told.pop("rows").items()}
    pairs: dict[str, Any] = {name: tuple(map(tuple, told.pop(name))) for name in ("overrides", "keys")}
    lists: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in told.items()}
    return Job(**lists, **pairs, rows=Rows(**rows))


def job(harness: Harness, scenario: Scenario, side: Side, layout: Layout) -> Job:
    """A scenario as one side is told it: names carried over by the layout where the side is the target."""
    there = side == "target"
    written = (*harness.base, *scenario.overrides)
    return Job(
        side=side,
        scenario=scenario.name,
        drive=scenario.drive,
        subject={part: _subject(name, layout if there else Layout()) for part, name in harness.subject.items()},
        config=harness.config,
        select=harness.select[side],
        overrides=tuple((text, override(text, layout) if there else text) for text in written),
        gpus=tuple(".".join(layout.keys.map(split(key))) if there else key for key in harness.gpus),
        rows=scenario.rows,
        driver=harness.driver,
        keys=_keys_back(layout) if there and harness.driver else (),
    )


def _keys_back(layout: Layout) -> tuple[tuple[str, str], ...]:
    back = layout.inverse().keys
    return tuple((back.text(pair.old), back.text(pair.new)) for pair in back)


def override(text: str, layout: Layout) -> str:
    """One Hydra override in the names of the layout's new side. Raises ManifestError where it cannot be carried."""
    raw = text.encode()
    found = scan_word(raw, layout.for_file(""), 0, len(raw))
    if found.notes:
        raise ManifestError(f"the override {text!r} cannot be translated: {found.notes[0].message}")
    return splice(raw, found.edits).decode()


def _subject(name: str, layout: Layout) -> str:
    """A dotted class or function, or with a slash the path of a file: `./config.yaml` stands at the top."""
    if "/" in name:
        return layout.for_file(name.removeprefix("./")).new_path
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

    def mapping(self, value: Any, allowed: Sequence[str] | None) -> Mapping[str, Any]:
        """A mapping with these keys; None = any."""
        if not isinstance(value, Mapping):
            raise self.refuse(f"wants a mapping, not {value!r}")
        for name in value:
            if allowed is not None and name not in allowed:
                raise self.refuse(f"unknown key {name!r}", nearest(str(name), allowed))
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
    "drivers", "packages",
)  # fmt: skip


def read(section: Mapping[str, Any], where: str = "", folder: Path = Path()) -> Harness:
    """The harness that a manifest's `parity:` section describes; `folder` is the manifest's.

    Raises ManifestError on anything it does not know.
    """
    reader = _Reader(where)
    reader.mapping(section, SECTION)
    driver = _driver(section, reader, folder)
    subject = reader.below("subject").mapping(section.get("subject", {}), None if driver else PARTS)
    missing = [part for part in PARTS if part not in subject]
    if missing and not driver:
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
        driver=driver,
        packages=reader.below("packages").words(section.get("packages", [])),
        where=where,
    )


def _driver(section: Mapping[str, Any], reader: _Reader, folder: Path) -> str:
    told = reader.below("drivers").mapping(section.get("drivers", {}), ("step",))
    if "step" not in told:
        return ""
    if "packages" not in section:
        # Without them a capture of another torch would be taken from the cache.
        raise reader.refuse("a driver needs `packages`", "the installed packages it runs on, such as [torch]")
    return drivers.resolve(told["step"], folder, f"{reader.at}.drivers.step", reader.where)


def _scenarios(told: Any, reader: _Reader) -> list[Scenario]:
    if not isinstance(told, Mapping):
        raise reader.refuse("wants a mapping from name to scenario")
    found = []
    for name, body in told.items():
        here = reader.below(str(name))
        if "/" in str(name):
            raise here.refuse("a scenario's name is part of a file's name and of a key: no `/` in it")
        plain = here.mapping({"overrides": body} if isinstance(body, list) else body, _SCENARIO)
        drive = plain.get("drive", "none")
        if drive not in get_args(Drive):
            raise here.refuse(f"drive is {drive!r}", "one of " + ", ".join(get_args(Drive)))
        rows = here.below("rows").mapping(plain.get("rows", {}), tuple(Rows.__dataclass_fields__))
        shaped: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in rows.items()
        }
        try:
            batch = Rows(**shaped)
        except (TypeError, ValueError) as error:
            raise here.below("rows").refuse(str(error)) from error
        overrides = here.below("overrides").words(plain.get("overrides", []))
        found.append(Scenario(str(name), overrides, batch, drive, str(plain.get("why", ""))))
    return found


_SCENARIO = ("overrides", "rows", "drive", "why")
