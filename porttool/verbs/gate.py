"""`porttool gate [MANIFEST]`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from porttool.arguments import Parser
from porttool.errors import PortError, UsageError

if TYPE_CHECKING:
    from parity.gate.result import Gate
    from parity.gate.tiers import Asked

EXAMPLE = "porttool gate --tier static --junit build/gate.xml --sarif build/gate.sarif --markdown build/gate.md"
TIERS = ("static", "smoke", "all")
REPORTS = ("junit", "sarif", "markdown", "html")


def arguments(parser: Parser) -> None:
    parser.manifest()
    told = "static: guard, proof and static parity; smoke: training runs too; all: every knob as well; default: static"
    parser.add_argument("--tier", choices=TIERS, default="static", help=told)
    parser.add_argument("--left", metavar="REF", help="the side in the source's layout; default: source.ref")
    told = "the side in the target's layout; default: target.branch, before a port target.ref"
    parser.add_argument("--right", metavar="REF", help=told)
    told = "what the pull request goes to, for the guard; default: what the CI system says"
    parser.add_argument("--base", metavar="REF", help=told)
    told = "what still differs after each ported commit, and which one closes or opens it"
    parser.add_argument("--by-commit", action="store_true", help=told)
    parser.add_argument("--fail-fast", action="store_true", help="stop at the first stage that does not match")
    for name in REPORTS:
        parser.add_argument(f"--{name}", metavar="FILE", help=f"write the report there too, as {_KINDS[name]}")
    parser.add_argument("--jobs", metavar="N", help="captures at the same time; default: one a core")
    parser.json()


_KINDS = {"junit": "JUnit XML", "sarif": "SARIF 2.1.0", "markdown": "Markdown for a comment", "html": "one page"}


def run(args: argparse.Namespace) -> int:
    from parity.gate.as_json import gate_json
    from parity.gate.screen import gate_screen
    from parity.gate.write import written
    from porttool.verbs.output import print_json, say, screen

    files = _files(args)
    gate = _gated(args, files)
    if args.json:
        print_json(gate_json(gate))
    else:
        gate_screen(gate, screen())
    if files:
        say(f"written: {', '.join(map(str, written(gate, files)))}")
    return gate.verdict.exit_code


def _files(args: argparse.Namespace) -> dict[str, Path]:
    """Where each report goes. Raises UsageError where two go to one file: only the later one would be there."""
    files = {name: Path(told) for name in REPORTS if (told := getattr(args, name))}
    named: dict[str, str] = {}
    for name, file in files.items():
        other = named.setdefault(os.path.realpath(file), name)
        if other != name:
            raise UsageError(f"--{other} and --{name} name the same file", str(file), "give each report its own file")
    return files


def _gated(args: argparse.Namespace, files: Mapping[str, Path]) -> Gate:
    """The whole run. Whoever waits for the reports gets them, whatever ends it early."""
    from parity.gate.result import Gate
    from parity.gate.tiers import Run
    from parity.gate.write import written
    from porttool.verbs.output import progress

    try:
        asked = _asked(args)
    except PortError as error:
        name = Path(args.manifest).name if args.manifest else "manifest"
        written(Gate((args.left or "source", args.right or "target"), name, fault=error.message), files)
        raise
    # CI cancels a job by SIGTERM: workers are ended and reports written, as for Ctrl-C.
    with progress() as report, as_interrupt(signal.SIGTERM):
        run = Run(asked, report)
        gate = None
        try:
            gate = run.run()
        finally:
            ended = sys.exc_info()[1]
            if gate is None and ended is not None:
                written(run.stopped(ended), files)
    return gate


@contextmanager
def as_interrupt(number: int) -> Iterator[None]:
    """A signal is answered as Ctrl-C is."""
    before = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def _asked(args: argparse.Namespace) -> Asked:
    from parity.gate.tiers import Asked
    from porttool.verbs import choose

    left, right, base = (
        choose.checked("rev", text, option) if text else ""
        for text, option in ((args.left, "--left"), (args.right, "--right"), (args.base, "--base"))
    )
    jobs = _jobs(args.jobs)
    return Asked(choose.manifest(args), args.tier, left, right, base, args.by_commit, args.fail_fast, jobs)


def _jobs(text: str | None) -> int:
    if text is None:
        return os.cpu_count() or 1
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"--jobs is {text!r}, which is not a whole number above 0", "porttool gate")
    return int(text)
