"""A store's pending questions to the judge, read while another process may write to it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Protocol, TypeVar

from palimpsest.backends.writer import StoreWriter
from palimpsest.contracts import policy
from palimpsest.contracts.answers import WITHOUT_MODEL
from palimpsest.contracts.errors import RefusedError
from palimpsest.streams.core.questions import compose_question, settle_question
from palimpsest.streams.judge.batching import PATIENCE_SECONDS, Batcher, BatchSettings
from palimpsest.streams.judge.settings import JudgeSettings
from palimpsest.streams.judge.two_judges import open_judge
from palimpsest.streams.judge.verifier import JudgeOf, Verifier, request_id
from palimpsest.streams.judge.worker import (
    AnsweredQuestion,
    JudgeWorker,
    PendingQuestion,
    Questions,
    Tally,
)
from palimpsest.streams.log.verifications import Waiting

Result = TypeVar("Result")
ROWS = 256
"""Number of rows that are read from the table at once."""


class Call(Protocol):
    """Runs a function where a store's writer may be used, such as on its thread."""

    def __call__(self, function: Callable[[], Result], /) -> Awaitable[Result]:
        """Run a function, and return its result."""


class TableQuestions:
    """The questions of a store; answers are sent as requests.

    `call` runs a function where the store's writer may be used, and returns its result.
    """

    def __init__(self, reading: TableReading, call: Call) -> None:
        self._reading = reading
        self._call = call

    async def take(self, most: int) -> list[PendingQuestion]:
        """Take up to `most` pending questions, the oldest first."""
        return await self._call(partial(self._reading.take, most)) if most else []

    async def at_end(self) -> bool:
        """Whether the table was read to its end, and the log has not grown since."""
        return await self._call(self._reading.is_at_end)

    async def deliver(self, answered: Sequence[AnsweredQuestion]) -> Counter[str]:
        """Carry out the requests; counts the settled ones, and the refusals by reason."""
        return await self._call(partial(self._reading.deliver, answered))

    async def waiting(self) -> int:
        """How many questions are pending, including those taken."""
        return await self._call(self._reading.count)


@asynccontextmanager
async def open_questions(opened: Callable[[], StoreWriter]) -> AsyncIterator[TableQuestions]:
    """The questions of a store whose writer `opened` opens, on a thread that owns its files."""
    with ThreadPoolExecutor(1, thread_name_prefix="questions") as thread:
        call = partial(asyncio.get_running_loop().run_in_executor, thread)
        writer = await call(opened)
        try:
            yield TableQuestions(await call(partial(TableReading, writer)), call)
        finally:
            await call(writer.close)


async def call_here(function: Callable[[], Result]) -> Result:
    """Call the function in this thread: for a writer whose caller waits for the answers."""
    return function()


async def settle(
    questions: Questions,
    folder: Path,
    settings: JudgeSettings,
    stop: asyncio.Event,
    *,
    patience: float = PATIENCE_SECONDS,
    once: bool = False,
    report: Callable[[Tally, bool], object] = lambda *_: None,
) -> Tally:
    """Ask a service about pending questions until `stop` is set, or with `once` until none is left.

    Answers are kept in `folder`. `report` gets the totals after each delivery, and whether the
    service is down. If an outage lasts longer than `patience` seconds, the policy's fallback
    settles its questions. UsageError if the judge cannot be used.
    """
    rules = policy.Judge()  # each question brings the rules of its own policy
    concurrency = max(one.concurrency for one in (settings, settings.first) if one is not None)
    async with open_judge(folder, rules, settings, lambda: datetime.now(UTC)) as asked:
        batcher = Batcher(BatchSettings(concurrency=concurrency, patience=patience))
        try:
            by: JudgeOf = asked.by
            verifier = Verifier(cache(by), batcher)
            worker = JudgeWorker(questions, verifier, lambda tally: report(tally, batcher.outage))
            return await worker.run(stop, once=once)
        finally:
            await batcher.close()


class TableReading:
    """The table, read from its beginning to its end, and again when the log has grown."""

    def __init__(self, writer: StoreWriter) -> None:
        self._writer = writer
        self._last: Waiting | None = None
        self._read_at = -1
        self._in_hand: set[tuple[str, str]] = set()
        # Request ids of answered questions that are still pending: they are not taken again.
        self._left: set[str] = set()
        # Those that this reading of the table met or added: the others are no longer pending.
        self._met: set[str] = set()

    def is_at_end(self) -> bool:
        """Whether the table was read to its current end."""
        return self._last is None and self._read_at == self._writer.reader.log.head()

    def count(self) -> int:
        """How many questions are pending."""
        return self._writer.reader.log.verifications.count()

    def take(self, most: int) -> list[PendingQuestion]:
        """Take up to `most` questions."""
        if self.is_at_end():
            return []
        head = self._writer.reader.log.head()
        in_force = self._writer.reader.policy_in_force()
        found: list[PendingQuestion] = []
        while len(found) < most:
            rows = self._writer.reader.log.verifications.waiting(ROWS, self._last)
            found += self._questions(rows, in_force, most - len(found))
            if not rows:
                self._last, self._read_at = None, head
                self._left, self._met = self._met, set()
                break
        return found

    def _questions(
        self, rows: Sequence[Waiting], in_force: policy.Policy, most: int
    ) -> list[PendingQuestion]:
        """The questions of rows, up to `most`."""
        found: list[PendingQuestion] = []
        for row in rows:
            if len(found) == most:
                break
            self._last = row
            key = (row.kind, row.subject)
            asked = settle_question if row.kind == "settle" else compose_question
            ledger = self._writer.reader.ledger(row.owner_id)
            question = None if key in self._in_hand else asked(ledger, row.subject, in_force)
            if question is None:
                continue
            if (name := request_id(question)) in self._left:
                self._met.add(name)
            else:
                self._in_hand.add(key)
                found.append(PendingQuestion(question, key))
        return found

    def deliver(self, answered: Sequence[AnsweredQuestion]) -> Counter[str]:
        """Carry out the requests; counts the settled ones, and the refusals by reason."""
        requests = [answer.request for answer in answered if answer.request is not None]
        refusals = [
            answer.reason if isinstance(answer, RefusedError) else None
            for answer in self._writer.ask_each(requests)
        ]
        done_or_retried = {
            request.request_id
            for request, refusal in zip(requests, refusals, strict=True)
            if refusal is None or refusal in WITHOUT_MODEL
        }
        left = {request_id(answer.pending.question) for answer in answered} - done_or_retried
        self._left |= left
        self._met |= left
        self._in_hand -= {answer.pending.origin for answer in answered}
        return Counter(f"refused: {refusal}" if refusal else "settled" for refusal in refusals)
