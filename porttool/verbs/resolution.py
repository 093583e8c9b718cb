"""`porttool resolution add|list|show|drop`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from porttool.arguments import Parser
from porttool.errors import EXIT_OK, PortError, UsageError

if TYPE_CHECKING:
    from porttool.manifest import Manifest
    from porttool.resolutions import Resolution

EXAMPLE = "porttool resolution list --manifest manifests/rl_correctness.yaml"


def arguments(parser: Parser) -> None:
    add = parser.step(
        "add", "record how one path of the commit in conflict is resolved",
        "porttool resolution add --path verl/a.py --file a.py --reason 'the new worker has no forwarder'",
    )  # fmt: skip
    add.add_argument("--path", required=True, metavar="PATH", help="the path in conflict, in target names")
    content = add.add_mutually_exclusive_group(required=True)
    content.add_argument("--file", metavar="FILE", help="a file with the resolved content")
    content.add_argument("--delete", action="store_true", help="the resolution is that the path goes away")
    add.add_argument("--reason", required=True, metavar="TEXT", help="why; the audit shows it")
    add.add_argument("--author", default="", metavar="'NAME <MAIL>'", help="who decided; default: git's user")
    add.add_argument("--branch", metavar="NAME", help="the port branch; default: target.branch of the manifest")
    add.repositories()
    listing = parser.step("list", "every recorded resolution", "porttool resolution list")
    told = "who decided it and why, what it changes beyond the port, and the content it gives"
    show = parser.step("show", told, "porttool resolution show 1f2e3d")
    drop = parser.step("drop", "forget a resolution", "porttool resolution drop 1f2e3d")
    for step in (show, drop):
        step.add_argument("id", metavar="ID", help="its id, or the beginning of it")
    for step in (add, listing, show, drop):
        step.add_argument("--manifest", metavar="MANIFEST", help="default: the project's manifest")
        step.json()


def run(args: argparse.Namespace) -> int:
    from porttool import resolutions
    from porttool.verbs import choose
    from porttool.verbs.output import answer, print_json

    manifest = choose.manifest(args)
    folder = manifest.resolutions
    match args.step:
        case "list":
            return _list(args, resolutions.recorded(folder), folder)
        case "show":
            return _show(args, manifest)
        case "drop":
            found = resolutions.drop(folder, args.id)
        case _:
            found = _add(args, manifest)
    if args.json:
        print_json(_json(found))
        return EXIT_OK
    done = {"add": "recorded", "drop": "dropped"}.get(args.step)
    answer(f"{done} {_line(found)}" if done else _line(found))
    return EXIT_OK


def _show(args: argparse.Namespace, manifest: Manifest) -> int:
    """Who, why, what it changes beyond the port, and the content it gives."""
    from porttool import resolutions
    from porttool.screen import indented
    from porttool.verbs.output import answer, print_json

    found, content = resolutions.show(manifest.resolutions, args.id)
    beyond, fault = _delta(manifest, found)
    if args.json:
        told = None if content is None else content.decode("utf-8", "backslashreplace")
        print_json(_json(found) | {"delta": beyond, "stale": fault or None, "content": told})
        return EXIT_OK
    answer(f"resolution {found.id} of {found.path}{'' if found.result else ' (deleted)'}")
    answer(f"source   {found.source}")
    answer(f"author   {found.author}")
    answer(f"reason   {found.reason}")
    answer("")
    answer(f"Beyond the port: {fault}" if fault else "Beyond the port")
    for line in indented(beyond) if not fault else [""]:
        answer(line)
    sys.stdout.flush()
    sys.stdout.buffer.write(b"the path goes away\n" if content is None else b"\nContent\n" + content)
    return EXIT_OK


def _delta(manifest: Manifest, found: Resolution) -> tuple[list[str], str]:
    """What a resolution changes beyond the port; or why that cannot be told."""
    from porttool.port import apply
    from porttool.resolutions_delta import delta

    try:
        run = apply(manifest, dry_run=True)
    except PortError as error:
        return [], error.message
    repository = run.plan.repository
    gone = [side.oid for side in found.sides if side is not None and not repository.has(side.oid)]
    if gone:
        return [], f"a side of it is not made by this port ({gone[0][:12]})"
    return list(delta(repository, found)), ""


def _list(args: argparse.Namespace, found: tuple[Resolution, ...], folder: Path) -> int:
    from porttool.report import counted
    from porttool.verbs.output import answer, print_json

    if args.json:
        print_json({"resolutions": [_json(resolution) for resolution in found]})
        return EXIT_OK
    answer(f"{counted(len(found), 'resolution')} in {folder}")
    for resolution in found:
        answer(_line(resolution))
    return EXIT_OK


def _add(args: argparse.Namespace, manifest: Manifest) -> Resolution:
    from porttool.port import apply
    from porttool.repo import MODE_FILE, Entry
    from porttool.resolutions import add
    from porttool.verbs import choose

    run = apply(manifest, by=args.by, branch=choose.branch(args), dry_run=True)
    stop = run.conflict
    if stop is None:
        raise UsageError("no commit is in conflict", str(manifest.path), "there is nothing to resolve")
    paths = [found.path for found in stop.conflicts]
    if args.path not in paths:
        hint = f"in conflict: {', '.join(paths)}"
        raise UsageError(f"{args.path!r} is not in conflict in {stop.source[:12]}", str(manifest.path), hint)
    sides = stop.sides(args.path)
    content = b"" if args.delete else _content(Path(args.file))
    before = sides.ours or sides.theirs
    mode = before.mode if before else MODE_FILE
    result = None if args.delete else Entry(mode, run.plan.repository.write(content))
    return add(
        manifest.resolutions, source=stop.source, path=args.path, sides=sides, result=result, content=content,
        author=args.author or run.plan.repository.identity() or "unknown", reason=args.reason,
    )  # fmt: skip


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read the resolved content: {error.strerror}", str(path)) from error


def _line(found: Resolution) -> str:
    told = "" if found.result else "  (deleted)"
    return f"{found.id}  {found.source[:12]}  {found.path}{told}  {found.author}: {found.reason}"


def _json(found: Resolution) -> dict[str, Any]:
    from porttool.resolutions import entry_text

    sides = {name: entry_text(side) for name, side in zip(found.sides._fields, found.sides, strict=True)}
    return {
        "id": found.id,
        "source": found.source,
        "path": found.path,
        **sides,
        "result": entry_text(found.result),
        "author": found.author,
        "reason": found.reason,
        "file": str(found.file),
    }
