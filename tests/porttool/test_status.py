"""Where two branches stand, across a layout, a rebase, a rewording and a squash."""

from __future__ import annotations

import re

import pytest

from porttool.layout import Layout, Symbol, paths_renaming
from porttool.names import renaming
from porttool.repo import Repository
from porttool.status import landed, status
from porttool.translate import Translator

LAYOUT = Layout(
    paths=paths_renaming({"pkg/old/": "pkg/fresh/", "pkg/client.py": "pkg/remote/adapter.py"}),
    symbols=(Symbol("OldWorker", "FreshWorker"),),
    keys=renaming("key", [("old_conf.use_it", "conf.it.enable")]),
)
NAMES = {"pkg.old": "pkg.fresh", "pkg.client": "pkg.remote.adapter", "OldWorker": "FreshWorker"}
PATHS = {
    "pkg/old/worker.py": "pkg/fresh/worker.py",
    "pkg/client.py": "pkg/remote/adapter.py",
    "README.md": "README.md",
}
AUTHORS = ("Ann <ann@example.invalid>", "Bob <bob@example.invalid>", "Cay <cay@example.invalid>")

WORKER = "import os\nfrom pkg.client import call\n\n\nclass OldWorker:\n    pass\n"
CLIENT = '"""Client of pkg.client."""\n\n\ndef call():\n    return 0\n'


def across(text: str) -> str:
    """The fixture's own translation, independent of the engine: whole words."""
    for old, new in NAMES.items():
        text = re.sub(rf"(?<![\w.]){re.escape(old)}(?!\w)", new, text)
    return text


def build(repo, steps, *, resolved=(), base="# only on the target\n" * 3):
    """Source commits of `steps` (path -> text added), and a target branch that holds them in the other layout.

    The target has its own first lines (drift), reworded messages and, for the steps in `resolved`, other lines.
    """
    files = {"pkg/old/worker.py": WORKER, "pkg/client.py": CLIENT, "README.md": "pkg/old/worker.py does it.\n"}
    repo.commit(files, branch="source")
    there = {PATHS[path]: base + across(text).replace("pkg/old/", "pkg/fresh/") for path, text in files.items()}
    repo.commit(there, branch="target")
    sources, targets = [], []
    for at, (path, text) in enumerate(steps):
        author = AUTHORS[at % 3]
        files[path] += text
        sources.append(repo.commit({path: files[path]}, branch="source", author=author, message=f"step {at}\n"))
    for at, (path, text) in enumerate(steps):
        new = across(text)
        if at in resolved:
            lines = new.splitlines(keepends=True)
            new = "".join([*lines[:-1], f"# resolved by hand at {at}\n"])
        there[PATHS[path]] += new
        message = f"port: reworded {at * 7919 % 1000}\n"
        targets.append(
            repo.commit({PATHS[path]: there[PATHS[path]]}, branch="target", author=AUTHORS[at % 3], message=message)
        )
    return sources, targets


def steps_of(n):
    """Steps that each add a function naming what the layout renames."""
    paths = ("pkg/old/worker.py", "pkg/client.py")
    return [
        (
            paths[at % 2],
            f"\n\ndef step_{at}(worker: OldWorker):\n    from pkg.client import call as call_{at}\n"
            f"    total_{at} = call_{at}() + {at}\n    return worker, total_{at}, 'pkg.old.worker.thing_{at}'\n",
        )
        for at in range(n)
    ]


def asked(repo, sources, targets, **options):
    repository = Repository.open(repo.path)
    return status(repository, sources, targets, Translator(LAYOUT, repository), **options)


def test_layout_only_ports_all_pair_where_git_pairs_none(repo):
    """40 commits, rebased onto drift and reworded: all found; `git cherry` and `range-diff` find none."""
    sources, targets = build(repo, steps_of(40))
    found = asked(repo, sources, targets)
    assert [(s.mates, s.state) for s in found.source] == [((oid,), "ported") for oid in targets]
    assert {standing.how for standing in found.source} == {"identity"}
    assert {standing.state for standing in found.target} == {"ported"}
    assert all(line[0] == "+" for line in repo.git("cherry", "source", "target").splitlines())
    told = repo.git("range-diff", f"{sources[0]}^..source", f"{targets[0]}^..target").splitlines()
    assert not [line for line in told if re.match(r"\s*\d+:\s+\w+ [=!]", line)]


def test_resolved_ports_pair_by_similarity(repo):
    """Of 40 ports that somebody resolved at least 95 % are found, each with its own source."""
    sources, targets = build(repo, steps_of(40), resolved=range(40))
    found = asked(repo, sources, targets)
    right = [s for s, mate in zip(found.source, targets, strict=True) if s.mates == (mate,)]
    wrong = [s for s, mate in zip(found.source, targets, strict=True) if s.mates not in ((), (mate,))]
    assert len(right) >= 38
    assert wrong == []
    assert {s.state for s in right} == {"changed since"}


def test_a_declared_adaptation_is_a_port(repo):
    """A difference the manifest declares is not a later change."""
    sources, targets = build(repo, steps_of(3), resolved=[1])
    assert [s.state for s in asked(repo, sources, targets).source] == ["ported", "changed since", "ported"]
    assert {s.state for s in asked(repo, sources, targets, declared=[sources[1]]).source} == {"ported"}


def test_missing_and_only_there(repo):
    """A source commit without a mate is missing; a target commit without one is only there."""
    sources, targets = build(repo, steps_of(4))
    repo.commit({"README.md": "rewritten for the target alone\n"}, branch="target", message="own\n")
    own = repo.git("rev-parse", "target")
    found = asked(repo, sources, [*targets[:3], own])
    assert [s.state for s in found.source] == ["ported", "ported", "ported", "missing"]
    assert [s.state for s in found.target] == ["ported", "ported", "ported", "only there"]
    assert found.unported == {sources[3]}


def test_dropped_is_left_out_of_a_series_that_went_on(repo):
    """A listed pick that is absent while later picks are there was dropped; one after them is still to come."""
    sources, targets = build(repo, steps_of(4))
    found = asked(repo, sources, [targets[0], targets[2]], listed=sources)
    assert [s.state for s in found.source] == ["ported", "dropped", "ported", "missing"]


def test_dropped_is_taken_back_on_the_target(repo):
    """A port that a later target commit reverts is not there any more."""
    sources, targets = build(repo, steps_of(2))
    before = repo.files(f"{targets[1]}^")["pkg/remote/adapter.py"]
    back = repo.commit({"pkg/remote/adapter.py": before}, branch="target", message="take it back\n")
    found = asked(repo, sources, [*targets, back])
    assert [s.state for s in found.source] == ["ported", "dropped"]
    assert found.target[2].state == "only there"


def test_skipped_is_dropped(repo):
    """What the manifest leaves out is not missing."""
    sources, targets = build(repo, steps_of(2))
    assert [s.state for s in asked(repo, sources, targets[:1], skipped=[sources[1]]).source] == ["ported", "dropped"]


def test_squash_says_whose_work_it_hides(repo):
    """One target commit with three people's work, under one name: the other two are told."""
    sources, _ = build(repo, steps_of(3))
    tree = {path: repo.files("target")[path] for path in PATHS.values()}
    squash = repo.commit(tree, branch="landing", parents=[repo.git("rev-parse", "target~3")], author=AUTHORS[0])
    found = asked(repo, sources, [squash])
    assert {(s.state, s.how) for s in found.source} == {("ported", "squash")}
    [lost] = found.lost_authors
    assert (lost.target, lost.lost) == (squash, AUTHORS[1:])


def test_squash_that_credits_everybody_loses_nobody(repo):
    """Co-authored-by trailers keep authorship."""
    sources, _ = build(repo, steps_of(3))
    tree = {path: repo.files("target")[path] for path in PATHS.values()}
    message = "all\n\n" + "".join(f"Co-authored-by: {name}\n" for name in AUTHORS[1:])
    squash = repo.commit(
        tree, branch="landing", parents=[repo.git("rev-parse", "target~3")], author=AUTHORS[0], message=message
    )
    assert asked(repo, sources, [squash]).lost_authors == ()


def test_landed_compares_in_one_layout(repo):
    """A branch that landed as one commit: every commit of it is found in that one."""
    _, targets = build(repo, steps_of(3))
    tree = {path: repo.files("target")[path] for path in PATHS.values()}
    base = repo.git("rev-parse", "target~3")
    squash = repo.commit(tree, branch="landing", parents=[base], author="Bot <b@x.invalid>")
    found = landed(Repository.open(repo.path), targets, [squash])
    assert {s.mates for s in found.source} == {(squash,)}
    assert found.lost_authors[0].lost == AUTHORS


def test_whitespace_is_content(repo):
    """A port whose indentation differs is changed, never the same."""
    path = "pkg/client.py"
    sources, targets = build(repo, [(path, "\n\ndef a_function(x):\n    return x\n")])
    odd = repo.files(targets[0])["pkg/remote/adapter.py"].replace(b"    return x", b"  return x")
    other = repo.commit({"pkg/remote/adapter.py": odd}, branch="x", parents=[repo.git("rev-parse", f"{targets[0]}^")])
    assert [s.state for s in asked(repo, sources, [other]).source] == ["changed since"]


def test_renames_inside_a_commit_and_binaries(repo):
    """A commit that deletes, adds and changes a binary has an identity like any other."""
    base = {"pkg/old/a.py": "a = 1\nb = 2\n", "pkg/old/x.bin": b"\0one"}
    repo.commit(base, branch="source")
    repo.commit({"pkg/fresh/a.py": "a = 1\nb = 2\n", "pkg/fresh/x.bin": b"\0one"}, branch="target")
    one = {"pkg/old/a.py": None, "pkg/old/b.py": "a = 1\nb = 2\n", "pkg/old/x.bin": b"\0two"}
    two = {path.replace("/old/", "/fresh/"): content for path, content in one.items()}
    source, target = repo.commit(one, branch="source"), repo.commit(two, branch="target", message="other\n")
    assert [s.how for s in asked(repo, [source], [target]).source] == ["identity"]


def test_pure_reorder_has_an_identity(repo):
    """A commit that only moves lines is not an empty one."""
    repo.commit({"pkg/old/a.py": "a\nb\nc\nd\n"}, branch="source")
    repo.commit({"pkg/fresh/a.py": "a\nb\nc\nd\n"}, branch="target")
    source = repo.commit({"pkg/old/a.py": "b\nc\nd\na\n"}, branch="source")
    target = repo.commit({"pkg/fresh/a.py": "b\nc\nd\na\n"}, branch="target", message="other\n")
    found = asked(repo, [source], [target])
    assert [s.how for s in found.source] == ["identity"]


@pytest.mark.parametrize("message", ["port\n", "port\n\nPorted-From: o@{oid}\n", "port\n\n(cherry picked)\n"])
def test_a_trailer_is_not_needed_and_not_believed(repo, message):
    """With the right trailer, without one, or with another one: the content decides."""
    sources, targets = build(repo, steps_of(2))
    tree = {path: repo.files(targets[0])[path] for path in PATHS.values()}
    parent = repo.git("rev-parse", f"{targets[0]}^")
    told = repo.commit(tree, branch="x", parents=[parent], message=message.format(oid=sources[1]))
    assert [s.state for s in asked(repo, sources, [told]).source] == ["ported", "missing"]


def test_a_resolved_port_wins_over_a_commit_of_the_target_alone(repo):
    """The port that somebody resolved onto the target's own change is told, and not that change."""
    line = "def name(text): return text"
    repo.commit({"pkg/client.py": line + "\n"}, branch="source")
    repo.commit({"pkg/remote/adapter.py": line + "\n"}, branch="target", parents=[])
    told = {"author_line": f"{AUTHORS[0]} 1700000000 +0000".encode()}
    source = repo.commit({"pkg/client.py": line + ".strip()\n"}, branch="source", message="Strip it\n", **told)
    new = {"pkg/remote/adapter.py": line + ".lower()\n"}
    own = repo.commit(new, branch="target", message="Lower it\n", **told)
    new = {"pkg/remote/adapter.py": line + ".lower().strip()\n"}
    port = repo.commit(new, branch="target", message=f"Strip it\n\nPorted-From: {source}\n", **told)
    found = asked(repo, [source], [own, port])
    assert [(s.mates, s.how, s.state) for s in found.source] == [((port,), "named", "changed since")]
    assert [s.state for s in found.target] == ["only there", "changed since"]
    assert asked(repo, [source], [own, port], declared=[source]).source[0].state == "ported"


def test_a_name_that_was_in_use_on_the_source_already(repo):
    """`FreshWorker` of the target may have been called either; carried on, the source's commit says the same."""
    repo.commit({"pkg/a.py": "one = 1\n"}, branch="source")
    repo.commit({"pkg/a.py": "one = 1\n# target\n"}, branch="target")
    text = "use = FreshWorker\nagain = FreshWorker\n"
    mine = repo.commit({"pkg/a.py": "one = 1\n" + text}, branch="source", author=AUTHORS[0])
    port = repo.commit(
        {"pkg/a.py": "one = 1\n# target\n" + text}, branch="target", author=AUTHORS[1], message="other\n"
    )
    repository = Repository.open(repo.path)
    found = status(repository, [mine], [port], Translator(LAYOUT, repository))
    assert [(one.state, one.how, one.mates) for one in found.source] == [("ported", "identity", (port,))]
