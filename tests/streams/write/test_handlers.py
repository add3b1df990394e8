"""Every kind of request has a handler, and that returns the answer that the request declares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

from palimpsest.contracts.requests import AnyRequest, Request
from palimpsest.streams.write.serve import HANDLERS
from tests.tables import each


def kinds(of: type[Request] = Request) -> Iterator[type[Request]]:
    for kind in of.__subclasses__():
        yield from kinds(kind)
        if "request" in kind.model_fields:
            yield kind


KINDS = sorted(kinds(), key=lambda kind: kind.__name__)


def test_the_handlers_are_total() -> None:
    assert set(HANDLERS) == set(KINDS) == set(get_args(get_args(AnyRequest)[0]))


def answer_of(kind: type[Request]) -> Any:
    [base] = vars(kind)["__orig_bases__"]
    [answer] = get_args(base)
    return answer


@each("kind", KINDS)
def test_a_handler_takes_its_request_and_returns_what_that_declares(kind: type[Request]) -> None:
    hints = get_type_hints(HANDLERS[kind])
    assert (hints["request"], hints["return"]) == (kind, answer_of(kind))
