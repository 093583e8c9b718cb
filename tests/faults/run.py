"""From the manifest and the list of faults to answers."""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.capture import Checkout, checkout, stack
from parity.consumers_vendor import installed
from parity.scenario import Harness, job, read
from porttool import port
from porttool.errors import EnvironmentFault, ManifestError, RepositoryError
from porttool.manifest import Manifest, load
from tests.faults import suite
from tests.faults.captures import Wanted, captured
from tests.faults.judged import Answer, Raised, judge, raised
from tests.faults.suite import Fault, Variant

ROOT = Path(__file__).resolve().parent.parent.parent
MANIFEST = ROOT / "manifests" / "rl_correctness.yaml"


@dataclass(frozen=True)
class Setting:
    """What every fault shares: both sides as they are, and how they are run."""

    manifest: Manifest
    harness: Harness
    faults: tuple[Fault, ...]


def setting(manifest_file: Path = MANIFEST) -> Setting:
    """Read the manifest and the list; its scenarios stand in place of the manifest's."""
    manifest = load(manifest_file)
    scenarios, faults = suite.load()
    if not manifest.parity:
        raise ManifestError("the manifest has no `parity` section", str(manifest_file))
    return Setting(manifest, read({**manifest.parity, "scenarios": scenarios}), faults)


def ported(manifest: Manifest, cache: Path) -> Checkout:
    """The ported target, from its branch; where that has not been made, from a port in a copy of the repository."""
    branch = manifest.target.branch or manifest.target.ref
    try:
        return checkout(manifest.repo(manifest.target), branch, "target", cache)
    except RepositoryError:
        return _port(manifest, branch, cache)


def _port(manifest: Manifest, branch: str, cache: Path) -> Checkout:
    folder = manifest.repo(manifest.target)
    if not Path(folder).is_dir():
        raise EnvironmentFault("the vendored repository has not been made", folder, "porttool vendor sync verl")
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as work:
        copy = Path(work) / Path(folder).relative_to(manifest.root)
        shutil.copytree(manifest.path.parent, Path(work) / manifest.path.parent.relative_to(manifest.root))
        shutil.copytree(folder, copy, symlinks=True)
        (Path(work) / "pyproject.toml").touch()  # marks the top of a project
        port.apply(load(Path(work) / manifest.path.relative_to(manifest.root)))
        return checkout(str(copy), branch, "target", cache)


def run(
    of: Setting,
    cache: Path,
    *,
    faults: Sequence[Fault] = (),
    jobs: int = os.cpu_count() or 1,
    report: Callable[[str], None] = lambda _: None,
) -> list[Answer]:
    """Capture what the faults need and judge each. Raises PortError where a ref or the trainer stack is missing."""
    chosen, there = faults or of.faults, stack()
    source = checkout(of.manifest.repo(of.manifest.source), of.manifest.source.ref, "source", cache)
    target = ported(of.manifest, cache)
    layout = of.manifest.layout

    def left(variant: Variant) -> Wanted:
        tree = suite.planted(source, variant.source, cache)
        return Wanted(tree, job(of.harness, of.harness.scenario(variant.scenario), "source", layout))

    def right(variant: Variant) -> Wanted:
        tree = suite.planted(target, variant.patch, cache)
        told_there = job(of.harness, of.harness.scenario(variant.scenario), "target", layout)
        return Wanted(tree, told_there, suite.on_package(variant.patch))

    variants = dict.fromkeys(variant for fault in chosen for variant in fault.variants)
    wanted = [one for variant in variants for one in (left(variant), right(variant))]
    told = captured(wanted, there, cache, jobs=jobs, report=report)
    scan = installed(cache)

    @functools.cache
    def raises(variant: Variant) -> tuple[Raised, ...]:
        ours, theirs = (told[side(variant).key(there)].capture for side in (left, right))
        return raised(ours, theirs, scan)

    return [judge(fault, raises, told[right(fault.variant).key(there)].seconds) for fault in chosen]
