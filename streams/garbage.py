"""Pauses Python's garbage collector while many long-lived objects are created.

The collector would scan all of them again and again, which would take two thirds of the time of a
fold and two fifths of the time of deciding. So it pauses. Ledgers that are no longer needed are
dissolved, and leave no cycles for it to find.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

PYTHON_FREEZES: Final = 1_000
"""More frozen objects than this are a program's own: Python 3.12 freezes 375 at startup."""


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Prevent garbage collection while the block runs.

    If many new objects exist afterwards, all count as old. As young objects they would be scanned
    at once, which takes a second after an import of 100,000 rows. If there are few, they stay
    young: garbage that counts as old is freed only by full collections, which are rare or never
    happen. If the program has frozen objects of its own, even many new ones stay young: it shares
    the frozen ones with child processes, and unfreezing would end that.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if (
                gc.get_count()[0] > gc.get_threshold()[0] // 2
                and gc.get_freeze_count() <= PYTHON_FREEZES
            ):
                gc.freeze()
                gc.unfreeze()
            gc.enable()
