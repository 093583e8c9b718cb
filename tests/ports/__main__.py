"""Do 383 human ports again and compare with what the humans made.

    python -m tests.ports FOLDER [--only NAME] [--json FILE]

FOLDER holds clones of the public repositories, each as `owner+name` or `name` (bare or not).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from porttool.errors import PortError
from porttool.port_make import base_tree
from porttool.port_merge import Porting
from porttool.repo import Labels, Repository
from porttool.resolutions import Ledger
from porttool.translate import Translator
from tests.ports.layouts import read_layout

DATA = Path(__file__).parent / "data"


def objects_of(folder: Path, repo: str) -> Path:
    """The object store of a clone of `owner/name` below the folder."""
    owner, name = repo.split("/")
    for place in (f"{owner}+{name}/repo", f"{owner}+{name}", name):
        for inside in (".git/objects", "objects"):
            if (folder / place / inside).is_dir():
                return (folder / place / inside).resolve()
    sys.exit(f"error: no clone of {repo}\n  at: {folder}\nhint: clone it there as {owner}+{name}")


def store_of(folder: Path, repos: set[str], scratch: Path) -> Repository:
    """An empty repository that sees the objects of all the clones of one pair."""
    subprocess.run(["git", "init", "-q", str(scratch)], check=True)
    lines = "".join(f"{objects_of(folder, repo)}\n" for repo in sorted(repos))
    (scratch / ".git/objects/info/alternates").write_text(lines)
    return Repository.open(scratch)


def port_one(repository: Repository, translator: Translator, row: dict) -> tuple[str, str]:
    """(outcome, reason) of one port: exact, different, conflict or refused."""
    source = repository.commit(row["source_sha"])
    onto = repository.commit(row["port_parent_sha"]).tree
    human = repository.commit(row["port_sha"]).tree
    porting = Porting(repository, translator, Ledger(repository, []), ())
    try:
        done = porting.port(source, base_tree(repository, source, "first-parent"), onto, Labels())
    except PortError as fault:
        return "refused", fault.message
    if done.conflicts:
        kinds = Counter(conflict.kind for conflict in done.conflicts)
        shown = ", ".join(f"{kind} {number}" for kind, number in sorted(kinds.items()))
        return "conflict", f"{shown}: {done.conflicts[0].path}"
    tree = repository.edit_tree(onto, done.edits)
    if tree == human:
        return "exact", ""
    return "different", ", ".join(change.path for change in repository.changes(tree, human)[:3])


def run(folder: Path, name: str) -> list[dict]:
    """Every port of one pair, with its outcome."""
    rows = [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text().splitlines()]
    with tempfile.TemporaryDirectory() as scratch:
        repos = {row[key] for row in rows for key in ("repo", "source_repo")}
        repository = store_of(folder, repos, Path(scratch))
        sources = (repository.commit(row["source_sha"]) for row in rows)
        touched = {change.path for source in sources for change in repository.changes_of(source)}
        translator = Translator(read_layout(DATA / f"{name}.layout.yaml", touched), repository)
        for number, row in enumerate(rows, 1):
            if os.isatty(2):
                print(f"\r{name} {number}/{len(rows)}", end="", file=sys.stderr)
            started = time.perf_counter()
            row["outcome"], row["reason"] = port_one(repository, translator, row)
            row["seconds"] = time.perf_counter() - started
    return rows


def table(found: dict[str, list[dict]]) -> str:
    """The table, then the reason of each miss."""
    head = ("pair", "ports", "pure", "exact", "different", "conflict", "refused", "all exact", "ms a port")
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    every = [row for rows in found.values() for row in rows]
    for name, rows in [*found.items(), ("all", every)]:
        pure = Counter(row["outcome"] for row in rows if row["pure"])
        exact = sum(row["outcome"] == "exact" for row in rows)
        ms = 1000 * sum(row["seconds"] for row in rows) / max(len(rows), 1)
        kinds = [pure[kind] for kind in ("exact", "different", "conflict", "refused")]
        cells = (len(rows), sum(pure.values()), *kinds, exact)
        lines.append(f"| {name} | " + " | ".join(map(str, cells)) + f" | {ms:.1f} |")
    lines.append("\nPure ports missed, and why:")
    missed = ((name, row) for name, rows in found.items() for row in rows if row["pure"] and row["outcome"] != "exact")
    lines += [f"  {name} {row['source_sha'][:10]} {row['outcome']}: {row['reason']}" for name, row in missed]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.ports", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the clones are")
    parser.add_argument("--only", default="", help="the pairs whose name holds this word")
    parser.add_argument("--json", type=Path, help="write every outcome there")
    options = parser.parse_args()
    names = sorted(file.stem for file in DATA.glob("*.jsonl") if options.only in file.stem)
    found = {name: run(options.folder, name) for name in names}
    print(table(found))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
