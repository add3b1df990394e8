"""Helpers to wait on the event loop: for a thread, until cancelled, or until stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")


class OneThread:
    """Runs functions one after another on one thread.

    A function that has started is not interrupted when its caller is cancelled.
    """

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)

    async def run(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Run a function there and wait; its exception is raised here."""
        return await asyncio.wrap_future(self.submit(function, *arguments))

    def submit(self, function: Callable[..., Result], *arguments: object) -> Future[Result]:
        """Run a function there later."""
        return self._executor.submit(function, *arguments)

    def end(self) -> None:
        """Accept no more functions; does not wait for submitted ones."""
        self._executor.shutdown(wait=False)


def is_cancelled() -> bool:
    """Whether the current task itself was cancelled.

    A CancelledError alone does not prove it: clients also cancel tasks that wait for a connection
    when it breaks.
    """
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


class Waiters:
    """Coroutines that wait until something holds; `check` wakes those for which it does.

    Unlike asyncio's conditions it wakes nobody in vain, and needs no lock: of those that wait, only
    one may make what it waited for untrue.
    """

    def __init__(self) -> None:
        self._waiting: dict[asyncio.Future[None], Callable[[], bool]] = {}

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds."""
        while not holds():
            woken = asyncio.get_running_loop().create_future()
            self._waiting[woken] = holds
            try:
                await woken
            finally:
                del self._waiting[woken]

    def check(self) -> None:
        """Wake those for which it holds now."""
        for woken, holds in self._waiting.items():
            if not woken.done() and holds():
                woken.set_result(None)


class StoppedError(Exception):
    """The operation was abandoned because its process was stopped."""


async def unless(stop: asyncio.Event, doing: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine; if `stop` is set before it ends, cancel it and raise StoppedError."""
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
