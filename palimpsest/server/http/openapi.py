"""The OpenAPI document, generated from the models that check requests."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaMode

from palimpsest.server.http.operations import IN_PATH, HttpOperation
from palimpsest.server.problems import MEDIA_TYPE
from palimpsest.server.typed_dicts import readable

PLACE = "#/components/schemas/{model}"
JsonObject = dict[str, Any]

PROBLEM: JsonObject = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {
            "type": "integer",
            "description": "After 429 and 503 the same request may succeed later; 502 is a model"
            " that cannot be used, or whose answer cannot: do not repeat the request.",
        },
        "detail": {"type": "string"},
        "reason": {"type": ["string", "null"]},
        "errors": {"type": "array", "items": {"type": "object"}},
    },
}


def document(operations: Iterable[HttpOperation]) -> JsonObject:
    """An OpenAPI 3.1 document of some operations."""
    wanted = [*operations]
    schemas, parts = _schemas(wanted)
    paths: dict[str, JsonObject] = {}
    for operation in wanted:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _document_operation(
            operation, schemas
        )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Palimpsest",
            "version": version("palimpsest-memory"),
            "description": "Memories of agents without duplicates; every merge can be undone.",
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": {**parts, "Problem": PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


Schemas = dict[tuple[str, str], JsonObject]


def _schemas(operations: list[HttpOperation]) -> tuple[Schemas, JsonObject]:
    """The schemas of each operation, by its name, and the definitions that they refer to."""
    wanted: list[tuple[tuple[str, str], JsonSchemaMode, TypeAdapter[Any]]] = []
    for operation in operations:
        wanted.append(
            ((operation.name, "answer"), "serialization", TypeAdapter(readable(operation.answer)))
        )
        if operation.body is not None:
            wanted.append(((operation.name, "body"), "validation", TypeAdapter(operation.body)))
    found, parts = TypeAdapter.json_schemas(wanted, ref_template=PLACE)
    return {key: schema for (key, _), schema in found.items()}, parts.get("$defs", {})


def _document_operation(operation: HttpOperation, schemas: Schemas) -> JsonObject:
    documented: JsonObject = {
        "operationId": operation.name,
        "summary": operation.says,
        "description": f"Needs the role `{operation.role}`.",
        "parameters": [
            *(
                {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
                for name in IN_PATH.findall(operation.path)
            ),
            *_in_query(operation),
            *([_IDEMPOTENCY_KEY] if operation.writes else []),
            *([_IF_MATCH] if operation.expects else []),
        ],
        "responses": {
            "200": _content("The result.", "application/json", schemas[operation.name, "answer"]),
            "default": _content("A problem.", MEDIA_TYPE, {"$ref": PLACE.format(model="Problem")}),
        },
    }
    if operation.is_versioned:
        documented["responses"]["200"]["headers"] = {"ETag": _ETAG}
    if operation.body is not None:
        body = _content("", "application/json", schemas[operation.name, "body"])
        documented["requestBody"] = {
            "required": operation.needs_body,
            "content": body["content"],
        }
    return documented


def _content(says: str, media_type: str, schema: JsonObject) -> JsonObject:
    return {"description": says, "content": {media_type: {"schema": schema}}}


def _in_query(operation: HttpOperation) -> list[JsonObject]:
    schema = TypeAdapter(operation.query).json_schema(ref_template=PLACE)
    required = schema.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _never_null(field)}
        for name, field in schema.get("properties", {}).items()
    ]


def _never_null(field: JsonObject) -> JsonObject:
    """A field's schema without null, which a query parameter cannot be."""
    kinds = [one for one in field.get("anyOf", ()) if one != {"type": "null"}]
    rest = {
        name: part
        for name, part in field.items()
        if name != "anyOf" and (name, part) != ("default", None)
    }
    return rest | (kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else {})


_ETAG = {
    "description": "The memory's `version`, in quotes.",
    "required": True,
    "schema": {"type": "string"},
}

_IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "description": "The ETag of a previous answer: 412 if the memory has changed since.",
    "schema": {"type": "string"},
}

_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Your own id of this request: a repeat with the same id does nothing more.",
    "schema": {"type": "string", "maxLength": 512},
}
