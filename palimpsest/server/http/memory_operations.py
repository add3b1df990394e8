"""HTTP operations on an owner's memories: adding, searching and reading."""

from __future__ import annotations

from typing import Any

from palimpsest.contracts.answers import Checked, JsonObject
from palimpsest.contracts.shown import Found, History, Page, ShownMemory
from palimpsest.queries.find import Plan
from palimpsest.server import bodies
from palimpsest.server.http.operations import MEMORIES, Call, Operation
from palimpsest.server.problems import ProblemError


async def _add(asked: Call) -> JsonObject:
    [outcome] = await asked.intents().add([asked.body.fields()])
    if outcome["result"] == "invalid":
        raise ProblemError(422, "invalid", outcome["detail"], reason=outcome["reason"])
    return outcome


async def _add_many(asked: Call) -> Any:
    return {"memories": await asked.intents().add([one.fields() for one in asked.body.memories])}


async def _search(asked: Call) -> Any:
    return {"memories": await asked.intents().search(asked.body.query, **asked.body.fields())}


async def _find(asked: Call) -> Plan:
    body = asked.body
    return await asked.intents().find(body.query, by=body.by, k=body.k, namespace=body.namespace)


async def _check(asked: Call) -> Checked:
    return await asked.intents().check(asked.body.fields())


async def _list(asked: Call) -> Page:
    return await asked.intents().list(**asked.query.fields())


async def _list_some(asked: Call) -> Page:
    return await asked.intents().list(**asked.body.fields())


async def _get(asked: Call) -> Found:
    return await asked.intents().get(asked.ids["memory"])


async def _history(asked: Call) -> History:
    return await asked.intents().history(asked.ids["memory"])


async def _show(asked: Call) -> ShownMemory:
    return await asked.intents().show(asked.ids["memory"], as_of=asked.query.as_of)


OPERATIONS = [
    Operation(
        "add_memory",
        "POST",
        MEMORIES,
        "Add a memory; the answer has the decision.",
        bodies.Added,
        _add,
        bodies.NewMemory,
        writes=True,
    ),
    Operation(
        "add_memories",
        "POST",
        f"{MEMORIES}/batch",
        "Add several memories, decided on in order.",
        bodies.AddedMany,
        _add_many,
        bodies.NewMemories,
        writes=True,
    ),
    Operation(
        "search_memories",
        "POST",
        f"{MEMORIES}/search",
        "The memories nearest to a question, best first.",
        bodies.FoundMemories,
        _search,
        bodies.Search,
    ),
    Operation(
        "find_memories",
        "POST",
        f"{MEMORIES}/find",
        "Find memories by whole words, then suggest some by meaning. The plan has a token.",
        Plan,
        _find,
        bodies.Find,
    ),
    Operation(
        "check_memory",
        "POST",
        f"{MEMORIES}/check",
        "Show the decision on a memory without adding it; nothing is written.",
        Checked,
        _check,
        bodies.NewMemory,
    ),
    Operation(
        "list_memories",
        "GET",
        MEMORIES,
        "A page of the owner's memories, the latest first.",
        Page,
        _list,
        query=bodies.ListQuery,
    ),
    Operation(
        "list_some_memories",
        "POST",
        f"{MEMORIES}/list",
        "A page of the memories whose metadata has the given values.",
        Page,
        _list_some,
        bodies.ListBody,
    ),
    Operation(
        "get_memory",
        "GET",
        f"{MEMORIES}/{{memory}}",
        "The current memory, by any id that it or its candidates ever had.",
        Found,
        _get,
    ),
    Operation(
        "show_history",
        "GET",
        f"{MEMORIES}/{{memory}}/history",
        "Every event of a memory, in order.",
        History,
        _history,
    ),
    Operation(
        "show_memory",
        "GET",
        f"{MEMORIES}/{{memory}}/joins",
        "A memory with every member, its join and its evidence.",
        ShownMemory,
        _show,
        query=bodies.ShowQuery,
    ),
]
