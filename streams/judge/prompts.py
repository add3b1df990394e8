"""Prompts as files, and the tools that models answer with; the id of a prompt is a hash of both."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import orjson

Schema = dict[str, Any]
Name = Literal["compare-same", "compare-relation", "compose", "review"]

ANSWERS: Mapping[str, tuple[str, ...]] = {
    "compare-same": ("same", "different"),
    "compare-relation": ("same", "update", "compose", "different"),
    "review": ("same", "different"),
}
"""The allowed answers to each prompt about pairs."""


@dataclass(frozen=True)
class Prompt:
    """A system prompt, and the tool that the model answers with.

    `id` is the name with the hash of both; verdicts record it, and cached answers are keyed by it.
    """

    name: str
    text: str
    tool: Schema = field(hash=False)

    @property
    def id(self) -> str:
        """`NAME@sha256:` and 16 hex digits."""
        content = orjson.dumps([self.text, self.tool], option=orjson.OPT_SORT_KEYS)
        return f"{self.name}@sha256:{hashlib.sha256(content).hexdigest()[:16]}"


@cache
def prompt(name: Name) -> Prompt:
    """Return the shipped prompt of that name."""
    path = files("palimpsest.streams.judge").joinpath("prompts", f"{name}.md")
    tool = _compose() if name == "compose" else _answer(ANSWERS[name])
    return Prompt(name, path.read_text(encoding="utf-8"), tool)


@cache
def in_json(asked: Prompt) -> Prompt:
    """The same prompt for a model that writes one JSON object instead of calling a tool."""
    call = f"Call the tool `{asked.tool['name']}` exactly once, and write nothing else."
    form = orjson.dumps(_example(asked.tool["input_schema"])).decode()
    write = f"Write one JSON object of the form {form}, without anything before or after it."
    before, found, after = asked.text.partition(call)
    assert found, asked.name
    return Prompt(asked.name, f"{before}{write}{after}", asked.tool)


def _example(schema: Schema) -> Any:
    """An example document of a schema, with placeholders for what the model chooses."""
    match schema["type"]:
        case "object":
            return {name: _example(one) for name, one in schema["properties"].items()}
        case "array":
            return [_example(schema["items"])]
        case "integer":
            return 1
        case _:
            return " or ".join(schema.get("enum", ["…"]))


@dataclass(frozen=True)
class PromptDecision:
    """The questions to a decision model about one pair: a choice, and whether both are the same.

    `task` precedes all pairs. `choices` has the criterion of each label, in the order in which they
    are sent, and `means` the answer that each label stands for.
    """

    task: str
    choice: str
    choices: dict[str, str]
    means: dict[str, str]
    same: str


@cache
def decision(name: Name) -> PromptDecision:
    """The questions that replace a prompt about pairs."""
    path = files("palimpsest.streams.judge").joinpath("prompts", "decisions.toml")
    shipped = tomllib.loads(path.read_text(encoding="utf-8"))
    found = shipped[name]
    labels = {label: choice.get("means", label) for label, choice in found["choices"].items()}
    criteria = {label: choice["when"] for label, choice in found["choices"].items()}
    return PromptDecision(shipped["task"], found["choice"], criteria, labels, found["same"])


def _answer(allowed: tuple[str, ...]) -> Schema:
    """The reason precedes the answer, so that the answer follows from it."""
    entry = {
        "pair": {"type": "integer", "description": "The number of the pair."},
        "reason": {"type": "string", "description": "At most fifteen words, quoting nothing."},
        "answer": {"type": "string", "enum": list(allowed)},
    }
    entries = {"type": "array", "items": _object(entry), "description": "One entry for each pair."}
    return tool("answer", "Give the answers about all pairs.", {"answers": entries})


def _compose() -> Schema:
    text = {"type": "string", "description": "The one memory; empty if none can be made."}
    return tool("compose", "Give the one memory that is made of all.", {"text": text})


def tool(name: str, description: str, properties: Schema) -> Schema:
    """A tool whose input the service validates against its schema (`strict`)."""
    return {
        "name": name,
        "description": description,
        "strict": True,
        "input_schema": _object(properties),
    }


def _object(properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
