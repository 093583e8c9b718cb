"""The list of faults, and the trees they are put into."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from parity.capture import Checkout

HERE = Path(__file__).resolve().parent
# A patch on the server's package comes with a copy of it, which stands before the installed one.
PACKAGE = "arctic_platform/rl"


@dataclass(frozen=True)
class Variant:
    """The target with patches, or as it is, under a scenario; `source` is one on the other side.

    Several patches stand in one text, separated by a space, and are applied in that order.
    """

    scenario: str
    patch: str = ""
    source: str = ""

    def __str__(self) -> str:
        return f"{' and '.join(filter(None, self.patches)) or 'the target as it is'} under {self.scenario}"

    @property
    def patches(self) -> tuple[str, str]:
        return self.patch, self.source


@dataclass(frozen=True)
class Fault:
    """One fault: what is done to the target, who must see it and say why.

    `cause` is a regular expression on `key: cause` of what is raised. `shared`: both sides have it alike, so that
    it is told beside a match. Controls raise nothing; a `healed` variant changes the wire and raises this no more.
    """

    name: str
    row: str
    what: str
    variant: Variant
    probe: str
    cause: str
    controls: tuple[Variant, ...]
    healed: tuple[Variant, ...] = ()
    shared: bool = False

    @property
    def variants(self) -> tuple[Variant, ...]:
        """All that has to be captured for it, the target as it is included."""
        told = (self.variant, *self.controls, *self.healed)
        return tuple(dict.fromkeys([*told, *(Variant(one.scenario) for one in told)]))


def load(file: Path = HERE / "faults.yaml") -> tuple[dict[str, Any], tuple[Fault, ...]]:
    """The scenarios, as a manifest's `parity.scenarios` has them, and the faults."""
    told = yaml.safe_load(file.read_text(encoding="utf-8"))
    return told["scenarios"], tuple(_fault(name, body) for name, body in told["faults"].items())


_KNOWN = {"row", "patch", "scenario", "probe", "cause", "control", "healed", "shared", "what"}


def _fault(name: str, body: Mapping[str, Any]) -> Fault:
    unknown = set(body) - _KNOWN
    if unknown:
        raise ValueError(f"{name}: unknown keys {sorted(unknown)}")
    scenario, patch = body["scenario"], body.get("patch", "")
    re.compile(body["cause"])

    def variants(key: str) -> tuple[Variant, ...]:
        listed = body.get(key, [])
        return tuple(_variant(one, scenario) for one in (listed if isinstance(listed, list) else [listed]))

    return Fault(
        name=name,
        row=str(body["row"]),
        what=body.get("what") or words(patch),
        variant=Variant(scenario, patch),
        probe=body.get("probe", "smoke"),
        cause=body["cause"],
        controls=variants("control"),
        healed=variants("healed"),
        shared=body.get("shared", False),
    )


def _variant(told: str | Mapping[str, str], scenario: str) -> Variant:
    return Variant(**{"scenario": scenario, **({"patch": told} if isinstance(told, str) else told)})


def words(patch: str) -> str:
    """What a patch says about itself above its first hunk."""
    return (HERE / patch).read_text(encoding="utf-8").partition("\n--- ")[0].strip()


def touched(patch: str) -> list[str]:
    """The files a patch changes."""
    text = (HERE / patch).read_text(encoding="utf-8")
    return re.findall(r"^\+\+\+ b/(\S+)", text, re.M)


def on_package(patch: str) -> bool:
    """Whether a patch is on the server's package rather than on the target."""
    return bool(patch) and all(file.startswith(PACKAGE) for file in touched(patch))


def planted(base: Checkout, patches: str, cache: Path) -> Checkout:
    """A side's tree with patches applied, each exactly where it says; made once for each content."""
    names = patches.split()
    for patch in names:
        base = _planted(base, patch, cache)
    return replace(base, ref=f"{len(names)} patches") if len(names) > 1 else base


def _planted(base: Checkout, patch: str, cache: Path) -> Checkout:
    file = HERE / patch
    tree = hashlib.sha256(base.tree.encode() + file.read_bytes()).hexdigest()
    folder = cache / "trees" / tree
    if not folder.is_dir():
        partial = folder.with_suffix(f".{os.getpid()}")
        shutil.rmtree(partial, ignore_errors=True)
        # Files are links to the side's own, but those the patch writes.
        shutil.copytree(base.folder / "verl", partial / "verl", copy_function=os.link)
        if on_package(patch):
            shutil.copytree(_installed(), partial / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
        for name in touched(patch):
            own = partial / name
            content = own.read_bytes()
            own.unlink()
            own.write_bytes(content)
        apply(file, partial)
        partial.rename(folder)
    return Checkout(base.side, patch, "", tree, folder)


def apply(patch: Path, tree: Path, *options: str) -> None:
    """`git apply`, which takes no fuzz. Raises ValueError with git's words where the patch does not fit."""
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.resolve().parent)}
    command = ["git", "apply", *options, str(patch)]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"{patch.name} does not apply: {done.stderr.strip()}")


def _installed() -> Path:
    found = find_spec(PACKAGE.partition("/")[0])
    if found is None or not found.submodule_search_locations:
        raise ValueError(f"{PACKAGE} is not installed")
    return Path(next(iter(found.submodule_search_locations))) / PACKAGE.partition("/")[2]
