"""Handles the signals that stop a long-running process and interrupt any other command.

They are SIGTERM, Ctrl-C, and SIGHUP, which arrives when the terminal is closed; under `nohup`,
SIGHUP is ignored.

An interrupt waits until a window is committed and counted, so that the summary is right.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from palimpsest.streams.ending import end_in_time

TYPE_CHECKING = False  # that of `typing` would be imported before an interrupt can be caught

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Coroutine
    from typing import Any, NoReturn, TypeVar

    Result = TypeVar("Result")

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LONG_RUNNING = frozenset({"mcp", "project", "schedule", "serve", "verifier", "worker"})
"""The commands that run until a signal, and then exit with status 0."""
INTERRUPTED = 130
STANDARD_ERROR = 2
ENDING = b"\nending: work in progress is finished first; interrupt again to end at once\n"
_announces = False
"""Whether this process announces that it is ending: commands do, the library does not."""
WITH_VALUE = ("--store", "--model", "--bootstrap", "--prefix")
"""Options that may precede a command, and that take the next word as their value."""


def end_on_signals() -> None:
    """Exit on a signal, until the command installs handlers of its own.

    Without a handler, the first process of a container would not receive them.
    """
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


def _end(*_: object) -> NoReturn:
    status = 0 if _typed() in LONG_RUNNING else INTERRUPTED
    end_in_time(status)
    raise SystemExit(status)


def _typed() -> str | None:
    """The command: the first word that is neither an option nor the value of one."""
    words = iter(sys.argv[1:])
    for word in words:
        if word in WITH_VALUE:
            next(words, None)
        elif not word.startswith("-"):
            return word
    return None


def stop_event() -> asyncio.Event:
    """An event that a signal sets; work in progress then has a few seconds to finish."""
    import asyncio  # late: the first handlers must be installed quickly

    stop = asyncio.Event()

    def end() -> None:
        end_in_time(0)
        stop.set()

    for number in stopping_signals():
        asyncio.get_running_loop().add_signal_handler(number, end)
    return stop


def stopping_signals() -> list[signal.Signals]:
    """The signals that stop a long-running process: SIGHUP only if it is not ignored."""
    return [
        number
        for number in SIGNALS
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN
    ]


def interrupt_on_signals(command: str | None) -> None:
    """Once the command is known, let signals interrupt it, unless it is long-running.

    Without `end_on_signals` this does nothing: an embedding application has its own handlers.
    """
    global _announces  # noqa: PLW0603 - the handlers, too, are the whole process's
    for number in SIGNALS:
        if command not in LONG_RUNNING and signal.getsignal(number) is _end:
            signal.signal(number, signal.default_int_handler)
            _announces = True


def _announce() -> None:
    if _announces:
        os.write(STANDARD_ERROR, ENDING)  # a handler may interrupt any other kind of writing


@contextmanager
def between_windows() -> Iterator[Callable[[], None]]:
    """Yield a function that raises KeyboardInterrupt if a signal has arrived.

    A second signal raises immediately. Only signals that would raise KeyboardInterrupt anyway are
    deferred, and only in the main thread, because no other thread receives them.
    """
    asked = threading.Event()

    def note(number: int, _frame: object) -> None:
        asked.set()
        _announce()
        signal.signal(number, signal.default_int_handler)

    def check() -> None:
        if asked.is_set():
            raise KeyboardInterrupt

    mine = threading.current_thread() is threading.main_thread()
    waited = [s for s in SIGNALS if mine and signal.getsignal(s) is signal.default_int_handler]
    for number in waited:
        signal.signal(number, note)
    try:
        yield check
    finally:
        for number in waited:
            signal.signal(number, signal.default_int_handler)


def run_interruptibly(doing: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end on a new event loop; a signal first cancels it alone.

    So it can wait for answers in progress, whichever signal it was; `asyncio.run` does that for
    Ctrl-C only. A second signal raises immediately. As in `between_windows`, only signals that
    would raise KeyboardInterrupt anyway are handled, and only in the main thread.
    """
    import asyncio

    async def run() -> Result:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def interrupt(*_: object) -> None:
            asked.set()
            _announce()
            raise_again()
            loop.call_soon_threadsafe(task.cancel)

        for number in handled:
            signal.signal(number, interrupt)
        try:
            return await doing
        finally:
            raise_again()

    def raise_again() -> None:
        for number in handled:
            signal.signal(number, signal.default_int_handler)

    asked = threading.Event()
    mine = threading.current_thread() is threading.main_thread()
    handled = [s for s in SIGNALS if mine and signal.getsignal(s) is signal.default_int_handler]
    try:
        return asyncio.run(run())
    except asyncio.CancelledError:
        if asked.is_set():
            raise KeyboardInterrupt from None
        raise
