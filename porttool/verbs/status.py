"""`porttool status [MANIFEST]`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from porttool.arguments import Parser
from porttool.errors import EXIT_OK, PortError

if TYPE_CHECKING:
    from porttool.plan import Plan
    from porttool.status import Status

EXAMPLE = "porttool status manifests/rl_correctness.yaml"


def arguments(parser: Parser) -> None:
    parser.manifest()
    parser.branch()
    parser.repositories()
    parser.json()


def run(args: argparse.Namespace) -> int:
    from porttool.plan import make_plan
    from porttool.report_status import status_json
    from porttool.screen_status import status_screen
    from porttool.verbs import choose
    from porttool.verbs.output import print_json, progress, screen

    with progress() as report:
        report("pairing commits")
        found = paired(make_plan(choose.manifest(args), by=args.by, branch=choose.branch(args)))
    if args.json:
        print_json(status_json(found))
    else:
        status_screen(found, screen())
    return EXIT_OK


def paired(plan: Plan) -> Status:
    """The commits that each side has alone, paired; the target side is the port branch, or its start before a port."""
    from porttool.resolutions import recorded
    from porttool.status import status
    from porttool.translate import Translator

    repository = plan.repository
    there = plan.was or plan.tip
    base = repository.merge_base(plan.source_tip, there)
    below = [base] if base else []
    resolved = {resolution.source for resolution in recorded(plan.manifest.resolutions)}
    adapted = {source for step in plan.steps if step.adapted for source in step.sources}
    skipped = {repository.resolve(rev, plan.remote) for rev in plan.manifest.skip}
    return status(
        repository,
        repository.history([plan.source_tip], below),
        repository.history([there], below),
        Translator(plan.layout, repository),
        listed=[source for step in plan.steps for source in step.sources],
        patches=_patches(plan),
        skipped=skipped,
        declared=resolved | adapted,
    )


def _patches(plan: Plan) -> dict[str, str]:
    """The patch files of the manifest by name, each with the commit it makes in memory, where it can be made."""
    from dataclasses import replace

    from porttool.port import apply
    from porttool.proof_movement import movement_on

    if not any(step.patch for step in plan.steps):
        return {}
    try:
        run = apply(plan.manifest, dry_run=True, plan=replace(plan, tip=movement_on(plan) or plan.tip))
    except PortError:
        return {}
    return {applied.step.patch.name: applied.commit for applied in run.applied if applied.step.patch}
