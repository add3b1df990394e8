"""What a backtest takes, beside deciding the same history with an engine that costs nothing."""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterator
from itertools import islice

import orjson

from bench.deciding import SUBJECTS
from bench.figure import Measured, Scale
from bench.scratch import OwnedText, ScratchStore, scratch_store
from bench.sentences import sentences
from bench.stub import StubEngine
from palimpsest.backends.reader import Reader
from palimpsest.contracts.policy import CosineCheck, Policy, Zone
from palimpsest.evaluation.backtest import backtest
from palimpsest.streams.embedder import Embedder
from palimpsest.streams.policies import load_policy

OWNERS = 5
LOWER = 0.05
"""By how much the thresholds are lowered, so that every newcomer is searched for again."""
ROUNDS = 3


def backtests(scale: Scale) -> list[Measured]:
    """Candidates per second of processor time: decided, then backtested, in turns."""
    count = scale.of(500, 10_000, 20_000)
    rates: list[tuple[float, float]] = []
    for _ in range(ROUNDS):
        with scratch_store(StubEngine()) as store:
            before = time.process_time()
            store.ingest(islice(_texts(scale), count))
            decided = time.process_time() - before
            rates.append((count / decided, count / _backtested(store)))
    note = f"{count:,} candidates of {OWNERS} owners, one process; processor time, in turns"
    decides, replays = map(list, zip(*rates, strict=True))
    times = [backtested / decided for decided, backtested in rates]
    return [
        Measured("deciding with a stub embedder", "candidates/s", decides, note=note),
        Measured("backtest under lower thresholds", "candidates/s", replays, note=note),
        Measured("backtest / deciding", "times", times, 2.0, note=note),
    ]


def _backtested(store: ScratchStore) -> float:
    reader = Reader(store.folder, store.log, load_policy("standard"), _embedder)
    before = time.process_time()
    found = backtest(reader, lower(load_policy("standard"), LOWER), lambda _what, _share: None)
    seconds = time.process_time() - before
    assert found["candidates"] == store.log.head() - 1, "every row is a candidate"
    return seconds


def _embedder() -> Embedder:
    raise AssertionError("a backtest calls no model")


def lower(policy: Policy, by: float) -> Policy:
    """The policy with lower zones of cosine."""

    def lowered(zone: Zone) -> Zone:
        return zone.model_copy(update={"at_least": round(zone.at_least - by, 4)})

    checks = tuple(
        check.model_copy(update={"zones": tuple(map(lowered, check.zones))})
        if isinstance(check, CosineCheck)
        else check
        for check in policy.checks
    )
    return policy.model_copy(update={"name": "lower", "checks": checks})


def _texts(scale: Scale) -> Iterator[OwnedText]:
    """Of each owner in turn: made-up sentences, or subjects of commits, many of them repeats."""
    if scale.data is None:
        texts = sentences()
    else:
        with gzip.open(scale.data / SUBJECTS) as lines:
            texts = iter([orjson.loads(line)["text"] for line in islice(lines, 20_000)])
    for number, text in enumerate(texts):
        yield f"owner {number % OWNERS}", text
