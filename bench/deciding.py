"""The cost of deciding alone, with an engine that costs next to nothing."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import numpy as np

from bench.figure import Measured, Scale
from bench.filling import fill
from bench.opened import busy_ms
from bench.rows import distinct_texts
from bench.scratch import of_owners, scratch_store
from bench.sentences import sentences
from bench.stub import StubEngine
from palimpsest.streams.embedder import load_engine
from palimpsest.streams.policies import load_policy

EACH = 100
"""Candidates per owner."""
SECTIONS = 5
SUBJECTS = Path("throughput/commit_subjects.jsonl.gz")
"""Real texts, in the folder of `--data`."""


def owners(scale: Scale) -> list[Measured]:
    """Decisions per second and resident memory: many owners in turn, a hundred candidates each."""
    count = scale.of(50, 1_000, 10_000)
    load_engine().embed(["the default engine is in memory, as it is in use"])
    with scratch_store(StubEngine()) as store:
        stream = of_owners(sentences(), count)
        rates, busy = [], 0.0
        for _ in range(SECTIONS):
            some = list(islice(stream, count * EACH // SECTIONS))
            before = time.process_time()  # making up sentences is not measured
            rates.append(len(some) / store.ingest(some))
            busy += time.process_time() - before
        total = store.log.head()
        beside = {"us of processor time each": busy / total * 1e6}
    note = f"{count} owners x {EACH}, {total} events, fifth by fifth; projections included"
    return [
        Measured(
            "decisions with a stub embedder", "decisions/s", rates, 2_500, note=note, beside=beside
        ),
        Measured("resident memory, most", "MB", [resident()], 850, at_most=True, note=note),
    ]


def resident() -> float:
    """The peak resident memory of this process, in MB."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 2**20 if sys.platform == "darwin" else most / 2**10


class _Ticks:
    """A clock that is read once per decision, and then notes its thread's processor time.

    Processor time, because other processes and threads are not part of a decision's cost.
    """

    def __init__(self) -> None:
        self.at: list[float] = []

    def __call__(self) -> datetime:
        self.at.append(time.thread_time())
        return datetime.now(UTC)

    def costs(self) -> list[float]:
        """Milliseconds of each decision, sorted; a window's first decision includes a commit."""
        return sorted((np.diff(self.at) * 1e3).tolist())


def growing(scale: Scale) -> list[Measured]:
    """The cost of a decision in one scope of a thousand, ten thousand and a hundred thousand texts.

    Made-up sentences share 260 words, so most of them have words in common; real ones do not.
    """
    found = []
    for size in (1_000, 10_000, scale.of(20_000, 100_000, 100_000)):
        found += _in_a_scope(size, scale.of(512, 2_048, 8_192), sentences(), "texts")
    if scale.data is not None and (scale.data / SUBJECTS).is_file():
        subjects, size = distinct_texts(scale.data / SUBJECTS), scale.of(20_000, 100_000, 100_000)
        found += _in_a_scope(size, scale.of(512, 2_048, 8_192), subjects, "real texts")
    return found


def _in_a_scope(size: int, news: int, texts: Iterator[str], what: str) -> list[Measured]:
    ticks = _Ticks()
    with scratch_store(StubEngine(), ticks) as store:
        fill(store.log, (("one", text) for text in islice(texts, size)), load_policy("standard"))
        store.session.begin()
        store.ingest([("one", next(texts))])
        store.session.writer.owners.forget({"one"})
        cold = busy_ms(store.ingest, [("one", next(texts))]) / 1e3
        ticks.at.clear()
        seconds = store.ingest([("one", text) for text in islice(texts, news)])
    costs = ticks.costs()
    note = "processor time, neighbours included; commit and look-ahead are in decisions/s"
    scope = f"one scope of {size} {what}"
    name, beside = f"{scope}: a decision, p99", {"p50": costs[len(costs) // 2]}
    p99 = costs[int(len(costs) * 0.99)]
    most = 5.0 if size >= 100_000 else None
    decision = Measured(name, "ms", [p99], most, at_most=True, note=note, beside=beside)
    rate = Measured(f"{scope}: decisions", "decisions/s", [news / seconds], note="all included")
    note = "processor time: the owner is folded"
    name = f"{scope}: the first text that comes after a start"
    return [decision, rate, Measured(name, "s", [cold], at_most=True, note=note)]
