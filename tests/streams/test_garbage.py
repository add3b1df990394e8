"""The collector rests while millions of objects are made, and does not walk them right after."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from palimpsest.streams.garbage import PYTHON_FREEZES, collector_at_rest


def _is_old(one: object) -> bool:
    return any(known is one for known in gc.get_objects(generation=2))


class Cycle:
    """An object that only the collector frees."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def many() -> Iterator[int]:
    """How many new objects are due for collection, as a worker sets it."""
    before = gc.get_threshold()
    gc.set_threshold(10_000, 50, 50)
    yield 10_000
    gc.set_threshold(*before)


def test_what_was_made_meanwhile_is_old_afterwards(many: int) -> None:
    assert gc.isenabled()
    with collector_at_rest():
        assert not gc.isenabled()
        made: list[object] = [[] for _ in range(many)]
        assert not _is_old(made)
    assert gc.isenabled()
    assert _is_old(made)


def test_after_a_short_rest_garbage_that_lived_through_it_is_young(many: int) -> None:
    """A busy worker rests in every batch: its clients' cycles would stay until a full collection,
    which never comes due there."""
    gc.collect()
    cycle = Cycle()
    freed = weakref.ref(cycle)
    with collector_at_rest():
        made: list[object] = [[] for _ in range(many // 10)]
    del cycle, made
    gc.collect(1)
    assert freed() is None


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with collector_at_rest():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_the_program_froze_stays_frozen() -> None:
    gc.freeze()
    try:
        with collector_at_rest():
            made: list[object] = [[]]
        assert gc.get_freeze_count() > PYTHON_FREEZES
        assert not _is_old(made)
    finally:
        gc.unfreeze()
