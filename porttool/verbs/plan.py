"""`porttool plan [MANIFEST]`."""

from __future__ import annotations

import argparse

from porttool.arguments import Parser
from porttool.errors import EXIT_ANSWER_NO, EXIT_OK, LayoutError

EXAMPLE = "porttool plan manifests/rl_correctness.yaml"


def arguments(parser: Parser) -> None:
    parser.manifest()
    parser.branch()
    parser.repositories()
    parser.json()


def run(args: argparse.Namespace) -> int:
    from porttool.leftovers_domain import outside
    from porttool.plan import make_plan, unmatched
    from porttool.plan_census import census
    from porttool.port import Run, apply
    from porttool.restructure import restructure
    from porttool.verbs import choose
    from porttool.verbs.output import print_json, progress, screen

    manifest = choose.manifest(args)
    with progress() as report:
        report("reading the refs")
        plan = make_plan(manifest, by=args.by, branch=choose.branch(args))
        repository = plan.repository
        report("translating both trees, there and back")
        source, target = (repository.entries(repository.commit(tip).tree) for tip in (plan.source_tip, plan.tip))
        culprits = {"source": outside(plan.layout, source, repository)}
        refused = False
        if plan.source_tip == plan.tip and plan.layout.words:
            # Source and target are one commit: what is planned is its restructure, and nothing is in new names yet.
            report("moving in memory")
            try:
                ran = restructure(manifest, branch=choose.branch(args), dry_run=True).run
            except LayoutError:
                ran, refused = Run(plan, (), plan.tip), True
        else:
            culprits["target"] = outside(plan.layout.inverse(), target, repository)
            report("porting in memory")
            ran = apply(manifest, by=args.by, branch=choose.branch(args), dry_run=True, plan=plan)
    matched, counted = unmatched(plan), census(plan)
    if args.json:
        from porttool.report_port import plan_json

        print_json(plan_json(plan, ran, counted, culprits, matched))
    else:
        from porttool.screen_port import plan_screen

        plan_screen(plan, ran, screen(), census=counted, outside=culprits, unmatched=matched)
    clash = any(culprit.kind == "path" for found in culprits.values() for culprit in found)
    return EXIT_ANSWER_NO if ran.conflict or clash or refused else EXIT_OK
