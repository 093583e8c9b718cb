"""Faults that a short training run must see: both sides trained, compared as `porttool smoke` does."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from parity.capture import checkout, stack
from parity.record import Key, Leaf
from parity.scenario import Scenario, read
from parity.smoke.compare import compared
from parity.smoke.launch import launch
from parity.smoke.outcome import Compared, Finding
from parity.smoke.runs import Run
from parity.smoke.series import Series
from parity.smoke.setting import Setting, convergence
from parity.smoke.watch import Lines
from parity.verdict import Verdict
from porttool.errors import ManifestError
from porttool.manifest import load
from tests.faults import suite
from tests.faults.judged import Answer, Raised, judge
from tests.faults.run import MANIFEST, ported
from tests.faults.suite import Fault, Variant

PROBE = "smoke"
LIST = suite.HERE / "smoke.yaml"
SEED = 1


@dataclass(frozen=True)
class Listed:
    """What is to be trained: scenarios with their steps and overrides, and what is planted under them."""

    scenarios: Mapping[str, Mapping[str, object]]
    faults: tuple[Fault, ...]
    harmless: tuple[Variant, ...]

    def controls(self, scenario: str) -> Variant:
        """All controls of a scenario, planted together: one run instead of one for each."""
        listed = (one for fault in self.faults for one in fault.controls if one.scenario == scenario)
        patches = dict.fromkeys(name for one in listed for name in one.patch.split())
        # Those on the server's package last: a copy of it joins the tree then.
        return Variant(scenario, " ".join(sorted(patches, key=suite.on_package)))


def listed(file: Path = LIST) -> Listed:
    """The list as its file has it."""
    scenarios, faults = suite.load(file)
    told = yaml.safe_load(file.read_text(encoding="utf-8"))["harmless"]
    return Listed(scenarios, faults, tuple(Variant(told["scenario"], patch) for patch in told["patches"]))


def setting(what: Listed, manifest_file: Path, cache: Path) -> Setting:
    """The manifest's training runs with the list's scenarios in place of its own."""
    manifest = load(manifest_file)
    if "convergence" not in manifest.parity:
        raise ManifestError("the manifest has no `parity.convergence` section", str(manifest_file))
    scenarios = {name: body["overrides"] for name, body in what.scenarios.items()}
    section = {**manifest.parity["convergence"], "scenarios": scenarios}
    how, base = convergence(section, manifest.where("parity", "convergence"), manifest.path.parent)
    source = checkout(manifest.repo(manifest.source), manifest.source.ref, "source", cache)
    harness = replace(read(manifest.parity), base=base)
    return Setting(manifest, harness, how, source, ported(manifest, cache), stack(), cache)


@dataclass(frozen=True)
class Trained:
    """The keys of each variant's two runs, and by key the series of a run and the seconds it took."""

    of: Setting
    pairs: Mapping[Variant, tuple[str, str]]
    series: Mapping[str, Series]
    seconds: Mapping[str, float]

    def compared(self, variant: Variant) -> Compared:
        """The source against the variant, as `porttool smoke` compares."""
        source, target = (self.series[key] for key in self.pairs[variant])
        return compared([source], [target], self.of.told(_scenario(self.of, variant), _steps(source)))

    def took(self, variant: Variant) -> float:
        """Seconds of the target's run."""
        return self.seconds[self.pairs[variant][1]]


def _steps(source: Series) -> int:
    return int(source.provenance["steps"])


def _scenario(of: Setting, variant: Variant) -> Scenario:
    return of.chosen([variant.scenario])[0]


def runs(of: Setting, what: Listed, variant: Variant) -> tuple[Run, Run]:
    """The source's run of a variant's scenario, and the run of the target with its patches."""
    steps = int(str(what.scenarios[variant.scenario]["steps"]))
    sides = (of.left, suite.planted(of.right, variant.patch, of.cache))
    ours, theirs = (of.run(side, _scenario(of, variant), SEED, steps, noise=of.how.noise) for side in sides)
    return ours, theirs


def trained(
    of: Setting, what: Listed, variants: Sequence[Variant], jobs: int, report: Callable[[str], None]
) -> Trained:
    """Train what the variants need: runs of equal content once, kept from one call to the next."""
    asked: dict[str, Run] = {}
    pairs: dict[Variant, tuple[str, str]] = {}
    for variant in variants:
        ours, theirs = runs(of, what, variant)
        pairs[variant] = ours.key(of.stack), theirs.key(of.stack)
        asked.update(zip(pairs[variant], (ours, theirs), strict=True))
    watch = _Clock(report)
    done = launch(list(asked.values()), of.stack, of.cache, watch, layout=of.manifest.layout.digest, jobs=jobs)
    for run, left in done.left:
        report(f"{run} had left {left}; it was ended")
    took = {run.key(of.stack): seconds for run, seconds in watch.took}
    seconds = {key: _seconds(of, key, took.get(key)) for key in asked}
    return Trained(of, pairs, dict(zip(asked, done.series, strict=True)), seconds)


class _Clock(Lines):
    """Notes what each run took."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(say)
        self.took: list[tuple[Run, float]] = []

    def step(self, run: Run, number: int, values: Mapping[Key, Leaf], seconds: float) -> None:
        """A line for each run is enough."""

    def ended(self, run: Run, series: Series, seconds: float) -> None:
        self.took.append((run, round(seconds, 1)))
        super().ended(run, series, seconds)


def _seconds(of: Setting, key: str, took: float | None) -> float:
    """What a run took, also where it was kept from an earlier call."""
    file = of.cache / "faults" / f"{key}.seconds"
    if took is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(str(took), encoding="utf-8")
        return took
    with suppress(FileNotFoundError, ValueError):
        return float(file.read_text(encoding="utf-8"))
    return 0.0


def raised(of: Compared) -> tuple[Raised, ...]:
    """What a reader of the page sees: no verdict, findings in the order of the steps, laws that both sides break."""
    return tuple(_raised(of))


def _raised(of: Compared) -> Iterator[Raised]:
    if of.verdict is Verdict.INCOMPARABLE:
        yield Raised(PROBE, "verdict", of.reason)
    for finding in of.findings:
        yield Raised(PROBE, finding.key, _words(finding))
    for law in of.shared:
        yield Raised(PROBE, law.key, _words(law), shared=True)


def _words(finding: Finding) -> str:
    return "; ".join(filter(None, (finding.told, finding.cause)))


@dataclass(frozen=True)
class Harmless:
    """A change that must leave every bit as it is, and what it raised beside what both sides have alike."""

    variant: Variant
    raised: tuple[Raised, ...]
    seconds: float


def wanted(what: Listed, faults: Sequence[Fault], harmless: Sequence[Variant]) -> list[Variant]:
    """Every variant that has to be trained: a fault's own, repairs, and the controls of its scenarios together."""
    told = [one for fault in faults for one in (fault.variant, *fault.healed)]
    controls = [what.controls(one.scenario) for fault in faults for one in fault.controls]
    return list(dict.fromkeys((*told, *controls, *harmless)))


def run(
    what: Listed,
    cache: Path,
    *,
    faults: Sequence[Fault],
    harmless: Sequence[Variant] = (),
    jobs: int = 2,
    manifest: Path = MANIFEST,
    report: Callable[[str], None] = lambda _: None,
) -> tuple[list[Answer], list[Harmless]]:
    """Train what the faults need and judge each. Raises PortError where a ref or the trainer stack is missing."""
    of = setting(what, manifest, cache)
    variants = wanted(what, faults, harmless)
    done = trained(of, what, variants, jobs, report)

    @functools.cache
    def told(variant: Variant) -> tuple[Raised, ...]:
        return raised(done.compared(variant))

    def raises(fault: Fault) -> Callable[[Variant], tuple[Raised, ...]]:
        def one(variant: Variant) -> tuple[Raised, ...]:
            controls = what.controls(variant.scenario)
            if variant in fault.controls:
                return told(controls)
            if variant in variants:
                return told(variant)
            # The target as it is has no run of its own: its controls are it, to the bit.
            return tuple(found for found in told(controls) if found.shared) if controls in variants else ()

        return one

    answers = [judge(fault, raises(fault), done.took(fault.variant)) for fault in faults]
    silent = {one: tuple(found for found in told(one) if not found.shared) for one in harmless}
    return answers, [Harmless(one, found, done.took(one)) for one, found in silent.items()]
