"""From a manifest to compared pairs: which refs, which scenarios, captured where they are not kept already."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.capture import Checkout, Stack, capture, checkout, driver_stack, stack
from parity.consumers_static import Scan
from parity.consumers_vendor import installed
from parity.probes.pairs import Pair, pair
from parity.probes.rules import failing, rules
from parity.record import Capture
from parity.scenario import Harness, Job, Scenario, Side, job, read
from parity.store import Store, Stored
from porttool.errors import ManifestError, RepositoryError
from porttool.manifest import Manifest, Source, Target, is_url
from porttool.repo import open_location
from porttool.report import counted

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Setting:
    """A manifest's harness with both sides taken out of their repositories."""

    manifest: Manifest
    harness: Harness
    left: Checkout
    right: Checkout
    stack: Stack
    cache: Path

    @property
    def names(self) -> tuple[str, str]:
        """The refs, as a reader knows the sides."""
        return self.left.ref, self.right.ref

    def chosen(self, names: Sequence[str]) -> list[Scenario]:
        """The scenarios of these names, or all."""
        return [self.harness.scenario(name) for name in names] or list(self.harness.scenarios)

    def jobs(self, scenarios: Sequence[Scenario], side: Side) -> list[Job]:
        """The scenarios as a side is told them."""
        return [job(self.harness, scenario, side, self.manifest.layout) for scenario in scenarios]

    def captures(
        self, scenarios: Sequence[Scenario], *, fresh: bool = False, report: Progress | None = None
    ) -> list[tuple[Capture, Capture]]:
        """Both sides of each scenario; sides run at the same time."""
        wanted = [(self.left, self.jobs(scenarios, "source")), (self.right, self.jobs(scenarios, "target"))]
        digest = self.manifest.layout.digest
        left, right = capture(wanted, self.stack, self.cache, layout=digest, fresh=fresh, report=report)
        return list(zip(left, right, strict=True))

    def scan(self) -> Scan | None:
        """Who reads what in the installed server; another trainer's driver sends to a server we know nothing of."""
        return None if self.harness.driver else installed(self.cache)


def setting(manifest: Manifest, left: str = "", right: str = "") -> Setting:
    """Read the harness and take out both refs. By default the source, and the port branch where there is one."""
    where = manifest.where("parity")
    if not manifest.parity:
        hint = "it says what to run and in which scenarios: see docs/probe.md; `porttool init --driver` shows one"
        raise ManifestError("the manifest has no `parity` section", where, hint)
    harness = read(manifest.parity, where, manifest.path.parent)
    if not harness.scenarios:
        raise ManifestError("parity.scenarios is empty: nothing would be compared", where)
    # First: without what the sides run on nothing below is of use.
    found = driver_stack(harness.packages) if harness.driver else stack()
    cache = cache_folder()
    return Setting(
        manifest,
        harness,
        side_of(manifest, manifest.source, [left or manifest.source.ref], "source", cache),
        side_of(manifest, manifest.target, [right] if right else targets(manifest.target), "target", cache),
        found,
        cache,
    )


def compared(
    of: Setting, verb: str, names: Sequence[str], report: Progress, *, update: bool = False
) -> tuple[list[Pair], list[Stored]]:
    """The scenarios of a verb compared, and the stored captures they were held to."""
    told, fail = rules(of.manifest.parity, of.manifest.where("parity")), failing(of.manifest.parity)
    scenarios, store = of.chosen(names), Store(of.manifest.path)
    told_of = counted(len(scenarios), "scenario")
    report(f"capturing {told_of} of both sides")
    sides = of.captures(scenarios, report=report)
    report(f"comparing {told_of}")
    scan = of.scan()
    stored: list[Stored] = []
    for side in (side for both in sides for side in both):
        if update:
            store.update(side)
        held = store.held(side, told)
        stored += [held] if held is not None else []
    return [pair(left, right, scan, verb, told, fail) for left, right in sides], stored


def cache_folder() -> Path:
    """Where captures, trees and scans are kept: `PORTTOOL_CACHE`, else the user's cache folder."""
    named = os.environ.get("PORTTOOL_CACHE")
    if named:
        return Path(named).absolute() / "parity"  # a worker has a folder of its own
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home).absolute() if home else Path.home() / ".cache") / "porttool" / "parity"


def targets(target: Target) -> list[str]:
    """The refs of a target, the port branch first."""
    return [ref for ref in (target.branch, target.ref) if ref]


def side_of(manifest: Manifest, side: Source | Target, refs: Sequence[str], name: str, cache: Path) -> Checkout:
    """The first of the refs that exists."""
    location = manifest.repo(side)
    folder = str(open_location(location).common.parent) if is_url(location) else location
    for ref in refs[:-1]:
        try:
            return checkout(folder, ref, name, cache)
        except RepositoryError:
            continue
    return checkout(folder, refs[-1], name, cache)
