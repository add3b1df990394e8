"""Questions to the judge and its verdicts: taken, asked many at once, and brought back."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from palimpsest.contracts.errors import TransientError
from palimpsest.contracts.evidence import Verdict
from palimpsest.contracts.questions import AnyQuestion
from palimpsest.contracts.requests import ComposeRequest, SettleRequest
from palimpsest.streams.judge.verifier import Verifier, request_id

IN_HAND = 512
"""Questions that are asked about at once, at most: so many pairs may be packed together."""
POLL_SECONDS = 0.5
"""How often new questions are looked for while there are none, or no more than fit."""
LONGEST_WAIT_SECONDS = 30.0
"""Between two tries to reach a store or brokers that are away."""

Request = SettleRequest | ComposeRequest


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """A question in hand, and where it came from, which whoever gave it understands."""

    question: AnyQuestion
    origin: Any


@dataclass(frozen=True, slots=True)
class Answered:
    """What a question led to; nothing where no text could be made anew."""

    taken: Taken
    request: Request | None


class Questions(Protocol):
    """Where questions wait and requests go: a store, or a cluster's topics.

    Raises TransientError where it cannot be reached now.
    """

    async def take(self, most: int) -> list[Taken]:
        """Up to `most` questions that are not in hand; none where nothing waits now."""

    async def at_end(self) -> bool:
        """Whether all that waited has been taken."""

    async def bring(self, answered: Sequence[Answered]) -> Counter[str]:
        """Have requests carried out; returns once they cannot be lost, with what became of them.

        What is brought is in hand no more.
        """


@dataclass(slots=True)
class Tally:
    """What a verifier has done: answers by kind, what became of them, and what they cost.

    `known` are verdicts that had been answered before, and cost nothing.
    """

    questions: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    known: int = 0
    calls: float = 0.0
    usd: float = 0.0

    def count(self, answered: Answered) -> None:
        """Count what the judge said of a question."""
        self.questions += 1
        if answered.request is None:
            self.outcomes["left"] += 1
            return
        for verdict in answered.request.verdicts:
            self._count(verdict)

    def _count(self, verdict: Verdict) -> None:
        self.answers[verdict.answer] += 1
        self.known += verdict.calls == 0 and verdict.answer != "unavailable"
        self.calls += verdict.calls or 0.0
        self.usd += verdict.cost_usd or 0.0


@dataclass(slots=True)
class Verifying:
    """Asks what waits, many questions at once, until it is told to stop.

    `told` is called when something was brought.
    """

    questions: Questions
    verifier: Verifier
    told: Callable[[Tally], object]
    tally: Tally = field(default_factory=Tally)
    in_hand: int = IN_HAND
    poll: float = POLL_SECONDS
    _asking: dict[asyncio.Task[Answered], Taken] = field(default_factory=dict)
    _under_way: dict[str, asyncio.Future[Request | None]] = field(default_factory=dict)
    _done: list[Answered] = field(default_factory=list)

    async def run(self, stop: asyncio.Event, *, once: bool = False) -> Tally:
        """Ask until `stop` is set, or with `once` until nothing waits; what is answered is brought.

        What is under way when it ends is asked again by the next one: verdicts that were paid for
        are remembered.
        """
        stopping = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                new = await self._take(stopping)
                await self._bring(stopping)
                idle = not (new or self._asking or self._done)
                if once and idle and await self._patiently(self.questions.at_end, stopping):
                    break
                if not (new or self._done):
                    await self._wait(stopping)
                self._collect()
        finally:
            stopping.cancel()
            ending: list[asyncio.Future[Any]] = [*self._under_way.values(), *self._asking]
            for one in ending:
                one.cancel()
            await asyncio.gather(*ending, return_exceptions=True)
        await self._bring(stopping)
        return self.tally

    async def _take(self, stopping: asyncio.Task[Any]) -> int:
        room = self.in_hand - len(self._asking)
        taken = await self._patiently(lambda: self.questions.take(room), stopping) or []
        for one in taken:
            self._asking[asyncio.create_task(self._answer(one))] = one
        return len(taken)

    async def _answer(self, taken: Taken) -> Answered:
        """Ask, or wait for the answer to the same question: it may come twice, and is paid once."""
        key = request_id(taken.question)
        found = self._under_way.get(key)
        if found is None:
            found = asyncio.ensure_future(self.verifier.answer(taken.question))
            self._under_way[key] = found
            found.add_done_callback(lambda _: self._under_way.pop(key))
        return Answered(taken, await asyncio.shield(found))

    async def _wait(self, stopping: asyncio.Task[Any]) -> None:
        await asyncio.wait(
            {stopping, *self._asking}, timeout=self.poll, return_when=asyncio.FIRST_COMPLETED
        )

    def _collect(self) -> None:
        """Gather what is answered; raises what a task raised."""
        for task in [task for task in self._asking if task.done()]:
            del self._asking[task]
            self._done.append(task.result())

    async def _bring(self, stopping: asyncio.Task[Any]) -> None:
        if not self._done:
            return
        answered = self._done
        outcomes = await self._patiently(lambda: self.questions.bring(answered), stopping)
        if outcomes is None:
            return
        self._done = []
        self.tally.outcomes += outcomes
        for one in answered:
            self.tally.count(one)
        self.told(self.tally)

    async def _patiently(self, doing: Callable[[], Any], stopping: asyncio.Task[Any]) -> Any:
        """The result; with growing pauses while it cannot be reached; None where it ends first."""
        pause = self.poll
        while True:
            try:
                return await doing()
            except TransientError:
                if stopping.done():
                    return None
                await asyncio.wait({stopping}, timeout=pause)
                pause = min(pause * 2, LONGEST_WAIT_SECONDS)
