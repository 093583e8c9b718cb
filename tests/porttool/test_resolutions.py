"""The ledger: exact keys, exact bytes, nothing implicit."""

from __future__ import annotations

import json

import pytest

from porttool.errors import EnvironmentFault, ManifestError, UsageError
from porttool.repo import Entry, Repository
from porttool.resolutions import Ledger, Sides, add, drop, recorded, show, write_atomic

SOURCE = "a" * 40


@pytest.fixture
def here(repo) -> Repository:
    return Repository.open(repo.path)


def sides(here, *contents) -> Sides:
    return Sides(*(None if text is None else Entry(0o100644, here.write(text)) for text in contents))


def record(here, folder, content=b"x\xff\r\n", path="d/f", **told):
    given = sides(here, b"b", b"o", b"t")
    result = None if content is None else Entry(0o100644, here.write(content))
    return add(folder, source=SOURCE, path=path, sides=told.get("sides", given), result=result, content=content or b"",
               author="Me <me@x>", reason="why")  # fmt: skip


def test_what_is_added_is_listed_shown_and_dropped(here, tmp_path):
    """Files beside the manifest hold key, author, reason and the content byte for byte; dropping removes both."""
    made = record(here, tmp_path / "r")
    assert recorded(tmp_path / "r") == (made,)
    assert show(tmp_path / "r", made.id[:6]) == (made, b"x\xff\r\n")
    assert (made.author, made.reason) == ("Me <me@x>", "why")
    assert drop(tmp_path / "r", made.id) == made
    assert list((tmp_path / "r").iterdir()) == [] and recorded(tmp_path / "none") == ()


def test_a_deletion_is_a_resolution(here, tmp_path):
    """A file that goes has no content."""
    made = record(here, tmp_path, None)
    assert show(tmp_path, made.id) == (made, None)
    assert Ledger(here, [made]).decide(SOURCE, "d/f", made.sides) == (made.id, "d/f", None)


def test_replay_only_on_the_exact_key(here, tmp_path):
    """Another source or path asks for nothing; other sides make it stale, and the error says which."""
    made = record(here, tmp_path)
    ledger = Ledger(here, recorded(tmp_path))
    assert ledger.decide("b" * 40, "d/f", made.sides) is None and ledger.decide(SOURCE, "d/g", made.sides) is None
    assert ledger.unused() == [made]
    decision = ledger.decide(SOURCE, "d/f", made.sides)
    assert decision.result == made.result and here.read(decision.result.oid) == b"x\xff\r\n"
    assert ledger.unused() == [] and ledger.get(made.id) == made
    for changed, told in (((b"b", b"O", b"t"), "ours changed"), ((b"B", b"o", None), "base and theirs changed")):
        with pytest.raises(ManifestError, match=told):
            ledger.decide(SOURCE, "d/f", sides(here, *changed))


def test_a_mode_is_part_of_the_key(here, tmp_path):
    """The same contents under another mode are another decision."""
    made = record(here, tmp_path)
    ours = made.sides.ours._replace(mode=0o100755)
    with pytest.raises(ManifestError, match="stale"):
        Ledger(here, [made]).decide(SOURCE, "d/f", made.sides._replace(ours=ours))


def test_two_targets_may_each_have_theirs(here, tmp_path):
    """Several resolutions of one path are told apart by their sides."""
    one = record(here, tmp_path)
    two = record(here, tmp_path, b"other", sides=sides(here, b"b", b"o2", b"t"))
    ledger = Ledger(here, recorded(tmp_path))
    assert ledger.decide(SOURCE, "d/f", one.sides).id == one.id
    assert ledger.decide(SOURCE, "d/f", two.sides).id == two.id


def test_t41_markers_are_refused(here, tmp_path):
    """A content with conflict markers is never recorded."""
    with pytest.raises(UsageError, match="markers"):
        record(here, tmp_path, b"<<<<<<< x\na\n=======\nb\n>>>>>>> y\n")
    assert not list(tmp_path.glob("*.json"))


@pytest.mark.parametrize("harm", ["content", "lines", "missing", "key", "json"])
def test_a_damaged_record_is_a_fault(here, tmp_path, harm):
    """Changed content (a checkout's line ends too), a changed key and broken JSON each name the file."""
    made = record(here, tmp_path, b"a\nb\n")
    content = made.file.with_suffix(".content")
    if harm == "content":
        content.write_bytes(b"other")
    elif harm == "lines":
        content.write_bytes(b"a\r\nb\r\n")
    elif harm == "missing":
        content.unlink()
    elif harm == "key":
        made.file.write_text(json.dumps({**json.loads(made.file.read_text()), "path": "elsewhere"}))
    else:
        made.file.write_text("{")
    with pytest.raises(ManifestError) as caught:
        show(tmp_path, made.id)
    assert str(made.file.stem) in caught.value.where


def test_an_unknown_id_is_a_mistake_of_usage(here, tmp_path):
    """None and several both say so."""
    record(here, tmp_path)
    record(here, tmp_path, path="d/g")
    for id in ("zz", ""):
        with pytest.raises(UsageError, match="resolution"):
            show(tmp_path, id)


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    """Writing is whole or not at all, and the fault is the machine's."""
    file = tmp_path / "f"
    write_atomic(file, b"old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(EnvironmentFault, match="No space left"):
        write_atomic(file, b"new")
    assert file.read_bytes() == b"old" and list(tmp_path.iterdir()) == [file]
