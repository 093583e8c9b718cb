"""YAML files: keys by their place in the tree, references, `defaults:` lists, and text in what is left."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from porttool.edits import Edit, Found, Note
from porttool.layout import FileNames
from porttool.names import Name
from porttool.rewrite import text
from porttool.rewrite.overrides import config_groups, encode, references
from porttool.rewrite.yaml_defaults import Mount, defaults, mount
from porttool.rewrite.yaml_nesting import Nesting, Place, file_step
from porttool.rewrite.yaml_tree import Entry, Lines, documents

_OVERRIDE_LISTS = frozenset(("overrides", "args", "arguments", "cmd", "command", "task"))


def scan(source: bytes, names: FileNames) -> Found:
    """Edits and notes for a YAML file; one that the grammar cannot read is treated as text."""
    if not (any(word in source for word in text.lexicon_words(names.layout)) or means_more(source, names)):
        return Found([], [])
    groups = config_groups(names.layout)
    if not (names.layout.keys or groups.folders or groups.files):
        return text.scan(source, names)
    trees = documents(source)
    if trees is None:
        plain = text.scan(source, names)
        note = Note(0, "unparsable", "not read as YAML: its keys are left as they are")
        return Found(plain.edits, [*plain.notes, note] if _holds_key(source, names) else plain.notes)
    at = mount(source, names)
    edits, notes = list(at.edits), []
    arguments: dict[int, bool] = {}
    for entries in trees:
        done = _document(source, names, entries, at)
        edits += done.edits
        notes += [*done.notes, *_aliases(names, entries, at)]
        arguments.update(dict.fromkeys(_arguments(source, entries), True))
    edits = beside(edits, references(source, names, 0, len(source)))
    plain = text.scan(source, names, arguments=arguments)
    return Found(sorted(beside(edits, plain.edits)), sorted({*notes, *plain.notes}))


def means_more(source: bytes, names: FileNames) -> bool:
    """Whether names that the file does not spell out matter: it hangs below a renamed key, or moves with a list of
    `defaults:` that is read from where it stands."""
    if names.layout.keys.map(names.mount) != names.new_mount:
        return True
    return names.path != names.new_path and b"defaults:" in source


def beside(edits: Sequence[Edit], others: Iterable[Edit]) -> list[Edit]:
    """`edits`, and those of `others` that touch none of them."""
    kept = sorted(edits)
    starts = [edit.start for edit in kept]
    found = list(kept)
    for other in others:
        at = bisect_left(starts, other.end)
        if not any(edit.start < other.end and other.start < edit.end for edit in kept[max(at - 4, 0) : at + 1]):
            found.append(other)
    return found


def _holds_key(source: bytes, names: FileNames) -> bool:
    return any(pair.old and encode(pair.old[-1]) in source for pair in names.layout.keys)


def _document(source: bytes, names: FileNames, entries: Sequence[Entry], at: Mount) -> Found:
    nesting = Nesting(source, names, Lines(source), file_step(entries))
    lists = [entry for entry in entries if entry.key == "defaults" and entry.children and not entry.mapping]
    nesting.run([entry for entry in entries if entry not in lists], at.old, at.new)
    edits = [edit for edit in nesting.edits if source[edit.start : edit.end] != edit.text]
    for entry in lists:
        edits += defaults(source, names, entry, at)
    for place in nesting.places:
        if place.entry.scalar:
            span = (place.entry.value_start, place.entry.value_end)
            edits += references(source, names, *span, here=(place.old, place.new))
    return Found(edits, nesting.notes)


def _arguments(source: bytes, entries: Sequence[Entry]) -> Iterator[int]:
    """Where the items of a list of overrides start."""
    for entry in entries:
        if entry.key in _OVERRIDE_LISTS and not entry.mapping:
            for item in entry.children:
                yield item.value_start + (source[item.value_start : item.value_start + 1] in (b'"', b"'"))
        yield from _arguments(source, entry.children)


def _aliases(names: FileNames, entries: Sequence[Entry], at: Mount) -> Iterator[Note]:
    """Aliases that bring keys into a place where they would have to be renamed otherwise than at their anchor."""
    places = [Place(entry, name, ()) for entry, name in _walk(entries, at.old)]
    anchors = {place.entry.anchor: place for place in places if place.entry.anchor and place.entry.mapping}
    for place in places:
        home = anchors.get(place.entry.alias) if place.entry.alias else None
        if home is None:
            continue
        into = place.old[:-1] if place.entry.key == "<<" else place.old
        for _, name in _walk(home.entry.children, ()):
            if _within(names, home.old, name) != _within(names, into, name):
                key = ".".join(into + name)
                yield Note(place.entry.start, "key-moved", f"the alias brings {key} here, whose name changes apart")
                break


def _walk(entries: Sequence[Entry], base: Name) -> Iterator[tuple[Entry, Name]]:
    for entry in entries:
        name = (*base, entry.key)
        yield entry, name
        yield from _walk(entry.children, name)


def _within(names: FileNames, base: Name, name: Name) -> Name:
    """What a key below `base` is called below the new name of `base`."""
    new_base, new = names.layout.keys.map(base), names.layout.keys.map(base + name)
    return new[len(new_base) :] if new[: len(new_base)] == new_base else ("", *new)
