"""Captures as files beside the manifest, `<name>.captures/<scenario>.<side>.json`: to read and to hold a side to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from parity.compare import Comparison, Rule, compare, environments
from parity.record import Capture, from_json, to_json
from parity.verdict import Judged, judge
from porttool.errors import ManifestError, UsageError

# What a stored capture keeps of its provenance: where it comes from changes with every rebuilt branch.
_KEPT = ("env.", "seed")


@dataclass(frozen=True)
class Stored:
    """A capture compared with the file that holds it; `elsewhere` says how its environment is another one."""

    file: Path
    side: str
    comparison: Comparison
    judged: Judged
    elsewhere: str = ""


class Store:
    """The captures of one manifest."""

    def __init__(self, manifest: Path) -> None:
        self.folder = manifest.with_name(f"{manifest.stem}.captures")

    def file(self, scenario: str, side: str) -> Path:
        return self.folder / f"{scenario}.{side}.json"

    def read(self, scenario: str, side: str) -> Capture | None:
        """The stored capture, or None. Raises ManifestError on a file that holds none."""
        file = self.file(scenario, side)
        if not file.is_file():
            return None
        try:
            return from_json(file.read_text(encoding="utf-8"))
        except ValueError as error:
            hint = "restore it, or write it anew with --update"
            raise ManifestError(f"this is not a capture: {error}", str(file), hint) from error

    def held(self, capture: Capture, rules: tuple[Rule, ...] = ()) -> Stored | None:
        """A fresh capture against its file: a changed side differs, another environment is incomparable.

        What is declared to differ between the sides may not differ between a side and what is stored of it.
        """
        kept = self.read(capture.scenario, capture.side)
        if kept is None:
            return None
        strict = [Rule(rule.glob, "exact") if rule.kind == "expected" else rule for rule in rules]
        told = compare(kept, capture, strict)
        elsewhere = environments(kept.provenance, capture.provenance)
        return Stored(self.file(capture.scenario, capture.side), capture.side, told, judge(told), elsewhere)

    def update(self, capture: Capture, environment: Mapping[str, str] = os.environ) -> Path:
        """Write a capture. Raises UsageError in CI, and for a capture of a run that crashed."""
        refuse_in_ci(environment)
        if capture.crashed:
            last = capture.crashed.strip().splitlines()[-1]
            raise UsageError(f"the {capture.side} side crashed and is not stored: {last}", capture.scenario)
        kept = {name: value for name, value in capture.provenance.items() if name.startswith(_KEPT)}
        file = self.file(capture.scenario, capture.side)
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".part")
        partial.write_text(to_json(replace(capture, provenance=kept)), encoding="utf-8")
        partial.rename(file)
        return file


def refuse_in_ci(environment: Mapping[str, str] = os.environ, option: str = "--update") -> None:
    """Raise UsageError where CI runs: what a check is held to is written by people."""
    if environment.get("CI", "").lower() not in ("", "0", "false"):
        raise UsageError(f"{option} is refused in CI", "CI", "run it on your machine and commit the files")
