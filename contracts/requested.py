"""The id of the current request, if the caller gave it one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeVar
from uuid import uuid4

from palimpsest.contracts.requests import Request

SomeRequest = TypeVar("SomeRequest", bound=Request)


class _Name(NamedTuple):
    """A request's id, and a digest of its contents."""

    request_id: str
    asked: str | None


_name: ContextVar[_Name | None] = ContextVar("name", default=None)


@contextmanager
def name_request(request_id: str, asked: str | None = None) -> Iterator[None]:
    """Give the request made in the block this id, which makes it idempotent.

    `asked` is everything that the caller asked for, if the request itself does not include it all.
    """
    token = _name.set(_Name(request_id, asked))
    try:
        yield
    finally:
        _name.reset(token)


def fresh_id() -> str:
    """A new id for a request."""
    return str(uuid4())


def request_id() -> str:
    """The id of the current request: the one given to `name_request`, else a new one."""
    name = _name.get()
    return name.request_id if name is not None else fresh_id()


def as_asked(request: SomeRequest) -> SomeRequest:
    """The request with the digest of `name_request`, if it has that id."""
    name = _name.get()
    if name is None or name.asked is None or request.request_id != name.request_id:
        return request
    return request.model_copy(update={"asked": name.asked})
