"""The round-trip law on real packages under random layouts.

    python tests/laws/soak.py --packages dist/verl.whl hypothesis site-packages/rich --layouts 20 --seed 1

A package is a wheel, an sdist, a folder, or the name of something installed. For each layout the whole package is
translated and translated back. The names that a layout introduces occur nowhere in the package (but for every fourth
layout, which takes names that are in use), so hardly anything should be one-way. A violation is a crash, an edit that
leaves the words of its layout alone, or a file that T calls undoable and that does not come back.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import re
import sys
import tarfile
import time
import zipfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from porttool.edits import Edit, Found, splice
from porttool.errors import LayoutError
from porttool.layout import Layout, Symbol, paths_renaming
from porttool.names import Name, Pair, Renaming
from porttool.repo import Entry
from porttool.rewrite import is_binary, language, scan, touched
from porttool.translate import Translator
from tests.support.cases import MemoryBlobs

_CLASS = re.compile(rb"^(?:class|\s*def) ([A-Za-z_]\w{3,})", re.M)
_KEY = re.compile(rb"^( *)([A-Za-z_]\w*):", re.M)
__all__ = ["Edit", "Found", "Tally", "check", "files_of", "random_layout", "soak"]
_TAKEN_NAMES = ("core", "utils", "config", "Main", "data", "base")


@dataclass
class Tally:
    """What a soak saw."""

    files: int = 0
    size: int = 0
    layouts: int = 0
    translated: int = 0
    changed: int = 0
    one_way: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)


def files_of(package: str) -> dict[str, bytes]:
    """The text files of a wheel, an sdist, a folder or an installed package, by path."""
    path = Path(package)
    if package.endswith((".whl", ".zip")):
        with zipfile.ZipFile(path) as archive:
            found = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    elif package.endswith((".tar.gz", ".tgz")):
        found = {}
        with tarfile.open(path) as archive:
            for member in archive:
                held = archive.extractfile(member) if member.isfile() else None
                if held is not None:
                    found[member.name.partition("/")[2]] = held.read()
    else:
        folder = path if path.is_dir() else _installed(package)
        found = {str(p.relative_to(folder.parent)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
    return {name: blob for name, blob in found.items() if name and not is_binary(blob) and "__pycache__" not in name}


def _installed(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"{name} is neither a file, a folder nor an installed package")
    return Path(spec.submodule_search_locations[0])


def random_layout(rng: random.Random, files: dict[str, bytes], *, fresh: bool = True) -> Layout:
    """A layout that has something to do in these files; with `fresh` its new names occur nowhere in them."""

    def name(stem: str, *, capital: bool = False) -> str:
        if not fresh and rng.random() < 0.5:
            return rng.choice(_TAKEN_NAMES)
        made = f"q{rng.randrange(10**6)}{stem[:3].lower()}"
        return made.capitalize() if capital else made

    paths: dict[str, str] = {}
    # The top folder moves alone, and nothing leaves it: a relative import cannot follow there, and the absolute one
    # that takes its place does not come back.
    alone = rng.random() < 0.1
    for path in rng.sample(sorted(files), 1 if alone else min(len(files), rng.randint(1, 8))):
        parts = path.split("/")
        last = len(parts) - (parts[-1] == "__init__.py" and len(parts) > 1)
        if last < 2 and not alone:
            continue
        depth = 1 if alone else rng.randint(2, last)
        old = parts[:depth]
        stem, dot, suffix = old[-1].rpartition(".") if depth == len(parts) else (old[-1], "", "")
        last_name = name(stem or suffix) + dot + suffix
        moved = rng.choice((old[:-1], [*old[:-1], name("sub")], old[:1], [*old[:1], name("top")])) if depth > 1 else []
        paths["/".join(old)] = "/".join([*moved, last_name])
    defined = sorted({found for blob in files.values() for found in _CLASS.findall(blob)})
    symbols = []
    for token in rng.sample(defined, min(len(defined), rng.randint(0, 6))):
        old_name = token.decode()
        homes = [path for path in sorted(files) if path.endswith(".py") and token in files[path]]
        scope = (rng.choice(homes),) if homes and rng.random() < 0.3 else ()
        symbols.append(Symbol(old_name, name(old_name, capital=old_name[0].isupper()), scope))
    keys = [(old, _key(rng, old, name)) for old in _some_keys(rng, files)]
    return Layout(
        paths=paths_renaming(paths),
        symbols=tuple({symbol.old: symbol for symbol in symbols}.values()),
        keys=Renaming("key", tuple({old: Pair(old, new) for old, new in keys}.values())),
    )


def _some_keys(rng: random.Random, files: dict[str, bytes]) -> list[Name]:
    found: list[Name] = []
    configs = [path for path in sorted(files) if path.endswith((".yaml", ".yml"))]
    for path in rng.sample(configs, min(len(configs), rng.randint(0, 3))):
        stack: list[tuple[int, str]] = []
        names: list[Name] = []
        for indent, key in _KEY.findall(files[path]):
            while stack and stack[-1][0] >= len(indent):
                stack.pop()
            stack.append((len(indent), key.decode()))
            names.append(tuple(segment for _, segment in stack))
        found += rng.sample(names, min(len(names), 2))
    return found


def _key(rng: random.Random, old: Name, name: object) -> Name:
    last = name(old[-1])  # type: ignore[operator]
    return rng.choice(((*old[:-1], last), (*old[:-1], last), (*old[:-1], name("in"), last)))  # type: ignore[operator]


def check(files: dict[str, bytes], layout: Layout, tally: Tally, label: str) -> None:
    """The law for one layout over one tree."""
    blobs = MemoryBlobs()
    entries = {path: Entry(0o100644, blobs.write(blob)) for path, blob in files.items()}
    there, back = Translator(layout, blobs), Translator(layout.inverse(), blobs)
    tally.layouts += 1
    for path, entry in entries.items():
        try:
            done = there.entries({path: entry})
        except LayoutError:
            continue
        except Exception as fault:
            tally.violations.append(f"{label}: {path}: {type(fault).__name__}: {fault}")
            continue
        tally.translated += 1
        tally.changed += done.entries != {path: entry}
        _check_spans(files[path], layout, path, tally, label)
        if done.one_way:
            kinds = {culprit.kind for culprit in done.notes} or {"no note"}
            tally.one_way[f"{language(path, files[path])}: {', '.join(sorted(kinds))}"] += 1
            culprit = done.one_way[0]
            tally.examples.append(f"{label}: {culprit.path}:{culprit.line}: {culprit.text}")
        elif back.entries(done.entries).entries != {path: entry}:
            tally.violations.append(f"{label}: {path}: called undoable, but does not come back")


def _check_spans(blob: bytes, layout: Layout, path: str, tally: Tally, label: str) -> None:
    names = layout.for_file(path)
    if not touched(blob, names):
        if scan(blob, names).edits:
            tally.violations.append(f"{label}: {path}: holds old names, but is not looked at")
        return
    if language(path, blob) == "yaml":  # there, blocks move sideways
        return
    edits = sorted(scan(blob, names).edits)
    splice(blob, edits)
    words = [word.encode() for word in layout.words]
    for edit in edits:
        start, end = blob.rfind(b"\n", 0, edit.start) + 1, blob.find(b"\n", edit.end)
        line = blob[start : end if end >= 0 else len(blob)]
        if any(word in line for word in words) or b"import" in line + edit.text:
            continue
        tally.violations.append(f"{label}: {path}: edits {line[:80]!r}, which holds no word of the layout")


def soak(package: str, layouts: int, seed: int) -> Tally:
    """Run the law over a package."""
    files = files_of(package)
    tally = Tally(files=len(files), size=sum(map(len, files.values())))
    for number in range(layouts):
        rng = random.Random(f"{seed}:{number}")
        try:
            layout = random_layout(rng, files, fresh=number % 4 != 3)
            layout.inverse().modules, layout.modules
        except LayoutError:
            continue
        check(files, layout, tally, f"{seed}:{number}")
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--packages", nargs="+", required=True)
    parser.add_argument("--layouts", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--examples", type=int, default=5)
    told = parser.parse_args()
    bad = 0
    for package in told.packages:
        started = time.perf_counter()
        tally = soak(package, told.layouts, told.seed)
        print(
            f"{package}: {tally.files} files, {tally.size} bytes, {tally.layouts} layouts,"
            f" {tally.translated} translations, {tally.changed} changed,"
            f" {sum(tally.one_way.values())} one-way, {len(tally.violations)} violations,"
            f" {time.perf_counter() - started:.1f} s"
        )
        for reason, count in tally.one_way.most_common():
            print(f"  one-way {count:6} {reason}")
        for line in tally.examples[: told.examples]:
            print(f"  for example {line}")
        for line in tally.violations[:20]:
            print(f"  VIOLATION {line}")
        bad += len(tally.violations)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
