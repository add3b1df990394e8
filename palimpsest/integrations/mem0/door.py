"""The door `/mem0`: serves the calls of mem0's `MemoryClient` from this store (docs/mem0.md).

The client names the user in its filters; a call with a memory's id names none, and the store looks
up the owner. The user is the owner, and must match the caller's token.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, TypeVar
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from palimpsest.api.asynchronous import AsyncPalimpsest
from palimpsest.api.store import Palimpsest
from palimpsest.contracts.identity import decision_id_or_unchanged
from palimpsest.contracts.limits import PYTHON
from palimpsest.contracts.model import Model, write_json
from palimpsest.contracts.requests import ForgetRequest, UpdateRequest
from palimpsest.contracts.shown import Found
from palimpsest.integrations.mem0 import bodies
from palimpsest.integrations.mem0.filters import SAID_BY, Filters, parse_filters
from palimpsest.integrations.mem0.items import SOURCE
from palimpsest.integrations.mem0.rows import Row, added_row, history_rows, repeat_of, row_of
from palimpsest.integrations.nearest import nearest_of
from palimpsest.queries.ids import bare
from palimpsest.server.callers import Caller
from palimpsest.server.gate import admitted
from palimpsest.server.http.operations import json_response, key_of
from palimpsest.server.intents import Intents, digest_of_call
from palimpsest.server.problems import ProblemError, not_found

PREFIX = "/mem0"
MEMORY = "/v1/memories/{memory}/"
OF_OLD_CLIENTS = (
    ("POST", "/v1/memories/"),
    ("GET", "/v1/memories/"),
    ("POST", "/v1/memories/search/"),
    ("POST", "/v2/memories/"),
    ("POST", "/v2/memories/search/"),
)
Body = TypeVar("Body", bound=Model)


@dataclass(frozen=True)
class _Call:
    """A request of the client."""

    store: AsyncPalimpsest
    request: Request

    @property
    def caller(self) -> Caller:
        """The holder of the request's token."""
        return admitted(self.request).caller

    def body(self, kind: type[Body]) -> Body:
        """The body, parsed and checked."""
        document = admitted(self.request).document
        if document is None:
            raise ProblemError(400, "bad_request", "the body must be JSON")
        return kind.model_validate_json(write_json(document))

    def of(self, owner_id: str) -> Intents:
        """A user's memories without forgotten ones; a problem if the token is not for this user."""
        request = self.request
        document = admitted(request).document
        return Intents(
            self.store,
            self.caller,
            owner_id,
            source=SOURCE,
            key=key_of(request.headers),
            shows_forgotten=False,
            asked=digest_of_call(
                request.method, request.url.path, str(request.query_params), document
            ),
        )

    async def one(self) -> tuple[Intents, str]:
        """The intents of the memory's owner, and the memory's id from the path.

        Not found if no memory has the id, or the token is for another owner.
        """
        memory_id = unquote(self.request.path_params["memory"])
        owner_id = await self.store.call(_owner_of, memory_id)
        if owner_id is None or not self.caller.owners.fullmatch(owner_id):
            raise not_found()
        return self.of(owner_id), memory_id


def routes(store: AsyncPalimpsest) -> list[BaseRoute]:
    """The routes of this door."""

    def route(method: str, path: str, answer: Callable[[_Call], Awaitable[Any]]) -> Route:
        async def endpoint(request: Request) -> Response:
            return json_response(await answer(_Call(store, request)))

        return Route(f"{PREFIX}{path}", endpoint, methods=[method])

    return [
        route("GET", "/v1/ping/", _ping),
        route("POST", "/v3/memories/add/", _add),
        route("POST", "/v3/memories/search/", _search),
        route("POST", "/v3/memories/", _get_all),
        route("GET", MEMORY, _get),
        route("PUT", MEMORY, _update),
        route("DELETE", MEMORY, _delete),
        route("GET", f"{MEMORY}history/", _history),
        route("DELETE", "/v1/memories/", _delete_all),
        route("GET", "/v1/entities/", _users),
        *(route(method, path, _refuse_old_client) for method, path in OF_OLD_CLIENTS),
    ]


async def _refuse_old_client(_asked: _Call) -> Row:
    raise ProblemError(
        404, "not_found", "this call is of an older client: upgrade to mem0ai 2 (on npm 3) or newer"
    )


async def _ping(_asked: _Call) -> Row:
    """Answer the client's request for an organisation and a project: there is one of each."""
    return {"status": "ok", "org_id": "palimpsest", "project_id": "memories", "user_email": None}


async def _add(asked: _Call) -> Row:
    """Add each message that is wanted as a memory, verbatim: no model is asked."""
    body = asked.body(bodies.Add)
    who = {**body.named(), **body.filters.named()}
    intents = asked.of(parse_filters(who).user_id)
    about = {name: who[name] for name in SAID_BY if name in who}
    common = {"session_id": who.get("run_id"), **body.when()}
    rows = [
        {
            **common,
            "text": message.text(),
            "metadata": {**body.metadata, **about, **message.by_another()},
        }
        for message in body.wanted()
    ]
    results = []
    for outcome in await intents.add(rows):
        if outcome["result"] == "invalid":
            raise ProblemError(422, "invalid", outcome["detail"], reason=outcome["reason"])
        results.append(await _added(intents, outcome))
    return {"results": results}


async def _added(intents: Intents, outcome: Row) -> Row:
    """A message's outcome in mem0's words."""
    try:
        memory = await intents.get(outcome["memory_id"]) if outcome["memory_id"] else None
    except ProblemError:  # it waits for a person, or has been forgotten since
        memory = None
    return added_row(outcome, memory)


async def _search(asked: _Call) -> Row:
    body = asked.body(bodies.SearchBody)
    wanted = {"metadata": body.metadata} if body.metadata else {}
    filters = parse_filters(body.filters, wanted)
    intents = asked.of(filters.user_id)
    if filters.conditions:
        ids = {row["id"] for row in await _rows(intents, filters, show_expired=body.show_expired)}
        wanted_ones = partial(nearest_of, show_expired=body.show_expired)
        found = await asked.store.call(wanted_ones, filters.user_id, body.query, ids, body.top_k)
    else:
        found = await intents.search(
            body.query,
            k=body.top_k,
            metadata=filters.metadata,
            show_expired=body.show_expired,
        )
    near = [memory for memory in found if memory["score"] >= body.threshold]
    return {
        "results": [
            {**row_of(filters.user_id, memory), "score": memory["score"]} for memory in near
        ]
    }


async def _get_all(asked: _Call) -> Row:
    body, page = (
        asked.body(bodies.GetAll),
        bodies.PageBody.model_validate(dict(asked.request.query_params)),
    )
    filters = parse_filters(body.filters, body.times())
    rows = await _rows(asked.of(filters.user_id), filters, show_expired=body.show_expired)
    begin = (page.page - 1) * page.page_size
    shown = rows[begin : begin + page.page_size]
    path = f"{PREFIX}/v3/memories/?page_size={page.page_size}&page="
    return {
        "count": len(rows),
        "next": f"{path}{page.page + 1}" if begin + len(shown) < len(rows) else None,
        "previous": f"{path}{page.page - 1}" if page.page > 1 else None,
        "results": shown,
    }


async def _get(asked: _Call) -> Row:
    intents, memory_id = await asked.one()
    return row_of(intents.owner_id, await intents.get(memory_id))


async def _update(asked: _Call) -> Row:
    """Change a memory's text or expiry; metadata for the same text is submitted with a repeat.

    If the memory has expired, its expiry is set first: an expired memory's text cannot change.
    """
    body = asked.body(bodies.UpdateMemory)
    intents, memory_id = await asked.one()
    memory = await intents.get(memory_id)
    await intents.require_same(memory["memory_id"])
    ends = bodies.ending(body.expiration_date)
    sets, is_over = body.model_fields_set, memory["state"] == "expired"
    if sets > bodies.CLEARED:
        await intents.rehearse_update(memory, ends, _update_of(memory, body))
    if is_over and bodies.CLEARED & sets:
        memory = await _end(intents, memory, ends)
    if sets != bodies.CLEARED:
        await _say(intents, memory, body)
    if not is_over and bodies.CLEARED & sets:
        await _end(intents, memory, ends)
    return row_of(intents.owner_id, await intents.get(memory_id))


async def _end(intents: Intents, memory: Found, ends: datetime | None) -> Found:
    """Set when a memory expires, or that it never does; returns the resulting memory."""
    await intents.expire(memory["memory_id"], ends)
    return await intents.get(memory["memory_id"])


async def _say(intents: Intents, memory: Found, body: bodies.UpdateMemory) -> None:
    update = _update_of(memory, body)
    done = await intents.ask("update", UpdateRequest, **update)
    if not done["changed"] and (body.metadata is not None or body.timestamp is not None):
        about = memory["metadata"] if body.metadata is None else update["metadata"]
        when = bodies.time_of(body.timestamp)
        await intents.add([{**repeat_of(memory, update["text"]), "metadata": about, **when}])


def _update_of(memory: Found, body: bodies.UpdateMemory) -> Row:
    """The fields of the request that gives a memory its new text, metadata and time."""
    about = {name: memory["metadata"][name] for name in SAID_BY if name in memory["metadata"]}
    return {
        "memory_id": memory["memory_id"],
        "text": body.text or memory["face"],
        "merge": True,
        "metadata": None if body.metadata is None else {**body.metadata, **about},
        **bodies.time_of(body.timestamp),
    }


async def _delete(asked: _Call) -> Row:
    intents, memory_id = await asked.one()
    if not await intents.was_asked("forget"):
        await intents.get(memory_id)
    await intents.ask("forget", ForgetRequest, memory_ids=[memory_id])
    return {"message": "Memory deleted successfully!"}


async def _delete_all(asked: _Call) -> Row:
    who = bodies.Who.model_validate(dict(asked.request.query_params))
    filters = parse_filters(who.named())
    intents = asked.of(filters.user_id)
    every = await _rows(intents, filters, former=True, show_expired=True)
    ids = [row["id"] for row in every]
    if ids or intents.has_key:
        await intents.ask("forget_found", ForgetRequest, memory_ids=ids)
    return {"message": "Memories deleted successfully!"}


async def _history(asked: _Call) -> list[Row]:
    intents, memory_id = await asked.one()
    return [*history_rows(await intents.history(memory_id))]


async def _users(asked: _Call) -> Row:
    """The owners that the token gives access to."""
    every = await asked.store.call(lambda store: store.reader.owners())
    users = [
        {"id": owner_id, "name": owner_id, "type": "user"}
        for owner_id in every
        if asked.caller.owners.fullmatch(owner_id)
    ]
    return {"count": len(users), "next": None, "previous": None, "results": users}


async def _rows(
    intents: Intents, filters: Filters, *, former: bool = False, show_expired: bool = False
) -> list[Row]:
    """Every memory that passes the filters, the latest first."""
    rows: list[Row] = []
    after = None
    while True:
        page = await intents.list(
            limit=PYTHON.listed,
            after=after,
            metadata=filters.metadata,
            former=former,
            show_expired=show_expired,
        )
        rows += await asyncio.to_thread(_kept, intents.owner_id, page["memories"], filters)
        after = page["next"]
        if after is None:
            return rows


def _kept(owner_id: str, memories: Iterable[Mapping[str, Any]], filters: Filters) -> list[Row]:
    rows = [row_of(owner_id, memory) for memory in memories]
    return [row for row in rows if filters.keep(row)]


# -- calls of the store -------------------------------------------------------------------------


def _owner_of(store: Palimpsest, some_id: str) -> str | None:
    """The owner of a memory."""
    found: str = bare(store.reader, some_id)
    return store.reader.log.owner_of(decision_id_or_unchanged(found))
