"""The way back: what was ported is recognised, and what was made on the target comes as it would be written here."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from porttool.cli import main
from porttool.port import apply
from porttool.verbs.back import turned
from tests.rehearsal.conftest import PORT, RECIPE, SHARE, changed

HERE = Path(__file__).resolve().parent / "routing_key"
BACK = f"back/{RECIPE}"
KARTHIK = "Karthik Ganesan <karthik.ganesan@example.invalid>"


def test_apply_then_back_gives_the_tree_of_the_source_branch(ported):
    """The six, carried back onto the base that the recipe's commits stand on, end in the recipe's own tree."""
    base = ported.repo.git("rev-parse", f"{RECIPE}~6")
    ported.repo.branch("recipe/base", base)
    way = turned(ported.manifest(), "")
    run = apply(replace(way, target=replace(way.target, ref="recipe/base", branch="back/base")))
    assert not run.conflict
    assert ported.tree("back/base") == ported.tree(RECIPE)
    told = "--format=%an|%at"
    mine, theirs = (ported.repo.git("log", told, f"{base}..{name}").splitlines() for name in ("back/base", RECIPE))
    assert list(dict.fromkeys(mine)) == [line for line in dict.fromkeys(theirs) if line in mine]


def test_ported_commits_are_there_already(ported, capsys):
    """Onto the recipe itself there is nothing to carry: five are recognised, the adapter's changes are there."""
    assert main(["back", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["verdict"] == "nothing to port" and told["commits"] == []
    assert len(told["skipped"]) == 5 and all(left["reason"].startswith("already there") for left in told["skipped"])
    assert [left["reason"] for left in told["empty"]] == ["already there"]
    assert BACK not in ported.repo.git("branch", "--list", BACK)


def applied(repo, rev: str, patch: Path) -> str:
    """The tree of a rev with a patch on it, by git."""
    folder = repo.path.parent / f"{patch.stem}-tree"
    repo.git("worktree", "add", "-q", "--detach", str(folder), rev)
    subprocess.run(["git", "-C", str(folder), "apply", "--index", str(patch)], check=True)
    tree = subprocess.run(["git", "-C", str(folder), "write-tree"], check=True, capture_output=True, text=True)
    repo.git("worktree", "remove", "--force", str(folder))
    return tree.stdout.strip()


@pytest.fixture
def fix(ported):
    """The commit made on the target after the port: `generate` gets a routing key, switched by a config key."""
    tip = ported.repo.git("rev-parse", PORT)
    message = "generate: take a routing key\n\nSet remote_backend.sticky_routing=True to use it.\n"
    files = changed(ported.repo, PORT, applied(ported.repo, PORT, HERE / "target.patch"))
    return ported.repo.commit(files, branch=PORT, parents=[tip], message=message, author=KARTHIK)


def test_a_commit_of_the_target_comes_back_as_its_author_would_have_written_it(ported, fix, capsys):
    """Adapter, config, document and launch script: byte for byte the change written by hand against the recipe."""
    assert main(["back", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [commit["sources"] for commit in told["commits"]] == [[fix]]
    wanted = applied(ported.repo, RECIPE, HERE / "source.patch")
    assert ported.tree(BACK) == wanted
    assert ported.repo.git("rev-parse", f"{BACK}~1") == ported.repo.git("rev-parse", RECIPE)
    adapter = ported.repo.files(BACK)["verl/trainer/ppo/arctic_rl_client.py"]
    assert b"routing_key: Optional[str] = None\n    ) -> list[dict[str, Any]]:\n" in adapter
    assert b"if not self.main_config.arctic_rl.sticky_routing:\n" in adapter


def test_it_comes_with_its_author_and_message(ported, fix, capsys):
    """Author, date and message are those of the target's commit; a trailer says where it was."""
    assert main(["back"]) == 0
    told = "--format=%an <%ae>|%at|%s"
    assert ported.repo.git("log", "-1", told, BACK) == ported.repo.git("log", "-1", told, fix)
    message = ported.repo.git("log", "-1", "--format=%B", BACK)
    assert message.startswith(ported.repo.git("log", "-1", "--format=%B", fix)) and f"@{fix}" in message


def test_it_may_be_named_alone(ported, fix, capsys):
    """A range of one commit carries that one."""
    assert main(["back", f"{PORT}~1..{PORT}", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["commits"]) == 1 and told["skipped"] == []
    assert ported.tree(BACK) == applied(ported.repo, RECIPE, HERE / "source.patch")


def test_and_then_it_is_ported_already(ported, fix, capsys):
    """Once it is on the recipe, the next port of the recipe's new commits finds it on the target."""
    assert main(["back"]) == 0
    ported.repo.branch(RECIPE, BACK)
    head = ported.file().read_text().partition("commits:\n")[0]
    head = head.replace(f"ref: {SHARE}, branch: {PORT}", f"ref: {PORT}, branch: port/again")
    ported.file("again").write_text(f"{head}commits: {{range: {RECIPE}~1..{RECIPE}}}\n")
    run = apply(ported.manifest("again"))
    assert run.nothing
    assert [left.reason.partition(" as ")[0] for left in run.outcomes] == ["already there"]
