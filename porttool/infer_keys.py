"""Config key pairs from aligned YAML and overrides."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from porttool.infer_draft import EXAMPLES, Drafted, confidence
from porttool.infer_paths import Tree, Undecided
from porttool.infer_prefix import generalise, one_to_one
from porttool.infer_symbols import Version, is_key
from porttool.infer_yaml import is_yaml, mounts, read_keys
from porttool.layout import Fragment
from porttool.names import Name, split

_OVERRIDE = re.compile(rb"(?<![\w.$/{@-])(?:\+{1,2}|~)?([A-Za-z_]\w*(?:\.\w+)+)=(?!=)")


@dataclass
class _Seen:
    """Where absolute keys went, and the places that say so."""

    moves: dict[Name, Counter[Name]] = field(default_factory=lambda: defaultdict(Counter))
    places: dict[tuple[Name, Name], list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, old: Name, new: Name, place: str = "") -> None:
        self.moves[old][new] += 1
        if place:
            self.places[old, new].append(place)


def draft_keys(
    old: Tree, new: Tree, versions: Iterable[Version], fragments: Iterable[Fragment]
) -> tuple[list[Drafted], list[Undecided]]:
    """Keys that have another name or place on the new side, as prefixes."""
    seen = _Seen()
    at = mounts(old), mounts(new)
    for fragment in fragments:
        _from_fragment(seen, old, new, fragment, at)
    versions = list(versions)
    reads = {
        _core(split(swap.old), split(swap.new))
        for version in versions
        if not is_yaml(version.old_path)
        for swap in version.swaps
    }
    for version in versions:
        if is_yaml(version.old_path) and version.old != version.new:
            _from_yaml(seen, version, at, reads)
        elif version.old != version.new and b"\0" not in version.old[:8000]:
            _from_overrides(seen, version)
    if not any(name != place for name, places in seen.moves.items() for place in places):
        return [], []
    for version in versions:
        for name in _common_overrides(version):
            seen.add(name, name)
    return _settled(seen)


def _settled(seen: _Seen) -> tuple[list[Drafted], list[Undecided]]:
    moves: dict[Name, Name] = {}
    undecided: list[Undecided] = []
    for name, places in seen.moves.items():
        if len(places) == 1:
            moves[name] = next(iter(places))
        else:
            ends = tuple(sorted(".".join(place) for place in places))
            undecided.append(Undecided("key", (".".join(name),), ends, "conflicting places"))
    drafted = []
    for prefix in generalise(one_to_one(moves)):
        told = [place for name in prefix.seen for place in seen.places[name, moves[name]]]
        old, new, count = ".".join(prefix.old), ".".join(prefix.new), len(told) or len(prefix.seen)
        drafted.append(Drafted("key", old, new, count, confidence(count), tuple(told[:EXAMPLES])))
    return drafted, undecided


def _from_fragment(
    seen: _Seen, old: Tree, new: Tree, fragment: Fragment, at: tuple[dict[str, Name], dict[str, Name]]
) -> None:
    ends = (fragment.old, old, at[0]), (fragment.new, new, at[1])
    told: list[tuple[Name, dict[Name, tuple[str, int]]]] = []
    for end, tree, mounted in ends:
        keys = read_keys(tree[end.path]) if end.path in tree else None
        if keys is None:
            return
        told.append((mounted.get(end.path, ()) + end.name, keys.below(end.name)))
    (old_mount, before), (new_mount, after) = told
    if not new_mount or not old_mount:
        return
    same = {leaf: leaf for leaf in before.keys() & after.keys()}
    gone = {leaf: told_at for leaf, told_at in before.items() if leaf not in same}
    added = {leaf: told_at for leaf, told_at in after.items() if leaf not in same}
    for leaf, there in sorted((same | _by_value(gone, added)).items()):
        place = f"{fragment.old.path}:{before[leaf][1]} -> {fragment.new.path}:{after[there][1]}"
        seen.add(old_mount + leaf, new_mount + there, place)


def _core(old: Name, new: Name) -> tuple[Name, Name]:
    """What differs between two names once the ends they share are off."""
    while old and new and old[0] == new[0]:
        old, new = old[1:], new[1:]
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    return old, new


def _from_yaml(
    seen: _Seen,
    version: Version,
    at: tuple[dict[str, Name], dict[str, Name]],
    reads: Collection[tuple[Name, Name]],
) -> None:
    """Leaves of one file. Not every YAML file is a config: outside Hydra, code has to read the key by its new name."""
    hydra = version.old_path in at[0] or b"\ndefaults:" in b"\n" + version.old
    before, after = read_keys(version.old), read_keys(version.new)
    if before is None or after is None:
        return
    mount = at[0].get(version.old_path, ())
    new_mount = at[1].get(version.new_path, ())
    for leaf in before.leaves.keys() & after.leaves.keys():
        seen.add(mount + leaf, new_mount + leaf)
    gone = {leaf: told for leaf, told in before.leaves.items() if leaf not in after.leaves}
    added = {leaf: told for leaf, told in after.leaves.items() if leaf not in before.leaves}
    found = _by_value(gone, added)
    for swap in version.swaps:
        old, new = before.by_line.get(swap.old_line), after.by_line.get(swap.new_line)
        if old not in gone or new not in added or not is_key(version.old_path, swap):
            continue
        if gone[old][0] == added[new][0]:
            found.setdefault(old, new)
    taken = Counter(found.values())
    for old, new in sorted(found.items()):
        if taken[new] == 1 and (hydra or _core(old, new) in reads):
            place = f"{version.old_path}:{gone[old][1]} -> {version.new_path}:{added[new][1]}"
            seen.add(mount + old, new_mount + new, place)


def _by_value(gone: dict[Name, tuple[str, int]], added: dict[Name, tuple[str, int]]) -> dict[Name, Name]:
    """Leaves that kept their last names and their value, where only one on each side fits; most names first."""
    found: dict[Name, Name] = {}
    for depth in (3, 2, 1):
        ends: dict[tuple[Name, str], tuple[list[Name], list[Name]]] = defaultdict(lambda: ([], []))
        for side, (leaves, done) in enumerate(((gone, found.keys()), (added, set(found.values())))):
            for leaf in leaves.keys() - done:
                ends[leaf[-depth:], leaves[leaf][0]][side].append(leaf)
        found |= {olds[0]: news[0] for olds, news in ends.values() if len(olds) == len(news) == 1}
    return found


def _from_overrides(seen: _Seen, version: Version) -> None:
    lines = version.old.split(b"\n"), version.new.split(b"\n")
    for swap in version.swaps:
        if swap.follows != "=":
            continue
        held = (_overrides(side[n - 1]) for side, n in zip(lines, (swap.old_line, swap.new_line), strict=True))
        if all(name in found for name, found in zip((swap.old, swap.new), held, strict=True)):
            place = f"{version.old_path}:{swap.old_line} -> {version.new_path}:{swap.new_line}"
            seen.add(split(swap.old), split(swap.new), place)


def _overrides(text: bytes) -> set[str]:
    return {found.decode() for found in _OVERRIDE.findall(text)}


def _common_overrides(version: Version) -> Iterable[Name]:
    """Overrides that stand on both sides of a file: keys that stay."""
    if version.old_path.endswith((".sh", ".md", ".rst", ".bash")):
        both = _overrides(version.old)
        if version.new != version.old:
            both &= _overrides(version.new)
        yield from sorted(map(split, both))
