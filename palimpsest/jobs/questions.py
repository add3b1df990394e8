"""A store's pending questions to the judge, read while another process may write to it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from palimpsest.backends.writer import StoreWriter
from palimpsest.contracts.errors import RefusedError
from palimpsest.contracts.policy import Policy
from palimpsest.contracts.questions import AnyQuestion
from palimpsest.streams.core.questions import compose_question, settle_question
from palimpsest.streams.judge.verifier import request_id
from palimpsest.streams.judge.worker import AnsweredQuestion, PendingQuestion
from palimpsest.streams.log.verifications import Waiting
from palimpsest.streams.write.owners import Owners

Result = TypeVar("Result")
ROWS = 256
"""Number of rows that are read from the table at once."""


class StoreQuestions:
    """The questions of one store; answers are sent as requests.

    `opened` opens the store's writer, on a thread of its own that owns its files.
    """

    def __init__(self, opened: Callable[[], StoreWriter]) -> None:
        self._opened = opened
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="questions")
        self._writer: StoreWriter | None = None

    async def __aenter__(self) -> StoreQuestions:
        self._reading = await self._off_loop(self._open)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._writer is not None:
            await self._off_loop(self._writer.close)
        self._thread.shutdown()

    async def take(self, most: int) -> list[PendingQuestion]:
        """Take up to `most` pending questions, the oldest first."""
        return await self._off_loop(self._reading.take, most) if most else []

    async def at_end(self) -> bool:
        """Whether the table was read to its end, and the log has not grown since."""
        return await self._off_loop(self._reading.is_at_end)

    async def deliver(self, answered: Sequence[AnsweredQuestion]) -> Counter[str]:
        """Carry out the requests; counts the settled ones, and the refusals by reason."""
        return await self._off_loop(self._reading.deliver, answered)

    async def waiting(self) -> int:
        """How many questions are pending, including those taken."""
        return await self._off_loop(self._reading.count)

    def _open(self) -> TableReading:
        self._writer = self._opened()
        return TableReading(self._writer)

    async def _off_loop(self, function: Callable[..., Result], *arguments: object) -> Result:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, function, *arguments)


class OwnQuestions:
    """The questions of a store whose writer is the caller's, who waits for the answers."""

    def __init__(self, writer: StoreWriter) -> None:
        self._reading = TableReading(writer)

    async def take(self, most: int) -> list[PendingQuestion]:
        """Take up to `most` pending questions, the oldest first."""
        return self._reading.take(most) if most else []

    async def at_end(self) -> bool:
        """Whether the table was read to its end, and the log has not grown since."""
        return self._reading.is_at_end()

    async def deliver(self, answered: Sequence[AnsweredQuestion]) -> Counter[str]:
        """Carry out the requests; counts the settled ones, and the refusals by reason."""
        return self._reading.deliver(answered)

    async def waiting(self) -> int:
        """How many questions are pending."""
        return self._reading.count()


class TableReading:
    """The table, read from its beginning to its end, and again when the log has grown."""

    def __init__(self, writer: StoreWriter) -> None:
        self._writer = writer
        self._owners = Owners(writer.reader.log)
        self._last: Waiting | None = None
        self._read_at = -1
        self._in_hand: set[tuple[str, str]] = set()
        # Request ids of answered questions that are still pending: they are not taken again.
        self._left: set[str] = set()

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
        self._owners.catch_up()
        policy = self._writer.reader.policy_in_force()
        found: list[PendingQuestion] = []
        while len(found) < most:
            rows = self._writer.reader.log.verifications.waiting(ROWS, self._last)
            found += self._questions(rows, policy, most - len(found))
            if not rows:
                self._last, self._read_at = None, head
                break
        self._owners.trim()
        return found

    def _questions(
        self, rows: Sequence[Waiting], policy: Policy, most: int
    ) -> list[PendingQuestion]:
        """The questions of rows, up to `most`."""
        found: list[PendingQuestion] = []
        for row in rows:
            if len(found) == most:
                break
            self._last = row
            key = (row.kind, row.subject)
            question = None if key in self._in_hand else self._question(row, policy)
            if question is not None and request_id(question) not in self._left:
                self._in_hand.add(key)
                found.append(PendingQuestion(question, key))
        return found

    def _question(self, row: Waiting, policy: Policy) -> AnyQuestion | None:
        ledger = self._owners.get(row.owner_id).ledger
        if row.kind == "settle":
            return settle_question(ledger, row.subject, policy)
        return compose_question(ledger, row.subject, policy)

    def deliver(self, answered: Sequence[AnsweredQuestion]) -> Counter[str]:
        """Carry out the requests; counts the settled ones, and the refusals by reason."""
        requests = [answer.request for answer in answered if answer.request is not None]
        refusals = [
            answer.reason if isinstance(answer, RefusedError) else None
            for answer in self._writer.ask_each(requests)
        ]
        carried_out = {
            request.request_id
            for request, refusal in zip(requests, refusals, strict=True)
            if refusal is None
        }
        self._left |= {request_id(answer.pending.question) for answer in answered} - carried_out
        self._in_hand -= {answer.pending.origin for answer in answered}
        return Counter(f"refused: {refusal}" if refusal else "settled" for refusal in refusals)
