"""The service behind a protocol: keeps to rate and budget, and turns failures into replies."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.extras import require_extra
from palimpsest.streams.judge.messages import ANSWER_TOKENS, answer_limit, tokens
from palimpsest.streams.judge.models import Cost, JudgeModel, Usage, model
from palimpsest.streams.judge.prompts import Prompt
from palimpsest.streams.judge.protocols.contract import (
    NO_MESSAGE,
    NOT_IN_TIME,
    Asked,
    Exchange,
    FailedRequestError,
    NoMessageError,
)
from palimpsest.streams.judge.settings import ServiceSettings
from palimpsest.streams.judge.storage import SPENT, Budget, Reservation
from palimpsest.streams.reach import is_remote

_log = logging.getLogger(__name__)

SECONDS_A_PAIR = 0.5
"""Extra time a request may take for each of its pairs, because its answer is longer."""
FINISH_SECONDS = 5.0
"""How long a request that was sent may still take if its caller is cancelled: it will be billed."""
REFUSED_AT_FIRST = 3
"""After this many rejected requests and no accepted one, the cause is not their content."""


@dataclass(frozen=True, slots=True)
class ServiceReply:
    """The reply to one request: `given` is the tool's input, `why` the reason if there is none.

    `model` is the model that answered, as its answer names it; `probabilities` has the probability
    of *the same* by the pair's number, if the service reports one. `cut`: the answer ended early,
    so a text in it is incomplete. `lasting`: the failure follows from these texts.
    """

    outcome: Literal["answered", "unavailable", "unusable"]
    cost: Cost
    why: str = ""
    given: Any = None
    model: str | None = None
    cut: bool = False
    lasting: bool = True
    probabilities: Mapping[int, float] = field(default_factory=dict)


class TokenBucket:
    """Fills at `rate` tokens per second and holds a second's worth; each call takes one."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._tokens = self._holds = max(1.0, rate)
        self._at: float | None = None

    def wait(self, now: float) -> float:
        """Take a token at `now` (seconds of any clock); return the seconds until it is available.

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

    `cost` is the cost of all requests so far, `exchange` the protocol, and `is_remote` whether
    texts may leave the private network. The protocol's client handles retries, back-off with
    jitter, `retry-after` and the key.
    """

    def __init__(self, settings: ServiceSettings, budget: Budget, exchange: Exchange) -> None:
        self._settings = settings
        self._budget = budget
        self._slots = asyncio.Semaphore(settings.concurrency)
        self._bucket = TokenBucket(settings.calls_per_second)
        self.exchange = exchange
        self.is_remote = is_remote(exchange.address)
        self._taken = False
        self._refused = 0
        self.cost = Cost()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.exchange.close()

    async def ask(
        self, prompt: Prompt, name: str, payload: str, pairs: int = 1, *, finish: bool = False
    ) -> ServiceReply:
        """Send a payload with this many pairs to the named model, and return its reply.

        The prompt is one of `exchange.form`. Raises UsageError for a key, a model or a budget with
        which no request can succeed. With `finish`, a request that was sent may be answered for
        FINISH_SECONDS after the caller is cancelled: the caller keeps the reply, and then ends.
        """
        async with self._slots:
            reserved = self._budget.reserve(self._expected(prompt, name, payload, pairs))
            if reserved is None:
                return ServiceReply("unavailable", Cost(), SPENT)
            try:
                await self._bucket.take()
            except asyncio.CancelledError:
                self._budget.give_back(reserved)
                raise
            begun = time.monotonic()
            seconds = self._settings.timeout + SECONDS_A_PAIR * pairs
            limit = answer_limit(pairs, model(name))
            asked = Asked(prompt, name, payload, pairs, limit, seconds)
            try:
                answer = await (_finished(self._sent(asked)) if finish else self._sent(asked))
            except TimeoutError:
                failure = FailedRequestError(NOT_IN_TIME)
            except FailedRequestError as error:
                failure = error
            except UsageError:
                self._budget.give_back(reserved)
                raise
            else:
                self._taken = True
                self._budget.note_acceptance()
                return self._read(answer, asked, reserved, time.monotonic() - begun)
            self._budget.give_back(reserved)
            try:
                return self._failed(failure, name, Cost(seconds=time.monotonic() - begun))
            except UsageError as error:
                self._budget.note_refusal(str(error))
                raise

    async def _sent(self, asked: Asked) -> bytes:
        async with asyncio.timeout(self._settings.patience + SECONDS_A_PAIR * asked.pairs):
            return await self.exchange.send(asked)

    def _expected(self, prompt: Prompt, name: str, payload: str, pairs: int) -> float:
        """The expected cost of a call in USD; an overestimate rather than an underestimate."""
        sent = tokens(prompt.text) + tokens(payload)
        usage = Usage(input_tokens=sent, output_tokens=max(ANSWER_TOKENS * pairs, len(payload)))
        usd = model(name).cost(usage)
        if usd is None and self._budget.in_money:
            raise UsageError(
                f"the price of {name} is not known, so a budget in money cannot be kept:"
                " set daily_calls instead of daily_usd, or name another model in the policy"
            )
        return usd or 0.0

    def _read(
        self, body: bytes, asked: Asked, reserved: Reservation, seconds: float
    ) -> ServiceReply:
        known = model(asked.model)
        try:
            message = self.exchange.read(body, asked)
        except NoMessageError:
            cost = _cost(None, known, reserved, seconds)
            self.cost += cost
            return ServiceReply("unusable", cost, NO_MESSAGE, lasting=False)
        cost = _cost(message.usage, known, reserved, seconds)
        if message.usage is not None:
            self._budget.settle(reserved, cost.usd or 0.0)
        self.cost += cost
        if message.why:
            return ServiceReply("unusable", cost, message.why, model=message.model)
        return ServiceReply(
            "answered",
            cost,
            given=message.given,
            model=message.model,
            cut=message.cut,
            # A probability means nothing without the name of the model that gave it.
            probabilities=message.probabilities if message.model else {},
        )

    def _failed(self, failure: FailedRequestError, name: str, cost: Cost) -> ServiceReply:
        match failure.status:
            case 401 | 403:
                raise UsageError(
                    f"the service refuses the key (status {failure.status}): look at"
                    f" {self.exchange.key} and what it may be used for"
                )
            case 404:
                place = "the region" if self._settings.platform else "`base_url`"
                raise UsageError(
                    f"the service has no model {name}, or this is not its address (status 404):"
                    f" look at `model` of [judge] and {place}"
                )
            case int(status) if 300 <= status < 400:
                raise UsageError(
                    f"the service's address redirects (status {status}), and redirections are not"
                    " followed: set `base_url` of [judge] to where it leads"
                )
            case None | 402 | 408 | 409 | 429:
                return ServiceReply("unavailable", cost, failure.why)
            case status if status >= 500 or failure.no_credit:
                return ServiceReply("unavailable", cost, failure.why)
            case status:
                return self._refuse(status, name, cost)

    def _refuse(self, status: int, name: str, cost: Cost) -> ServiceReply:
        self._refused += 1
        _log.warning("the judge's service refuses a request as wrong (status %d)", status)
        if not self._taken and self._refused >= REFUSED_AT_FIRST:
            platform = self._settings.platform
            cloud = f" Is that its name on {platform}, in this region?" if platform else ""
            raise UsageError(
                f"the service takes no request at all (status {status}): does {name} answer in the"
                f" form that protocol {self._settings.protocol} asks for?{cloud}"
            )
        return ServiceReply("unusable", cost, f"status {status}", lasting=self._taken)


async def _finished(sent: Coroutine[Any, Any, bytes]) -> bytes:
    """The answer, also if it arrives within FINISH_SECONDS after the caller was cancelled."""
    task = asyncio.ensure_future(sent)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=FINISH_SECONDS)
        if not task.done():
            raise
        return task.result()
    finally:
        task.cancel()


def _cost(usage: Usage | None, known: JudgeModel, reserved: Reservation, seconds: float) -> Cost:
    """The cost of one call; the expected cost if the answer has no count of tokens."""
    if usage is None:
        return Cost(usd=reserved.usd if known.tiers else None, seconds=seconds, calls=1)
    return Cost(usage.read, usage.output_tokens, known.cost(usage), seconds, 1)


def open_exchange(settings: ServiceSettings) -> Exchange:
    """The protocol of the settings, with an open client; UsageError without package or key."""
    with require_extra("the judge", "judge"):
        match settings.protocol:
            case "anthropic":
                from palimpsest.streams.judge.protocols.anthropic_messages import AnthropicMessages

                return AnthropicMessages(settings)
            case "openai-chat":
                from palimpsest.streams.judge.protocols.openai_chat import OpenAIChat

                return OpenAIChat(settings)
            case "openai-decisions":
                from palimpsest.streams.judge.protocols.decisions import OpenAIDecisions

                return OpenAIDecisions(settings)
            case "systemone":
                from palimpsest.streams.judge.protocols.decisions import SystemOne

                return SystemOne(settings)
