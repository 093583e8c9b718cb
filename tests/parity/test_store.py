"""Captures as files: stable, refused in CI, incomparable in another environment."""

from __future__ import annotations

import json

import pytest

from parity.compare import Rule
from parity.record import to_json
from parity.store import Store, refuse_in_ci
from parity.verdict import Verdict
from porttool.errors import ManifestError, UsageError
from tests.parity.consumers_support import captured


@pytest.fixture
def store(tmp_path):
    """The store beside an empty folder's manifest."""
    return Store(tmp_path / "port.yaml")


def test_nothing_stored(store):
    """Without a file there is nothing to hold a side to."""
    assert store.held(captured(wire={"a": 1})) is None


def test_written_and_held(store):
    """A side that did not change matches its file; one that did differs, and says where."""
    file = store.update(captured(wire={"a": 1}), {})
    assert file.name == "plain.source.json" and file.parent.name == "port.captures"
    assert store.held(captured(wire={"a": 1})).judged.verdict is Verdict.MATCH
    changed = store.held(captured(wire={"a": 2}))
    assert changed.judged.verdict is Verdict.DIFFER
    assert [finding.key for finding in changed.comparison.findings] == ["a"]
    assert (
        store.held(captured(wire={"a": 2}), (Rule("wire.a", "volatile", "a clock"),)).judged.verdict
        is not Verdict.MATCH
    )


def test_another_environment(store):
    """Other packages make a file incomparable, not wrong."""
    store.update(captured(wire={"a": 1}), {})
    other = captured(wire={"a": 2}, provenance={"env.python": "3.11", "env.torch": "3"})
    held = store.held(other)
    assert held.judged.verdict is Verdict.INCOMPARABLE
    assert "env.torch" in held.judged.reason


def test_stable(store):
    """Writing again changes nothing; branch and commit, which change with every rebuild, are not kept."""
    capture = captured(wire={"b": 1, "a": [0.1, True]}, provenance={"env.torch": "2", "commit": "abc", "seed": "1"})
    file = store.update(capture, {})
    text = file.read_text()
    store.update(capture, {"CI": "false"})
    assert file.read_text() == text and text.endswith("}\n")
    assert json.loads(text)["provenance"] == {"env.torch": "2", "seed": "1"}
    assert text.index('"a[0]"') < text.index('"b"')
    assert list(store.folder.iterdir()) == [file]


@pytest.mark.parametrize("value", ["true", "1", "yes", "True"])
def test_refused_in_ci(store, value):
    """CI does not write what it is held to."""
    with pytest.raises(UsageError, match="refused in CI"):
        store.update(captured(wire={"a": 1}), {"CI": value})
    assert not store.folder.exists()


@pytest.mark.parametrize("value", ["", "0", "false"])
def test_not_in_ci(value):
    """An unset or negative CI is no CI."""
    refuse_in_ci({"CI": value})
    refuse_in_ci({})


def test_a_crash_is_not_stored(store):
    """A run that died is nothing to hold a side to."""
    with pytest.raises(UsageError, match="crashed and is not stored: ValueError: no"):
        store.update(captured(crashed="Traceback\nValueError: no"), {})


def test_a_broken_file(store):
    """A file that is no capture is named, with what to do."""
    store.folder.mkdir()
    file = store.file("plain", "source")
    for text in ("{}", "no json", to_json(captured(wire={"a": 1}))[:40]):
        file.write_text(text)
        with pytest.raises(ManifestError) as told:
            store.read("plain", "source")
        assert told.value.where == str(file) and "--update" in told.value.hint
