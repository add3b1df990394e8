"""A worker's memory after many bad records, and during a long run.

`python -m bench soak` is the long run; it takes half an hour, so `python -m bench` leaves it out.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count, islice
from statistics import median

import numpy as np
import orjson
from aiokafka import AIOKafkaProducer

from bench.brokered import PARTITIONS, READY, Installation, Worker, installation, until
from bench.figure import Measured, Scale
from bench.sentences import sentences
from palimpsest.streams.cluster.topics import partition_of

Record = tuple[bytes | None, bytes, int]
"""The key, the value and the partition."""
AT_ONCE = 5_000
MOST_GROWTH = 1.1
"""Maximum growth of the memory from the first count of bad records to the last."""
MOST_SLOPE = 1.0
"""Maximum growth of the memory in the whole time, in percent."""


# -- bad records -----------------------------------------------------------------------------------


def bad_records(scale: Scale) -> list[Measured]:
    """The memory of `palimpsest worker` after bad records, divided by that after the first ones.

    All records wait when it starts, so that at each count it holds as many as it ever does.
    """
    first, last = scale.of(1_000, 10_000, 10_000), scale.of(5_000, 100_000, 300_000)
    steps = [first, *(n for n in (30_000, 100_000) if first < n < last), last]
    bad = _bad()
    with installation() as made:
        for _ in range(0, last, AT_ONCE):
            asyncio.run(_send(made, [*islice(bad, AT_ONCE)]))
        worker = made.shipped_worker("one")
        until(lambda: worker.says(READY), "the worker is ready")
        resident = []
        for step in steps:
            until(partial(_has_letters, worker, step), "they have letters", patience=15 * 60)
            resident.append(worker.resident())
        beside = {f"{n:,}, MB": mb for n, mb in zip(steps, resident, strict=True)}
        beside["at rest, MB"] = median(_at_rest(worker))
    name = f"a worker's memory after {last:,} bad records, divided by after {first:,}"
    ratio = resident[-1] / resident[0]
    return [Measured(name, "", [ratio], MOST_GROWTH, at_most=True, beside=beside)]


def _bad() -> Iterator[Record]:
    """Unreadable records, each for one of five reasons, no two with the same bytes."""
    for number in count():
        owner = f"owner {number % 1_000}"
        home = partition_of(owner, PARTITIONS)
        row = {"owner_id": owner, "source": "bench", "id": str(number), "text": f"text {number}"}
        some: tuple[Record, ...] = (
            (None, b"no json %d" % number, number % PARTITIONS),
            (owner.encode(), orjson.dumps(row | {"text": number}), home),
            (owner.encode(), orjson.dumps(row | {"text": " "}), home),
            (owner.encode(), orjson.dumps(row | {"confidence": "high"}), home),
            (owner.encode(), orjson.dumps(row), (home + 1) % PARTITIONS),
        )
        yield some[number % len(some)]


def _has_letters(worker: Worker, count: int) -> bool:
    return _done(worker, "palimpsest_dead_letters_total") >= count


def _done(worker: Worker, *counted: str) -> float:
    time.sleep(0.5)  # reading metrics costs the worker time
    return sum(n for name, n in worker.figures().items() if name.startswith(counted))


def _at_rest(worker: Worker) -> Iterator[float]:
    for _ in range(5):
        time.sleep(1)
        yield worker.resident()


async def _send(made: Installation, records: Sequence[Record]) -> None:
    topic = made.topics.name("candidates")
    async with AIOKafkaProducer(**made.connection.arguments(), acks="all") as producer:
        sent = [await producer.send(topic, value, key, at) for key, value, at in records]
        await asyncio.gather(*sent)


# -- soak ------------------------------------------------------------------------------------------

LOADED = 2_000
"""Candidates that the worker may have loaded: few, so that its ledgers are full when a run begins.
With the usual 80,000 they would grow all the time."""
OFFERED_FIRST = 20_000
"""Records offered before the run, to fill caches that hold some thousands of recent texts."""
EACH = 20
"""Candidates per owner: few, so that new owners keep coming, and others must leave memory."""
MINUTES = 30.0
SAMPLE_SECONDS = 1.0
SETTLE_SECONDS = 60


def soak(scale: Scale, minutes: float = MINUTES, rate: float | None = None) -> list[Measured]:
    """How a worker's memory grows at half of its maximum rate, which is measured first.

    Of every ten records, five are new texts and three repeats, one is from an owner who may have
    left memory, and one is unreadable.
    """
    first = scale.of(500, OFFERED_FIRST, OFFERED_FIRST)
    stream = _stream()
    with installation() as made:
        worker = made.worker("one", stub=False, most_candidates=scale.of(200, LOADED, LOADED))
        until(lambda: worker.says(READY), "the worker is ready")
        begun = time.perf_counter()
        asyncio.run(_send(made, [*islice(stream, first)]))
        until(lambda: _decided(worker) >= first, "the ledgers are full", patience=15 * 60)
        measured = first / (time.perf_counter() - begun)
        rate = rate or measured / 2
        asyncio.run(
            _steadily(made, worker, stream, rate, scale.of(2, SETTLE_SECONDS, SETTLE_SECONDS))
        )
        cpu = worker.cpu_seconds()
        samples = asyncio.run(_steadily(made, worker, stream, rate, minutes * 60))
        cpu = worker.cpu_seconds() - cpu
        decided = _decided(worker) - first
    note = f"{rate:,.0f} records/s of {measured:,.0f} measured, {minutes:g} minutes"
    beside = {
        **{f"quarter {n + 1}, MB": mb for n, mb in enumerate(quarters(samples))},
        "least, MB": min(samples),
        "most, MB": max(samples),
        "records decided": decided,
        "of a core": cpu / (minutes * 60),
    }
    name, grown = "slope of a worker's memory in all this time", [slope(samples)]
    return [Measured(name, "%", grown, MOST_SLOPE, at_most=True, note=note, beside=beside)]


def slope(samples: Sequence[float]) -> float:
    """Growth from the first sample to the last, in percent of the mean, by a fitted line."""
    line = np.polynomial.Polynomial.fit(range(len(samples)), samples, 1)
    return float((line(len(samples) - 1) - line(0)) / np.mean(samples) * 100)


def quarters(samples: Sequence[float]) -> list[float]:
    """The mean of each quarter of the time: a leak grows in every quarter, a peak only in one."""
    return [float(np.mean(part)) for part in np.array_split(samples, 4)]


def _stream() -> Iterator[Record]:
    chance = random.Random(1)
    texts, bad = sentences(), _bad()
    said: deque[tuple[str, str]] = deque(maxlen=1_000)
    for number in count():
        kind = number % 10
        if kind == 9:
            yield next(bad)
            continue
        owner = f"owner {number // (2 * EACH)}"
        if kind < 5:
            said.append((owner, next(texts)))
            owner, text = said[-1]
        elif kind < 8:
            owner, text = chance.choice(said)
        else:
            owner, text = f"owner {chance.randrange(number // (2 * EACH) + 1)}", next(texts)
        row = {"owner_id": owner, "source": "soak", "id": str(number), "text": text}
        yield owner.encode(), orjson.dumps(row), partition_of(owner, PARTITIONS)


def _decided(worker: Worker) -> float:
    return _done(worker, "palimpsest_candidates_total", "palimpsest_dead_letters_total")


async def _steadily(
    made: Installation, worker: Worker, stream: Iterator[Record], rate: float, seconds: float
) -> list[float]:
    """Publish at a rate; returns the worker's memory in MB at each second."""
    topic, sent = made.topics.name("candidates"), 0
    samples: list[float] = []
    options = made.connection.arguments() | {"acks": "all", "linger_ms": 50}
    async with AIOKafkaProducer(**options) as producer:
        begun = time.perf_counter()
        while (now := time.perf_counter() - begun) < seconds:
            due = round((now + SAMPLE_SECONDS) * rate) - sent
            some = [
                await producer.send(topic, value, key, at) for key, value, at in islice(stream, due)
            ]
            await asyncio.gather(*some)
            sent += due
            samples.append(worker.resident())
            await asyncio.sleep(max(len(samples) * SAMPLE_SECONDS + begun - time.perf_counter(), 0))
    return samples


def main(arguments: Sequence[str]) -> list[Measured]:
    """Run `python -m bench soak` with its arguments."""
    parser = argparse.ArgumentParser(prog="python -m bench soak", description=soak.__doc__)
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--rate", type=float, help="records a second; default: half the maximum")
    parser.add_argument("--small", action="store_true", help="only try whether it runs")
    asked = parser.parse_args(arguments)
    minutes = 0.1 if asked.small else asked.minutes
    return soak(Scale("small" if asked.small else "normal"), minutes, asked.rate)
