"""Pinned packages as git repositories: `sync` builds them under `build/`, `verify` says what is not as pinned."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from porttool.errors import EnvironmentFault, RepositoryError
from porttool.vendor_build import branch_patches, build_objects
from porttool.vendor_fetch import cache_folder, fetch
from porttool.vendor_git import Git
from porttool.vendor_pins import PINS, Pin, chosen, load_pins
from porttool.vendor_series import Listed

BUILD = Path("build")
STAMP = Path(".git/porttool-vendor.json")
FORMAT = 1  # raise it when the same pins and patches begin to give other commits

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Synced:
    """The repository of a pin: `refs` full name -> commit; `built` is False where it was right already."""

    name: str
    folder: Path
    refs: Mapping[str, str]
    built: bool


@dataclass(frozen=True)
class Stamp:
    """What a sync noted in the repository it built: the digest of its pin and where it left its refs."""

    digest: str
    refs: Mapping[str, str]


def sync(names: tuple[str, ...] = (), *, root: Path, progress: Progress = lambda line: None) -> list[Synced]:
    """Make `build/<name>` of each named pin, or of all, as `vendor_patches/pins.yaml` under `root` says.

    Branches a user made there stay. Raises a PortError; whatever happens, what was right before is still there.
    """
    pins = chosen(load_pins(root / PINS), names, root / PINS)
    try:
        return [_sync(pin, root, progress) for pin in pins]
    except OSError as error:
        where, hint = str(error.filename or root / BUILD), "run sync again once that is mended"
        raise EnvironmentFault(f"cannot write: {error.strerror or error}", where, hint) from None


def _sync(pin: Pin, root: Path, progress: Progress) -> Synced:
    patches = branch_patches(pin, root / PINS.parent)
    folder, digest = root / BUILD / pin.name, pin_digest(pin, patches)
    folder.parent.mkdir(exist_ok=True)
    with _alone(folder):
        stamp = read_stamp(folder)
        if stamp and stamp.digest == digest and current_refs(folder, stamp.refs) == stamp.refs:
            return Synced(pin.name, folder, stamp.refs, built=False)
        archive = fetch(pin, cache_folder(), progress)
        if stamp is not None:
            refs = _renewed(pin, folder, archive, patches, stamp.refs, progress)
            _write_stamp(folder, Stamp(digest, refs))
        else:
            refs = _created(pin, folder, archive, patches, digest, progress)
    progress(f"built {folder} with {len(refs)} refs")
    return Synced(pin.name, folder, refs, built=True)


def pin_digest(pin: Pin, patches: Mapping[str, list[Listed]]) -> str:
    """A sha256 over all that decides the commits of a pin."""
    told = [FORMAT, pin.name, pin.version, pin.file, pin.sha256, pin.base, str(pin.author), pin.date]
    parts = [json.dumps(told).encode()]
    for branch in pin.branches:
        parts.append(json.dumps([branch.name, branch.start, dict(branch.tags)]).encode())
        for item in patches[branch.name]:
            parts += [item.file.encode(), item.patch.author_line, item.patch.message, item.patch.diff]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(b"%d:" % len(part) + part)
    return digest.hexdigest()


def current_refs(folder: Path, wanted: Mapping[str, str]) -> dict[str, str]:
    """Where the wanted refs of a repository stand now; a ref that is not there is left out."""
    listed = Git(folder).text("for-each-ref", "--format=%(objectname) %(refname)", *wanted).splitlines()
    found = {name: oid for oid, name in (line.split(" ", 1) for line in listed)}
    return {name: oid for name, oid in found.items() if name in wanted}


def read_stamp(folder: Path) -> Stamp | None:
    """What the last sync noted in a repository; None where there is no repository.

    Raises RepositoryError for a folder that sync did not make.
    """
    if not folder.exists():
        return None
    try:
        return Stamp(**json.loads((folder / STAMP).read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError):
        hint = "move it away, or delete it if nothing in it is yours, and sync again"
        raise RepositoryError("this folder was not built by vendor sync", str(folder), hint) from None


def _write_stamp(folder: Path, stamp: Stamp) -> None:
    fresh = folder / STAMP.with_suffix(".new")
    told = {"digest": stamp.digest, "refs": dict(stamp.refs)}
    fresh.write_text(json.dumps(told, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    fresh.replace(folder / STAMP)


def _created(
    pin: Pin, folder: Path, archive: Path, patches: dict[str, list[Listed]], digest: str, progress: Progress
) -> dict[str, str]:
    """Build beside `folder` and move the finished repository to its name, so that it is never seen half made."""
    prefix = _scratch_prefix(folder)
    for left in folder.parent.glob(prefix + "*"):
        shutil.rmtree(left)
    partial = Path(tempfile.mkdtemp(prefix=prefix, dir=folder.parent))
    try:
        partial.chmod(0o755)
        git = Git(partial)
        git.run("init", "--quiet", "--template=", "--object-format=sha1", "--initial-branch=main")
        git.run("config", "core.autocrlf", "false")
        refs = build_objects(git, pin, archive, patches, progress)
        git.run("update-ref", "--stdin", stdin=b"".join(b"create %s %s\n" % _bytes(ref) for ref in refs.items()))
        # Detached: no branch is checked out, so that any of them may be moved.
        git.run("checkout", "--quiet", "--detach", f"refs/heads/{pin.base}", "--")
        _write_stamp(partial, Stamp(digest, refs))
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return refs


def _renewed(
    pin: Pin,
    folder: Path,
    archive: Path,
    patches: dict[str, list[Listed]],
    noted: Mapping[str, str],
    progress: Progress,
) -> dict[str, str]:
    """Bring an existing repository to the pins: add objects, then move all refs of ours in one transaction."""
    git = Git(folder)
    refs = build_objects(git, pin, archive, patches, progress)
    standing = current_refs(folder, {**noted, **refs})
    checked_out = git.text("worktree", "list", "--porcelain").splitlines()
    for name, oid in standing.items():
        if oid not in (noted.get(name), refs.get(name)):
            hint = "give your commits a branch of your own, delete this one, and sync again"
            raise RepositoryError(f"{name} was moved by hand", str(folder), hint)
        if f"branch {name}" in checked_out and oid != refs.get(name):
            hint = "run `git checkout --detach` there, then sync again"
            raise RepositoryError(f"{name} is checked out", str(folder), hint)
    moves = [b"update %s %s %s\n" % (*_bytes((n, o)), standing.get(n, "0" * 40).encode()) for n, o in refs.items()]
    moves += [b"delete %s %s\n" % _bytes((n, standing[n])) for n in noted if n in standing and n not in refs]
    git.run("update-ref", "--stdin", stdin=b"".join(moves))
    base = refs[f"refs/heads/{pin.base}"]
    if _at_old_base(git, noted, base) and git.attempt("checkout", "--quiet", "--detach", base, "--").status:
        progress(f"the worktree of {folder} has changes and stays where it is")
    return refs


def _at_old_base(git: Git, noted: Mapping[str, str], base: str) -> bool:
    """Whether the worktree is as an earlier sync left it, on a base that is no longer the pinned one."""
    head = git.text("rev-parse", "HEAD")
    return git.attempt("symbolic-ref", "--quiet", "HEAD").status != 0 and head in noted.values() and head != base


def _bytes(pair: tuple[str, str]) -> tuple[bytes, bytes]:
    return pair[0].encode(), pair[1].encode()


def _scratch_prefix(folder: Path) -> str:
    return f".{folder.name}.partial-"


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the lock of one repository; the system drops it when the process ends, however it ends."""
    with (folder.parent / f".{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
