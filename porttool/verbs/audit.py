"""`porttool audit [MANIFEST]`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from porttool.arguments import Parser
from porttool.errors import EXIT_ANSWER_NO, EXIT_OK

if TYPE_CHECKING:
    from porttool.report import Audit

EXAMPLE = "porttool audit manifests/rl_correctness.yaml --markdown pr.md"


def arguments(parser: Parser) -> None:
    parser.manifest()
    parser.branch()
    parser.add_argument("--markdown", metavar="FILE", help="write the text for the pull request here")
    parser.repositories()
    parser.json()


def run(args: argparse.Namespace) -> int:
    from porttool.audit import audit_of
    from porttool.proof import verify
    from porttool.report_json import audit_json
    from porttool.screen import audit_screen
    from porttool.verbs import choose
    from porttool.verbs.output import print_json, progress, screen

    with progress() as report:
        report("proving")
        audit = audit_of(verify(choose.manifest(args), branch=choose.branch(args), by=args.by))
    if args.markdown:
        write_markdown(audit, Path(args.markdown))
    if args.json:
        print_json(audit_json(audit))
    else:
        audit_screen(audit, screen())
    return EXIT_OK if audit.ok else EXIT_ANSWER_NO


def write_markdown(audit: Audit, path: Path) -> None:
    """Write the text for a pull request, and beside it the whole audit where the text had to be shortened."""
    from porttool.report_markdown import markdown
    from porttool.verbs.output import say

    whole = path.with_suffix(".full.md")
    made = markdown(audit, whole.name)
    path.write_text(made.text, encoding="utf-8", errors="surrogateescape")
    say(f"written: {path}")
    if made.overflow is not None:
        whole.write_text(made.overflow, encoding="utf-8", errors="surrogateescape")
        say(f"written: {whole}, the whole audit")
