"""`porttool back [MANIFEST] [RANGE]`."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from porttool.arguments import Parser
from porttool.errors import UsageError

if TYPE_CHECKING:
    from porttool.manifest import Manifest

EXAMPLE = "porttool back manifests/rl_correctness.yaml port/rl_correctness~1..port/rl_correctness"


def arguments(parser: Parser) -> None:
    parser.manifest()
    parser.add_argument("range", nargs="?", metavar="RANGE", help="target commits a..b; default: the port branch")
    parser.resume()
    parser.branch("the branch to make; default: back/ and source.ref of the manifest")
    parser.repositories()
    parser.json()


def run(args: argparse.Namespace) -> int:
    from porttool.verbs import choose
    from porttool.verbs.apply import carry

    if args.manifest and ".." in args.manifest and not args.range and not args.manifest.endswith((".yaml", ".yml")):
        args.manifest, args.range = None, args.manifest
    if args.by != "pick":
        raise UsageError("--by upstream has no meaning on the way back", "porttool back", "name commits as a RANGE")
    wanted = choose.checked("range", args.range, "RANGE") if args.range else ""
    return carry(args, turned(choose.manifest(args), wanted), "", "back")


def turned(manifest: Manifest, wanted: str) -> Manifest:
    """The manifest of the way back: the sides change places, the layout is undone, the commits are a range."""
    from porttool.manifest import Range, Source, Target

    there = manifest.target.branch or manifest.target.ref
    commits = (Range(wanted or f"{_start(manifest)}..{there}", where=f"{manifest.path}: the way back"),)
    return replace(
        manifest,
        source=Source(manifest.target.repo, there),
        target=Target(manifest.source.repo, manifest.source.ref, f"back/{manifest.source.ref}"),
        layout=manifest.layout.inverse(),
        protected=(),
        skip={},
        commits=commits,
    )


def _start(manifest: Manifest) -> str:
    """What the commits to carry back come after. Movement has no way back: undoing the layout undoes it."""
    from porttool.plan import make_plan
    from porttool.proof_movement import movement_on

    if not manifest.target.branch:
        return manifest.target.ref
    return movement_on(make_plan(replace(manifest, commits=(), skip={}))) or manifest.target.ref
