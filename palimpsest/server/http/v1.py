"""The HTTP door `/v1`: an owner's memories and decisions, and the store's state."""

from __future__ import annotations

from functools import cache
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from palimpsest.api.asynchronous import AsyncPalimpsest
from palimpsest.contracts.shown import Changes
from palimpsest.server import bodies
from palimpsest.server.http.feed import Feeds
from palimpsest.server.http.openapi import document
from palimpsest.server.http.operations import Call, HttpOperation, json_response, over_http
from palimpsest.server.operations import OPERATIONS, OWNER


def routes(store: AsyncPalimpsest, feeds: Feeds) -> list[BaseRoute]:
    """The routes of this door."""
    operations = all_operations(feeds)
    described = cache(lambda: document(operations))  # built at first use: a start would wait for it

    async def openapi(_request: Request) -> Response:
        return json_response(described())

    return [
        *(operation.route(store) for operation in operations),
        Route("/v1/openapi.json", openapi, methods=["GET"]),
    ]


def all_operations(feeds: Feeds) -> list[HttpOperation]:
    """Every operation of this door."""

    async def decisions(asked: Call) -> bodies.Feed:
        positions = asked.caller.may_act_as("reviewer")
        return await feeds.after(asked.ids["owner"], **dict(asked.query), positions=positions)

    return [
        *map(over_http, OPERATIONS),
        STATUS,
        HttpOperation(
            "list_changes",
            "GET",
            f"{OWNER}/changes",
            "The owner's events after the `next` of a page, oldest first, with the memories that"
            " they changed; `wait` for more.",
            Changes,
            lambda asked: feeds.changes(asked.caller, asked.ids["owner"], asked.query),
            query=bodies.FeedQuery,
        ),
        HttpOperation(
            "list_all_changes",
            "GET",
            "/v1/changes",
            "The events of all owners that the token is for, as `list_changes` shows them.",
            Changes,
            lambda asked: feeds.changes(asked.caller, None, asked.query),
            query=bodies.FeedQuery,
            role="operator",
        ),
        HttpOperation(
            "list_decisions",
            "GET",
            f"{OWNER}/decisions",
            "The owner's decisions after the `next` of a page, oldest first; `wait` for more.",
            bodies.Feed,
            decisions,
            query=bodies.FeedQuery,
        ),
    ]


STATUS = HttpOperation(
    "show_status",
    "GET",
    "/v1/status",
    "Counts of the whole store, the log's position, and how far each projection lags.",
    dict[str, Any],
    lambda asked: asked.store.status(),
    role="operator",
)
