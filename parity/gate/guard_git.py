"""Reads what a pull request changed: the manifest and the files beside it, at its base and as they are here."""

from __future__ import annotations

import json
import os
import posixpath
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
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
from porttool.repo import MODE_LINK, MODE_TREE, Repository, blob_id
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
    if not (folder / ".git").exists():
        told = "the manifest lies in no git repository: what a pull request changed of it is not known"
        raise RepositoryError(told, str(manifest.path), "leave --base out, or run it where the project is checked out")
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
    found = _changes(manifest, _Tree(repository, repository.commit(start).tree), reasons)
    told = f"{base} ({start[:8]})"
    if start == head:
        told += ", which holds HEAD: only what is not committed was looked at"
    return probe(found, told, in_manifest(manifest), time.monotonic() - began)


def _resolved(repository: Repository, base: str) -> str:
    """In CI the branch itself may be stale, or not there at all: what was fetched last counts."""
    for name in (f"refs/remotes/origin/{base}", base):
        try:
            return repository.resolve(name)
        except RepositoryError:
            continue
    return repository.resolve(base)


@dataclass(frozen=True)
class _Tree:
    """The files of a commit as a checkout of it would give them: a link is what it leads to."""

    repository: Repository
    tree: str

    def at(self, path: str) -> str:
        """Where a path leads; itself where it is not there, "" where it leads out of the tree or in a circle."""
        for _ in range(_MOST_LINKS):
            parts = path.split("/")
            for end in range(1, len(parts) + 1):
                entry = self.repository.entry(self.tree, "/".join(parts[:end]))
                if entry is not None and entry.mode == MODE_LINK:
                    to = os.fsdecode(self.repository.read(entry.oid))
                    path = posixpath.normpath(posixpath.join(*parts[: end - 1], to, *parts[end:]))
                    break
            else:
                return path
            if path.startswith(("/", "..")):
                return ""
        return ""

    def read(self, path: str) -> bytes | None:
        """The content of a file; None where there is none."""
        entry = self.repository.file(self.tree, there) if (there := self.at(path)) else None
        return self.repository.read(entry.oid) if entry is not None and entry.is_regular else None

    def below(self, folder: str) -> dict[str, bytes]:
        """Every file below a folder by its path there."""
        entry = self.repository.entry(self.tree, there) if (there := self.at(folder)) else None
        held = self.repository.entries(entry.oid) if entry is not None and entry.mode == MODE_TREE else {}
        read = {path: self.read(f"{there}/{path}") for path in held}
        return {path: content for path, content in read.items() if content is not None}


# As many as Linux follows.
_MOST_LINKS = 40


def _changes(manifest: Manifest, base: _Tree, reasons: Mapping[str, str]) -> list[Changed]:
    path = relative(manifest.path, top(manifest))
    now, places = _read(read_file(manifest.path), path)
    origin = _origin(manifest, base)
    source = base.read(origin)
    # Of a manifest that is new, what stands beside it is new as well.
    files = changed(_files_at(base, origin), _files_here(manifest, path), reasons) if source is not None else []
    was = _held(source, path) if source is not None else None
    if source is None or was is None:
        return [_other("" if source is None else "one that cannot be read", path, path, reasons), *files]
    drivers = _drivers(manifest, base, origin, {*_driver_files(was), *_driver_files(now)})
    found = changed(measures(was, {}), measures(now, places), reasons)
    told = _chosen(manifest, base, reasons) if origin == path else [_other(origin, path, path, reasons)]
    return [*told, *found, *changed(*drivers, reasons), *files]


def _other(was: str, now: str, where: str, reasons: Mapping[str, str]) -> Changed:
    hint = "say why the gate goes by another one: a line `Gate-Reason: manifest: why` in a commit message"
    return Changed("manifest", was, now, given("manifest", reasons), Place(where, 1, "project"), hint)


def _origin(manifest: Manifest, base: _Tree) -> str:
    """What this manifest was at the base: of the name it is called by, else the one that the project went by then.

    The latter only where it is not here any more: another manifest that is added measures by itself.
    """
    folder = top(manifest)
    called = Path(os.path.abspath(manifest.where().rpartition(":")[0]))
    # A link in the place of a manifest must not choose what it is compared with.
    above = next((one for one in called.parents if one.resolve() == folder), None)
    path = called.relative_to(above).as_posix() if above is not None else relative(manifest.path, folder)
    if base.read(path) is not None:
        return base.at(path)
    before = _default_of(base, relative(project_folder(manifest.path.parent), folder))
    return base.at(before) if before and not (folder / before).is_file() else path


def _chosen(manifest: Manifest, base: _Tree, reasons: Mapping[str, str]) -> list[Changed]:
    """Whether the project goes by another of its manifests than before, one that was there already."""
    folder, nearest = top(manifest), project_folder(manifest.path.parent)
    for project in (one for one in manifest.path.parents if one == folder or folder in one.parents):
        was, now = _default_of(base, relative(project, folder)), _default_here(project, folder)
        # The entry of a project around this one is of interest where it leads here.
        if was and now and was != now and (project == nearest or (folder / now).resolve() == manifest.path):
            where = posixpath.join(relative(project, folder), "pyproject.toml")
            return [_other(was, now, where, reasons)]
    return []


def _default_of(base: _Tree, project: str) -> str:
    held = base.below(posixpath.join(project, "manifests"))
    text = (base.read(posixpath.join(project, "pyproject.toml")) or b"").decode("utf-8", "replace")
    return _below(project, _default(text, [f"manifests/{name}" for name in held if "/" not in name]))


def _default_here(project: Path, folder: Path) -> str:
    file = project / "pyproject.toml"
    text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
    held = [f"manifests/{one.name}" for one in (project / "manifests").glob("*")]
    return _below(relative(project, folder), _default(text, held))


def _below(project: str, name: str) -> str:
    return posixpath.normpath(posixpath.join(project, name)) if name else ""


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
    manifest: Manifest, base: _Tree, origin: str, names: set[str]
) -> tuple[dict[str, Measure], dict[str, Measure]]:
    """The content of each driver before and now; one that was not there is named by the manifest, which tells it."""
    before: dict[str, Measure] = {}
    now: dict[str, Measure] = {}
    for name in sorted(names):
        file = manifest.path.parent / name
        held = base.read(posixpath.normpath(posixpath.join(posixpath.dirname(origin), name)))
        if held is None:
            continue
        at = Place(relative(file, top(manifest)), 1, "project")
        before[f"driver.{name}"] = Measure(blob_id(_split(held)[0])[:12], "", at)
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


def _folders(path: str) -> Iterator[tuple[str, str]]:
    for kind in ("captures", "resolutions"):
        yield kind, posixpath.join(posixpath.dirname(path), f"{Path(path).stem}.{kind}")


def _files_at(base: _Tree, origin: str) -> dict[str, Measure]:
    found: dict[str, Measure] = {}
    for kind, folder in _folders(origin):
        found |= _measured(kind, folder, base.below(folder))
    return found


def _files_here(manifest: Manifest, path: str) -> dict[str, Measure]:
    found: dict[str, Measure] = {}
    for kind, name in _folders(path):
        folder = manifest.path.parent / posixpath.basename(name)
        files = sorted(file for file in folder.rglob("*") if file.is_file()) if folder.is_dir() else []
        found |= _measured(kind, name, {file.relative_to(folder).as_posix(): file.read_bytes() for file in files})
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
