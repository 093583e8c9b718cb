"""How many human ports `status` pairs by content alone.

    python -m tests.soak.status_ports CLONES

CLONES holds clones of the public repositories, as for `python -m tests.ports`. Subjects, dates and trailers are taken
away before pairing, as if every commit had been rebased and reworded; `no author` takes the author away too.
`strangers` gives half of the sources the ports of the other half: whatever is paired there is wrong.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from porttool.repo import Repository
from porttool.status import Onward
from porttool.status_delta import Told, told
from porttool.status_pair import pair
from porttool.translate import Translator
from tests.ports.__main__ import DATA, store_of
from tests.ports.layouts import read_layout


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("clones", type=Path)
    options.add_argument("--only", default="", help="the pairs whose name holds this word")
    asked = options.parse_args()
    print("| ports | author | pure | paired | others | paired | wrong | strangers paired |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for path in sorted(file for file in DATA.glob("*.jsonl") if asked.only in file.stem):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        with TemporaryDirectory() as scratch:
            repos = {row[key] for row in rows for key in ("repo", "source_repo")}
            repository = store_of(asked.clones, repos, Path(scratch))
            translator = Translator(read_layout(path.with_name(f"{path.stem}.layout.yaml")), repository)
            sides = read(repository, translator, rows)
            onward = Onward(repository, translator, {row["source_sha"] for row in rows}, {})
            for author in ("kept", "no author"):
                cells = measure(rows, *sides, onward, keep=author == "kept")
                print(f"| {path.stem} | {author} | {cells} |", flush=True)


def read(repository: Repository, translator: Translator, rows: list[dict[str, Any]]) -> tuple[list[Told], list[Told]]:
    """The source commits, and the ports in source names."""
    back = translator.inverse()
    sources = [told(repository, oid) for oid in dict.fromkeys(row["source_sha"] for row in rows)]
    targets = [told(repository, oid, back) for oid in dict.fromkeys(row["port_sha"] for row in rows)]
    return sources, targets


def measure(
    rows: list[dict[str, Any]], sources: list[Told], targets: list[Told], onward: Onward, *, keep: bool
) -> str:
    """The cells of one line of the table."""
    sources, targets = (_bare(side, end, keep=keep) for side, end in ((sources, "source"), (targets, "target")))
    mates = {oid: match.targets for match in pair(sources, targets, onward).matches for oid in match.sources}
    cells = []
    for pure in (True, False):
        chosen = [row for row in rows if row["pure"] == pure]
        cells += [len(chosen), sum(row["port_sha"] in mates.get(row["source_sha"], ()) for row in chosen)]
    wrong = sum(row["source_sha"] in mates and row["port_sha"] not in mates[row["source_sha"]] for row in rows)
    here = {row["source_sha"] for row in rows[::2]}
    there = {row["port_sha"] for row in rows[1::2]}
    halves = [s for s in sources if s.oid in here], [t for t in targets if t.oid in there]
    strangers = pair(*halves, onward).matches
    return " | ".join(map(str, (*cells, wrong, len(strangers))))


def _bare(commits: Iterable[Told], side: str, *, keep: bool) -> list[Told]:
    """Commits with nothing to recognise them by but their content and, where kept, their author's name."""
    bare = (replace(commit, subject=commit.oid, author_date=side.encode(), sources=()) for commit in commits)
    return [commit if keep else replace(commit, author=side) for commit in bare]


if __name__ == "__main__":
    main()
