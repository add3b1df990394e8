"""The time of a backtest, compared with deciding the same history with an engine without cost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice

from bench.deciding import SUBJECTS
from bench.figure import Measured, Scale
from bench.rows import read_rows
from bench.scratch import OwnedText, ScratchStore, of_owners, scratch_store
from bench.sentences import sentences
from bench.stub import StubEngine
from palimpsest.backends.reader import Reader
from palimpsest.contracts.policy import Check, CosineCheck, Policy, TokenCheck
from palimpsest.evaluation.backtest import backtest
from palimpsest.streams.embedder import Embedder, ignore_progress
from palimpsest.streams.policies import load_policy

OWNERS = 5
LOWER = 0.05
"""The amount by which thresholds are lowered."""
ROUNDS = 3
LOWERED = {
    "zones": "whose neighbours are recorded",
    "cosines": "so that it searches further than was recorded",
    "cosines and words": "so that it searches for everybody by words, too",
}


def backtests(scale: Scale) -> list[Measured]:
    """Candidates per second of processor time, first decided and then backtested, in turns."""
    count = scale.of(500, 10_000, 20_000)
    decides: list[float] = []
    rates: dict[str, list[float]] = {what: [] for what in LOWERED}
    for _ in range(ROUNDS):
        with scratch_store(StubEngine()) as store:
            before = time.process_time()
            store.ingest(islice(_texts(scale), count))
            decides.append(count / (time.process_time() - before))
            for what, some in rates.items():
                some.append(count / _backtested(store, lower(load_policy("standard"), LOWER, what)))
    note = f"{count:,} candidates of {OWNERS} owners, one process; processor time, in turns"
    measured = [Measured("deciding with a stub embedder", "candidates/s", decides, note=note)]
    for what, why in LOWERED.items():
        times = [rate / decided for rate, decided in zip(rates[what], decides, strict=True)]
        name = f"backtest, {what} lower, {why}"
        measured.append(Measured(name, "candidates/s", rates[what], note=note))
        measured.append(Measured(f"– / deciding ({what})", "times", times, 2.0, note=note))
    return measured


def _backtested(store: ScratchStore, policy: Policy) -> float:
    reader = Reader(store.folder, store.log, load_policy("standard"), _embedder)
    before = time.process_time()
    found = backtest(reader, policy, ignore_progress)
    seconds = time.process_time() - before
    assert found["candidates"] == store.log.head() - 1, "every row is a candidate"
    return seconds


def _embedder() -> Embedder:
    raise AssertionError("a backtest calls no model")


def lower(policy: Policy, by: float, what: str) -> Policy:
    """The policy with lower zones, cosines, or cosines and words, as `calibrate` may choose."""

    def lowered(check: Check) -> Check:
        match check:
            case CosineCheck(near_identical=proven):
                zones = (z.model_copy(update={"at_least": less(z.at_least)}) for z in check.zones)
                if proven is not None and what != "zones":
                    proven = less(proven)
                return check.model_copy(update={"zones": tuple(zones), "near_identical": proven})
            case TokenCheck(threshold=floor) if what == "cosines and words":
                return check.model_copy(update={"threshold": less(floor)})
            case _:
                return check

    def less(threshold: float) -> float:
        return round(threshold - by, 4)

    checks = tuple(map(lowered, policy.checks))
    return policy.model_copy(update={"name": "lower", "checks": checks})


def _texts(scale: Scale) -> Iterator[OwnedText]:
    """Texts of the owners in turn: made-up sentences, or commit subjects, with many repeats."""
    if scale.data is None:
        return of_owners(sentences(), OWNERS)
    rows = islice(read_rows(scale.data / SUBJECTS), 20_000)
    return of_owners((row["text"] for row in rows), OWNERS)
