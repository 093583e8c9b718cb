"""What a pull request changes of its own measure: rules, goldens, scenarios, declarations, each with its reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from parity.gate.result import Case, Found, Place, Probe
from parity.verdict import Verdict

# A recorded resolution says this where nobody gave a reason.
NO_REASON = "resolved by hand"
_TRAILER = re.compile(r"(?im)^Gate-Reason:[ \t]*(\S.*?):[ \t]+(\S.*)$")


class Measure(NamedTuple):
    """One thing that the gate measures by: what it says, the reason written next to it, and where it stands."""

    value: Any
    reason: str = ""
    place: Place | None = None


@dataclass(frozen=True)
class Changed:
    """One measure that is not what it was; "" where it was not there, or is not any more."""

    name: str
    was: str
    now: str
    reason: str
    place: Place | None
    hint: str = ""

    @property
    def explained(self) -> bool:
        return bool(self.reason)


def measures(told: Mapping[str, Any], places: Mapping[tuple[str | int, ...], Place]) -> dict[str, Measure]:
    """Everything in a manifest that decides what counts as equal, by its dotted name."""
    return {name: Measure(value, reason, _nearest(at, places)) for name, value, reason, at in _units(told)}


def _nearest(at: tuple[str | int, ...], places: Mapping[tuple[str | int, ...], Place]) -> Place | None:
    while at and at not in places:
        at = at[:-1]
    return places.get(at)


Unit = tuple[str, Any, str, tuple[str | int, ...]]


def _units(told: Mapping[str, Any]) -> Iterator[Unit]:
    for side in ("source", "target"):
        for name, value in (told.get(side) or {}).items():
            # A side compared with itself always matches. What the port is called says nothing.
            if name != "branch":
                yield f"{side}.{name}", value, "", (side, name)
    for number, path in enumerate(told.get("protected") or ()):
        yield f"protected.{path}", path, "", ("protected", number)
    for oid, reason in (told.get("skip") or {}).items():
        yield f"skip.{oid}", "not ported", str(reason), ("skip", oid)
    for name, value in (told.get("policy") or {}).items():
        yield f"policy.{name}", value, "", ("policy", name)
    for kind, pairs in (told.get("layout") or {}).items():
        for glob in pairs if kind == "keep" else ():
            yield f"layout.keep.{glob}", "not translated", "", ("layout", kind)
        for old, new in pairs.items() if isinstance(pairs, dict) else ():
            if isinstance(new, dict) and new.get("one_way"):
                yield f"layout.{kind}.{old}.one_way", True, "", ("layout", kind, old)
    commits = told.get("commits") or ()
    for number, item in enumerate(commits if isinstance(commits, (list, tuple)) else [commits]):
        for what in (*item.get("pick", ()), *filter(None, [item.get("new"), item.get("range")])):
            value, why = (_OWN, item.get("why")) if what == item.get("new") else ("ported", "")
            yield f"{_PORTED}{what}", value, str(why or ""), ("commits", number)
        for path, reason in (item.get("adapted") or {}).items():
            name = "+".join(str(oid)[:12] for oid in item.get("pick", ()))
            yield f"adapted.{name}.{path}", "adapted", str(reason), ("commits", number, "adapted", path)
    yield from _parity(told.get("parity") or {})


def _parity(told: Mapping[str, Any]) -> Iterator[Unit]:
    for name, body in told.items():
        at: tuple[str | int, ...] = ("parity", name)
        if name == "rules" and isinstance(body, dict):
            for glob, rule in body.items():
                yield f"parity.rules.{glob}", _without_reason(rule), _reason(rule), (*at, glob)
            if len(body) > 1:
                # The first glob that fits decides.
                yield "parity.rules", list(body), "", at
        elif name in _TABLES and isinstance(body, dict):
            yield from _named(f"parity.{name}", body, at, _TABLES[name])
        elif isinstance(body, list):
            for place, item in enumerate(body):
                yield f"parity.{name}.{item}", item, "", (*at, place)
            if name == "base" and len(body) > 1:
                # The last word about a key counts.
                yield "parity.base", body, "", at
        else:
            yield f"parity.{name}", body, "", at


# What holds things by name, and which tables inside do so themselves.
_TABLES = {"scenarios": (), "convergence": ("bands", "scenarios"), "knobs": ("also",)}


def _named(name: str, body: Mapping[str, Any], at: tuple[str | int, ...], inner: Sequence[str] = ()) -> Iterator[Unit]:
    """One unit for each entry of a table, and of the tables inside it that name things themselves."""
    for key, value in body.items():
        if key in inner and isinstance(value, dict):
            yield from _named(f"{name}.{key}", value, (*at, key))
        else:
            yield f"{name}.{key}", _without_reason(value), _reason(value), (*at, key)


_REASONS = ("expected", "volatile", "reason", "why", "evidence")


def _reason(body: Any) -> str:
    found = [str(body[name]) for name in _REASONS if body.get(name)] if isinstance(body, dict) else []
    return found[0] if found else ""


def _without_reason(body: Any) -> Any:
    if not isinstance(body, dict):
        return body
    # The words of a reason are not what is measured by; that there is such a rule is.
    return {name: name if name in ("expected", "volatile") else value for name, value in body.items()
            if name not in ("reason", "why", "evidence")}  # fmt: skip


def changed(before: Mapping[str, Measure], after: Mapping[str, Measure], reasons: Mapping[str, str]) -> list[Changed]:
    """What differs between two sets of measures, each with the reason given for it in the same pull request.

    Something more to port or to compare weakens nothing, so new commits and scenarios, stored captures and patches of
    the port's own apart, need no reason.
    """
    found = []
    for name in dict.fromkeys((*before, *after)):
        was, now = before.get(name), after.get(name)
        if was is not None and now is not None and was.value == now.value:
            continue
        if (was is None and _is_more(name, after[name])) or (name in _ORDERED and _same_order(was, now)):
            continue
        if now is None and name.startswith(_PORTED) and _accounted(name.removeprefix(_PORTED), after):
            continue
        own = now.reason if now is not None else ""
        fresh = own.strip() if was is None or own != was.reason else ""
        reason = given(name, reasons) or ("" if fresh == NO_REASON else fresh)
        place = (now.place if now is not None else None) or (was.place if was is not None else None)
        found.append(Changed(name, _shown(was), _shown(now), reason, place, _hint(name, now, was)))
    return found


_PORTED = "commits."
_OWN = "a patch of the port's own"
_ORDERED = ("parity.rules", "parity.base")
_ID = re.compile(r"[0-9a-f]{7,40}")
_MORE = (_PORTED, "parity.scenarios.", "parity.knobs.also.", "parity.convergence.scenarios.")


def _is_more(name: str, now: Measure) -> bool:
    """Whether something new is more to port or to compare. A patch has no source: it may change what was ported."""
    return name.startswith(_MORE) and now.value != _OWN


def _accounted(what: str, after: Mapping[str, Measure]) -> bool:
    """Whether a commit is still ported, maybe by more of its digits, or skipped, which wants a reason of its own."""
    named = (name.partition(".")[2] for name in after if name.startswith((_PORTED, "skip.")))
    return any(what == other or _one_id(what.lower(), other.lower()) for other in named)


def _one_id(one: str, other: str) -> bool:
    """Whether both are ids of one commit. Of two names one may begin as the other does: `main~1` is not `main~12`."""
    return all(map(_ID.fullmatch, (one, other))) and (one.startswith(other) or other.startswith(one))


def _same_order(was: Measure | None, now: Measure | None) -> bool:
    """Whether what is there before and after stands in the same order."""
    if was is None or now is None:
        return True
    kept = [glob for glob in was.value if glob in now.value]
    return kept == [glob for glob in now.value if glob in was.value]


def _hint(name: str, now: Measure | None, was: Measure | None) -> str:
    line = f"a line `Gate-Reason: {name}: why` in a commit message of the pull request"
    if now is None or not now.reason:
        return f"give it a reason: {line}"
    same = "is the one it had before" if was is not None and now.reason == was.reason else "says nothing"
    return f"the reason next to it {same}: write a new one there, or {line}"


def _shown(held: Measure | None) -> str:
    return "" if held is None else f"{held.value}"


def given(name: str, reasons: Mapping[str, str]) -> str:
    """The reason in a commit message for a name, or for a part above it of at least two words (`parity.rules`)."""
    for what, why in reasons.items():
        if what == name or (name.startswith(f"{what}.") and (what not in ("parity", "layout"))):
            return why
    return ""


def trailers(messages: Iterable[str]) -> dict[str, str]:
    """`Gate-Reason: what: why` lines of commit messages; the last one about a thing counts."""
    return {what: why for message in messages for what, why in _TRAILER.findall(message)}


def probe(changes: Iterable[Changed], base: str, manifest: Place, seconds: float = 0.0) -> Probe:
    """One case for each change: it differs until a reason is given, and is told with its reason after that."""
    cases = [_case(one, manifest) for one in changes]
    told = f"{len(cases)} change{'s' * (len(cases) != 1)} of the measure itself since {base}"
    if not cases:
        cases = [Case("measure", Verdict.MATCH, "nothing that the gate measures by was changed", (), 0, manifest)]
    return Probe("guard", "guard", tuple(cases), told, seconds)


def _case(one: Changed, manifest: Place) -> Case:
    word = "is new" if not one.was else "was removed" if not one.now else "was changed"
    place = one.place or manifest
    cause = f"{word} in this pull request: {one.reason}" if one.reason else f"{word} without a reason; {one.hint}"
    rule = "declared" if one.explained else "guard"
    found = Found(f"guard/{one.name}", one.was or None, one.now or None, rule, cause, place, counts=not one.explained)
    verdict = Verdict.MATCH if one.explained else Verdict.DIFFER
    reason = f"{one.name} {word}: {one.reason}" if one.reason else f"{one.name} {word} without a reason"
    return Case(one.name, verdict, reason, (found,), 1, place)
