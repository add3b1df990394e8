"""The cost of recording the nearest text of a decision: with and without, in turns."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from itertools import islice
from typing import Any
from unittest.mock import patch

from bench.deciding import SUBJECTS
from bench.embedding import distinct
from bench.figure import Measured, Scale
from bench.filling import fill
from bench.rows import distinct_texts
from bench.scratch import OwnedText, scratch_store
from bench.sentences import sentences
from bench.stub import StubEngine
from palimpsest.streams.embedder import Engine, load_engine
from palimpsest.streams.policies import load_policy
from palimpsest.streams.search import Peers, VectorIndex
from palimpsest.streams.search.scope_index import ScopeIndex, Surroundings

ROUNDS = 5


def nearest(scale: Scale) -> list[Measured]:
    """Processor time of deciding with the nearest text recorded, divided by that without."""
    owners = distinct(scale.data, scale.of(300, 2_000, 8_000))
    stub = StubEngine()
    found = [_measured("real owners, stub embedder", stub, owners, [])]
    found.append(_measured("real owners, default embedder", load_engine(), owners[:500], []))
    texts = distinct_texts(scale.data / SUBJECTS) if scale.data else sentences()
    scope = [("one", text) for text in islice(texts, scale.of(2_000, 5_000, 20_000))]
    news = [("one", text) for text in islice(texts, scale.of(256, 1_024, 2_048))]
    name = f"one scope of {len(scope):,}, stub embedder"
    return [*found, _measured(name, stub, news, scope)]


def _measured(
    what: str, engine: Engine, texts: Sequence[OwnedText], before: Sequence[OwnedText]
) -> Measured:
    _seconds(engine, texts[:256], [], recorded=True)  # imports, and other work that is done once
    pairs = []
    for number in range(ROUNDS):
        order = (True, False) if number % 2 else (False, True)
        took = {recorded: _seconds(engine, texts, before, recorded=recorded) for recorded in order}
        pairs.append((took[True], took[False]))
    beside = {"ms a text with it": min(one for one, _ in pairs) / len(texts) * 1e3}
    ratios = [one / other for one, other in pairs]
    name = f"deciding with the nearest / without: {what}"
    note = f"{len(texts):,} texts, processor time of all threads, in turns"
    return Measured(name, "times", ratios, 1.02, at_most=True, note=note, beside=beside)


def _seconds(
    engine: Engine, texts: Sequence[OwnedText], before: Sequence[OwnedText], *, recorded: bool
) -> float:
    """Processor time from the first text until all are decided, committed and projected."""
    with ExitStack() as held:
        if not recorded:
            held.enter_context(without_nearest())
        store = held.enter_context(scratch_store(engine))
        if before:
            fill(store.log, iter(before), load_policy("standard"))
            store.session.begin()
            store.ingest(before[:1])  # folds and indexes the owner
        begun = time.process_time()
        store.ingest(texts)
        return time.process_time() - begun


@contextmanager
def without_nearest() -> Iterator[None]:
    """Search as if only neighbours that reach a floor were recorded."""
    surroundings = ScopeIndex.surroundings

    def found(index: ScopeIndex, *words: Any, **_best: Any) -> Surroundings:
        return Surroundings(surroundings(index, *words, best=False).neighbours, None)

    with ExitStack() as held:
        for name in ("above", "near"):
            held.enter_context(patch.object(VectorIndex, name, _to_the_floor(name)))
        held.enter_context(patch.object(Peers, "nearest", lambda *_: []))
        held.enter_context(patch.object(ScopeIndex, "surroundings", found))
        yield


def _to_the_floor(name: str) -> Any:
    search = getattr(VectorIndex, name)

    @wraps(search)
    def to_the_floor(*words: Any, **options: Any) -> Any:
        return search(*words, **(options | {"best": False}))

    return to_the_floor
