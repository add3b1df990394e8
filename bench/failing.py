"""How long a worker's partitions wait after it is killed, and a worker's memory."""

from __future__ import annotations

import asyncio
import re
import shutil
import time
from itertools import islice

from bench.brokered import (
    PARTITIONS,
    READY,
    Installation,
    Worker,
    installation,
    is_decision,
    until,
)
from bench.figure import Measured, Scale
from bench.filling import fill
from bench.scratch import inputs, of_owners
from bench.sentences import sentences
from palimpsest.streams.cluster.client.import_log import import_lines
from palimpsest.streams.cluster.topics import partition_of
from palimpsest.streams.cluster.worker.worker import SESSION_SECONDS
from palimpsest.streams.log.log import Log
from palimpsest.streams.policies import load_policy

EACH = 10
"""Candidates per owner."""
PAUSE_SECONDS = 0.05
ROUNDS = 3
STANDING_BY = "standing by for partitions"


def failover(scale: Scale) -> list[Measured]:
    """Seconds from a worker's SIGKILL until all its partitions decide again, less its session."""
    size = scale.of(2_000, 100_000, 1_000_000)
    with installation() as made:
        _import(made, size)
        stood_by = [_fail_over(made, f"standby {n}", standby=True) for n in range(ROUNDS)]
        anew = [_fail_over(made, f"anew {n}", standby=False) for n in range(ROUNDS)]
    note = (
        f"{size} decisions, {PARTITIONS} partitions, two workers, of which the survivor never had"
        f" the partitions of the other; without the session of {SESSION_SECONDS:.0f} s, which may"
        " end a heartbeat (1 s) early"
    )
    name = "fail-over after SIGKILL"
    return [
        Measured(f"{name}, workers with --standby", "s", stood_by, 3, at_most=True, note=note),
        Measured(f"{name}, replicas made anew", "s", anew, 2, at_most=True, note=note),
    ]


def _fail_over(made: Installation, which: str, *, standby: bool) -> float:
    """Seconds of one failover, between two new workers that start without replicas."""
    workers = [made.worker(f"{which} {n}", stub=True, standby=standby) for n in (1, 2)]
    until(lambda: all(map(_has_half, workers)), "each has half of the partitions")
    until(lambda: not standby or all(w.says(STANDING_BY) for w in workers), "they stand by")
    killed, other = workers if _never_had(workers[1], workers[0]) else reversed(workers)
    seconds = asyncio.run(_killed(made, killed, which))
    other.kill()
    return seconds


def _import(made: Installation, size: int) -> None:
    """Import an exported log with decisions on `size` candidates."""
    folder = made.folder / "imported"
    folder.mkdir()
    with Log.create(folder / "log.sqlite") as log:
        texts = of_owners(islice(sentences(), size), size // EACH)
        fill(log, texts, load_policy("standard"))
        read = lambda: (line for _, line in log.lines())  # noqa: E731 - a name would say no more
        asyncio.run(import_lines(made.connection, made.topics, read, lambda _count: None))
    shutil.rmtree(folder)


def _assignments(worker: Worker) -> list[set[int]]:
    """The partitions in a worker's log, for each assignment."""
    assigned = re.findall(rf"{READY} ([\d, ]+)", worker.log.read_text(errors="replace"))
    return [{int(one) for one in partitions.split(", ")} for partitions in assigned]


def _has_half(worker: Worker) -> bool:
    return [len(partitions) for partitions in _assignments(worker)][-1:] == [PARTITIONS // 2]


def _never_had(worker: Worker, other: Worker) -> bool:
    """Whether a worker never had the partitions that the other one has now."""
    return not _assignments(other)[-1] & set().union(*_assignments(worker))


async def _killed(made: Installation, worker: Worker, which: str) -> float:
    """Seconds until each of its partitions has a decision, while each is offered new texts.

    Texts and ids are new for each failover, because known candidates are not decided on again.
    """
    waiting = set(_assignments(worker)[-1])
    names = {partition_of(name, PARTITIONS): name for name in map("new {}".format, range(1_000))}
    owners = [names[partition] for partition in waiting]
    texts = (f"{text} It was the time of {which}, {n}." for n, text in enumerate(sentences()))
    async with made.client() as client, made.decisions() as decisions:
        worker.kill()
        begun = time.perf_counter()
        while waiting:
            await client.publish([*inputs((owner, next(texts)) for owner in owners)])
            some = await decisions.getmany(timeout_ms=int(PAUSE_SECONDS * 1000))
            waiting -= {r.partition for records in some.values() for r in records if is_decision(r)}
        return time.perf_counter() - begun - SESSION_SECONDS


def memory(scale: Scale) -> list[Measured]:
    """A worker's peak memory once it has loaded as many owners as it may.

    Also the time until it is ready: without replicas, and with those from its last run.
    """
    size = scale.of(2_000, 100_000, 1_000_000)
    texts = (f"{text} So it was said." for text in sentences())
    count = min(size // EACH, scale.of(200, 10_000, 30_000))
    offered = [*of_owners(islice(texts, count), count)]
    with installation() as made:
        _import(made, size)
        worker, anew = _ready(made)
        made.publish(offered)
        begun = time.perf_counter()
        until(lambda: _candidates(worker) >= len(offered), "all is decided")
        beside = {
            "owners in memory": worker.figures()["palimpsest_owners_in_memory"],
            "seconds": time.perf_counter() - begun,
            "start without replicas, s": anew,
        }
        resident = worker.most_resident()
        worker.end()
        again = _ready(made)[1]
    note = f"{size // EACH} owners, {size} candidates; {len(offered)} owners said something new"
    name = "resident memory of a worker, most"
    return [
        Measured(name, "MB", [resident], 1_500, at_most=True, note=note, beside=beside),
        Measured("a worker starts with its replicas", "s", [again], 10, at_most=True, note=note),
    ]


def _ready(made: Installation) -> tuple[Worker, float]:
    """A worker, and the seconds from its start until it is ready."""
    begun = time.perf_counter()
    worker = made.worker("one", stub=True)
    until(lambda: worker.says(READY), "the worker is ready")
    return worker, time.perf_counter() - begun


def _candidates(worker: Worker) -> float:
    time.sleep(1)  # reading metrics costs the worker time
    return worker.figures()["palimpsest_candidates_total"]
