"""One git repository: read, write, merge, move refs. The `repo` modules alone import GitPython and pygit2."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import pygit2
from pygit2.enums import RepositoryOpenFlag, SortMode

from porttool.errors import EnvironmentFault, RepositoryError
from porttool.repo_diff import LineChange, line_changes
from porttool.repo_git import Git, why_not_fetched
from porttool.repo_loose import Loose
from porttool.repo_merge import Labels, Merged, Merger, has_markers
from porttool.repo_objects import (
    MODE_EXECUTABLE,
    MODE_FILE,
    MODE_GITLINK,
    MODE_LINK,
    MODE_TREE,
    Change,
    Commit,
    Entry,
    blob_id,
    is_binary,
    parse_commit,
    serialize_commit,
)
from porttool.repo_refs import OWN_REFS, RefMove, Refs, branch_ref, check_rev, is_url
from porttool.repo_store import EMPTY_TREE, Store

__all__ = [
    "EMPTY_TREE", "MODE_EXECUTABLE", "MODE_FILE", "MODE_GITLINK", "MODE_LINK", "MODE_TREE", "OWN_REFS",
    "Change", "Commit", "Entry", "Labels", "LineChange", "Merged", "RefMove", "Repository",
    "blob_id", "branch_ref", "check_rev", "has_markers", "is_binary", "is_url", "line_changes", "open_location",
]  # fmt: skip


class Repository:
    """A repository with a worktree. Objects made here stay in memory until `flush`; refs move only by `move_refs`."""

    def __init__(self, opened: pygit2.Repository) -> None:
        self._opened = opened
        self.gitdir = Path(opened.path)
        shared = self.gitdir / "commondir"
        self.common = (self.gitdir / shared.read_text().strip()).resolve() if shared.is_file() else self.gitdir
        self.root = Path(opened.workdir)
        self.git = Git(str(self.root))
        self._loose = Loose(self.common / "objects")
        self.refs = Refs(opened, self.git, self.common, self._loose)
        self._store = Store(opened.odb, self._loose)
        self._merger = Merger(self.git)
        self._commits: dict[str, Commit] = {}

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Repository:
        """Open the repository at exactly `path`. Raises RepositoryError where porttool cannot work on it."""
        where = os.fspath(path)
        try:
            # Without a search upwards: a folder inside some other repository is not a repository.
            opened = pygit2.Repository(where, RepositoryOpenFlag.NO_SEARCH)
        except (pygit2.GitError, KeyError) as error:
            raise RepositoryError(*_why_not_open(where, str(error))) from error
        if opened.is_bare:
            raise RepositoryError("the repository is bare", where, "use a clone that has a worktree")
        if opened.is_shallow:
            raise RepositoryError("the repository is shallow", where, "complete it with `git fetch --unshallow`")
        return cls(opened)

    # reading

    def resolve(self, rev: str, remote: str | None = None) -> str:
        """The commit id of what a user typed; `remote` is a prefix that `fetch` returned."""
        return self.refs.resolve(rev, remote)

    def read(self, oid: str) -> bytes:
        """The content of a blob."""
        return self._store.read(oid, "blob")

    def commit(self, oid: str) -> Commit:
        """A commit by its full id."""
        found = self._commits.get(oid)
        if found is None:
            found = self._commits[oid] = parse_commit(oid, self._store.read(oid, "commit"))
        return found

    def has(self, oid: str) -> bool:
        """Whether an object is here."""
        return self._store.has(oid)

    def entry(self, tree: str, path: str) -> Entry | None:
        """The entry of a tree at a path; None where there is none."""
        return self._store.entry(tree, path)

    def file(self, tree: str, path: str) -> Entry | None:
        """The entry of a tree at a path, where it is not a directory."""
        entry = self._store.entry(tree, path)
        return None if entry is None or entry.mode == MODE_TREE else entry

    def entries(self, tree: str) -> dict[str, Entry]:
        """Every file of a tree by path."""
        return self._store.entries(tree)

    def matches(self, tree: str, pattern: tuple[str, ...]) -> bool:
        """Whether a tree holds a path whose leading segments match; only directories that match are opened."""
        return self._store.matches(tree, pattern)

    def changes(self, old_tree: str, new_tree: str) -> list[Change]:
        """Where two trees differ, by object id; a rename is a deletion and an addition."""
        return self._store.changes(old_tree, new_tree)

    def changes_of(self, commit: Commit) -> list[Change]:
        """What a commit did to its first parent (to nothing, for a root)."""
        parent = self.commit(commit.parents[0]).tree if commit.parents else EMPTY_TREE
        return self.changes(parent, commit.tree)

    def history(self, tips: Iterable[str], without: Iterable[str] = (), *, first_parent: bool = False) -> list[str]:
        """Commits reachable from `tips` and not from `without`, parents before children."""
        wanted, hidden = list(tips), list(without)
        # libgit2 stops at a commit whose author line it cannot parse, and hangs at a damaged one; git does neither.
        if self._loose.are_walkable:
            with suppress(ValueError):
                walk = self._opened.walk(None, SortMode.TOPOLOGICAL | SortMode.REVERSE)
                for tip in wanted:
                    walk.push(tip)
                for tip in hidden:
                    walk.hide(tip)
                if first_parent:
                    walk.simplify_first_parent()
                return [str(commit.id) for commit in walk]
        line = ("--first-parent",) if first_parent else ()
        told = ("rev-list", "--topo-order", "--reverse", *line, *wanted, "--not", *hidden)
        return self.git.run(*told).out.decode("ascii").split()

    def merge_base(self, one: str, other: str) -> str | None:
        """A best common ancestor; None for unrelated histories."""
        if self._loose.are_walkable:
            with suppress(ValueError):
                found = self._opened.merge_base(one, other)
                return str(found) if found else None
        return self.git.run("merge-base", one, other, answers=(0, 1)).out.decode("ascii").strip() or None

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Whether `ancestor` is `descendant` or one of its ancestors."""
        return ancestor == descendant or self.merge_base(ancestor, descendant) == ancestor

    @cached_property
    def noted(self) -> frozenset[str]:
        """Commits that have a note under `refs/notes/`; notes are not carried by a port."""
        refs = [name for name in self.refs.names() if name.startswith("refs/notes/")]
        return frozenset(path.replace("/", "") for ref in refs for path in self._note_paths(ref))

    def _note_paths(self, ref: str) -> Iterable[str]:
        tip = self.refs.read(ref)
        return self.entries(self.commit(tip).tree) if tip else ()

    # writing

    def write(self, data: bytes) -> str:
        """Keep a blob; returns its id."""
        return self._store.write("blob", data)

    def edit_tree(self, tree: str, edits: Mapping[str, Entry | None]) -> str:
        """A tree with some paths set or (None) removed; only the directories on those paths are rewritten."""
        return self._store.edit_tree(tree, edits)

    def write_commit(self, commit: Commit) -> str:
        """Keep a commit whose every byte is given; returns its id."""
        return self._store.write("commit", serialize_commit(commit))

    def merge3(self, base: bytes | None, ours: bytes | None, theirs: bytes | None, labels: Labels) -> Merged:
        """Three-way merge of contents; None stands for a file that is not there."""
        return self._merger.merge3(base, ours, theirs, labels)

    def merge_theirs(self, base: bytes | None, ours: bytes, theirs: bytes) -> bytes:
        """The same, where `theirs` stands as it is in the place of a conflict."""
        return self._merger.merge_theirs(base, ours, theirs)

    def stage(self, worktree: Path, tree: str, unmerged: Mapping[str, tuple[Entry | None, ...]]) -> None:
        """Set the index of a scratch worktree: a tree, with base, ours and theirs of each unmerged path."""
        git = Git(str(worktree))
        git.run("read-tree", tree)
        lines = []
        for path, sides in unmerged.items():
            lines.append(f"0 {'0' * 40}\t{path}")
            told = ((stage, side) for stage, side in enumerate(sides, 1) if side is not None)
            lines += [f"{side.mode:06o} {side.oid} {stage}\t{path}" for stage, side in told]
        git.run("update-index", "-z", "--index-info", stdin=os.fsencode("".join(line + "\0" for line in lines)))

    def untracked(self, worktree: Path) -> list[str]:
        """Files in a scratch worktree that its index does not hold and no ignore rule covers."""
        out = Git(str(worktree)).run("ls-files", "-z", "--others", "--exclude-standard").out
        return [os.fsdecode(path) for path in out.split(b"\0") if path]

    def identity(self) -> str | None:
        """`Name <mail>` as the user configured it for this repository; None where nothing is configured."""
        name, mail = (self.git.run("config", f"user.{key}", answers=(0, 1)).out for key in ("name", "email"))
        found = f"{os.fsdecode(name).strip()} <{os.fsdecode(mail).strip()}>"
        return found if name and mail else None

    def flush(self) -> None:
        """Store everything made so far as one pack. Nothing refers to it yet."""
        pack = self._store.pack()
        if pack:
            self.git.run("index-pack", "--stdin", stdin=pack)
        self._store.packed()

    def move_refs(self, moves: Iterable[RefMove]) -> None:
        """Store what was made, then move refs in one transaction, each only from where it was found."""
        self.flush()
        self.refs.move(moves)

    def bring(self, location: str) -> str | None:
        """Bring the objects of another repository here; returns the prefix of its refs, None where it is this one."""
        if is_url(location):
            return self.refs.fetch(location, whole=False)
        other = Repository.open(location)
        return None if other.common == self.common else self.refs.fetch(str(other.common), whole=True)


def open_location(location: str, cache: Path | None = None) -> Repository:
    """The repository at a path, or a cached copy of the one at a URL, fetched with the user's own credentials."""
    if not is_url(location):
        return Repository.open(location)
    check_rev(location)
    folder = (cache or default_cache()) / hashlib.sha1(location.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    if not (folder / ".git" / "HEAD").is_file():
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EnvironmentFault(f"cannot make the cache: {error.strerror}", str(folder)) from error
        # HEAD names a branch nobody has, so that no branch of the copy counts as checked out.
        Git(str(folder)).run("init", "--quiet", "--initial-branch=porttool-cache", "--template=")
    found = Repository.open(folder)
    found.git.run("config", "remote.origin.url", location)
    found.git.run("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    ran = found.git.run("fetch", "--prune", "--quiet", "--no-recurse-submodules", "origin", answers=range(256))
    if ran.code != 0:
        told = f"cannot fetch: {why_not_fetched(ran.code, ran.err)}"
        raise EnvironmentFault(told, location, "check the address and your git credentials")
    return found


def default_cache() -> Path:
    """Where copies of repositories named by URL are kept."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(home) / "porttool"


def _why_not_open(where: str, error: str) -> tuple[str, str, str]:
    if "objectformat" in error or "object format" in error:
        return "the repository uses sha256 object ids", where, "only sha1 repositories are supported"
    if "not owned" in error:
        return "the repository belongs to another user", where, "see `git config safe.directory`"
    if not Path(where).exists():
        return "there is no repository here", where, "correct `repo` in the manifest, or build it first"
    return f"not a git repository: {error}", where, "name the top folder of a repository"
