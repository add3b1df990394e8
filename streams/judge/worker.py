"""The judge worker: takes pending questions, answers many at a time, and delivers the requests."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from palimpsest.contracts.errors import TransientError, UsageError
from palimpsest.contracts.evidence import FirstAnswer, Verdict
from palimpsest.contracts.questions import AnyQuestion
from palimpsest.streams.judge.verifier import Decided, Undecided, Verifier, request_id

_log = logging.getLogger(__name__)

MOST_QUESTIONS = 1024
"""Maximum number of questions in progress, whose pairs may share batches."""
POLL_SECONDS = 0.5
"""Interval of polling for questions while there are none, or enough are in progress."""
LONGEST_WAIT_SECONDS = 30.0
"""Maximum pause between two attempts to reach a store or the brokers."""


@dataclass(frozen=True, slots=True, eq=False)
class PendingQuestion:
    """A question that a worker has taken, with its origin, which only its source interprets."""

    question: AnyQuestion
    origin: Any


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A question with the request it led to, or with the reason why it stays pending."""

    pending: PendingQuestion
    answer: Decided | Undecided

    @property
    def request(self) -> Decided | None:
        """The request, if there is one."""
        return None if isinstance(self.answer, Undecided) else self.answer


class Questions(Protocol):
    """The source of questions and the target of requests: a store, or a cluster's topics.

    Methods raise TransientError while it cannot be reached.
    """

    async def take(self, most: int) -> list[PendingQuestion]:
        """Take up to `most` pending questions; an empty list if there are none now."""

    async def at_end(self) -> bool:
        """Whether every pending question has been taken."""

    async def deliver(self, answered: Sequence[AnsweredQuestion]) -> Counter[str]:
        """Carry out the requests; returns their outcomes once they are durable.

        Delivered questions are no longer taken.
        """


@dataclass(slots=True)
class Tally:
    """A worker's totals: verdicts by answer, requests by outcome, and their cost.

    `left` counts the questions that stay pending, and `unavailable` the pairs that the policy's
    fallback settles because the service gave no answer, both by reason. `known` counts cached
    answers, which cost nothing, and `first` the verdicts of the first judge, if there are two.
    `usd` is None if a price is unknown.
    """

    questions: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    unavailable: Counter[str] = field(default_factory=Counter)
    known: int = 0
    first: int = 0
    calls: float = 0.0
    usd: float | None = 0.0

    def count(self, answered: AnsweredQuestion) -> None:
        """Count an answered question."""
        self.questions += 1
        if isinstance(answered.answer, Undecided):
            self.left[answered.answer.reason] += 1
        for verdict in answered.answer.verdicts:
            self.answers[verdict.answer] += 1
            if verdict.answer == "unavailable" and verdict.reasoning:  # else no service was asked
                self.unavailable[verdict.reasoning] += 1
            self.first += verdict.certificate is not None
            for said in (verdict, verdict.first):
                if said is not None:
                    self._count(said)

    def document(self, waiting: int | None) -> dict[str, Any]:
        """The totals as JSON values; `waiting` counts a store's questions; None in a cluster."""
        return {
            "questions": self.questions,
            "answers": dict(self.answers),
            "outcomes": dict(self.outcomes),
            "left": dict(self.left),
            "known": self.known,
            "first": self.first or None,
            "calls": round(self.calls, 2),
            "usd": None if self.usd is None else round(self.usd, 6),
            "waiting": waiting,
        }

    def _count(self, said: Verdict | FirstAnswer) -> None:
        # A request that the service refused took seconds, and is no call.
        self.known += said.calls == 0 and not said.seconds and said.answer != "unavailable"
        self.calls += said.calls or 0.0
        if said.cost_usd is not None:
            self.usd = None if self.usd is None else self.usd + said.cost_usd
        elif said.calls:
            self.usd = None


@dataclass(slots=True)
class JudgeWorker:
    """Answers pending questions, many at a time, until it is stopped.

    `report` is called after each delivery.
    """

    questions: Questions
    verifier: Verifier
    report: Callable[[Tally], object]
    tally: Tally = field(default_factory=Tally)
    most: int = MOST_QUESTIONS
    poll: float = POLL_SECONDS
    _tasks: set[asyncio.Task[AnsweredQuestion]] = field(default_factory=set)
    _ended: list[asyncio.Task[AnsweredQuestion]] = field(default_factory=list)
    _woken: asyncio.Event = field(default_factory=asyncio.Event)
    _in_progress: dict[str, asyncio.Future[Decided | Undecided]] = field(default_factory=dict)
    _done: list[AnsweredQuestion] = field(default_factory=list)

    async def run(self, stop: asyncio.Event, *, once: bool = False) -> Tally:
        """Run until `stop` is set, or with `once` until no question is pending.

        Answered questions are delivered before it returns or raises UsageError, if their source can
        be reached. The next worker takes all others again; verdicts once paid for are cached.
        """
        stopping = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                new = await self._take(stopping)
                await self._deliver(stopping)
                idle = not (new or self._tasks or self._done)
                if once and idle and await self._retry(self.questions.at_end, stopping):
                    break
                if not (new or self._done):
                    await self._wait(stopping)
                self._collect()
        except UsageError:  # such as for a key that was revoked meanwhile
            await self._deliver(stopping)
            raise
        finally:
            stopping.cancel()
            ending: list[asyncio.Future[Any]] = [*self._in_progress.values(), *self._tasks]
            for task in ending:
                task.cancel()
            await asyncio.gather(*ending, return_exceptions=True)
        await self._deliver(stopping)
        return self.tally

    async def _take(self, stopping: asyncio.Task[Any]) -> int:
        room = self.most - len(self._tasks)
        taken = await self._retry(lambda: self.questions.take(room), stopping) or []
        for pending in taken:
            task = asyncio.create_task(self._answer(pending))
            self._tasks.add(task)
            task.add_done_callback(self._on_end)
        return len(taken)

    async def _answer(self, pending: PendingQuestion) -> AnsweredQuestion:
        """Answer a question; one that arrives twice shares the answer and its cost."""
        key = request_id(pending.question)
        found = self._in_progress.get(key)
        if found is None:
            found = asyncio.ensure_future(self.verifier.answer(pending.question))
            self._in_progress[key] = found
            found.add_done_callback(lambda _: self._in_progress.pop(key))
        return AnsweredQuestion(pending, await asyncio.shield(found))

    def _on_end(self, task: asyncio.Task[AnsweredQuestion]) -> None:
        self._ended.append(task)
        self._woken.set()

    async def _wait(self, stopping: asyncio.Task[Any]) -> None:
        """Wait until a question is done, the worker stops, or it is time to poll.

        All tasks set one event: waiting for each of many would cost time in every turn.
        """
        woken = asyncio.create_task(self._woken.wait())
        await asyncio.wait(
            {stopping, woken}, timeout=self.poll, return_when=asyncio.FIRST_COMPLETED
        )
        woken.cancel()

    def _collect(self) -> None:
        """Collect answered questions; then raises the error of a failed one."""
        ended, self._ended = self._ended, []
        self._woken.clear()
        self._tasks.difference_update(ended)
        self._done += [task.result() for task in ended if task.exception() is None]
        for task in ended:
            task.result()

    async def _deliver(self, stopping: asyncio.Task[Any]) -> None:
        if not self._done:
            return
        answered = self._done
        outcomes = await self._retry(lambda: self.questions.deliver(answered), stopping)
        if outcomes is None:
            return
        self._done = []
        self.tally.outcomes += outcomes
        for answer in answered:
            if isinstance(answer.answer, Undecided) and answer.answer.reason not in self.tally.left:
                _log.warning("questions stay pending: %s", answer.answer.reason)
            self.tally.count(answer)
        self.report(self.tally)

    async def _retry(self, call: Callable[[], Any], stopping: asyncio.Task[Any]) -> Any:
        """Retry with growing pauses on TransientError; None if the worker stops first."""
        pause = self.poll
        while True:
            try:
                return await call()
            except TransientError:
                if stopping.done():
                    return None
                await asyncio.wait({stopping}, timeout=pause)
                pause = min(pause * 2, LONGEST_WAIT_SECONDS)
