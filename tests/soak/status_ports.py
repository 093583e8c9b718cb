"""How many human ports `status` pairs by content alone.

    python -m tests.soak.status_ports PORTS CLONES

PORTS holds `<name>.jsonl` and `<name>.layout.yaml` of pairs inside one repository; CLONES a clone (with a worktree) of
each source repository, `owner+name` or `name`. Subjects, dates and trailers are taken away before pairing, as if every
commit had been rebased and reworded; `no author` takes the author away too. `strangers` gives half of the sources the
ports of the other half: whatever is paired there is wrong.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from porttool.layout import Layout, Symbol
from porttool.names import Pair, Renaming, split
from porttool.repo import Repository
from porttool.status_delta import Told, told
from porttool.status_pair import pair
from porttool.translate import Translator


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("ports", type=Path)
    options.add_argument("clones", type=Path)
    asked = options.parse_args()
    print("| ports | author | pure | paired | others | paired | wrong | strangers paired |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for path in sorted(asked.ports.glob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        names = rows[0]["source_repo"].replace("/", "+"), rows[0]["source_repo"].partition("/")[2]
        clone = next((asked.clones / name for name in names if (asked.clones / name / ".git").exists()), None)
        if clone is None or rows[0]["source_repo"] != rows[0]["repo"]:
            continue
        layout = written(yaml.safe_load(path.with_name(f"{path.stem}.layout.yaml").read_text()))
        sides = read(Repository.open(clone), layout, rows)
        for author in ("kept", "no author"):
            print(f"| {path.stem} | {author} | {measure(rows, *sides, keep=author == 'kept')} |", flush=True)


def read(repository: Repository, layout: Layout, rows: list[dict[str, Any]]) -> tuple[list[Told], list[Told]]:
    """The source commits, and the ports in source names."""
    back = Translator(layout, repository).inverse()
    sources = [told(repository, oid) for oid in dict.fromkeys(row["source_sha"] for row in rows)]
    targets = [told(repository, oid, back) for oid in dict.fromkeys(row["port_sha"] for row in rows)]
    return sources, targets


def measure(rows: list[dict[str, Any]], sources: list[Told], targets: list[Told], *, keep: bool) -> str:
    """The cells of one line of the table."""
    sources, targets = (_bare(side, end, keep=keep) for side, end in ((sources, "source"), (targets, "target")))
    mates = {oid: match.targets for match in pair(sources, targets).matches for oid in match.sources}
    cells = []
    for pure in (True, False):
        chosen = [row for row in rows if row["pure"] == pure]
        cells += [len(chosen), sum(row["port_sha"] in mates.get(row["source_sha"], ()) for row in chosen)]
    wrong = sum(row["source_sha"] in mates and row["port_sha"] not in mates[row["source_sha"]] for row in rows)
    here = {row["source_sha"] for row in rows[::2]}
    there = {row["port_sha"] for row in rows[1::2]}
    strangers = pair([s for s in sources if s.oid in here], [t for t in targets if t.oid in there]).matches
    return " | ".join(map(str, (*cells, wrong, len(strangers))))


def _bare(commits: Iterable[Told], side: str, *, keep: bool) -> list[Told]:
    """Commits with nothing to recognise them by but their content and, where kept, their author's name."""
    bare = (replace(commit, subject=commit.oid, author_date=side.encode(), sources=()) for commit in commits)
    return [commit if keep else replace(commit, author=side) for commit in bare]


def written(told: Mapping[str, Any]) -> Layout:
    """A layout from the small format of the ports; what cannot be undone is one-way."""
    paths: list[Pair] = []
    for pair_ in told["paths"]:
        old, new = split(pair_["from"], "/"), split(pair_["to"], "/")
        stars = ["*" in "".join(end) for end in (old, new)]
        paths.append(Pair(old, new, stars[0] != stars[1] or any(new == other.new for other in paths)))
    modules: list[Pair] = []
    for pair_ in told.get("modules") or []:
        if not pair_["from"].startswith(".") and "/" not in pair_["from"]:
            new = split(pair_["to"])
            modules.append(Pair(split(pair_["from"]), new, any(new == other.new for other in modules)))
    symbols: list[Symbol] = []
    for pair_ in told.get("identifiers") or []:
        if pair_["from"].isidentifier() and pair_["to"].isidentifier():
            taken = any(pair_["to"] == other.new for other in symbols)
            symbols.append(Symbol(pair_["from"], pair_["to"], one_way=taken))
    return Layout(
        paths=Renaming("path", tuple(paths), "/"),
        extra_modules=tuple(modules),
        symbols=tuple(symbols),
        roots=(".", "src"),
    )


if __name__ == "__main__":
    main()
