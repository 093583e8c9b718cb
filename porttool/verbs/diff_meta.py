"""`porttool diff-meta [MANIFEST]`; `diff-config` and `contract` are the same with other probes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from porttool.arguments import Parser
from porttool.errors import EXIT_ANSWER_NO

if TYPE_CHECKING:
    from parity.probes.run import Setting

EXAMPLE = "porttool diff-meta --scenario zorro --right port/rl_correctness"


def arguments(parser: Parser) -> None:
    sides(parser)
    parser.add_argument("--shared", action="store_true", help="list what both sides have alike, each with its cause")
    parser.add_argument("--update", action="store_true", help="write the captures beside the manifest; refused in CI")
    parser.json()


def sides(parser: Parser) -> None:
    """Which scenarios of which refs."""
    parser.manifest()
    told = "this scenario alone; can be repeated; default: all of the manifest"
    parser.add_argument("--scenario", action="append", default=[], metavar="NAME", help=told)
    parser.add_argument("--left", metavar="REF", help="the side in the source's layout; default: source.ref")
    told = "the side in the target's layout; default: target.branch, before a port target.ref"
    parser.add_argument("--right", metavar="REF", help=told)


def run(args: argparse.Namespace) -> int:
    return compare(args, "diff-meta")


def compare(args: argparse.Namespace, verb: str) -> int:
    """Compare the probes of a verb on the chosen scenarios and print what came out."""
    from parity.probes.pairs import worst
    from parity.probes.run import compared
    from parity.report import screen as pairs_screen
    from parity.report_json import pairs_json
    from parity.store import refuse_in_ci
    from parity.verdict import Verdict
    from porttool.verbs.output import print_json, progress, screen

    if args.update:
        refuse_in_ci()
    with progress() as report:
        of = chosen(args)
        pairs, stored = compared(of, verb, args.scenario, report, update=args.update)
    if args.json:
        print_json(pairs_json(pairs, stored))
    else:
        pairs_screen(pairs, screen(), stored=stored, names=of.names, shared=args.shared)
    answer = worst(pairs)
    moved = any(held.judged.verdict is Verdict.DIFFER for held in stored)
    return answer.exit_code or (EXIT_ANSWER_NO if moved else 0)


def chosen(args: argparse.Namespace) -> Setting:
    """The harness and the sides named on the command line."""
    from parity.probes.run import setting
    from porttool.verbs import choose

    left, right = (
        choose.checked("rev", text, option) if text else ""
        for text, option in ((args.left, "--left"), (args.right, "--right"))
    )
    return setting(choose.manifest(args), left, right)
