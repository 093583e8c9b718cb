"""Symbol pairs and explicit module pairs from aligned token differences."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from porttool.infer_align import Swap, identifiers, swaps
from porttool.infer_draft import EXAMPLES, Drafted, confidence
from porttool.infer_paths import Undecided
from porttool.infer_prefix import generalise, one_to_one
from porttool.names import Name, split

_DEFINED = re.compile(
    rb"[ \t]*(?:async[ \t]+def|def|class|func|type|function|struct|enum|#define|const|var)[ \t]+"
    rb"(?:\([^)\n]*\)[ \t]*)?(\w+)"
    rb"|(\w+)[ \t]*(?::[^=\n]*)?=[^=]"
)
_TOKEN = re.compile(rb"\w+|[^\s\w]")
_BODY = 8  # lines of a definition that tell it
_SAME_BODY = 0.6
_IMPORTED = re.compile(rb"^[ \t]*(?:from|import)[ \t]+([A-Za-z_][\w.]*)")


@dataclass(frozen=True)
class Version:
    """One file on both sides: the old content as far as it is translated already, and the new content."""

    old_path: str
    new_path: str
    old: bytes
    new: bytes

    @cached_property
    def swaps(self) -> list[Swap]:
        """The chains that stand in each other's place; none in a binary."""
        return [] if self.old == self.new or b"\0" in self.old[:8000] else swaps(self.old, self.new)


@dataclass
class _Votes:
    """Where one identifier became another; `defined` are the files in which its definition did."""

    files: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    defined: set[str] = field(default_factory=set)

    @property
    def count(self) -> int:
        return sum(map(len, self.files.values()))

    def examples(self) -> tuple[str, ...]:
        return tuple(place for path in sorted(self.files) for place in self.files[path])[:EXAMPLES]


def draft_symbols(versions: Iterable[Version], taken: Iterable[bytes] = ()) -> tuple[list[Drafted], list[Undecided]]:
    """Identifiers that became another one wherever they stood. `taken`: old files without a place on the new side."""
    versions = list(versions)
    votes = _votes(versions)
    wanted = {token for pair in votes for token in pair}
    index = _Index(versions, wanted, taken)
    of: dict[str, list[str]] = defaultdict(list)
    for old, new in sorted(votes):
        of[old].append(new)
    drafted: list[Drafted] = []
    undecided: list[Undecided] = []
    for old, news in of.items():
        found, unclear = _decide(old, news, votes, index)
        drafted += found
        undecided += unclear
    return _one_old_each(drafted, undecided)


def _votes(versions: Iterable[Version]) -> dict[tuple[str, str], _Votes]:
    votes: dict[tuple[str, str], _Votes] = defaultdict(_Votes)
    for version in versions:
        lines = version.old.split(b"\n"), version.new.split(b"\n")
        for swap in version.swaps:
            left, right = split(swap.old), split(swap.new)
            if len(left) != len(right) or is_key(version.old_path, swap):
                continue
            place = f"{version.old_path}:{swap.old_line} -> {version.new_path}:{swap.new_line}"
            for old, new in zip(left, right, strict=True):
                if old != new:
                    votes[old, new].files[version.old_path].append(place)
            if len(left) == 1 and _same_definition(*lines, swap):
                votes[swap.old, swap.new].defined.add(version.old_path)
    return votes


def _same_definition(old: list[bytes], new: list[bytes], swap: Swap) -> bool:
    """Whether both lines define the swapped names, and what follows is the same thing."""
    ends = ((old, swap.old_line - 1, swap.old), (new, swap.new_line - 1, swap.new))
    found = [_DEFINED.match(lines[at]) for lines, at, _ in ends]
    if not all(match and name.encode() in match.groups() for match, (_, _, name) in zip(found, ends, strict=True)):
        return False
    bodies = [Counter(_TOKEN.findall(b"\n".join(lines[at : at + _BODY]))) for lines, at, _ in ends]
    return (bodies[0] & bodies[1]).total() >= _SAME_BODY * max(body.total() for body in bodies)


def is_key(path: str, swap: Swap) -> bool:
    """Whether a swapped chain is a config key: in YAML before a colon, elsewhere `a.b=`."""
    if path.endswith((".yaml", ".yml")):
        return swap.follows == ":"
    return swap.follows == "=" and "." in swap.old


class _Index:
    """Which files hold a candidate token on each side."""

    def __init__(self, versions: list[Version], wanted: set[str], taken: Iterable[bytes]) -> None:
        self.old: dict[str, set[str]] = defaultdict(set)
        self.new: dict[str, set[str]] = defaultdict(set)
        for version in versions:
            held = identifiers(version.old)
            for token in held & wanted:
                self.old[token].add(version.old_path)
            for token in (held if version.new == version.old else identifiers(version.new)) & wanted:
                self.new[token].add(version.old_path)
        self.elsewhere = {token for blob in taken for token in identifiers(blob) & wanted}


def _decide(
    old: str, news: list[str], votes: Mapping[tuple[str, str], _Votes], index: _Index
) -> tuple[list[Drafted], list[Undecided]]:
    """A pair where one name follows; scoped where the old name lives on in other files; else nothing."""
    clean = {new: {path for path in votes[old, new].files if path not in index.new[old]} for new in news}
    clean = {new: paths for new, paths in clean.items() if paths}
    if not clean:
        return [], []
    told = {new: sum(len(votes[old, new].files[path]) for path in paths) for new, paths in clean.items()}
    best = max(told, key=lambda new: (told[new], new))
    rivals = [new for new in clean if new != best and told[new] * 10 > told[best]]
    if any(clean[rival] & clean[best] for rival in rivals):
        if told[best] < 2:
            return [], []
        return [], [Undecided("symbol", (old,), tuple(sorted([best, *rivals])), "conflicting places")]
    if not rivals and not index.new[old]:
        return _global(old, best, told[best], votes, index)
    drafted = [pair for new in [best, *rivals] for pair in _scoped(old, new, clean[new], votes, index)]
    return drafted, []


def _global(
    old: str, new: str, count: int, votes: Mapping[tuple[str, str], _Votes], index: _Index
) -> tuple[list[Drafted], list[Undecided]]:
    """A name that is gone. Its definition has to have taken the new name, or several files have to agree:
    a name that changed inside one file is an edit."""
    seen = votes[old, new]
    if not seen.defined and len(seen.files) < 2:
        return [], []
    if index.old[new] or new in index.elsewhere:
        where = ", ".join(sorted(index.old[new])[:EXAMPLES])
        if seen.defined:
            return [], [Undecided("symbol", (old,), (new,), f"{new} is in use on the old side already: {where}")]
        return [], []
    missed = [path for path in index.old[old] if path not in seen.files]
    against = tuple(f"{path}: {old} is gone, {new} is not in its place" for path in sorted(missed))[:EXAMPLES]
    return [Drafted("symbol", old, new, count, confidence(count, len(missed)), seen.examples(), against)], []


def _scoped(
    old: str, new: str, paths: set[str], votes: Mapping[tuple[str, str], _Votes], index: _Index
) -> list[Drafted]:
    """Only a definition makes a scope: a local name that changed in one file is an edit, not a layout."""
    seen = votes[old, new]
    if not seen.defined & paths or index.old[new] & paths:
        return []
    count = sum(len(seen.files[path]) for path in paths)
    kept = sorted(index.new[old] - paths)
    against = tuple(f"{path}: {old} stays" for path in kept)[:EXAMPLES]
    return [Drafted("symbol", old, new, count, confidence(count), seen.examples(), against, tuple(sorted(paths)))]


def _one_old_each(drafted: list[Drafted], undecided: list[Undecided]) -> tuple[list[Drafted], list[Undecided]]:
    """Two names that became one cannot be told apart on the way back."""
    of: dict[str, list[Drafted]] = defaultdict(list)
    for pair in drafted:
        of[pair.new].append(pair)
    kept: list[Drafted] = []
    for new, pairs in of.items():
        if len(pairs) == 1 or all(pair.scope for pair in pairs):
            kept += pairs
        else:
            undecided.append(
                Undecided("symbol", tuple(sorted(pair.old for pair in pairs)), (new,), "two names became one")
            )
    return kept, undecided


def draft_modules(versions: Iterable[Version]) -> list[Drafted]:
    """Module pairs that no path explains: packages from elsewhere that import statements name differently."""
    moves: dict[Name, Name] = {}
    places: dict[Name, list[str]] = defaultdict(list)
    rivals: set[Name] = set()
    used: tuple[set[Name], set[Name]] = (set(), set())
    for version in versions:
        if not version.old_path.endswith((".py", ".pyi")):
            continue
        left, right = version.old.split(b"\n"), version.new.split(b"\n")
        for side, lines in zip(used, (left, right), strict=True):
            side |= {split(found.group(1).decode()) for line in lines if (found := _IMPORTED.match(line))}
        if version.old == version.new:
            continue
        for swap in version.swaps:
            before = _IMPORTED.match(left[swap.old_line - 1])
            after = _IMPORTED.match(right[swap.new_line - 1])
            if not (before and after and before.group(1).decode() == swap.old and after.group(1).decode() == swap.new):
                continue
            name, place = split(swap.old), split(swap.new)
            rivals |= {name} if moves.setdefault(name, place) != place else set()
            places[name].append(f"{version.old_path}:{swap.old_line} -> {version.new_path}:{swap.new_line}")
    # A name that either side goes on using was not renamed: the import line was edited.
    rivals |= {name for name, place in moves.items() if name in used[1] or place in used[0]}
    moves = {name: place for name, place in moves.items() if name not in rivals}
    moves |= {name: name for name in used[0] & used[1]}
    drafted = []
    for prefix in generalise(one_to_one(moves)):
        seen = [place for name in prefix.seen for place in places[name]]
        if prefix.old != prefix.new and seen:
            old, new, count = ".".join(prefix.old), ".".join(prefix.new), len(seen)
            drafted.append(Drafted("module", old, new, count, confidence(count), tuple(seen[:EXAMPLES])))
    return drafted
