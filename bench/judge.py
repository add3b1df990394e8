"""The speed of one verifier: its own work, with a service that takes a while to answer."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from pathlib import Path
from statistics import median
from uuid import UUID

import orjson

from bench.figure import Measured, Scale
from bench.sentences import sentences
from palimpsest.contracts.policy import Judge as Rules
from palimpsest.contracts.questions import AskedNeighbour, AskedText, SettleQuestion
from palimpsest.streams.judge.batching import BATCH_SIZE, Batcher, BatchSettings
from palimpsest.streams.judge.judge import Judge
from palimpsest.streams.judge.settings import JudgeSettings
from palimpsest.streams.judge.verifier import Verifier
from palimpsest.streams.judge.worker import AnsweredQuestion, JudgeWorker, PendingQuestion

AT_ONCE = 32
DELAY = 0.3
LIMIT = AT_ONCE / DELAY
RUNS = 3
AT = datetime(2026, 1, 1, tzinfo=UTC)
RULES = Rules(ask="same")


def calls(scale: Scale) -> list[Measured]:
    """Pairs per second of one verifier, each of a different owner, so that none share a request."""
    count = scale.of(64, 1_600, 6_400)
    runs = _timed(count, count)
    return [_measured("judge: pairs a second, one per request", runs, 100, LIMIT, count)]


def batched(scale: Scale) -> list[Measured]:
    """Pairs per second of one verifier, all of one owner, so that many share a request."""
    count = scale.of(512, 8_192, 32_768)
    runs = _timed(count, 1)
    return [_measured("judge: pairs a second, batched", runs, 1_000, LIMIT * BATCH_SIZE, count)]


def _timed(count: int, owners: int) -> list[tuple[float, float]]:
    """Seconds, and seconds of the verifier's own processor time, of each run."""
    os.environ["ANTHROPIC_API_KEY"] = "demo"
    with service(DELAY) as url:
        return [asyncio.run(_seconds(count, owners, url, run)) for run in range(RUNS)]


def _measured(
    name: str, runs: list[tuple[float, float]], goal: float, limit: float, count: int
) -> Measured:
    rates = [count / seconds for seconds, _ in runs]
    note = f"{count} questions a run, {DELAY * 1000:.0f} ms an answer, {AT_ONCE} at once"
    beside = {
        "of the limit": median(rates) / limit,
        "pairs in a second of processor time": median(count / work for _, work in runs),
    }
    return Measured(name, "pairs/s", rates, goal, note=note, beside=beside)


@contextmanager
def service(delay: float) -> Iterator[str]:
    """Run `palimpsest demo-judge` with this delay in its own process; gives its address.

    A real service is on another machine, so this one runs at low priority.
    """
    words = ["--json", "demo-judge", "--port", "0", "--delay", str(delay)]
    command = ["nice", "-n", "19", sys.executable, "-m", "palimpsest", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as service:
        assert service.stdout is not None
        try:
            yield orjson.loads(service.stdout.readline())["url"]
        finally:
            service.terminate()


async def _seconds(count: int, owners: int, url: str, run: int) -> tuple[float, float]:
    """How long a verifier without a cache takes until every answer is delivered."""
    pairs = enumerate(_pairs(count, run))
    questions = _Questions([_question(n, n % owners, *two) for n, two in pairs])
    settings = JudgeSettings(base_url=url, concurrency=AT_ONCE, calls_per_second=10_000)
    with tempfile.TemporaryDirectory() as folder:
        async with Judge.beside(Path(folder), RULES, settings, lambda: AT) as judge:
            batcher = Batcher(BatchSettings(concurrency=AT_ONCE))
            worker = JudgeWorker(questions, Verifier(cache(judge.by), batcher), lambda _: None)
            begun, worked = time.perf_counter(), time.process_time()
            tally = await worker.run(asyncio.Event(), once=True)
            taken = time.perf_counter() - begun, time.process_time() - worked
            await batcher.close()
    if sum(tally.answers.values()) != count or (owners == count and tally.calls != count):
        raise RuntimeError(f"{tally.calls} calls and {tally.answers} for {count} questions")
    return taken


def _pairs(count: int, run: int) -> Iterator[tuple[str, str]]:
    texts = islice(sentences(), 2 * count * run, None)
    return islice(zip(texts, texts, strict=False), count)


def _question(number: int, owner: int, older: str, newer: str) -> SettleQuestion:
    sides = [
        AskedText(candidate_id=str(UUID(int=2 * number + which)), text=text, recorded_at=AT)
        for which, text in enumerate((older, newer))
    ]
    return SettleQuestion(
        owner_id=f"owner {owner}",
        policy="bench",
        rules=RULES,
        decision_id=sides[1].candidate_id,
        candidate=sides[1],
        asked=(AskedNeighbour(side=sides[0]),),
    )


class _Questions:
    """Questions in memory, so that the cost of a store or of brokers is not measured."""

    def __init__(self, questions: Sequence[SettleQuestion]) -> None:
        self._waiting = list(reversed(questions))

    async def take(self, most: int) -> list[PendingQuestion]:
        """The next questions."""
        return [
            PendingQuestion(self._waiting.pop(), None) for _ in range(min(most, len(self._waiting)))
        ]

    async def at_end(self) -> bool:
        """Whether no question is left."""
        return not self._waiting

    async def deliver(self, answered: Sequence[AnsweredQuestion]) -> Counter[str]:
        """Accept the answers; nothing is carried out."""
        return Counter(settled=len(answered))
