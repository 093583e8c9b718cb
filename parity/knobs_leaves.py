"""The keys of a backend's YAML block, each with another valid value: from its type, its comment, or the manifest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from porttool.errors import ManifestError
from porttool.layout import Fragment, Layout
from porttool.names import Name

# Words that occur in such blocks without a comment that lists them.
_OTHERS = {
    "fp32": "bf16",
    "bf16": "fp32",
    "fp16": "bf16",
    "float32": "bfloat16",
    "bfloat16": "float16",
    "float16": "bfloat16",
    "INFO": "WARNING",
    "WARNING": "INFO",
}


@dataclass(frozen=True)
class Knob:
    """One key in the source's names, its value as written, and another one; `now` is "" where none is known.

    `only` names the side whose YAML has the key, where the other one has not.
    """

    key: str
    was: str
    now: str
    why: str = ""
    only: str = ""

    @property
    def override(self) -> str:
        return f"{self.key}={self.now}"


def knobs(
    section: Mapping[str, Any], layout: Layout, trees: tuple[Path, Path], overrides: Sequence[str]
) -> list[Knob]:
    """The knobs of both sides' blocks, and the neighbours that the manifest names under `knobs.also`."""
    told = section.get("knobs", {})
    values, also = _table(told, "values"), _table(told, "also")
    given = dict(text.lstrip("+").partition("=")[::2] for text in overrides)
    found: dict[str, Knob] = {}
    back = layout.inverse()
    for fragment in layout.fragments:
        if fragment.old.kind != "yaml" or fragment.old.whole_file:
            continue
        for key, was, comment in _block(trees[0], fragment, old=True):
            found[".".join(key)] = _knob(".".join(key), was, comment, values, given)
        for key, was, comment in _block(trees[1], fragment, old=False):
            there = layout.keys.map(fragment.old.name) + key
            here = ".".join(back.keys.map(there))
            if here not in found:
                one = _knob(here, was, comment, values, given)
                found[here] = Knob(one.key, one.was, one.now, one.why, "right")
    missing = [key for key in values if key not in found]
    if missing:
        raise ManifestError(
            f"parity.knobs.values: no YAML block has the key {missing[0]!r}", hint="known: " + ", ".join(found)
        )
    return [*found.values(), *(Knob(key, given.get(key, "its default"), _text(now)) for key, now in also.items())]


def _table(told: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(told, Mapping) or not isinstance(told.get(name, {}), Mapping):
        raise ManifestError(f"parity.knobs.{name}: wants a mapping from key to its changed value")
    return told.get(name, {})  # type: ignore[no-any-return]


def _block(tree: Path, fragment: Fragment, *, old: bool) -> Iterator[tuple[Name, yaml.ScalarNode, str]]:
    """Each leaf of a fragment's home on one side, with its comment; on the new side keys start at the block."""
    end = fragment.old if old else fragment.new
    file = tree / end.path
    if not file.is_file():
        return
    text = file.read_text(encoding="utf-8")
    node = yaml.compose(text, yaml.SafeLoader)
    for name in end.name:
        inner = [value for key, value in node.value if key.value == name] if isinstance(node, yaml.MappingNode) else []
        if not inner:
            return
        node = inner[0]
    prefix: Name = end.name if old else ()
    yield from _leaves(node, prefix, text.splitlines())


def _leaves(node: yaml.Node | None, at: Name, lines: Sequence[str]) -> Iterator[tuple[Name, yaml.ScalarNode, str]]:
    if not isinstance(node, yaml.MappingNode):
        return
    for key, value in node.value:
        if isinstance(value, yaml.ScalarNode):
            yield (*at, key.value), value, _comment(lines, key.start_mark.line)
        else:
            yield from _leaves(value, (*at, key.value), lines)


def _comment(lines: Sequence[str], line: int) -> str:
    """The comment that stands directly above a line."""
    told: list[str] = []
    while line > 0 and lines[line - 1].lstrip().startswith("#"):
        line -= 1
        told.insert(0, lines[line].strip().lstrip("# "))
    return " ".join(told)


def _knob(key: str, node: yaml.ScalarNode, comment: str, values: Mapping[str, Any], given: Mapping[str, str]) -> Knob:
    """A key that the scenario sets already is turned from there."""
    told = yaml.compose(given[key], yaml.SafeLoader) if key in given else node
    node = told if isinstance(told, yaml.ScalarNode) else node
    if key in values:
        return Knob(key, node.value, _text(values[key]))
    now, why = _other(node, comment, given)
    return Knob(key, node.value, now, why)


def _other(node: yaml.ScalarNode, comment: str, given: Mapping[str, str]) -> tuple[str, str]:
    """(another valid value, or why there is none)"""
    value = node.value
    if value.startswith("${"):
        source = given.get(value[2:-1], "")
        if re.fullmatch(r"\d+", source):
            return str(int(source) + 1), ""
        return "", f"it follows {value[2:-1]}, whose value the scenario does not give; see parity.knobs.values"
    match node.tag.rpartition(":")[2]:
        case "bool":
            return ("False" if yaml.safe_load(value) else "True"), ""
        case "int":
            return str(int(value) + 1), ""
        case "float":
            return repr(float(value) * 2 or 1.0), ""
        case "str":
            listed = choices(comment)
            if value in listed:
                return listed[(listed.index(value) + 1) % len(listed)], ""
            if value in _OTHERS:
                return _OTHERS[value], ""
    return "", f"no other valid value of {value!r} is known; see parity.knobs.values"


def choices(comment: str) -> list[str]:
    """The words a comment lists: `none, cpu or nvme`, also behind a colon, what is in brackets left out."""
    for part in (comment, comment.rpartition(":")[2]):
        plain = re.sub(r"\([^)]*\)", "", part).split(";")[0]
        words = [word.strip() for word in re.split(r",\s*|\s+or\s+", plain)]
        if len(words) > 1 and all(re.fullmatch(r"[\w.+-]+", word) for word in words):
            return words
    return []


def _text(value: Any) -> str:
    return "null" if value is None else str(value)


def unswept(found: Iterable[Knob]) -> list[Knob]:
    """Those for which no other value is known."""
    return [knob for knob in found if not knob.now]
