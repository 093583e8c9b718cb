"""The JSON Schema of a manifest, derived from the table that the loader reads by."""

from __future__ import annotations

from typing import Any

from porttool.manifest_schema import (
    FORMATS,
    MANIFEST,
    ByKey,
    ByKind,
    Flag,
    Free,
    Record,
    Seq,
    Shape,
    Table,
    Text,
    Whole,
    Word,
)


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) for editors: it accepts what the loader accepts, checks that need two places apart."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "porttool manifest",
        **_shape(MANIFEST),
    }


def _shape(shape: Shape) -> dict[str, Any]:
    match shape:
        case Text():
            return _text(shape.format)
        case Word():
            words = {"enum": list(shape.words)}
            return {"anyOf": [words, _text(shape.or_format)]} if shape.or_format else words
        case Whole():
            return {"type": "integer", "minimum": shape.least, "maximum": shape.most}
        case Flag():
            return {"type": "boolean"}
        case Free():
            return {}
        case Seq():
            return {"type": "array", "items": _shape(shape.of)} | ({"minItems": shape.least} if shape.least else {})
        case Table():
            names = {"pattern": _anchored(shape.key.format)}
            return {"type": "object", "propertyNames": names, "additionalProperties": _shape(shape.of)}
        case Record():
            return _record(shape)
        case ByKey():
            return {"oneOf": [_shape(record) for record in shape.records.values()]}
        case ByKind():
            return {"oneOf": [_shape(part) for part in shape.shapes]}


def _record(record: Record) -> dict[str, Any]:
    required = [name for name, key in record.keys.items() if key.required]
    return {
        "type": "object",
        "properties": {name: {"description": key.doc, **_shape(key.shape)} for name, key in record.keys.items()},
        "additionalProperties": False,
        **({"required": required} if required else {}),
    }


def _text(format: str) -> dict[str, Any]:
    # A plain scalar such as `8356216` is a number to an editor; the loader takes the characters.
    kind = ["string", "number"] if FORMATS[format].plain else "string"
    return {"type": kind, "pattern": _anchored(format), "description": FORMATS[format].told}


def _anchored(format: str) -> str:
    return f"^(?:{FORMATS[format].pattern})$"
