"""The skeleton of a parity driver, and the manifest section that asks for it."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import packages_distributions

from porttool.infer import Draft
from porttool.infer_draft import word
from porttool.layout import Layout

_MOST = 4  # definitions that are proposed
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def parity_text(draft: Draft, old: Mapping[str, bytes], driver: str) -> str:
    """The `parity:` section. Its subject is proposed: a config file, and definitions that have another place."""
    told = [f"    {name}: {word(value)}" for name, value in subject(draft, old).items()]
    lines = [
        "parity:",
        "  # Run on both sides, each in a process of its own; what it returns is compared.",
        f"  drivers: {{step: {word(driver)}:step}}",
        "  # What it runs on: captures of other versions are not compared.",
        f"  packages: [{', '.join(packages(old))}]",
        *(
            ["  # What the driver asks for, in the source's names; the layout carries them over.", "  subject:"]
            if told
            else []
        ),
        *told,
        "  # Words that change the config of a run, in the source's names, such as [optim.lr=0.1].",
        "  scenarios:",
        "    plain: []",
    ]
    return "\n".join(lines) + "\n"


def subject(draft: Draft, old: Mapping[str, bytes]) -> dict[str, str]:
    """The config file whose keys are renamed, and public definitions of files that moved, classes first."""
    found: dict[str, str] = {}
    moved = {path for path in old if draft.layout.for_file(path).new_path != path}
    configs = [path for path in old if path.endswith((".yaml", ".yml")) and _names_key(old[path], draft.layout)]
    if configs:
        best = min(configs, key=lambda path: (path not in moved, path.count("/"), path))
        found["config"] = best if "/" in best else f"./{best}"
    told = [part for path in sorted(moved) for part in _definitions(path, old[path], draft.layout)]
    for _, dotted in sorted(told, key=lambda one: one[0])[:_MOST]:
        name = _WORDS.sub("_", dotted.rpartition(".")[2]).lower()
        found.setdefault(name, dotted)
    return found


def _names_key(blob: bytes, layout: Layout) -> bool:
    """Whether a YAML file has a section that the layout renames."""
    tops = {pair.old[0] for pair in layout.keys}
    return any(re.search(rb"(?m)^" + re.escape(top.encode()) + rb":", blob) for top in tops)


def _definitions(path: str, blob: bytes, layout: Layout) -> Iterator[tuple[int, str]]:
    """(0 for a class, 1 for a function; dotted name) of each public definition."""
    module = layout.module_of(path) if path.endswith(".py") else None
    for node in _parsed(blob).body if module else ():
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_") and module:
            yield int(isinstance(node, ast.FunctionDef)), ".".join((*module[0], node.name))


def packages(tree: Mapping[str, bytes]) -> list[str]:
    """The installed packages that a tree imports from elsewhere."""
    installed = packages_distributions()
    own = {part for path in tree for part in path.removesuffix(".py").split("/")[:2]}
    found: set[str] = set()
    for path, blob in tree.items():
        if path.endswith(".py"):
            for name in _imported(_parsed(blob)) - own - set(sys.stdlib_module_names):
                found.update(re.sub(r"[-_.]+", "-", one).lower() for one in installed.get(name, ()))
    return sorted(found)


def _parsed(blob: bytes) -> ast.Module:
    try:
        return ast.parse(blob)
    except (SyntaxError, ValueError):  # no Python, or a NUL byte in it
        return ast.Module([], [])


def _imported(tree: ast.Module) -> set[str]:
    """The top-level names that a module imports anywhere."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found.add(node.module.partition(".")[0])
    return found


SKELETON = '''\
"""What porttool runs on each side of a port, in a process of its own.

`step` gets a job in the side's own names and returns what it saw, as {probe: {key: value}}. A value is plain (None,
a bool, a number, text), a torch tensor, or a mapping or list of such. Every key is compared, by type and by bits.

    job.side          "source" or "target"
    job.tree          the folder of the side's files; it is the first place where Python looks for modules
    job.subject       what the manifest names under `parity.subject`, in this side's names
    job.words         what the scenario changes, in this side's names: ["optimizer.lr=0.1"]
    job.source_key    a config key of this side in the source's names: both sides observe it under one name
    scratch           a folder to write to

What stands at the top of this file is done once for a side, and each scenario starts from a copy of that process.
"""

import inspect
from pathlib import Path

import yaml

from parity.driver import named


def step(job, scratch):
    """The config of the run, and how the parts of the trainer want to be called."""
    told = {}
    if "config" in job.subject:
        config = read(Path(job.tree) / job.subject["config"], job.words)
        told["config"] = {job.source_key(key): value for key, value in flat(config)}
    parts = {name: named(place) for name, place in job.subject.items() if not place.endswith((".yaml", ".yml"))}
    told["parameters"] = {name: list(inspect.signature(part).parameters) for name, part in parts.items()}
    # This far it runs as it is. Now let the trainer take a few steps and say what it sent and what came back:
    #
    #     trainer = parts["trainer"](config)
    #     told["batches"] = {"batch": [...]}            # what the model is fed
    #     told["steps"] = {"step": [trainer.step(batch) for batch in ...]}
    #     told["weights"] = trainer.model.state_dict()
    return told


def read(file, words):
    """A YAML config with the words of a scenario: `a.b=value` sets a key that is there.

    Better is the function of your own code that reads it: it knows blocks that have moved to other files.
    """
    config = yaml.safe_load(file.read_text(encoding="utf-8"))
    for word in words:
        place, _, value = word.partition("=")
        *above, last = place.split(".")
        section = config
        for name in above:
            section = section[name]
        section[last] = yaml.safe_load(value)
    return config


def flat(config, above=""):
    """Every leaf of a config under its dotted key."""
    for name, value in config.items():
        if isinstance(value, dict) and value:
            yield from flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value
'''
