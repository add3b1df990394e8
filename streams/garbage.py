"""Pauses Python's garbage collector while many long-lived objects are created.

Python's collector would walk all of them again and again: two thirds of the time of a fold, and two
fifths of deciding. So it rests; ledgers that are done with are dissolved, and leave it nothing to
find.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

PYTHON_FREEZES: Final = 1_000
"""More frozen objects than that are a program's own: Python 3.12 freezes 375 at its start."""


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Keep the collector from running while the block runs.

    Afterwards the new objects count as old. As young ones they would all be walked at once, which
    takes a second after an import of 100,000 rows. Where a program froze objects, they stay young:
    it shares memory with children, and to thaw what it froze would end that.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if gc.get_freeze_count() <= PYTHON_FREEZES:
                gc.freeze()
                gc.unfreeze()
            gc.enable()
