"""The judge, which tells whether texts say the same, and composes one text from several.

See docs/judge.md. A service's model is asked with a prompt. Cached answers are not requested again;
other pairs are packed into few requests, and every usable answer is cached immediately.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar
from uuid import uuid4

from palimpsest.contracts import policy
from palimpsest.contracts.errors import PalimpsestError
from palimpsest.contracts.evidence import FirstAnswer, RecordedJudge, Verdict
from palimpsest.streams.judge.messages import (
    composition_entries,
    fits,
    pack,
    pairs_payload,
    read_answers,
    read_composed_text,
    sources_payload,
)
from palimpsest.streams.judge.models import NOTHING, Cost, cost_of, model
from palimpsest.streams.judge.pairs import CompositionAnswer, JudgeAnswer, JudgedPair, Side
from palimpsest.streams.judge.prompts import ANSWERS, Name, Prompt, prompt
from palimpsest.streams.judge.protocols.contract import CUT
from palimpsest.streams.judge.recorded import recorded_judge
from palimpsest.streams.judge.settings import ServiceSettings
from palimpsest.streams.judge.storage import FILE, LEASE_SECONDS, Budget, Key, VerdictCache

if TYPE_CHECKING:
    from palimpsest.streams.judge.service import Service, ServiceReply

SWAPPED = "~swapped"
"""Suffix of a prompt's id in the cache: the pair was shown in reverse order."""
UNUSABLE_RETRIES = 1
"""How often a pair or a composition that was alone in its request is requested again."""
WAIT_SECONDS = 0.1
"""Interval of checking for an answer that another process has requested."""
Result = TypeVar("Result")


class PairJudge(Protocol):
    """Anything that compares pairs and composes texts like `Judge`."""

    @property
    def recorded(self) -> RecordedJudge | None:
        """Who answers, as the log records it; None if that is not to be recorded."""

    async def compare(self, pairs: Sequence[JudgedPair]) -> list[Verdict]:
        """One verdict per pair, in order."""

    async def compose(self, sources: Sequence[Side]) -> CompositionAnswer:
        """One text composed from several, given oldest first."""

    def owe(self, pair: JudgedPair, verdict: Verdict) -> None:
        """Add the cost of a verdict that is not recorded to the next one about the pair."""


@dataclass(frozen=True, slots=True)
class _PairComparison:
    """How pairs are shown to a model; `swapped` shows the newer side of each first."""

    prompt: Prompt
    model: str
    swapped: bool = False

    def key(self, pair: JudgedPair) -> Key:
        prompt_id = self.prompt.id + SWAPPED if self.swapped else self.prompt.id
        return Key(pair.older.hash, pair.newer.hash, prompt_id, self.model)


TOO_LONG = "the texts are too long for the model"
LOCAL_ONLY = "the policy keeps a text local, and the judge is remote: a person decides"
ONE_SIDED = frozenset({"update", "compose"})
"""Answers that would change a text: they count only if given in both orders."""


class Judge:
    """Asks a service's model under a policy's rules; an async context manager.

    Failures of the service are answers, never exceptions: `unavailable` (it is down, slow or limits
    us, or the day's budget is spent) and `unusable` (it refused, or did not answer as asked).
    UsageError is raised only if no request can succeed, such as for a key or a model that the
    service does not know. A judge belongs to one event loop.
    """

    def __init__(
        self,
        rules: policy.Judge,
        settings: ServiceSettings,
        cache: VerdictCache,
        budget: Budget,
        *,
        recorded: bool = True,
    ) -> None:
        self.rules = settings.over(rules)
        self._recorded = recorded
        self.budget = budget
        self._settings = settings
        self.cache = cache
        self._service: Service | None = None
        self._entered = AsyncExitStack()

    @classmethod
    def beside(
        cls,
        folder: Path,
        rules: policy.Judge,
        settings: ServiceSettings,
        clock: Callable[[], datetime],
        *,
        recorded: bool = True,
        name: str = FILE,
    ) -> Judge:
        """Create a judge that keeps its answers and budget in a store's folder, in file `name`.

        If its verdicts are not `recorded` in the log, as in a dry run, the cost of an answer is
        carried by the verdict that is recorded later.
        """
        file = folder / name
        cache = VerdictCache(file)
        try:
            budget = Budget(file, settings, clock)
        except BaseException:
            cache.close()
            raise
        return cls(rules, settings, cache, budget, recorded=recorded)

    def by(self, rules: policy.Judge) -> Judge:
        """This judge under other rules: it shares rate and budget, and closes with this one."""
        other = Judge(rules, self._settings, self.cache, self.budget, recorded=self._recorded)
        other._service = self.service
        return other

    async def __aenter__(self) -> Self:
        self._entered.callback(self.close)
        try:
            from palimpsest.streams.judge.service import Service, open_exchange

            self._service = await self._entered.enter_async_context(
                Service(self._settings, self.budget, open_exchange(self._settings))
            )
        except BaseException:
            await self._entered.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._service = None
        await self._entered.aclose()

    def close(self) -> None:
        """Close the files; leaving the context does it, too."""
        self.cache.close()
        self.budget.close()

    @property
    def service(self) -> Service:
        """The service, for requests of other kinds, too; available only inside the context."""
        if self._service is None:
            raise RuntimeError("a judge is an async context manager: enter it first")
        return self._service

    @cached_property
    def recorded(self) -> RecordedJudge:
        """Who answers, as the log records it; available only inside the context."""
        return recorded_judge(self._settings, self.rules, self.service.exchange.address)

    @property
    def cost(self) -> Cost:
        """The cost of all its requests so far, usable or not."""
        return self.service.cost

    async def compare(self, pairs: Sequence[JudgedPair]) -> list[Verdict]:
        """A verdict for each pair, in order; all must be of one owner, because they share requests.

        Cached answers cost nothing. A verdict's `neighbour_id` is the older candidate's. Under
        `ask: compose` there is no request: every pair is to be composed.
        """
        match self.rules.ask:
            case "compose":
                return [Verdict(neighbour_id=p.older.candidate_id, answer="compose") for p in pairs]
            case "same":
                return await self._verdicts("compare-same", self.rules.model, pairs)
            case "relation":
                return await self._verdicts_in_both_orders(pairs)

    async def compare_once(self, pairs: Sequence[JudgedPair]) -> list[Verdict]:
        """Like `compare`, but shows each pair in one order only; not for `ask: compose`."""
        name: Name = "compare-same" if self.rules.ask == "same" else "compare-relation"
        return await self._verdicts(name, self.rules.model, pairs)

    def owe(self, pair: JudgedPair, verdict: Verdict | FirstAnswer) -> None:
        """Add the cost of a verdict that is not recorded to the next one about the pair."""
        if self._recorded and verdict.calls and verdict.prompt:
            key = Key(pair.older.hash, pair.newer.hash, verdict.prompt, self.rules.model)
            self.cache.owe(key, cost_of(verdict))

    async def review(self, pairs: Sequence[JudgedPair]) -> list[Verdict]:
        """Like `compare`, by the policy's stronger model; every answer is `same` or `different`."""
        return await self._verdicts("review", self.rules.review_model, pairs)

    async def compose(self, sources: Sequence[Side]) -> CompositionAnswer:
        """Compose one text from several, given oldest first.

        The verdict's `neighbour_id` is the oldest's.
        """
        exchange, name = self.service.exchange, self.rules.model
        if self.service.is_remote and any(source.local for source in sources):
            return self._no_text(sources[0], LOCAL_ONLY)
        if not exchange.writes:
            return self._no_text(sources[0], "a decision model writes no text")
        asked = exchange.form(prompt("compose"))
        payload, entries = sources_payload(sources), composition_entries(sources)
        if not fits(asked, payload, entries, model(name)):
            return self._no_text(sources[0], TOO_LONG)
        key = Key(sources[0].hash, _hash(sources[1:]), asked.id, name)
        answer = self.cache.get(key)
        while answer is None:
            async with self._lease([key]) as leased:
                if leased:
                    answer = self.cache.get(key) or await self._composed(
                        key, payload, entries, asked
                    )
            if answer is None:
                await asyncio.sleep(WAIT_SECONDS)
                answer = self.cache.get(key)
        [answer] = self._claimed([key], [answer])
        return CompositionAnswer(answer.text, self._verdict(sources[0], answer, asked, name))

    async def _composed(self, key: Key, payload: str, entries: int, asked: Prompt) -> JudgeAnswer:
        reply = await self.service.ask(asked, key.model, payload, entries, finish=True)
        answer, retries = _composition(reply), UNUSABLE_RETRIES
        while answer.answer == "unusable" and reply.cost.calls and retries:
            end_if_cancelled()
            retries -= 1
            reply = await self.service.ask(asked, key.model, payload, entries, finish=True)
            again = _composition(reply)
            answer = replace(again, cost=answer.cost + again.cost)
        if answer.answer == "compose" or (answer.answer == "unusable" and reply.lasting):
            self.cache.put({key: answer})
        end_if_cancelled()
        return answer

    async def _verdicts(self, name: Name, model: str, pairs: Sequence[JudgedPair]) -> list[Verdict]:
        comparison = _PairComparison(self.service.exchange.form(prompt(name)), model)
        answers = await self._answers(comparison, pairs)
        answers = self._claimed([comparison.key(pair) for pair in pairs], answers)
        return self._as_verdicts(comparison, pairs, answers)

    async def _verdicts_in_both_orders(self, pairs: Sequence[JudgedPair]) -> list[Verdict]:
        """The verdicts; an answer that would change a text is requested in the other order, too."""
        asked = self.service.exchange.form(prompt("compare-relation"))
        comparison = _PairComparison(asked, self.rules.model)
        answers = await self._answers(comparison, pairs)
        again = [place for place, answer in enumerate(answers) if answer.answer in ONE_SIDED]
        swapped = replace(comparison, swapped=True)
        others = await self._answers(swapped, [pairs[place] for place in again])
        answers = self._claimed([comparison.key(pair) for pair in pairs], answers)
        others = self._claimed([swapped.key(pairs[place]) for place in again], others)
        for place, other in zip(again, others, strict=True):
            answers[place] = _agreed(answers[place], other)
        return self._as_verdicts(comparison, pairs, answers)

    # -- from answers to verdicts ------------------------------------------------------------------

    def _as_verdicts(
        self, how: _PairComparison, pairs: Sequence[JudgedPair], answers: Sequence[JudgeAnswer]
    ) -> list[Verdict]:
        return [
            self._verdict(pair.older, answer, how.prompt, how.model)
            for pair, answer in zip(pairs, answers, strict=True)
        ]

    def _verdict(self, older: Side, answer: JudgeAnswer, asked: Prompt, model: str) -> Verdict:
        cost = answer.cost
        if answer.reason == LOCAL_ONLY:  # no model was asked
            return Verdict(
                neighbour_id=older.candidate_id, answer=answer.answer, reasoning=LOCAL_ONLY
            )
        return Verdict(
            neighbour_id=older.candidate_id,
            answer=answer.answer,
            reasoning=answer.reason,
            model=answer.model or model,
            prompt=asked.id,
            probability=answer.probability,
            input_tokens=cost.input_tokens,
            output_tokens=cost.output_tokens,
            cost_usd=cost.usd,
            seconds=cost.seconds,
            calls=cost.calls,
            protocol=self._settings.protocol,
            remote=self.service.is_remote,
            judge=self.recorded.hash,
        )

    def _no_text(self, oldest: Side, reason: str) -> CompositionAnswer:
        about, model = oldest.candidate_id, self.rules.model
        verdict = Verdict(neighbour_id=about, answer="unusable", reasoning=reason, model=model)
        return CompositionAnswer(None, verdict)

    # -- from pairs to answers ---------------------------------------------------------------------

    async def _answers(
        self, how: _PairComparison, pairs: Sequence[JudgedPair]
    ) -> list[JudgeAnswer]:
        """The cached or requested answer about each pair, in order.

        Pairs of equal texts are requested once, and the first of them carries the cost. A pair with
        a local text is not sent to a remote service.
        """
        keys = [how.key(pair) for pair in pairs]
        found: dict[Key, JudgeAnswer] = {}
        sendable = {
            key: pair
            for key, pair in zip(keys, pairs, strict=True)
            if not (pair.local and self.service.is_remote)
        }
        while missing := self._missing(sendable, found):
            async with self._lease(missing) as leased:
                unanswered = self._missing({key: missing[key] for key in leased}, found)
                requested = await self._ask_all(how, list(unanswered.values()))
                found |= zip(unanswered, requested, strict=True)
            if not leased:
                await asyncio.sleep(WAIT_SECONDS)
        answers = []
        for key in keys:
            answer = found.get(key) or self.cache.get(key) or JudgeAnswer("unusable", LOCAL_ONLY)
            answers.append(answer)
            found[key] = replace(answer, cost=NOTHING)
        return answers

    def _missing(
        self, pairs: dict[Key, JudgedPair], found: dict[Key, JudgeAnswer]
    ) -> dict[Key, JudgedPair]:
        """The pairs that have no answer; those that are cached are added to `found`."""
        for key in pairs.keys() - found.keys():
            if answer := self.cache.get(key):
                found[key] = answer
        return {key: pair for key, pair in pairs.items() if key not in found}

    @asynccontextmanager
    async def _lease(self, keys: Iterable[Key]) -> AsyncIterator[list[Key]]:
        """Lease the keys that no other process is asking about."""
        lease = uuid4().hex
        leased = self.cache.lease(keys, lease)
        renewing = asyncio.create_task(self._renew(lease))
        try:
            yield leased
        finally:
            renewing.cancel()
            self.cache.release(lease)

    async def _renew(self, lease: str) -> None:
        while True:
            await asyncio.sleep(LEASE_SECONDS / 3)
            with suppress(PalimpsestError):  # a lease that ends too early costs only a request
                self.cache.renew(lease)

    async def _ask_all(
        self, how: _PairComparison, pairs: Sequence[JudgedPair]
    ) -> list[JudgeAnswer]:
        """Send all pairs in few concurrent requests."""
        most = self.service.exchange.most
        packs = pack(pairs, how.prompt, model(how.model), self.rules, most)
        parts = [pairs[one.start : one.stop] for one in packs]
        answers = await _gather(self._ask(how, part, [NOTHING] * len(part)) for part in parts)
        return [answer for part in answers for answer in part]

    async def _ask(
        self,
        how: _PairComparison,
        pairs: Sequence[JudgedPair],
        paid: Sequence[Cost],
        retries: int = UNUSABLE_RETRIES,
    ) -> list[JudgeAnswer]:
        """Send one request; `paid` is what each pair has cost so far.

        Answers are cached immediately, so that none is paid for twice after a crash. If an answer
        is unusable, another pair of the request may be the cause. So its pair is sent again in
        smaller requests, and up to `retries` times alone; only then is the answer cached.
        """
        payload = pairs_payload(pairs, swapped=how.swapped)
        reply = await self.service.ask(how.prompt, how.model, payload, len(pairs), finish=True)
        parts = reply.cost.parts(len(pairs))
        costs = [before + part for before, part in zip(paid, parts, strict=True)]
        if reply.outcome == "unavailable":
            return [_no_answer(reply, cost) for cost in costs]
        read = read_answers(reply.given, ANSWERS[how.prompt.name], len(pairs))
        answers = [
            _pair_answer(reply, number, answer, cost)
            for number, (answer, cost) in enumerate(zip(read, costs, strict=True), 1)
        ]
        found = dict(zip(map(how.key, pairs), answers, strict=True))
        self.cache.put({key: said for key, said in found.items() if said.answer != "unusable"})
        end_if_cancelled()
        lost = [place for place, answer in enumerate(read) if answer is None]
        if lost and len(pairs) == 1:
            if reply.cost.calls and retries:
                return await self._ask(how, pairs, costs, retries - 1)
            if reply.lasting:
                self.cache.put(found)
        elif lost and reply.lasting:
            again = await self._ask_in_smaller_requests(
                how, [pairs[p] for p in lost], [costs[p] for p in lost], len(pairs)
            )
            for place, answer in zip(lost, again, strict=True):
                answers[place] = answer
        return answers

    async def _ask_in_smaller_requests(
        self, how: _PairComparison, pairs: Sequence[JudgedPair], paid: Sequence[Cost], than: int
    ) -> list[JudgeAnswer]:
        """Send pairs again, in requests of fewer than `than` pairs each."""
        half = len(pairs) if len(pairs) < than else -(-len(pairs) // 2)
        parts = (slice(None, half), slice(half, None))
        answers = await _gather(
            self._ask(how, pairs[part], paid[part]) for part in parts if pairs[part]
        )
        return [answer for part in answers for answer in part]

    def _claimed(self, keys: Sequence[Key], answers: Sequence[JudgeAnswer]) -> list[JudgeAnswer]:
        """Answers with the costs that their verdicts record: what is owed for those in the cache.

        Nothing is claimed for verdicts that are not recorded.
        """
        if not self._recorded:
            return [*answers]
        owed = [self.cache.claim(key) for key in keys]
        return [
            answer if cost is None else replace(answer, cost=cost)
            for answer, cost in zip(answers, owed, strict=True)
        ]


def end_if_cancelled() -> None:
    """End a task that was cancelled while its request was in progress."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _agreed(first: JudgeAnswer, second: JudgeAnswer) -> JudgeAnswer:
    """The answer given in both orders; the second if it failed; `different` if they disagree."""
    cost = first.cost + second.cost
    if second.answer == first.answer or second.answer in {"unavailable", "unusable"}:
        return replace(second, cost=cost)
    reason = f"{first.answer} in one order, {second.answer} in the other"
    return JudgeAnswer("different", reason, cost, model=second.model)


def _no_answer(reply: ServiceReply, cost: Cost) -> JudgeAnswer:
    """The answer that a failed reply stands for."""
    assert reply.outcome != "answered"
    return JudgeAnswer(reply.outcome, reply.why, cost, model=reply.model)


def _pair_answer(
    reply: ServiceReply, number: int, answer: JudgeAnswer | None, cost: Cost
) -> JudgeAnswer:
    """What a reply says of the pair with a number; None if nothing usable was read."""
    if answer is None:
        return _no_usable_answer(reply, cost)
    probability = reply.probabilities.get(number)
    return replace(answer, cost=cost, model=reply.model, probability=probability)


def _no_usable_answer(reply: ServiceReply, cost: Cost) -> JudgeAnswer:
    reason = reply.why or (CUT if reply.cut else "the model gave no usable answer about this pair")
    return JudgeAnswer("unusable", reason, cost, model=reply.model)


def _composition(reply: ServiceReply) -> JudgeAnswer:
    if reply.outcome != "answered":
        return _no_answer(reply, reply.cost)
    text = None if reply.cut else read_composed_text(reply.given)
    if text is None:
        reason = "the model gave no usable text"
        return JudgeAnswer("unusable", reason, reply.cost, model=reply.model)
    return JudgeAnswer("compose", None, reply.cost, text, model=reply.model)


async def _gather(requests: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    """All results, in order; if one request raises, the others are cancelled."""
    tasks = [asyncio.ensure_future(request) for request in requests]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def _hash(sources: Sequence[Side]) -> str:
    """The hash of a single text, or the hash over the hashes of several."""
    if len(sources) == 1:
        return sources[0].hash
    return hashlib.sha256("".join(source.hash for source in sources).encode()).hexdigest()
