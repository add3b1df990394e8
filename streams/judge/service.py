"""The service, through its own SDK: limits rate and budget, and turns failures into replies."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Self

from anthropic import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    AsyncAnthropic,
    CredentialsError,
)
from pydantic import BaseModel, ConfigDict, ValidationError

from palimpsest.contracts.errors import UsageError
from palimpsest.streams.judge.messages import ANSWER_TOKENS, answer_limit, request, tokens
from palimpsest.streams.judge.models import Cost, Model, Usage, model
from palimpsest.streams.judge.prompts import Prompt
from palimpsest.streams.judge.settings import JudgeSettings
from palimpsest.streams.judge.storage import SPENT, Budget, Reservation

_log = logging.getLogger(__name__)

SECONDS_A_PAIR = 0.5
"""Extra time a request may take for each of its pairs, as its answer is longer."""
REFUSED_AT_FIRST = 3
"""After this many rejected requests and no accepted one, the cause is not their content."""
_NO_CREDIT = "credit balance"
_NO_KEY = (
    "the judge needs a key that can be used: set ANTHROPIC_API_KEY"
    " (`palimpsest demo-judge` is to try it without one)"
)


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to one request: `given` is the tool's input, `why` the reason if there is none.

    `cut`: the answer ended early, so a text in it is incomplete. `lasting`: the failure follows
    from these texts, so sending them again would only cost again.
    """

    outcome: Literal["answered", "unavailable", "unusable"]
    cost: Cost
    why: str = ""
    given: Any = None
    cut: bool = False
    lasting: bool = True


class _Block(BaseModel):
    type: str
    name: str | None = None
    input: Any = None


class _Message(BaseModel):
    """The fields of an answer that we read."""

    model_config = ConfigDict(frozen=True)

    content: list[_Block]
    usage: Usage
    stop_reason: str | None = None


class TokenBucket:
    """Fills at `rate` tokens a second and holds a second's worth; each call takes one."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._tokens = self._holds = max(1.0, rate)
        self._at: float | None = None

    def wait(self, now: float) -> float:
        """Take a token at `now` (seconds of any clock); returns the seconds until it is available.

        Later callers wait behind earlier ones.
        """
        if self._at is not None:
            filled = self._tokens + max(0.0, now - self._at) * self._rate
            self._tokens = min(self._holds, filled)
        self._at = now
        self._tokens -= 1.0
        return max(0.0, -self._tokens / self._rate)

    async def take(self) -> None:
        """Wait until a call may begin."""
        seconds = self.wait(asyncio.get_running_loop().time())
        if seconds:
            await asyncio.sleep(seconds)


class Service:
    """Sends requests, with the settings' concurrency and rate, within the day's budget.

    `cost` is the cost of all requests so far. The SDK handles retries, back-off with jitter,
    `retry-after` and the key.
    """

    def __init__(self, settings: JudgeSettings, budget: Budget) -> None:
        self._settings = settings
        self._budget = budget
        self._slots = asyncio.Semaphore(settings.concurrency)
        self._bucket = TokenBucket(settings.calls_per_second)
        self._client = _client(settings)
        self._taken = False
        self._refused = 0
        self.cost = Cost()

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        await self._client.__aexit__(kind, error, at)

    async def ask(self, prompt: Prompt, name: str, payload: str, pairs: int = 1) -> Reply:
        """Send a payload with this many pairs to the named model, and return its reply.

        Raises UsageError for a key, a model or a budget with which no request can succeed.
        """
        async with self._slots:
            reserved = self._budget.reserve(self._expected(prompt, name, payload, pairs))
            if reserved is None:
                return Reply("unavailable", Cost(), SPENT)
            await self._bucket.take()
            begun = time.monotonic()
            body = request(prompt, name, payload, answer_limit(pairs, model(name)))
            try:
                answer = await self._send(body, pairs)
            except (APIConnectionError, APIStatusError, TimeoutError) as error:
                self._budget.give_back(reserved)
                return self._failed(error, name, Cost(seconds=time.monotonic() - begun))
            self._taken = True
            return self._read(answer, prompt, model(name), reserved, time.monotonic() - begun)

    def _expected(self, prompt: Prompt, name: str, payload: str, pairs: int) -> float:
        """The expected cost of a call in USD, rather too high than too low."""
        sent = tokens(prompt.text) + tokens(payload)
        usage = Usage(input_tokens=sent, output_tokens=max(ANSWER_TOKENS * pairs, len(payload)))
        usd = model(name).cost(usage)
        if usd is None and self._budget.in_money:
            raise UsageError(
                f"the price of {name} is not known, so a budget in money cannot be kept:"
                " set daily_calls instead of daily_usd, or name another model in the policy"
            )
        return usd or 0.0

    async def _send(self, body: dict[str, Any], pairs: int) -> bytes:
        """The body of the service's answer, after retries; raises TimeoutError if it is late."""
        longer = SECONDS_A_PAIR * pairs
        try:
            async with asyncio.timeout(self._settings.patience + longer):
                sent = self._client.messages.with_raw_response.create(
                    **body, timeout=self._settings.timeout + longer
                )
                body_read: bytes = (await sent).http_response.content
                return body_read
        except CredentialsError:
            raise UsageError(_NO_KEY) from None

    def _read(
        self, answer: bytes, prompt: Prompt, known: Model, reserved: Reservation, seconds: float
    ) -> Reply:
        try:
            message = _Message.model_validate_json(answer)
        except ValidationError:
            cost = Cost(usd=reserved.usd if known.tiers else None, seconds=seconds, calls=1)
            self.cost += cost
            return Reply("unusable", cost, "it is no message", lasting=False)
        usage = message.usage
        usd = known.cost(usage)
        self._budget.settle(reserved, usd or 0.0)
        cost = Cost(usage.read, usage.output_tokens, usd, seconds, 1)
        self.cost += cost
        return _reply(message, prompt, cost)

    def _failed(
        self, error: APIConnectionError | APIStatusError | TimeoutError, name: str, cost: Cost
    ) -> Reply:
        match error:
            case TimeoutError() | APITimeoutError():
                return Reply("unavailable", cost, "no answer in time")
            case APIConnectionError():
                return Reply("unavailable", cost, "no connection")
            case APIStatusError(status_code=401 | 403):
                raise UsageError(
                    f"the service refuses the key (status {error.status_code}): look at"
                    " ANTHROPIC_API_KEY and what it may be used for"
                )
            case APIStatusError(status_code=404):
                raise UsageError(f"the service has no model {name} (status 404)")
            case APIStatusError(status_code=402 | 408 | 409 | 429):
                return Reply("unavailable", cost, f"status {error.status_code}")
            case APIStatusError() if error.status_code >= 500 or _NO_CREDIT in error.message:
                return Reply("unavailable", cost, f"status {error.status_code}")
            case _:
                return self._refuse(error.status_code, name, cost)

    def _refuse(self, status: int, name: str, cost: Cost) -> Reply:
        self._refused += 1
        _log.warning("the judge's service refuses a request as wrong (status %d)", status)
        if not self._taken and self._refused >= REFUSED_AT_FIRST:
            raise UsageError(
                f"the service takes no request at all (status {status}): does {name} use tools?"
            )
        return Reply("unusable", cost, f"status {status}", lasting=self._taken)


def _reply(message: _Message, prompt: Prompt, cost: Cost) -> Reply:
    """A message as a reply; the blocks before the tool call are the model's thinking."""
    if message.stop_reason == "refusal":
        return Reply("unusable", cost, "the model refused")
    calls = [block for block in message.content if block.type == "tool_use"]
    if len(calls) != 1 or calls[0].name != prompt.tool["name"]:
        return Reply("unusable", cost, "the model did not answer as it was asked")
    cut = message.stop_reason not in {"tool_use", "end_turn"}
    return Reply("answered", cost, given=calls[0].input, cut=cut)


def _client(settings: JudgeSettings) -> AsyncAnthropic:
    """The SDK's client, without its tracing. Raises UsageError without a key or an address."""
    try:
        client = AsyncAnthropic(
            base_url=settings.base_url, max_retries=settings.retries, open_telemetry=False
        )
    except CredentialsError:
        raise UsageError(_NO_KEY) from None
    if not (client.api_key or client.auth_token or client.credentials):
        raise UsageError(_NO_KEY)
    if client.base_url.scheme not in {"http", "https"}:
        raise UsageError(
            "the address of the judge's service must begin with https:// or http://:"
            " look at ANTHROPIC_BASE_URL, or base_url of [judge]"
        )
    return client
