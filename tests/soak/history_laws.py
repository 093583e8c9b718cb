"""Laws of histories: the square, port then back, the same ids twice, with and without a target that has moved on."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import yaml

from porttool.errors import LayoutError
from porttool.layout import Layout
from porttool.manifest import Manifest, load
from porttool.port import Run, apply
from porttool.port_merge import Porting
from porttool.repo import EMPTY_TREE, Repository
from porttool.resolutions import Ledger
from porttool.translate import Translator
from tests.soak.cases import CHECKED, REFUSED, History, Violation
from tests.soak.layouts import layouts
from tests.soak.pick import Pick
from tests.soak.sources import Files, contents, paths, trees
from tests.support.repos import new_repo

AWAY = "only_on_the_target"


def histories(pick: Pick) -> History:
    """A base and one to four commits in a small graph: files are added, changed, renamed and deleted."""
    layout = layouts(pick)
    base = trees(pick, layout, most=5)
    states: list[Files] = [base]
    commits: list[tuple[tuple[int, ...], dict[str, bytes | None]]] = []
    for _ in range(1 + pick.below(4)):
        last = len(states) - 1
        parents = (last, pick.below(last)) if last and pick.seldom(4) else (last,)
        change = _change(pick, layout, states[last])
        commits.append((parents, change))
        merged = {**states[last], **change}
        states.append({path: blob for path, blob in merged.items() if blob is not None})
    drift = {f"{AWAY}/{name}": b"only here\n" for name in pick.of(((), ("x.md",), ("a.py", "b.py")))}
    return History(layout, base, tuple(commits), drift)


def _change(pick: Pick, layout: Layout, files: Files) -> dict[str, bytes | None]:
    change: dict[str, bytes | None] = {}
    for _ in range(1 + pick.below(3)):
        kind = pick.of(("edit", "edit", "edit", "add", "add", "delete", "rename"))
        path = pick.of(sorted(files)) if files else ""
        if kind == "add" or not path:
            path = paths(pick, layout)
            if _fits(path, {**files, **change}):
                change[path] = contents(pick, layout, path)
        elif kind == "delete":
            change[path] = None
        elif kind == "rename":
            new = paths(pick, layout)
            if _fits(new, {**files, **change}) and new not in files:
                change[new], change[path] = files[path], None
        else:
            lines = files[path].split(b"\n")
            at = pick.below(len(lines) + 1)
            lines[at : at + pick.below(2)] = contents(pick, layout, path).split(b"\n")[:2]
            change[path] = b"\n".join(lines)
    return change


def _fits(path: str, files: Mapping[str, bytes | None]) -> bool:
    return not any(path.startswith(f"{other}/") or other.startswith(f"{path}/") for other in files)


class _Told:
    """A history in a repository of its own."""

    def __init__(self, case: History, folder: Path) -> None:
        self.case = case
        self.store = new_repo(folder / "repo")
        self.ids = [self.store.commit(case.base, branch="source", message="base\n")]
        for parents, change in case.commits:
            told = [self.ids[number] for number in parents]
            kept = {path: blob for path, blob in change.items() if blob is not None or self._has(told[0], path)}
            message = f"change {len(self.ids)}\n"
            self.ids.append(self.store.commit(kept, branch="source", parents=told, message=message))
        self.repository = Repository.open(self.store.path)

    def _has(self, oid: str, path: str) -> bool:
        return path in self.store.files(oid)

    def tree(self, oid: str) -> str:
        return self.repository.commit(oid).tree


def check_history(case: History) -> str:
    """Each commit onto T of its parent is T of it, and back again; the engine gives the same, and the same ids."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        told = _Told(case, folder)
        repository = told.repository
        translator = Translator(case.layout, repository)
        there: list[str] = []
        lossless = True
        try:
            for oid in told.ids:
                done = translator.tree(repository.entries(told.tree(oid)))
                lossless = lossless and not done.one_way
                there.append(repository.edit_tree(EMPTY_TREE, done.entries))
        except LayoutError:
            return REFUSED
        for number, (parents, _) in enumerate(case.commits, 1):
            _square(told, translator, number, parents[0], there)
            if lossless:
                back = Translator(case.layout.inverse(), repository)
                _back(told, back, number, parents[0], there)
        _engine(told, folder, there, lossless)
    return CHECKED


def _port(repository: Repository, translator: Translator, oid: str, base: str, onto: str) -> str:
    porting = Porting(repository, translator, Ledger(repository, ()), ())
    commit = repository.commit(oid)
    ported = porting.port(commit, base, onto, porting.labels(commit, oid))
    if ported.conflicts:
        found = ported.conflicts[0]
        raise Violation("square", f"a conflict ({found.kind}) at {found.path}")
    return repository.edit_tree(onto, ported.edits)


def _square(told: _Told, translator: Translator, number: int, parent: int, there: list[str]) -> None:
    made = _port(told.repository, translator, told.ids[number], told.tree(told.ids[parent]), there[parent])
    if made != there[number]:
        raise Violation("square", _differs(told.repository, there[number], made))


def _back(told: _Told, back: Translator, number: int, parent: int, there: list[str]) -> None:
    """The translated commit, carried to the source's parent, is the source's commit."""
    repository = told.repository
    carried = repository.write_commit(repository.commit(told.ids[number]).with_tree(there[number]))
    made = _port(repository, back, carried, there[parent], told.tree(told.ids[parent]))
    if made != told.tree(told.ids[number]):
        raise Violation("port then back", _differs(repository, told.tree(told.ids[number]), made))


def _engine(told: _Told, folder: Path, there: list[str], lossless: bool) -> None:
    """The same by `apply`: first-parent, onto a target that holds more, into a branch, and back."""
    repository, case = told.repository, told.case
    drift = {path: told.store.tree({path: blob}) for path, blob in case.drift.items()}
    extra = {path: repository.file(tree, path) for path, tree in drift.items()}
    target = _commit(told, repository.edit_tree(there[0], extra), "target")
    manifest = _manifest(told, folder, f"{told.ids[0]}..source", target)
    run = apply(manifest)
    _clean(run, "apply")
    wanted = repository.edit_tree(there[-1], extra)
    made = Repository.open(told.store.path)
    if made.commit(run.head).tree != wanted:
        raise Violation("apply", _differs(made, wanted, made.commit(run.head).tree))
    if apply(manifest, dry_run=True).head != run.head:
        raise Violation("twice", "a second run gives another id")
    if lossless and run.head != target:
        home = replace(manifest.target, ref=told.ids[0], branch="home")
        (item,) = manifest.commits
        source = replace(manifest.source, ref="out")
        commits = (replace(item, range=f"{target}..out"),)
        layout = case.layout.inverse()
        returned = apply(replace(manifest, source=source, target=home, layout=layout, commits=commits))
        _clean(returned, "back")
        made = Repository.open(told.store.path)
        if made.commit(returned.head).tree != told.tree(told.ids[-1]):
            raise Violation("back", _differs(made, told.tree(told.ids[-1]), made.commit(returned.head).tree))


def _clean(run: Run, rule: str) -> None:
    if run.conflict is not None:
        found = run.conflict.conflicts[0]
        raise Violation(rule, f"a conflict ({found.kind}) at {found.path}")
    if run.accounted != run.plan.count:
        raise Violation(rule, f"{run.accounted} of {run.plan.count} commits are accounted for")


def _commit(told: _Told, tree: str, branch: str) -> str:
    oid = told.repository.write_commit(replace(told.repository.commit(told.ids[0]), tree=tree, message=b"there\n"))
    told.repository.flush()
    told.store.branch(branch, oid)
    return oid


def _manifest(told: _Told, folder: Path, range_: str, target: str) -> Manifest:
    file = folder / "port.yaml"
    (folder / "pyproject.toml").write_text("")
    at = str(told.store.path)
    whole = {
        "version": 1,
        "source": {"repo": at, "ref": "source"},
        "target": {"repo": at, "ref": target, "branch": "out"},
        "layout": {},
        "commits": [{"range": range_}],
        "policy": {"merges": "first-parent"},
    }
    file.write_text(yaml.safe_dump(whole, sort_keys=False))
    return replace(load(file), layout=told.case.layout)


def _differs(repository: Repository, wanted: str, made: str) -> str:
    change = repository.changes(wanted, made)[0]
    shown = [repr(repository.read(side.oid)) if side else "nothing" for side in (change.old, change.new)]
    return f"{change.path} should be {shown[0]} and is {shown[1]}"


