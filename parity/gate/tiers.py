"""Runs the stages of a gate, cheapest first, each to probes; a stage that cannot run says so and stops no other."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from parity.gate import guard_git, knobs, ledger, proof, smoke, static
from parity.gate.places import in_manifest, relative, roots, top
from parity.gate.result import Case, Gate, Probe, Tier
from parity.gate.watch import Report, Watch
from parity.knobs import swept
from parity.probes.run import Setting, cache_folder, setting
from parity.smoke.by_commit import caused
from parity.verdict import Verdict
from porttool.errors import EnvironmentFault, PortError, RepositoryError
from porttool.manifest import Manifest
from porttool.proof import Proof

TIERS = ("static", "smoke", "all")
_STAGES: dict[str, tuple[str, ...]] = {
    "static": ("guard", "proof", "capture", "compare"),
    "smoke": ("guard", "proof", "capture", "compare", "smoke"),
    "all": ("guard", "proof", "capture", "compare", "knobs", "smoke"),
}


@dataclass(frozen=True)
class Asked:
    """What a gate is asked for. "" leaves a ref to the manifest, and the base to the CI system."""

    manifest: Manifest
    tier: str = "static"
    left: str = ""
    right: str = ""
    base: str = ""
    by_commit: bool = False
    fail_fast: bool = False
    jobs: int = field(default_factory=lambda: os.cpu_count() or 1)

    @property
    def stages(self) -> tuple[str, ...]:
        return (*_STAGES[self.tier], *(["ledger"] if self.by_commit else []))


class Run:
    """One gate, stage by stage. `gate` is what is known so far; a fault ends the run, and `stopped` says so in it."""

    def __init__(self, asked: Asked, report: Report) -> None:
        self.asked = asked
        self._report = report
        self._watch = Watch(asked.stages, report, _times(asked.manifest))
        self._began = time.monotonic()
        self._setting: Setting | None = None
        self._why_not: PortError | None = None
        self._proof: Proof | None = None
        self._captured: list[static.Sides] = []
        manifest = asked.manifest
        right = asked.right or manifest.target.branch or manifest.target.ref
        self.gate = Gate(
            (asked.left or manifest.source.ref, right),
            relative(manifest.path, top(manifest)) or manifest.path.name,
            roots=roots(manifest),
        )

    def run(self) -> Gate:
        """Every stage that was asked for, cheapest first."""
        self._prepare()
        for number, name in enumerate(self.asked.stages):
            if self.asked.fail_fast and self.gate.probes and self.gate.verdict is not Verdict.MATCH:
                rest = self.asked.stages[number:]
                self._leave_out(dict.fromkeys(rest, "a stage before it did not match (--fail-fast)"))
                break
            try:
                _RUNS[name](self)
            except (RepositoryError, EnvironmentFault) as error:
                self._could_not(name, error)
        self._watch.keep()
        return self._told()

    def stopped(self, error: BaseException) -> Gate:
        """What is known when a fault or an interruption ends the run."""
        told = error.message if isinstance(error, PortError) else f"{type(error).__name__}: {error}".rstrip(": ")
        self.gate = replace(self.gate, fault=f"the run ended early: {told}")
        return self._told()

    def _told(self) -> Gate:
        seconds = {name: round(took, 2) for name, took in self._watch.seconds.items()}
        told = {**self.gate.provenance, "tier": self.asked.tier, "seconds": seconds}
        self.gate = replace(self.gate, seconds=time.monotonic() - self._began, provenance=told)
        return self.gate

    def _add(self, probes: Sequence[Probe], *warnings: str) -> None:
        gate = self.gate
        self.gate = replace(gate, probes=(*gate.probes, *probes), warnings=(*gate.warnings, *warnings))

    def _could_not(self, name: str, error: PortError) -> None:
        """A stage that has nothing to judge by; the ledger judges nothing itself."""
        if name == "ledger":
            self._leave_out({name: error.message})
        else:
            self._add([_cannot(self.asked.manifest, name, error)])

    def _leave_out(self, why: Mapping[str, str]) -> None:
        self.gate = replace(self.gate, unchecked={**self.gate.unchecked, **why})

    def _prepare(self) -> None:
        """Take both sides out of their repositories: how much there is to do is known after that."""
        try:
            self._setting = setting(self.asked.manifest, self.asked.left, self.asked.right)
        except (RepositoryError, EnvironmentFault) as error:
            self._why_not = error
            return
        self._watch.expect("capture", static.missing(self._setting, self._setting.harness.scenarios))
        self.gate = replace(self.gate, sides=self._setting.names)
        left, right = self._setting.left, self._setting.right
        if left.commit == right.commit:
            self._add([], f"both sides are the commit {left.commit[:8]}: it was compared with itself")
        if "smoke" in self.asked.stages:
            with suppress(PortError):  # the stage itself says what is wrong
                asked = self.asked
                made = smoke.to_make(smoke.trainer(asked.manifest, asked.left, asked.right, asked.jobs))
                self._watch.expect("smoke", made)

    def _sides(self) -> Setting:
        if self._setting is None:
            assert self._why_not is not None
            raise self._why_not
        return self._setting

    def _guard(self) -> None:
        base = guard_git.base_of(self.asked.base)
        with self._watch.stage("guard", f"what this branch changed of the gate since {base}" if base else "no base"):
            if base:
                self._add([guard_git.guarded(self.asked.manifest, base)])
            else:
                self._leave_out({"guard": guard_git.NOT_CHECKED})

    def _prove(self) -> None:
        began = time.monotonic()
        with self._watch.stage("proof", "every ported commit against its sources, and back"):
            self._proof = proof.proven(self.asked.manifest, self.asked.right)
            self._add([proof.probe(self.asked.manifest, self._proof, began)])

    def _capture(self) -> None:
        of = self._sides()
        scenarios = of.harness.scenarios
        made = static.missing(of, scenarios)
        told = f"{len(scenarios)} scenarios of both sides, {made} of {2 * len(scenarios)} captures to make"
        with self._watch.stage("capture", told) as report:
            self._captured = static.captured(of, scenarios, self.asked.jobs, report)

    def _compare(self) -> None:
        if not self._captured:
            return
        of = self._sides()
        with self._watch.stage("compare", f"{len(self._captured)} scenarios, key by key"):
            told = static.static(of, self._captured, of.scan())
        self._add(told.probes, *told.warnings)
        self.gate = replace(self.gate, provenance={**self.gate.provenance, **static.provenance(told.sides)})

    def _knobs(self) -> None:
        of, began = self._sides(), time.monotonic()
        with self._watch.stage("knobs", "each key of the backend config changed on both sides"):
            self._add([knobs.probe(self.asked.manifest, swept(of, [], self._report), began)])

    def _smoke(self) -> None:
        asked, began = self.asked, time.monotonic()
        with self._watch.stage("smoke", "short training runs of both sides"):
            of = smoke.trainer(asked.manifest, asked.left, asked.right, asked.jobs)
            shown = smoke.trained(of, self._report)
            self._add([smoke.probe(asked.manifest, shown, began)])
        self.gate = replace(self.gate, shown=shown)

    def _ledger(self) -> None:
        of = self._sides()
        if self._proof is None:
            self._leave_out({"ledger": "the port was not proven, so its commits are not known"})
            return
        held = ledger.stops(of, self._proof)
        made = ledger.to_make(held)
        self._watch.expect("ledger", made)
        told = f"the target at its base and after each of {len(held) - 1} commits, {made} captures to make"
        with self._watch.stage("ledger", told):
            points = ledger.points(held, self.asked.jobs, self._report)
            if self.gate.shown and len(held) > 1:
                trainer = smoke.trainer(self.asked.manifest, self.asked.left, self.asked.right, self.asked.jobs)
                walks = smoke.walked(trainer, self._report)
                points = ledger.with_steps(points, smoke.differing(walks))
                self.gate = replace(self.gate, shown=caused(self.gate.shown, walks))
        self.gate = replace(self.gate, ledger=points)


_RUNS: Mapping[str, Callable[[Run], None]] = {
    "guard": Run._guard,
    "proof": Run._prove,
    "capture": Run._capture,
    "compare": Run._compare,
    "knobs": Run._knobs,
    "smoke": Run._smoke,
    "ledger": Run._ledger,
}
_TIERS: Mapping[str, Tier] = {"guard": "guard", "proof": "proof", "knobs": "knobs", "smoke": "smoke"}


def _times(manifest: Manifest) -> Path:
    """Where the times of a manifest's gates are kept: those of another one say nothing of it."""
    digest = hashlib.sha256(os.fsencode(manifest.path.resolve())).hexdigest()
    return cache_folder() / "gate" / "seconds" / f"{digest[:32]}.json"


def _cannot(manifest: Manifest, name: str, error: PortError) -> Probe:
    """A stage that has nothing to judge: INCOMPARABLE, with the fault in its own words."""
    at = in_manifest(manifest, "parity" if name in ("capture", "knobs", "smoke") else "target")
    hint = f" ({error.hint})" if error.hint else ""
    told = Case(name, Verdict.INCOMPARABLE, f"{error.message}{hint}", place=at)
    return Probe("static" if name in ("capture", "compare") else name, _TIERS.get(name, "static"), (told,))
