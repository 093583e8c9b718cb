"""`porttool knobs [MANIFEST]`."""

from __future__ import annotations

import argparse

from porttool.arguments import Parser

EXAMPLE = "porttool knobs --scenario zorro --ray auto"


def arguments(parser: Parser) -> None:
    from porttool.verbs import diff_meta

    diff_meta.sides(parser)
    parser.add_argument(
        "--ray", metavar="ADDRESS", help="run the sweep as tasks of a Ray cluster, not on the cores here"
    )
    parser.json()


def run(args: argparse.Namespace) -> int:
    from parity.knobs import swept
    from parity.report_knobs import knobs_json, knobs_screen
    from porttool.verbs.diff_meta import chosen
    from porttool.verbs.output import print_json, progress, screen

    with progress() as report:
        of = chosen(args)
        capturer = None
        if args.ray:
            from parity.probes.on_ray import on_ray
            from porttool.errors import UsageError

            if of.harness.driver:
                raise UsageError("a driver of your own is a file of this machine", args.ray, "leave out --ray")
            report(f"connecting to Ray at {args.ray}")
            capturer = on_ray(args.ray, of.manifest.layout.digest)
        told = swept(of, args.scenario, report, capturer)
    if args.json:
        print_json(knobs_json(told))
    else:
        knobs_screen(told, screen(), of.names)
    return told.verdict.exit_code
