"""Folding whole logs, and importing whole stores, makes millions of objects that live on.

Python's collector would walk all of them again and again: two thirds of the time of a fold, and a
third of an import's. So it rests; ledgers that are done with are dissolved, and leave it nothing to
find.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Keep the collector from running while the block runs.

    Afterwards the new objects count as old. As young ones they would all be walked at once, which
    takes a second after an import of 100,000 rows.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            # Unfreezing would also thaw what the program froze; Python 3.12 freezes some itself.
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()
