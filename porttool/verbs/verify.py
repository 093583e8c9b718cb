"""`porttool verify [MANIFEST]`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from porttool.arguments import Parser
from porttool.errors import EXIT_ANSWER_NO, EXIT_OK

if TYPE_CHECKING:
    from porttool.plan import Plan
    from porttool.status import Status

EXAMPLE = "porttool verify manifests/rl_correctness.yaml --json"


def arguments(parser: Parser) -> None:
    parser.manifest()
    parser.branch()
    parser.add_argument("--landed", metavar="REF", help="compare with the branch the port was merged into")
    parser.repositories()
    parser.json()


def run(args: argparse.Namespace) -> int:
    from porttool.audit import audit_of
    from porttool.proof import verify
    from porttool.report_json import verify_json
    from porttool.report_status import status_json
    from porttool.screen import verify_screen
    from porttool.screen_status import landed_screen
    from porttool.verbs import choose
    from porttool.verbs.output import print_json, progress, screen

    with progress() as report:
        report("proving")
        proof = verify(choose.manifest(args), branch=choose.branch(args), by=args.by)
        landing = _landed(proof.plan, choose.checked("rev", args.landed, "--landed")) if args.landed else None
    audit = audit_of(proof)
    arrived = landing is None or not (landing.unported or landing.lost_authors)
    if args.json:
        told = verify_json(audit)
        print_json(told | {"landed": status_json(landing)} if landing else told)
    else:
        verify_screen(audit, screen())
        if landing:
            landed_screen(landing, args.landed, screen())
    return EXIT_OK if audit.ok and arrived else EXIT_ANSWER_NO


def _landed(plan: Plan, rev: str) -> Status:
    """How the commits of the port branch arrived on another branch of the target."""
    from porttool.status import landed

    repository = plan.repository
    port, landing = (repository.history([oid], [plan.tip]) for oid in (plan.was or plan.tip, repository.resolve(rev)))
    return landed(repository, port, landing)
