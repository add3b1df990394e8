"""What can go wrong between a client and its server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class ClientError(Exception):
    """The base of the client's own errors."""


class ServerUnreachable(ClientError):
    """The server did not answer, or was busy, for the whole of the client's patience."""


class ServerProblem(ClientError):
    """An answer that is not a result: mostly the server's problem document (RFC 9457).

    If `status` is 4xx, the request was not done. Otherwise it may have been: repeat a write under
    the same key.

    `kind` is the end of its `type`, such as `not_found` or `refused`; `reason` the store's word for
    a refusal, and `errors` the fields that break a rule.
    """

    def __init__(self, status: int, document: Mapping[str, Any]) -> None:
        super().__init__(status, document)
        self.status = status
        self.document = document
        self.kind: str = str(document.get("type", "")).rpartition(":")[2]
        self.detail = str(document.get("detail", f"the server answered with status {status}"))
        self.reason: str | None = document.get("reason")
        self.errors: list[dict[str, Any]] = document.get("errors", [])

    def __str__(self) -> str:
        fields = [f"{error.get('field')}: {error.get('rule')}" for error in self.errors]
        return "; ".join([f"{self.reason}: {self.detail}" if self.reason else self.detail, *fields])
