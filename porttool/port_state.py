"""What survives a stop: the conflict being resolved and the commits skipped by hand, in one file per target branch."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from porttool.errors import EnvironmentFault, RepositoryError
from porttool.repo import MODE_EXECUTABLE, MODE_FILE, MODE_GITLINK, MODE_LINK, Entry, Repository, blob_id
from porttool.resolutions import Sides, write_atomic


@dataclass(frozen=True)
class State:
    """A port that waits for a person. `fingerprint` names the plan it belongs to; `scratch` holds the conflict.

    Commits done so far are not kept: porting is repeatable, and doing it again is faster than trusting a file.
    """

    fingerprint: str
    skipped: tuple[str, ...] = ()
    scratch: str = ""


def folder_of(repository: Repository, ref: str) -> Path:
    """Where the state of one target branch is kept."""
    name = ref.removeprefix("refs/heads/").replace("/", "-")
    digest = hashlib.sha1(ref.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return repository.common / "porttool" / f"{name}-{digest}"


def load(folder: Path) -> State | None:
    """The state left by an earlier run, or None."""
    file = folder / "state.json"
    if not file.is_file():
        return None
    try:
        told: Mapping[str, Any] = json.loads(file.read_bytes())
        return State(told["fingerprint"], tuple(told["skipped"]), told["scratch"])
    except (ValueError, KeyError, TypeError) as error:
        hint = "`porttool apply --abort`, then apply again"
        raise RepositoryError(f"the state file cannot be read: {error}", str(file), hint) from error


def save(folder: Path, state: State) -> None:
    """Keep a state; a kill leaves either the old one or this one."""
    told = {
        "version": 1,
        "fingerprint": state.fingerprint,
        "skipped": state.skipped,
        "scratch": state.scratch,
    }
    write_atomic(folder / "state.json", json.dumps(told, indent=1).encode() + b"\n")


def clear(repository: Repository, folder: Path) -> None:
    """Remove state and scratch worktrees. Nothing there is no error."""
    if folder.is_dir():
        (folder / "state.json").unlink(missing_ok=True)
        sweep(repository, folder, keep="")
        shutil.rmtree(folder, ignore_errors=True)


def sweep(repository: Repository, folder: Path, keep: str) -> None:
    """Remove scratch worktrees that no state names any more."""
    for scratch in folder.glob("scratch-*"):
        if str(scratch) != keep:
            repository.refs.remove_worktree(scratch)


def scratch_key(source: str, head: str, tree: str) -> str:
    """How the name of a conflict's scratch worktree begins: the same conflict has the same key."""
    return f"scratch-{source[:12]}-{hashlib.sha1(f'{source} {head} {tree}'.encode()).hexdigest()[:8]}"


def lay_out(repository: Repository, scratch: Path, head: str, tree: str, unmerged: Mapping[str, Sides]) -> None:
    """Write a conflict into a worktree of its own, byte for byte, with the unmerged paths in its index."""
    with disk_faults(scratch):
        repository.refs.remove_worktree(scratch)
        repository.refs.add_worktree(scratch, head)
        for path, entry in repository.entries(tree).items():
            write_entry(repository, scratch, path, entry)
    repository.stage(scratch, tree, unmerged)


def write_entry(repository: Repository, folder: Path, path: str, entry: Entry) -> None:
    """Write one entry without any filter. Raises RepositoryError for a path that would leave the folder."""
    if any(part in ("", ".", "..", ".git") for part in path.lower().split("/")):
        raise RepositoryError("a tree holds a path that git would not check out", path)
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    if entry.mode == MODE_GITLINK:
        file.mkdir(exist_ok=True)
    elif entry.mode == MODE_LINK:
        file.symlink_to(os.fsdecode(repository.read(entry.oid)))
    else:
        file.write_bytes(repository.read(entry.oid))
        if entry.mode == MODE_EXECUTABLE:
            file.chmod(0o755)


def changed(repository: Repository, scratch: Path, tree: str) -> dict[str, Entry | None]:
    """What a person changed in a scratch worktree: every path that differs from `tree`, ignored new files left out."""
    found: dict[str, Entry | None] = {}
    before = repository.entries(tree)
    for path, was in before.items():
        now = read_entry(repository, scratch, path, was)
        if now != was:
            found[path] = now
    for path in repository.untracked(scratch):
        if path not in before and (fresh := read_entry(repository, scratch, path, None)):
            found[path] = fresh
    return found


def read_entry(repository: Repository, folder: Path, path: str, was: Entry | None) -> Entry | None:
    """The entry a person left at a path; a submodule that is still a folder is as it was."""
    file = folder / path
    try:
        mode = file.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISDIR(mode):
        return was if was is not None and was.mode == MODE_GITLINK else None
    link = stat.S_ISLNK(mode)
    content = os.fsencode(os.readlink(file)) if link else file.read_bytes()
    kind = MODE_LINK if link else MODE_EXECUTABLE if mode & 0o100 else MODE_FILE
    # Most files are as they were: those are told by their id and not kept a second time.
    if was is not None and blob_id(content) == was.oid:
        return Entry(kind, was.oid)
    return Entry(kind, repository.write(content))


@contextmanager
def disk_faults(where: Path) -> Iterator[None]:
    """Turn what the file system refuses into a fault that says so."""
    try:
        yield
    except OSError as error:
        raise EnvironmentFault(f"cannot write: {error.strerror}", str(where), "free some disk space") from error
