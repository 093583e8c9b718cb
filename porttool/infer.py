"""Drafts a Layout from two trees: pairs with evidence and confidence, nothing unproven, no guess between equals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from porttool.infer_draft import EXAMPLES, Draft, Drafted, as_yaml, layout_of
from porttool.infer_fragments import draft_fragments, fitted
from porttool.infer_keys import draft_keys
from porttool.infer_paths import Files, Move, Tree, Undecided, match_files
from porttool.infer_prefix import Prefix, generalise
from porttool.infer_prove import Prover, carried
from porttool.infer_roots import import_roots
from porttool.infer_symbols import Version, draft_modules, draft_symbols
from porttool.layout import module_of
from porttool.names import Name, Pair, Renaming
from porttool.repo import MODE_EXECUTABLE, MODE_FILE, Repository

__all__ = ["Draft", "Drafted", "as_yaml", "infer", "read_tree"]


def read_tree(repository: Repository, oid: str) -> Tree:
    """The files of a commit with their content; symlinks and submodules are no files."""
    entries = repository.entries(repository.commit(oid).tree)
    plain = (MODE_FILE, MODE_EXECUTABLE)
    return {path: repository.read(entry.oid) for path, entry in entries.items() if entry.mode in plain}


def infer(old: Tree, new: Tree) -> Draft:
    """The layout between two trees of files (path -> content)."""
    files = _matched(old, new, old)
    stages = _Stages(old, new, files)
    # A small file full of renamed names is only alike once the names are known: look again with them.
    if files.gone and files.added and any(pair.kind != "path" for pair in (*stages.pairs, *stages.unproven)):
        again = _matched(old, new, stages.carried_gone(), stages.told_by_imports())
        if again.moves != files.moves:
            stages = _Stages(old, new, again)
    return stages.draft()


class _Stages:
    """The kinds of names one after the other; each looks only at the difference that the kinds before it leave."""

    def __init__(self, old: Tree, new: Tree, files: Files) -> None:
        self._old = old
        self._new = new
        self._files = files
        self._roots = _needed_roots(import_roots(old, new), files)
        self._prover = Prover(old, new, files, self._roots)
        self.pairs = [_path_pair(prefix, files) for prefix in _prefixes(files)]
        self.unproven: list[Drafted] = []
        self.undecided: list[Undecided] = []
        self._read = -1  # how many pairs `_translated` knows
        self._translated: list[Version] = []
        self._modules()
        self._keys()
        self._symbols()

    def draft(self) -> Draft:
        """What was found."""
        return Draft(
            tuple(self.pairs),
            (*self._files.undecided, *self.undecided),
            tuple(self.unproven),
            self._roots,
            (),
            self._files.gone,
            self._files.added,
        )

    def carried_gone(self) -> Tree:
        """The old tree, with the files that have no counterpart in the new names as far as they are known."""
        layout = layout_of((pair for pair in self.pairs if pair.kind != "fragment"), self._roots)
        done = carried(layout, self._old, self._files.gone)
        return {**self._old, **{path: done[layout.for_file(path).new_path] for path in self._files.gone}}

    def told_by_imports(self) -> dict[str, str]:
        """Files that import statements call by another name on the new side."""
        homes: dict[str, dict[str, str]] = {"old": {}, "new": {}}
        for side, paths in (("old", self._files.gone), ("new", self._files.added)):
            for path in paths:
                found = module_of(path, self._roots) if path.endswith(".py") else None
                if found:
                    homes[side][".".join(found[0])] = path
        modules = [pair for pair in (*self.pairs, *self.unproven) if pair.kind == "module"]
        return {
            homes["old"][pair.old]: homes["new"][pair.new]
            for pair in modules
            if pair.old in homes["old"] and pair.new in homes["new"]
        }

    def _versions(self) -> list[Version]:
        if self._read == (known := len(self.pairs)):
            return self._translated
        layout = layout_of(self.pairs, self._roots)
        done = carried(layout, self._old, self._prover.paths)
        changed = set(self._prover.paths)
        self._read = known
        self._translated = [
            Version(o, n, done.get(n, self._old[o]) if o in changed else self._old[o], self._new[n])
            for o, n in self._files.pairs.items()
        ]
        return self._translated

    def _modules(self) -> None:
        """Packages from elsewhere that import statements name differently."""
        found = draft_modules(self._versions())
        self._prove([pair for pair in found if pair.count > 1])
        self.unproven += [pair for pair in found if pair.count == 1]

    def _keys(self) -> None:
        """Config keys, together with the fragments that hold them: the one cannot be proven without the other."""
        parts, torn = draft_fragments(self._old, self._new, self._files)
        fragments = [pair.fragment for pair in parts if pair.fragment is not None]
        found, unclear = draft_keys(self._old, self._new, self._versions(), fragments)
        self.undecided += torn + unclear
        around = [*self.pairs, *found]
        whole = [fitted(pair, around, self._old, self._new, self._roots) for pair in parts]
        self._prove([*whole, *found])

    def _symbols(self) -> None:
        """Identifiers that became another one everywhere, or everywhere in the files that define them."""
        gone = [self._old[path] for path in self._files.gone]
        found, unclear = draft_symbols(self._versions(), gone)
        self.undecided += unclear
        self._prove([pair for pair in found if not pair.scope])
        self._prove([pair for pair in found if pair.scope])

    def _prove(self, candidates: list[Drafted]) -> None:
        if candidates:
            kept, failed = self._prover.prove(self.pairs, candidates)
            self.pairs += kept
            self.unproven += failed


def _needed_roots(roots: tuple[str, ...], files: Files) -> tuple[str, ...]:
    """The roots that name a module which moved: any other root says nothing about this layout."""
    moved = [path for move in files.moves for path in (move.old, move.new) if path.endswith((".py", ".pyi"))]
    return tuple(root for root in roots if root == "." or any(path.startswith(f"{root}/") for path in moved))


def _matched(old: Tree, new: Tree, read: Tree, said: Mapping[str, str] | None = None) -> Files:
    return match_files(read, new, lambda moves, paths: _placed(old, new, moves, paths), said or {})


def _segments(path: str) -> Name:
    return tuple(path.split("/"))


def _placed(old: Tree, new: Tree, moves: list[Move], paths: Iterable[str]) -> Mapping[str, str]:
    """Where the moves found so far, generalised, put some paths."""
    stays = {_segments(path): _segments(path) for path in old.keys() & new.keys()}
    known = stays | {_segments(move.old): _segments(move.new) for move in moves}
    unknown = [_segments(path) for path in old if _segments(path) not in known]
    renaming = _renaming(generalise(known, unknown))
    return {path: "/".join(renaming.map(_segments(path))) for path in paths}


def _prefixes(files: Files) -> tuple[Prefix, ...]:
    moves = {_segments(old): _segments(new) for old, new in files.pairs.items()}
    return generalise(moves, [_segments(path) for path in files.gone])


def _renaming(prefixes: Iterable[Prefix]) -> Renaming:
    return Renaming("path", tuple(Pair(prefix.old, prefix.new) for prefix in prefixes), "/")


def _path_pair(prefix: Prefix, files: Files) -> Drafted:
    """A path pair; its confidence is the likeness of the files that moved with it, less those that did not follow."""
    end = "/" if prefix.whole else ""
    likeness = {move.old: move.similarity for move in files.moves}
    seen = ["/".join(name) for name in prefix.seen]
    under = "/".join(prefix.old) + "/"
    lost = [path for path in files.gone if path.startswith(under)] if prefix.whole else []
    share = sum(likeness.get(path, 1.0) for path in seen) / (len(seen) + len(lost)) if seen else 0.0
    return Drafted(
        "path",
        "/".join(prefix.old) + end,
        "/".join(prefix.new) + end,
        len(seen),
        round(share, 3),
        tuple(f"{path}:1 -> {files.pairs[path]}:1" for path in seen[:EXAMPLES]),
        tuple(f"{path} has no counterpart" for path in lost[:EXAMPLES]),
    )
