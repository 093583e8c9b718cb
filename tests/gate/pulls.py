"""A pull request that changes a manifest and the files beside it."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import yaml

from parity.gate.guard_git import guarded
from porttool.manifest import load
from tests.support.repos import Repo, new_repo

BEFORE = {
    "version": 1,
    "source": {"repo": ".", "ref": "main"},
    "target": {"repo": ".", "ref": "main", "branch": "port/x"},
    "layout": {"paths": {"old": "new"}, "symbols": {"A": {"to": "B", "one_way": True}}},
    "protected": ["base.py", "keep.py"],
    "commits": [{"pick": ["1234567"], "adapted": {"a.py": "as it was"}}, {"pick": ["2345678", "3456789a"]}],
    "skip": {"7654321": "not needed there"},
    "policy": {"signatures": "refuse"},
    "parity": {
        "subject": {"trainer": "t.T", "worker": "w.W", "rollout": "r.R", "adapter": "a.A"},
        "base": ["x.lr=1", "x.wd=0"],
        "scenarios": {"plain": [], "bold": ["x.lr=2"]},
        "rules": {
            "wire.*.lr": {"within": 0.1, "evidence": "5 runs of May"},
            "config.a": {"expected": "the target has its own"},
            "config.b": {"volatile": "a time"},
        },
        "shared": ["laws.oracle", "consumers.meta.*"],
        "knobs": {"scenarios": ["plain"], "also": {"x.lr": 2}},
        "convergence": {
            "steps": 6,
            "seeds": [1],
            "compare": {"envelope": {"alpha": 0.01}},
            "bands": {"entropy": {"low": 0.1, "high": 0.2, "why": "seen in May"}},
            "scenarios": {"plain": []},
        },
    },
}
RESOLUTION = {"version": 1, "source": "1" * 40, "path": "a.py", "author": "A <a@example.invalid>", "reason": "both"}
FILES = {
    "manifests/m.captures/plain.source.json": '{"a": 1}\n',
    "manifests/m.captures/convergence.plain.json": '{"runs": [1, 2], "why": "measured in May"}\n',
    "manifests/m.resolutions/aa.json": json.dumps(RESOLUTION),
    "manifests/m.resolutions/aa.content": "x = 1\n",
}


class Pull:
    """A repository with a base and a branch; a call commits a change and gives what the guard says of it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.repo: Repo = new_repo(root)
        self.repo.commit({"manifests/m.yaml": dumped(BEFORE), **FILES}, message="base\n")
        self.repo.git("switch", "-q", "-c", "change")
        self.repo.git("reset", "-q", "--hard")

    def __call__(self, change=lambda told: None, files=None, message="Change it\n", base="main"):
        told = copy.deepcopy(BEFORE)
        change(told)
        self.repo.commit({"manifests/m.yaml": dumped(told), **(files or {})}, branch="change", message=message)
        return self.guarded(base=base)

    def guarded(self, name="m.yaml", base="main"):
        """What the guard says of the branch as it is checked out."""
        self.repo.git("reset", "-q", "--hard")
        return self.as_it_is(name, base)

    def as_it_is(self, name="m.yaml", base="main"):
        """The same for the files as they are."""
        return guarded(load(self.root / "manifests" / name), base)


def dumped(told):
    """A manifest in the order in which it is written."""
    return yaml.safe_dump(told, sort_keys=False)


def at(*place):
    """A mapping inside a manifest."""

    def go(told):
        for step in place:
            told = told[step]
        return told

    return go


def put(value, *place):
    """A change that sets a place."""
    return lambda told: at(*place[:-1])(told).__setitem__(place[-1], value)


def drop(*place):
    """A change that removes a place."""
    return lambda told: at(*place[:-1])(told).pop(place[-1])


def more(value, *place):
    """A change that appends to a list."""
    return lambda told: at(*place)(told).append(value)


def reorder(told):
    told["parity"]["rules"] = dict(reversed(told["parity"]["rules"].items()))
