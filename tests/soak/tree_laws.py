"""Laws of names, layouts and trees."""

from __future__ import annotations

from collections.abc import Mapping

from porttool.errors import LayoutError
from porttool.layout import Layout
from porttool.leftovers_domain import outside
from porttool.repo import Entry
from porttool.rewrite import is_binary, scan, touched
from porttool.translate import Translated, Translator
from tests.soak.cases import CHECKED, REFUSED, Names, Tree, Violation
from tests.soak.layouts import layouts
from tests.soak.pick import Pick
from tests.soak.sources import trees
from tests.support.cases import MemoryBlobs

NOTED = ("key-moved", "ambiguous", "parts-ways")  # what the plan tells, though T leaves it alone
FILE, EXECUTABLE, LINK = 0o100644, 0o100755, 0o120000


def check_names(case: Names) -> str:
    """A name comes back or is refused; `in` tells which; no two names become one; undone twice is the same."""
    renaming = case.renaming
    lossless = not any(pair.one_way for pair in renaming)
    there: dict[tuple[str, ...], tuple[str, ...]] = {}
    for name in case.names:
        try:
            new = renaming.apply(name)
        except LayoutError:
            if name in renaming:
                raise Violation("domain", f"{name} is said to come back, and refused") from None
            continue
        if renaming.is_one_way(name):
            continue
        if name not in renaming:
            raise Violation("domain", f"{name} becomes {new}, and is said not to come back")
        if renaming.inverse().apply(new) != name:
            raise Violation("round trip", f"{name} becomes {new} and comes back as {renaming.inverse().apply(new)}")
        if there.setdefault(new, name) != name:
            raise Violation("injective", f"{name} and {there[new]} both become {new}")
        if lossless and renaming.inverse().inverse().map(name) != new:
            raise Violation("inverse of inverse", f"{name} becomes {new} at first")
    return CHECKED


def tree_cases(pick: Pick) -> Tree:
    """A layout and a tree that mentions its names; some files are executable or links."""
    layout = layouts(pick)
    files = trees(pick, layout)
    modes = {}
    for path in files:
        mode = pick.of((FILE,) * 8 + (EXECUTABLE, LINK))
        if mode == LINK:
            files[path] = pick.of(_targets(layout, files)).encode("utf-8", "surrogateescape")
        if mode != FILE:
            modes[path] = mode
    return Tree(layout, files, modes)


def _targets(layout: Layout, files: Mapping[str, bytes]) -> list[str]:
    paths = ["/".join(name).replace("*", "a") for pair in layout.paths for name in (pair.old, pair.new)]
    every = [*paths, *files, "x"]
    return [*every, *(f"../{path}" for path in every), *(f"./../../{path}/" for path in every), "/abs", "."]


def entries_of(case: Tree, blobs: MemoryBlobs) -> dict[str, Entry]:
    """The entries of a tree, its contents in a store."""
    return {path: Entry(case.modes.get(path, FILE), blobs.write(blob)) for path, blob in case.files.items()}


def come_back(layout: Layout, blobs: MemoryBlobs, there: Translated) -> dict[str, Entry]:
    """What the inverse makes of a translated tree, by a translator that knows nothing; what it refuses is left out."""
    back = Translator(layout.inverse(), blobs)
    found: dict[str, Entry] = {}
    waiting = dict(there.entries)
    while waiting:
        group = back.group(next(iter(waiting)))
        members = {path: waiting.pop(path) for path in list(waiting) if path in group}
        try:
            found.update(back.entries(members).entries)
        except LayoutError:
            continue
    return found


def check_tree(case: Tree) -> str:
    """What T does not call one-way comes back, and what it calls one-way does not."""
    blobs = MemoryBlobs()
    layout, entries = case.layout, entries_of(case, blobs)
    translator = Translator(layout, blobs)
    clean = not [culprit for culprit in outside(layout, entries, blobs) if culprit.kind not in NOTED]
    try:
        there = translator.tree(entries)
    except LayoutError:
        if clean:
            raise Violation("plan", "the domain check finds nothing, and T refuses the tree") from None
        return REFUSED
    if clean == bool(there.one_way):
        raise Violation("plan", f"the domain check is {clean}, and T says {there.one_way}")
    check_undone(translator, blobs, entries, there)
    if not there.one_way:
        try:
            back = Translator(layout.inverse(), blobs).tree(there.entries)
        except LayoutError as fault:
            raise Violation("round trip", f"the way back is refused: {fault.message}") from fault
        if back.entries != entries:
            raise Violation("round trip", _difference(blobs, entries, back.entries))
    again = Translator(layout, blobs).tree(dict(reversed(entries.items())))
    if again.entries != there.entries or set(again.one_way) != set(there.one_way):
        raise Violation("order", "the order of the entries matters")
    if not _one_way_declared(layout):
        twice = Translator(layout.inverse().inverse(), blobs).tree(entries)
        if (twice.entries, twice.one_way) != (there.entries, there.one_way):
            raise Violation("inverse of inverse", _difference(blobs, there.entries, twice.entries))
    check_files(case)
    return CHECKED


def check_undone(
    translator: Translator, blobs: MemoryBlobs, entries: Mapping[str, Entry], there: Translated
) -> None:
    """Per file: one-way exactly where the inverse does not give the same."""
    back = come_back(translator.layout, blobs, there)
    culprits = {culprit.path for culprit in there.one_way}
    for path in entries:
        group = translator.group(path)
        if not culprits & group and back.get(path) != entries[path]:
            raise Violation("round trip", _difference(blobs, {path: entries[path]}, {path: back.get(path)}))
        if path in culprits and all(back.get(name) == entries.get(name) for name in group):
            said = next(culprit for culprit in there.one_way if culprit.path == path)
            raise Violation("false alarm", f"{said.path}:{said.line}: {said.text}, but it comes back")


def check_files(case: Tree) -> None:
    """Per file: what is not looked at holds no old name."""
    for path, blob in case.files.items():
        if case.modes.get(path) == LINK or is_binary(blob):
            continue
        names = case.layout.for_file(path)
        if not touched(blob, names) and (edits := scan(blob, names).edits):
            raise Violation("prefilter", f"{path} is not looked at, and has edits {edits}")


def _one_way_declared(layout: Layout) -> bool:
    return any(p.one_way for p in (*layout.paths, *layout.extra_modules, *layout.symbols, *layout.keys))


def _difference(blobs: MemoryBlobs, one: Mapping[str, Entry], other: Mapping[str, Entry | None]) -> str:
    for path in sorted({*one, *other}):
        left, right = one.get(path), other.get(path)
        if left != right:
            shown = [f"{side.mode:o} {blobs.read(side.oid)!r}" if side else "nothing" for side in (left, right)]
            return f"{path}: {shown[0]} and {shown[1]}"
    return "nothing differs"
