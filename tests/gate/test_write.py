"""Reports as files: whole or not at all, and nothing but files is replaced."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from parity.gate.sarif import sarif
from parity.gate.write import written
from porttool.errors import EnvironmentFault
from tests.gate.support import DIFFER, case, differing, found, gate, probe


def test_a_pipe_is_written_to_and_stays_one(tmp_path):
    """What is no file, such as a device, is never put aside for one."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    told: list[bytes] = []
    reader = threading.Thread(target=lambda: told.append(pipe.read_bytes()))
    reader.start()
    written(differing(), {"sarif": pipe})
    reader.join(10)
    assert json.loads(told[0])["version"] == "2.1.0"
    assert pipe.is_fifo()


def test_a_link_is_written_through(tmp_path):
    """So is a link: /dev/stdout is one."""
    (tmp_path / "to").write_text("before")
    (tmp_path / "link").symlink_to("to")
    written(differing(), {"html": tmp_path / "link"})
    assert (tmp_path / "link").is_symlink() and "DIFFER" in (tmp_path / "to").read_text()


def test_one_that_cannot_be_written_keeps_no_other_back(tmp_path):
    """The folder is named, and the other reports are there."""
    files = {"junit": tmp_path, "sarif": tmp_path / "a.sarif"}
    with pytest.raises(EnvironmentFault, match="it is a folder"):
        written(differing(), files)
    assert (tmp_path / "a.sarif").is_file()
    assert [file.name for file in tmp_path.iterdir()] == ["a.sarif"]


def test_a_key_that_is_no_text():
    """A name with half a surrogate pair has a fingerprint too."""
    odd = gate(probe("wire", case("plain", DIFFER, found("plain/\ud800"))))
    assert len(json.loads(sarif(odd))["runs"][0]["results"]) == 1


@pytest.mark.parametrize("other", ["r/gate", "r/../r/gate", "link/gate"])
def test_two_reports_in_one_file(run, project, sent, other):
    """Only one of them would be there: refused before anything runs, however the path is written."""
    Path("r").mkdir()
    Path("link").symlink_to("r")
    code, out, err = run("gate", "--junit", "r/gate", "--html", other)
    assert (code, out, sent.made) == (2, "", [])
    assert err.splitlines() == [
        "error: --junit and --html name the same file",
        f"  at: {other}",
        "hint: give each report its own file",
    ]
    assert list(Path("r").iterdir()) == []
