"""Folding whole logs makes millions of objects that live until their owner is done with.

Python's collector would walk all of them again and again: two thirds of the time of a fold. So it
rests, and runs once in so many events.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

EVENTS_BETWEEN = 50_000


class Resting:
    """Counts events, and collects once in `EVENTS_BETWEEN`."""

    def __init__(self) -> None:
        self._events = 0

    def after(self, events: int) -> None:
        """So many more events were folded, and their ledgers let go."""
        self._events += events
        if self._events >= EVENTS_BETWEEN:
            self._events = 0
            gc.collect()


@contextmanager
def collector_at_rest() -> Iterator[Resting]:
    """Keep the collector from running by itself; what is there already is left out of it."""
    was_on = gc.isenabled()
    gc.disable()
    gc.freeze()
    try:
        yield Resting()
    finally:
        gc.unfreeze()
        if was_on:
            gc.enable()
