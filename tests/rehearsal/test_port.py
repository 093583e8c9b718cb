"""The six commits on the target: whose they are, where they come from, and that nothing else changed."""

from __future__ import annotations

import pytest

from porttool.audit import audit_of
from porttool.port import apply
from porttool.port_message import trailer
from porttool.proof import verify
from porttool.repo import Repository
from tests.rehearsal.conftest import PORT, RECIPE, SHARE, copy_of

# author, subject, and the ids of the private originals
TABLE = [
    ("Karthik Ganesan", "arctic_rl: adapter for arctic_platform.rl on the new RemoteBackend shape", []),
    ("Xiaodong Yu", "Fix zorro log-prob off-by-one in no_padding_2_padding", ["d597a2fd"]),
    (
        "Mert Hidayetoglu",
        "RL correctness: grad clipping, LR schedule horizon, fp32 grads, zorro load-balancer flag",
        ["d8d9ea6f"],
    ),
    ("Olatunji Ruwase", "ds_config format + ds_config passthru", ["303eb275", "8356f215"]),
    ("Stas Bekman", "enable_gradient_checkpointing is configurable now", ["85cdbedd"]),
    ("Stas Bekman", "add logits_compute_from_fp32_inputs + logits_compute_in_fp32 configs", ["da16e078"]),
]


def commits(ported):
    repository = Repository.open(ported.repo.path)
    ids = ported.repo.git("rev-list", "--reverse", f"{SHARE}..{PORT}").split()
    return [repository.commit(oid) for oid in ids]


def test_authors_subjects_and_originals_are_those_of_the_table(ported):
    """`git log` shows the people who wrote the fixes, under the subjects they gave, in their order."""
    told = ported.repo.git("log", "--reverse", "--format=%an|%s", f"{SHARE}..{PORT}").splitlines()
    assert told == [f"{author}|{subject}" for author, subject, _ in TABLE]
    assert [trailer(commit.message, "Upstream") for commit in commits(ported)] == [row[2] for row in TABLE]


def test_each_port_names_its_sources_and_keeps_their_author_line_and_message(ported):
    """Author line and message are the source's bytes; a trailer names each source once, and every one is named."""
    repository = Repository.open(ported.repo.path)
    recipe = ported.repo.git("rev-list", "--reverse", f"{RECIPE}~6..{RECIPE}").split()
    named = []
    for commit in commits(ported)[1:]:
        sources = [line.rpartition("@")[2] for line in trailer(commit.message, "Ported-From")]
        named += sources
        first = repository.commit(sources[0])
        assert commit.author == first.author
        if len(sources) == 1:
            assert commit.message.startswith(first.message)
    assert named == recipe


def test_the_same_ids_in_another_folder(rehearsal, after):
    """The commit ids hang on the manifest and the refs, and on nothing of the machine."""
    run = apply(rehearsal.manifest())
    assert [applied.commit for applied in run.applied] == [applied.commit for applied in after[1].applied]
    assert len(run.applied) == 6


def test_the_proof_stands(ported):
    """One commit is new wiring and says why; five changed nothing but the layout; protected files are untouched."""
    audit = audit_of(verify(ported.manifest()))
    assert (audit.verdict, audit.ok, audit.rederived, audit.warnings) == ("declared", True, True, ())
    assert [row.label for row in audit.rows] == ["new", *["layout-only"] * 5]
    assert audit.rows[0].why and all(not row.residual and not row.one_way for row in audit.rows)
    assert list(audit.protected.values()) == [True] * 3
    before, now = (ported.repo.files(rev) for rev in (SHARE, PORT))
    assert all(before[path] == now[path] for path in audit.protected)
    assert {row.sources: row.upstream for row in audit.rows[1:]}.keys() == {row.sources for row in audit.rows[1:]}


def test_no_old_name_is_left(ported):
    """Each mention of an old name was rewritten, or is kept for a reason that is told."""
    leftovers = audit_of(verify(ported.manifest())).leftovers
    assert {left.state for left in leftovers} == {"rewritten", "kept"}
    assert all(left.reason for left in leftovers)
    kept = {(left.place.path, left.reason) for left in leftovers if left.state == "kept"}
    assert ("verl/trainer/ppo/ray_trainer.py", "out of scope") in kept


@pytest.fixture
def forks(ported, tmp_path):
    """Two clones: the source fork holds the commits that the manifest calls `upstream`, the other one the target."""
    ours, theirs = (copy_of(ported.folder, tmp_path / name).repo for name in ("ours", "theirs"))
    for name in (SHARE, PORT, "upstream/v0.7.1"):
        ours.git("branch", "-D", name)
    for name in (RECIPE, PORT):
        theirs.git("branch", "-D", name)
    return ours, theirs


def rewritten_history(repo) -> dict[str, str]:
    """The recipe's commits by another committer, so with other ids, as the originals have; new ids by old ones."""
    old = repo.git("rev-list", "--reverse", f"{RECIPE}~6..{RECIPE}").split()
    head, ids = repo.git("rev-parse", f"{RECIPE}~6"), {}
    repository = Repository.open(repo.path)
    for oid in old:
        commit = repository.commit(oid)
        raw = [b"tree " + commit.tree.encode(), b"parent " + head.encode(), b"author " + commit.author]
        raw += [b"committer Fork <fork@example.invalid> 1700000000 +0000", b"", commit.message]
        head = ids[oid] = repo.git("hash-object", "-t", "commit", "-w", "--stdin", input=b"\n".join(raw))
    repo.git("update-ref", f"refs/heads/{RECIPE}", head)
    return ids


def test_the_same_manifest_on_forks_by_the_upstream_ids(ported, forks, monkeypatch):
    """`--by upstream` with two URLs picks the original ids: the same trees, authors and subjects arrive there."""
    from porttool.cli import main

    ours, theirs = forks
    ids = rewritten_history(ours)
    text = ported.file().read_text()
    originals = [oid for row in TABLE for oid in row[2]]
    for original, new in zip(originals, ids.values(), strict=True):
        text = text.replace(original, new[:8])
    assert all(oid not in text for oid in originals)
    ported.file().write_text(text)
    words = ["--source-repo", f"file://{ours.path}", "--target-repo", str(theirs.path), "--by", "upstream"]
    assert main(["apply", str(ported.file()), *words]) == 0
    assert main(["verify", str(ported.file()), *words]) == 0
    told = "--format=%T|%an <%ae>|%at|%s"
    log = [repo.git("log", told, f"{SHARE}..{PORT}") for repo in (theirs, ported.repo)]
    assert log[0] == log[1] and log[0].count("\n") == 5
    message = theirs.git("log", "-1", "--format=%B", PORT)
    assert trailer(message.encode(), "Ported-From")[0].endswith(f"@{list(ids.values())[-1]}")
    before = ported.repo.git("rev-parse", PORT)
    assert main(["apply", str(ported.file()), *words]) == 0
    assert ported.repo.git("rev-parse", PORT) == before
