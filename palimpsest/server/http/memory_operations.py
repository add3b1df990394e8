"""An owner's memories over HTTP: offered, looked for, looked at."""

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
        "Offer a memory; the answer says what was decided.",
        bodies.Added,
        _add,
        bodies.NewMemory,
        writes=True,
    ),
    Operation(
        "add_memories",
        "POST",
        f"{MEMORIES}/batch",
        "Offer several memories, decided on in their order.",
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
        "Which memories are meant, by whole words; meaning proposes. The plan has a token.",
        Plan,
        _find,
        bodies.Find,
    ),
    Operation(
        "check_memory",
        "POST",
        f"{MEMORIES}/check",
        "What would become of a memory; nothing is written.",
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
        "A page of those memories whose metadata has some values.",
        Page,
        _list_some,
        bodies.ListBody,
    ),
    Operation(
        "get_memory",
        "GET",
        f"{MEMORIES}/{{memory}}",
        "Today's memory of any id that was ever its or its candidates'.",
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
