"""The start of a manifest: the layout between two refs, and the source's commits since they parted."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from porttool.errors import UsageError, visible
from porttool.infer import Draft, as_yaml, infer, read_tree
from porttool.infer_draft import word
from porttool.layout import Layout
from porttool.repo import Commit, Repository

Report = Callable[[str], None]
_SHOWN = 12  # digits of a commit id


@dataclass(frozen=True)
class Beginning:
    """What two refs say. `base` is the commit where they parted, `tree` that of the target, "" where there is none.

    `compared` is the commit whose tree the layout starts from; `commits` are the source's own, oldest first;
    `homeless` are their new files in a folder that the target has left and no pair moves.
    """

    source: str
    target: str
    draft: Draft
    compared: str
    base: str = ""
    commits: tuple[Commit, ...] = ()
    homeless: tuple[str, ...] = ()

    @property
    def picks(self) -> tuple[Commit, ...]:
        """The commits without merges: what a merge brings stands in the list by itself."""
        return tuple(commit for commit in self.commits if len(commit.parents) < 2)


def begin(repository: Repository, source: str, target: str, report: Report) -> Beginning:
    """Read both refs. Raises UsageError where there is nothing between them."""
    here, there = repository.resolve(source), repository.resolve(target)
    if here == there:
        hint = "name the branch with the fixes as --source, and the one in the other layout as --target"
        raise UsageError(f"{source} and {target} are the same commit {here[:_SHOWN]}", str(repository.root), hint)
    base = _parted(repository, here, there)
    commits = tuple(repository.commit(oid) for oid in repository.history([here], [base])) if base else ()
    report("reading the trees")
    new = read_tree(repository, there)
    # Before the source's own changes names are easiest to tell; after them there may be more of them.
    olds = {oid: read_tree(repository, oid) for oid in dict.fromkeys([base or here, here])}
    drafts: list[tuple[Draft, str]] = []
    for oid, old in olds.items():
        report(f"comparing {oid[:_SHOWN]} with {target}")
        drafts.append((infer(old, new), oid))
    draft, compared = max(drafts, key=lambda told: len(told[0].pairs))
    homeless = tuple(_homeless(olds[base or here], olds[here], new, draft.layout))
    return Beginning(source, target, draft, compared, base, commits, homeless)


def _homeless(before: Collection[str], now: Collection[str], new: Collection[str], layout: Layout) -> Iterator[str]:
    """New files whose neighbours the layout moves, while they stay in a folder that the target does not have."""
    left = {path.rpartition("/")[0] for path in before if layout.for_file(path).new_path != path}
    left = {folder for folder in left if folder and not any(path.startswith(f"{folder}/") for path in new)}
    for path in sorted(now):
        if path not in before and path.rpartition("/")[0] in left and layout.for_file(path).new_path == path:
            yield path


def _parted(repository: Repository, here: str, there: str) -> str:
    """The merge base; for unrelated histories the source's last commit whose tree the target has had too."""
    base = repository.merge_base(here, there)
    if base:
        return base
    trees = {repository.commit(oid).tree for oid in repository.history([there])}
    same = (oid for oid in reversed(repository.history([here])) if repository.commit(oid).tree in trees)
    return next(same, "")


def manifest_text(of: Beginning, repo: str, name: str, parity: str = "", own: str = "") -> str:
    """The manifest, each pair under its evidence and each commit with its subject.

    `own`: the folder in the repository where it will stand; the layout leaves that alone.
    """
    source, target, path = word(of.source), word(of.target), word(repo)
    lines = [
        f"# Drafted by `porttool init` from {visible(of.source)} and {visible(of.target)}.",
        "# Read the layout before you use it: each pair stands under its evidence.",
        "# `porttool schema --markdown` explains every key.",
        "version: 1",
        f"source: {{repo: {path}, ref: {source}}}",
        f"target: {{repo: {path}, ref: {target}, branch: {word(f'port/{name}')}}}",
        *_layout(of.draft, own),
        *(f"  # new, and no pair of `paths` moves it or its folder: {visible(path)}" for path in of.homeless),
        *_commits(of),
    ]
    return "\n".join(lines) + "\n" + parity


def _layout(draft: Draft, own: str) -> Iterator[str]:
    first, *others = as_yaml(draft).rstrip("\n").split("\n")
    yield "layout:" if own else first
    if own:
        yield "  # this file names the old side and the new one: it says the same on both"
        yield f"  keep: [{word(own)}]"
    yield from others


def _commits(of: Beginning) -> Iterator[str]:
    if not of.commits:
        yield "commits: []"
        told = f"{visible(of.source)} has none since {of.base[:_SHOWN]}" if of.base else "the histories are unrelated"
        yield f"# {told}: write what to port as `- {{pick: [<commit>]}}`"
        return
    yield "commits:"
    yield f"  # those of {visible(of.source)} since {of.base[:_SHOWN]}, oldest first"
    for commit in of.commits:
        author = re.sub(r"\s*<[^>]*>$", "", commit.author_name)
        told = visible(f"{commit.subject} ({author})")
        if len(commit.parents) > 1:
            yield f"  # a merge, whose commits stand here by themselves: {commit.oid[:_SHOWN]} {told}"
        else:
            yield f"  - {{pick: [{commit.oid[:_SHOWN]}]}}  # {told}"


def name_of(ref: str) -> str:
    """What a manifest is called after its source: the last part of the ref, in characters of a file name."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", ref.rstrip("/").rpartition("/")[2]).strip("-.")
    return plain or "port"


def branches(repository: Repository) -> list[str]:
    """The local branches, the one that is checked out first, without those that a port made."""
    current = repository.git.run("symbolic-ref", "--quiet", "--short", "HEAD", answers=(0, 1)).out.decode().strip()
    found = [ref.removeprefix("refs/heads/") for ref in repository.refs.names() if ref.startswith("refs/heads/")]
    others = sorted(branch for branch in found if branch != current and not branch.startswith("port/"))
    return [*([current] if current in found else []), *others]
