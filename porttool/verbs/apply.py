"""`porttool apply [MANIFEST]`."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING

from porttool.arguments import Parser
from porttool.errors import EXIT_ANSWER_NO, EXIT_OK

if TYPE_CHECKING:
    from porttool.manifest import Manifest

EXAMPLE = "porttool apply manifests/rl_correctness.yaml --dry-run"


def arguments(parser: Parser) -> None:
    parser.manifest()
    parser.resume()
    parser.branch()
    parser.repositories()
    parser.json()


def run(args: argparse.Namespace) -> int:
    from porttool.verbs import choose

    return carry(args, choose.manifest(args), "next: porttool verify, then porttool audit")


def carry(args: argparse.Namespace, manifest: Manifest, advice: str, verb: str = "apply") -> int:
    """Port by a manifest, or go on with, skip or give up a stopped port; `advice` follows a success."""
    from porttool import port
    from porttool.manifest import is_url
    from porttool.verbs import choose
    from porttool.verbs.output import print_json, progress, say, screen

    branch = choose.branch(args)
    if args.abort:
        was = port.abort(manifest, branch=branch)
        told = "given up; every ref is as it was" if was else "no port was waiting"
        print_json({"verdict": "aborted" if was else "nothing to abort"}) if args.json else print(told)
        return EXIT_OK
    with progress() as report:
        report("porting")
        if getattr(args, "continue"):
            ran = port.resume(manifest, by=args.by, branch=branch, reason=args.reason)
        elif args.skip:
            ran = port.skip(manifest, by=args.by, branch=branch)
        else:
            ran = port.apply(manifest, by=args.by, branch=branch, dry_run=args.dry_run)
    if args.json:
        from porttool.report_port import run_json

        print_json(run_json(ran))
    else:
        from porttool.screen_port import run_screen

        run_screen(ran, screen(), dry_run=args.dry_run, again=_again(args, verb))
        if ran.moved and is_url(manifest.target.repo):
            where, name = str(ran.plan.repository.root), ran.plan.ref.removeprefix("refs/heads/")
            say(f"to publish it: {shlex.join(['git', '-C', where, 'push', manifest.target.repo, name])}")
        if ran.moved and advice:
            say(advice)
    return EXIT_ANSWER_NO if ran.conflict else EXIT_OK


def _again(args: argparse.Namespace, verb: str) -> str:
    """The same command without its step, so that what follows a conflict can be typed as it is told."""
    words = ["porttool", verb, *(word for word in (args.manifest, getattr(args, "range", None)) if word)]
    for option in ("branch", "source_repo", "target_repo"):
        if given := getattr(args, option):
            words.append(f"--{option.replace('_', '-')}={given}")
    return shlex.join([*words, *(["--by=upstream"] if args.by == "upstream" else [])])
