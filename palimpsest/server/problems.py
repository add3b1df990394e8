"""Errors of the HTTP API: problem details (RFC 9457), which never quote a value of the request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from palimpsest.contracts import answers
from palimpsest.contracts.errors import (
    InvalidInputError,
    ModelError,
    PalimpsestError,
    RefusedError,
    TransientError,
    UsageError,
    no_such_id,
)
from palimpsest.contracts.model import rule_of
from palimpsest.streams.embedder import ServiceUnavailable

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 1
MOST_TOLD = 1
"""Maximum number of reported wrong fields: reporting all those of a 1 MB body took 31 MB."""

TITLES = {
    "bad_request": "The request cannot be read",
    "unauthorized": "A valid token is needed",
    "forbidden": "The token does not allow this",
    "not_found": "There is nothing here",
    "method_not_allowed": "The resource has no such method",
    "timeout": "The request came too slowly",
    "refused": "Not possible",
    "precondition_failed": "The memory has changed",
    "too_large": "The request is too large",
    "misdirected": "This server has another name",
    "invalid": "The request breaks a rule",
    "too_many": "Too many requests at once",
    "bug": "The server met a bug",
    "model": "The model cannot be used",
    "unavailable": "Try again later",
}
"""Titles by kind; the kind is the end of the problem's `type`."""


class ProblemError(PalimpsestError):
    """An error response; `detail` never quotes the request."""

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.detail = detail
        self.headers = dict(headers or {})
        self.more = more

    def document(self) -> dict[str, Any]:
        """The body of the response."""
        return {
            "type": f"urn:palimpsest:problem:{self.kind}",
            "title": TITLES[self.kind],
            "status": self.status,
            "detail": self.detail,
            **self.more,
        }

    def body(self) -> bytes:
        """The same as JSON."""
        return orjson.dumps(self.document())


def not_found(detail: str = no_such_id()) -> ProblemError:
    """The same problem for an unknown id and another owner's, which it must not reveal."""
    return ProblemError(404, "not_found", detail)


def problem_of(error: Exception) -> ProblemError:
    """The problem that a client gets for an error raised by a call."""
    again = {"retry-after": str(RETRY_SECONDS)}
    match error:
        case ProblemError():
            return error
        case HTTPException(status_code=404):
            return not_found("there is no such resource")
        case HTTPException(status_code=405):
            return ProblemError(405, "method_not_allowed", "the resource has no such method")
        case ValidationError():
            return ProblemError(422, "invalid", "a field breaks a rule", errors=_fields(error))
        case RefusedError(reason="id_conflict" as reason, detail=detail):
            return ProblemError(422, "invalid", detail, reason=reason)
        # These two mean what the model's error means for a request executed in this process.
        case RefusedError(reason=answers.EMBEDDER_DOWN as reason, detail=detail):
            return ProblemError(503, "unavailable", detail, reason=reason, headers=again)
        case RefusedError(reason=answers.MODEL_UNUSABLE as reason, detail=detail):
            return ProblemError(502, "model", detail, reason=reason)
        case RefusedError(reason=reason, detail=detail):
            return ProblemError(409, "refused", detail, reason=reason)
        case UsageError():
            return ProblemError(422, "invalid", str(error))
        case InvalidInputError(reason=reason, detail=detail, index=index):
            place: dict[str, Any] = {} if index is None else {"index": index}
            return ProblemError(422, "invalid", detail, reason=reason, **place)
        case TransientError() | ServiceUnavailable():
            return ProblemError(503, "unavailable", str(error), headers=again)
        case ModelError():  # not 503: clients would repeat, and pay for, what fails again
            return ProblemError(502, "model", str(error))
        case PalimpsestError():
            return ProblemError(
                503, "unavailable", "the store cannot be used: the server's log says why"
            )
        case _:
            return ProblemError(500, "bug", "this is a bug; the server's log says where")


FIELD_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}")
"""What the name of an unknown field looks like; anything else may be a user's text."""
_TYPE = re.compile(r"str|int|float|bool|none|.*[^A-Za-z0-9_].*", re.DOTALL)
"""How pydantic names a field's possible types in the location of an error."""


def _fields(error: ValidationError) -> list[dict[str, Any]]:
    """The first field that breaks a rule, with the rules of all its types; never its value."""
    found: dict[str, list[str]] = {}
    for wrong in error.errors(include_input=False, include_context=False, include_url=False):
        rules = found.setdefault(_place(wrong), [])
        rule = _rule(wrong)
        if rule not in rules:
            rules.append(rule)
    told = [*found.items()][:MOST_TOLD]
    return [{"field": field, "rule": ", or ".join(rules)} for field, rules in told]


def _rule(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        known = FIELD_NAME.fullmatch(str(error["loc"][-1]))
        return "is unknown here" if known else "one of its fields is unknown here"
    return rule_of(error)


def _place(error: Any) -> str:
    *outer, last = error["loc"] or ("",)
    parts = [part for part in outer if isinstance(part, int) or not _TYPE.fullmatch(part)]
    if error["type"] == "extra_forbidden":
        parts += [last] if FIELD_NAME.fullmatch(str(last)) else []
    elif isinstance(last, int) or not (outer and _TYPE.fullmatch(last)):
        parts.append(last)
    return ".".join(map(str, parts))
