"""What SIGTERM and Ctrl-C do: end a process that runs until then, interrupt any other command.

An interrupt waits until a window is committed and counted, so that the summary is right.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from palimpsest.streams.ending import end_in_time

if TYPE_CHECKING:
    import asyncio

SIGNALS = (signal.SIGINT, signal.SIGTERM)
UNTIL_TOLD = frozenset({"project", "verifier", "worker"})
"""The commands that run until they are told to end, and end with 0 then."""
INTERRUPTED = 130
STANDARD_ERROR = 2
ENDING = b"\nending: what was begun is finished first; once more ends at once\n"
_tells = False
"""Whether this process is a command, which says that it ends; a library does not."""
WITH_VALUE = ("--store", "--bootstrap", "--prefix")
"""Options before a command whose value is a word of its own."""


def end_when_told() -> None:
    """Have SIGTERM and Ctrl-C end this process from now on: it has begun nothing yet.

    Without a handler the first process of a container would not get them at all.
    """
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


def _end(*_: object) -> NoReturn:
    status = 0 if _typed() in UNTIL_TOLD else INTERRUPTED
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


def told_to_end() -> asyncio.Event:
    """Set by SIGTERM and Ctrl-C from now on: what was begun has seconds to be finished."""
    import asyncio  # later than the handlers of the process's first moments

    told = asyncio.Event()

    def end() -> None:
        end_in_time(0)
        told.set()

    for number in SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, end)
    return told


def interrupt_when_told(command: str | None) -> None:
    """Once the command is known: one that ends by itself is interrupted, to say what was done.

    Nothing where `end_when_told` was not called: whoever embeds the commands has its own signals.
    """
    global _tells  # noqa: PLW0603 - signals are a process's
    for number in SIGNALS:
        if command not in UNTIL_TOLD and signal.getsignal(number) is _end:
            signal.signal(number, signal.default_int_handler)
            _tells = True


@contextmanager
def between_windows() -> Iterator[Callable[[], None]]:
    """Yield a function that raises KeyboardInterrupt if one was asked for meanwhile.

    A second one is raised at once. Only signals that would raise KeyboardInterrupt anyway are
    waited with, and only in the main thread: elsewhere none arrives.
    """
    asked = threading.Event()

    def note(number: int, _frame: object) -> None:
        asked.set()
        if _tells:
            os.write(STANDARD_ERROR, ENDING)  # a handler may have interrupted any other writing
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
