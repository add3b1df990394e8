"""The topics of the cluster as an AsyncAPI 3 document (docs/design.md, Two runtimes)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SCHEMA_FORMAT = "application/schema+json;version=draft-2020-12"
STRUCTURED = "application/cloudevents+json"
FOR_EVER = {"cleanup.policy": ["delete"], "retention.ms": -1}
_OWNER = {"type": "string", "description": "The owner; the partitioner is murmur2."}
_EVENT = {
    "type": ["string", "null"],
    "description": "The owner; the partitioner is murmur2. An event without an owner has no key.",
}
_POLICY = {
    "enum": ["policy", None],
    "description": "In `memory.policies` it is `policy`; in `memory.decisions` there is none.",
}
_REQUEST = {
    "type": "string",
    "description": "The request's id; its partitions are those of the owners it may concern.",
}
_PROGRESS = {"type": "string", "description": "The request's id, followed by `/so-far`."}
BARE = {
    "request": _REQUEST,
    "answer": _REQUEST,
    "progress": _PROGRESS,
    "question": _OWNER,
}
"""The messages that are bare JSON, with their keys; all others are CloudEvents."""

POLICY = "event.policy_set.v1"

Document = dict[str, Any]


def asyncapi(schema_files: Sequence[str]) -> Document:
    """The document; its payloads refer to these schema files, which lie beside it."""
    names = [file.removesuffix(".json") for file in schema_files]
    messages = [name for name in names if name.startswith("said.")]
    events = [name for name in names if name.startswith("event.")]
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Palimpsest",
            "version": "1",
            "description": "Agents' memories, free of duplicates; `memory.decisions` is the log.",
        },
        "defaultContentType": STRUCTURED,
        "channels": {
            "candidates": _channel("memory.candidates", "All input of producers.", messages),
            "commands": _channel(
                "memory.commands", "Requests of operators, and verdicts.", ["request"]
            ),
            "decisions": _channel(
                "memory.decisions",
                "The log; it always has the same number of partitions as the candidates.",
                events,
                FOR_EVER,
            ),
            "policies": _channel(
                "memory.policies",
                "The policy in force, under the one key `policy`.",
                [POLICY],
                {"cleanup.policy": ["compact"]},
            ),
            "answers": _channel("memory.answers", "Answers to requests.", ["answer", "progress"]),
            "verifications": _channel(
                "memory.verifications",
                "Questions to the judge; its verdicts come back as commands.",
                ["question"],
            ),
            "dead-letters": _channel("memory.dead-letters", "Unreadable input, byte for byte.", []),
        },
        "operations": {
            "publish": _operation("receive", "candidates"),
            "ask": _operation("receive", "commands"),
            "decide": _operation("send", "decisions"),
            "reply": _operation("send", "answers"),
            "announce": _operation("send", "policies"),
            "verify": _operation("send", "verifications"),
            "reject": _operation("send", "dead-letters"),
        },
        "components": {"messages": {name: _message(name) for name in [*BARE, *messages, *events]}},
    }


def _channel(
    address: str, description: str, messages: Sequence[str], topic: Document | None = None
) -> Document:
    channel: Document = {"address": address, "description": description}
    if messages:
        refs = {name: {"$ref": f"#/components/messages/{name}"} for name in messages}
        channel["messages"] = refs
    if topic:
        channel["bindings"] = {"kafka": {"topicConfiguration": topic}}
    return channel


def _operation(action: str, channel: str) -> Document:
    return {"action": action, "channel": {"$ref": f"#/channels/{channel}"}}


def _message(name: str) -> Document:
    """A message and its key."""
    of_kind = _EVENT if name.startswith("event.") else _OWNER
    key = {**BARE, POLICY: _POLICY}.get(name, of_kind)
    return {
        "name": name,
        "contentType": "application/json" if name in BARE else STRUCTURED,
        "payload": {"schemaFormat": SCHEMA_FORMAT, "schema": {"$ref": f"./{name}.json"}},
        "bindings": {"kafka": {"key": key}},
    }
