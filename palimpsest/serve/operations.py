"""An operation of the HTTP door: what OpenAPI says of it is what is checked and what runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import orjson
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from palimpsest.asynchronous import AsyncPalimpsest
from palimpsest.contracts.candidate import Name
from palimpsest.contracts.model import Strict
from palimpsest.output import plain
from palimpsest.serve.callers import Caller
from palimpsest.serve.gate import admitted
from palimpsest.serve.intents import Intents, digest_of_call
from palimpsest.serve.problems import ProblemError
from palimpsest.serve_settings import Role

OWNER = "/v1/owners/{owner}"
MEMORIES = f"{OWNER}/memories"
KEY_HEADER = "idempotency-key"
SOURCE = "http"


class Nothing(Strict):
    """No parameters."""


class _Key(Strict):
    """The header `Idempotency-Key`."""

    key: Name | None


@dataclass(frozen=True)
class Call:
    """A request to an operation, checked: its path's ids, its query and its body.

    `asked` stands for all of it.
    """

    store: AsyncPalimpsest
    caller: Caller
    ids: dict[str, str]
    query: Any
    body: Any
    key: str | None
    asked: str

    def intents(self) -> Intents:
        """The owner's memories; a problem where the token is not for this owner."""
        return Intents(
            self.store,
            self.caller,
            self.ids["owner"],
            source=SOURCE,
            key=self.key,
            asked=self.asked,
        )


@dataclass(frozen=True)
class Operation:
    """One method of one resource. `answer` is the type of what `run` gives.

    `writes`: a header `Idempotency-Key` names the request, and asked again it is done once.
    """

    name: str
    method: str
    path: str
    says: str
    answer: Any
    run: Callable[[Call], Awaitable[Any]]
    body: type[BaseModel] | None = None
    query: type[BaseModel] = Nothing
    role: Role = "agent"
    writes: bool = False

    def route(self, store: AsyncPalimpsest) -> Route:
        """The operation on a store."""

        async def endpoint(request: Request) -> Response:
            """Check role and owner before anything in the request, then run the operation."""
            given = admitted(request)
            given.caller.require_role(self.role)
            ids = {name: unquote(value) for name, value in request.path_params.items()}
            if "owner" in ids:
                given.caller.require_owner(ids["owner"])
            query = self.query.model_validate(_parameters(request))
            body = self._understood(given.document)
            asked = Call(
                store,
                given.caller,
                ids,
                query,
                body,
                _Key(key=request.headers.get(KEY_HEADER)).key if self.writes else None,
                digest_of_call(self.name, ids, query, body),
            )
            return json_response(await self.run(asked))

        return Route(self.path, endpoint, methods=[self.method])

    def _understood(self, document: Any) -> Any:
        if self.body is None:
            return None
        if document is None:
            raise ProblemError(
                400, "bad_request", "the body should be JSON, with content-type application/json"
            )
        # As JSON, not as Python values: a time is a string there.
        return self.body.model_validate_json(orjson.dumps(document))


def json_response(answer: Any) -> Response:
    """An answer as JSON."""
    return Response(orjson.dumps(answer, default=plain), media_type="application/json")


def _parameters(request: Request) -> dict[str, str]:
    """The query's parameters, each at most once."""
    pairs = request.query_params.multi_items()
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ProblemError(422, "invalid", "a parameter is given twice")
    return found
