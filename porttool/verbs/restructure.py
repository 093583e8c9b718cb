"""`porttool restructure [MANIFEST]`."""

from __future__ import annotations

import argparse

from porttool.arguments import Parser
from porttool.errors import EXIT_ANSWER_NO, EXIT_OK

EXAMPLE = "porttool restructure manifests/restructure.yaml --dry-run"


def arguments(parser: Parser) -> None:
    parser.manifest()
    parser.add_argument("--dry-run", action="store_true", help="say what would be done; no ref changes")
    parser.branch()
    parser.repositories()
    parser.json()


def run(args: argparse.Namespace) -> int:
    from porttool.report_port import run_json
    from porttool.restructure import restructure
    from porttool.screen_port import movement_screen, run_screen
    from porttool.verbs import choose
    from porttool.verbs.output import print_json, progress, screen

    with progress() as report:
        report("translating the tree, there and back")
        made = restructure(choose.manifest(args), branch=choose.branch(args), dry_run=args.dry_run)
    if args.json:
        movement = made.movement
        told = {name: getattr(movement, name) for name in ("commit", "old_tree", "new_tree", "moved", "rewritten")}
        print_json({"movement": told, **run_json(made.run)})
    else:
        movement_screen(made.movement, screen())
        if made.run.outcomes:
            run_screen(made.run, screen(), dry_run=args.dry_run)
    return EXIT_ANSWER_NO if made.run.conflict else EXIT_OK
