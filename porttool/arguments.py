"""A command line parser whose refusals are UsageErrors that name the nearest known word."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import NoReturn

from porttool.errors import UsageError


class Parser(argparse.ArgumentParser):
    """The options of one verb. Abbreviations are not taken: a script must keep its meaning when options are added."""

    def __init__(self, prog: str = "", description: str = "", example: str = "", **settings: object) -> None:
        super().__init__(
            prog=prog,
            description=description[:1].upper() + description[1:] + ".",
            epilog=f"example:\n  {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self._steps: argparse._SubParsersAction[Parser] | None = None

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Parsed words; raises UsageError."""
        found, rest = self.parse_known_args(words)
        if rest:
            from porttool.nearest import nearest

            known = self.options() if rest[0].startswith("-") else ()
            kind = "option" if known else "argument"
            hint = nearest(rest[0].partition("=")[0], known) if known else f"see `{self.prog} --help`"
            raise UsageError(f"unknown {kind} {rest[0]!r}", self.prog, hint)
        return found

    def options(self) -> list[str]:
        """Every long option, those of the steps too."""
        found = [word for word in self._option_string_actions if word.startswith("--")]
        for step in self._steps.choices.values() if self._steps else ():
            found += step.options()
        return sorted(set(found))

    def step(self, name: str, told: str, example: str) -> Parser:
        """A word after the verb, with options of its own, such as `vendor sync`."""
        if self._steps is None:
            self._steps = self.add_subparsers(dest="step", required=True, metavar="STEP", parser_class=Parser)
        return self._steps.add_parser(name, help=told, description=told, prog=f"{self.prog} {name}", example=example)

    def steps(self) -> dict[str, Parser]:
        """The words after the verb."""
        return dict(self._steps.choices) if self._steps else {}

    def manifest(self) -> None:
        """The manifest, which may be left out."""
        self.add_argument("manifest", nargs="?", metavar="MANIFEST", help="default: the project's manifest")

    def json(self) -> None:
        self.add_argument("--json", action="store_true", help="print JSON instead of the screen")

    def branch(self, told: str = "the port branch; default: target.branch of the manifest") -> None:
        self.add_argument("--branch", metavar="NAME", help=told)

    def resume(self) -> None:
        """What to do about a conflict that stopped an earlier run."""
        told = "with --continue: why the conflict was resolved so"
        self.add_argument("--reason", metavar="TEXT", default="resolved by hand", help=told)
        steps = self.add_mutually_exclusive_group()
        steps.add_argument("--dry-run", action="store_true", help="say what would be done; no ref and no file changes")
        steps.add_argument("--continue", action="store_true", help="go on after a conflict was resolved")
        steps.add_argument("--skip", action="store_true", help="leave out the commit that stopped")
        steps.add_argument("--abort", action="store_true", help="give up and leave everything as it was")

    def repositories(self) -> None:
        """Other repositories than the manifest's, for the same commits."""
        self.add_argument("--source-repo", metavar="URL", help="take the source from here instead")
        self.add_argument("--target-repo", metavar="URL", help="take the target from here instead")
        told = "which ids name the source commits; default: pick"
        self.add_argument("--by", choices=("pick", "upstream"), default="pick", help=told)

    def error(self, message: str) -> NoReturn:
        """argparse's own refusals, as a UsageError."""
        raise UsageError(message, self.prog, self._hint(message))

    def _hint(self, message: str) -> str:
        from porttool.nearest import nearest

        wrong, _, known = message.partition("(choose from ")
        if not known or "'" not in wrong:
            return f"see `{self.prog} --help`"
        return nearest(wrong.split("'")[-2], _words(known.rstrip(")").split(",")))


def _words(listed: Iterable[str]) -> list[str]:
    return [word.strip().strip("'") for word in listed]
