"""`porttool completion bash|zsh|fish|words`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from porttool.arguments import Parser
from porttool.completion import ASKED, PINS, REFS, RESOLUTIONS, TRAININGS
from porttool.errors import EXIT_OK, UsageError

EXAMPLE = "porttool completion bash"

_WHERE = {
    "bash": "in ~/.bashrc: eval \"$(porttool completion bash)\"",
    "zsh": "into a folder of $fpath, as _porttool",
    "fish": "into ~/.config/fish/completions/porttool.fish",
}  # fmt: skip


def arguments(parser: Parser) -> None:
    for shell, where in _WHERE.items():
        step = parser.step(shell, f"the script for {shell}; {where}", f"porttool completion {shell}")
        step.json()
    words = parser.step("words", "what the scripts ask for, one a line", "porttool completion words refs")
    words.add_argument("what", choices=ASKED, help="refs, and what a manifest names; pins, recorded resolutions")
    words.add_argument("--manifest", metavar="MANIFEST", help="default: the project's manifest")
    words.json()


def run(args: argparse.Namespace) -> int:
    from porttool.verbs.output import answer, print_json

    if args.step != "words":
        script = _script(args.step)
        if args.json:
            print_json({"shell": args.step, "script": script})
        else:
            print(script, end="")
        return EXIT_OK
    found = sorted(set(_words(args)))
    if args.json:
        print_json({"words": found})
    else:
        for word in found:
            answer(word)
    return EXIT_OK


def _script(shell: str) -> str:
    from porttool.cli import VERBS, load_verb
    from porttool.completion import grammar
    from porttool.completion_scripts import SCRIPTS

    return SCRIPTS[shell](grammar(VERBS, {verb: load_verb(verb) for verb in VERBS}))


def _words(args: argparse.Namespace) -> Iterable[str]:
    from porttool.verbs import choose

    if args.what == PINS:
        from porttool.vendor_pins import load_pins

        pins = choose.project_folder(Path.cwd()) / "vendor_patches" / "pins.yaml"
        return [pin.name for pin in load_pins(pins)]
    if args.what == REFS:
        return _refs(_repositories(args))
    manifest = choose.manifest(args)
    if args.what == RESOLUTIONS:
        from porttool.resolutions import recorded

        return [found.id for found in recorded(manifest.resolutions)]
    of = manifest.parity.get("convergence") if args.what == TRAININGS else manifest.parity
    scenarios = of.get("scenarios") if isinstance(of, dict) else None
    return map(str, scenarios) if isinstance(scenarios, dict) else ()


def _repositories(args: argparse.Namespace) -> Iterable[str]:
    """Those of the manifest; where there is none yet (`infer` drafts one), the repository of this folder."""
    from porttool.verbs import choose

    try:
        manifest = choose.manifest(args)
    except UsageError:
        return {"."}
    return {manifest.repo(manifest.source), manifest.repo(manifest.target)}


def _refs(repos: Iterable[str]) -> Iterable[str]:
    """Branches and tags that are here already; pressing a key must not fetch."""
    from porttool.manifest import is_url
    from porttool.repo import Repository

    for repo in repos:
        if is_url(repo):
            continue
        for name in Repository.open(repo).refs.names():
            for space in ("refs/heads/", "refs/tags/", "refs/remotes/"):
                if name.startswith(space):
                    yield name.removeprefix(space)
