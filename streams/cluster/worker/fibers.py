"""Fibers: a worker's partitions take turns on one thread, and wait for the brokers side by side.

The code that decides is synchronous, and commits in the middle. A greenlet can leave it there and
return to it later, which costs less than switching threads.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import partial
from typing import Any, ParamSpec, TypeVar

from greenlet import getcurrent, greenlet

from palimpsest.streams.cluster.tasks import OneThread

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Fiber:
    """Runs functions one after another on a thread that it shares with other fibers.

    One runs at a time, until it ends or waits in `waiting_for`. A function that has started is not
    interrupted when its caller is cancelled.

    References to a failed future are deleted, because its error's traceback refers back to it.
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
    except BaseException as error:  # noqa: BLE001 - raised where it is awaited
        done.set_exception(error)
        del done
    else:
        done.set_result(result)


def waiting_for(
    thread: OneThread, function: Callable[Given, Coroutine[Any, Any, Result]]
) -> Callable[Given, Result]:
    """A function to be called in that thread's fibers: the event loop runs `function` for it.

    The fiber waits for the result; meanwhile other fibers run.
    """
    loop = asyncio.get_running_loop()

    def waiting(*arguments: Given.args, **named: Given.kwargs) -> Result:
        fiber = getcurrent()
        running = asyncio.run_coroutine_threadsafe(function(*arguments, **named), loop)
        running.add_done_callback(lambda _: thread.submit(fiber.switch))
        fiber.parent.switch()
        try:
            return running.result()
        finally:
            del running

    return waiting
