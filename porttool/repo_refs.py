"""Refs, remotes and worktrees of a repository. Nothing here touches a ref of the user before `move`."""

from __future__ import annotations

import difflib
import hashlib
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pygit2

from porttool.errors import EnvironmentFault, RepositoryError, UsageError
from porttool.repo_git import Git, why_not_fetched
from porttool.repo_loose import Loose

ZERO = "0" * 40
OWN_REFS = "refs/porttool/"
_LOCK_TRIES, _LOCK_PAUSE = 10, 0.05
_LOCK_HINT = "wait for it to end, or remove the lock where it is stale"


class RefMove(NamedTuple):
    """One ref to move from `old` to `new`; None stands for "does not exist"."""

    ref: str
    old: str | None
    new: str | None


def check_rev(rev: str) -> str:
    """A revision as the user typed it. Raises UsageError where git could take it for an option."""
    if rev.startswith("-"):
        raise UsageError(f"{rev!r} is not a revision", hint="a ref cannot begin with `-`")
    if not rev or "\0" in rev or "\n" in rev:
        raise UsageError(f"{rev!r} is not a revision", hint="name a branch, a tag or a commit id")
    return rev


def branch_ref(branch: str) -> str:
    """The full ref of a branch to be written. Raises UsageError where git would not allow the name."""
    check_rev(branch)
    ref = branch if branch.startswith("refs/heads/") else f"refs/heads/{branch}"
    if not pygit2.reference_is_valid_name(ref):
        raise UsageError(f"{branch!r} is not a valid branch name", hint="see `git check-ref-format --help`")
    return ref


def is_url(location: str) -> bool:
    """Whether a repository is named by URL (`https://...`, `git@host:owner/name`) and not by path."""
    head, colon, _ = location.partition(":")
    return "://" in location or (bool(colon) and "/" not in head and not Path(location).exists())


@dataclass(frozen=True)
class Refs:
    """The refs, remotes and worktrees of the repository whose common git directory is `common`."""

    repository: pygit2.Repository
    git: Git
    common: Path
    loose: Loose

    def names(self) -> list[str]:
        return list(self.repository.references)

    def read(self, ref: str) -> str | None:
        """The object a full ref name points at; None where it does not exist."""
        try:
            return str(self.repository.references[ref].resolve().target)
        except (KeyError, pygit2.InvalidSpecError):
            return None

    def resolve(self, rev: str, remote: str | None = None) -> str:
        """The commit id of a revision; with `remote`, names are looked up among that remote's refs first."""
        check_rev(rev)
        spaces = [f"{remote}{kind}/" for kind in ("heads", "tags", "remotes")] if remote else []
        candidates = (*(space + rev for space in spaces), rev, f"refs/remotes/origin/{rev}")
        for candidate in candidates if self.loose.are_walkable else ():
            try:
                return str(self.repository.revparse_single(candidate).peel(pygit2.Commit).id)
            except (KeyError, ValueError, pygit2.GitError):
                continue
        for candidate in candidates:
            # libgit2 does not look at a commit whose author line it cannot parse; git does.
            told = ("rev-parse", "--verify", "--quiet", "--end-of-options", candidate)
            ran = self.git.run(*told[:-1], candidate + "^{commit}", answers=range(256))
            if ran.code == 0:
                return ran.out.decode("ascii").strip()
            ran = self.git.run(*told, answers=range(256))
            if ran.code == 0:
                self.loose.read(ran.out.decode("ascii").strip())  # says so where it is damaged
        raise RepositoryError(f"no commit is called {rev!r}", str(self.common), self._nearest(rev, remote))

    def _nearest(self, rev: str, remote: str | None) -> str:
        known = {name.removeprefix(remote or "").split("/", 2 if not remote else 1)[-1]
                 for name in self.names() if name.startswith(remote or "refs/")}  # fmt: skip
        close = difflib.get_close_matches(rev, sorted(known), 1, 0.5)
        return f"did you mean {close[0]!r}?" if close else "fetch it, or correct the name"

    def move(self, moves: Iterable[RefMove]) -> None:
        """Move refs in one transaction, each only if it still is where we found it."""
        lines = ["start"]
        for ref, old, new in moves:
            verb = f"delete {ref}\0" if new is None else f"update {ref}\0{new}\0"
            lines.append(f"{verb}{ZERO if old is None and new is not None else old or ''}")
        text = "\0".join([*lines, "prepare", "commit", ""])
        with uninterrupted():
            told = ("update-ref", "--no-deref", "--stdin", "-z")
            ran = self.git.run(*told, stdin=os.fsencode(text), answers=(0, 1, 128))
        if ran.code == 0:
            return
        if "couldn't write" in ran.err or "No space left" in ran.err:
            hint = "free some disk space; nothing was changed"
            raise EnvironmentFault("a ref could not be written", _quoted(ran.err), hint)
        if ".lock" in ran.err:
            raise RepositoryError("a ref is locked by another git process", _quoted(ran.err), _LOCK_HINT)
        if "but expected" in ran.err or "already exists" in ran.err or "unable to resolve" in ran.err:
            hint = "nothing was changed; run it again on what is there now"
            raise RepositoryError("a ref moved while porttool worked", _quoted(ran.err), hint)
        message = f"refs could not be moved: {_quoted(ran.err)}"
        raise RepositoryError(message, str(self.common), "nothing was changed; name another branch, or clear the way")

    def check_free(self, ref: str) -> None:
        """Raises RepositoryError where a branch is checked out in some worktree, or locked."""
        for folder, held in self.worktrees():
            if held == ref:
                hint = "name another branch, or switch that worktree away"
                raise RepositoryError(f"branch {ref.removeprefix('refs/heads/')!r} is checked out", folder, hint)
        lock = self.common / f"{ref}.lock"
        for _ in range(_LOCK_TRIES):
            # A git that outlived a killed porttool may still be about to finish.
            if not lock.exists():
                return
            time.sleep(_LOCK_PAUSE)
        if lock.exists():
            raise RepositoryError("the target branch is locked by another git process", str(lock), _LOCK_HINT)

    def worktrees(self) -> list[tuple[str, str | None]]:
        """Each worktree's folder and the ref it has checked out (None where detached)."""
        heads = [(self.common, self.common.parent)]
        for admin in sorted((self.common / "worktrees").glob("*")):
            folder = admin / "gitdir"
            heads.append((admin, Path(folder.read_text().strip()).parent if folder.is_file() else admin))
        found = []
        for admin, folder in heads:
            head = (admin / "HEAD").read_text() if (admin / "HEAD").is_file() else ""
            found.append((str(folder), head[5:].strip() if head.startswith("ref: ") else None))
            found += [(str(folder), ref) for ref in _refs_being_rebased(admin)]
        return found

    def fetch(self, location: str, whole: bool) -> str:
        """Bring the refs of another repository under `refs/porttool/`; returns the prefix they are under.

        `whole` brings every ref (a local path, whose remote-tracking branches count); else branches and tags.
        """
        prefix = f"{OWN_REFS}remotes/{hashlib.sha1(os.fsencode(location)).hexdigest()[:12]}/"
        if whole:
            specs = [f"+refs/{kind}/*:{prefix}{kind}/*" for kind in ("heads", "tags", "remotes")]
        else:
            specs = [f"+refs/{kind}/*:{prefix}{kind}/*" for kind in ("heads", "tags")]
        told = ("--no-tags", "--no-write-fetch-head", "--prune", "--quiet", "--no-recurse-submodules")
        ran = self.git.run("fetch", *told, "--", location, *specs, answers=range(256))
        if ran.code != 0:
            why = f"cannot fetch: {why_not_fetched(ran.code, ran.err)}"
            raise EnvironmentFault(why, location, "check the address and your git credentials")
        return prefix

    def add_worktree(self, folder: Path, commit: str) -> None:
        """A detached worktree with an empty folder; the caller writes the files, so that no filter touches them."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        self.git.run("worktree", "add", "--quiet", "--detach", "--no-checkout", "--force", str(folder), commit)

    def remove_worktree(self, folder: Path) -> None:
        """Remove a worktree made by `add_worktree`; one that is gone already is no error."""
        shutil.rmtree(folder, ignore_errors=True)
        # `git worktree prune` would forget the user's worktrees too, where their disk is not mounted just now.
        for admin in (self.common / "worktrees").glob("*/gitdir"):
            if admin.read_text().strip() == str(folder / ".git"):
                shutil.rmtree(admin.parent, ignore_errors=True)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C off: an interrupted port has changed nothing, and one that reached this point is done."""
    in_main = threading.current_thread() is threading.main_thread()
    # The mask is for git, which inherits it; the handler for us, as the signal may reach any of our threads.
    was = signal.signal(signal.SIGINT, _too_late) if in_main else None
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if in_main:
            signal.signal(signal.SIGINT, was)


def _too_late(number: int, frame: object) -> None:
    """A Ctrl-C that comes once refs move."""


def _refs_being_rebased(admin: Path) -> list[str]:
    names = (admin / kind / "head-name" for kind in ("rebase-merge", "rebase-apply"))
    return [name.read_text().strip() for name in names if name.is_file()]


def _quoted(err: str) -> str:
    return err.splitlines()[0].removeprefix("fatal: ")
