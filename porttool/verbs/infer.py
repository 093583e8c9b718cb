"""`porttool infer OLD NEW`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from porttool.arguments import Parser
from porttool.errors import EXIT_OK, EnvironmentFault, UsageError

if TYPE_CHECKING:
    from porttool.infer import Draft

EXAMPLE = "porttool infer v1.0 main --write manifests/move.yaml"


def arguments(parser: Parser) -> None:
    parser.add_argument("old", metavar="OLD", help="a ref in the old layout")
    parser.add_argument("new", metavar="NEW", help="a ref in the new layout")
    parser.add_argument("--repo", default=".", metavar="PATH", help="the repository of both refs; default: this one")
    parser.add_argument("--write", metavar="FILE", help="write a manifest to start from; FILE must not exist")
    parser.json()


def run(args: argparse.Namespace) -> int:
    from porttool.infer import as_yaml, infer, read_tree
    from porttool.repo import Repository
    from porttool.report import counted
    from porttool.verbs.output import print_json, progress, say

    repository = Repository.open(top_of(Path(args.repo)))
    with progress() as report:
        report("reading both trees")
        trees = [read_tree(repository, repository.resolve(rev)) for rev in (args.old, args.new)]
        report("comparing")
        draft = infer(*trees)
    text = as_yaml(draft)
    if args.write:
        _write(Path(args.write), _manifest(args, text))
        say(f"written: {args.write}")
    if args.json:
        print_json(_json(draft))
        return EXIT_OK
    counts = ", ".join(f"{len(draft.of(kind))} {kind}" for kind in ("path", "module", "symbol", "key", "fragment"))
    print(f"{counted(len(draft.pairs), 'pair')} proven ({counts}); {len(draft.undecided)} left undecided\n")
    print(text, end="")
    return EXIT_OK


def top_of(folder: Path) -> Path:
    """The top of the repository around a folder; the folder itself where there is none."""
    start = folder.resolve()
    if not start.is_dir():
        return folder
    return next((above for above in (start, *start.parents) if (above / ".git").exists()), folder)


def _manifest(args: argparse.Namespace, layout: str) -> str:
    import json

    repo = json.dumps(str(Path(args.repo).resolve()))
    sides = {"source": args.old, "target": args.new}
    ends = [f"{side}: {{repo: {repo}, ref: {json.dumps(rev)}}}" for side, rev in sides.items()]
    return "\n".join(["version: 1", *ends, layout.rstrip("\n"), "commits: []", ""])


def _write(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
    except FileExistsError as error:
        raise UsageError("the file exists already", str(path), "name another: edits in it would be lost") from error
    except OSError as error:
        raise EnvironmentFault(f"cannot write: {error.strerror}", str(path)) from error


def _json(draft: Draft) -> dict[str, Any]:
    def pair(drafted: Any) -> dict[str, Any]:
        told = {name: getattr(drafted, name) for name in ("kind", "old", "new", "count", "confidence", "words")}
        return told | {name: list(getattr(drafted, name)) for name in ("scope", "examples", "against")}

    return {
        "pairs": [pair(drafted) for drafted in draft.pairs],
        "unproven": [pair(drafted) for drafted in draft.unproven],
        "undecided": [
            {"kind": left.kind, "old": list(left.old), "new": list(left.new), "reason": left.reason}
            for left in draft.undecided
        ],
        "roots": list(draft.roots),
    }
