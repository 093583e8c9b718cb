"""Small repositories for tests: `repo.commit({"path": "text"}) -> oid`, with a clock that ticks once per commit."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pygit2

IDENTITY = ("Test Committer", "committer@example.invalid")
AUTHOR = "Ann Author <ann@example.invalid>"
FIRST_SECOND = 1_700_000_000


class Link(NamedTuple):
    """A symlink to a target."""

    target: str


class Script(NamedTuple):
    """An executable file."""

    content: bytes | str


class Submodule(NamedTuple):
    """A gitlink to a commit of another repository."""

    oid: str


Content = bytes | str | Link | Script | Submodule | None


class Repo:
    """A repository under construction. Branches move with each commit; the worktree stays empty unless asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.git_repo = pygit2.Repository(str(path))
        self.seconds = FIRST_SECOND

    def commit(
        self,
        files: Mapping[str, Content],
        *,
        message: str | bytes = "change\n",
        author: str | bytes = AUTHOR,
        branch: str = "main",
        parents: Iterable[str] | None = None,
        zone: str | bytes = "+0000",
        headers: Iterable[tuple[bytes, bytes]] = (),
        author_line: bytes | None = None,
    ) -> str:
        """A commit of `files` (None deletes) on top of the first parent: the branch's tip unless told otherwise.

        `author_line` sets the raw bytes after `author `; `headers` are extra raw ones: `(b"encoding", b"latin1")`.
        """
        above = list(parents) if parents is not None else self._tip(branch)
        tree = self.tree(files, above[0] if above else None)
        self.seconds += 60
        clock = f" {self.seconds} ".encode() + _bytes(zone)
        committer = f"{IDENTITY[0]} <{IDENTITY[1]}> {self.seconds} +0000".encode()
        lines = [b"tree " + tree.encode(), *(b"parent " + parent.encode() for parent in above)]
        lines += [b"author " + (author_line if author_line is not None else _bytes(author) + clock)]
        lines += [b"committer " + committer, *(name + b" " + value for name, value in headers)]
        raw = b"\n".join(lines) + b"\n\n" + _bytes(message)
        oid = str(self.git_repo.odb.write(pygit2.enums.ObjectType.COMMIT, raw))
        self.git_repo.references.create(f"refs/heads/{branch}", oid, force=True)
        return oid

    def tree(self, files: Mapping[str, Content], base: str | None = None) -> str:
        """The id of the tree of `base` (or the empty tree) with `files` laid over it."""
        index = pygit2.Index()
        if base is not None:
            index.read_tree(self.git_repo[base].peel(pygit2.Tree))
        for path, content in files.items():
            if content is None:
                index.remove(path)
            else:
                index.add(pygit2.IndexEntry(path, *self._entry(content)))
        return str(index.write_tree(self.git_repo))

    def files(self, rev: str) -> dict[str, bytes]:
        """Every file of a rev with its content; symlinks give their target, gitlinks their id."""
        found: dict[str, bytes] = {}
        index = pygit2.Index()
        index.read_tree(self.git_repo.revparse_single(rev).peel(pygit2.Tree))
        for entry in index:
            gitlink = entry.mode == pygit2.enums.FileMode.COMMIT
            found[entry.path] = str(entry.id).encode() if gitlink else self.git_repo[entry.id].data
        return found

    def branch(self, name: str, rev: str) -> None:
        """Create or move a branch."""
        oid = self.git_repo.revparse_single(rev).peel(pygit2.Commit).id
        self.git_repo.references.create(f"refs/heads/{name}", oid, force=True)

    def raw(self, rev: str) -> bytes:
        """The raw bytes of a commit object."""
        return self.git_repo.revparse_single(rev).peel(pygit2.Commit).read_raw()

    def refs(self) -> dict[str, str]:
        """Every ref and what it points to: compare two of them to prove that nothing moved."""
        return {name: str(self.git_repo.references[name].target) for name in self.git_repo.references}

    def git(self, *arguments: str, input: bytes | None = None) -> str:
        """Run the real git here, with the same ticking clock."""
        self.seconds += 60
        clock = f"{self.seconds} +0000"
        environment = {**os.environ, "GIT_AUTHOR_DATE": clock, "GIT_COMMITTER_DATE": clock}
        done = subprocess.run(
            ["git", "-C", str(self.path), *arguments], input=input, env=environment, capture_output=True, check=False
        )
        if done.returncode:
            raise AssertionError(f"git {' '.join(arguments)}: {done.stderr.decode(errors='replace')}")
        return done.stdout.decode(errors="surrogateescape").strip()

    def _tip(self, branch: str) -> list[str]:
        ref = f"refs/heads/{branch}"
        return [str(self.git_repo.references[ref].target)] if ref in self.git_repo.references else []

    def _entry(self, content: bytes | str | Link | Script | Submodule) -> tuple[pygit2.Oid, pygit2.enums.FileMode]:
        mode = pygit2.enums.FileMode
        match content:
            case Submodule(oid):
                return pygit2.Oid(hex=oid), mode.COMMIT
            case Link(target):
                return self.git_repo.create_blob(_bytes(target)), mode.LINK
            case Script(text):
                return self.git_repo.create_blob(_bytes(text)), mode.BLOB_EXECUTABLE
            case _:
                return self.git_repo.create_blob(_bytes(content)), mode.BLOB


def new_repo(path: Path) -> Repo:
    """An empty repository with `main` as its unborn branch and no worktree files."""
    pygit2.init_repository(str(path), initial_head="main")
    return Repo(path)


def _bytes(text: bytes | str) -> bytes:
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
