"""The HTTP door `/v1`: an owner's memories and decisions, and the store's state."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from palimpsest.asynchronous import AsyncPalimpsest
from palimpsest.contracts.answers import Checked, JsonObject
from palimpsest.contracts.shown import Found, History, Page
from palimpsest.finding import Plan
from palimpsest.serve import bodies
from palimpsest.serve.feed import Feeds
from palimpsest.serve.openapi import document
from palimpsest.serve.operations import Asked, Operation, json_response
from palimpsest.serve.problems import ProblemError

OWNER = "/v1/owners/{owner}"
MEMORIES = f"{OWNER}/memories"


def routes(store: AsyncPalimpsest, feeds: Feeds) -> list[BaseRoute]:
    """The routes of this door."""
    operations = all_operations(feeds)
    told = document(operations)

    async def openapi(_request: Request) -> Response:
        return json_response(told)

    return [
        *(operation.route(store) for operation in operations),
        Route("/v1/openapi.json", openapi, methods=["GET"]),
    ]


def all_operations(feeds: Feeds) -> list[Operation]:
    """Every operation of this door."""

    async def decisions(asked: Asked) -> bodies.Feed:
        asked.caller.require_owner(asked.ids["owner"])
        query = asked.query
        return await feeds.after(
            asked.ids["owner"], query.after, limit=query.limit, wait=query.wait
        )

    return [
        *OPERATIONS,
        Operation(
            "list_decisions",
            "GET",
            f"{OWNER}/decisions",
            "The owner's decisions after a position of the log, oldest first; `wait` for the next.",
            bodies.Feed,
            decisions,
            query=bodies.FeedQuery,
        ),
    ]


async def _add(asked: Asked) -> JsonObject:
    [outcome] = await asked.intents().add([asked.body.fields()])
    if outcome["result"] == "invalid":
        raise ProblemError(422, "invalid", outcome["detail"], reason=outcome["reason"])
    return outcome


async def _add_many(asked: Asked) -> Any:
    return {"memories": await asked.intents().add([one.fields() for one in asked.body.memories])}


async def _search(asked: Asked) -> Any:
    return {"memories": await asked.intents().search(asked.body.query, **asked.body.fields())}


async def _find(asked: Asked) -> Plan:
    body = asked.body
    return await asked.intents().find(body.query, by=body.by, k=body.k, namespace=body.namespace)


async def _check(asked: Asked) -> Checked:
    return await asked.intents().check(asked.body.fields())


async def _list(asked: Asked) -> Page:
    return await asked.intents().list(**asked.query.fields())


async def _list_some(asked: Asked) -> Page:
    return await asked.intents().list(**asked.body.fields())


async def _get(asked: Asked) -> Found:
    return await asked.intents().get(asked.ids["memory"])


async def _history(asked: Asked) -> History:
    return await asked.intents().history(asked.ids["memory"])


async def _show(asked: Asked) -> Any:
    return await asked.intents().show(asked.ids["memory"], as_of=asked.query.as_of)


async def _unmerge(asked: Asked) -> JsonObject:
    body = asked.body
    return await asked.intents().unmerge(
        body.target(),
        dry_run=body.dry_run,
        consequences=body.with_consequences,
        because=body.because,
    )


async def _reinstate(asked: Asked) -> JsonObject:
    body = asked.body
    return await asked.intents().reinstate(
        body.decision_id, dry_run=body.dry_run, because=body.because
    )


async def _merge(asked: Asked) -> JsonObject:
    body = asked.body
    return await asked.intents().merge(body.a, body.b, face=body.face, because=body.because)


async def _separate(asked: Asked) -> JsonObject:
    return await asked.intents().separate(asked.body.a, asked.body.b, because=asked.body.because)


async def _confirm(asked: Asked) -> JsonObject:
    return await asked.intents().confirm(asked.body.decision_id, because=asked.body.because)


async def _status(asked: Asked) -> JsonObject:
    return await asked.store.status()


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
        "show_memory",
        "GET",
        f"{MEMORIES}/{{memory}}/joins",
        "A memory with every member, its join and its evidence.",
        dict[str, Any],
        _show,
        query=bodies.ShowQuery,
    ),
    Operation(
        "unmerge",
        "POST",
        f"{OWNER}/unmerge",
        "Take a join out; with `dry_run`, what would be, and what rested on it.",
        dict[str, Any],
        _unmerge,
        bodies.Undo,
        writes=True,
    ),
    Operation(
        "reinstate",
        "POST",
        f"{OWNER}/reinstate",
        "Take a reversal back, with all that was done because of it.",
        dict[str, Any],
        _reinstate,
        bodies.Reinstate,
        writes=True,
    ),
    Operation(
        "merge",
        "POST",
        f"{OWNER}/merge",
        "A person says that two candidates are the same.",
        dict[str, Any],
        _merge,
        bodies.Merge,
        role="reviewer",
        writes=True,
    ),
    Operation(
        "separate",
        "POST",
        f"{OWNER}/separate",
        "A person says that two candidates are not the same.",
        dict[str, Any],
        _separate,
        bodies.Pair,
        role="reviewer",
        writes=True,
    ),
    Operation(
        "confirm",
        "POST",
        f"{OWNER}/confirm",
        "A person agrees with a decision.",
        dict[str, Any],
        _confirm,
        bodies.Confirm,
        role="reviewer",
        writes=True,
    ),
    Operation(
        "show_status",
        "GET",
        "/v1/status",
        "Counts of the whole store, the log's position, and how far each projection lags.",
        dict[str, Any],
        _status,
        role="operator",
    ),
]
