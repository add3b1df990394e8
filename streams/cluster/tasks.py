"""Waiting on the event loop: for a thread, until cancelled, or until stopped."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

from greenlet import getcurrent, greenlet

Given = ParamSpec("Given")
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
        """Start nothing new, without waiting for what is running."""
        self._executor.shutdown(wait=False)


class Fiber:
    """Runs functions one after another on a thread that it shares with other fibers.

    One runs at a time, until it ends or waits in `waiting_for`. A function that has started is not
    interrupted when its caller is cancelled.
    """

    def __init__(self, thread: OneThread) -> None:
        self._thread = thread
        self._calls: deque[tuple[Callable[[], object], Future[Any]]] = deque()
        self._running = False

    async def run(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Run a function there and wait; its exception is raised here."""
        done: Future[Result] = Future()
        self._thread.submit(self._enter, partial(function, *arguments), done)
        return await asyncio.wrap_future(done)

    def _enter(self, call: Callable[[], object], done: Future[Any]) -> None:
        self._calls.append((call, done))
        if not self._running:
            greenlet(self._work).switch()

    def _work(self) -> None:
        self._running = True
        while self._calls:
            _settle(*self._calls.popleft())
        self._running = False


def _settle(call: Callable[[], Result], done: Future[Result]) -> None:
    if not done.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - raised where it is waited for
        done.set_exception(error)
        del done  # else the error's traceback would keep both alive
    else:
        done.set_result(result)


def waiting_for(
    thread: OneThread, function: Callable[Given, Coroutine[Any, Any, Result]]
) -> Callable[Given, Result]:
    """A function for that thread's fibers, which waits while the event loop runs `function`.

    Meanwhile other fibers run.
    """
    loop = asyncio.get_running_loop()

    def waiting(*arguments: Given.args, **named: Given.kwargs) -> Result:
        fiber = getcurrent()
        running = asyncio.run_coroutine_threadsafe(function(*arguments, **named), loop)
        running.add_done_callback(lambda _: thread.submit(fiber.switch))
        fiber.parent.switch()
        return running.result()

    return waiting


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
