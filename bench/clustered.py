"""The cluster compared with the embedded runtime and the bare embedder, and its latency."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from statistics import median

from bench.brokered import READY, Installation, installation, is_decision, quantile, until
from bench.embedding import bare_seconds, distinct
from bench.figure import Measured, Scale
from bench.scratch import OwnedText, inputs, of_owners, scratch_store
from bench.sentences import sentences
from bench.stub import StubEngine
from palimpsest.backends.paths import PROJECTIONS_FOLDER
from palimpsest.projections.duckdb.queries import query
from palimpsest.streams.embedded.pipeline import WINDOW
from palimpsest.streams.embedder import load_engine

ROUNDS = 3
WARM = 0.1
"""The share of the first decisions that is not timed, because one-time work happens then."""
LATE = "0.1"
"""Seconds that the event loop may be late, as named by the bucket of its metric."""


def worker_and_stub(scale: Scale) -> list[Measured]:
    """A worker that works off a backlog, divided by the embedded runtime on the same input."""
    count = scale.of(2_000, 10_000, 40_000)
    owners = count // 50
    texts = [*of_owners(islice(sentences(), count), owners)]
    earlier = scale.of(200, 10_000, 10_000)
    ratios, rates, whole = [], [], []
    for _ in range(ROUNDS):
        with scratch_store(StubEngine()) as store:
            store.ingest([("warm", text) for text in islice(sentences(), count, count + WINDOW)])
            whole.append(count / store.ingest(texts))
        rates.append(_worked_off(texts, earlier, stub=True)[0])
        ratios.append(rates[-1] / whole[-1])
    note = f"{count} texts of {owners} owners, in turns; the broker is on the same cores"
    beside = {"worker, decisions/s": median(rates), "embedded, decisions/s": median(whole)}
    name = "worker with a stub embedder, divided by the embedded runtime"
    return [Measured(name, "", ratios, 0.6, note=note, beside=beside)]


def worker_and_embedder(scale: Scale) -> list[Measured]:
    """A worker on new texts, divided by the embedder alone on the same texts."""
    texts = distinct(scale.data, scale.of(256, 4_096, 4_096))
    engine = load_engine()
    bare_seconds(engine, texts[:WINDOW])
    earlier = scale.of(200, 10_000, 10_000)
    ratios, rates, bare, in_time = [], [], [], []
    for _ in range(ROUNDS):
        bare.append(len(texts) / bare_seconds(engine, texts))
        rate, figures = _worked_off(texts, earlier, stub=False)
        rates.append(rate)
        ratios.append(rate / bare[-1])
        lag = "palimpsest_event_loop_lag_seconds"
        in_time.append(figures[f'{lag}_bucket{{le="{LATE}"}}'] / figures[f"{lag}_count"])
    note = f"{len(texts)} texts, {'real' if scale.data else 'made up'}, in turns"
    beside = {"worker, decisions/s": median(rates), "bare, texts/s": median(bare)}
    name = "worker with the default embedder, divided by the bare embedder"
    whole = Measured(name, "", ratios, 0.82, note=note, beside=beside)
    return [whole, Measured("event loop at most 100 ms late", "of 1", in_time, 0.99, note=note)]


def _worked_off(
    texts: Sequence[OwnedText], earlier: int, *, stub: bool
) -> tuple[float, dict[str, float]]:
    """Decisions per second of a worker that finds all records in the topic, and its metrics.

    The broker has served another worker before: a broker that has just been started takes twice as
    long for a record.
    """
    with installation() as made:
        first = enumerate(islice(sentences(), earlier))
        made.publish([(f"earlier {n % 200}", text) for n, text in first])
        before = made.worker("before", stub=True)
        made.decided(earlier)
        before.end()
        made.publish(texts)
        worker = made.worker("one", stub=stub)
        seen = made.decided(len(texts))
        return _rate(seen), worker.figures()


def _rate(seen: Sequence[tuple[float, int]]) -> float:
    total = sum(count for _, count in seen)
    before = 0
    for number, (at, count) in enumerate(seen):
        before += count
        if before >= WARM * total and number < len(seen) - 1:
            return (total - before) / (seen[-1][0] - at)
    raise ValueError("all was decided at once: offer more")


def latency(scale: Scale) -> list[Measured]:
    """Latency from publishing to the decision and to its row in `dedup_log`, without other load."""
    texts = sentences()
    with installation() as made, _following(made) as store:
        worker = made.worker("one", stub=False)
        until(lambda: worker.says(READY), "the worker is ready")
        asyncio.run(_decisions_one_by_one(made, [*islice(texts, 5)]))
        to_decision = asyncio.run(
            _decisions_one_by_one(made, [*islice(texts, scale.of(10, 300, 1_000))])
        )
        repeated = [*islice(texts, scale.of(3, 30, 100))]
        made.publish([("seen", text) for text in repeated])
        to_row = [_until_visible(made, store, text.upper()) for text in repeated]
    note = f"{len(to_decision)} one after the other, the default embedder, read as committed"
    name = "publish to decision, idle"
    shown = Measured("publish to a row in dedup_log, p50", "ms", to_row, 1_500, at_most=True)
    return [
        Measured(f"{name}, p50", "ms", to_decision, 60, at_most=True, note=note),
        Measured(f"{name}, p99", "ms", [quantile(to_decision, 0.99)], 200, at_most=True, note=note),
        shown,
    ]


async def _decisions_one_by_one(made: Installation, texts: Sequence[str]) -> list[float]:
    """Milliseconds of each decision, with a pause of a different length before each."""
    chance = random.Random(1)
    found = []
    async with made.client() as client, made.decisions() as decisions:
        for number, text in enumerate(texts):
            await asyncio.sleep(chance.uniform(0.02, 0.12))
            offered = [*inputs([(f"owner {number % 20}", text)])]
            begun = time.perf_counter()
            await client.publish(offered)
            while not is_decision(await decisions.getone()):
                pass
            found.append((time.perf_counter() - begun) * 1e3)
    return found


@contextmanager
def _following(made: Installation) -> Iterator[Path]:
    """Run a projector on its own store; gives the store's folder."""
    store = made.folder / "store"
    command = [sys.executable, "-m", "palimpsest", "--store", str(store), "project"]
    command += ["--bootstrap", made.connection.bootstrap]
    with (made.folder / "project.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield store
    finally:
        process.kill()
        process.wait()


def _until_visible(made: Installation, store: Path, text: str) -> float:
    """Milliseconds until analysts see a repeat."""
    offered = [("seen", text)]
    begun = time.perf_counter()
    made.publish(offered)
    sql = "SELECT 1 FROM dedup_log WHERE new_text = ?"
    until(lambda: bool([*query(store / PROJECTIONS_FOLDER, sql, [text])]), "it is shown")
    return (time.perf_counter() - begun) * 1e3
