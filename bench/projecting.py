"""Rebuilding, un-merging until the result is visible, and opening stores of different lengths."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from itertools import islice
from uuid import uuid4

from bench.figure import Measured, Scale
from bench.filling import fill
from bench.scratch import OwnedText, ScratchStore, of_owners, scratch_store
from bench.sentences import sentences
from bench.stub import StubEngine
from palimpsest import Palimpsest
from palimpsest.backends.fold_process import FoldingProcess
from palimpsest.backends.paths import PROJECTIONS_FOLDER
from palimpsest.contracts.requests import UnmergeRequest
from palimpsest.projections.base.source import no_effect, no_progress
from palimpsest.projections.rebuild import NAMES, Build
from palimpsest.projections.sharing import StartHelper, no_helper
from palimpsest.streams.policies import load_policy

OWNERS = 1_000
ROUNDS = 3
UNMERGED = 24


def _texts_of_owners(count: int) -> Iterator[OwnedText]:
    return of_owners(islice(sentences(), count), OWNERS)


def _filled(store: ScratchStore, count: int) -> None:
    fill(store.log, _texts_of_owners(count), load_policy("standard"))
    store.session.begin()


def rebuild(scale: Scale) -> list[Measured]:
    """Events per second of both projections, rebuilt from the log beside the live ones."""
    count = scale.of(5_000, 100_000, 1_000_000)
    alone: list[float] = []
    helped: list[float] = []
    with scratch_store(StubEngine()) as store:
        fill(store.log, _texts_of_owners(count), load_policy("standard"))
        for _ in range(ROUNDS):
            alone.append(count / _seconds_of_rebuild(store, no_helper))
            helped.append(
                count / _seconds_of_rebuild(store, partial(FoldingProcess, store.log.path))
            )
    note = f"{count} events of {OWNERS} owners; without the comparison"
    name = "rebuild of both projections"
    return [
        Measured(name, "events/s", alone, 20_000, note=note),
        Measured(f"{name}, two processes", "events/s", helped, 20_000, note=note),
    ]


def _seconds_of_rebuild(store: ScratchStore, start_helper: StartHelper) -> float:
    begun = time.perf_counter()
    build = Build(store.folder / PROJECTIONS_FOLDER, NAMES, store.log.head(), no_effect)
    build.fill(store.log, no_progress, start_helper)
    seconds = time.perf_counter() - begun
    build.drop()
    return seconds


def unmerge(scale: Scale) -> list[Measured]:
    """Milliseconds from an un-merge until both projections show its memories, in an open process.

    For every second un-merge the owner is not in memory, and is folded first.
    """
    count = scale.of(5_000, 100_000, 1_000_000)
    with scratch_store(StubEngine()) as store:
        _filled(store, count)
        reworded = [(owner, text.removesuffix(".")) for owner, text in _texts_of_owners(UNMERGED)]
        outcomes = zip(reworded, store.outcomes(reworded), strict=True)
        joins = [(owner, one.decision_id) for (owner, _), one in outcomes if one.joined_to]
        store.projections.show()
        warm: list[float] = []
        cold: list[float] = []
        for number, (owner, decision_id) in enumerate(joins):
            if number % 2:
                store.session.writer.owners.forget({owner})
            wanted = UnmergeRequest(request_id=str(uuid4()), decision_id=decision_id)
            begun = time.perf_counter()
            store.ask([wanted])
            store.projections.show()
            (cold if number % 2 else warm).append((time.perf_counter() - begun) * 1e3)
    note = f"{len(joins)} joins, {count:,} events in the log; the owner is in memory"
    of_cold = f"an owner of {count // OWNERS:,} candidates, who is folded first"
    return [
        Measured("un-merge until visible", "ms", warm, 300, at_most=True, note=note),
        Measured("un-merge until visible, cold owner", "ms", cold, at_most=True, note=of_cold),
    ]


def opening(scale: Scale) -> list[Measured]:
    """How much longer a long store takes than a short one to open, and to look up a decision."""
    short, long = 1_000, scale.of(20_000, 200_000, 1_000_000)
    with scratch_store(StubEngine()) as few, scratch_store(StubEngine()) as many:
        _filled(few, short)
        _filled(many, long)
        of_few, of_many = [], []
        for _ in range(9):
            of_few.append(_opened(few))
            of_many.append(_opened(many))
    ratios = [m / f for m, f in zip(of_many, of_few, strict=True)]
    name = f"opening a store of {long:,} events, divided by one of {short:,}"
    beside = {"long, ms": sorted(of_many)[4], "short, ms": sorted(of_few)[4]}
    return [Measured(name, "", ratios, 2.0, at_most=True, beside=beside)]


def _opened(store: ScratchStore) -> float:
    """Milliseconds until a store is open and its projections are checked."""
    begun = time.perf_counter()
    with Palimpsest.open(store.folder, create=False) as opened:
        opened.sql("SELECT position FROM log_position")
    return (time.perf_counter() - begun) * 1e3
