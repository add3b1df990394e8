"""The schemas are generated from the models, frozen in the repository, and only grow."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import orjson
import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from palimpsest.contracts.errors import InvalidInputError
from palimpsest.contracts.events import AnyEvent, Event
from palimpsest.contracts.requests import REQUEST, AnyRequest
from palimpsest.contracts.schema import documents, event_file, written
from palimpsest.contracts.wire import encode
from palimpsest.streams.cluster.records import POLICY_KEY
from palimpsest.streams.intake import parse
from palimpsest.streams.policies import load_policy, preset_names
from tests.contracts.compatibility import incompatibilities
from tests.contracts.examples import events, models
from tests.long import examples
from tests.tables import each

FROZEN = Path(__file__).parents[2] / "contracts" / "schemas"
DOCUMENTS = documents()
SCHEMAS = {name: schema for name, schema in DOCUMENTS.items() if name != "asyncapi.json"}
REQUESTS = get_args(get_args(AnyRequest)[0])


def valid(name: str, document: Any) -> bool:
    return bool(Draft202012Validator(SCHEMAS[name]).is_valid(document))


def read(row: Any) -> bool:
    try:
        parse(orjson.dumps(row), source="chat")
    except InvalidInputError:
        return False
    return True


def test_the_frozen_schemas_are_the_generated_ones() -> None:
    frozen = {path.name: path.read_bytes() for path in FROZEN.glob("*.json")}
    generated = {name: written(document) for name, document in DOCUMENTS.items()}
    differ = sorted(n for n in frozen | generated if frozen.get(n) != generated.get(n))
    assert not differ, f"run `make schemas` and look at the difference of {', '.join(differ)}"


@each("frozen", sorted(FROZEN.glob("*.json")))
def test_nothing_of_a_frozen_schema_is_taken_back(frozen: Path) -> None:
    """A break needs a new version of the type, and an upcaster for the lines of the old one."""
    assert frozen.name in DOCUMENTS
    if frozen.name in SCHEMAS:
        old = orjson.loads(frozen.read_bytes())
        assert incompatibilities(old, SCHEMAS[frozen.name]) == []


@each("name", SCHEMAS)
def test_each_is_a_json_schema(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])
    assert SCHEMAS[name]["$id"] == f"urn:palimpsest:schema:{name.removesuffix('.json')}"


def test_there_is_one_for_every_event() -> None:
    assert {event_file(kind) for kind in get_args(AnyEvent)} <= set(SCHEMAS)


@given(events())
@settings(max_examples=examples(200))
def test_every_event_is_written_as_its_schema_says(event: AnyEvent) -> None:
    assert valid(event_file(type(event)), orjson.loads(encode(event)))


@each("kind", get_args(AnyEvent))
def test_an_event_schema_requires_what_cloudevents_requires(kind: type[Event]) -> None:
    schema = SCHEMAS[event_file(kind)]
    assert {"specversion", "id", "source", "type", "data"} <= set(schema["required"])


@each("kind", REQUESTS)
def test_a_request_schema_knows_every_request(kind: type[Any]) -> None:
    schema = SCHEMAS["request.json"]
    assert {"$ref": f"#/$defs/{kind.__name__}"} in schema["oneOf"]


REQUEST_ID = "0b6a0f6e-4b0e-4d0e-9a63-70616c696d70"


def test_a_request_is_read_as_its_schema_says() -> None:
    merge = {"request": "merge", "request_id": REQUEST_ID, "a": "1", "b": "2"}
    assert valid("request.json", merge)
    assert REQUEST.validate_python(merge).request == "merge"
    assert not valid("request.json", merge | {"a": None})
    assert not valid("request.json", {"request": "forget everything", "request_id": REQUEST_ID})


@pytest.mark.parametrize("preset", preset_names())
def test_the_presets_follow_the_policy_schema(preset: str) -> None:
    policy = load_policy(preset).model_dump(mode="json")
    assert valid("policy.json", policy)
    assert not valid("policy.json", policy | {"treshold": 1})


ROW = {"owner_id": "ada", "text": "Ada lives in Paris."}
SAID: dict[str, dict[str, str]] = {
    "candidate": {},
    "session_ended": {"session_id": "monday"},
    "compacted": {"session_id": "monday"},
    "accessed": {"candidate_id": "6f1c9c9e-4d0b-5e0a-9a63-70616c696d70"},
}
EVENT = {
    "specversion": "1.0",
    "type": "palimpsest.candidate.v1",
    "source": "chat",
    "id": "1",
    "data": ROW,
}


@pytest.mark.parametrize(
    "row",
    [
        ROW,
        ROW | {"confidence": 1, "topics": ["home"], "metadata": {"x": [1]}, "kind": "perception"},
        ROW | {"created_at": "2026-03-01T12:00:00Z", "anything": {"else": True}},
        ROW | {"namespace": None, "session_id": None, "topics": None},
        ROW | {"text": "  line\n"},
    ],
)
def test_a_row_may_be(row: Any) -> None:
    assert valid("candidate.json", row)
    assert valid("said.candidate.v1.json", EVENT | {"data": row})
    assert read(row)
    assert read(EVENT | {"data": row})


@each(
    "row",
    [
        {"text": "whose?"},
        {"owner_id": "ada"},
        ROW | {"text": " \n"},
        ROW | {"text": "nul\x00"},
        ROW | {"text": "x" * 40_000},
        ROW | {"owner_id": 7},
        ROW | {"owner_id": ""},
        ROW | {"confidence": 1.5},
        ROW | {"confidence": "high"},
        ROW | {"kind": "rumour"},
        ROW | {"topics": "home"},
        ["ada", "Ada lives in Paris."],
    ],
)
def test_a_row_may_not_be(row: Any) -> None:
    assert not valid("candidate.json", row)
    assert not valid("said.candidate.v1.json", EVENT | {"data": row})
    assert not read(row)
    assert not read(EVENT | {"data": row})


def test_a_row_may_have_a_number_for_an_id() -> None:
    assert valid("candidate.json", ROW | {"id": 7})
    assert read(ROW | {"id": 7})


@pytest.mark.parametrize("attribute", ["specversion", "id", "source", "type", "data"])
@pytest.mark.parametrize("said", SAID)
def test_what_producers_say_needs_its_attributes(said: str, attribute: str) -> None:
    event = EVENT | {"type": f"palimpsest.{said}.v1", "data": ROW | SAID[said]}
    assert valid(f"said.{said}.v1.json", event)
    assert read(event)
    without = {name: value for name, value in event.items() if name != attribute}
    assert not valid(f"said.{said}.v1.json", without)


@pytest.mark.parametrize("said", ["accessed", "session_ended", "compacted"])
def test_a_word_says_of_what(said: str) -> None:
    event = EVENT | {"type": f"palimpsest.{said}.v1"}
    assert not valid(f"said.{said}.v1.json", event)
    assert not read(event)


def references(node: Any) -> list[str]:
    if isinstance(node, list):
        return [ref for part in node for ref in references(part)]
    if not isinstance(node, dict):
        return []
    own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
    return own + [ref for value in node.values() for ref in references(value)]


def test_the_topics_of_the_design_are_described() -> None:
    document = DOCUMENTS["asyncapi.json"]
    assert document["asyncapi"] == "3.0.0"
    assert {channel["address"] for channel in document["channels"].values()} == {
        "memory.candidates",
        "memory.commands",
        "memory.decisions",
        "memory.answers",
        "memory.policies",
        "memory.verifications",
        "memory.dead-letters",
    }


def test_the_key_of_each_message_is_described() -> None:
    """As records are keyed: a policy by one word for all, in the topic that keeps the last."""
    messages = DOCUMENTS["asyncapi.json"]["components"]["messages"]
    keys = {name: message["bindings"]["kafka"]["key"] for name, message in messages.items()}
    policy = Draft202012Validator(keys["event.policy_set.v1"])
    assert policy.is_valid(POLICY_KEY.decode())
    assert not policy.is_valid("ada")
    for name, key in keys.items():
        bare = name in ("request", "answer", "progress", "question") or name.startswith("said.")
        assert Draft202012Validator(key).is_valid(None) is not bare, name


def test_every_reference_of_the_topics_leads_somewhere() -> None:
    document = DOCUMENTS["asyncapi.json"]
    for reference in references(document):
        if reference.startswith("./"):
            assert reference.removeprefix("./") in SCHEMAS
        else:
            target = document
            for part in reference.removeprefix("#/").split("/"):
                target = target[part]


@given(models(REQUESTS[0]))
def test_a_merge_request_survives_its_journey(request: Any) -> None:
    assert REQUEST.validate_json(orjson.dumps(request.model_dump(mode="json"))) == request
