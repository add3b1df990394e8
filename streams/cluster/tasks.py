"""Waiting on the event loop: for a thread, until cancelled, or until stopped."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import Any, ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


class DecidingTurn:
    """Held by the only one of several threads that runs at a time; they get it in order.

    A plain lock would be taken again by the thread that has just released it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._held = False
        self._waiting: deque[Lock] = deque()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Wait for the turn, and hold it in the block."""
        self._take()
        try:
            yield
        finally:
            self._pass()

    def _take(self) -> None:
        mine = Lock()
        with self._lock:
            if self._held:
                mine.acquire()
                self._waiting.append(mine)
            self._held = True
        mine.acquire()

    def _pass(self) -> None:
        with self._lock:
            self._held = bool(self._waiting)
            if self._waiting:
                self._waiting.popleft().release()

    def passed_on(self, waiting: Callable[Given, Result]) -> Callable[Given, Result]:
        """A function during which other threads may run; its callers must hold the turn."""

        def passing_on(*arguments: Given.args, **named: Given.kwargs) -> Result:
            self._pass()
            try:
                return waiting(*arguments, **named)
            finally:
                self._take()

        return passing_on


class OneThread:
    """Runs functions one after another on one thread, each when the thread has the turn.

    A function that has started is not interrupted when its caller is cancelled.
    """

    def __init__(self, name: str, turn: DecidingTurn | None = None) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._turn = turn or DecidingTurn()

    async def run(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Run a function there and wait; its exception is raised here."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._executor, partial(self._in_turn, function, *arguments)
        )

    def _in_turn(self, function: Callable[..., Result], *arguments: object) -> Result:
        with self._turn.taken():
            return function(*arguments)

    def end(self) -> None:
        """Start nothing new, without waiting for what is running."""
        self._executor.shutdown(wait=False)


def is_cancelled() -> bool:
    """Whether the current task itself was cancelled.

    A CancelledError alone does not prove it: clients also cancel tasks that wait for a connection
    when it breaks.
    """
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


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
