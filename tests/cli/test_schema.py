"""`porttool schema` prints JSON and nothing else."""

from __future__ import annotations

import json

from porttool.schema import json_schema


def test_schema(run):
    """The JSON Schema, with or without --json."""
    code, out, err = run("schema")
    assert (code, err) == (0, "")
    assert json.loads(out) == json_schema()
    assert run("schema", "--json").out == out
