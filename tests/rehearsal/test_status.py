"""Where the branches stand after the port, and after what people do to a branch."""

from __future__ import annotations

import json
import re

import pytest

from porttool.cli import main
from tests.rehearsal.conftest import PORT, RECIPE, SHARE, changed

PICKS = 6
ADAPTER = "0001-adapter.patch"
BOSS = "Boss <boss@example.invalid>"


def asked(capsys, *words: str) -> dict:
    capsys.readouterr()
    main([*words, "--json"])
    return json.loads(capsys.readouterr().out)


def states(ported, told: dict) -> dict[str, tuple[str, str]]:
    """State and how, of the recipe's own commits and of the adapter's patch."""
    picks = ported.repo.git("rev-list", f"{RECIPE}~{PICKS}..{RECIPE}").split()
    return {row["commit"]: (row["state"], row["how"]) for row in told["source"] if row["commit"] in (*picks, ADAPTER)}


@pytest.fixture
def reworded(ported):
    """The port branch, rebased onto a target that went on, with messages that say nothing of the port."""
    repo = ported.repo
    notes = repo.files(SHARE)["docs/advance/arctic_rl.md"] + b"\nMore to come.\n"
    repo.commit({"docs/advance/arctic_rl.md": notes}, branch="moved", parents=[repo.git("rev-parse", SHARE)])
    folder = repo.path.parent / "rebase"
    repo.git("worktree", "add", "-q", "-b", "reworded", str(folder), PORT)
    amend = 'git commit -q --amend -m "reworded $(git rev-parse HEAD)"'
    repo.git("-C", str(folder), "rebase", "-q", "--onto", "moved", SHARE, "-x", amend)
    repo.git("worktree", "remove", "--force", str(folder))
    log = repo.git("log", "--format=%B", "moved..reworded")
    assert "Ported-From" not in log and "zorro" not in log
    return "reworded"


@pytest.fixture
def squashed(ported):
    """The port branch as one commit of somebody else."""
    files = changed(ported.repo, SHARE, PORT)
    start = ported.repo.git("rev-parse", SHARE)
    ported.repo.commit(files, branch="squash", parents=[start], message="RL fixes\n", author=BOSS)
    return "squash"


def test_before_the_port_each_commit_is_missing(rehearsal, capsys, monkeypatch):
    """Nothing of the six, nor the adapter, is on the target; the base of the recipe is there in another shape."""
    monkeypatch.chdir(rehearsal.folder)
    found = states(rehearsal, asked(capsys, "status"))
    assert set(found.values()) == {("missing", "")} and len(found) == PICKS + 1


def test_after_the_port_each_commit_is_ported(ported, capsys):
    """Six source commits and the adapter's patch; two of them are one commit on the target."""
    told = asked(capsys, "status")
    found = states(ported, told)
    assert set(found.values()) == {("ported", "identity"), ("ported", "squash")} and len(found) == PICKS + 1
    assert told["lost_authors"] == [] and told["ties"] == []


def test_git_pairs_none_of_them(ported, reworded):
    """`git cherry` sees no commit of the recipe on the branch; `git range-diff` calls none of them the same."""
    cherry = ported.repo.git("cherry", reworded, RECIPE, f"{RECIPE}~{PICKS}").splitlines()
    assert [line[0] for line in cherry] == ["+"] * PICKS
    ranges = (f"{RECIPE}~{PICKS}..{RECIPE}", f"moved..{reworded}")
    rows = re.findall(r"^ *[-\d]+: +\S+ (.)", ported.repo.git("range-diff", "--no-color", *ranges), re.MULTILINE)
    assert len(rows) >= PICKS and "=" not in rows


def test_after_a_rebase_and_other_messages_each_commit_is_ported(ported, reworded, capsys):
    """What a commit does tells whose port it is: no trailer, subject or parent is left to tell it."""
    told = asked(capsys, "status", "--branch", reworded)
    found = states(ported, told)
    assert {state for state, _ in found.values()} == {"ported"} and len(found) == PICKS + 1
    assert told["lost_authors"] == []
    assert [row["subject"] for row in told["target"] if row["state"] == "only there"][-1] == "change"


def test_after_a_squash_each_commit_is_ported_and_its_author_lost(ported, squashed, capsys):
    """All seven are in the one commit, also the one that a later one overwrote; it names none of the five people."""
    told = asked(capsys, "status", "--branch", squashed)
    assert set(states(ported, told).values()) == {("ported", "squash")}
    (lost,) = told["lost_authors"]
    assert lost["author"] == BOSS and len(lost["lost"]) == 5


def test_a_squash_with_a_change_in_it_is_seen_as_such(ported, squashed, capsys):
    """Every commit is in it, and it is not only they."""
    text = ported.repo.files(squashed)["verl/workers/remote_client/arctic_rl.py"].replace(b"Sample one", b"Draw one")
    files = changed(ported.repo, SHARE, squashed) | {"verl/workers/remote_client/arctic_rl.py": text}
    start = ported.repo.git("rev-parse", SHARE)
    ported.repo.commit(files, branch="tweaked", parents=[start], message="RL fixes\n", author=BOSS)
    found = states(ported, asked(capsys, "status", "--branch", "tweaked"))
    assert set(found.values()) == {("changed since", "similar squash")} and len(found) == PICKS + 1


def test_a_commit_that_is_taken_back_is_dropped(ported, capsys):
    """A revert on the port branch takes its commit out of what is ported."""
    repo = ported.repo
    folder = repo.path.parent / "revert"
    repo.git("worktree", "add", "-q", "-b", "without", str(folder), PORT)
    repo.git("-C", str(folder), "revert", "--no-edit", PORT)
    repo.git("worktree", "remove", "--force", str(folder))
    found = {row["subject"]: row["state"] for row in asked(capsys, "status", "--branch", "without")["source"]}
    assert found["add logits_compute_from_fp32_inputs + logits_compute_in_fp32 configs"] == "dropped"
    assert found["enable_gradient_checkpointing is configurable now"] == "ported"


def test_landed_says_when_authorship_was_squashed_away(ported, squashed, capsys):
    """The content arrived, its authors did not: `verify --landed` names them and exits 1."""
    assert main(["verify", "--landed", squashed]) == 1
    out = capsys.readouterr().out
    assert "landed on squash: 6 of 6 commits; 1 lost their authors" in out
    for name in ("Karthik Ganesan", "Xiaodong Yu", "Mert Hidayetoglu", "Olatunji Ruwase", "Stas Bekman"):
        assert name in out.partition("Authorship lost")[2]


def test_landed_by_a_rebase_is_well(ported, reworded, capsys):
    """A landing that kept the commits apart keeps their authors, whatever it did to the messages."""
    assert main(["verify", "--landed", reworded]) == 0
    assert "landed on reworded: 6 of 6 commits" in capsys.readouterr().out
