"""The protocol `anthropic`: the Messages API, with a tool that the model answers with."""

from __future__ import annotations

from typing import Annotated, Any

from anthropic import APIConnectionError, APIStatusError, APITimeoutError, CredentialsError
from pydantic import BaseModel, ConfigDict, ValidationError

from palimpsest.streams.judge.messages import request
from palimpsest.streams.judge.models import Usage
from palimpsest.streams.judge.prompts import Prompt
from palimpsest.streams.judge.protocols.anthropic_platforms import PLATFORMS, NoCredentialsError
from palimpsest.streams.judge.protocols.contract import (
    CUT,
    NO_CONNECTION,
    NO_CREDIT,
    NOT_AS_ASKED,
    NOT_IN_TIME,
    NOT_REFRESHED,
    REFUSED,
    Asked,
    FailedRequestError,
    IfValid,
    JudgeMessage,
    NoMessageError,
    why_unread,
)
from palimpsest.streams.judge.settings import ServiceSettings

_NO_CREDIT = "credit balance"


class _Block(BaseModel):
    type: str
    text: Annotated[str | None, IfValid] = None
    name: str | None = None
    input: Any = None


class _Message(BaseModel):
    """The fields of an answer that we read."""

    model_config = ConfigDict(frozen=True)

    content: list[_Block]
    usage: Annotated[Usage | None, IfValid] = None
    model: str | None = None
    stop_reason: str | None = None


class AnthropicMessages:
    """The vendor's SDK; it handles retries, back-off with jitter, `retry-after` and the key."""

    most = 500
    writes = True

    def __init__(self, settings: ServiceSettings) -> None:
        opened = PLATFORMS[settings.platform](settings)
        self.key, self._client = opened.key, opened.client
        self._unrefreshed = opened.unrefreshed
        self.address = str(self._client.base_url)

    def form(self, prompt: Prompt) -> Prompt:
        """The prompt unchanged; its tool is offered."""
        return prompt

    async def send(self, asked: Asked) -> bytes:
        """Send the request; return the answer's body."""
        body = request(asked.prompt, asked.model, asked.payload, asked.limit)
        try:
            sent = self._client.messages.with_raw_response.create(**body, timeout=asked.seconds)
            read: bytes = (await sent).http_response.content
        except CredentialsError:
            raise NoCredentialsError(self.key) from None
        except self._unrefreshed:
            raise FailedRequestError(NOT_REFRESHED) from None
        except APITimeoutError:
            raise FailedRequestError(NOT_IN_TIME) from None
        except APIConnectionError:
            raise FailedRequestError(NO_CONNECTION) from None
        except APIStatusError as error:
            status = error.status_code
            credit = _NO_CREDIT in error.message
            why = NO_CREDIT if credit else f"status {status}"
            raise FailedRequestError(why, status, no_credit=credit) from None
        return read

    def read(self, body: bytes, asked: Asked) -> JudgeMessage:
        """The input of the tool; the blocks before the tool call are the model's thinking."""
        try:
            message = _Message.model_validate_json(body)
        except ValidationError:
            raise NoMessageError from None
        usage, model = message.usage, message.model
        if message.stop_reason == "refusal":
            return JudgeMessage(usage, model, why=REFUSED)
        calls = [block for block in message.content if block.type == "tool_use"]
        if len(calls) != 1 or calls[0].name != asked.prompt.tool["name"]:
            said = "".join(block.text or "" for block in message.content)
            why = NOT_AS_ASKED if calls else why_unread(said)
            return JudgeMessage(
                usage, model, why=CUT if message.stop_reason == "max_tokens" else why
            )
        cut = message.stop_reason not in {"tool_use", "end_turn"}
        return JudgeMessage(usage, model, calls[0].input, cut=cut)

    async def close(self) -> None:
        """Close the client."""
        await self._client.close()
