"""The OpenAI SDK's client, which many servers support; it handles sending, retries and timeouts."""

from __future__ import annotations

import os
from collections.abc import Awaitable
from typing import Annotated, Any

import httpx2
from openai import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    AsyncOpenAI,
    DefaultAsyncHttpxClient,
)
from pydantic import BaseModel, BeforeValidator

from palimpsest.contracts.errors import UsageError
from palimpsest.streams.judge.models import Tokens, Usage
from palimpsest.streams.judge.protocols.contract import (
    NO_CONNECTION,
    NO_CREDIT,
    NOT_IN_TIME,
    FailedRequestError,
    IfValid,
    address,
)
from palimpsest.streams.judge.settings import ServiceSettings

Count = Annotated[Tokens, BeforeValidator(lambda given: 0 if given is None else given)]
"""Some servers write null for what they do not count."""


class _Details(BaseModel):
    cached_tokens: Count = 0
    cache_write_tokens: Count = 0


class Counted(BaseModel):
    """Counts of tokens: the first two of Chat Completions, the next two of decisions."""

    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    input_tokens: Count = 0
    output_tokens: Count = 0
    prompt_tokens_details: _Details | None = None
    input_tokens_details: _Details | None = None

    @property
    def usage(self) -> Usage:
        """The usage, with cached tokens counted separately."""
        details = self.prompt_tokens_details or self.input_tokens_details or _Details()
        read = self.prompt_tokens + self.input_tokens
        return Usage(
            input_tokens=max(0, read - details.cached_tokens - details.cache_write_tokens),
            output_tokens=self.completion_tokens + self.output_tokens,
            cache_creation_input_tokens=details.cache_write_tokens,
            cache_read_input_tokens=details.cached_tokens,
        )


def _usage(given: object) -> Usage | None:
    return None if given is None else Counted.model_validate(given).usage


Reported = Annotated[Usage | None, BeforeValidator(_usage), IfValid]
"""The usage in an answer; None if there is none, or if it cannot be recorded."""


def open_client(settings: ServiceSettings, key: str, url: str) -> AsyncOpenAI:
    """A client for the service at `base_url`, or else at the address in the variable `url`.

    Without an address it is the vendor's own. The key is in the variable `key`; a server at another
    address may need none. Raises UsageError if there is neither address nor key, or if the address
    is invalid.
    """
    found = address(settings.base_url, url, versioned=True)
    secret = os.environ.get(key, "").strip()
    if found is None and not secret:
        raise UsageError(
            f"the judge needs a key that can be used: set {key}, or base_url of [judge] for a"
            " server that needs none"
        )
    client = AsyncOpenAI(
        api_key=secret or "none",
        base_url=found,
        max_retries=settings.retries,
        admin_api_key="",
        http_client=DefaultAsyncHttpxClient(follow_redirects=False),
    )
    if key != "OPENAI_API_KEY":  # these are not meant for another vendor's service
        client.organization = client.project = None
    return client


async def body_of(sent: Awaitable[Any]) -> bytes:
    """The body of an answer; raises FailedRequestError, which quotes nothing of it."""
    try:
        response = await sent
        raw: httpx2.Response = getattr(response, "http_response", response)
    except APITimeoutError:
        raise FailedRequestError(NOT_IN_TIME) from None
    except APIConnectionError:
        raise FailedRequestError(NO_CONNECTION) from None
    except APIStatusError as error:
        credit = error.code == "insufficient_quota"
        why = NO_CREDIT if credit else f"status {error.status_code}"
        raise FailedRequestError(why, error.status_code, no_credit=credit) from None
    return raw.content
