"""Arguments as models write them are read if they can mean one thing, and refused otherwise."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from pydantic import ValidationError

from palimpsest.server.mcp.meant import read_arguments
from palimpsest.server.mcp.tools import tools_of
from tests.palimpsest.server.conftest import Server, Use
from tests.palimpsest.server.test_mcp import call, client, prose
from tests.tables import each

ID = "0f8b7c52-6c1a-5b0e-9f53-0d6f6d0c8a11"
OTHER = "1f8b7c52-6c1a-5b0e-9f53-0d6f6d0c8a11"


def read(tool: str, given: dict[str, Any]) -> dict[str, Any]:
    return read_arguments(tools_of("agent")[tool].takes, given).model_dump(exclude_unset=True)


@each(
    ("tool", "given", "means"),
    [
        ("search_memories", {"query": "tea", "k": None, "former": None}, {"query": "tea"}),
        ("search_memories", {"query": "5", "k": "3"}, {"query": "5", "k": 3}),
        ("search_memories", {"query": "[]", "min_score": "-1"}, {"query": "[]", "min_score": -1}),
        ("search_memories", {"query": "tea", "hybrid": "False"}, {"query": "tea", "hybrid": False}),
        ("add_memory", {"text": "tea", "topics": "tea, cups"}, {"topics": ("tea", "cups")}),
        ("add_memory", {"text": "tea", "topics": '["tea"]'}, {"topics": ("tea",)}),
        ("add_memory", {"text": "tea", "topics": "['tea', 'cups']"}, {"topics": ("tea", "cups")}),
        ("add_memory", {"text": "tea", "topics": '"tea"'}, {"topics": ("tea",)}),
        ("add_memory", {"text": "tea", "topics": "null"}, {"topics": None}),
        ("add_memory", {"text": "tea", "topics": "None"}, {"topics": None}),
        ("search_memories", {"query": "null", "k": "null"}, {"query": "null"}),
        ("add_memory", {"text": "tea", "metadata": '{"a": "1"}'}, {"metadata": {"a": "1"}}),
        ("search_memories", {"query": 1007, "k": 3}, {"query": "1007", "k": 3}),
        ("add_memory", {"text": "tea", "session_id": 42}, {"session_id": "42"}),
        ("get_memory", {"memory_id": 12345678}, {"memory_id": "12345678"}),
        ("get_memory", {"memory_id": {"memory_id": ID, "face": "x"}}, {"memory_id": ID}),
        ("get_memory", {"memory_id": [ID]}, {"memory_id": ID}),
        ("undo", {"id": {"memory_id": OTHER, "decision_id": ID}}, {"id": ID}),
        ("renew", {"candidate_id": {"id": ID}, "expires_at": "2027-01-01"}, {"candidate_id": ID}),
        (
            "delete_found_memories",
            {"memory_ids": [{"memory_id": ID}, OTHER], "token": "t"},
            {"memory_ids": (ID, OTHER)},
        ),
        (
            "delete_found_memories",
            {"memory_ids": f"{ID}, {OTHER}", "token": "t"},
            {"memory_ids": (ID, OTHER)},
        ),
    ],
)
def test_another_form_of_a_value_is_read(
    tool: str, given: dict[str, Any], means: dict[str, Any]
) -> None:
    asked = read(tool, given)
    assert {name: asked[name] for name in means} == means
    assert asked.keys() <= given.keys()


@each(
    ("tool", "given"),
    [
        ("search_memories", {"query": "tea", "k": "many"}),
        ("search_memories", {"query": "tea", "k": "0"}),
        ("search_memories", {"query": ["tea", "cups"]}),
        ("search_memories", {"query": None}),
        ("search_memories", {"query": True}),
        ("search_memories", {"query": 1.50}),
        ("search_memories", {"query": "tea", "k": 0}),
        ("add_memory", {"text": "tea", "importance": "high"}),
        ("add_memory", {"text": "tea", "metadata": "[1]"}),
        ("add_memory", {"text": "tea", "metadata": f'{{"a": {2**64}}}'}),
        ("add_memory", {"text": "tea", "metadata": "[" * 1_000 + "]" * 1_000}),
        ("add_messages", {"messages": "I have a dog"}),
        ("get_memory", {"memory_id": [ID, OTHER]}),
        ("get_memory", {"memory_id": {"face": "x"}}),
        ("get_memory", {"memory_id": None}),
        ("renew", {"candidate_id": ID, "expires_at": None}),
        ("delete_found_memories", {"memory_ids": [], "token": "t"}),
    ],
)
def test_what_may_mean_anything_is_refused(tool: str, given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        read(tool, given)


def test_messages_may_be_written_as_json_or_be_one() -> None:
    one = {"role": "user", "content": "I have a dog"}
    for given in (one, '[{"role": "user", "content": "I have a dog"}]'):
        [message] = read("add_messages", {"messages": given})["messages"]
        assert message["content"] == "I have a dog"


ROUND_AN_ID = (
    " {} ", '"{}"', "'{}'", "`{}`", "id: {}", "id {}", "(id {}, 2026-11-26 19:52Z, score 0.48)",
    "memory {}", "memory_id={}", "#{}", "{}…", "{}...", "[{}]", "<{}>", "{}.",
)  # fmt: skip


def test_an_id_is_read_with_what_stands_around_it(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        memory = (await server.add("Ada has a dog"))["memory_id"]
        async with client(server) as made:
            for written, characters in product(ROUND_AN_ID, (13, 36)):
                shown = written.format(memory[:characters])
                found = await call(made, "get_memory", memory_id=shown)
                assert found["memory_id"] == memory, shown
            two = await made.call_tool("get_memory", {"memory_id": f"{memory} {OTHER}"})
            assert two.is_error

    served(used)


def test_a_field_under_another_name_is_named_beside_the_one_that_is_missing(
    served: Use[None],
) -> None:
    async def used(server: Server) -> None:
        async with client(server) as made:
            told = prose(await made.call_tool("add_memory", {"content": "tea", "colour": 1}))
            assert "text: is missing; `content`, `colour` are unknown here; next" in told
            told = prose(await made.call_tool("get_memory", {"memory_id": ""}))
            assert "memory_id: should have at least 1 character;" in told
            nothing = {"memory_ids": [], "token": "t"}
            told = prose(await made.call_tool("delete_found_memories", nothing))
            assert "memory_ids: should have at least 1 item;" in told
            when = {"text": "tea", "occurred_at": "last week"}
            told = prose(await made.call_tool("add_memory", when))
            assert "occurred_at: must be an ISO 8601 time, such as 20" in told

    served(used)
