"""What a process that runs for long writes to standard error: no line quotes a memory."""

from __future__ import annotations

import copy
import logging
import math
import os
import time
import traceback
from collections import Counter
from collections.abc import Callable
from types import TracebackType

from palimpsest.contracts.errors import PalimpsestError

FORM = "%(asctime)s %(levelname)s %(name)s: %(message)s"
CHATTY = ("aiokafka", "faust", "mode", "asyncio", "aiohttp", "anthropic", "httpx2", "httpcore2")
"""Libraries that tell every step they take, some with what they send: warnings are enough."""
REPEATING = ("aiokafka", "faust", "mode")
"""Libraries that say the same of each attempt to reach a broker: dozens of lines a second."""
AGAIN_SECONDS = 30.0
"""How long what such a library has said is not said again."""
SPEAKING = (PalimpsestError, OSError)
"""Errors whose messages are sentences without a text in them."""

ErrorInfo = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)


def told(error: BaseException) -> str:
    """An error as it may be logged: most tell what they are alone, as they may quote a memory."""
    name = type(error).__name__
    return f"{name}: {error}" if isinstance(error, SPEAKING) else name


class PrivateFormatter(logging.Formatter):
    """Errors by their type and place; PALIMPSEST_DEBUG=1 shows what they say."""

    def format(self, record: logging.LogRecord) -> str:
        """A record as a line; of an error that is among its arguments, what may be told."""
        said = copy.copy(record)
        said.exc_text = None
        if isinstance(said.args, tuple):
            said.args = tuple(told(a) if isinstance(a, BaseException) else a for a in said.args)
        if said.name == "asyncio":  # its further lines show tasks, and with them their errors
            said.msg, said.args = said.getMessage().partition("\n")[0], ()
        return super().format(said)

    def formatException(self, ei: ErrorInfo) -> str:  # noqa: N802 - logging's own name
        """The way to where it was raised, and what may be told of it."""
        kind, error, trace = ei
        if kind is None or error is None:
            return ""
        return "".join(traceback.format_tb(trace)) + told(error)


class Once:
    """A filter that lets what a library repeats through once in a while, with how often it came.

    Only the values in a message may differ. Our own messages, and all others', go through.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._said: dict[tuple[str, int, str], float] = {}
        self._left_out: Counter[tuple[str, int, str]] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it is said; then with how many like it were not."""
        if record.name.partition(".")[0] not in REPEATING:
            return True
        kind, now = (record.name, record.levelno, str(record.msg)), self._now()
        if now < self._said.get(kind, -math.inf) + AGAIN_SECONDS:
            self._left_out[kind] += 1
            return False
        self._said[kind] = now
        if left_out := self._left_out.pop(kind, 0):
            record.msg = f"{record.msg} (and {left_out:,} more like it)"
        return True


def leave_to_us() -> None:
    """Have no library tell how it reaches brokers: a command that ends by itself says it then."""
    if not os.environ.get("PALIMPSEST_DEBUG"):
        for name in REPEATING:
            logging.getLogger(name).setLevel(logging.CRITICAL)


def log_to_standard_error(level: int = logging.INFO) -> None:
    """Have everything that this process logs go to standard error, errors without their texts."""
    handler = logging.StreamHandler()
    debug = os.environ.get("PALIMPSEST_DEBUG")
    handler.setFormatter(logging.Formatter(FORM) if debug else PrivateFormatter(FORM))
    if not debug:
        handler.addFilter(Once())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in CHATTY:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
