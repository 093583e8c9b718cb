"""Rules that match nothing: a warning in a plan, a failure of a proof."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from porttool.layout import Symbol
from porttool.repo import Repository, is_binary

if TYPE_CHECKING:
    from porttool.plan import Plan


def unmatched(plan: Plan) -> tuple[str, ...]:
    """Each pair, fragment, skip and protected glob that names nothing in the two trees, and where it is written."""
    return (*_skips(plan), *_paths(plan), *_words(plan))


def _skips(plan: Plan) -> Iterator[str]:
    left = {left.source for left in plan.left}
    for rev in plan.manifest.skip:
        if plan.repository.resolve(rev, plan.remote) not in left:
            yield f"skip {rev} names no commit of this port ({plan.manifest.where('skip', rev)})"


def _paths(plan: Plan) -> Iterator[str]:
    repository, manifest, layout = plan.repository, plan.manifest, plan.layout
    source, target = (repository.commit(tip).tree for tip in (plan.source_tip, plan.tip))
    for number, glob in enumerate(manifest.protected):
        if not repository.matches(target, tuple(glob.strip("/").split("/"))):
            yield f"protected {glob} matches nothing ({manifest.where('protected', number)})"
    for pair in layout.paths:
        if not repository.matches(source, pair.old) and not repository.matches(target, pair.new):
            yield f"path pair {'/'.join(pair.old)} matches nothing ({pair.where})"
    for fragment in layout.fragments:
        old, new = (tuple(end.path.split("/")) for end in (fragment.old, fragment.new))
        if not repository.matches(source, old) and not repository.matches(target, new):
            yield f"fragment {fragment.old} names no file ({fragment.where})"


def _words(plan: Plan) -> Iterator[str]:
    """Modules, symbols and keys whose last word stands in no file of the source nor, renamed, of the target."""
    layout = plan.layout
    told: list[tuple[str, str, str, str]] = []
    for kind, pairs in (("module", layout.extra_modules), ("key", tuple(layout.keys))):
        for pair in pairs:
            told.append((f"{kind} pair {'.'.join(pair.old)}", pair.old[-1], pair.new[-1], pair.where))
    told += [(f"symbol {symbol.old}", *_tokens(symbol), symbol.where) for symbol in layout.symbols]
    if not told:
        return
    repository = plan.repository
    old = _standing(repository, plan.source_tip, {line[1] for line in told})
    open_lines = [line for line in told if line[1] not in old]
    new = _standing(repository, plan.tip, {line[2] for line in open_lines}) if open_lines else set()
    for name, _, there, where in open_lines:
        if there not in new:
            yield f"{name} matches nothing ({where})"


def _tokens(symbol: Symbol) -> tuple[str, str]:
    return (symbol.old.lower(), symbol.new.lower()) if symbol.words else (symbol.old, symbol.new)


def _standing(repository: Repository, tip: str, words: set[str]) -> set[str]:
    """Those of the words that stand in some text file of a commit, letter case aside."""
    wanted = {word.lower().encode("utf-8", "surrogateescape"): word for word in words if word}
    found = {"" for word in words if not word}
    for entry in repository.entries(repository.commit(tip).tree).values():
        if not wanted:
            break
        if not entry.is_regular:
            continue
        content = repository.read(entry.oid)
        if is_binary(content):
            continue
        # One alternation finds the longest candidates only at each place, so hits are taken out until none is left.
        pattern = re.compile(b"|".join(map(re.escape, sorted(wanted, key=len, reverse=True))), re.IGNORECASE)
        while hit := pattern.search(content):
            found.add(wanted.pop(hit.group().lower()))
            if not wanted:
                break
            pattern = re.compile(b"|".join(map(re.escape, sorted(wanted, key=len, reverse=True))), re.IGNORECASE)
    return found
