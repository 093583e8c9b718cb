"""`porttool contract [MANIFEST]`."""

from __future__ import annotations

import argparse

from porttool.arguments import Parser

EXAMPLE = "porttool contract --right arctic_rl_share_v0.7.1"


def arguments(parser: Parser) -> None:
    from porttool.verbs import diff_meta

    diff_meta.arguments(parser)


def run(args: argparse.Namespace) -> int:
    from porttool.verbs.diff_meta import compare

    return compare(args, "contract")
