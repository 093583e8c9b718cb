"""Keys of a YAML tree in the other layout: renamed in place, wrapped in new parents, or freed from old ones.

An entry whose new name is one segment deeper gets a parent line above it and moves right; an entry whose children
all leave for the level above loses its line and its children move left. What needs more than that is noted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from porttool.edits import Edit, Note
from porttool.layout import FileNames
from porttool.names import Name
from porttool.rewrite.overrides import encode
from porttool.rewrite.yaml_tree import Entry, Lines


@dataclass(frozen=True)
class Item:
    """One entry as it goes to the output: `rel` are its keys below the mapping it goes to, `old` and `new` its names.

    `freed` are the entries that were dissolved around it, outermost first; a `stuck` item keeps its key.
    """

    entry: Entry
    rel: Name
    old: Name
    new: Name
    freed: tuple[Entry, ...] = ()
    stuck: bool = False

    @property
    def changed(self) -> bool:
        return bool(self.freed) or self.rel != (self.entry.key,)


@dataclass(frozen=True)
class Place:
    """A value and the name of the key that holds it, on both sides."""

    entry: Entry
    old: Name
    new: Name


@dataclass
class Nesting:
    """Collects the edits of one document."""

    source: bytes
    names: FileNames
    lines: Lines
    step: int
    edits: list[Edit] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    shifts: dict[int, int] = field(default_factory=dict)
    above: dict[int, bytes] = field(default_factory=dict)
    inserted: dict[int, bytes] = field(default_factory=dict)
    removed: set[int] = field(default_factory=set)
    _stuck: set[int] = field(default_factory=set)  # by id: entries that keep their key and place
    _opened: set[int] = field(default_factory=set)  # entries whose children join a parent inserted beside them
    _closed: set[int] = field(default_factory=set)  # entries whose children cannot be set free

    def run(self, entries: Sequence[Entry], old: Name, new: Name) -> None:
        """Work out one document whose root is `old` on this side and `new` on the other."""
        self._mapping(entries, old, new, parent=None)
        for line in self.above:
            self.shifts.setdefault(line, 0)
        for line, shift in self.shifts.items():
            self.edits.append(self._line_edit(line, shift))
        for line in self.removed - self.shifts.keys():
            self.edits.append(Edit(self.lines.starts[line], self.lines.end(line), b""))
        self.edits += [Edit(at, at, text) for at, text in self.inserted.items()]

    def _line_edit(self, line: int, shift: int) -> Edit:
        start, above = self.lines.starts[line], self.above.get(line, b"")
        if line in self.removed:
            return Edit(start, self.lines.end(line), above)
        return Edit(start, start + max(-shift, 0), above + b" " * max(shift, 0))

    def _mapping(self, entries: Sequence[Entry], old: Name, new: Name, parent: Entry | None) -> None:
        items = self._settled(entries, old, new)
        for entry in {id(freed): freed for item in items for freed in item.freed}.values():
            self._free(entry)
        self._emit(items, 0, parent)

    # Where each entry goes

    def _settled(self, entries: Sequence[Entry], old: Name, new: Name) -> list[Item]:
        """The items of a mapping, after those that cannot be placed beside the others are stuck where they are."""
        while True:
            known = len(self._stuck), len(self._opened), len(self._closed)
            items = list(self._items(entries, old, new, ()))
            for item in [*self._misplaced(items, 0), *self._unfreed(items)]:
                outer = item.freed[0] if item.freed else item.entry
                if item.freed and id(outer) not in self._closed:
                    self._closed.add(id(outer))
                else:
                    self._stick(outer, item.old, item.new)
            if known == (len(self._stuck), len(self._opened), len(self._closed)):
                return items

    def _stick(self, entry: Entry, old: Name, new: Name) -> None:
        if id(entry) in self._stuck:
            return
        self._stuck.add(id(entry))
        names = [".".join(name) for name in (old, new)]
        message = f"{names[0]} becomes {names[1]}, which no edit at this place can reach"
        self.notes.append(Note(entry.start, "key-moved", message))

    def _items(self, entries: Sequence[Entry], old: Name, new: Name, freed: tuple[Entry, ...]) -> Iterator[Item]:
        for entry in entries:
            name = (*old, entry.key)
            if id(entry) in self._stuck or entry.key == "<<":
                yield Item(entry, (entry.key,), name, (*new, entry.key), freed, stuck=id(entry) in self._stuck)
                continue
            if not entry.is_item and "." in entry.key.strip("."):
                yield Item(entry, (self._dotted(entry.key),), name, (*new, entry.key), freed, stuck=True)
                continue
            there = self._target(entry, name, new)
            if there is None:
                yield from self._items(entry.children, name, new, (*freed, entry))
            elif _below(there, new):
                yield Item(entry, there[len(new) :], name, there, freed)
            else:
                self._stick(freed[0] if freed else entry, name, there)
                yield Item(entry, (entry.key,), name, (*new, entry.key), freed, stuck=True)

    def _dotted(self, key: str) -> str:
        """A key with dots, as in the parameters of a sweep, is the name of a key from the root."""
        return ".".join(self.names.layout.keys.map(tuple(key.split("."))))

    def _target(self, entry: Entry, old: Name, new: Name) -> Name | None:
        """The new name of an entry; None where its own level goes away and its children step up."""
        there = self.names.layout.keys.map(old)
        if not entry.mapping or not entry.children:
            return there
        leaves = list(self._leaves(entry, old))
        whole = id(entry) not in self._opened and _below(there, new)
        if whole and all(leaf[: len(there)] == there for leaf in leaves):
            return there
        if id(entry) in self._closed or not all(_below(leaf, new) for leaf in leaves):
            return there
        head = leaves[0][: len(new) + 1]
        children = [self.names.layout.keys.map((*old, child.key)) for child in entry.children]
        if whole and all(_below(name, head) for name in (*leaves, *children)):
            return head
        return None if self._can_free(entry) else there

    def _leaves(self, entry: Entry, old: Name) -> Iterator[Name]:
        """The new names of everything below an entry that holds a value."""
        if not entry.mapping or not entry.children:
            yield self.names.layout.keys.map(old)
        for child in entry.children if entry.mapping else ():
            yield from self._leaves(child, (*old, child.key))

    def _can_free(self, entry: Entry) -> bool:
        """Whether the line of an entry holds nothing that would be lost with it."""
        first, last = entry.children[0], entry.children[-1]
        head = self.source[entry.key_end : first.start].lstrip(b"\"'")
        if entry.decorated or any(child.key == "<<" for child in entry.children):
            return False
        if first.flow:
            tail = self.source[last.end : entry.value_end]
            return b"".join(head.split()) == b":{" and tail.strip() == b"}"
        line = self._line(entry.start)
        bare = self.source[entry.start : self.source.index(b":", entry.key_end) + 1]
        return entry.own_line and first.own_line and self.lines.text(line)[entry.column :].rstrip() == bare

    # Whether they can stand there

    def _misplaced(self, items: Sequence[Item], depth: int) -> Iterator[Item]:
        """Items that would need a parent, or a name, that something else in the mapping has already."""
        seen: dict[str, list[Item]] = {}
        before: list[Item] = []
        for head, group in _groups(items, depth):
            clash = seen.setdefault(head, group)
            if clash is not group and clash[0].old == group[0].old:
                clash += group  # a key that stands there twice: what one of them clashes with, all do
            differ = clash is not group and clash[0].old != group[0].old
            if differ and not (clash is before and self._open(clash, group, depth)):
                yield from (item for item in (*group, *clash) if item.changed and not item.stuck)
            before = group
            if len(group[0].rel) > depth + 1:
                yield from (item for item in group if not self._can_wrap(item))
                yield from self._misplaced(group, depth + 1)

    def _open(self, first: Sequence[Item], second: Sequence[Item], depth: int) -> bool:
        """Whether two neighbours can share one parent: what is that parent now is opened, to be one with the other."""
        parents = [group[0] for group in (first, second) if len(group[0].rel) == depth + 1]
        if not all(self._can_open(item) for item in parents):
            return False
        self._opened.update(id(item.entry) for item in parents)
        return True

    def _can_open(self, item: Item) -> bool:
        entry = item.entry
        if item.stuck or not entry.mapping or not entry.children:
            return False
        known = id(entry) in self._opened or id(entry) in self._closed
        above = item.new[:-1]
        return not known and self._can_free(entry) and all(_below(n, above) for n in self._leaves(entry, item.old))

    def _unfreed(self, items: Sequence[Item]) -> Iterator[Item]:
        """Items of `{...}` that would have to stand on lines of their own."""
        for item in items:
            if item.freed and item.entry.flow and not item.freed[0].flow:
                beside = sum(other.freed[:1] == item.freed[:1] for other in items)
                if beside > 1 or len(item.rel) > 1:
                    yield item

    def _can_wrap(self, item: Item) -> bool:
        return not item.stuck and not item.entry.is_item and (item.entry.flow or item.entry.own_line)

    # What that is in bytes

    def _emit(self, items: Sequence[Item], depth: int, parent: Entry | None) -> None:
        for head, group in _groups(items, depth):
            if len(group[0].rel) == depth + 1:
                for item in group:
                    self._one(item)
            elif group[0].entry.flow:
                self._wrap_flow(head, group, depth, parent)
            else:
                self._wrap_block(head, group, depth, parent)

    def _one(self, item: Item) -> None:
        entry, key = item.entry, item.rel[-1]
        if key != entry.key and not entry.is_item:
            self.edits.append(Edit(entry.key_start, entry.key_end, encode(key)))
        self.places.append(Place(entry, item.old, item.new))
        joined = self._joined(item)
        if joined is not None:
            self._join(entry, joined[0])
            self._one(Item(joined[0], (joined[0].key,), joined[1], item.new))
        elif entry.children and not item.stuck:
            self._mapping(entry.children, item.old, item.new, entry)

    def _joined(self, item: Item) -> tuple[Entry, Name] | None:
        """The only child, at whatever depth, that takes an entry's own name, where nothing else stands between."""
        entry, name = item.entry, item.old
        while not item.stuck and entry.mapping and len(entry.children) == 1 and not entry.decorated:
            child = entry.children[0]
            if not self._bare_between(entry, child):
                return None
            entry, name = child, (*name, child.key)
            if self.names.layout.keys.map(name) == item.new:
                return entry, name
        return None

    def _bare_between(self, entry: Entry, child: Entry) -> bool:
        """Whether only the colon, or a brace, stands between a key and the one below it."""
        gap = self.source[entry.key_end : child.start].lstrip(b"\"'")
        if child.flow:
            tail = self.source[child.end : entry.value_end]
            return b"".join(gap.split()) == b":{" and tail.strip() == b"}"
        return child.own_line and gap.rstrip(b" ") in (b":\n", b":\r\n")

    def _join(self, entry: Entry, child: Entry) -> None:
        """Give an entry the value of the only child below it."""
        colon = self.source.index(b":", entry.key_end) + 1
        self.edits.append(Edit(colon, self.source.index(b":", child.key_end) + 1, b""))
        if child.flow:
            self.edits.append(Edit(child.end, entry.value_end, b""))
            return
        line = self._line(child.start)
        self._shift(line + 1, self._last_line(child), child.column, entry.column - child.column)
        for between in range(self._line(colon) + 1, line + 1):
            self.shifts.pop(between, None)

    def _wrap_flow(self, head: str, group: Sequence[Item], depth: int, parent: Entry | None) -> None:
        first, last = group[0].entry, group[-1].entry
        self.inserted[first.start] = self.inserted.get(first.start, b"") + encode(head) + b": {"
        self._emit(group, depth + 1, parent)
        self.inserted[last.end] = self.inserted.get(last.end, b"") + b"}"

    def _wrap_block(self, head: str, group: Sequence[Item], depth: int, parent: Entry | None) -> None:
        first, last = group[0], group[-1].entry
        top = self._first_line(first.entry)
        column = first.entry.column + self.shifts.get(self._line(first.entry.start), 0)
        text = b" " * column + encode(head) + b":" + self.lines.ending(top)
        home = self._below_comment(top, first.entry.column)
        self.above[home] = self.above.get(home, b"") + text
        leftmost = min(item.entry.column for item in group)
        self._shift(top, self._last_line(last), leftmost, self._step(first, parent))
        self._emit(group, depth + 1, parent)

    def _free(self, entry: Entry) -> None:
        """Take the line of an entry away and move its children to its own column."""
        first, last = entry.children[0], entry.children[-1]
        if first.flow:
            self.edits += [Edit(entry.start, first.start, b""), Edit(last.end, entry.value_end, b"")]
            return
        line = self._line(entry.start)
        self.removed.add(line)
        end = self._last_line(entry, first.column)
        self._shift(line + 1, end, first.column, entry.column - first.column)

    def _shift(self, first: int, last: int, column: int, by: int) -> None:
        """Move lines that start at `column` or further right; blank lines stay as they are."""
        for line in range(first, last + 1):
            if self.lines.width(line) >= max(column, 1 - bool(self.lines.text(line).strip())):
                self.shifts[line] = self.shifts.get(line, 0) + by

    def _line(self, offset: int) -> int:
        low, high = 0, len(self.lines.starts)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.lines.starts[middle] <= offset else (low, middle)
        return low

    def _first_line(self, entry: Entry) -> int:
        """The first line of an entry, with the comment lines that stand right above it."""
        line = self._line(entry.start)
        while line > 0:
            if not self._is_comment(line - 1, entry.column):
                break
            line -= 1
        return line

    def _is_comment(self, line: int, column: int) -> bool:
        """Whether a line is a comment at `column`; the header of a Hydra config belongs to the file, not to a key."""
        text = self.lines.text(line).lstrip(b" ")
        header = text[1:].lstrip().startswith(b"@package")
        return text.startswith(b"#") and not header and self.lines.width(line) == column

    def _below_comment(self, line: int, column: int) -> int:
        """Where the line of a new parent goes: right under a comment that stands alone above its first child.

        In files that comment each key, that is where the parent's own comment was when its line was taken away.
        """
        above = line - 1
        while above > 0 and not self.lines.text(above).strip():
            above -= 1
        if above < 0 or above == line - 1:
            return line
        return above + 1 if self._is_comment(above, column) else line

    def _last_line(self, entry: Entry, column: int | None = None) -> int:
        """The last line of an entry, with the comments that stand deeper than its key below it."""
        deeper = entry.column + 1 if column is None else column
        last = line = self._line(max(entry.end - 1, entry.start))
        while line + 1 < len(self.lines.starts):
            line += 1
            text = self.lines.text(line).strip()
            if text and not (text.startswith(b"#") and self.lines.width(line) >= deeper):
                break
            last = line if text else last
        return last

    def _step(self, item: Item, parent: Entry | None) -> int:
        """How far the file indents at this place."""
        entry = item.entry
        if parent is not None and parent.own_line and not item.freed and entry.column > parent.column:
            return entry.column - parent.column
        if entry.mapping and entry.children and entry.children[0].column > entry.column and not entry.children[0].flow:
            return entry.children[0].column - entry.column
        return self.step


def _below(name: Name, above: Name) -> bool:
    return len(name) > len(above) and name[: len(above)] == above


def _groups(items: Sequence[Item], depth: int) -> Iterator[tuple[str, list[Item]]]:
    """Neighbours that share the key at `depth`: alone where that is their last key, else under one parent."""
    for (head, _), group in groupby(enumerate(items), key=lambda told: _group_key(told, depth)):
        yield head, [item for _, item in group]


def _group_key(told: tuple[int, Item], depth: int) -> tuple[str, int]:
    at, item = told
    return item.rel[depth], at if len(item.rel) == depth + 1 else -1


def file_step(entries: Sequence[Entry]) -> int:
    """The first indentation a document shows; 2 where it shows none."""
    for entry in entries:
        if entry.own_line and entry.mapping and entry.children and not entry.children[0].flow:
            return max(entry.children[0].column - entry.column, 1)
    return 2
