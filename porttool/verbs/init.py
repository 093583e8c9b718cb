"""`porttool init`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from porttool.arguments import Parser
from porttool.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from porttool.init import Beginning
    from porttool.repo import Repository

EXAMPLE = "porttool init --source fixes --target relayout --write"


def arguments(parser: Parser) -> None:
    told = "the branch with the commits to port; default: the one that is checked out"
    parser.add_argument("--source", metavar="REF", help=told)
    told = "the branch in the other layout; default: the only other local branch with commits of its own"
    parser.add_argument("--target", metavar="REF", help=told)
    parser.add_argument("--repo", default=".", metavar="PATH", help="the repository of both refs; default: this one")
    parser.add_argument("--driver", action="store_true", help="also the skeleton of a parity driver")
    told = "write manifests/NAME.yaml and the entry in pyproject.toml; default: print the manifest"
    parser.add_argument("--write", action="store_true", help=told)
    parser.add_argument("--force", action="store_true", help="with --write: replace files that init writes")
    parser.json()


def run(args: argparse.Namespace) -> int:
    from porttool import init, init_files
    from porttool.infer import read_tree
    from porttool.repo import Repository
    from porttool.verbs.infer import top_of
    from porttool.verbs.output import print_json, progress, say

    repository = Repository.open(top_of(Path(args.repo)))
    source, target = _refs(args, repository)
    top = _project(Path.cwd())
    name = init.name_of(source)
    manifest = top / "manifests" / f"{name}.yaml"
    driver = manifest.with_name(f"{name.replace('-', '_').replace('.', '_')}_driver.py")
    # A layout that somebody corrected is not drafted anew for want of a driver.
    stays = args.driver and args.write and manifest.exists() and not args.force
    _refuse_to_overwrite(args, [*([] if stays else [manifest]), *([driver] if args.driver else [])])
    with progress() as report:
        of = init.begin(repository, source, target, report)
    files, parity = {}, ""
    if args.driver:
        from porttool.init_driver import SKELETON, parity_text

        parity = parity_text(of.draft, read_tree(repository, of.compared), driver.name)
        files[driver] = SKELETON
    inside = manifest.parent.is_relative_to(repository.root)
    own = f"{manifest.parent.relative_to(repository.root).as_posix()}/" if inside else ""
    files[manifest] = init.manifest_text(of, _written(repository.root, top), name, parity, own)
    _check(files[manifest], manifest)
    pyproject = top / "pyproject.toml"
    before = pyproject.read_bytes().decode("utf-8", "surrogateescape") if pyproject.is_file() else ""
    after = init_files.with_manifest(before, manifest.relative_to(top).as_posix(), str(pyproject))
    files |= {pyproject: after} if after != before else {}
    if stays:
        files = {driver: files[driver]}
    if args.write:
        init_files.write(files)
    shown = [_shown(file) for file in files]
    if args.json:
        print_json({**_json(of), "files": shown, "written": args.write})
        return EXIT_OK
    if not args.write:
        print(files[manifest], end="")
        say(f"nothing is written: --write makes {', '.join(shown)}")
        return EXIT_OK
    if stays:
        print(f"written: {shown[0]}; {_shown(manifest)} stays as it is, add to it:\n{parity}", end="")
        return EXIT_OK
    _told(of, shown)
    others = init_files.named(after) not in ("", manifest.relative_to(top).as_posix())
    _next(_shown(manifest) if others else "", args.driver)
    return EXIT_OK


def _refs(args: argparse.Namespace, repository: Repository) -> tuple[str, str]:
    """Both refs, as named or as the branches of the repository leave no doubt."""
    from porttool.init import branches
    from porttool.verbs.choose import checked

    here = branches(repository)
    source = checked("rev", args.source, "--source") if args.source else next(iter(here), "")
    if not source:
        raise UsageError("no branch is checked out", str(repository.root), "name it: --source REF")
    if args.target:
        return source, checked("rev", args.target, "--target")
    # A branch that the source builds on has its layout.
    tip = repository.resolve(source)
    others = [branch for branch in here if not repository.is_ancestor(repository.resolve(branch), tip)]
    if len(others) != 1:
        told = f"there are {len(others)}: {', '.join(others[:6])}" if others else "no branch has commits of its own"
        raise UsageError(f"no target is named, and {told}", str(repository.root), "name it: --target REF")
    return source, others[0]


def _project(folder: Path) -> Path:
    """The top of the project: where pyproject.toml, manifests/ or .git stands."""
    signs = ("pyproject.toml", "manifests", ".git")
    return next(
        (above for above in (folder, *folder.parents) if any((above / sign).exists() for sign in signs)), folder
    )


def _written(repository: Path, top: Path) -> str:
    """The repository as the manifest names it: from the project's top where it lies below it."""
    place, top = repository.resolve(), top.resolve()
    return place.relative_to(top).as_posix() if place.is_relative_to(top) else str(place)


def _refuse_to_overwrite(args: argparse.Namespace, files: list[Path]) -> None:
    there = [file for file in files if file.exists()]
    if args.write and there and not args.force:
        hint = "edits in it would be lost: move it, or write it anew with --force"
        raise UsageError("the file exists already", _shown(there[0]), hint)


def _check(text: str, manifest: Path) -> None:
    """What is written can be read: a draft that is no manifest is our fault, told before anything is written."""
    from tempfile import TemporaryDirectory

    from porttool.manifest import load

    with TemporaryDirectory() as folder:
        file = Path(folder) / manifest.name
        file.write_text(text, encoding="utf-8", errors="surrogateescape")
        load(file)


def _shown(file: Path) -> str:
    relative = os.path.relpath(file)
    return str(file) if relative.startswith("..") else relative


def _json(of: Beginning) -> dict[str, object]:
    return {
        "source": of.source,
        "target": of.target,
        "base": of.base,
        "compared": of.compared,
        "pairs": [{"kind": pair.kind, "old": pair.old, "new": pair.new} for pair in of.draft.pairs],
        "undecided": _open_ends(of),
        "commits": [{"commit": commit.oid, "subject": commit.subject} for commit in of.picks],
    }


def _open_ends(of: Beginning) -> int:
    """How many comments of the layout ask for a decision."""
    return len(of.draft.undecided) + len(of.draft.unproven) + len(of.homeless)


def _told(of: Beginning, shown: list[str]) -> None:
    from porttool.verbs.output import answer

    kinds = ((len(of.draft.of(kind)), kind) for kind in ("path", "module", "symbol", "key", "fragment"))
    told = ", ".join(f"{number} {kind}{'s' * (number != 1)}" for number, kind in kinds if number) or "no names differ"
    open_ends = _open_ends(of)
    answer(f"written: {', '.join(shown)}")
    answer(f"layout: {told}" + (f"; {open_ends} left to you, as comments" if open_ends else ""))
    answer(f"commits: {len(of.picks)} of {of.source}" + (f" since {of.base[:12]}" if of.base else ""))


def _next(manifest: str, driver: bool) -> None:
    from porttool.verbs.output import answer

    what = {
        "plan": "what would be ported, and what the layout cannot undo",
        "apply": "make the branch",
        **({"diff-meta": "run both sides and compare"} if driver else {"verify": "prove it: nothing but the layout"}),
    }
    lines = [f"porttool {verb} {manifest}".rstrip() for verb in what]
    width = max(map(len, lines))
    answer("next:")
    for line, told in zip(lines, what.values(), strict=True):
        answer(f"  {line:<{width}}  # {told}")
