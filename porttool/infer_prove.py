"""Proof of a drafted pair: with it, T(old) is nearer to new than without it."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice

from porttool.errors import LayoutError
from porttool.infer_align import difference
from porttool.infer_draft import Drafted, layout_of
from porttool.infer_paths import Files, Tree
from porttool.layout import Layout
from porttool.repo_objects import MODE_FILE, Entry
from porttool.rewrite import rewrite
from porttool.translate import Translator

_MEASURED = 8  # files one pair is measured on
_MANY = 40  # symbols above which they are measured together
_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")


class Ledger:
    """Blobs in memory, by a content id."""

    def __init__(self) -> None:
        self._held: dict[str, bytes] = {}

    def read(self, oid: str) -> bytes:
        return self._held[oid]

    def write(self, data: bytes) -> str:
        oid = hashlib.sha1(data).hexdigest()
        self._held[oid] = data
        return oid


def carried(layout: Layout, old: Tree, paths: Iterable[str]) -> dict[str, bytes]:
    """T of some files of a tree: new path -> content."""
    if not layout.fragments:
        names = (layout.for_file(path) for path in paths)
        return {name.new_path: rewrite(old[name.path], name).blob for name in names}
    ledger = Ledger()
    translator = Translator(layout, ledger)
    wanted = {mate for path in paths for mate in translator.group(path) if mate in old}
    done = translator.entries({path: Entry(MODE_FILE, ledger.write(old[path])) for path in sorted(wanted)})
    return {path: ledger.read(entry.oid) for path, entry in done.entries.items()}


class Prover:
    """Measures how far T(old) is from new, on the files where the two may differ."""

    def __init__(self, old: Tree, new: Tree, files: Files, roots: tuple[str, ...]) -> None:
        self._old = old
        self._new = new
        self._roots = roots
        self._back = {there: here for here, there in files.pairs.items()}
        self.paths = tuple(o for o, n in files.pairs.items() if old[o] != new[n])

    def prove(
        self, base: Iterable[Drafted], candidates: Iterable[Drafted], mounts: Iterable[tuple[str, str]] = ()
    ) -> tuple[list[Drafted], list[Drafted]]:
        """Candidates that pay, each with its gain, and those that do not; each is measured with all others present."""
        base, mounts = list(base), tuple(mounts)
        kept, failed = _consistent(base, list(candidates))
        if len(kept) > _MANY and all(pair.kind == "symbol" and not pair.scope for pair in kept):
            told = self._by_tokens(base, kept)
            return [pair for pair in told if pair.gain > 0], failed + [pair for pair in told if pair.gain <= 0]
        homes = {f.new.path: f.old.path for f in layout_of([*base, *kept]).fragments}
        near = {pair: self._touched(pair) for pair in kept}
        open_pairs = kept
        while open_pairs:
            everywhere = tuple(sorted({path for pair in open_pairs for path in near[pair]}))
            whole = self._distance(layout_of([*base, *kept], self._roots, mounts), everywhere, homes)
            gains: dict[Drafted, int] = {}
            for pair in open_pairs:
                others = [other for other in kept if other != pair]
                without = self._distance(layout_of([*base, *others], self._roots, mounts), near[pair], homes)
                gains[pair] = sum(without.values()) - sum(whole[path] for path in without)
            lost = [pair for pair in open_pairs if gains[pair] <= 0]
            failed += [replace(pair, gain=gains[pair]) for pair in lost]
            kept = [replace(pair, gain=gains.get(pair, pair.gain)) for pair in kept if pair not in lost]
            # What a lost pair did not touch has been measured without it already.
            unsure = {path for pair in lost for path in near[pair]}
            open_pairs = [pair for pair in kept if unsure & set(near[pair])]
        return kept, failed

    def _by_tokens(self, base: list[Drafted], kept: list[Drafted]) -> list[Drafted]:
        """One translation with all symbols instead of one without each: where each new name stands as it should."""
        done = carried(layout_of([*base, *kept], self._roots), self._old, self.paths)
        news = {pair.new for pair in kept}
        right: Counter[str] = Counter()
        for path, blob in done.items():
            have, want = (_counted(side, news) for side in (blob, self._new.get(path, b"")))
            for name, n in have.items():
                right[name] += min(n, want[name]) - max(n - want[name], 0)
        return [replace(pair, gain=right[pair.new]) for pair in kept]

    def _touched(self, pair: Drafted) -> tuple[str, ...]:
        """Files to measure a pair on: those its examples name, then others that hold its words, up to a few."""
        layout = layout_of([pair], self._roots)
        words = [word.encode("utf-8", "surrogateescape") for word in layout.words]
        told = {example.partition(":")[0] for example in pair.examples}
        for fragment in layout.fragments:
            told |= {fragment.old.path, self._back.get(fragment.new.path, "")}
        first = [path for path in self.paths if path in told]
        rest = (path for path in self.paths if path not in told and any(word in self._old[path] for word in words))
        return (*first, *islice(rest, max(_MEASURED - len(first), 0)))

    def _distance(self, layout: Layout, paths: tuple[str, ...], homes: Mapping[str, str]) -> Mapping[str, int]:
        """Lines that differ, per old file; a file that fragments come to counts with the one they come from."""
        there = carried(layout, self._old, paths)
        where = {layout.path(path): path for path in paths}
        where |= {new: old for new, old in homes.items() if old in paths and new not in where}
        told = dict.fromkeys(paths, 0)
        for new, old in where.items():
            told[old] += difference(there.get(new, b""), self._new.get(new, b""))
        return told


def _counted(blob: bytes, names: set[str]) -> Counter[str]:
    held = Counter(token.decode() for token in _WORD.findall(blob))
    return Counter({name: held[name] for name in names & held.keys()})


def _consistent(base: list[Drafted], candidates: list[Drafted]) -> tuple[list[Drafted], list[Drafted]]:
    """The candidates that make a layout together with what is there already, the strongest first."""
    candidates = sorted(candidates, key=lambda pair: (-pair.count, pair.old))
    try:
        _ = layout_of([*base, *candidates]).modules
    except LayoutError:
        pass
    else:
        return candidates, []
    kept: list[Drafted] = []
    failed: list[Drafted] = []
    for pair in candidates:
        try:
            layout = layout_of([*base, *kept, pair])
            _ = layout.modules
        except LayoutError:
            failed.append(pair)
        else:
            kept.append(pair)
    return kept, failed
