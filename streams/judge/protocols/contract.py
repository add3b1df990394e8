"""The interface of the protocols: an exchange is one request to a service and its answer."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeGuard
from urllib.parse import urlsplit

from pydantic import ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from palimpsest.streams.judge.models import Usage
from palimpsest.streams.judge.prompts import Prompt
from palimpsest.streams.reach import address_of

NOT_AS_ASKED = "the model did not answer as it was asked"
THOUGHT = "the model thought in its answer"
FENCED = "the answer was fenced as code"
EMPTY = "the answer was empty"
REFUSED = "the model refused"
NO_MESSAGE = "it is not a message"
CUT = "the answer was cut off"
NOT_IN_TIME = "no answer in time"
NO_CONNECTION = "no connection"
NO_CREDIT = "the account has no credit"
NOT_REFRESHED = "the credentials could not be refreshed"
_THOUGHT = re.compile(r"</?think")
SUM_TOLERANCE = 0.02
"""How far the sum of a choice's probabilities may be from 1: they are rounded on the wire."""


def _or_none(given: object, read: ValidatorFunctionWrapHandler) -> Any:
    try:
        return read(given)
    except ValidationError:
        return None


IfValid = WrapValidator(_or_none)
"""Marks a field that an answer can do without, such as the usage: None if it is not valid."""


class FailedRequestError(Exception):
    """A request that got no answer, after retries.

    `status` is the service's status code; None if there was no connection, or no answer in time.
    The error quotes nothing of the request or of the answer.
    """

    def __init__(self, why: str, status: int | None = None, *, no_credit: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.status = status
        self.no_credit = no_credit


class NoMessageError(Exception):
    """The reply is not an answer of the protocol; the model may not have written it."""


@dataclass(frozen=True, slots=True)
class JudgeMessage:
    """An answer, whatever the protocol: `given` is the input of the prompt's tool.

    Without `given`, `why` is the reason. `model` is the model that answered, as the answer names
    it. `probabilities` has the probability of *the same* by the pair's number, if the service
    reports one; a number that the model itself writes does not count. `usage` is None if the
    service does not report it. `cut`: the answer ended early.
    """

    usage: Usage | None
    model: str | None = None
    given: Any = None
    why: str = ""
    cut: bool = False
    probabilities: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: `seconds` is the limit of one attempt, `limit` that of the answer in tokens."""

    prompt: Prompt
    model: str
    payload: str
    pairs: int
    limit: int
    seconds: float


class Exchange(Protocol):
    """A protocol with an open client.

    `key` is the environment variable with the key, `most` the maximum number of pairs in a request,
    and `writes` whether the model can compose a text. `address` is where requests go; redirects are
    not followed.
    """

    key: str
    most: int
    writes: bool
    address: str

    def form(self, prompt: Prompt) -> Prompt:
        """The prompt in this protocol's form, which verdicts name.

        Raises UsageError if the prompt has no such form.
        """

    async def send(self, asked: Asked) -> bytes:
        """Send the request; return the answer's body.

        Raises FailedRequestError, or UsageError if there is no key.
        """

    def read(self, body: bytes, asked: Asked) -> JudgeMessage:
        """Read a body; raises NoMessageError, and nothing else whatever the bytes are."""

    async def close(self) -> None:
        """Close the client."""


def why_unread(text: str) -> str:
    """Why a text is not in the form that was asked for."""
    if not text.strip():
        return EMPTY
    if _THOUGHT.search(text):
        return THOUGHT
    return FENCED if "```" in text else NOT_AS_ASKED


def address(given: str | None, variable: str, *, versioned: bool = False) -> str | None:
    """The address of a service: `base_url` or this variable; None if neither is set.

    If it is `versioned` and has no path, `/v1` is added. Raises UsageError if it is not an address.
    """
    url = address_of(given, variable, "judge")
    if url is None or not versioned or urlsplit(url).path.strip("/"):
        return url
    return f"{url.rstrip('/')}/v1"


def is_probability(value: object) -> TypeGuard[float]:
    """Whether a value of an answer is a number from 0 to 1."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0.0 <= value <= 1.0


def adds_up(choice: object, probabilities: Mapping[Any, Any], labels: Iterable[str]) -> bool:
    """Whether a choice is one of these labels and the likeliest, and probabilities sum to 1."""
    values = list(probabilities.values())
    known = set(probabilities) <= set(labels) and all(is_probability(value) for value in values)
    if not (known and isinstance(choice, str) and choice in probabilities):
        return False
    whole = math.isclose(sum(values), 1.0, abs_tol=SUM_TOLERANCE)
    return whole and probabilities[choice] >= max(values) - SUM_TOLERANCE
