"""Fragments: files are cut into parts, each part is rewritten for the place it goes to, and the parts are joined.

Cutting a file undoes joining it, step by step: the parts of a file have one order on each side; they are joined in
that order and cut in the reverse one. A host that holds nothing but parts does not exist without them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from porttool.edits import Edit, Found, line_of, splice
from porttool.errors import LayoutError
from porttool.layout import FileNames, Fragment, FragmentEnd, Layout
from porttool.rewrite import Rewritten, rewrite, scan, touched
from porttool.rewrite.fragments_blocks import Body, Item, body_of
from porttool.rewrite.fragments_python import import_of, in_place, reindented
from porttool.rewrite.fragments_yaml import block, hung, part_names, step_of, unfit


@dataclass(frozen=True)
class Remark:
    """A place on the from-side, and why the fragment there does not come back or does not move."""

    path: str
    line: int
    kind: str
    text: str
    one_way: bool = False


@dataclass(frozen=True)
class Joined:
    """The files of a group in the other layout, by new path; `origin` is the from-side file whose mode each has."""

    files: dict[str, bytes]
    origin: dict[str, str]
    remarks: tuple[Remark, ...] = ()


@dataclass(frozen=True)
class _Part:
    text: bytes
    column: int = 0
    step: int | None = None


@dataclass
class _Desk:
    """What is on the table while one group is translated."""

    layout: Layout
    files: Mapping[str, bytes]
    rests: dict[str, bytes] = field(default_factory=dict)
    parts: dict[Fragment, _Part] = field(default_factory=dict)
    lines: dict[Fragment, int] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)

    def tell(self, fragment: Fragment, text: str, *, one_way: bool = True) -> None:
        line = self.lines.get(fragment, 1)
        self.remarks.append(Remark(fragment.old.path, line, "fragment", text, one_way))


def group_of(layout: Layout, path: str) -> frozenset[str]:
    """The from-side files that must be translated together with `path`."""
    found = {path}
    size = 0
    while size != len(found):
        size = len(found)
        for fragment in layout.fragments:
            homes = {fragment.old.path, _from_side(layout, fragment.new.path)}
            if homes & found:
                found |= homes
    return frozenset(found)


def carry_group(layout: Layout, files: Mapping[str, bytes]) -> Joined:
    """T over the text files of one group. Raises LayoutError where a fragment's new home is taken or missing."""
    desk = _Desk(layout, files)
    for path in files:
        _take_apart(desk, path)
    texts: dict[str, bytes] = {}
    origin: dict[str, str] = {}
    for path, rest in desk.rests.items():
        new_path = layout.path(path)
        texts[new_path] = rest
        origin[new_path] = path
    for fragment in _ordered(list(desk.parts), "new"):
        _put(desk, fragment, texts, origin)
    return Joined(texts, origin, tuple(desk.remarks))


def _from_side(layout: Layout, new_path: str) -> str:
    return "/".join(layout.inverse().paths.map(tuple(new_path.split("/"))))


def _take_apart(desk: _Desk, path: str) -> None:
    source = desk.files[path]
    here = [fragment for fragment in desk.layout.fragments if fragment.old.path == path]
    whole = next((fragment for fragment in here if fragment.old.whole_file), None)
    if whole is not None:
        _take_whole(desk, source, whole)
        return
    items = {fragment: item for fragment in here if (item := _present(desk, source, fragment)) is not None}
    if not items:
        desk.rests[path] = _plain(desk, path, source)
        return
    if here[0].old.kind == "python":
        found = in_place(source, items, desk.layout, _scan)
        _note_all(desk, path, source, Rewritten(b"", tuple(found.notes)))
        text = _Text(source, tuple(found.edits))
    else:
        text = _Text(source)
    for fragment in reversed(_ordered(list(items), "old")):
        text = _cut(desk, text, fragment)
    for fragment in items:
        _tell_uses(desk, fragment, items[fragment], source)
    if text.blob:
        desk.rests[path] = text.spliced() if text.edits is not None else _plain(desk, path, text.blob)


def _tell_uses(desk: _Desk, fragment: Fragment, item: Item, source: bytes) -> None:
    """T adds and drops no import: a function that leaves is no longer bound in the file it leaves, and the file it
    goes to may import it from itself."""
    end, layout = fragment.old, desk.layout
    if end.kind == "yaml" or len(end.name) > 1:
        return
    use = re.compile(rb"(?<![\w.\"'])%s(?=\s*[(.,)\]])" % re.escape(end.name[0].encode()))
    found = use.search(source, 0, item.start) or use.search(source, item.end)
    if found is not None:
        text = f"{end.name[0]!r} is used here, and {end} becomes {fragment.new}"
        desk.remarks.append(Remark(end.path, line_of(source, found.start()), "fragment", text))
    home = _from_side(layout, fragment.new.path)
    module = layout.module_of(end.path)
    at = import_of(desk.files.get(home, b""), layout.module_of(home), module[0], end.name[0]) if module else None
    if at is not None:
        text = f"{fragment.new.path!r} will import {end.name[0]!r} from itself, since {end} becomes {fragment.new}"
        desk.remarks.append(Remark(home, line_of(desk.files[home], at), "fragment", text))


def _scan(source: bytes, names: FileNames) -> Found:
    return scan(source, names) if touched(source, names) else Found([], [])


def _plain(desk: _Desk, path: str, source: bytes) -> bytes:
    done = rewrite(source, desk.layout.for_file(path))
    _note_all(desk, path, desk.files[path], done)
    return done.blob


def _note_all(desk: _Desk, path: str, source: bytes, done: Rewritten) -> None:
    desk.remarks += [Remark(path, line_of(source, note.offset), note.kind, note.message) for note in done.notes]


def _take_whole(desk: _Desk, source: bytes, fragment: Fragment) -> None:
    lead = _eoled(fragment.old.lead or "", source)
    if not source.startswith(lead):
        desk.tell(fragment, f"{fragment.old} comes back only with a `lead` it starts with, not {fragment.old.lead!r}")
        lead = b""
    done = rewrite(source[len(lead) :], part_names(desk.layout, fragment.old, fragment.new))
    _note_all(desk, fragment.old.path, source, done)
    desk.parts[fragment] = _Part(done.blob)


def _present(desk: _Desk, source: bytes, fragment: Fragment) -> Item | None:
    end = fragment.old
    body = body_of(source, end.kind, end.name[:-1])
    item = body.find(end.name[-1]) if body else None
    if item is None:
        return None
    reason = unfit(source, item) if end.kind == "yaml" else "" if item.movable else "it is not a definition of its own"
    desk.lines[fragment] = line_of(source, item.start)
    if reason:
        desk.tell(fragment, f"{end} stays where it is: {reason}", one_way=False)
        return None
    return item


@dataclass(frozen=True)
class _Text:
    """A text with the edits that are still to be made in it; None where it is scanned only after it has been cut."""

    blob: bytes
    edits: tuple[Edit, ...] | None = None

    def spliced(self) -> bytes:
        return splice(self.blob, self.edits or ())

    def part(self, start: int, end: int) -> _Text:
        inside = (e for e in self.edits or () if start <= e.start < end)
        edits = tuple(Edit(e.start - start, e.end - start, e.text) for e in inside)
        return _Text(self.blob[start:end], edits if self.edits is not None else None)

    def without(self, start: int, end: int) -> _Text:
        gone = end - start
        before = tuple(e for e in self.edits or () if e.end <= start and e.start < start)
        behind = tuple(Edit(e.start - gone, e.end - gone, e.text) for e in self.edits or () if e.start >= end)
        blob = self.blob[:start] + self.blob[end:]
        return _Text(blob, before + behind if self.edits is not None else None)


def _cut(desk: _Desk, text: _Text, fragment: Fragment) -> _Text:
    end, source = fragment.old, text.blob
    body = body_of(source, end.kind, end.name[:-1])
    item = body.find(end.name[-1]) if body else None
    assert body is not None and item is not None
    point = _lead_start(desk, source, body, item, fragment)
    if end.kind == "python":
        core = text.part(item.start, item.end)
        desk.parts[fragment] = _Part(core.spliced(), item.column)
    else:
        blob, step = block(source, item)
        done = rewrite(blob, part_names(desk.layout, fragment.old, fragment.new))
        above = desk.lines[fragment] + source.count(b"\n", item.start, item.node.start_byte)
        desk.remarks += [Remark(end.path, above + line_of(blob, n.offset), n.kind, n.message) for n in done.notes]
        desk.parts[fragment] = _Part(done.blob, 0, step)
    return text.without(point, item.end)


def _lead_start(desk: _Desk, source: bytes, body: Body, item: Item, fragment: Fragment) -> int:
    """Where the lead of an item begins; where it is not as declared, the item alone is taken and a remark made."""
    end = fragment.old
    index = body.items.index(item)
    before = body.items[index - 1] if index else None
    point = before.end if before else body.start
    found = source[point : item.start]
    lead = _eoled(_lead(end, at_start=point == body.start), source)
    if end.after is None:
        placed = index == len(body.items) - 1
    elif end.after:
        placed = before is not None and before.name == end.after
    else:
        placed = index == (body.leading() if end.kind == "python" else 0)
    if placed and found == lead:
        return point
    if before and not before.name and index != body.leading():
        desk.tell(fragment, f"{end} stands behind a statement without a name, so its place cannot be told")
        return item.start
    after = repr(before.name if before else "")
    told = f"{end} comes back only with `after: {after}` and `lead: {found.decode('utf-8', 'backslashreplace')!r}`"
    desk.tell(fragment, told)
    return item.start


def _lead(end: FragmentEnd, *, at_start: bool) -> str:
    if end.lead is not None:
        return end.lead
    if end.kind == "yaml" or at_start:
        return ""
    return "\n\n" if len(end.name) == 1 else "\n"


def _put(desk: _Desk, fragment: Fragment, texts: dict[str, bytes], origin: dict[str, str]) -> None:
    end, part = fragment.new, desk.parts[fragment]
    if end.whole_file:
        if end.path in texts:
            raise _taken(fragment, origin[end.path])
        texts[end.path] = _eoled(end.lead or "", part.text) + part.text
        return
    host = texts.get(end.path, b"")
    body = body_of(host, end.kind, end.name[:-1])
    if body is None:
        raise LayoutError(
            f"{fragment.old} has no place at {end}: there is no {'.'.join(end.name[:-1])!r} in {end.path!r}",
            fragment.where,
            "give the fragment a home that exists on the other side",
        )
    if body.find(end.name[-1]) is not None:
        raise _taken(fragment, origin.get(end.path, end.path))
    point = body.behind(end.after, end.kind)
    if point is None:
        desk.tell(fragment, f"{end} should stand behind {end.after!r}, which is not there", one_way=False)
        point = body.behind(None, end.kind)
    assert point is not None
    lead = _eoled(_lead(end, at_start=point == body.start), host or part.text)
    if end.kind == "python":
        core = reindented(part.text, part.column, body.column)
    else:
        step = step_of(host, body) if part.step is None else part.step
        core = hung(part.text, end.name[-1], body.column, step, _eol(host or part.text))
    texts[end.path] = _inserted(host, point, lead + core)


def _inserted(host: bytes, point: int, text: bytes) -> bytes:
    eol = _eol(host)
    if point and not host[:point].endswith(b"\n"):
        text = eol + text
    if host[point:] and not text.endswith(b"\n"):
        text += eol
    return host[:point] + text + host[point:]


def _taken(fragment: Fragment, path: str) -> LayoutError:
    return LayoutError(
        f"{fragment.old} becomes {fragment.new}, but {path!r} holds that already",
        fragment.where,
        "move what is there away with a pair of its own, or drop the fragment",
    )


def _ordered(fragments: list[Fragment], side: str) -> list[Fragment]:
    """The order in which the fragments of a side are joined: outer before inner, a sibling before what follows it."""

    def end(fragment: Fragment) -> FragmentEnd:
        found: FragmentEnd = getattr(fragment, side)
        return found

    waiting = sorted(fragments, key=lambda f: (len(end(f).name), end(f).after is None, end(f).path, end(f).name))
    done: list[Fragment] = []
    while waiting:
        homes = {(end(f).path, end(f).name) for f in waiting}
        ready = [f for f in waiting if not (end(f).after and (end(f).path, _sibling(end(f))) in homes)]
        done += ready[:1] or waiting[:1]
        waiting.remove(done[-1])
    return done


def _sibling(end: FragmentEnd) -> tuple[str, ...]:
    return (*end.name[:-1], end.after or "")


def _eol(text: bytes) -> bytes:
    return b"\r\n" if b"\r\n" in text else b"\n"


def _eoled(lead: str, text: bytes) -> bytes:
    return lead.encode("utf-8", "surrogateescape").replace(b"\n", _eol(text))
