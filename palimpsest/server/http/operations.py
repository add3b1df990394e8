"""Operations over HTTP: routes, checks and OpenAPI come from the table (`server.operations`)."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import orjson
from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from palimpsest.api.asynchronous import AsyncPalimpsest
from palimpsest.contracts.candidate import Name
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.model import Strict, write_json
from palimpsest.process.output import plain
from palimpsest.server import operations
from palimpsest.server.bodies import parameters
from palimpsest.server.callers import Caller
from palimpsest.server.gate import admitted
from palimpsest.server.intents import Intents, digest_of_call
from palimpsest.server.problems import ProblemError
from palimpsest.settings.serve import Role

KEY_HEADER = "idempotency-key"
IF_MATCH = "if-match"
SOURCE = "http"


class _Key(Strict):
    """The header `Idempotency-Key`."""

    key: Name | None


def key_of(headers: Headers) -> str | None:
    """The idempotency key among a request's headers; ValidationError if it is not a name."""
    return _Key(key=headers.get(KEY_HEADER)).key


_ETAG = re.compile(r'"([\x21\x23-\x7e]+)"')


@dataclass(frozen=True)
class Call:
    """A checked request to an operation: the ids of its path, its query and its body.

    `asked` is a digest of these three and the operation's name.
    """

    store: AsyncPalimpsest
    caller: Caller
    ids: dict[str, str]
    query: Any
    body: Any
    key: str | None
    asked: str

    def intents(self) -> Intents:
        """The owner's memories; a problem if the token is not for this owner."""
        return Intents(
            self.store,
            self.caller,
            self.ids["owner"],
            source=SOURCE,
            key=self.key,
            asked=self.asked,
        )


@dataclass(frozen=True)
class HttpOperation:
    """One method of one resource. `answer` is the return type of `run`.

    `writes`: the header `Idempotency-Key` makes the request idempotent. If the query or the body
    has `expect`, the header `If-Match` can give the version instead.
    """

    name: str
    method: str
    path: str
    says: str
    answer: Any
    run: Callable[[Call], Awaitable[Any]]
    body: type[BaseModel] | None = None
    query: type[BaseModel] = operations.Nothing
    role: Role = "agent"
    writes: bool = False

    @property
    def needs_body(self) -> bool:
        """Whether the body has a required field."""
        fields = self.body.model_fields.values() if self.body else ()
        return any(field.is_required() for field in fields)

    @property
    def expects(self) -> bool:
        """Whether a version can be expected."""
        return any("expect" in model.model_fields for model in (self.query, self.body) if model)

    @property
    def is_versioned(self) -> bool:
        """Whether it reads one memory, whose version is its ETag."""
        return self.method == "GET" and "{memory}" in self.path

    def route(self, store: AsyncPalimpsest) -> Route:
        """The operation's route on a store."""

        async def endpoint(request: Request) -> Response:
            """Check role and owner before anything in the request, then run the operation."""
            given = admitted(request)
            given.caller.require_role(self.role)
            ids = {name: unquote(value) for name, value in request.path_params.items()}
            if "owner" in ids:
                given.caller.require_owner(ids["owner"])
            query = self.query.model_validate(_parameters(request))
            body = self._parse(given.document)
            version = self._version_in(request)
            if version is not None:
                query, body = _expecting(query, version), _expecting(body, version)
            asked = Call(
                store,
                given.caller,
                ids,
                query,
                body,
                key_of(request.headers) if self.writes else None,
                digest_of_call(self.name, ids, query, body),
            )
            try:
                answer = await self.run(asked)
            except RefusedError as refused:
                if version is None or refused.reason != "moved_on":
                    raise
                detail = f"{refused.detail}; read it again for its new ETag"
                raise ProblemError(
                    412, "precondition_failed", detail, reason=refused.reason
                ) from None
            tag = {"etag": f'"{answer["version"]}"'} if self.is_versioned else None
            return json_response(answer, tag)

        return Route(self.path, endpoint, methods=[self.method])

    def _parse(self, document: Any) -> Any:
        if self.body is None:
            return None
        if document is None and not self.needs_body:
            document = {}
        if document is None:
            raise ProblemError(
                400, "bad_request", "the body must be JSON, with content-type application/json"
            )
        # Validated as JSON, not as Python values: times are strings there.
        return self.body.model_validate_json(write_json(document))

    def _version_in(self, request: Request) -> str | None:
        """The version in the header `If-Match`; None for `*`, which every memory matches."""
        said = request.headers.get(IF_MATCH, "*").strip()
        if said == "*":
            return None
        if not self.expects:
            detail = "this request cannot depend on a version: leave If-Match out"
            raise ProblemError(400, "bad_request", detail)
        found = _ETAG.fullmatch(said)
        if found is None:
            detail = 'If-Match must be the ETag of one memory, as received: "…"'
            raise ProblemError(400, "bad_request", detail)
        return found[1]


IN_PATH = re.compile(r"{(\w+)}")
FIELD_IN_PATH = {"memory": "memory_id"}
"""Path parameters whose field has another name."""
IN_THE_QUERY_OF_DELETE = frozenset({"expect", "dry_run"})


def over_http(operation: operations.Operation) -> HttpOperation:
    """An operation of the table: ids are in its path, the rest in its query or its body."""
    takes, named = operation.takes, {*IN_PATH.findall(operation.path)} - {"owner"}
    in_path = {FIELD_IN_PATH.get(name, name): name for name in named}
    fields = {*takes.model_fields} - in_path.keys()

    def part(names: set[str]) -> type[BaseModel]:
        left_out = {*takes.model_fields} - names
        return parameters(takes.__name__, takes, without=left_out) if left_out else takes

    match operation.method:
        case "GET":
            query, body = fields, None
        case "DELETE":
            query, body = fields & IN_THE_QUERY_OF_DELETE, part(fields - IN_THE_QUERY_OF_DELETE)
        case _:
            query, body = set(), part(fields)

    ids = part({*in_path})

    async def run(asked: Call) -> Any:
        values = {**_values(asked.query), **_values(asked.body)}
        values |= dict(
            ids.model_validate({field: asked.ids[name] for field, name in in_path.items()})
        )
        given = takes.model_construct(None, **values)
        return await operation.run(asked.intents(), given)

    return HttpOperation(
        operation.name,
        operation.method,
        operation.path,
        operation.says,
        operation.answer,
        run,
        body,
        part(query) if query else operations.Nothing,
        operation.role,
        operation.write is not None,
    )


def _values(given: BaseModel | None) -> dict[str, Any]:
    return {} if given is None else dict(given)


def _expecting(asked: Any, version: str) -> Any:
    """A query or a body with this version as `expect`; a problem if it expects another."""
    if "expect" not in type(asked).model_fields:
        return asked
    if asked.expect not in (None, version):
        raise ProblemError(422, "invalid", "If-Match and `expect` name different versions")
    return asked.model_copy(update={"expect": version})


def json_response(answer: Any, headers: Mapping[str, str] | None = None) -> Response:
    """An answer as JSON."""
    content = orjson.dumps(answer, default=plain)
    return Response(content, headers=headers, media_type="application/json")


def _parameters(request: Request) -> dict[str, str]:
    """The query's parameters, each at most once."""
    pairs = request.query_params.multi_items()
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ProblemError(422, "invalid", "a parameter is given twice")
    return found
