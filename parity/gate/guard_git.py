"""Reads what a pull request changed: the manifest and the files beside it, at its base and as they are here."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from parity.gate.guard import Changed, Measure, changed, given, measures, probe, trailers
from parity.gate.places import in_manifest, relative, top
from parity.gate.result import Place, Probe
from porttool.errors import ManifestError, RepositoryError
from porttool.init_files import named
from porttool.manifest import Manifest
from porttool.manifest_nodes import Reader, compose, read_file
from porttool.manifest_schema import MANIFEST, Free
from porttool.repo import Repository, blob_id
from porttool.verbs.choose import project_folder

# The variables by which CI systems name the branch (or commit) that a pull request goes to.
BASES = (
    "GITHUB_BASE_REF",
    "CI_MERGE_REQUEST_DIFF_BASE_SHA",
    "CI_MERGE_REQUEST_TARGET_BRANCH_NAME",
    "BITBUCKET_PR_DESTINATION_BRANCH",
    "SYSTEM_PULLREQUEST_TARGETBRANCH",
    "BUILDKITE_PULL_REQUEST_BASE_BRANCH",
    "CHANGE_TARGET",
)
NOT_CHECKED = "no base is named (--base REF, or a pull request in CI): changes of rules and goldens were not looked at"


def base_of(named: str, environment: Mapping[str, str] = os.environ) -> str:
    """The base named on the command line, else by CI; "" where there is none."""
    told = (environment.get(name, "").removeprefix("refs/heads/") for name in BASES)
    return named or next(filter(None, told), "")


def guarded(manifest: Manifest, base: str) -> Probe:
    """The guard over everything between the merge base with `base` and the files as they are here.

    Raises RepositoryError where the base is not here, as in a clone that is too shallow.
    """
    began = time.monotonic()
    folder = top(manifest)
    try:
        repository = Repository.open(folder)
        there = _resolved(repository, base)
    except RepositoryError as error:
        hint = "fetch the base with its history (`fetch-depth: 0`), or name another one with --base"
        raise RepositoryError(f"the base {base!r} of the pull request is not here: {error.message}",
                              error.where, hint) from error  # fmt: skip
    head = repository.resolve("HEAD")
    start = repository.merge_base(there, head)
    if start is None:
        raise RepositoryError(f"HEAD has no commit in common with the base {base!r}", folder.name)
    commits = [repository.commit(oid) for oid in repository.history([head], [start])]
    reasons = trailers(commit.message.decode("utf-8", "replace") for commit in commits)
    found = _changes(manifest, repository, repository.commit(start).tree, reasons)
    return probe(found, f"{base} ({start[:8]})", in_manifest(manifest), time.monotonic() - began)


def _resolved(repository: Repository, base: str) -> str:
    """In CI the branch itself may be stale, or not there at all: what was fetched last counts."""
    for name in (f"refs/remotes/origin/{base}", base):
        try:
            return repository.resolve(name)
        except RepositoryError:
            continue
    return repository.resolve(base)


def _changes(manifest: Manifest, repository: Repository, tree: str, reasons: Mapping[str, str]) -> list[Changed]:
    path = relative(manifest.path, top(manifest))
    before = repository.file(tree, path)
    now, places = _read(read_file(manifest.path), path)
    files = changed(_files_at(repository, tree, manifest), _files_here(manifest), reasons)
    was = _held(repository.read(before.oid), path) if before is not None else None
    if was is None:
        why = given("manifest", reasons)
        hint = "say why the gate goes by another one: a line `Gate-Reason: manifest: why` in a commit message"
        return [
            Changed(
                "manifest",
                "" if before is None else "one that cannot be read",
                path,
                why,
                Place(path, 1, "project"),
                hint,
            )
        ]
    drivers = _drivers(manifest, repository, tree, {*_driver_files(was), *_driver_files(now)})
    found = changed(measures(was, {}), measures(now, places), reasons)
    return [*_chosen(manifest, repository, tree, reasons), *found, *changed(*drivers, reasons), *files]


def _chosen(
    manifest: Manifest, repository: Repository, tree: str, reasons: Mapping[str, str]
) -> Iterator[Changed]:
    """Whether the project goes by another of its manifests than before, one that was there already."""
    folder = project_folder(manifest.path.parent)
    where, held = (relative(folder / name, top(manifest)) for name in ("pyproject.toml", "manifests"))
    entry, below = repository.file(tree, where), repository.entry(tree, held)
    text = repository.read(entry.oid).decode("utf-8", "replace") if entry is not None else ""
    files = repository.entries(below.oid) if below is not None and not below.is_regular else {}
    was = _default(text, [f"manifests/{name}" for name in files if "/" not in name])
    here = folder / "pyproject.toml"
    text = here.read_text(encoding="utf-8", errors="replace") if here.is_file() else ""
    now = _default(text, [f"manifests/{file.name}" for file in (folder / "manifests").glob("*")])
    if was and now and was != now:
        hint = "say why the project goes by another manifest: a line `Gate-Reason: manifest: why` in a commit message"
        yield Changed("manifest", was, now, given("manifest", reasons), Place(where, 1, "project"), hint)


def _default(pyproject: str, files: Iterable[str]) -> str:
    """The manifest that is taken where none is named; "" where that is open."""
    found = [name for name in files if name.endswith((".yaml", ".yml"))]
    return named(pyproject) or (found[0] if len(found) == 1 else "")


def _driver_files(told: Mapping[str, Any]) -> set[str]:
    """The files beside a manifest that observe or train for it."""
    parity = told.get("parity") or {}
    named = ((parity.get("drivers") or {}).get("step"), (parity.get("convergence") or {}).get("driver"))
    return {place for name in named if (place := str(name or "").rpartition(":")[0]).endswith(".py")}


def _drivers(
    manifest: Manifest, repository: Repository, tree: str, names: set[str]
) -> tuple[dict[str, Measure], dict[str, Measure]]:
    """The content of each driver before and now; one that was not there is named by the manifest, which tells it."""
    before: dict[str, Measure] = {}
    now: dict[str, Measure] = {}
    for name in sorted(names):
        file = manifest.path.parent / name
        where = relative(file, top(manifest))
        entry = repository.file(tree, where)
        if entry is None or not entry.is_regular:
            continue
        at = Place(where, 1, "project")
        before[f"driver.{name}"] = Measure(blob_id(_split(repository.read(entry.oid))[0])[:12], "", at)
        if file.is_file():
            now[f"driver.{name}"] = Measure(blob_id(_split(file.read_bytes())[0])[:12], "", at)
    return before, now


def _held(source: bytes, name: str) -> Mapping[str, Any] | None:
    """What the manifest said at the base; None where that was no manifest: then all of it is new."""
    try:
        Reader(name).read(compose(source, name), MANIFEST)
        return _read(source, name)[0]
    except ManifestError:
        return None


def _read(source: bytes, name: str) -> tuple[Mapping[str, Any], dict[tuple[str | int, ...], Place]]:
    """The plain values of a manifest, of whatever version, and the line of each place."""
    reader = Reader(name)
    told = reader.read(compose(source, name), Free())
    if not isinstance(told, dict):
        raise ManifestError("the manifest is not a mapping", name)
    lines = ((at, where.rpartition(":")) for at, where in reader.marks.items())
    return told, {at: Place(path, int(line), "project") for at, (path, _, line) in lines}


def _folders(manifest: Manifest) -> Iterator[tuple[str, Path]]:
    for kind in ("captures", "resolutions"):
        yield kind, manifest.path.with_name(f"{manifest.path.stem}.{kind}")


def _files_at(repository: Repository, tree: str, manifest: Manifest) -> dict[str, Measure]:
    found: dict[str, Measure] = {}
    for kind, folder in _folders(manifest):
        where = relative(folder, top(manifest))
        entry = repository.entry(tree, where)
        held = repository.entries(entry.oid) if entry is not None and not entry.is_regular else {}
        contents = {path: repository.read(one.oid) for path, one in held.items() if one.is_regular}
        found |= _measured(kind, where, contents)
    return found


def _files_here(manifest: Manifest) -> dict[str, Measure]:
    found: dict[str, Measure] = {}
    for kind, folder in _folders(manifest):
        files = sorted(file for file in folder.rglob("*") if file.is_file()) if folder.is_dir() else []
        contents = {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}
        found |= _measured(kind, relative(folder, top(manifest)), contents)
    return found


def _measured(kind: str, folder: str, contents: Mapping[str, bytes]) -> dict[str, Measure]:
    """Files as measures. A resolution is its JSON and its content; a JSON may hold the reason for itself."""
    found: dict[str, Measure] = {}
    stems: dict[str, list[str]] = {}
    for path in contents:
        stem = path.removesuffix(".content").removesuffix(".json") if kind == "resolutions" else path
        stems.setdefault(stem, []).append(path)
    for stem, paths in stems.items():
        told = [(path, *_split(contents[path])) for path in sorted(paths)]
        value = ", ".join(f"{path} {blob_id(body)[:12]}" for path, body, _ in told)
        reason = next((why for _, _, why in told if why), "")
        found[f"{kind}.{stem}"] = Measure(value, reason, Place(f"{folder}/{sorted(paths)[-1]}", 1, "project"))
    return found


def _split(content: bytes) -> tuple[bytes, str]:
    """A file without line ends that a checkout may have changed, and the `reason` or `why` it holds, if it is JSON."""
    plain = content.replace(b"\r\n", b"\n")
    try:
        told = json.loads(plain)
    except ValueError:
        return plain, ""
    why = told.get("reason") or told.get("why") if isinstance(told, dict) else ""
    return plain, str(why or "")
