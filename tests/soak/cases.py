"""What a law is tried on, and how an example is written down and read again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis.strategies import SearchStrategy

from porttool import layout as layouts_module
from porttool import names as names_module
from porttool.errors import PortError
from tests.soak.pick import Pick

CHECKED, REFUSED = "checked", "refused"


class Violation(AssertionError):
    """A law that does not hold for an example; `rule` is which part of it."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(f"{rule}: {text}")
        self.rule = rule


@dataclass(frozen=True)
class Names:
    """A renaming and names to rename."""

    renaming: names_module.Renaming
    names: tuple[names_module.Name, ...]


@dataclass(frozen=True)
class Tree:
    """A layout and a tree of files by path; `modes` are those of files that are not plain."""

    layout: layouts_module.Layout
    files: dict[str, bytes]
    modes: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class History:
    """A source history: a base, then commits, each with the numbers of its parents (0 is the base) and what it
    changes; `drift` is what only the target has."""

    layout: layouts_module.Layout
    base: dict[str, bytes]
    commits: tuple[tuple[tuple[int, ...], dict[str, bytes | None]], ...]
    drift: dict[str, bytes]


@dataclass(frozen=True)
class Blob:
    """One file of arbitrary bytes."""

    layout: layouts_module.Layout
    path: str
    content: bytes


@dataclass(frozen=True)
class Raw:
    """Bytes that something is read from: a manifest, a layout, a patch, a commit object."""

    kind: str
    content: bytes


Case = Names | Tree | History | Blob | Raw
Check = Callable[[Any], str]


@dataclass(frozen=True)
class Law:
    """A promise: what it is tried on, and how it is checked.

    `make` makes an example of choices, and is much faster than `cases`, which are hypothesis's. `check` returns
    CHECKED or REFUSED (the engine declined with a PortError), or raises. `slice_` is how many examples `make test`
    runs.
    """

    name: str
    promise: str
    check: Check
    make: Callable[[Pick], Any] | None = None
    cases: SearchStrategy[Any] | None = None
    slice_: int = 40
    seconds: float = 3.0  # of processor time for one example


def refusing(check: Callable[[Any], object]) -> Check:
    """A check in which a PortError is a good answer."""

    def checked(case: Any) -> str:
        try:
            check(case)
        except PortError:
            return REFUSED
        return CHECKED

    return checked


def told(case: Case) -> str:
    """An example as an expression that `read` reads."""
    return repr(case)


def read(text: str) -> Case:
    """An example from the expression that `told` made."""
    known = {**vars(layouts_module), **vars(names_module), **globals()}
    found = eval(text, {"__builtins__": {}}, known)
    assert isinstance(found, Names | Tree | History | Blob | Raw)
    return found
