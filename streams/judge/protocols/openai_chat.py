"""The protocol `openai-chat`: Chat Completions with structured output, by a vendor or locally.

The whole answer must be the JSON object that was asked for. An answer with thinking in its text, a
code fence or half an object does not count.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Annotated, Any

import orjson
from openai import BadRequestError, UnprocessableEntityError
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from palimpsest.streams.judge.prompts import Prompt, in_json
from palimpsest.streams.judge.protocols.contract import (
    CUT,
    NOT_AS_ASKED,
    REFUSED,
    Asked,
    IfValid,
    JudgeMessage,
    NoMessageError,
    why_unread,
)
from palimpsest.streams.judge.protocols.openai_client import Reported, body_of, open_client
from palimpsest.streams.judge.settings import ServiceSettings

TOP = 5
"""Number of alternatives requested for each token, to find the probability of *same*."""
_INSTEAD: dict[str, str | None] = {
    "max_tokens": "max_completion_tokens",
    "temperature": None,
    "logprobs": None,
    "top_logprobs": None,
    "response_format": None,
}
"""Parameters that some models refuse, and what is sent instead."""
_ANSWER = re.compile(rb'(?<!\\)"answer"\s*:\s*"([a-z]+)"')


class _ChatChoice(BaseModel):
    class _Said(BaseModel):
        content: str | None = None
        refusal: str | None = None

    message: _Said
    finish_reason: str | None = None
    logprobs: Any = None


class _Completion(BaseModel):
    """The fields of an answer that we read."""

    model_config = ConfigDict(frozen=True)

    choices: list[_ChatChoice] = Field(min_length=1)
    model: str | None = None
    usage: Reported = None


Byte = Annotated[int, Field(ge=0, le=255)]


class _Alternative(BaseModel):
    token: str
    logprob: float


class _Token(_Alternative):
    raw: Annotated[list[Byte] | None, IfValid, Field(alias="bytes")] = None
    top_logprobs: list[_Alternative] = []


class _Logprobs(BaseModel):
    content: list[_Token]


class OpenAIChat:
    """Requests one completion each time, at temperature 0, without parameters the model refuses."""

    key = "OPENAI_API_KEY"
    most = 500
    writes = True

    def __init__(self, settings: ServiceSettings) -> None:
        self._client = open_client(settings, self.key, "OPENAI_BASE_URL")
        self.address = str(self._client.base_url)
        self._refused: dict[str, set[str]] = {}

    def form(self, prompt: Prompt) -> Prompt:
        """The prompt that asks for a JSON object."""
        return in_json(prompt)

    async def send(self, asked: Asked) -> bytes:
        """Send the request; return the answer's body.

        A parameter that the model refuses is left out from then on.
        """
        refused = self._refused.setdefault(asked.model, set())
        create = self._client.chat.completions.with_raw_response.create
        while True:
            body = _request(asked, refused)
            try:
                return await body_of(_unrefused(create(**body, timeout=asked.seconds), refused))
            except _RefusedParameterError as error:
                refused.add(error.parameter)

    def read(self, body: bytes, asked: Asked) -> JudgeMessage:
        """The content as the tool's input, with probabilities if the tokens have them."""
        try:
            completion = _Completion.model_validate_json(body)
        except ValidationError:
            raise NoMessageError from None
        usage = completion.usage
        [choice, *_] = completion.choices
        if choice.message.refusal or choice.finish_reason == "content_filter":
            return JudgeMessage(usage, completion.model, why=REFUSED)
        content = choice.message.content or ""
        try:
            given = orjson.loads(content)
        except orjson.JSONDecodeError:
            why = CUT if choice.finish_reason == "length" else why_unread(content)
            return JudgeMessage(usage, completion.model, why=why)
        return JudgeMessage(
            usage,
            completion.model,
            given,
            why="" if isinstance(given, dict) else NOT_AS_ASKED,
            cut=choice.finish_reason != "stop",
            probabilities=_probabilities(given, content, choice.logprobs, asked.pairs),
        )

    async def close(self) -> None:
        """Close the client."""
        await self._client.close()


def _request(asked: Asked, refused: set[str]) -> dict[str, Any]:
    schema = asked.prompt.tool["input_schema"]
    form = {"name": asked.prompt.tool["name"], "strict": True, "schema": schema}
    body = {
        "model": asked.model,
        "messages": [
            {"role": "system", "content": asked.prompt.text},
            {"role": "user", "content": asked.payload},
        ],
        "response_format": {"type": "json_schema", "json_schema": form},
        "temperature": 0,
        "max_tokens": asked.limit,
        "logprobs": True,
        "top_logprobs": TOP,
    }
    if "answers" not in schema["properties"] or "logprobs" in refused:
        del body["logprobs"], body["top_logprobs"]
    for parameter in refused & body.keys():
        value, other = body.pop(parameter), _INSTEAD[parameter]
        if other is not None:
            body[other] = value
    return body


class _RefusedParameterError(Exception):
    def __init__(self, parameter: str) -> None:
        super().__init__(parameter)
        self.parameter = parameter


async def _unrefused(sent: Any, refused: set[str]) -> Any:
    """Await the answer; _RefusedParameterError if the service refuses a parameter by name."""
    try:
        return await sent
    except (BadRequestError, UnprocessableEntityError) as error:
        if error.param in _INSTEAD and error.param not in refused:
            raise _RefusedParameterError(error.param) from None
        raise


# -- probabilities ---------------------------------------------------------------------------------


def _probabilities(given: Any, content: str, logprobs: Any, pairs: int) -> dict[int, float]:
    """The probability of *same* for each pair, if the tokens of a complete answer show it."""
    entries = given.get("answers") if isinstance(given, dict) else None
    places = list(_ANSWER.finditer(content.encode()))
    try:
        tokens = _Logprobs.model_validate(logprobs).content
    except ValidationError:
        return {}
    written = _written(tokens, content.encode())
    if not (written and isinstance(entries, list) and len(entries) == len(places) == pairs):
        return {}
    found = {
        entry["pair"]: _of_same(tokens, written, *place.span(1))
        for entry, place in zip(entries, places, strict=True)
        if isinstance(entry, dict)
        and isinstance(entry.get("pair"), int)
        and entry.get("answer") == place[1].decode()
    }
    return {pair: one for pair, one in found.items() if one is not None}


def _written(tokens: Sequence[_Token], content: bytes) -> list[bytes]:
    """What each token writes; empty if that does not add up to the answer.

    A character may take several tokens; then only their bytes show it.
    """
    texts = [token.token.encode() for token in tokens]
    found = texts if b"".join(texts) == content else [bytes(token.raw or ()) for token in tokens]
    return found if b"".join(found) == content else []


def _of_same(
    tokens: Sequence[_Token], written: Sequence[bytes], start: int, end: int
) -> float | None:
    """The probability of *same* in place of the answer from byte `start` to `end`.

    None if no alternative has it.
    """
    at, logprob = 0, 0.0
    answer = b"".join(written)[start:end]
    for token, text in zip(tokens, written, strict=True):
        before, at = at, at + len(text)
        if before < end and at > start:
            if answer != b"same":
                return _alternative(token, text[: max(0, start - before)])
            logprob += token.logprob
    return _bounded(logprob)


def _alternative(token: _Token, lead: bytes) -> float | None:
    """The probability that *same* would have begun at this token; `lead` is what precedes it."""
    for other in token.top_logprobs:
        text = other.token.encode()
        word = text.removeprefix(lead).rstrip(b'"')[:4]
        if text.startswith(lead) and word and b"same".startswith(word):
            return _bounded(other.logprob)
    return None


def _bounded(logprob: float) -> float | None:
    return round(math.exp(min(logprob, 0.0)), 6) if not math.isnan(logprob) else None
