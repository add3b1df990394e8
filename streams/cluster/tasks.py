"""Waiting on the event loop: for a thread, until cancelled, or until stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

Result = TypeVar("Result")


class OneThread:
    """Runs functions one after another on one thread: an SQLite file is used on only one.

    A function that has begun is not interrupted when its waiter is cancelled.
    """

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)

    async def run(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Wait until the function has run there; what it raises is raised here."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, partial(function, *arguments))

    def end(self) -> None:
        """Run nothing new. What runs is not waited for."""
        self._executor.shutdown(wait=False)


def is_cancelled() -> bool:
    """Whether the task that runs was cancelled itself.

    A CancelledError alone does not say so: clients also cancel what waits for a connection that
    breaks.
    """
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


class StoppedError(Exception):
    """The operation is given up, because its process was stopped."""


async def unless(stop: asyncio.Event, doing: Coroutine[Any, Any, Result]) -> Result:
    """Do something, but give it up when `stop` is set before it is done: StoppedError then."""
    task, stopped = asyncio.ensure_future(doing), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopped.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
    if task.cancelled() and stop.is_set():
        raise StoppedError
    return task.result()
