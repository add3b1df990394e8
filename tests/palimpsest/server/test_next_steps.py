"""An error over MCP says what the model can do next, naming only its tools."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from palimpsest.contracts.errors import InvalidReason
from palimpsest.server.mcp.next_steps import NEXT_STEPS, next_step
from palimpsest.server.mcp.tools import tools_of
from palimpsest.server.problems import TITLES, problem_of
from palimpsest.streams.core.refusal import Reason
from tests.palimpsest.server.conftest import Server, Use
from tests.palimpsest.server.test_mcp import client, prose
from tests.tables import each

ROOT = Path(__file__).parents[3]
OF_OPERATORS = {
    "follows_a_cluster",
    "model_in_force",
    "no_audit",
    "no_batch_rules",
    "not_due",
    "not_proven",
    "other_joins",
    "target_exists",
    "texts_stay",
    "unknown_letter",
    "wrong_partition",
}
"""Reasons for refusals of runs, files, audits and clusters, which no tool meets."""
OF_HTTP = {"method_not_allowed", "misdirected", "refused"}


def reasons() -> Iterator[str]:
    """The reasons for refusals in the code, as far as they are literals there."""
    for folder in ("streams", "palimpsest"):
        for file in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_bytes())):
                match node:
                    case ast.Call(
                        func=ast.Name(id="RefusedError" | "Refusal"),
                        args=[ast.Constant(value=str(reason)), *_],
                    ):
                        yield reason
                    case _:
                        pass


def test_every_reason_and_every_kind_of_problem_has_a_next_step() -> None:
    found = {*reasons(), *get_args(Reason)}
    assert len(found) > 35, "the search finds them"
    assert found - NEXT_STEPS.keys() == OF_OPERATORS
    assert TITLES.keys() - NEXT_STEPS.keys() == OF_HTTP
    assert "field" in get_args(InvalidReason)


@each("step", sorted({*NEXT_STEPS.values()}))
def test_a_step_names_only_tools_of_an_agent(step: str) -> None:
    named = {*re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", step)}
    assert named <= tools_of("agent").keys()


@pytest.mark.parametrize(
    ("tool", "given", "told"),
    [
        ("get_memory", {"memory_id": "0f8b7c52"}, "next: search_memories, find_memories"),
        ("undo", {"id": "0f8b7c52-6c1a-5b0e-9f53-0d6f6d0c8a11"}, "next: "),
        ("search_memories", {"query": "tea", "k": 0}, "k: should be greater"),
        (
            "search_memories",
            {"qery": "tea"},
            "query: is missing; `qery` is unknown here; next: correct it",
        ),
        ("add_memory", {"text": "tea", "color": 5}, "`color` is unknown here; next: correct it"),
        ("add_memory", {"text": "tea", "she likes tea": 5}, "one of its fields is unknown here"),
        ("erase_everything", {}, "there is no such tool: there are add_memory, "),
    ],
)
def test_an_error_names_the_field_and_the_next_step(
    served: Use[None], tool: str, given: dict[str, Any], told: str
) -> None:
    async def used(server: Server) -> None:
        async with client(server) as made:
            result = await made.call_tool(tool, given)
            assert result.is_error
            assert told in prose(result)
            assert ("next: " in prose(result)) is (tool in tools_of("agent"))
            assert "she likes" not in prose(result)

    served(used)


def test_after_a_stale_version_and_a_persons_word_it_says_what_to_do(served: Use[None]) -> None:
    async def used(server: Server) -> None:
        memory = (await server.add("Ada works at Google"))["memory_id"]
        async with client(server) as made:
            change = {"memory_id": memory, "text": "Ada works at Meta"}
            stale = await made.call_tool("update_memory", {**change, "expect": "0" * 32})
            assert prose(stale).endswith(f"next: {NEXT_STEPS['moved_on']}")
            await server.twin.forget([memory], by="person", again="ask", owner_id="ada")
            gone = await made.call_tool("update_memory", change)
            assert prose(gone).endswith(f"next: {NEXT_STEPS[gone.structured_content['reason']]}")

    served(used)


def test_a_bug_has_a_next_step_too() -> None:
    assert next_step(problem_of(KeyError()), ()) == NEXT_STEPS["bug"]
