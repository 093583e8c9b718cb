"""What a shell can complete after `porttool`, read off the parsers of the verbs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType

from porttool.arguments import Parser

# Kinds of values. Those of ASKED are looked up while the user types, by `porttool completion words KIND`.
MANIFESTS, FILES, FOLDERS, CHOICES, TEXT = "manifests", "files", "folders", "choices", "text"
REFS, SCENARIOS, TRAININGS, PINS, RESOLUTIONS = "refs", "scenarios", "trainings", "pins", "resolutions"
ASKED = (REFS, SCENARIOS, TRAININGS, PINS, RESOLUTIONS)

_BY_METAVAR = {
    "FILE": FILES,
    "FOLDER": FOLDERS,
    "REF": REFS,
    "OLD": REFS,
    "NEW": REFS,
    "RANGE": REFS,
    "MANIFEST": MANIFESTS,
    "ID": RESOLUTIONS,
}
_BY_DEST = {"repo": FOLDERS, "source_repo": FOLDERS, "target_repo": FOLDERS, "branch": REFS, "scenario": SCENARIOS,
            "names": PINS}  # fmt: skip
# Training runs have scenarios of their own.
_BY_VERB = {("smoke", "scenario"): TRAININGS}


@dataclass(frozen=True)
class Word:
    """One option or positional: its spellings (none for a positional), what help says, and what its value is."""

    names: tuple[str, ...]
    told: str
    kind: str = ""  # "" for a flag, which takes no value
    label: str = ""
    choices: tuple[str, ...] = ()
    many: bool = False


@dataclass(frozen=True)
class Command:
    """A verb, or a step of one, with its words."""

    path: tuple[str, ...]
    told: str
    options: tuple[Word, ...]
    positionals: tuple[Word, ...]

    @property
    def key(self) -> str:
        """The words that lead here, as the scripts compare them."""
        return " ".join(self.path)


@dataclass(frozen=True)
class Grammar:
    """The whole command line: verbs with what they do, the steps of each, and every command."""

    verbs: Mapping[str, str]
    steps: Mapping[str, Mapping[str, str]]
    commands: tuple[Command, ...]


def grammar(verbs: Mapping[str, str], modules: Mapping[str, ModuleType]) -> Grammar:
    """The grammar of the verbs, each with its module."""
    steps: dict[str, dict[str, str]] = {}
    commands: list[Command] = []
    for verb, told in verbs.items():
        parser = Parser(f"porttool {verb}", told, modules[verb].EXAMPLE)
        modules[verb].arguments(parser)
        for name, step in parser.steps().items():
            steps.setdefault(verb, {})[name] = _first(step.description or "")
            commands.append(_command((verb, name), step))
        if verb not in steps:
            commands.append(_command((verb,), parser))
    return Grammar(dict(verbs), steps, tuple(commands))


def _command(path: tuple[str, ...], parser: Parser) -> Command:
    told = [action for action in parser._actions if not isinstance(action, argparse._SubParsersAction)]
    words = [_word(path[0], action) for action in told]
    return Command(
        path,
        _first(parser.description or ""),
        tuple(word for word in words if word.names),
        tuple(word for word in words if not word.names),
    )


def _word(verb: str, action: argparse.Action) -> Word:
    takes = not action.option_strings or action.nargs != 0
    label = str(action.metavar or action.dest.upper())
    choices = tuple(map(str, action.choices or ()))
    return Word(
        tuple(action.option_strings),
        _first(action.help or ""),
        kind_of(action.dest, label, choices, verb) if takes else "",
        label,
        choices,
        many=action.nargs in ("*", "+"),
    )


def kind_of(dest: str, metavar: str, choices: tuple[str, ...], verb: str = "") -> str:
    """What the value of an argument is."""
    if choices:
        return CHOICES
    return _BY_VERB.get((verb, dest)) or _BY_DEST.get(dest) or _BY_METAVAR.get(metavar, TEXT)


def _first(told: str) -> str:
    """One line for a menu, without the marks that a shell's own syntax uses."""
    line = " ".join(told.split()).rstrip(".")
    return line[:1].lower() + line[1:] if line[1:2].islower() else line


def grouped(commands: tuple[Command, ...]) -> Iterator[tuple[str, tuple[str, ...], list[str]]]:
    """Kinds of option values: kind, choices, and each `command:option` that takes them."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for command in commands:
        for option in command.options:
            if option.kind:
                places = found.setdefault((option.kind, option.choices), [])
                places += [f"{command.key}:{name}" for name in option.names]
    yield from ((kind, choices, places) for (kind, choices), places in found.items())
