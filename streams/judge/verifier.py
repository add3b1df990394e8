"""Turns a question to the judge into the request with its verdicts (docs/judge.md).

A `Questions` object (worker.py) supplies the questions and takes the requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

from msgspec import structs

from palimpsest.contracts import policy
from palimpsest.contracts.evidence import Answer, Verdict
from palimpsest.contracts.identity import event_id
from palimpsest.contracts.questions import (
    AnyQuestion,
    AskedNeighbour,
    AskedText,
    ComposeQuestion,
    SettleQuestion,
)
from palimpsest.contracts.requests import ComposeRequest, SettleRequest
from palimpsest.streams.judge.batching import Batcher
from palimpsest.streams.judge.judge import PairJudge
from palimpsest.streams.judge.models import at_no_cost, costs_of_both, is_paid
from palimpsest.streams.judge.pairs import FAILED, CompositionAnswer, JudgedPair, Side
from palimpsest.streams.judge.recorded import signed

JudgeOf = Callable[[policy.Judge], PairJudge]
"""Returns the judge under a policy's rules."""

NEXT: frozenset[Answer] = frozenset({"different", "unusable"})
"""After these answers the next best neighbour follows; any other answer settles."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Undecided:
    """A question that stays pending for this `reason`: no usable answer settles it."""

    reason: str
    verdicts: tuple[Verdict, ...] = ()


Decided = SettleRequest | ComposeRequest


@dataclass(slots=True)
class _InProgress(Generic[Result]):
    task: asyncio.Task[Result]
    waiting: int = 0
    is_paid: bool = False


class SharedRequests(Generic[Result]):
    """Requests in progress on one event loop, by key; equal requests share one."""

    def __init__(self) -> None:
        self._in_progress: dict[Hashable, _InProgress[Result]] = {}

    async def result(
        self, key: Hashable, request: Callable[[], Coroutine[Any, Any, Result]]
    ) -> tuple[Result, bool]:
        """The result, and whether it is shared: then another caller pays for the request.

        The first caller that gets the result pays: the one that sent the request may be cancelled
        before. The request is cancelled when no caller waits for it.
        """
        found = self._in_progress.get(key)
        if found is None:
            found = self._in_progress[key] = _InProgress(asyncio.create_task(request()))
        found.waiting += 1
        try:
            result = await asyncio.shield(found.task)
            shared, found.is_paid = found.is_paid, True
            return result, shared
        finally:
            found.waiting -= 1
            if not found.waiting:
                del self._in_progress[key]
                found.task.cancel()


class Verifier:
    """Compares a candidate with its neighbours, the best first, until an answer settles.

    Comparisons of equal texts at the same time, even for two owners, share one request, as they
    would share its cached answer. A failure is not shared.
    """

    def __init__(self, judge_of: JudgeOf, batcher: Batcher) -> None:
        self._judge_of = judge_of
        self._batcher = batcher
        self._pairs: SharedRequests[Verdict] = SharedRequests()
        self._texts: SharedRequests[CompositionAnswer] = SharedRequests()

    async def answer(self, question: AnyQuestion) -> Decided | Undecided:
        """The request with the judge's answers; Undecided if the question has to wait.

        A pair without a usable answer may be the same, so the question waits unless a later
        neighbour settles it. A question for a composed text waits if none was composed. A second
        answer to a question has no effect, because the request's id follows from the question.
        """
        if isinstance(question, SettleQuestion):
            return await self._settle(question)
        if not question.rules.enabled:
            return Undecided("the policy asks no judge")
        result = await self._composed(question, [_side(source) for source in question.sources])
        if result.text is None or not result.text.strip():
            why = result.verdict.reasoning if result.text is None else "nothing was composed"
            return Undecided(why or result.verdict.answer, (result.verdict,))
        request = ComposeRequest(
            request_id=request_id(question),
            decision_id=question.decision_id,
            text=result.text,
            sources=tuple(source.candidate_id for source in question.sources),
            verdicts=(result.verdict,),
        )
        return signed(request, self._judge_of(question.rules))

    async def _settle(self, question: SettleQuestion) -> SettleRequest | Undecided:
        verdicts: list[Verdict] = []
        composed: str | None = None
        sources: tuple[str, ...] = ()
        try:
            for neighbour in question.asked:
                verdicts.append(await self._compare(question, neighbour))
                if verdicts[-1].answer == "compose":
                    texts = _oldest_first([*neighbour.sources, question.candidate])
                    result = await self._composed(question, texts)
                    verdicts[-1] = _with_composition(verdicts[-1], result)
                    composed, sources = result.text, tuple(text.candidate_id for text in texts)
                if verdicts[-1].answer not in NEXT:
                    break
        except BaseException:  # whoever answers the question later records what these cost
            for neighbour, verdict in zip(question.asked, verdicts, strict=False):
                if is_paid(verdict):
                    self._judge_of(question.rules).owe(_pair(question, neighbour), verdict)
            raise
        unusable = next((verdict for verdict in verdicts if verdict.answer == "unusable"), None)
        if unusable is not None and verdicts[-1].answer in NEXT:
            return Undecided(unusable.reasoning or "unusable", tuple(verdicts))
        request = SettleRequest(
            request_id=request_id(question),
            candidate_id=question.subject,
            verdicts=tuple(verdicts),
            composed=composed,
            sources=sources if composed else (),
        )
        return signed(request, self._judge_of(question.rules))

    async def _compare(self, question: SettleQuestion, neighbour: AskedNeighbour) -> Verdict:
        """The verdict about a neighbour; the pair is ordered by moment."""
        about = neighbour.side.candidate_id
        if not question.rules.enabled:
            return Verdict(neighbour_id=about, answer="unavailable", speaker=neighbour.speaker)
        found = await self._verdict(question, _pair(question, neighbour))
        return structs.replace(found, neighbour_id=about, speaker=neighbour.speaker)

    async def _verdict(self, question: SettleQuestion, pair: JudgedPair) -> Verdict:
        judge = self._judge_of(question.rules)
        ask = partial(self._batcher.compare, judge, question.owner_id, pair)
        key = (judge, pair.older.hash, pair.newer.hash)
        found, shared = await self._pairs.result(key, ask)
        if shared and found.answer in FAILED:  # another call is free if the answer is cached
            return await ask()
        return at_no_cost(found) if shared else found

    async def _composed(self, question: AnyQuestion, texts: list[Side]) -> CompositionAnswer:
        judge = self._judge_of(question.rules)
        ask = partial(self._batcher.compose, judge, question.owner_id, texts)
        found, shared = await self._texts.result((judge, *(text.hash for text in texts)), ask)
        if shared and found.text is None:
            return await ask()
        if not shared:
            return found
        verdict = structs.replace(at_no_cost(found.verdict), neighbour_id=texts[0].candidate_id)
        return replace(found, verdict=verdict)


def request_id(question: AnyQuestion) -> str:
    """The id of the request that answers a question, the same in any process and at any time.

    Several questions may concern one candidate: after another decision, about other neighbours, or
    about other texts of the same neighbours. A join may be recomposed several times: from other
    sources, or because an earlier text was not needed when it arrived but is needed now.
    """
    match question:
        case SettleQuestion():
            asked = ",".join(
                f"{neighbour.side.candidate_id}={neighbour.speaker}" for neighbour in question.asked
            )
            return event_id(question.decision_id, f"question:{asked}")
        case ComposeQuestion():
            sources = ",".join(source.candidate_id for source in question.sources)
            return event_id(question.decision_id, f"question:{question.lost_by}:{sources}")


def _side(asked: AskedText) -> Side:
    return Side(asked.candidate_id, asked.text, asked.recorded_at, asked.local)


def _pair(question: SettleQuestion, neighbour: AskedNeighbour) -> JudgedPair:
    return JudgedPair(*_oldest_first([neighbour.side, question.candidate]))


def _oldest_first(asked: Sequence[AskedText]) -> list[Side]:
    """The texts in order of their moments; the sort is stable."""
    return [_side(text) for text in sorted(asked, key=lambda text: text.recorded_at)]


def _with_composition(verdict: Verdict, result: CompositionAnswer) -> Verdict:
    """The verdict `compose` with the outcome of the composition, and the cost of both."""
    other = result.verdict
    words = {
        "answer": verdict.answer if result.text is not None else other.answer,
        "reasoning": verdict.reasoning or other.reasoning,
        "model": verdict.model or other.model,
        "prompt": verdict.prompt or other.prompt,
    }
    return structs.replace(verdict, **costs_of_both(verdict, other) | words)
