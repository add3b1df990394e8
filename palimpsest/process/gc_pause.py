"""Python's garbage collector, set for a process that holds a store.

A store in memory is millions of objects that live on, and the default collector walks all of them
again and again. The process decides this, not the library: programs that embed Palimpsest may
call it too.
"""

from __future__ import annotations

import gc

YOUNG = 200_000
"""New objects between two collections of the young: more than all imports make together."""
OLD = 50
"""Collections of the young between two of the middle-aged, and of these between two of all."""


def rest_collector() -> None:
    """Let it walk rarely: 869 to 740 us a candidate of 1,000 owners under a stub embedder."""
    gc.set_threshold(YOUNG, OLD, OLD)
