"""A smoke from a manifest's setting: both sides trained with equal seeds and data, compared scenario by scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from parity.scenario import Scenario
from parity.smoke import envelope
from parity.smoke.compare import compared
from parity.smoke.envelope import FEWEST, Envelope, Refused
from parity.smoke.launch import Watch, launch
from parity.smoke.order import Noise
from parity.smoke.outcome import Compared
from parity.smoke.page_shown import Shown
from parity.smoke.runs import Run
from parity.smoke.series import Series
from parity.smoke.setting import Setting, Tolerance
from parity.store import refuse_in_ci
from parity.verdict import Verdict, overall
from porttool.errors import EnvironmentFault, UsageError
from porttool.report import counted


@dataclass(frozen=True)
class Asked:
    """What the command line says over the manifest; "" and 0 and () leave it as it is there."""

    scenarios: tuple[str, ...] = ()
    steps: int = 0
    seeds: tuple[int, ...] = ()
    noise: Noise | None = None
    jobs: int = 0
    fresh: bool = False


@dataclass(frozen=True)
class Alike:
    """A/A: runs of the source, each compared with the first. An alarm is a DIFFER where nothing differs."""

    scenario: str
    compared: tuple[Compared, ...]
    first: tuple[Series, ...]

    @property
    def alarms(self) -> int:
        return sum(one.verdict is Verdict.DIFFER for one in self.compared)

    @property
    def verdict(self) -> Verdict:
        return overall([one.verdict for one in self.compared])

    @property
    def reason(self) -> str:
        """The count, and what was wrong with the first that is no match."""
        bad = next((one for one in self.compared if one.verdict is not Verdict.MATCH), None)
        runs, alarms = counted(len(self.compared), "run"), counted(self.alarms, "alarm")
        told = f"{runs} of the source against its own first run: {alarms}"
        return told if bad is None else f"{told}; {bad.reason}"


@dataclass(frozen=True)
class Trainer:
    """What is to be run: a setting, and what was asked over it."""

    of: Setting
    asked: Asked = Asked()
    # Keys of the runs that were made for it: `fresh` makes each once.
    made: set[str] = field(default_factory=set, compare=False)

    @property
    def scenarios(self) -> list[Scenario]:
        return self.of.chosen(self.asked.scenarios)

    @property
    def steps(self) -> int:
        return self.asked.steps or self.of.how.steps

    @property
    def seeds(self) -> tuple[int, ...]:
        return self.asked.seeds or self.of.how.seeds

    @property
    def noise(self) -> Noise:
        return self.asked.noise or self.of.how.noise

    def launch(self, runs: Sequence[Run], watch: Watch) -> tuple[Series, ...]:
        """The series of the runs, in order; what a run had left behind is told to the watch."""
        of, asked = self.of, self.asked
        digest = of.manifest.layout.digest
        done = launch(
            runs, of.stack, of.cache, watch, layout=digest, jobs=asked.jobs, fresh=asked.fresh, made=self.made
        )
        for run, left in done.left:
            watch.say(f"{run} had left {left}; it was ended")
        return done.series


def sides(trainer: Trainer) -> list[Run]:
    """The runs of a smoke: both sides, seed by seed and scenario by scenario."""
    of = trainer.of
    return [
        of.run(side, scenario, seed, trainer.steps, noise=trainer.noise)
        for scenario in trainer.scenarios
        for seed in trainer.seeds
        for side in (of.left, of.right)
    ]


def smoke(trainer: Trainer, watch: Watch) -> tuple[Shown, ...]:
    """Both sides of each scenario, compared. Evidence that is missing is told before anything runs."""
    of, scenarios = trainer.of, trainer.scenarios
    told = [of.told(scenario, trainer.steps) for scenario in scenarios]
    found = iter(trainer.launch(sides(trainer), watch))
    shown = []
    for scenario, how in zip(scenarios, told, strict=True):
        pairs = [(next(found), next(found)) for _ in trainer.seeds]
        left, right = tuple(one for one, _ in pairs), tuple(other for _, other in pairs)
        names = of.left.ref, of.right.ref
        shown.append(Shown(compared(left, right, how), left, right, names, command=command(trainer, scenario)))
    return tuple(shown)


def command(trainer: Trainer, scenario: Scenario) -> str:
    """The words that run one scenario again."""
    of = trainer.of
    seeds = ",".join(map(str, trainer.seeds))
    told = f"porttool smoke {_near(of.manifest.path, of.manifest.root)} --scenario {scenario.name}"
    return f"{told} --steps {trainer.steps} --seeds {seeds} --left {of.left.ref} --right {of.right.ref}"


def _near(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def alike(trainer: Trainer, count: int, watch: Watch) -> list[Alike]:
    """`count` more runs of the source, each against its first. With `delays` the first runs without them."""
    of, noise = trainer.of, trainer.noise
    told = {scenario: of.told(scenario, trainer.steps) for scenario in trainer.scenarios}
    runs = [
        of.run(of.left, scenario, seed, trainer.steps, sample=sample, noise=noise if sample else _still(noise))
        for scenario in told
        for sample in range(count + 1)
        for seed in trainer.seeds
    ]
    found = iter(trainer.launch(runs, watch))
    answers = []
    for scenario, how in told.items():
        first, *others = [tuple(next(found) for _ in trainer.seeds) for _ in range(count + 1)]
        answers.append(Alike(scenario.name, tuple(compared(first, other, how) for other in others), first))
    return answers


def _still(noise: Noise) -> Noise:
    return "none" if noise == "delays" else noise


def measure(trainer: Trainer, count: int, watch: Watch) -> Mapping[Path, Envelope]:
    """A/A runs of the source as the evidence of an envelope, written beside the manifest.

    One seed is run `count` times; of several, as many are taken, counting on from the last.
    """
    refuse_in_ci(option="--measure")
    if count < FEWEST:
        raise UsageError(f"--measure is {count}", "porttool smoke", f"an envelope needs at least {FEWEST} runs")
    of = trainer.of
    asked = of.how.compare if isinstance(of.how.compare, Tolerance) else Tolerance()
    runs = [
        of.run(of.left, scenario, seed, trainer.steps, noise=trainer.asked.noise or "free", sample=sample)
        for scenario in trainer.scenarios
        for sample, seed in _draws(trainer.seeds, count)
    ]
    found = trainer.launch(runs, watch)
    written = {}
    for place, scenario in enumerate(trainer.scenarios):
        told = [_lasting(one) for one in found[place * count : (place + 1) * count]]
        try:
            evidence = envelope.measured(told, asked.alpha)
        except Refused as error:
            raise EnvironmentFault(f"these runs are no evidence: {error}", scenario.name) from error
        file = of.evidence_file(scenario.name)
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".part")
        partial.write_text(envelope.to_json(evidence), encoding="utf-8")
        partial.replace(file)
        written[file] = evidence
    return written


def _draws(seeds: tuple[int, ...], count: int) -> list[tuple[int, int]]:
    """(sample, seed) of each run of a measurement. Evidence has runs of its own: none of them is held to it."""
    if len(seeds) == 1:
        return [(-number, seeds[0]) for number in range(1, count + 1)]
    more = range(max(seeds) + 1, max(seeds) + 1 + count)
    return [(-1, seed) for seed in (*seeds, *more)[:count]]


def _lasting(run: Series) -> Series:
    """What a stored run keeps of its provenance: where a side comes from changes with every rebuilt branch."""
    kept = ("env.", "seed", "steps", "noise", "sample", "tree", "harness")
    return replace(run, provenance={name: told for name, told in run.provenance.items() if name.startswith(kept)})
