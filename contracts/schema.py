"""JSON Schemas (draft 2020-12) of everything on the wire, generated from the models.

Each describes what is accepted. Documents written under it must stay valid, so every change to a
schema is compared with the frozen copy in contracts/schemas (tests/contracts/compatibility.py).
"""

from __future__ import annotations

import re
from typing import Any, get_args

import orjson
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from palimpsest.contracts.asyncapi import asyncapi
from palimpsest.contracts.candidate import MAX_TEXT_BYTES, Candidate
from palimpsest.contracts.events import AnyEvent, Event
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.questions import QUESTION
from palimpsest.contracts.requests import REQUEST

Schema = dict[str, Any]


_NOT_BLANK = r"^[^\u0000]*[^\s\u0000][^\u0000]*$"
_ENVELOPE = ("specversion", "id", "source", "type")
"""What CloudEvents 1.0 requires of every event."""
_NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 512, "pattern": _NOT_BLANK}
_TAGS = ("type", "request", "question")
"""The tags of unions: always present, although the models have a default for them."""


class _Untitled(GenerateJsonSchema):
    """Fields carry no titles: `Owner Id` says nothing that `owner_id` does not."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's name
        return False


def documents() -> dict[str, Schema]:
    """Every schema by its file name; the same code gives the same documents."""
    made = {
        "candidate.json": candidate_row(),
        "policy.json": _schema(Policy),
        "request.json": _schema(REQUEST),
        "answer.json": answer(),
        "progress.json": progress(),
        "question.json": _schema(QUESTION),
    }
    made |= producer_schemas()
    made |= {event_file(kind): _event(kind) for kind in get_args(AnyEvent)}
    named = {name: _named(name, schema) for name, schema in made.items()}
    return named | {"asyncapi.json": asyncapi(list(named))}


def written(schema: Schema) -> bytes:
    """The content of a document's file."""
    return orjson.dumps(schema, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def event_file(kind: type[Event]) -> str:
    """The file of an event's schema: `palimpsest.decided.v1` is in `event.decided.v1.json`."""
    return f"event.{kind.type.removeprefix('palimpsest.')}.json"


def candidate_row() -> Schema:
    """A candidate as a bare row: only two fields are required; unknown fields are kept."""
    schema = _schema(Candidate)
    fields = {name: _or_null(field) for name, field in schema["properties"].items()}
    fields |= {name: schema["properties"][name] for name in ("owner_id", "text")}
    fields["owner_id"] = _NAME
    fields["id"] = {"type": ["string", "integer", "null"]}
    fields["text"] |= {"minLength": 1, "maxLength": MAX_TEXT_BYTES, "pattern": _NOT_BLANK}
    fields["text"]["description"] = f"At most {MAX_TEXT_BYTES} bytes of UTF-8."
    fields["created_at"] = fields["occurred_at"] | {"description": "Another name of occurred_at."}
    began = "Time of the session's first message. It identifies a session that has no session_id."
    fields["session_began_at"] = fields["occurred_at"] | {"description": began}
    required = {"required": ["owner_id", "text"], "additionalProperties": True}
    return schema | {"properties": fields} | required


def _or_null(field: Schema) -> Schema:
    if {"type": "null"} in field.get("anyOf", []):
        return field
    return {"anyOf": [field, {"type": "null"}]}


def producer_schemas() -> dict[str, Schema]:
    """The messages of producers, each a CloudEvent; its `id` and `source` are the envelope's."""
    row = candidate_row()
    definitions = row.pop("$defs")
    candidate = row | {"description": "A candidate; the envelope's `time` is when it was sent."}
    member = "The candidate id of any member of the memory that was used."
    session = _notice("session_id", "The id of one of the owner's sessions.")
    return {
        "said.candidate.v1.json": _envelope("candidate", candidate) | {"$defs": definitions},
        "said.session_ended.v1.json": _envelope("session_ended", session),
        "said.compacted.v1.json": _envelope("compacted", session),
        "said.accessed.v1.json": _envelope("accessed", _notice("candidate_id", member)),
    }


def answer() -> Schema:
    """The answer to a request: what it did, or why it was not carried out."""
    text: Schema = {"type": "string"}
    refused = {"type": "object", "properties": {"reason": text, "detail": text}}
    ways: dict[str, Schema] = {
        "done": {
            "type": "object",
            "description": "What the request's command prints. If a list is too long for a record,"
            " only its last entries are kept; `left_out` counts the missing ones of each list.",
        },
        "refused": refused | {"required": ["reason", "detail"]},
        "usage": text | {"description": "What is wrong with the request itself."},
        "failed": text | {"description": "The type of the exception, if the request hit a bug."},
    }
    return {
        "type": "object",
        "description": "The key of the record is the request's id.",
        "properties": ways,
        "oneOf": [{"required": [way]} for way in ways],
    }


def progress() -> Schema:
    """The progress of a long request, sent before its answer."""
    count = {
        "type": "integer",
        "minimum": 0,
        "description": "The number of its commands that have run so far.",
    }
    return {"type": "object", "properties": {"so_far": count}, "required": ["so_far"]}


def _notice(subject: str, description: str) -> Schema:
    fields = {"owner_id": _NAME, subject: _NAME | {"description": description}}
    return {"type": "object", "properties": fields, "required": sorted(fields)}


def _envelope(name: str, data: Schema) -> Schema:
    fields = {
        "specversion": {"const": "1.0"},
        "id": _NAME,
        "source": _NAME,
        "type": {"const": f"palimpsest.{name}.v1"},
        "time": {"type": ["string", "null"], "format": "date-time"},
        "data": data,
    }
    return {"type": "object", "properties": fields, "required": [*_ENVELOPE, "data"]}


def _event(kind: type[Event]) -> Schema:
    """An event's schema; constants are required, although the model has a default for them."""
    schema = _schema(kind)
    return schema | {"required": sorted({*_ENVELOPE, *schema["required"]})}


def _schema(what: Any) -> Schema:
    adapter = what if isinstance(what, TypeAdapter) else TypeAdapter(what)
    schema = adapter.json_schema(schema_generator=_Untitled)
    for part in (schema, *schema.get("$defs", {}).values()):
        tags = [name for name in _TAGS if "const" in part.get("properties", {}).get(name, {})]
        if tags:
            part["required"] = sorted({*tags, *part.get("required", [])})
        if "description" in part:
            part["description"] = re.sub(r"\s+", " ", part["description"])
    return schema


def _named(name: str, schema: Schema) -> Schema:
    urn = f"urn:palimpsest:schema:{name.removesuffix('.json')}"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": urn} | schema
