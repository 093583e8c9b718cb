"""Dicts that note who reads which key: the vendor's own functions run on them unchanged."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from parity.record import Key, Leaf, leaf

_MISSING = object()
_HERE = str(Path(__file__).resolve())


@dataclass
class Reads:
    """Who asked which dict for which key, and whether it was there.

    A dict is known by the name under which it was sent: meta, batch, processing, training_config, ...
    """

    seen: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    absent: set[tuple[str, str]] = field(default_factory=set)
    sent: dict[str, set[str]] = field(default_factory=dict)
    phase: str = ""

    def note(self, name: str, key: Any, there: bool, reader: str | None = None) -> None:
        """One read. `reader` is the nearest frame that names the key, unless it is given."""
        found = (reader or _reader(key)) if isinstance(key, str) else ""
        if not found:
            return
        self.seen.setdefault((name, key), set()).add(found)
        if not there:
            self.absent.add((name, key))

    def told(self) -> dict[Key, Leaf]:
        """The `reads` probe: per dict and key, `read_by`, `sent` and `unsent` leaves."""
        leaves: dict[Key, Leaf] = {}
        for (name, key), readers in sorted(self.seen.items()):
            leaves[f"{name}.{key}.read_by"] = leaf(", ".join(sorted(readers)))
        for name, keys in sorted(self.sent.items()):
            for key in sorted(keys):
                leaves[f"{name}.{key}.sent"] = leaf(True)
                if (name, key) not in self.seen:
                    leaves[f"{name}.{key}.unread"] = leaf(True)
        for name, key in sorted(self.absent):
            if key not in self.sent.get(name, set()):
                leaves[f"{name}.{key}.unsent"] = leaf(True)
        return leaves

    def wrap(self, name: str, value: Any, *, sent: bool = False) -> Any:
        """A noting dict over a plain one; a dict inside is known by both names. Others pass as they are."""
        if not isinstance(value, dict) or isinstance(value, NotingDict):
            return value
        if sent:
            self.sent.setdefault(name, set()).update(key for key in value if isinstance(key, str))
        made = NotingDict()
        made.reads, made.name = self, name
        for key, inner in value.items():
            below = str(key) if name.startswith("job.") else f"{name}.{key}"
            dict.__setitem__(made, key, self.wrap(below, inner, sent=sent))
        return made


class NotingDict(dict):  # type: ignore[type-arg]
    """A dict that notes reads by key. Iterating, copying and `**` are not reads: they name no key."""

    reads: Reads
    name: str

    def get(self, key: Any, default: Any = None) -> Any:
        self.reads.note(self.name, key, key in self.keys())
        return super().get(key, default)

    def __getitem__(self, key: Any) -> Any:
        self.reads.note(self.name, key, key in self.keys())
        return super().__getitem__(key)

    def __contains__(self, key: Any) -> bool:
        there = super().__contains__(key)
        self.reads.note(self.name, key, there)
        return there

    def pop(self, key: Any, default: Any = _MISSING) -> Any:
        self.reads.note(self.name, key, key in self.keys())
        return super().pop(key) if default is _MISSING else super().pop(key, default)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        self.reads.note(self.name, key, key in self.keys())
        return super().setdefault(key, default)

    def __copy__(self) -> NotingDict:
        made = NotingDict(self.items())
        made.reads, made.name = self.reads, self.name
        return made

    copy = __copy__

    def __deepcopy__(self, memo: Any) -> NotingDict:
        from copy import deepcopy

        made = NotingDict((key, deepcopy(value, memo)) for key, value in self.items())
        made.reads, made.name = self.reads, self.name
        return made

    def __reduce__(self) -> Any:
        return dict, (list(self.items()),)


def plain(value: Any) -> Any:
    """The value with its noting dicts made plain ones."""
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    return value


def _reader(key: str) -> str:
    """`package/module.py:function:line` of the nearest frame outside this file, where it names the key; else "".

    Code that passes every key on (a loop over the batch) does not hold the key as a constant: it reads nothing.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename == _HERE:
        frame = frame.f_back
    if frame is None:
        return ""
    place = f"{shortened(frame.f_code.co_filename)}:{_function(frame)}:{frame.f_lineno}"
    inner: FrameType | None = frame
    while inner is not None:
        if _names(inner.f_code.co_consts, key):
            return place
        # A comprehension is a frame of its own before Python 3.12; its list of keys stands in the function around it.
        inner = inner.f_back if inner.f_code.co_name.startswith("<") else None
    return ""


def _function(frame: FrameType) -> str:
    while frame.f_code.co_name.startswith("<") and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_name


def _names(constants: Any, key: str) -> bool:
    return any(key == one or (isinstance(one, (tuple, frozenset)) and key in one) for one in constants)


def shortened(file: str) -> str:
    """A file from its package on, the same on every machine."""
    parts = Path(file).parts
    for anchor in ("site-packages", "dist-packages"):
        if anchor in parts:
            return "/".join(parts[parts.index(anchor) + 1 :])
    return "/".join(parts[-2:])


def signature_reads(reads: Reads, names: Iterator[str], dicts: Mapping[str, dict[str, Any]], reader: str) -> None:
    """Note parameters of a function that gets the dicts as `**kwargs`: those it names are the ones it reads."""
    for name in names:
        for dict_name, held in dicts.items():
            if dict.__contains__(held, name):
                reads.note(dict_name, name, True, reader)
