"""Builds requests to a server and interprets its responses, without sending anything."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar
from urllib.parse import quote
from uuid import uuid4

from .errors import ServerProblem, ServerUnreachable

BUSY = frozenset({429, 503})
"""Statuses after which the same request is retried later."""
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0

Answer = TypeVar("Answer")
Headers = Mapping[str, str]
NO_HEADERS: Headers = {}


@dataclass(frozen=True, slots=True)
class ClientRequest(Generic[Answer]):
    """A requested operation: the ids in its path, its query, its body, and whether it writes.

    Values that are None are left out. `key` is the idempotency key of a write; if none is given, a
    fresh one is made, so that the write is done once however often it is sent.
    """

    method: str
    path: str
    ids: Mapping[str, str] | None = None
    query: Mapping[str, Any] | None = None
    body: Mapping[str, Any] | None = None
    key: str | None = None
    writes: bool = False

    def request(self) -> tuple[str, str, dict[str, str], bytes | None]:
        """The method, the path with its query, the headers and the body."""
        ids = {name: quote(one, safe="") for name, one in (self.ids or {}).items()}
        given = {name: _in_url(value) for name, value in _given(self.query).items()}
        pairs = "&".join(f"{name}={quote(value, safe='')}" for name, value in given.items())
        headers = {"accept": "application/json"}
        content = None
        if self.body is not None:
            headers["content-type"] = "application/json"
            content = json.dumps(_given(self.body), default=_in_json).encode()
        if self.writes:
            headers["idempotency-key"] = str(uuid4()) if self.key is None else self.key
        path = self.path.format(**ids) + (f"?{pairs}" if pairs else "")
        return self.method, path, headers, content


def answer(status: int, content: bytes) -> Any:
    """The document of a response; ServerProblem if it reports a problem, or is not JSON."""
    try:
        found = json.loads(content)
    except ValueError:
        found = None
    if status == 200 and found is not None:
        return found
    raise ServerProblem(status, found if isinstance(found, dict) else {})


class Tries:
    """The tries of one call, within `patience` seconds; each pause is twice the last, up to 5 s."""

    def __init__(self, patience: float) -> None:
        self._until = time.monotonic() + patience
        self._pause = FIRST_PAUSE

    def pause(self, why: str, headers: Headers = NO_HEADERS) -> float:
        """Seconds until the next try, at least what the server asks for.

        Raises ServerUnreachable, with the reason why this try failed, if no time is left.
        """
        asked = headers.get("retry-after", "")
        wait = max(float(asked) if asked.isdecimal() else 0.0, self._pause)
        if time.monotonic() + wait > self._until:
            raise ServerUnreachable(f"the server is unreachable or busy ({why})")
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        return wait


def _given(values: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (values or {}).items() if value is not None}


def _in_url(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _in_json(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"a {type(value).__name__} cannot be sent as JSON")
