"""An interrupt waits until a window is committed and counted, so that the summary is right."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def between_windows() -> Iterator[Callable[[], None]]:
    """Yield a function that raises KeyboardInterrupt if one was asked for meanwhile.

    A second one is raised at once. Only signals that would raise KeyboardInterrupt anyway are
    waited with, and only in the main thread: elsewhere none arrives.
    """
    asked = threading.Event()

    def note(number: int, _frame: object) -> None:
        asked.set()
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
