"""Hydra overrides (`a.b=v`, `+a.b=v`, `~a.b`, `group@package=choice`) and `${...}` references, as byte spans."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from porttool.edits import Edit, Found, Note
from porttool.layout import FileNames, Layout
from porttool.names import Name

_HEAD = re.compile(
    rb"(?P<sign>\+\+?|~)?(?P<key>[A-Za-z_][\w\-.]*(?:/[\w\-.]+)*)(?P<index>(?:\[[^\]=]*\][\w.\-]*)*)"
    rb"(?:@(?P<package>[\w.\-]*)(?::(?P<to>[\w.\-]*))?)?(?P<equals>=)?"
)
_RESOLVERS = rb"oc\.(?:select|deprecated|dict\.keys|dict\.values)"
_REFERENCE = re.compile(
    rb"\$\{\s*(?:" + _RESOLVERS + rb"\s*:\s*[\"']?)?(?P<dots>\.*)"
    rb"(?P<key>[A-Za-z_][\w\-]*(?:\.[\w\-]+)*)(?=\s*[\[},\"']|\.\$)"
)
_LEAD_OF_KEY = re.compile(rb"\$\{\s*(?:" + _RESOLVERS + rb"\s*:\s*[\"']?)?$")
_SHELL = re.compile(rb"\\.|\$\((?:[^()]|\([^()]*\))*\)|`[^`]*`|\$\{[^.}]*\}|\$\w+|\$[@*#?$!-]", re.S)
_PLACEHOLDER = re.compile(rb"\{[^{}:,]*\}|<[^<>]*>|%\(\w+\)s|\.\.\.")
LONGEST, _DEEPEST = 4096, 16  # beyond this no human wrote the override, and its parser takes seconds or recurses out
_CONFIG_FOLDERS = frozenset(("config", "configs", "conf", "cfg"))
_SPECIAL_PACKAGES = frozenset((b"_global_", b"_here_", b"_group_", b"_name_", b""))


def names_a_key(source: bytes, at: int) -> bool:
    """Whether a `${` or a key-taking resolver stands right before `at`."""
    return source[at - 1 : at] in (b"{", b":", b'"', b"'", b" ") and (
        _LEAD_OF_KEY.search(source, max(at - 40, 0), at) is not None
    )


class Groups(NamedTuple):
    """Hydra config groups that the layout's paths name: what moves, and which choices exist on this side."""

    folders: dict[Name, Name]
    files: dict[tuple[Name, str], tuple[Name, str]]
    known: frozenset[Name]


_GROUPS: dict[str, Groups] = {}


def config_groups(layout: Layout) -> Groups:
    """The groups of a layout, from its paths below folders named like config folders."""
    found = _GROUPS.get(layout.digest)
    if found is None:
        if len(_GROUPS) >= 64:
            _GROUPS.clear()
        found = _GROUPS[layout.digest] = _config_groups(layout)
    return found


def _config_groups(layout: Layout) -> Groups:
    folders: dict[Name, Name] = {}
    files: dict[tuple[Name, str], tuple[Name, str]] = {}
    known: set[Name] = set()
    for pair in layout.paths:
        old, new = below_config(pair.old), below_config(pair.new)
        known.update(_group_of(old))
        if not old or not new or old == new:
            continue
        if _group_of(old) and _group_of(new):
            files[(old[:-1], _stem(old[-1]))] = (new[:-1], _stem(new[-1]))
        elif not old[-1].endswith((".yaml", ".yml")):
            folders[old] = new
    for fragment in layout.fragments:
        if fragment.old.whole_file:
            known.update(_group_of(below_config(tuple(fragment.old.path.split("/")))))
    return Groups(folders, files, frozenset(known))


def below_config(path: Name) -> Name:
    """The part of a path below its last config folder; () where it has none."""
    for at in range(len(path) - 1, -1, -1):
        if path[at] in _CONFIG_FOLDERS:
            return path[at + 1 :]
    return ()


def _group_of(path: Name) -> tuple[Name, ...]:
    return (path[:-1],) if len(path) > 1 and path[-1].endswith((".yaml", ".yml")) else ()


def _stem(file: str) -> str:
    return file.rpartition(".")[0]


def map_group(names: FileNames, group: Name, choice: str | None) -> tuple[Name, str | None]:
    """Where a config group, and the choice in it, are on the other side."""
    groups = config_groups(names.layout)
    if choice is not None and (group, choice) in groups.files:
        return groups.files[(group, choice)]
    for depth in range(len(group), 0, -1):
        if group[:depth] in groups.folders:
            return groups.folders[group[:depth]] + group[depth:], choice
    found = names.layout.keys.match(group)
    if found and found[0].old == group and group not in groups.known:
        return found[1], choice
    return group, choice


def scan_word(source: bytes, names: FileNames, start: int, end: int) -> Found:
    """Edits for `source[start:end]` where it is a Hydra override, bare or inside one pair of quotes."""
    quote = source[start : start + 1]
    if quote in (b'"', b"'") and end - start > 1 and source[end - 1 : end] == quote:
        start, end = start + 1, end - 1
    head = _HEAD.match(source, start, end)
    if head is None or (head["equals"] is None and (head["sign"] != b"~" or head.end() < end)):
        return Found([], [])
    edits = [*_head_edits(head, names, end), *references(source, names, head.end(), end, shell=quote != b"'")]
    mention = decode(head["key"])
    if not edits:
        return Found([], [])
    if not _is_override(source[start:end]):
        shown = decode(source[start : min(end, start + 80)])
        return Found([], [Note(start, "unparsable", f"Hydra does not read {shown!r}")])
    if _moves_inside(source[head.end() : end], names, tuple(mention.split("."))):
        return Found([], [Note(start, "key-moved", f"a key inside the value of {mention!r} moves apart from it")])
    return Found(edits, [])


def _head_edits(head: re.Match[bytes], names: FileNames, end: int) -> Iterator[Edit]:
    """Edits for key, group, package and choice."""
    text = decode(head["key"])
    value = decode(head.string[head.end() : end].strip(b"\"'")) if head["equals"] else None
    separator = "/" if "/" in text or head["package"] is not None else "."
    name = tuple(text.split(separator))
    if "" in name:
        return
    if separator == "/" or name in config_groups(names.layout).known:
        new, choice = map_group(names, name, value)
        if choice is not None and value is not None and choice != value:
            raw = encode(value)
            at = head.string.index(raw, head.end())
            yield Edit(at, at + len(raw), encode(choice))
        separator = "/"
    else:
        new = names.layout.keys.map(name)
    if new != name:
        yield Edit(*head.span("key"), encode(separator.join(new)))
    for part in ("package", "to"):
        package = head[part]
        if package is not None and package not in _SPECIAL_PACKAGES:
            moved = names.key(tuple(decode(package).split(".")))
            if moved is not None:
                yield Edit(*head.span(part), encode(".".join(moved)))


def references(
    source: bytes,
    names: FileNames,
    start: int,
    end: int,
    *,
    shell: bool = False,
    here: tuple[Name, Name] | None = None,
) -> Iterator[Edit]:
    """Edits for `${a.b}` and the resolvers that take a key.

    In a `shell` text a bare `${name}` is a variable unless its dollar is escaped. `here` is the key of the node that
    holds the text, on this side and on the other: what a relative `${.x}` counts from.
    """
    for found in _REFERENCE.finditer(source, start, end):
        key = tuple(decode(found["key"]).split("."))
        if shell and len(key) == 1 and source[found.start() - 1 : found.start()] != b"\\":
            continue
        if found["dots"]:
            new = _relative(names, len(found["dots"]), key, here) if here else None
        else:
            moved = names.key(key)
            new = ".".join(moved) if moved else None
        if new is not None:
            edit = Edit(found.start("dots"), found.end("key"), encode(new))
            if source[edit.start : edit.end] != edit.text:
                yield edit


def _relative(names: FileNames, dots: int, key: Name, here: tuple[Name, Name]) -> str | None:
    """A relative reference as it is written in the node's new place; None where it still holds."""
    old, new = here
    if dots > len(old):
        return None
    target = names.layout.keys.map(old[: len(old) - dots] + key)
    if dots <= len(new) and target == new[: len(new) - dots] + key:
        return None
    count = dots + len(new) - len(old)
    base = new[: len(new) - count]
    if 0 < count <= len(new) and _starts(target, base):
        return "." * count + ".".join(target[len(base) :])
    shared = 0
    while shared < min(len(new), len(target)) - 1 and new[shared] == target[shared]:
        shared += 1
    return "." * (len(new) - shared) + ".".join(target[shared:])


def _starts(name: Name, base: Name) -> bool:
    return len(name) > len(base) and name[: len(base)] == base


def _moves_inside(value: bytes, names: FileNames, key: Name) -> bool:
    """Whether a dict in the value holds a key whose own pair moves it apart from `key`."""
    if not value.lstrip(b"\"'").startswith(b"{"):
        return False
    return any(
        len(pair.old) > len(key)
        and pair.old[: len(key)] == key
        and re.search(rb"\b" + encode(re.escape(pair.old[len(key)])) + rb"\b", value)
        for pair in names.layout.keys
    )


def decode(raw: bytes) -> str:
    """Bytes of a name as a str that gives the same bytes back."""
    return raw.decode("utf-8", "surrogateescape")


def encode(name: str) -> bytes:
    """The inverse of `decode`."""
    return name.encode("utf-8", "surrogateescape")


def _is_override(word: bytes) -> bool:
    """Whether Hydra reads the word: as it stands, as a shell hands it over, or with its placeholders filled in."""
    if len(word) > LONGEST or _depth(word) > _DEEPEST:
        return False
    text = decode(word)
    handed = _SHELL.sub(lambda found: found.group()[1:] if found.group()[:1] == b"\\" else b"x", word)
    head, equals, value = handed.partition(b"=")
    if value[:1] in (b'"', b"'") and value[:1] == value[-1:]:
        value = value[1:-1]
    filled = _PLACEHOLDER.sub(b"x", value)
    forms = (text, decode(head + equals + value), decode(head + equals + filled))
    return any(_parses(form) for form in dict.fromkeys(forms))


def _depth(word: bytes) -> int:
    """How deep brackets nest; Hydra's parser recurses on them."""
    deepest = depth = 0
    for byte in word:
        depth += (byte in b"[{(") - (byte in b"]})")
        deepest = max(deepest, depth)
    return deepest


@lru_cache(maxsize=4096)
def _parses(text: str) -> bool:
    """Hydra's own verdict. Imported late: most blobs hold no override, and the parser is slow to load."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        OverridesParser.create().parse_override(text)
    except HydraException:
        return False
    return True
