"""`porttool schema` says what the loader takes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from porttool.manifest_schema import COMMITS, LAYOUT, MANIFEST, POLICY, ByKey, ByKind, Record, Seq, Table
from porttool.schema import json_schema
from porttool.schema_reference import reference
from tests.porttool.test_manifest import BAD, BAD_LAYOUT, EXAMPLE, SHORT

# Mistakes that no JSON Schema can tell: they need two places, or are not in the YAML's values at all.
BEYOND = {
    "duplicate key", "picked twice", "python object", "own tag", "alias of itself", "undefined alias", "not YAML",
    "key that is a list", "two documents", "impossible date", "two paths to one", "two modules to one",
    "two keys to one", "two symbols to one", "one path twice", "star on one side", "two stars",
    "two fragments to one", "fragment of two kinds", "words and part", "module of two kinds",
}  # fmt: skip


TYPES = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
}


def valid(value, schema) -> bool:
    """A validator for the part of JSON Schema that porttool prints."""
    return all(_holds(value, key, told, schema) for key, told in schema.items())


def _holds(value, key, told, schema) -> bool:
    match key:
        case "type":
            return any(TYPES[name](value) for name in ([told] if isinstance(told, str) else told))
        case "enum":
            return value in told
        case "oneOf" | "anyOf":
            fitting = sum(valid(value, part) for part in told)
            return fitting == 1 if key == "oneOf" else fitting > 0
        case "pattern":
            return not isinstance(value, str) or re.search(told, value) is not None
        case "minimum" | "maximum":
            return not isinstance(value, int) or (value >= told if key == "minimum" else value <= told)
        case "minItems" | "items":
            if not isinstance(value, list):
                return True
            return len(value) >= told if key == "minItems" else all(valid(item, told) for item in value)
    return not isinstance(value, dict) or _valid_object(key, told, value, schema)


def _valid_object(key, told, value, schema) -> bool:
    match key:
        case "required":
            return set(told) <= set(value)
        case "properties":
            return all(valid(value[name], told[name]) for name in told if name in value)
        case "propertyNames":
            return all(valid(name, told) for name in value)
        case "additionalProperties":
            rest = [item for name, item in value.items() if name not in schema.get("properties", {})]
            return not rest if told is False else all(valid(item, told) for item in rest)
    return True


def test_schema_is_json_and_closed():
    """The schema is JSON, and each record refuses unknown keys."""
    text = json.dumps(json_schema())
    assert json.loads(text)["additionalProperties"] is False
    assert json_schema()["required"] == ["version", "source", "target", "layout"]


def test_every_key_is_documented():
    """Each key of each record carries a sentence, and the schema shows it."""

    def walk(shape, schema):
        if isinstance(shape, Record):
            assert list(schema["properties"]) == list(shape.keys)
            for name, key in shape.keys.items():
                assert key.doc
                assert schema["properties"][name]["description"]
                walk(key.shape, schema["properties"][name])
        elif isinstance(shape, Seq):
            walk(shape.of, schema["items"])
        elif isinstance(shape, Table):
            walk(shape.of, schema["additionalProperties"])
        elif isinstance(shape, ByKey | ByKind):
            parts = shape.records.values() if isinstance(shape, ByKey) else shape.shapes
            for part, told in zip(parts, schema["oneOf"], strict=True):
                walk(part, told)

    walk(MANIFEST, json_schema())


@pytest.mark.parametrize("text", [EXAMPLE, SHORT, SHORT + "commits: {range: a..b}\n"])
def test_schema_takes_what_the_loader_takes(text):
    """A manifest that loads is valid under the printed schema."""
    assert valid(yaml.safe_load(text), json_schema())


@pytest.mark.parametrize("case", sorted((BAD.keys() | BAD_LAYOUT.keys()) - BEYOND))
def test_schema_refuses_what_the_loader_refuses(case):
    """A mistake in one place is seen by an editor too."""
    text = SHORT + BAD[case][0] if case in BAD else SHORT.replace("{}", f"{{{BAD_LAYOUT[case][0]}}}")
    assert not valid(yaml.safe_load(text), json_schema())


def test_the_reference_in_docs_is_the_one_that_the_table_gives():
    """docs/manifest.md ends with exactly what `porttool schema --markdown` prints."""
    docs = (Path(__file__).parents[2] / "docs/manifest.md").read_text(encoding="utf-8")
    assert docs.endswith(reference())


def test_the_reference_names_every_key_of_the_layout():
    """No key of a layout, a policy or a commit is left out."""
    told = reference()
    keys = [*LAYOUT.keys, *POLICY.keys, *(key for record in COMMITS.values() for key in record.keys)]
    assert [key for key in keys if f"| `{key}`" not in told] == []
