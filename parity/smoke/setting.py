"""The manifest's `parity.convergence`: what training runs are asked for and how they are compared, with both sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from parity import driver as drivers
from parity.capture import Checkout, Stack, driver_stack, stack
from parity.probes.rules import failing
from parity.probes.run import cache_folder, side_of, targets
from parity.scenario import Harness, Scenario, Side, job, read
from parity.smoke import envelope
from parity.smoke.envelope import ALPHA, FEWEST, Envelope, Refused
from parity.smoke.order import DRIVER, Noise
from parity.smoke.outcome import Told
from parity.smoke.runs import Run
from parity.smoke.schedule import of_config, settings, updates_per_step
from parity.smoke.windows import Band
from parity.store import Store
from porttool.errors import ManifestError
from porttool.manifest import Manifest
from porttool.nearest import nearest

AT = "parity.convergence"
_KEYS = ("steps", "seeds", "base", "scenarios", "compare", "windows", "bands", "driver")
# The glob of `parity.shared` that makes a law fail which both sides break alike.
LAWS = "convergence.laws"
_HORIZON = "actor_rollout_ref.actor.optim.total_training_steps"


@dataclass(frozen=True)
class Tolerance:
    """An envelope that the manifest asks for: its false-alarm rate, and the A/A runs that are its evidence."""

    alpha: float = ALPHA
    runs: int = FEWEST


@dataclass(frozen=True)
class Convergence:
    """The section as read. `driver` is resolved; `compare` is `exact` where the source repeats itself."""

    scenarios: tuple[Scenario, ...]
    steps: int = 6
    seeds: tuple[int, ...] = (1,)
    compare: Literal["exact"] | Tolerance = "exact"
    windows: int = 3
    bands: Mapping[str, Band] = field(default_factory=dict, hash=False)
    driver: str = DRIVER

    @property
    def noise(self) -> Noise:
        """What the runs of a comparison are made with: an envelope is of runs whose order is left to the trainer."""
        return "none" if self.compare == "exact" else "free"


@dataclass(frozen=True)
class Setting:
    """A manifest's training runs with both sides taken out of their repositories."""

    manifest: Manifest
    harness: Harness
    how: Convergence
    left: Checkout
    right: Checkout
    stack: Stack
    cache: Path

    def chosen(self, names: Sequence[str]) -> list[Scenario]:
        """The scenarios of these names, or all. Raises ManifestError naming the nearest."""
        known = {one.name: one for one in self.how.scenarios}
        for name in names:
            if name not in known:
                raise ManifestError(f"{AT} has no scenario {name!r}", self.where("scenarios"), nearest(name, known))
        return [known[name] for name in names] or list(known.values())

    def where(self, *place: str) -> str:
        """`file:line` of a place in the section."""
        return self.manifest.where("parity", "convergence", *place)

    def run(
        self, side: Checkout, scenario: Scenario, seed: int, steps: int, *, noise: Noise = "none", sample: int = 0
    ) -> Run:
        """One run of a side, told in that side's names."""
        there: Side = "source" if side.side == "source" else "target"
        told = replace(job(self.harness, scenario, there, self.manifest.layout), seed=seed)
        return Run(side, told, steps, seed, self.how.driver, noise, sample)

    def told(self, scenario: Scenario, steps: int) -> Told:
        """How runs of a scenario are compared. Raises ManifestError where an envelope has no evidence."""
        config = settings([*self.harness.base, *scenario.overrides, f"trainer.total_training_steps={steps}"])
        config.pop(_HORIZON, None)  # verl writes its own number of steps over it
        ours = self.how.driver == DRIVER
        try:
            schedule, updates = (of_config(config), updates_per_step(config)) if ours else (None, None)
        except ValueError as error:
            raise ManifestError(f"{AT}.base: {error}", self.where("base")) from error
        exact = self.how.compare == "exact"
        return Told(
            mode="exact" if exact else self.evidence(scenario.name),
            windows=self.how.windows,
            bands=self.how.bands,
            schedule=schedule,
            updates=updates,
            shared_fails=any(fnmatchcase(LAWS, glob) for glob in failing(self.manifest.parity)),
            backdrop=self._backdrop(scenario.name) if exact else "",
        )

    def _backdrop(self, scenario: str) -> Envelope | str:
        """The envelope to show behind an exact comparison: it is not asked for, so that nothing is refused for it."""
        if not self.evidence_file(scenario).is_file():
            return ""
        try:
            return self.evidence(scenario)
        except ManifestError as error:
            return str(error.args[0])

    def evidence_file(self, scenario: str) -> Path:
        """Where the A/A runs of a scenario are kept."""
        return Store(self.manifest.path).folder / f"convergence.{scenario}.json"

    def evidence(self, scenario: str) -> Envelope:
        """The envelope of a scenario from its file."""
        file = self.evidence_file(scenario)
        hint = f"measure it: porttool smoke --scenario {scenario} --measure {FEWEST}"
        if not file.is_file():
            raise ManifestError(f"the envelope of {scenario} has no evidence", str(file), hint)
        try:
            return envelope.from_json(file.read_text(encoding="utf-8"))
        except Refused as error:
            raise ManifestError(f"the evidence of {scenario} is none: {error}", str(file), hint) from error


def setting(manifest: Manifest, left: str = "", right: str = "") -> Setting:
    """Read the section and take out both refs. By default the source, and the port branch where there is one."""
    section = manifest.parity.get("convergence")
    if section is None:
        hint = "it names steps, seeds, base and scenarios; see docs/smoke.md"
        raise ManifestError("the manifest has no `parity.convergence` section", manifest.where("parity"), hint)
    how, base = convergence(section, manifest.where("parity", "convergence"), manifest.path.parent)
    own = how.driver != DRIVER
    # A manifest may ask for training runs alone: what its static probes would need is not asked for then.
    parity = {**manifest.parity, "drivers": {"step": how.driver}} if own else manifest.parity
    harness = replace(read(parity, manifest.where("parity"), manifest.path.parent), base=base)
    # First: without what the sides run on nothing below is of use.
    found = driver_stack(harness.packages) if own else stack()
    cache = cache_folder()
    return Setting(
        manifest,
        harness,
        how,
        side_of(manifest, manifest.source, [left or manifest.source.ref], "source", cache),
        side_of(manifest, manifest.target, [right] if right else targets(manifest.target), "target", cache),
        found,
        cache,
    )


def convergence(section: Any, where: str = "", folder: Path = Path()) -> tuple[Convergence, tuple[str, ...]]:
    """The section and its base overrides. Raises ManifestError on anything it does not know."""
    reader = _Reader(where)
    told = reader.mapping(section, "", _KEYS)
    scenarios = reader.mapping(told.get("scenarios", {}), "scenarios")
    if not scenarios:
        raise reader.refuse("scenarios", "is empty: nothing would be run")
    seeds = told.get("seeds", [1])
    if not isinstance(seeds, list) or not seeds or not all(_whole(seed) for seed in seeds) or _repeats(seeds):
        raise reader.refuse("seeds", f"wants a list of different whole numbers, not {seeds!r}")
    found = Convergence(
        scenarios=tuple(reader.scenario(str(name), body) for name, body in scenarios.items()),
        steps=reader.number(told.get("steps", 6), "steps", 1),
        seeds=tuple(seeds),
        compare=reader.compare(told.get("compare", "exact")),
        windows=reader.number(told.get("windows", 3), "windows", 0),
        bands=reader.bands(told.get("bands", {})),
        driver=drivers.resolve(told["driver"], folder, f"{AT}.driver", where) if "driver" in told else DRIVER,
    )
    return found, reader.words(told.get("base", []), "base")


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _repeats(values: Sequence[Any]) -> bool:
    return len(set(values)) < len(values)


@dataclass(frozen=True)
class _Reader:
    """Reads the raw section; every refusal names the place inside it."""

    where: str

    def refuse(self, at: str, what: str, hint: str = "") -> ManifestError:
        return ManifestError(f"{AT}{'.' * bool(at)}{at}: {what}", self.where, hint)

    def mapping(self, value: Any, at: str, allowed: Sequence[str] = ()) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            raise self.refuse(at, f"wants a mapping, not {value!r}")
        for name in value:
            if allowed and name not in allowed:
                raise self.refuse(at, f"unknown key {name!r}", nearest(str(name), allowed))
        return value

    def words(self, value: Any, at: str) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            raise self.refuse(at, f"wants a list of strings, not {value!r}")
        return tuple(value)

    def number(self, value: Any, at: str, least: int) -> int:
        if not _whole(value) or value < least:
            raise self.refuse(at, f"wants a whole number of at least {least}, not {value!r}")
        return int(value)

    def scenario(self, name: str, body: Any) -> Scenario:
        at = f"scenarios.{name}"
        told = self.mapping({"overrides": body} if isinstance(body, list) else body, at, ("overrides", "why"))
        overrides = self.words(told.get("overrides", []), f"{at}.overrides")
        return Scenario(name, overrides, drive="engine", why=str(told.get("why", "")))

    def compare(self, value: Any) -> Literal["exact"] | Tolerance:
        if value == "exact":
            return "exact"
        told = self.mapping(value, "compare", ("envelope",)) if isinstance(value, Mapping) else {}
        if "envelope" not in told:
            raise self.refuse("compare", f"is {value!r}", "write `exact`, or `{envelope: {alpha: 0.01, runs: 5}}`")
        inner = self.mapping(told["envelope"] or {}, "compare.envelope", ("alpha", "runs"))
        alpha = inner.get("alpha", ALPHA)
        if not isinstance(alpha, float) or not 0 < alpha < 1:
            raise self.refuse("compare.envelope.alpha", f"wants a chance between 0 and 1, not {alpha!r}")
        return Tolerance(alpha, self.number(inner.get("runs", FEWEST), "compare.envelope.runs", FEWEST))

    def bands(self, value: Any) -> dict[str, Band]:
        return {str(name): self.band(str(name), body) for name, body in self.mapping(value, "bands").items()}

    def band(self, name: str, value: Any) -> Band:
        at = f"bands.{name}"
        told = self.mapping(value, at, ("low", "high", "why"))
        for end in ("low", "high"):
            if not isinstance(told.get(end), (int, float)) or isinstance(told[end], bool):
                raise self.refuse(at, f"wants a number for {end}, not {told.get(end)!r}")
        try:
            return Band(float(told["low"]), float(told["high"]), str(told.get("why", "")))
        except ValueError as error:
            raise self.refuse(at, str(error)) from error
