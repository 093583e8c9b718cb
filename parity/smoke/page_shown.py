"""What is shown of a scenario: the comparison, the runs behind it, and the sentences that every view begins with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from parity.record import Leaf
from parity.smoke.compare import Compared
from parity.smoke.page_panel import backdrop_lines
from parity.smoke.series import Series
from parity.verdict import Verdict, overall
from porttool.report import counted

_SIDE = re.compile(r"\bthe (?:left|right)(?: side)?\b|\b(?:left|right):")
_FITS = 10
# Provenance that names a side; all else says where it ran.
_NAMED = ("ref", "commit", "tree")


@dataclass(frozen=True)
class Cause:
    """A ported commit that opens or closes a gap, and in which words."""

    commit: str
    subject: str
    told: str


@dataclass(frozen=True)
class Shown:
    """One scenario. `names` are what a reader calls the sides, such as refs; `command` runs it again."""

    compared: Compared
    left: tuple[Series, ...]
    right: tuple[Series, ...]
    names: tuple[str, str] = ("source", "target")
    causes: tuple[Cause, ...] = ()
    command: str = ""

    @property
    def scenario(self) -> str:
        return self.compared.scenario

    @property
    def verdict(self) -> Verdict:
        return self.compared.verdict

    @property
    def sides(self) -> tuple[str, str]:
        """The names where they may head a column; where they are too long or alike, source and target."""
        fit = max(map(len, self.names)) <= _FITS and self.names[0] != self.names[1]
        return self.names if fit else ("source", "target")

    @property
    def called(self) -> str:
        """What the sides stand for, where their names do not head the columns."""
        return "" if self.sides == self.names else f"source is {self.names[0]}, target is {self.names[1]}"

    @property
    def reason(self) -> str:
        return self.spoken(self.compared.reason)

    def crashes(self) -> list[tuple[str, str]]:
        """The last lines of each run that died, under the name of its side."""
        sides = zip(self.sides, (self.left, self.right), strict=True)
        return [(f"{name}, seed {run.seed}", run.crashed) for name, runs in sides for run in runs if run.crashed]

    def spoken(self, text: str) -> str:
        """A sentence of the comparison, which knows a left and a right side only, with the names of the sides."""
        return _SIDE.sub(lambda found: f"{self.sides['right' in found[0]]}{':' * found[0].endswith(':')}", text)

    def seconds(self) -> tuple[float, float]:
        """What the steps of each side took."""
        left, right = (sum(sum(run.seconds) for run in runs) for runs in (self.left, self.right))
        return left, right


def answer(results: Sequence[Shown]) -> str:
    """The first line of every view."""
    if not results:
        return f"{Verdict.INCOMPARABLE.value}: nothing was run"
    verdict = overall([one.verdict for one in results])
    if len(results) == 1:
        return f"{verdict.value}: {results[0].scenario}: {results[0].reason}"
    held = [one for one in results if one.verdict is verdict]
    if verdict is Verdict.MATCH:
        return f"{verdict.value}: {', '.join(one.scenario for one in held)}: {extent(results)}"
    named = f"{held[0].scenario}: {held[0].reason}" if len(held) == 1 else ", ".join(one.scenario for one in held)
    return f"{verdict.value} in {len(held)} of {len(results)} scenarios: {named}"


def extent(results: Sequence[Shown]) -> str:
    """How much was compared."""
    seeds = dict.fromkeys(seed for one in results for seed in one.compared.seeds)
    equal, of = (sum(getattr(one.compared, name) for one in results) for name in ("equal_steps", "of_steps"))
    steps = max((one.compared.steps for one in results), default=0)
    named = f"seed{'s' * (len(seeds) != 1)} {', '.join(map(str, seeds)) or 'none'}"
    return f"{counted(steps, 'step')}, {named}; {equal} of {of} steps equal bit for bit"


def written(held: Leaf | None) -> str:
    """A side's value with its type, or that it has none."""
    return "-" if held is None else f"{held}"


def how(told: Compared) -> str:
    """By what measure the sides were compared."""
    if told.mode == "exact":
        drawn = told.backdrop is not None and not told.backdrop.refused
        behind = " The envelope behind the lines decides nothing." if drawn else ""
        return f"Exact: every metric of every step and the validation, bit for bit.{behind}"
    # Noise that none of the runs showed, and discrete noise, are not in the formula.
    sure = "if noise is normal; `porttool smoke --aa N` measures it"
    rate = f" Code that is equal differs with a probability of {told.rate:.2g} at most, {sure}." if told.rate else ""
    return f"Envelope: every metric of every step within what the source's own runs allow, two-sided.{rate}"


def behind(one: Shown) -> tuple[str, list[str]]:
    """The envelope behind an exact comparison: a sentence, and a line for each metric and side that leaves it."""
    held = one.compared.backdrop
    if held is None:
        return "", []
    if held.refused:
        return f"the envelope of equal code is not drawn: {held.refused}", []
    runs = f"the envelope of {counted(held.runs, 'run')} of the source (it decides nothing)"
    left = len({leaves.metric for leaves in held.leaves})
    told = f"{counted(left, 'metric')} of {len(held.bands)} leave {runs}" if left else f"no metric leaves {runs}"
    return told, backdrop_lines(one.compared, one.sides)


def provenance(results: Sequence[Shown]) -> tuple[list[tuple[str, str, str]], list[tuple[str, str]]]:
    """What names or parts the sides, `(name, left, right)`, and what all runs share, `(name, value)`."""
    sides = [[run for one in results for run in getattr(one, side)] for side in ("left", "right")]
    names = dict.fromkeys([*_NAMED, *sorted({name for runs in sides for run in runs for name in run.provenance})])
    parted, shared = [], []
    for name in names:
        left, right = (
            ", ".join(dict.fromkeys(run.provenance[name] for run in runs if name in run.provenance)) for runs in sides
        )
        if name in _NAMED or left != right:
            parted += [(name, left, right)] if left or right else []
        else:
            shared.append((name, left))
    return parted, shared
