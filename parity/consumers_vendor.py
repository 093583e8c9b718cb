"""The scan of the installed server, found without importing it and kept by the contents of its files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from parity.consumers_guards import Guard
from parity.consumers_static import Read, Scan, scan
from porttool.errors import EnvironmentFault

HERE = Path(__file__).resolve().parent
SERVER = "arctic_platform"
# The forward of the tiny model; every causal model of transformers takes the same words.
MODEL = "transformers/models/qwen3/modeling_qwen3.py"


def installed(cache: Path) -> Scan:
    """Who reads what in the installed server. Raises EnvironmentFault where it is not installed."""
    site, files, models = _sources()
    digest = hashlib.sha256()
    for file in (*files, *models, *sorted(HERE.glob("consumers*.py"))):
        digest.update(file.read_bytes() + b"\0")
    kept = cache / "scans" / f"{digest.hexdigest()}.json"
    if kept.is_file():
        return from_json(kept.read_text(encoding="utf-8"))
    found = scan(site, files, models=models)
    kept.parent.mkdir(parents=True, exist_ok=True)
    partial = kept.with_suffix(".part")
    partial.write_text(to_json(found), encoding="utf-8")
    partial.rename(kept)
    return found


def _sources() -> tuple[Path, list[Path], list[Path]]:
    found = find_spec(SERVER)
    places = list(found.submodule_search_locations or ()) if found is not None else []
    if not places:
        raise EnvironmentFault(f"{SERVER} is not installed", SERVER, "pip install 'porttool[parity]'")
    folder = Path(places[0])
    models = [folder.parent / MODEL]
    return folder.parent, sorted((folder / "rl").rglob("*.py")), [file for file in models if file.is_file()]


def to_json(found: Scan) -> str:
    """What `from_json` reads."""
    return json.dumps({**asdict(found), "loops": sorted(found.loops)})


def from_json(text: str) -> Scan:
    """The scan that `to_json` wrote."""
    told = json.loads(text)
    return Scan(
        reads=tuple(map(_read, told["reads"])),
        writes=tuple(map(_read, told["writes"])),
        handed=tuple((label, to) for label, to in told["handed"]),
        shelved=tuple((label, key, where) for label, key, where in told["shelved"]),
        loops=frozenset(told["loops"]),
    )


def _read(told: Mapping[str, Any]) -> Read:
    return Read(**{**told, "guards": tuple(map(_guard, told["guards"]))})


def _guard(told: Mapping[str, Any]) -> Guard:
    place = (told["place"][0], told["place"][1])
    return Guard(**{**told, "place": place, "parts": tuple(map(_guard, told["parts"]))})
