"""YAML blocks of one file that are a file of their own on the other side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from porttool.infer_align import difference
from porttool.infer_draft import EXAMPLES, Drafted, layout_of
from porttool.infer_paths import Files, Tree, Undecided
from porttool.infer_prove import carried
from porttool.infer_yaml import Keys, is_yaml, read_keys
from porttool.layout import Fragment, FragmentEnd
from porttool.names import Name
from porttool.rewrite.fragments_blocks import body_of

_ALIKE = 0.5  # least share of keys a block and a file hold in common to be one fragment


def draft_fragments(old: Tree, new: Tree, files: Files) -> tuple[list[Drafted], list[Undecided]]:
    """YAML mappings of one file that are a whole file on the other side, in both directions."""
    out, unclear = _fragments(old, new, files.pairs, files.added)
    back, unclear_back = _fragments(new, old, {n: o for o, n in files.pairs.items()}, files.gone)
    turned = [_turned(pair) for pair in back]
    return out + turned, unclear + [Undecided(u.kind, u.new, u.old, u.reason) for u in unclear_back]


def _fragments(
    here: Tree, there: Tree, pairs: Mapping[str, str], fresh: Iterable[str]
) -> tuple[list[Drafted], list[Undecided]]:
    blocks = [
        (path, name, keys, keys.below(name))
        for path, mate in pairs.items()
        if is_yaml(path) and here[path] != there[mate]
        for name, keys in _vanished(read_keys(here[path]), read_keys(there[mate]))
    ]
    drafted: list[Drafted] = []
    undecided: list[Undecided] = []
    for target in fresh if blocks else ():
        whole = read_keys(there[target]) if is_yaml(target) else None
        if whole is None or not whole.leaves:
            continue
        scored = [(_likeness(leaves, whole.leaves), path, name, keys) for path, name, keys, leaves in blocks]
        best = _innermost([row for row in scored if row[0] >= max(_ALIKE, max(s for s, *_ in scored) - 0.05)])
        if len(best) > 1:
            homes = tuple(f"{path}#{'.'.join(name)}" for _, path, name, _ in best)
            undecided.append(Undecided("fragment", homes, (f"{target}#",), "equally similar blocks"))
        elif best:
            score, path, name, keys = best[0]
            gone = {n for p, n, _, _ in blocks if p == path}
            drafted.append(_fragment(path, name, keys, target, whole, score, gone))
    return drafted, undecided


_Row = tuple[float, str, Name, Keys]


def _innermost(rows: list[_Row]) -> list[_Row]:
    """Of blocks inside each other that are equally good, the inner one: it is the one whose keys are the file's."""
    return [
        row
        for row in rows
        if not any(row[1] == path and row[2] == name[: len(row[2])] != name for _, path, name, _ in rows)
    ]


def _vanished(before: Keys | None, after: Keys | None) -> Iterable[tuple[Name, Keys]]:
    """Mappings with a name on this side that the other side of the same file does not have."""
    if before is None or after is None:
        return
    for name in before.children:
        if name and name not in after.children and name not in after.leaves:
            yield name, before


def _likeness(block: Mapping[Name, tuple[str, int]], whole: Mapping[Name, tuple[str, int]]) -> float:
    """The share of leaves that both hold; one with another value counts half, regrouped ones a little less."""
    both = block.keys() & whole.keys()
    same = sum(1.0 if block[leaf][0] == whole[leaf][0] else 0.5 for leaf in both)
    loose = [Counter((leaf[-1], told[0]) for leaf, told in side.items()) for side in (block, whole)]
    # A block that lost keys on its way is still the file; a file that holds much besides the block is not.
    return max(same, 0.9 * (loose[0] & loose[1]).total()) / max(0.3 * len(block) + 0.7 * len(whole), len(whole))


def _fragment(path: str, inner: Name, keys: Keys, target: str, whole: Keys, score: float, gone: set[Name]) -> Drafted:
    """The fragment of a block; a level around it that held nothing else, and is gone too, goes with it."""
    name = inner
    while name[:-1] in gone and len(keys.children[name[:-1]]) == 1:
        name = name[:-1]
    fragment = Fragment(FragmentEnd(path, "yaml", name), FragmentEnd(target, "yaml", ()))
    block = keys.below(inner)
    shared = sorted(block.keys() & whole.leaves.keys(), key=lambda leaf: block[leaf][1])
    examples = tuple(f"{path}:{block[leaf][1]} -> {target}:{whole.leaves[leaf][1]}" for leaf in shared[:EXAMPLES])
    return Drafted(
        "fragment", str(fragment.old), str(fragment.new), len(shared), round(score, 3), examples, fragment=fragment
    )


def _turned(pair: Drafted) -> Drafted:
    assert pair.fragment is not None
    examples = tuple(" -> ".join(reversed(example.split(" -> "))) for example in pair.examples)
    return Drafted(
        "fragment", pair.new, pair.old, pair.count, pair.confidence, examples, fragment=pair.fragment.reversed()
    )


def fitted(pair: Drafted, others: Iterable[Drafted], old: Tree, new: Tree, roots: tuple[str, ...]) -> Drafted:
    """The fragment with the places and the text around it that bring it back: `after` and `lead` of both ends."""
    assert pair.fragment is not None
    fragment = Fragment(_placed(pair.fragment.old, old), _placed(pair.fragment.new, new))
    for side, tree in (("old", old), ("new", new)):
        end = getattr(fragment, side)
        if end.whole_file:
            tries = [replace(fragment, **{side: replace(end, lead=lead)}) for lead in _headers(tree[end.path])]
            fragment = min(tries, key=lambda tried: _gap(replace(pair, fragment=tried), others, old, new, roots))
    return replace(pair, fragment=fragment)


def _placed(end: FragmentEnd, tree: Tree) -> FragmentEnd:
    """The sibling before a block and the text between the two."""
    if end.whole_file:
        return end
    body = body_of(tree[end.path], "yaml", end.name[:-1])
    item = body.find(end.name[-1]) if body else None
    if body is None or item is None:
        return end
    at = body.items.index(item)
    start = body.items[at - 1].end if at else body.start
    lead = tree[end.path][start : item.start].decode("utf-8", "surrogateescape")
    return replace(end, after=body.items[at - 1].name if at else "", lead=lead or None)


def _headers(blob: bytes) -> list[str | None]:
    """What may be the text a file has on its own before the block: nothing, or its first comment lines."""
    lines = blob.decode("utf-8", "surrogateescape").splitlines(keepends=True)
    count = next((at for at, line in enumerate(lines) if line.strip() and not line.startswith("#")), 0)
    return [None, *("".join(lines[: n + 1]) for n in range(count))]


def _gap(pair: Drafted, others: Iterable[Drafted], old: Tree, new: Tree, roots: tuple[str, ...]) -> int:
    assert pair.fragment is not None
    layout = layout_of([*others, pair], roots)
    done = carried(layout, old, [path for path in (pair.fragment.old.path, pair.fragment.new.path) if path in old])
    return sum(difference(blob, new.get(path, b"")) for path, blob in done.items())
