"""Making and writing at once: while one batch is written, the next one is made."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import TypeVar

Item = TypeVar("Item")


def overlapped(items: Generator[Item, None, None], write: Callable[[Item], object]) -> None:
    """Call `write` for each item, in order, on a thread of its own while the next one is made.

    One item is written and one made at a time. What either raises is raised here, when nothing is
    being written any more and `items` is closed.
    """
    with ThreadPoolExecutor(1, "writing") as thread, closing(items):
        writing: Future[object] | None = None
        for item in items:
            if writing is not None:
                writing.result()
            writing = thread.submit(write, item)
        if writing is not None:
            writing.result()
