"""A service that speaks OpenAI's Embeddings API, as many servers do, through the vendor's SDK."""

from __future__ import annotations

import os
from json import JSONDecodeError

from openai import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    DefaultHttpxClient,
    OpenAI,
    OpenAIError,
    omit,
)

from palimpsest.contracts.errors import UsageError
from palimpsest.streams.embedder.contract import ModelUnusable, ServiceUnavailable
from palimpsest.streams.embedder.function_engine import FunctionEngine
from palimpsest.streams.embedder.settings import EmbedderSettings
from palimpsest.streams.reach import address_of, is_remote

MOST_TEXTS = 128
"""Maximum texts per request; with 8,000 characters each they stay within the vendor's limits."""
KEY, ADDRESS = "OPENAI_API_KEY", "OPENAI_BASE_URL"


def openai_engine(settings: EmbedderSettings) -> FunctionEngine:
    """An engine that asks the service; it embeds a word when it is created.

    Raises UsageError if there is neither a key nor an address, or if the address is invalid,
    ServiceUnavailable if the service does not answer, and ModelUnusable if it refuses, redirects or
    answers in another form. No error quotes a text or the key.
    """
    client = _client(settings)

    def embed(texts: list[str]) -> list[list[float]]:
        rows: list[list[float]] = []
        for start in range(0, len(texts), MOST_TEXTS):
            rows += _embedded(client, settings, texts[start : start + MOST_TEXTS])
        return rows

    engine = FunctionEngine(embed, settings.model, name="openai", characters=settings.characters)
    engine.is_remote = is_remote(str(client.base_url))
    return engine


def _client(settings: EmbedderSettings) -> OpenAI:
    key = os.environ.get(KEY, "").strip()
    address = address_of(settings.base_url, ADDRESS, "embedder")
    if not key and not address:
        raise UsageError(
            f"the embedding service needs a key: set {KEY}, or base_url of [embedder] for a server"
            " that needs none"
        )
    return OpenAI(
        api_key=key or "none",
        base_url=address,
        max_retries=settings.retries,
        timeout=settings.timeout,
        http_client=DefaultHttpxClient(follow_redirects=False),
    )


def _embedded(client: OpenAI, settings: EmbedderSettings, texts: list[str]) -> list[list[float]]:
    """The vectors of some texts, in the texts' order, whatever the order of the answer."""
    try:
        answer = client.embeddings.create(
            input=texts,
            model=settings.model,
            encoding_format="float",
            dimensions=omit if settings.dimensions is None else settings.dimensions,
        )
        return [one.embedding for one in sorted(answer.data, key=lambda one: one.index)]
    except APITimeoutError:
        why = f"no answer within {settings.timeout:g} s"
    except APIConnectionError:
        why = "no connection"
    except APIStatusError as error:
        if error.status_code < 400 or error.status_code in {400, 401, 403, 404, 422}:
            raise ModelUnusable(
                f"the embedding service refuses {settings.model} (status {error.status_code}):"
                f" look at model and base_url of [embedder], and at {KEY}"
            ) from None
        why = f"status {error.status_code}"
    except JSONDecodeError:
        raise _in_another_form(settings, "no JSON") from None
    except (OpenAIError, AttributeError, TypeError, ValueError):
        fields = "no list `data` with an `index` and an `embedding` for each text"
        raise _in_another_form(settings, fields) from None
    raise ServiceUnavailable(f"the embedding service with {settings.model}: {why}")


def _in_another_form(settings: EmbedderSettings, what: str) -> ModelUnusable:
    return ModelUnusable(
        f"the embedding service with {settings.model} answers in another form than that of the"
        f" Embeddings API: {what}; look at model and base_url of [embedder]"
    )
