"""The command line: words to one verb, the verb's answer to an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import TextIO

from porttool import __version__
from porttool.arguments import Parser
from porttool.errors import EXIT_BUG, EXIT_INTERRUPTED, EXIT_OK, EnvironmentFault, PortError, UsageError, visible

EXIT_PIPE = 141  # what a shell reports for a program that a closed pipe ended, as it does for git

# Each verb is a module of porttool.verbs, imported only when it runs: `porttool --version` must not load an engine.
VERBS = {
    "init": "start a manifest from two branches: the layout between them, and the commits to port",
    "plan": "which commits, in which order; the census; what the layout cannot undo",
    "apply": "port the commits of a manifest onto a branch",
    "verify": "prove that the ported commits changed nothing but the layout",
    "audit": "the table for the pull request: sources, labels, census, leftovers, style",
    "back": "carry target commits to the source layout",
    "restructure": "apply a layout to a branch as one commit of pure movement",
    "status": "pair the commits of both branches: ported, changed since, missing, dropped",
    "infer": "draft a layout from two refs",
    "diff-meta": "run both sides of a port on a CPU and compare what they send, and who reads it",
    "diff-config": "compare the configs both sides build, and what DeepSpeed makes of them",
    "contract": "bind both sides' calls to the vendor's signatures",
    "smoke": "train both sides a few steps on a CPU and compare every step",
    "knobs": "change each key of the backend config and see what moves on either side",
    "gate": "proof, static parity and training runs to one verdict, with reports for pull requests",
    "resolution": "recorded conflict resolutions: add, list, show, drop",
    "vendor": "pinned packages as git repositories: sync, verify",
    "schema": "print the JSON Schema of a manifest",
    "completion": "scripts that complete verbs, options, manifests and refs in bash, zsh and fish",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code; the only place where a fault becomes text."""
    words = list(sys.argv[1:] if argv is None else argv)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # it was closed before we began
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A path need not be text; a report about it must not fail for that.
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(words)
        sys.stdout.flush()
        return code
    except PortError as error:
        return _told(error)
    except BrokenPipeError:
        _silence(sys.stdout)
        return EXIT_PIPE
    except OSError as error:
        _silence_if_lost(sys.stdout)
        where = os.fsdecode(error.filename) if error.filename else ""
        return _told(EnvironmentFault(f"{error.strerror or error}", where, "the work can be started again"))
    except KeyboardInterrupt:
        _say("interrupted")
        return EXIT_INTERRUPTED
    except Exception:
        from porttool.crash import log

        _say(log(words))
        return EXIT_BUG


def _run(words: list[str]) -> int:
    if words[:1] in (["--version"], ["-V"]):
        print(f"porttool {__version__}")
        return EXIT_OK
    if not words or words[0] in ("--help", "-h", "help"):
        print(_overview())
        return EXIT_OK
    verb = load_verb(words[0])
    parser = Parser(f"porttool {words[0]}", VERBS[words[0]], verb.EXAMPLE)
    verb.arguments(parser)
    code: int = verb.run(parser.read(words[1:]))
    return code


def load_verb(name: str) -> ModuleType:
    """The module of a verb; raises UsageError for a word that is none."""
    if name not in VERBS:
        from porttool.nearest import nearest

        kind = "option" if name.startswith("-") else "verb"
        known = ("--help", "--version") if kind == "option" else VERBS
        raise UsageError(f"unknown {kind} {name!r}", "porttool", nearest(name, known))
    return import_module(f"porttool.verbs.{name.replace('-', '_')}")


def _overview() -> str:
    width = max(map(len, VERBS))
    lines = ["usage: porttool VERB [MANIFEST] [options]", ""]
    lines += [f"  {name:<{width}}  {told}" for name, told in VERBS.items()]
    lines += ["", "`porttool VERB --help` shows its options and an example. Every verb has --json."]
    lines += ["Without MANIFEST: [tool.porttool] manifest in pyproject.toml, else the only file in manifests/."]
    lines += ["Exit codes: 0 yes; 1 the answer is no; 2 your manifest, layout or usage;"]
    lines += ["            3 repository or environment; 70 a bug; 130 interrupted."]
    return "\n".join(lines)


def _told(error: PortError) -> int:
    _say(str(error))
    return error.exit_code


def _say(text: str) -> None:
    try:
        print(visible(text, lines=True), file=sys.stderr, flush=True)
    except OSError:  # nobody reads, or the disk is full: the exit code still says it
        _silence(sys.stderr)


def _silence_if_lost(stream: TextIO) -> None:
    """What stdout could not take it is not asked to take again at exit, which would have another exit code."""
    try:
        stream.flush()
    except OSError:
        _silence(stream)


def _silence(stream: object) -> None:
    """Point a stream whose reader is gone at nothing, so that the interpreter's own flush at exit is quiet too."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # type: ignore[attr-defined]
