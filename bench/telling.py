"""Calls that a long history must not slow down: dry runs, an undo, and what is told of a memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import cycle, islice

from bench.embedding import distinct
from bench.figure import Measured, Scale
from bench.opened import OWNER, busy_ms, row, writer_with
from bench.scratch import scratch_folder
from bench.stub import StubEngine
from palimpsest import Palimpsest
from palimpsest.backends.paths import LOG_FILE
from palimpsest.streams.log.log import Log

ROUNDS = 7


def histories(scale: Scale) -> list[Measured]:
    """Processor time of each call, by the length of the owner's history."""
    lengths = (scale.of(20, 1_000, 1_000), scale.of(50, 5_000, 20_000))
    return [measured for length in lengths for measured in _calls(scale, length)]


def _calls(scale: Scale, length: int) -> Iterator[Measured]:
    """The calls in a store of one owner in memory; texts that are too few are said again."""
    texts = cycle(text for _, text in distinct(scale.data, length))
    said = [row(text) | {"id": str(n)} for n, text in enumerate(islice(texts, length))]
    with scratch_folder() as folder:
        log = Log.create(folder / LOG_FILE, shared=True)
        with Palimpsest(folder, writer_with(StubEngine(), log)) as store:
            store.submit(said, source="bench")
            one, other, gone = (
                str(store.submit(row(f"qa{n} qb{n} qc{n}"))[0].candidate_id) for n in range(3)
            )
            joined = store.merge(one, other)["decision_id"]
            undone, looked = [], []
            for _ in range(ROUNDS):
                forgotten = store.forget(gone)["forgotten"]
                looked.append(busy_ms(partial(store.undo, forgotten, dry_run=True)))
                undone.append(busy_ms(store.undo, forgotten))
            unmerge = partial(store.unmerge, decision_id=joined, dry_run=True)
            found = {
                "dry run of undoing a forgetting": looked,
                "undoing a forgetting": undone,
                "dry run of an un-merge": [busy_ms(unmerge) for _ in range(ROUNDS)],
                "history of a memory": [busy_ms(store.history, one) for _ in range(ROUNDS)],
                "showing a memory": [busy_ms(store.show, one) for _ in range(ROUNDS)],
            }
            events = store.reader.ledger(OWNER).seen
    note = f"{events:,} events of the owner, processor time"
    for name, took in found.items():
        yield Measured(name, "ms", took, note=note)
