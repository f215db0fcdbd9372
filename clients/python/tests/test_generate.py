"""Where the OpenAPI document and the client part ways."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from reverie_memory import AsyncReverie, Reverie, models
from server import Server

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import generate


def test_generated_files_are_of_the_document(golden: dict[str, Any]) -> None:
    for path, text in generate.generate(golden).items():
        assert path.read_text("utf-8") == text, f"{path.name} is not what the document says: run python generate.py"


def parted(document: dict[str, Any], names: tuple[str, ...] = ()) -> list[str]:
    """What a document has and the client has not: operations, and models of these names."""
    missing = []
    for name, method, path, _ in generate.each_operation(document):
        if name in generate.LEFT_OUT:
            continue
        for client in (Reverie, AsyncReverie):
            if not callable(getattr(client, generate.method_name(name), None)):
                missing.append(f"{client.__name__} has no method for {name} ({method} {path})")
    missing += [f"models has no {s}" for s in names if not hasattr(models, s)]
    return missing


def test_every_operation_has_a_method(golden: dict[str, Any]) -> None:
    assert parted(golden, tuple(golden["components"]["schemas"])) == []
    assert len(generate.each_operation(golden)) > 35


def test_the_server_is_of_the_same_document(server: Server) -> None:
    assert parted(server.document()) == []


def test_a_new_operation_is_found(golden: dict[str, Any]) -> None:
    paths = {**golden["paths"], "/v1/new": {"get": {"operationId": "do-new", "responses": {}}}}
    assert parted({**golden, "paths": paths}) == [
        "Reverie has no method for do-new (GET /v1/new)",
        "AsyncReverie has no method for do-new (GET /v1/new)",
    ]


def test_methods_by_hand_are_there() -> None:
    for operation, method in generate.BY_HAND.items():
        assert callable(getattr(Reverie, method)), operation


@pytest.mark.parametrize(
    ("schema", "python"),
    [
        ({"type": "string"}, "str"),
        ({"type": ["string", "null"]}, "str | None"),
        ({"anyOf": [{"$ref": "#/components/schemas/A"}, {"type": "null"}]}, "A | None"),
        ({"type": "array", "items": {"$ref": "#/components/schemas/A"}}, "list[A]"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]"),
        ({"enum": ["a", "b"], "type": "string"}, 'Literal["a", "b"]'),
        ({}, "Any"),
    ],
)
def test_types(schema: dict[str, Any], python: str) -> None:
    assert generate.python(schema) == python
