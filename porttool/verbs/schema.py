"""`porttool schema`."""

from __future__ import annotations

import argparse

from porttool.arguments import Parser
from porttool.errors import EXIT_OK

EXAMPLE = "porttool schema > porttool.schema.json"


def arguments(parser: Parser) -> None:
    parser.json()
    parser.add_argument("--markdown", action="store_true", help="the reference of every key, as Markdown tables")


def run(args: argparse.Namespace) -> int:
    if args.markdown:
        from porttool.schema_reference import reference

        print(reference(), end="")
        return EXIT_OK
    from porttool.schema import json_schema
    from porttool.verbs.output import print_json

    print_json(json_schema())
    return EXIT_OK
