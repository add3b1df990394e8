"""Every figure by name, each measured in a process of its own."""

from __future__ import annotations

import gc
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from bench import (
    backtesting,
    calibrating,
    calling,
    cleaning,
    clustered,
    comparing,
    consolidating,
    correcting,
    coverage,
    deciding,
    dividing,
    embedding,
    enduring,
    engines,
    failing,
    identifying,
    importing,
    janitor,
    judge,
    keying,
    nearest,
    pages,
    projecting,
    runs,
    serving,
    spreading,
    switching,
    telling,
    waiting,
)
from bench.figure import Measure, Measured, Scale
from palimpsest.process.gc_thresholds import raise_gc_thresholds

FIGURES: dict[str, Measure] = {
    "end-to-end": embedding.end_to_end,
    "bulk": embedding.bulk,
    "engines": engines.engines,
    "calls": calling.calls,
    "calls-alone": calling.calls_alone,
    "identifiers": identifying.identifiers,
    "recalls": calling.recalls_of_many,
    "checks": calling.checks,
    "finds": calling.finds,
    "many-calls": calling.many_calls,
    "long-texts": embedding.long_texts,
    "calls-by-length": calling.calls_by_length,
    "repeats": embedding.repeats,
    "owners": deciding.owners,
    "growing": deciding.growing,
    "backtest": backtesting.backtests,
    "calibrate": calibrating.calibrates,
    "rebuild": projecting.rebuild,
    "unmerge": projecting.unmerge,
    "large-memory": dividing.large_memory,
    "histories": telling.histories,
    "opening": projecting.opening,
    "worker-stub": clustered.worker_and_stub,
    "worker": clustered.worker_and_embedder,
    "latency": clustered.latency,
    "partitions": spreading.latency,
    "partitions-bare": spreading.bare_latency,
    "partitions-full": spreading.throughput,
    "failover": failing.failover,
    "worker-memory": failing.memory,
    "bad-records": enduring.bad_records,
    "judge": judge.calls,
    "judge-batched": judge.batched,
    "judge-stream": waiting.stream,
    "janitor": janitor.janitor,
    "importance-run": runs.runs,
    "corrections": correcting.corrections,
    "session-end": consolidating.session_end,
    "serve": serving.serve,
    "pages": pages.pages,
    "keys": keying.keys,
    "audit-keys": keying.audit_keys,
    "coverage": coverage.coverage,
    "nearest": nearest.nearest,
    "switch": switching.switch,
    "guard": comparing.guard,
    "import": importing.importing,
    "clean": cleaning.cleaning,
}


def measure(name: str, scale: Scale) -> list[Measured]:
    """Measure a figure in a new process: nothing is warm, and its memory is its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(_here, name, scale).result()


def _here(name: str, scale: Scale) -> list[Measured]:
    gc.collect()
    raise_gc_thresholds()
    return FIGURES[name](scale)
