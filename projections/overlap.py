"""Overlaps producing and writing: while one batch is written, the next one is produced."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import TypeVar

Item = TypeVar("Item")


def write_overlapped(items: Generator[Item, None, None], write: Callable[[Item], object]) -> None:
    """Call `write` for each item, in order, on a thread of its own while the next is produced.

    At most one item is being written and one produced. Errors of either are raised here, after
    writing has ended and `items` is closed.
    """
    with ThreadPoolExecutor(1, "writing") as thread, closing(items):
        writing: Future[object] | None = None
        for item in items:
            if writing is not None:
                writing.result()
            writing = thread.submit(write, item)
        if writing is not None:
            writing.result()
