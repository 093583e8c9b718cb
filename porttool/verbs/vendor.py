"""`porttool vendor sync|verify`."""

from __future__ import annotations

import argparse
from pathlib import Path

from porttool.arguments import Parser
from porttool.errors import EXIT_ANSWER_NO, EXIT_OK

EXAMPLE = "porttool vendor sync verl"


def arguments(parser: Parser) -> None:
    sync = parser.step("sync", "fetch pinned packages and build their repositories", "porttool vendor sync verl")
    verify = parser.step("verify", "say what is not as pinned", "porttool vendor verify")
    for step in (sync, verify):
        step.add_argument("names", nargs="*", metavar="NAME", help="pins to work on; default: all")
        step.json()


def run(args: argparse.Namespace) -> int:
    from porttool.verbs.choose import project_folder

    root = project_folder(Path.cwd())
    return _sync(args, root) if args.step == "sync" else _verify(args, root)


def _sync(args: argparse.Namespace, root: Path) -> int:
    from porttool.report import counted
    from porttool.vendor import sync
    from porttool.verbs.output import print_json, progress

    with progress() as report:
        synced = sync(tuple(args.names), root=root, progress=report)
    if args.json:
        told = [{"name": s.name, "folder": str(s.folder), "refs": dict(s.refs), "built": s.built} for s in synced]
        print_json({"synced": told})
        return EXIT_OK
    built = sum(s.built for s in synced)
    print(f"{counted(len(synced), 'repository')} as pinned: {built} built, {len(synced) - built} were right already")
    for found in synced:
        print(f"\n{found.name}  {found.folder}")
        for ref, oid in found.refs.items():
            print(f"  {oid[:12]}  {ref.removeprefix('refs/heads/').removeprefix('refs/')}")
    return EXIT_OK


def _verify(args: argparse.Namespace, root: Path) -> int:
    from porttool.report import counted
    from porttool.vendor_verify import verify
    from porttool.verbs.output import print_json

    problems = verify(tuple(args.names), root=root)
    if args.json:
        told = [{"pin": p.pin, "message": p.message, "where": p.where, "hint": p.hint} for p in problems]
        print_json({"verdict": "differs" if problems else "as pinned", "problems": told})
    elif problems:
        print(f"not as pinned: {counted(len(problems), 'problem')}")
        for problem in problems:
            print(f"\n{problem}")
    else:
        print("everything is as pinned")
    return EXIT_ANSWER_NO if problems else EXIT_OK
