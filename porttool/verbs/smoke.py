"""`porttool smoke [MANIFEST]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from porttool.arguments import Parser
from porttool.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from parity.smoke.launch import Watch
    from parity.smoke.run import Trainer

EXAMPLE = "porttool smoke --scenario plain --steps 6 --seeds 1,2 --out build/smoke"
NOISE = ("none", "delays", "free")


def arguments(parser: Parser) -> None:
    parser.manifest()
    told = "this scenario alone; can be repeated; default: all of parity.convergence"
    parser.add_argument("--scenario", action="append", default=[], metavar="NAME", help=told)
    parser.add_argument("--steps", metavar="N", help="training steps of a run; default: the manifest's")
    parser.add_argument("--seeds", metavar="N,N", help="seeds, each run on both sides; default: the manifest's")
    parser.add_argument("--left", metavar="REF", help="the side in the source's layout; default: source.ref")
    told = "the side in the target's layout; default: target.branch, before a port target.ref"
    parser.add_argument("--right", "--ref", dest="right", metavar="REF", help=told)
    told = "run the target after each ported commit, and name those that open or close a gap"
    parser.add_argument("--by-commit", action="store_true", help=told)
    told = "run the source N times more against its own first run: false alarms, which have to be none"
    parser.add_argument("--aa", metavar="N", help=told)
    told = "run the source N times as the evidence of an envelope, written beside the manifest; refused in CI"
    parser.add_argument("--measure", metavar="N", help=told)
    told = "how requests are ordered: fixed (none), fixed while they are held up at random (delays), or free"
    parser.add_argument("--noise", choices=NOISE, help=told)
    parser.add_argument("--jobs", metavar="N", help="runs at a time; default: one a core, as memory allows")
    parser.add_argument("--fresh", action="store_true", help="run everything, whatever is kept of earlier runs")
    told = "where the page, pictures and tables go; default: build/smoke/<manifest>"
    parser.add_argument("--out", metavar="FOLDER", help=told)
    parser.json()


def run(args: argparse.Namespace) -> int:
    from parity.smoke.run import Asked, Trainer
    from parity.smoke.setting import setting
    from porttool.verbs import choose

    asked = Asked(
        tuple(args.scenario),
        _number(args.steps, "--steps"),
        _seeds(args.seeds),
        args.noise,
        _number(args.jobs, "--jobs"),
        args.fresh,
    )
    aa, measure = _number(args.aa, "--aa"), _number(args.measure, "--measure")
    modes = [name for name, on in (("--by-commit", args.by_commit), ("--aa", aa), ("--measure", measure)) if on]
    if len(modes) > 1:
        raise UsageError(f"{modes[0]} and {modes[1]} are two questions", "porttool smoke", "ask one at a time")
    left, right = (
        choose.checked("rev", text, option) if text else ""
        for text, option in ((args.left, "--left"), (args.right, "--right"))
    )
    trainer = Trainer(setting(choose.manifest(args), left, right), asked)
    if aa:
        return _alike(trainer, aa, args)
    if measure:
        return _measure(trainer, measure, args)
    return _smoke(trainer, args)


def _smoke(trainer: Trainer, args: argparse.Namespace) -> int:
    """Both sides compared; the page, pictures and tables; and by commit where it is asked for."""
    from parity.smoke.as_json import smoke_json
    from parity.smoke.by_commit import by_commit, caused, stops
    from parity.smoke.by_commit_screen import screen as walks_screen
    from parity.smoke.page import write
    from parity.smoke.run import smoke
    from parity.smoke.terminal import terminal
    from parity.verdict import overall
    from porttool.verbs.output import print_json, say, screen

    manifest = trainer.of.manifest
    folder = Path(args.out) if args.out else manifest.root / "build" / "smoke" / manifest.path.stem
    if args.by_commit:
        stops(trainer)  # where there is nothing to walk, nothing is trained
    with _watching() as watch:
        told = smoke(trainer, watch)
        walks = by_commit(trainer, watch) if args.by_commit else []
    told = caused(told, walks)
    files = write(told, folder)
    verdict = overall([one.verdict for one in told])
    if args.json:
        print_json(smoke_json(told, walks, files))
    else:
        terminal(told, screen())
        walks_screen(walks, screen())
        say(f"written: {', '.join(map(str, files))}")
    return verdict.exit_code


def _alike(trainer: Trainer, count: int, args: argparse.Namespace) -> int:
    """Runs of the source against its own first run."""
    from parity.smoke.as_json import alike_json
    from parity.smoke.run import alike
    from parity.verdict import overall
    from porttool.verbs.output import answer, print_json

    with _watching() as watch:
        told = alike(trainer, count, watch)
    verdict = overall([one.verdict for one in told])
    if args.json:
        print_json(alike_json(told))
    else:
        for one in told:
            answer(f"{one.verdict.value}  {one.scenario}: {one.reason}")
    return verdict.exit_code


def _measure(trainer: Trainer, count: int, args: argparse.Namespace) -> int:
    """The evidence of an envelope."""
    from parity.smoke.as_json import measured_json
    from parity.smoke.run import measure
    from porttool.verbs.output import answer, print_json

    with _watching() as watch:
        written = measure(trainer, count, watch)
    if args.json:
        print_json(measured_json(written))
    else:
        for file, evidence in written.items():
            steps = f"{evidence.steps} steps, seeds {', '.join(map(str, evidence.seeds))}"
            answer(f"{evidence.scenario}: {len(evidence.runs)} runs of {steps}: {file}")
    return EXIT_OK


@contextmanager
def _watching() -> Iterator[Watch]:
    """Bars on a terminal, lines elsewhere; answers are printed when they are gone."""
    from parity.smoke.watch import watching
    from porttool.verbs.output import colour, say

    if not sys.stderr.isatty():
        with watching(None, say) as watch:
            yield watch
        return
    from rich.console import Console

    with watching(Console(stderr=True, no_color=not colour(sys.stderr), highlight=False, markup=False), say) as watch:
        yield watch


def _number(text: str | None, option: str) -> int:
    if text is None:
        return 0
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"{option} is {text!r}, which is not a whole number above 0", "porttool smoke")
    return int(text)


def _seeds(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    words = text.split(",")
    if not all(word.isdecimal() for word in words) or len(set(words)) < len(words):
        hint = "write --seeds 1,2,3"
        raise UsageError(f"--seeds is {text!r}, which is no list of different whole numbers", "porttool smoke", hint)
    return tuple(map(int, words))
