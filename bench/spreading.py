"""The latency of a candidate, and the throughput, by the number of partitions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import orjson
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from bench.brokered import (
    READY,
    Installation,
    StuckError,
    installation,
    is_decision,
    quantile,
    until,
)
from bench.embedding import distinct
from bench.figure import Measured, Scale
from bench.sentences import sentences
from palimpsest.streams.cluster.topics import partition_of

RATE = 200.0
"""Candidates per second in all partitions together."""
FULL_RATE = 500.0
"""New texts per second, more than the embedder can handle."""
SPREAD = (1, 12, 48, 96)
OWNERS = 960
PATIENCE = 120.0
WHAT = ("sum", "count")


@dataclass(frozen=True)
class Run:
    """A worker's run: milliseconds from each candidate's time to its decision, and the costs.

    `rate` is in decisions per second; `transactions` is their number, `publishing` their mean time
    in milliseconds; `worker` and `broker` are milliseconds of processor time per candidate.
    """

    milliseconds: Sequence[float]
    rate: float
    transactions: float
    publishing: float
    worker: float
    broker: float


def latency(scale: Scale) -> list[Measured]:
    """Latency from publishing to the decision, at a fixed total rate, with 1 to 96 partitions."""
    count = scale.of(100, 2_000, 8_000)
    spread = SPREAD if scale.size != "small" else (1, 4)
    runs = {partitions: _run(scale, partitions, RATE, count) for partitions in spread}
    note = f"{count} new texts at {RATE:.0f}/s, the default embedder"
    first, last = runs[spread[0]], runs[spread[-1]]
    ratio = quantile(last.milliseconds, 0.5) / quantile(first.milliseconds, 0.5)
    name = f"publish to decision at {RATE:.0f}/s, {spread[-1]} partitions divided by 1, p50"
    beside: dict[str, float] = {}
    for partitions, run in runs.items():
        beside |= {
            f"{partitions}, p50 ms": quantile(run.milliseconds, 0.5),
            f"{partitions}, p95 ms": quantile(run.milliseconds, 0.95),
            f"{partitions}, transactions": run.transactions,
            f"{partitions}, a transaction ms": run.publishing,
            f"{partitions}, worker's processor ms each": run.worker,
            f"{partitions}, broker's": run.broker,
        }
    return [Measured(name, "", [ratio], 2, at_most=True, note=note, beside=beside)]


def bare_latency(scale: Scale) -> list[Measured]:
    """The same for a bare loop of transactions, which decides nothing and embeds nothing."""
    count = scale.of(100, 2_000, 8_000)
    spread = (1, 96) if scale.size != "small" else (1, 4)
    beside: dict[str, float] = {}
    medians: list[float] = []
    for partitions in spread:
        for together in (False, True):
            found, worker, broker = _echoed(partitions, count, together=together)
            medians.append(quantile(found, 0.5))
            name = f"{partitions}, {'one producer' if together else 'a producer each'}"
            beside |= {
                f"{name}, p50 ms": medians[-1],
                f"{name}, p95 ms": quantile(found, 0.95),
                f"{name}, loop's processor ms each": worker,
                f"{name}, broker's": broker,
            }
    note = f"{count} records at {RATE:.0f}/s, a producer for each partition"
    name = f"a bare transactional loop, {spread[-1]} partitions divided by 1, p50"
    return [Measured(name, "", [medians[2] / medians[0]], note=note, beside=beside)]


def _echoed(partitions: int, count: int, *, together: bool) -> tuple[list[float], float, float]:
    """Milliseconds of each record, and of the processor time of loop and broker for each."""
    texts = [*islice(sentences(), count)]
    with installation(partitions) as made:
        echo = made.echo(together=together)
        until(lambda: echo.says(READY), "the loop is ready")
        asyncio.run(_offer(made, texts, RATE, "warm"))
        cpu, broker = echo.cpu_seconds(), made.broker_cpu_seconds()
        offered, decided = asyncio.run(_offer(made, texts, RATE, "timed"))
        cpu, broker = echo.cpu_seconds() - cpu, made.broker_cpu_seconds() - broker
    timed = [1e3 * (decided[number] - offered[number]) for number in range(count)]
    return timed, 1e3 * cpu / count, 1e3 * broker / count


def throughput(scale: Scale) -> list[Measured]:
    """Decisions per second of a worker that is offered more new texts than it can embed."""
    count = scale.of(100, 2_500, 12_000)
    spread = (1, 12, 96) if scale.size != "small" else (1, 4)
    runs = {partitions: _run(scale, partitions, FULL_RATE, count) for partitions in spread}
    note = f"{count} new texts at {FULL_RATE:.0f}/s, the default embedder"
    name = f"decisions/s, {spread[1]} partitions divided by 1"
    beside = {f"{partitions}, decisions/s": run.rate for partitions, run in runs.items()}
    ratio = runs[spread[1]].rate / runs[1].rate
    return [Measured(name, "", [ratio], 0.9, note=note, beside=beside)]


def _run(scale: Scale, partitions: int, rate: float, count: int) -> Run:
    """Time a worker on `count` candidates, after as many others that are not timed.

    A new broker takes twice as long for each of its first thousands of records, and a worker
    connects at each partition's first transaction: without the other candidates, the backlog from
    that time would last for the whole run.
    """
    texts = [text for _, text in distinct(scale.data, count)]
    made_up = sentences()
    texts += islice(made_up, count - len(texts))
    with installation(partitions) as made:
        worker = made.worker("one", stub=False)
        until(lambda: worker.says(READY), "the worker is ready")
        asyncio.run(_offer(made, [*islice(made_up, count)], rate, "warm"))
        before, cpu, broker = worker.figures(), worker.cpu_seconds(), made.broker_cpu_seconds()
        offered, decided = asyncio.run(_offer(made, texts, rate, "timed"))
        cpu, broker = worker.cpu_seconds() - cpu, made.broker_cpu_seconds() - broker
        figures = worker.figures()
    timed = [1e3 * (decided[number] - offered[number]) for number in range(count)]
    seconds = max(decided.values()) - offered[0]
    published, transactions = (
        figures[stage] - before[stage]
        for stage in (f'palimpsest_stage_seconds_{what}{{stage="publish"}}' for what in WHAT)
    )
    each = 1e3 / count
    publishing = 1e3 * published / transactions
    return Run(timed, count / seconds, transactions, publishing, cpu * each, broker * each)


async def _offer(
    made: Installation, texts: Sequence[str], rate: float, source: str
) -> tuple[list[float], dict[int, float]]:
    """The time when each candidate was due at the brokers, and when its decision could be read."""
    async with made.decisions() as decisions:
        deciding = asyncio.create_task(_decided(decisions, len(texts)))
        producer = AIOKafkaProducer(**made.connection.arguments(), acks="all")
        await producer.start()
        begun = time.perf_counter()
        due = [begun + number / rate for number in range(len(texts))]
        for number, text in enumerate(texts):
            await asyncio.sleep(due[number] - time.perf_counter())
            owner = f"owner {number % OWNERS}"
            row = {"owner_id": owner, "source": source, "id": str(number), "text": text}
            at = partition_of(owner, made.topics.partitions)
            topic = made.topics.name("candidates")
            await producer.send(topic, orjson.dumps(row), owner.encode(), at)
        try:
            return due, await asyncio.wait_for(deciding, PATIENCE)
        except TimeoutError:
            raise StuckError("candidates are not decided on") from None
        finally:
            await producer.stop()


async def _decided(decisions: AIOKafkaConsumer, count: int) -> dict[int, float]:
    found: dict[int, float] = {}
    while len(found) < count:
        some = await decisions.getmany(timeout_ms=1_000)
        now = time.perf_counter()
        for record in (record for records in some.values() for record in records):
            if is_decision(record):
                event = orjson.loads(record.value or b"")
                found.setdefault(int(event["data"]["candidate"]["id"]), now)
    return found
