"""Which keys are sent where nobody reads them, and which are read that nobody sends, with the cause in words.

Two witnesses: the reads that a run with an engine records, and the scan of the server's sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Literal

from parity.consumers_guards import Place, holds
from parity.consumers_sent import FIELDS, Sent, jobs, readings, sent
from parity.consumers_static import Read, Scan
from parity.record import Capture, Key, Leaf, leaf

Kind = Literal["unread", "unsent", "elsewhere"]
# What is handed on as a whole to code that takes any key.
WHOLE = {"vllm_config": "arctic_inference ModelConfig"}
_DEEPSPEED = "deepspeed.training.1.unknown."
_NOBODY = "nobody reads it"
_CLOSE = 0.8
_CLOSE_WORD = 0.7


@dataclass(frozen=True)
class Row:
    """One mismatch. `elsewhere`: sent in `dict`, while the reader looks in another dict, where it is missing."""

    kind: Kind
    dict: str
    key: str
    calls: tuple[str, ...]
    cause: str
    readers: tuple[str, ...] = ()
    near: str = ""
    origin: str = ""

    @property
    def name(self) -> str:
        """Its key in the probe: what is wrong, and where."""
        return f"{self.dict}.{self.key}.{'unsent' if self.kind == 'unsent' else 'unread'}"


class Consumers:
    """The mismatches of one capture, and who reads a key that it holds."""

    def __init__(self, capture: Capture, scan: Scan) -> None:
        self.capture, self.scan = capture, scan
        self.sent = sent(capture)
        self.jobs = jobs(capture)
        self._noted = {(phase, place): who for phase, place, who in readings(capture)}
        self._reads: dict[Place, list[Read]] = {}
        self._of: dict[str, list[Read]] = {}
        self._named: dict[str, list[Read]] = {}
        for read in scan.reads:
            self._reads.setdefault((read.dict, read.key), []).append(read)
            self._of.setdefault(read.dict, []).append(read)
            self._named.setdefault(read.key, []).append(read)
        self._answers: dict[tuple[str, int], bool | None] = {}
        self._inside = {read.dict for read in scan.reads if read.how != "drop"}
        self._shelved = {(label, key): where for label, key, where in scan.shelved}
        self.rows = tuple(_joined(row for told in self.sent for row in self._rows(told)))

    def observed(self) -> dict[Key, Leaf]:
        """The `consumers` probe: one leaf for each mismatch, its cause as the value."""
        told: dict[Key, Leaf] = {}
        for row in self.rows:
            name = f"{row.name}[{row.calls[0]}]" if row.name in told else row.name
            told[name] = leaf(row.cause, row.origin)
        return told or {"mismatches": leaf(0)}

    def reader(self, probe: str, key: Key) -> str:
        """Who reads what a capture's key says was sent; "" where that is not a matter of the server's dicts."""
        found = self._place(probe, key)
        if found is None:
            return ""
        who = self.live(*found)
        return f"{who[0]}" + (f" and {len(who) - 1} more" if len(who) > 1 else "") if who else "nobody"

    def dead(self, probe: str, key: Key) -> str:
        """Why nobody reads what this key says was sent; "" where somebody does or where it is not a dict's key."""
        found = self._place(probe, key)
        return "" if found is None or self.live(*found) else self._why(*found).cause

    def live(self, told: Sent, place: Place) -> list[str]:
        """The readers of a key that run for a call: those that were seen, and those whose conditions are met."""
        if place[0] in WHOLE:
            return [WHOLE[place[0]]]
        if place in self._shelved:
            return []
        if place[0].split(".")[0] == "ds_config":
            unknown = f"{_DEEPSPEED}{place[1]}" in self.capture.probes.get("config", {})
            return [] if place[0] == "ds_config" and unknown else ["deepspeed.runtime.config"]
        if any(read.how == "drop" for read in self._reads.get(place, [])):
            return []
        seen = self.seen(told, place)
        whole, _, name = place[0].rpartition(".")
        if whole and place[0] not in self._inside and whole not in ("meta", "batch"):
            return self.live(told, (whole, name))  # nobody looks inside: who takes the whole takes the part
        certain = [read.reader for read in self._reads.get(place, []) if self._counts(told, read, seen is None)]
        return list(dict.fromkeys([*(seen or []), *certain]))

    def seen(self, told: Sent, place: Place) -> list[str] | None:
        """The readers that ran, without loops over all keys; None where no run recorded reads."""
        noted = self._noted.get((told.phase, place))
        if noted is None:
            return None
        return [reader for reader in noted.split(", ") if reader and reader not in self.scan.loops]

    def _counts(self, told: Sent, read: Read, alone: bool) -> bool:
        """A read of which it cannot be told whether it runs counts only where nothing was recorded."""
        runs = self._runs(told, read)
        return read.how != "drop" and (runs is True or (runs is None and alone))

    def _runs(self, told: Sent, read: Read) -> bool | None:
        """Whether the conditions of a read are met by what was sent, in any job."""
        if read.operation != told.operation:
            return False
        key = (told.call, id(read))  # hashing a read costs more than judging it
        if key not in self._answers:
            self._answers[key] = self._judged(told, read)
        return self._answers[key]

    def _judged(self, told: Sent, read: Read) -> bool | None:
        answers = []
        for job in self.jobs or [""]:
            values = {**told.values, **({("job", "job_type"): job} if job else {})}
            met = [holds(guard, values, told.dicts) for guard in read.guards]
            answers.append(False if False in met else None if None in met else True)
        return True if True in answers else None if None in answers else False

    def _place(self, probe: str, key: Key) -> tuple[Sent, Place] | None:
        """The call and the deepest (dict, key) that a capture's key stands under."""
        best: tuple[int, Sent, Place] | None = None
        for told in self.sent:
            for place, (held, first) in told.keys.items():
                stem = _stem(first, place[1])
                under = held == probe and (key == stem or key.startswith((f"{stem}.", f"{stem}[", f"{stem}#")))
                if under and (best is None or len(stem) > best[0]):
                    best = (len(stem), told, place)
        return None if best is None else best[1:]

    def _rows(self, told: Sent) -> Iterator[Row]:
        unread = [place for place in told.keys if place[0] not in ("processing", "job") and not self.live(told, place)]
        inside: dict[str, list[str]] = {}
        for place in unread:
            whole, _, name = place[0].rpartition(".")
            if whole and (whole, name) in unread:
                continue  # told with the dict it stands in
            row = self._why(told, place)
            if whole == "meta" and row.cause.endswith(_NOBODY):
                inside.setdefault(place[0], []).append(place[1])
            else:
                yield row
        for label, keys in inside.items():
            of = sum(place[0] == label for place in told.keys)
            yield Row("unread", label, "*", (told.call,), f"{len(keys)} of {of} keys: {_NOBODY}: {', '.join(keys)}")
        yield from self._unsent(told)

    def _why(self, told: Sent, place: Place) -> Row:
        """The row of a key that nobody reads."""
        probe, first = told.keys[place]
        row = Row("unread", *place, (told.call,), "", origin=self.capture.probes[probe][first].origin)
        reads = self._reads.get(place, [])
        if place in self._shelved:
            into = f"{reads[0].reader} reads it into {self._shelved[place]}, which nothing uses"
            return replace(row, cause=f"sent in {place[0]}; {into}", readers=(reads[0].reader,))
        parts, readers = [], []
        closed = self._closed(told, place)
        if closed:
            parts.append(closed[0])
            readers.append(closed[1].reader)
        other = self._elsewhere(place)
        if other is not None:
            there = any((other.dict, other.key) in one.keys for one in self.sent)
            row = row if there else replace(row, kind="elsewhere")
            where = "where it is sent too" if there else f"where it is not sent: {_silent(other)}"
            parts.append(f"the reader looks in {other.dict} at {other.reader}, {where}")
            readers.append(other.reader)
        near = None if closed else self._near(told, place)
        if near is not None:
            parts.append(
                f"{near.reader} reads the near name {near.dict}.{near.key}, which is not sent: {_silent(near)}"
            )
            readers.append(near.reader)
        if not parts:
            parts.append("DeepSpeed never asks for it" if place[0] == "ds_config" else _NOBODY)
        name = near.key if near else ""
        return replace(row, cause=f"sent in {place[0]}; {'; '.join(parts)}", readers=tuple(readers), near=name)

    def _closed(self, told: Sent, place: Place) -> tuple[str, Read] | None:
        """A reader that drops the key, or whose condition is not met, in words."""
        for read in self._reads.get(place, []):
            if read.operation != told.operation or read.how == "parameter":
                continue
            if read.how == "drop":
                return f"{read.reader} drops it", read
            for guard in read.guards:
                if holds(guard, told.values, told.dicts) is False:
                    return f"{read.reader} reads it only where {guard}", read
        return None

    def _elsewhere(self, place: Place) -> Read | None:
        """A reader that runs and looks for the same key in another dict."""
        for read in self._named.get(place[1], []):
            other = read.dict.split(".")[0] != place[0].split(".")[0]
            if not other or read.how in ("parameter", "in", "drop") or (read.dict, read.key) in self._shelved:
                continue
            told = next((one for one in self.sent if one.operation == read.operation), None)
            if told is not None and self._runs(told, read) is not False:
                return read
        return None

    def _near(self, told: Sent, place: Place) -> Read | None:
        """A key that is read in the same dict, is not sent, and is called almost the same."""
        for read in self._open(told, place[0]):
            if (read.dict, read.key) not in told.keys and alike(place[1], read.key):
                return read
        return None

    def _open(self, told: Sent, label: str) -> Iterator[Read]:
        """The reads of a dict that are known to run."""
        for read in self._of.get(label, []):
            if read.how not in ("parameter", "drop") and self._runs(told, read) is True:
                yield read

    def _unsent(self, told: Sent) -> Iterator[Row]:
        written = {(read.dict, read.key) for read in self.scan.writes if self._runs(told, read) is not False}
        done = set(told.keys)
        labels = {place[0] for place in told.keys} | ({"job"} if told.call == "client" else set())
        for label in sorted(labels - {"args"}):
            for read in self._open(told, label):
                place = (read.dict, read.key)
                given = label == "job" and place[1] not in FIELDS
                if place in done or given or (place in written and read.how != "setdefault"):
                    continue
                done.add(place)
                close = [
                    k for at, k in told.keys if at == label and alike(k, read.key) and not self.live(told, (at, k))
                ]
                near = f"; the near name {label}.{close[0]} is sent" if close else ""
                cause = f"{read.reader} reads it and nobody sends it: {_silent(read)}{near}"
                yield Row("unsent", *place, (told.call,), cause, (read.reader,), close[0] if close else "")


def disagreements(capture: Capture, scan: Scan) -> list[str]:
    """Where the witnesses differ: reads that the scan does not know, and reads it takes to run that did not."""
    probes = {name: keys for name, keys in capture.probes.items() if name != "reads"}
    static = Consumers(replace(capture, probes=probes), scan)
    both = Consumers(capture, scan)
    found = []
    for told in both.sent:
        for place in told.keys:
            seen = both.seen(told, place)
            if seen is None or place[0] in WHOLE or place[0].split(".")[0] in ("ds_config", "job", "processing"):
                continue
            known = static.live(told, place)
            shelved = any(place == (label, key) for label, key, _ in scan.shelved)
            if bool(known) != bool(seen) and not shelved:
                ran, said = (", ".join(words) or "nobody" for words in (seen, known))
                found.append(f"{told.call}: {'.'.join(place)} was read by {ran}; the scan says {said}")
    return found


def alike(one: str, other: str) -> bool:
    """Whether two names may be meant for each other: the words of one stand in the other, or few letters differ."""
    short, long = sorted((one.split("_"), other.split("_")), key=len)
    within = any(long[at : at + len(short)] == short for at in range(len(long) - len(short) + 1))
    if within and len(short) > 1 and len(long) - len(short) <= 2:
        return True
    if len(short) == len(long) > 1 and short[:-1] == long[:-1]:
        return SequenceMatcher(None, short[-1], long[-1]).ratio() >= _CLOSE_WORD
    return short[-1] == long[-1] and SequenceMatcher(None, one, other).ratio() >= _CLOSE


def _silent(read: Read) -> str:
    if read.how == "in":
        return "it is left out"
    return f"{read.default} holds" if read.default else "a default holds" if read.how == "attribute" else "a KeyError"


def _stem(first: Key, name: str) -> Key:
    """The key of a dict's key: its first leaf, cut off behind the name."""
    parts = first.split(".")
    for at in range(len(parts) - 1, -1, -1):
        if parts[at].partition("[")[0].partition("#")[0] == name:
            return ".".join([*parts[:at], name])
    return first


def _joined(rows: Iterable[Row]) -> Iterator[Row]:
    """Rows of several calls with one cause are one row."""
    found: dict[tuple[str, str, str, str], Row] = {}
    for row in rows:
        key = (row.kind, row.dict, row.key, row.cause)
        held = found.get(key)
        found[key] = row if held is None else replace(held, calls=(*held.calls, *row.calls))
    yield from found.values()
